//! The bytes of a checkpoint's head: magic number, version, length, checksum, and CBOR.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Fingerprint;
use crate::cbor;

pub(super) const MAGIC: &[u8; 16] = b"bnn-mcmc run\r\n\x1a\n";
const VERSION: u32 = 4;
/// Magic number, version, length of the payload, checksum of the payload.
pub(super) const HEADER: usize = 16 + 4 + 8 + 4;

#[derive(Serialize, Deserialize)]
pub(super) struct Head<S> {
    /// The length of the part of the file of draws that belongs to this checkpoint, and its
    /// checksum.
    pub bytes: u64,
    pub crc: u32,
    pub state: S,
}

pub(super) fn encode<S: Serialize>(
    run: &Fingerprint,
    head: &Head<S>,
    kernels: &[u8],
) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; HEADER];
    let to_text = |e: String| format!("the state of a chain has no form: {e}");
    cbor::write(run, &mut bytes).map_err(to_text)?;
    cbor::write(head, &mut bytes).map_err(to_text)?;
    bytes.extend_from_slice(kernels);
    let (header, payload) = bytes.split_at_mut(HEADER);
    header[..16].copy_from_slice(MAGIC);
    header[16..20].copy_from_slice(&VERSION.to_le_bytes());
    header[20..28].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[28..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    Ok(bytes)
}

/// The head in `bytes` and the states of kernels behind it, or the problem with them.
pub(super) fn decode<S: DeserializeOwned>(
    bytes: &[u8],
    run: &Fingerprint,
) -> Result<(Head<S>, Vec<u8>), String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    if bytes[..bytes.len().min(16)] != MAGIC[..bytes.len().min(16)] {
        return Err("it is not a checkpoint of bnn-mcmc".into());
    }
    let Some((header, mut payload)) = bytes.split_at_checked(HEADER) else {
        return Err(format!("it is truncated: {} bytes are left", bytes.len()));
    };
    let number = |from: usize, n: usize| {
        header[from..from + n]
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let version = number(16, 4);
    if version != u64::from(VERSION) {
        return Err(format!("its format has version {version}, this crate reads {VERSION}"));
    }
    let length = number(20, 8);
    if payload.len() as u64 != length {
        let found = payload.len();
        return Err(format!("it is truncated or damaged: {found} bytes of content, not {length}"));
    }
    if u64::from(crc32fast::hash(payload)) != number(28, 4) {
        return Err("it is damaged: its checksum is wrong".into());
    }
    let unreadable = |e: String| format!("its content does not fit this run: {e}");
    let found: Fingerprint = cbor::read(&mut payload).map_err(unreadable)?;
    if let Some(differences) = found.differences(run) {
        return Err(format!("it belongs to another run: {differences}"));
    }
    let head = cbor::read(&mut payload).map_err(unreadable)?;
    Ok((head, payload.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(config: &impl Serialize) -> Fingerprint {
        let mut run = Fingerprint::default();
        run.add_config("algorithm", config).unwrap();
        run
    }

    #[test]
    fn floats_keep_their_bits() {
        let bits = [0, 1 << 63, f64::NAN.to_bits() | 12345, 0x7ff0_0000_0000_0001, 1, u64::MAX];
        let state: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
        let bytes = encode(&run_of(&1), &Head { bytes: 0, crc: 0, state }, b"kernels").unwrap();
        let (back, kernels): (Head<Vec<f64>>, _) = decode(&bytes, &run_of(&1)).unwrap();
        assert_eq!(kernels, b"kernels");
        assert!(back.state.iter().map(|x| x.to_bits()).eq(bits));
    }

    #[test]
    fn heads_that_are_not_whole_are_refused() {
        let bytes = encode(&run_of(&1), &Head { bytes: 0, crc: 0, state: "state" }, &[7]).unwrap();
        let problem = |bytes: &[u8]| match decode::<String>(bytes, &run_of(&1)) {
            Ok(_) => String::new(),
            Err(problem) => problem,
        };
        assert_eq!(problem(&bytes), "");
        assert_eq!(problem(&[]), "it is empty");
        for n in 1..bytes.len() {
            assert!(problem(&bytes[..n]).starts_with("it is truncated"), "{n}");
        }
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[i] ^= 1 << bit;
                let problem = problem(&bytes);
                let expected = match i {
                    0..16 => "it is not a checkpoint of bnn-mcmc",
                    16..20 => "its format has version ",
                    20..28 => "it is truncated or damaged: ",
                    _ => "it is damaged: ",
                };
                assert!(problem.starts_with(expected), "byte {i}: {problem}");
            }
        }
        let of_another_type = decode::<u8>(&bytes, &run_of(&1)).err().unwrap();
        assert!(
            of_another_type.starts_with("its content does not fit this run: "),
            "{of_another_type}"
        );
    }
}
