//! Draws that travel: folders in the Zarr format, for ArviZ and xarray, and to load again without a
//! loss.
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("run.zarr");
//! let target = GaussianTarget::standard(3)?;
//! let draws = Sampler::new(&target, Nuts::default()).seed(1).run()?;
//! draws.to_zarr(&path)?;
//! assert_eq!(Draws::from_zarr(&path)?, draws);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! In Python, with ArviZ 1: `arviz.from_zarr("run.zarr")`. With ArviZ 0.23, whose function of this name refuses
//! zarr-python 3: `arviz.from_datatree(xarray.open_datatree("run.zarr", engine="zarr"))`. Checked with ArviZ 1.3.0 and
//! 0.23.4. [`Posterior::to_zarr`](crate::posterior::Posterior::to_zarr) writes predictions
//! and the data as well, with the names of features and classes.
//!
//! # What is stored
//! Zarr, version 3 (<https://zarr-specs.readthedocs.io/en/latest/v3/core/v3.0.html>), not
//! compressed: draws are random numbers.
//!
//! | group | arrays |
//! | --- | --- |
//! | `posterior` | one for each block, `[chain, draw, <block>_dim_0, ..]` |
//! | `sample_stats` | one for each statistic, `[chain, draw]`, all in f64, and two that follow from them: `lp`, the log density up to a constant, which is the sum of log likelihood and log prior; `diverging`, whether any transition since the last draw diverged |
//!
//! Statistics have the names of [`Draws::stat_names`] except for three: `accept_prob` is the array
//! `acceptance_rate` and `leapfrog_steps` is `n_steps`, as ArviZ calls them; `log_likelihood`, the
//! sum over all rows, is `joint_log_likelihood`, because ArviZ takes an array `log_likelihood` of
//! this group for the log likelihood of each row. (Folders that an earlier version wrote have
//! `log_likelihood`, and are read, too.) A name that cannot be one of a folder is escaped, as in
//! `%CE%B2` for `β`; the attribute `long_name` has the name itself.
//!
//! A chunk holds one chain, or as many of its draws as 16 MB hold. The attributes of the folder,
//! under `bnn_mcmc`, hold the version of this format, the layout, how many draws of each chain were
//! written, the whole [`RunInfo`], the CRC-32 of each array, and their own CRC-32. Where no draw was
//! written, as in a [run that was killed](crate::draws::recorder::OnDisk::to_zarr), arrays have NaN,
//! or false.
//!
//! The folder is written under another name (`.run.zarr.<process>-0.tmp`) beside its place and
//! renamed when it is whole. The next call for the same place removes files that a killed process
//! has left there. A folder that exists already is never overwritten. A machine that fails soon
//! afterwards may lose a part of the files, which is then noticed.

mod array;
mod folder;
mod json;
mod names;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use array::{Array, Axis, Kind};
pub(crate) use folder::{Folder, Group};
pub(crate) use names::Names;

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::Array3;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use self::read::Opened;
use super::{Draws, RunInfo};
use crate::Error;
use crate::layout::{Block, Layout};
use crate::memory;

/// The version of the format. In version 1 the statistic `log_likelihood` had an array of this name,
/// which ArviZ takes for pointwise log likelihoods.
const FORMAT: u64 = 2;

/// The attributes of the folder under `bnn_mcmc`.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    /// The number of draws of a chain that there is room for.
    draws: usize,
    /// The number of draws written of each chain.
    written: Vec<usize>,
    blocks: Vec<BlockOf>,
    statistics: Vec<String>,
    run: RunInfo,
    /// The CRC-32 of the chunks of each array of draws.
    checksums: BTreeMap<String, u32>,
}

/// A block of the layout.
#[derive(Debug, Serialize, Deserialize)]
struct BlockOf {
    name: String,
    shape: Vec<usize>,
    /// The number from which the block's indices count.
    first: usize,
}

/// The names of the places along an axis of a block, if they have any.
pub(crate) type AxisNames<'a> = &'a dyn Fn(&Block, usize) -> Option<Vec<String>>;

/// Draws whose chains may have different lengths.
pub(crate) struct ChainArrays<'a> {
    pub layout: &'a Layout,
    pub stat_names: &'a [String],
    pub info: &'a RunInfo,
    /// The number of draws of a chain that there is room for.
    pub draws: usize,
    /// The number of draws of each chain.
    pub written: &'a [usize],
    /// The values of each chain, `[draw, parameter]`.
    pub values: Vec<&'a [f64]>,
    /// The statistics of each chain, `[draw, statistic]`.
    pub stats: Vec<&'a [f64]>,
}

