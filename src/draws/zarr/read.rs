//! Reading a Zarr folder that this crate wrote; a folder that was changed since is refused.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::array::Array;
use super::{Contents, FORMAT, json};
use crate::Error;

/// The entries of an array's `zarr.json` that must be as this crate writes them.
const COMPARED: [&str; 9] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "dimension_names",
];

/// A folder whose contents are known.
pub(super) struct Opened {
    path: PathBuf,
    /// The version of the format that it was written in.
    pub format: u64,
    pub contents: Contents,
    /// The metadata of all arrays in the root.
    consolidated: Json,
}

impl Opened {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = path.join("zarr.json");
        let problem = |problem: String| table(&file, problem);
        let mut root = read_json(&file)?;
        let mut taken = |place| root.pointer_mut(place).map(Json::take).unwrap_or_default();
        let own = taken("/attributes/bnn_mcmc");
        let consolidated = taken("/consolidated_metadata/metadata");
        let Some(format) = own["format"].as_u64() else {
            return Err(problem("it is no folder of draws that bnn-mcmc wrote".into()));
        };
        if !(1..=FORMAT).contains(&format) {
            return Err(problem(format!(
                "its format has version {format}, this crate reads 1 to {FORMAT}"
            )));
        }
        let contents = &own["contents"];
        let found = json::checksum(contents);
        if own["crc32"].as_u64() != Some(found.into()) {
            let stated = &own["crc32"];
            let what = "it is damaged, or was edited: the checksum of its attributes";
            return Err(problem(format!("{what} is {found}, and {stated} is stated")));
        }
        let contents = json::from_json(contents.clone())
            .map_err(|e| problem(format!("its attributes cannot be read: {e}")))?;
        Ok(Self { path: path.into(), format, contents, consolidated })
    }

    /// An error about the folder as a whole.
    pub fn problem(&self, problem: &str) -> Error {
        table(&self.path.join("zarr.json"), problem)
    }

    /// Checks that the array at `place` agrees with the attributes of the folder, and that its
    /// chunks are as long as they must be.
    pub fn check(&self, place: &str, array: &Array) -> Result<(), Error> {
        let file = self.path.join(place).join("zarr.json");
        let consolidated = &self.consolidated[place];
        for (file, found) in
            [(file.clone(), &read_json(&file)?), (self.path.join("zarr.json"), consolidated)]
        {
            let expected = array.metadata();
            for key in COMPARED {
                let (found, expected) = (&found[key], &expected[key]);
                if found != expected {
                    let what = format!("`{key}` of `{place}` is {found}, but must be {expected}");
                    return Err(table(&file, what));
                }
            }
        }
        let length = array.draw_bytes() as u128 * array.chunk[1] as u128;
        for (chain, written) in self.contents.written.iter().enumerate() {
            for chunk in 0..array.chunks_of(*written) {
                let file = self.path.join(place).join(array.file([chain, chunk]));
                let found = fs::metadata(&file).map_err(|e| Error::io(&file, e))?.len();
                if u128::from(found) != length {
                    return Err(table(
                        &file,
                        format!("it has {found} bytes, but must have {length}"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Hands the bytes of each draw of a [checked](Self::check) array to `take`, with chain and draw.
    pub fn read(
        &self,
        place: &str,
        array: &Array,
        mut take: impl FnMut(usize, usize, &[u8]),
    ) -> Result<(), Error> {
        let mut crc = crc32fast::Hasher::new();
        let mut bytes = Vec::new();
        for (chain, written) in self.contents.written.iter().enumerate() {
            for chunk in 0..array.chunks_of(*written) {
                let path = self.path.join(place).join(array.file([chain, chunk]));
                let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
                let mut file = BufReader::with_capacity(1 << 16, file);
                bytes.resize(array.draw_bytes(), 0);
                for draw in chunk * array.chunk[1]..(chunk + 1) * array.chunk[1] {
                    file.read_exact(&mut bytes).map_err(|e| Error::io(&path, e))?;
                    crc.update(&bytes);
                    if draw < *written {
                        take(chain, draw, &bytes);
                    }
                }
            }
        }
        let (found, stated) = (crc.finalize(), self.contents.checksums.get(place));
        match stated {
            Some(stated) if *stated == found => Ok(()), //~ zarr-checksum
            _ => {
                let what = format!("it is damaged, or was edited: its checksum is {found}, and");
                let stated = stated.map_or("none".into(), u32::to_string);
                Err(table(&self.path.join(place), format!("{what} {stated} is stated")))
            }
        }
    }
}

fn read_json(path: &Path) -> Result<Json, Error> {
    let text = fs::read(path).map_err(|e| Error::io(path, e))?;
    serde_json::from_slice(&text).map_err(|e| table(path, format!("it is no JSON: {e}")))
}

fn table(path: &Path, problem: impl Into<String>) -> Error {
    Error::table(path.display().to_string(), problem)
}
