//! Any data as CBOR (RFC 8949), the form of states and headers in files: floats keep their bits.

use cbor4ii::core::dec::Decode;
use cbor4ii::core::enc::Encode;
use cbor4ii::core::utils::{BufWriter, SliceReader};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use cbor4ii::core::Value;

/// Appends `data` to `out`.
pub(crate) fn write(data: &impl Serialize, out: &mut Vec<u8>) -> Result<(), String> {
    let written = cbor4ii::serde::to_vec(std::mem::take(out), data);
    *out = written.map_err(|e| e.to_string())?;
    Ok(())
}

/// Reads the first data of `bytes`, which begin behind them afterwards.
pub(crate) fn read<T: DeserializeOwned>(bytes: &mut &[u8]) -> Result<T, String> {
    cbor4ii::serde::from_reader(bytes).map_err(|e| e.to_string())
}

/// The parts of `data`, with their names.
pub(crate) fn value_of(data: &impl Serialize) -> Result<Value, String> {
    let mut bytes = Vec::new();
    write(data, &mut bytes)?;
    Value::decode(&mut SliceReader::new(&bytes)).map_err(|e| e.to_string())
}

/// The data with these parts.
pub(crate) fn of_value<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let mut bytes = BufWriter::new(Vec::new());
    value.encode(&mut bytes).map_err(|e| e.to_string())?;
    read(&mut bytes.buffer())
}