impl Draws {
    /// Writes all draws, statistics and [`RunInfo`] to a new Zarr folder, which
    /// [`from_zarr`](Self::from_zarr) and ArviZ read. See [`draws::zarr`](crate::draws::zarr).
    ///
    /// # Errors
    /// If there is anything at `path`, or the folder cannot be written.
    pub fn to_zarr(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut folder = Folder::create(path.as_ref())?;
        let written = vec![self.n_draws(); self.n_chains()];
        let attributes = self.chains(&written).write(&mut folder, &|_, _| None)?;
        folder.finish(attributes)
    }

    /// All draws; `written` has the number of draws of each chain.
    pub(crate) fn chains<'a>(&'a self, written: &'a [usize]) -> ChainArrays<'a> {
        let of = |all: &'a Array3<f64>| -> Vec<&'a [f64]> {
            let each = all.len().checked_div(self.n_chains()).unwrap_or(0);
            let flat = all.as_slice().expect("draws are stored in standard order");
            (0..self.n_chains()).map(|chain| &flat[chain * each..][..each]).collect()
        };
        ChainArrays {
            layout: &self.layout,
            stat_names: &self.stat_names,
            info: &self.info,
            draws: self.n_draws(),
            written,
            values: of(&self.values),
            stats: of(&self.stats),
        }
    }

    /// Reads a folder that [`to_zarr`](Self::to_zarr) has written: every number has the same bits.
    /// Where chains differ in length, as after a run that was killed, it takes the draws that all
    /// of them have. Groups besides `posterior` and `sample_stats` are not looked at.
    ///
    /// # Errors
    /// If a file is missing, damaged, edited, or written by something else, or the draws exceed the
    /// [limit](crate::memory) on memory.
    pub fn from_zarr(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = Opened::open(path)?;
        let Contents { draws, written, blocks, statistics, run, .. } = &opened.contents;
        let layout =
            Layout::from_arrays(blocks.iter().map(|b| (&b.name[..], &b.shape[..], b.first)))
                .ok_or_else(|| {
                    opened.problem("its blocks have more numbers than fit into memory")
                })?;
        if blocks.iter().any(|block| block.first > 1) {
            return Err(opened.problem("the indices of its blocks count from more than 1"));
        }
        if written.iter().any(|n| n > draws) {
            return Err(opened.problem("it counts more draws than it has room for"));
        }
        let (chains, n) = (written.len(), written.iter().min().copied().unwrap_or(*draws));
        let arrays = Arrays::new(&layout, &opened, (chains, *draws));
        for (place, array) in arrays.blocks.iter().chain(&arrays.stats) {
            opened.check(place, array)?;
        }
        layout.check_names().map_err(|e| opened.problem(&e.to_string()))?;
        let width = (layout.dim().saturating_add(statistics.len()), "parameters and statistics");
        if chains.checked_mul(n).is_none() {
            return Err(opened.problem("it counts more draws than there can be"));
        }
        let size = [(chains, "chains"), (n, "draws"), width];
        memory::check::<f64>("draws", &size, "take fewer draws")?;

        let read = |places: &[(String, Array)], width: usize| -> Result<Array3<f64>, Error> {
            let mut values = vec![0.0; chains * n * width];
            let mut first = 0;
            for (place, array) in places {
                let len = array.draw_bytes() / size_of::<f64>();
                opened.read(place, array, |chain, draw, bytes| {
                    if draw < n {
                        let to = &mut values[(chain * n + draw) * width + first..][..len];
                        to.iter_mut()
                            .zip(bytes.as_chunks().0)
                            .for_each(|(to, b)| *to = f64::from_le_bytes(*b));
                    }
                })?;
                first += len;
            }
            Array3::from_shape_vec((chains, n, width), values)
                .map_err(|e| opened.problem(&e.to_string()))
        };
        Ok(Self {
            values: read(&arrays.blocks, layout.dim())?,
            stats: read(&arrays.stats, statistics.len())?,
            stat_names: statistics.clone(),
            info: run.clone(),
            layout,
        })
    }
}

/// The arrays of f64 of the two groups, with their places.
struct Arrays {
    blocks: Vec<(String, Array)>,
    stats: Vec<(String, Array)>,
}

impl Arrays {
    fn new(layout: &Layout, opened: &Opened, size: (usize, usize)) -> Self {
        let mut names = Names::new(&[]);
        let blocks = layout.blocks().iter().map(|block| {
            let name = names.next(&block.name);
            let axes = axes(block, &name, &|_, _| None);
            let array = Array::of_draws(Kind::Float, size, &axes.iter().collect::<Vec<_>>());
            (format!("posterior/{name}"), array)
        });
        let blocks = blocks.collect();
        let stats = places_of_stats(&opened.contents.statistics, opened.format).into_iter();
        let stats = stats
            .map(|name| (format!("sample_stats/{name}"), Array::of_draws(Kind::Float, size, &[])));
        Self { blocks, stats: stats.collect() }
    }
}

