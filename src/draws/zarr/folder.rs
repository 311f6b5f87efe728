//! Writing a Zarr folder: beside its place, and renamed when it is whole.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::array::{Array, Axis, Kind, Labels, vlen_utf8};
use crate::Error;
use crate::draws::checkpoint::is_at;

/// The ending of a folder's name while the folder is written.
const UNFINISHED: &str = ".tmp";

/// A folder that is being written, under a name of its own beside the one that it will have. Dropped
/// before [`finish`](Self::finish), it is removed.
pub(crate) struct Folder {
    path: PathBuf,
    temporary: PathBuf,
    /// The lock on it, where folders can be locked.
    lock: Option<File>,
    /// Groups and arrays with the contents of their `zarr.json`.
    nodes: Vec<(String, Json)>,
    /// The CRC-32 of the chunks of arrays of draws.
    checksums: BTreeMap<String, u32>,
    /// The number of the first chain of draws.
    pub first_chain: usize,
    is_finished: bool,
}

impl Folder {
    /// # Errors
    /// If there is anything at `path`, or nothing can be written beside it.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let Some(name) = path.file_name() else {
            return Err(Error::argument("path", path.display(), "one that ends with a name"));
        };
        match path.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(path, e)),
            Ok(_) => {
                let exists = io::Error::new(
                    ErrorKind::AlreadyExists,
                    "it exists, and nothing is overwritten: move it away, or choose another name",
                );
                return Err(Error::io(path, exists));
            }
        }
        let (temporary, lock) = begin(path, &name.to_string_lossy())?;
        let (nodes, checksums) = (Vec::new(), BTreeMap::new());
        let (path, first_chain, is_finished) = (path.into(), 0, false);
        Ok(Self { path, temporary, lock, nodes, checksums, first_chain, is_finished })
    }

    /// A group without draws.
    pub fn group(&mut self, name: &str, attributes: Json) -> Result<Group<'_>, Error> {
        self.node(
            name,
            json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes }),
        )?;
        Ok(Group { folder: self, name: name.into(), written: &[], draws: 0 })
    }

    /// A group of `draws` draws of each chain, of which the first `written` are there.
    pub fn group_of_draws<'f>(
        &'f mut self,
        name: &str,
        (written, draws): (&'f [usize], usize),
        attributes: Json,
    ) -> Result<Group<'f>, Error> {
        let chains = Axis::numbered("chain", self.first_chain, written.len());
        let mut group = Group { written, draws, ..self.group(name, attributes)? };
        group.coordinate(&chains)?;
        group.coordinate(&Axis::numbered("draw", 0, draws))?;
        Ok(group)
    }

    /// The CRC-32 of every array of draws so far, by its place.
    pub fn checksums(&self) -> &BTreeMap<String, u32> {
        &self.checksums
    }

    /// Writes the metadata of the whole folder, and gives it its name.
    pub fn finish(mut self, attributes: Json) -> Result<(), Error> {
        // Some readers find an array only if its group comes before.
        self.nodes.sort_by(|(a, _), (b, _)| {
            let depth = |node: &str| node.matches('/').count();
            depth(a).cmp(&depth(b)).then_with(|| a.cmp(b)) //~ zarr-depth
        });
        let root = Root {
            zarr_format: 3,
            node_type: "group",
            attributes,
            consolidated_metadata: Consolidated {
                kind: "inline",
                must_understand: false,
                metadata: InOrder(&self.nodes),
            },
        };
        self.write("zarr.json", |file| file.write_all(&serde_json::to_vec_pretty(&root)?))?;
        fs::rename(&self.temporary, &self.path).map_err(|e| Error::io(&self.path, e))?;
        self.is_finished = true;
        drop(self.lock.take());
        Ok(())
    }

    fn node(&mut self, name: &str, metadata: Json) -> Result<(), Error> {
        let file = format!("{name}/zarr.json");
        self.write(&file, |file| file.write_all(&serde_json::to_vec_pretty(&metadata)?))?;
        self.nodes.push((name.into(), metadata));
        Ok(())
    }

    /// Writes a file, and the folders that it is in.
    fn write(
        &self,
        file: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let path = self.temporary.join(file);
        let written = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = BufWriter::with_capacity(1 << 16, File::create(&path)?);
            write(&mut file)?;
            file.flush()
        };
        written().map_err(|e| Error::io(&path, e))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Makes a hidden folder for the folder that will be called `name`, with a lock on it, and removes
