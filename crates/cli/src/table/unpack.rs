//! Packed bytes, by decoders that need no C compiler.

use std::io::Read;

/// The most bytes of one page or buffer: a few bytes of a hostile file unpack to any number.
const MOST: u64 = 1 << 30;

/// The ways of packing that are unpacked here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Codec {
    Zstd,
    Brotli,
}

/// The bytes that were packed.
pub fn unpack(codec: Codec, packed: &[u8]) -> Result<Vec<u8>, String> {
    let problem = |e: &dyn std::fmt::Display| format!("{codec:?} data cannot be unpacked: {e}");
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn Read| {
        let read = from.take(MOST + 1).read_to_end(&mut bytes).map(|_| ());
        read.map_err(|e| problem(&e))
    };
    match codec {
        Codec::Zstd => {
            let mut rest = packed;
            // One frame or several.
            while !rest.is_empty() {
                let decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest);
                read(&mut decoder.map_err(|e| problem(&e))?)?;
            }
        }
        Codec::Brotli => read(&mut brotli_decompressor::Decompressor::new(packed, 1 << 16))?,
    }
    if bytes.len() as u64 > MOST {
        return Err(problem(&format!("a part is longer than {MOST} bytes")));
    }
    Ok(bytes)
}