/// The axes of a block besides chain and draw.
fn axes(block: &Block, folder: &str, names: AxisNames) -> Vec<Axis> {
    let axis = |(i, len): (usize, &usize)| {
        let name = format!("{folder}_dim_{i}");
        match names(block, i).filter(|names| names.len() == *len) {
            Some(names) => Axis::named(&name, &names),
            None => Axis::numbered(&name, block.first, *len),
        }
    };
    block.shape.iter().enumerate().map(axis).collect()
}

/// The names of the arrays of statistics, in version `format` of the format.
fn places_of_stats(stat_names: &[String], format: u64) -> Vec<String> {
    let mut names = Names::new(&["lp", "diverging"]);
    let name = |stat: &String| {
        names.next(match &stat[..] {
            "accept_prob" => "acceptance_rate",
            "leapfrog_steps" => "n_steps",
            "log_likelihood" if format > 1 => "joint_log_likelihood",
            own => own,
        })
    };
    stat_names.iter().map(name).collect()
}

/// The attributes of an array in the folder `folder` whose original name is `name`.
pub(crate) fn long_name(folder: &str, name: &str) -> Json {
    if folder == name { json!({}) } else { json!({ "long_name": name }) }
}

impl ChainArrays<'_> {
    /// Writes the groups `posterior` and `sample_stats`, and returns the attributes of the folder.
    pub fn write(&self, folder: &mut Folder, names: AxisNames) -> Result<Json, Error> {
        let library = json!({
            "inference_library": "bnn-mcmc",
            "inference_library_version": crate::VERSION,
        });
        let size = (self.written, self.draws);
        folder.first_chain = self.info.part.as_ref().map_or(0, |part| part.chains.start);
        let mut group = folder.group_of_draws("posterior", size, library.clone())?;
        let (mut folders, dim) = (Names::new(&[]), self.layout.dim());
        for block in self.layout.blocks() {
            let folder = folders.next(&block.name);
            let axes = axes(block, &folder, names);
            axes.iter().try_for_each(|axis| group.coordinate(axis))?;
            let axes: Vec<_> = axes.iter().collect();
            let about = long_name(&folder, &block.name);
            group.draws(&folder, Kind::Float, &axes, about, &|chain, draw, bytes| {
                let q = &self.values[chain][draw * dim..][block.range.clone()];
                bytes.extend(q.iter().flat_map(|x| x.to_le_bytes()));
            })?;
        }
        let mut group = folder.group_of_draws("sample_stats", size, library)?;
        self.write_stats(&mut group)?;
        let block =
            |b: &Block| BlockOf { name: b.name.clone(), shape: b.shape.clone(), first: b.first };
        let contents = Contents {
            draws: self.draws,
            written: self.written.to_vec(),
            blocks: self.layout.blocks().iter().map(block).collect(),
            statistics: self.stat_names.to_vec(),
            run: self.info.clone(),
            checksums: folder.checksums().clone(),
        };
        let problem =
            |problem| Error::argument("run of the draws", "without a form in JSON", problem);
        let contents = json::to_json(&contents).map_err(problem)?;
        let crc32 = json::checksum(&contents);
        Ok(json!({ "bnn_mcmc": { "format": FORMAT, "crc32": crc32, "contents": contents } }))
    }

    fn write_stats(&self, group: &mut Group) -> Result<(), Error> {
        let width = self.stat_names.len();
        let at = |chain: usize, draw: usize, i: usize| self.stats[chain][draw * width + i];
        for (i, place) in places_of_stats(self.stat_names, FORMAT).iter().enumerate() {
            let about = long_name(place, &self.stat_names[i]);
            group.draws(place, Kind::Float, &[], about, &|chain, draw, bytes| {
                bytes.extend(at(chain, draw, i).to_le_bytes());
            })?;
        }
        let find = |name: &str| self.stat_names.iter().position(|stat| stat == name);
        if let (Some(likelihood), Some(prior)) = (find("log_likelihood"), find("log_prior")) {
            group.draws("lp", Kind::Float, &[], json!({}), &|chain, draw, bytes| {
                let sum = at(chain, draw, likelihood) + at(chain, draw, prior);
                bytes.extend(sum.to_le_bytes());
            })?;
        }
        if let Some(divergent) = find("divergent") {
            group.draws("diverging", Kind::Bool, &[], json!({}), &|chain, draw, bytes| {
                bytes.push(u8::from(at(chain, draw, divergent) > 0.0));
            })?;
        }
        Ok(())
    }
}