/// hidden folders that killed processes have left.
fn begin(path: &Path, name: &str) -> Result<(PathBuf, Option<File>), Error> {
    remove_left(path, name);
    let mut number = 0;
    loop {
        let hidden = format!(".{name}.{}-{number}{UNFINISHED}", std::process::id());
        let temporary = path.with_file_name(hidden);
        match fs::create_dir(&temporary) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                continue;
            }
            Err(e) => return Err(Error::io(temporary, e)),
        }
        let lock = File::open(&temporary);
        if lock.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            number += 1;
            continue;
        }
        let lock = lock.ok();
        let is_taken = |file: &File| {
            matches!(file.try_lock(), Err(TryLockError::WouldBlock))
                || is_at(file, &temporary) == Some(false)
        };
        // Another process may take it for a folder that was left, before it is locked.
        if !lock.as_ref().is_some_and(is_taken) {
            return Ok((temporary, lock));
        }
        number += 1;
    }
}

/// Removes hidden folders of `name` that no process has a lock on. Where folders cannot be locked they stay.
fn remove_left(path: &Path, name: &str) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(parent.unwrap_or(Path::new("."))) else { return };
    let is_left = |file: &str| {
        let number = file.strip_prefix(&format!(".{name}."))?.strip_suffix(UNFINISHED)?;
        let (process, n) = number.split_once('-')?;
        Some(process.parse::<u32>().is_ok() && n.parse::<usize>().is_ok())
    };
    for entry in entries.flatten() {
        if is_left(&entry.file_name().to_string_lossy()) == Some(true)
            && let Ok(folder) = File::open(entry.path())
            && folder.try_lock().is_ok()
            && is_at(&folder, &entry.path()) != Some(false)
        {
            // A folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A group that is being written.
pub(crate) struct Group<'f> {
    folder: &'f mut Folder,
    name: String,
    /// The number of draws of each chain.
    written: &'f [usize],
    /// The number of draws per chain that the arrays have room for.
    draws: usize,
}

impl Group<'_> {
    /// The array with the names of the places of an axis.
    pub fn coordinate(&mut self, axis: &Axis) -> Result<(), Error> {
        let (kind, bytes) = match &axis.labels {
            Labels::Numbers(first, len) => {
                let numbers = (0..*len).map(|i| first.saturating_add(i) as i64);
                (Kind::Integer, numbers.flat_map(i64::to_le_bytes).collect())
            }
            Labels::Names(names) => {
                let bytes = vlen_utf8(names).map_err(|e| Error::io(&self.folder.path, e))?;
                (Kind::Text, bytes)
            }
        };
        self.whole(&axis.name, Array::whole(kind, &[axis]), &bytes)
    }

    /// An array in one chunk, of these bytes.
    pub fn whole(&mut self, name: &str, array: Array, bytes: &[u8]) -> Result<(), Error> {
        let place = format!("{}/{name}", self.name);
        if !array.shape.contains(&0) {
            let file = format!("{place}/{}", array.file([0, 0]));
            self.folder.write(&file, |file| file.write_all(bytes))?;
        }
        self.folder.node(&place, array.metadata())
    }

    /// An array of draws. `one` appends the bytes of one draw of a chain.
    pub fn draws(
        &mut self,
        name: &str,
        kind: Kind,
        axes: &[&Axis],
        attributes: Json,
        one: &dyn Fn(usize, usize, &mut Vec<u8>),
    ) -> Result<(), Error> {
        let place = format!("{}/{name}", self.name);
        let size = (self.written.len(), self.draws);
        let array = Array { attributes, ..Array::of_draws(kind, size, axes) };
        let (mut crc, mut bytes) = (crc32fast::Hasher::new(), Vec::new());
        let (length, fill) = (array.chunk[1], array.draw_fill());
        for (chain, written) in self.written.iter().enumerate() {
            for chunk in 0..array.chunks_of(*written) {
                let file = format!("{place}/{}", array.file([chain, chunk]));
                self.folder.write(&file, |file| {
                    for draw in chunk * length..(chunk + 1) * length {
                        bytes.clear();
                        match draw < *written {
                            true => one(chain, draw, &mut bytes),
                            false => bytes.extend_from_slice(&fill),
                        }
                        crc.update(&bytes);
                        file.write_all(&bytes)?;
                    }
                    Ok(())
                })?;
            }
        }
        self.folder.checksums.insert(place.clone(), crc.finalize());
        self.folder.node(&place, array.metadata())
    }
}

/// The `zarr.json` of the whole folder.
#[derive(Serialize)]
struct Root<'n> {
    zarr_format: u32,
    node_type: &'static str,
    attributes: Json,
    consolidated_metadata: Consolidated<'n>,
}

#[derive(Serialize)]
struct Consolidated<'n> {
    kind: &'static str,
    must_understand: bool,
    metadata: InOrder<'n>,
}

/// An object of JSON with its fields in this order.
struct InOrder<'n>(&'n [(String, Json)]);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, node)| (name, node)))
    }
}
