//! The file of simulations that are done: a header, then one line for each, appended as a whole.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::Sbc;
use super::simulated::Ranked;
use crate::Error;

/// What a run must have in common with the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    sbc: u32,
    seed: u64,
    draws: usize,
    names: Vec<String>,
}

/// One simulation.
#[derive(Serialize, Deserialize)]
struct Line {
    simulation: usize,
    ranks: Vec<u32>,
    ess: Vec<f64>,
}

/// The simulations of earlier runs, and the file that takes new ones; neither without a path.
pub(super) struct Store {
    names: Vec<String>,
    done: HashMap<usize, Line>,
    file: Option<(PathBuf, Mutex<File>)>,
}

impl Store {
    /// `first` is this run's first simulation, which the file's must be equal to.
    pub fn open(path: Option<&Path>, sbc: &Sbc, first: &Ranked) -> Result<Self, Error> {
        let names = &first.names[..];
        let mut store = Self { names: names.to_vec(), done: HashMap::new(), file: None };
        let Some(path) = path else {
            return Ok(store);
        };
        let io = |e| Error::io(path, e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(io)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io)?;
        // A line that was cut while it was written does not count, and is written over.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].lines();
        let header = Header { sbc: 1, seed: sbc.seed, draws: sbc.draws, names: names.to_vec() };
        match lines.next() {
            None if whole < text.len() && !text.starts_with("{\"sbc\":") => {
                return Err(Error::checkpoint(path, "it is a file of something else"));
            }
            None => {}
            Some(line) => {
                let found: Header = serde_json::from_slice(line.as_bytes()).map_err(|e| {
                    Error::checkpoint(path, format!("its first line is not of SBC: {e}"))
                })?;
                if found != header {
                    let said = |h: &Header| {
                        format!(
                            "seed {}, ranks among {} draws of {}",
                            h.seed,
                            h.draws,
                            h.names.join(", ")
                        )
                    };
                    let problem =
                        format!("it is of {}; this run is of {}", said(&found), said(&header));
                    return Err(Error::checkpoint(path, problem));
                }
            }
        }
        for (i, line) in lines.enumerate() {
            let line: Line = serde_json::from_slice(line.as_bytes())
                .map_err(|e| Error::checkpoint(path, format!("line {}: {e}", i + 2)))?;
            let fits = line.ranks.len() == names.len()
                && line.ess.len() == names.len()
                && line.ranks.iter().all(|rank| *rank as usize <= sbc.draws);
            if !fits {
                let problem = format!("line {}: ranks that cannot be", i + 2);
                return Err(Error::checkpoint(path, problem));
            }
            store.done.insert(line.simulation, line);
        }
        if store.done.get(&0).is_some_and(|line| line.ranks != first.ranks) {
            let problem = "its first simulation has other ranks: it is of another model or sampler";
            return Err(Error::checkpoint(path, problem));
        }
        file.set_len(whole as u64).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        if whole == 0 {
            write_line(&mut file, &header).map_err(io)?;
        }
        store.file = Some((path.to_path_buf(), Mutex::new(file)));
        Ok(store)
    }

    /// A simulation of an earlier run.
    pub fn get(&self, simulation: usize) -> Option<Ranked> {
        let line = self.done.get(&simulation)?;
        let (ranks, ess) = (line.ranks.clone(), line.ess.clone());
        Some(Ranked { names: self.names.clone(), ranks, ess })
    }

    /// Writes a simulation, unless it is there.
    pub fn put(&self, simulation: usize, ranked: &Ranked) -> Result<(), Error> {
        let Some((path, file)) =
            self.file.as_ref().filter(|_| !self.done.contains_key(&simulation))
        else {
            return Ok(());
        };
        let line = Line { simulation, ranks: ranked.ranks.clone(), ess: ranked.ess.clone() };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut file, &line).map_err(|e| Error::io(path, e))
    }
}

fn write_line(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}
