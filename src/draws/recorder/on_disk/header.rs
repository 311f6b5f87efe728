//! The bytes of a file of draws: the header, and rows with their checksums.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::cbor;
use crate::layout::Layout;

const MAGIC: &[u8; 16] = b"bnn-mcmc rows\r\n\x1a";
const VERSION: u32 = 3;
/// Magic number; version, length and checksum of the header.
const FIXED: usize = 16 + 4 + 4 + 4;

/// The description of a file's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub blocks: Vec<(String, Vec<usize>)>,
    /// Whether the indices in the names of each block count from 1:
    /// [`Block::first`](crate::layout::Block::first).
    #[serde(default)]
    pub from_one: Vec<bool>,
    pub every: usize,
    pub chain: usize,
    pub chains: usize,
    /// [`ChainPlan::run`](super::ChainPlan::run).
    pub run: u32,
}

impl Header {
    /// The differences from the expected header, in words; `None` if there are none.
    pub fn difference(&self, expected: &Self) -> Option<String> {
        let fields = |header: &Self| {
            let blocks = header.blocks.iter().map(|(name, shape)| format!("{name}{shape:?}"));
            [
                ("parameters", blocks.collect::<Vec<_>>().join(" ")),
                ("indices from 1", format!("{:?}", header.from_one)),
                ("every", header.every.to_string()),
                ("chain", header.chain.to_string()),
                ("chains", header.chains.to_string()),
                ("run", format!("{:08x}", header.run)),
            ]
        };
        let mut pairs = fields(self).into_iter().zip(fields(expected));
        let ((name, found), (_, expected)) = pairs.find(|(found, expected)| found != expected)?;
        Some(format!("its `{name}` is {found}, expected {expected}"))
    }

    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; FIXED];
        cbor::write(self, &mut bytes)?;
        let (fixed, header) = bytes.split_at_mut(FIXED);
        let length = u32::try_from(header.len()).map_err(|e| e.to_string())?;
        fixed[..16].copy_from_slice(MAGIC);
        fixed[16..20].copy_from_slice(&VERSION.to_le_bytes());
        fixed[20..24].copy_from_slice(&length.to_le_bytes());
        fixed[24..].copy_from_slice(&crc32fast::hash(header).to_le_bytes());
        Ok(bytes)
    }

    /// The header at the beginning of a file of `length` bytes and the place where it ends, or the
    /// problem with it.
    pub fn decode(file: &mut impl Read, length: u64) -> Result<(Self, u64), String> {
        let truncated = |_| format!("it is truncated: {length} bytes are left");
        let mut fixed = [0; FIXED];
        file.read_exact(&mut fixed).map_err(truncated)?;
        if fixed[..16] != *MAGIC {
            return Err("it is no file of draws of bnn-mcmc".into());
        }
        let number =
            |at: usize| fixed[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
        if number(16) != VERSION {
            let version = number(16);
            return Err(format!("its format has version {version}, this crate reads {VERSION}"));
        }
        let end = FIXED as u64 + u64::from(number(20));
        if length < end {
            return Err(format!("it is truncated: {length} bytes are left"));
        }
        let mut header = vec![0; number(20) as usize];
        file.read_exact(&mut header).map_err(truncated)?;
        if crc32fast::hash(&header) != number(24) {
            return Err("it is damaged: the checksum of its header is wrong".into());
        }
        let header = cbor::read(&mut &header[..]);
        let header: Self = header.map_err(|e| format!("its header cannot be read: {e}"))?;
        Ok((header, end))
    }

    /// The names of the numbers of a row; `None` if there are none, or more than fit into memory.
    pub fn layout(&self) -> Option<Layout> {
        let first = |i| usize::from(self.from_one.get(i) == Some(&true));
        let arrays = self.blocks.iter().enumerate();
        let arrays = arrays.map(|(i, (name, shape))| (&name[..], &shape[..], first(i)));
        Layout::from_arrays(arrays).filter(|layout| layout.dim() > 0)
    }
}

/// Bytes of a row of `width` numbers with its checksum.
pub(super) fn row_bytes(width: usize) -> usize {
    4 * width + 4
}

/// The numbers of a row with its checksum, if that is right.
pub(super) fn numbers_of(row: &[u8]) -> Option<&[u8]> {
    let (numbers, crc) = row.split_last_chunk()?;
    (*crc == crc32fast::hash(numbers).to_le_bytes()).then_some(numbers)
}
