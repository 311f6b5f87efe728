//! The coordinates of q that are kept.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::layout::Layout;
use crate::message::Advice;

/// The coordinates of q that the [`Draws`](crate::draws::Draws) of a run hold, or that a
/// [recorder](crate::draws::recorder) stores. The statistics of every draw are kept in any case.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// # let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![[4.0], [7.0]])?;
/// let network = Mlp::new(&[1, 5, 1], Activation::Tanh)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors)?;
/// let sampler = Sampler::new(&posterior, Mala::default()).warmup(50).draws(20);
/// let draws = sampler.keep(Keep::blocks(["b*", "log_noise_variance"])).run()?;
/// assert_eq!(draws.layout().block_names(), ["b0", "b1", "log_noise_variance"]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// All coordinates.
    #[default]
    All,
    /// The coordinates of the blocks with these names (or patterns such as `w*`), in the order of q.
    /// Every name must match a block, and no block may match twice.
    Blocks(Vec<String>),
    /// No coordinates: draws have statistics only, and a layout of dimension 0.
    Statistics,
}

impl Keep {
    /// [`Keep::Blocks`] from anything like names.
    pub fn blocks<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::Blocks(names.into_iter().map(Into::into).collect())
    }

    /// The coordinates to keep of a q with the names of `layout`.
    pub(crate) fn of(&self, layout: &Layout) -> Result<Kept, Error> {
        let names = match self {
            Self::All => {
                let whole = 0..layout.dim();
                return Ok(Kept { layout: layout.clone(), ranges: vec![whole] });
            }
            Self::Statistics => return Ok(Kept { layout: Layout::new(), ranges: Vec::new() }),
            Self::Blocks(names) => names,
        };
        if names.is_empty() {
            let advice = Advice::in_rust("keep no block by `Keep::Statistics`");
            let error = Error::argument("blocks to keep", "empty", "at least one name");
            return Err(error.advise([advice]));
        }
        for name in names {
            if !layout.blocks().iter().any(|block| block.matches(name)) {
                let (what, known) = ("parameter block".into(), layout.block_names());
                return Err(Error::UnknownName { what, name: name.clone(), known });
            }
        }
        let mut kept = Kept { layout: Layout::new(), ranges: Vec::new() };
        for block in layout.blocks() {
            match names.iter().filter(|name| block.matches(name)).count() {
                0 => continue,
                1 => {}
                n => {
                    let found = format!("`{}` {n} times", block.name);
                    let known = layout.block_names().join(", ");
                    let allowed = format!("each block at most once; there are: {known}");
                    return Err(Error::argument("blocks to keep", found, allowed));
                }
            }
            kept.layout = kept.layout.with_block(block);
            kept.ranges.push(block.range.clone());
        }
        Ok(kept)
    }
}

/// The coordinates that are kept, and their names.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub layout: Layout,
    ranges: Vec<Range<usize>>,
}

impl Kept {
    /// The number of coordinates that are kept.
    pub fn dim(&self) -> usize {
        self.layout.dim()
    }

    /// The numbers of `q` that are kept, in order.
    pub fn slices<'q>(&'q self, q: &'q [f64]) -> impl Iterator<Item = &'q [f64]> {
        self.ranges.iter().map(|range| &q[range.clone()])
    }

    /// An error if there is none, for recorders that store nothing else.
    pub fn check_any(self) -> Result<Self, Error> {
        match self.dim() {
            0 => Err(Error::argument("keep", "Statistics", "at least one coordinate to record")),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn blocks_are_chosen_by_name_and_refused_by_name() {
        let layout = Layout::new().with("w0", &[2, 2]).with("b0", &[2]).with("w1", &[1, 2]);
        let q: Vec<f64> = (0..8).map(f64::from).collect();
        let of = |keep: Keep| {
            let kept = keep.of(&layout).unwrap();
            (kept.slices(&q).flatten().copied().collect::<Vec<_>>(), kept.layout)
        };
        assert_eq!(of(Keep::All), (q.clone(), layout.clone()));
        assert_eq!(of(Keep::Statistics), (vec![], Layout::new()));
        let weights = Layout::new().with("w0", &[2, 2]).with("w1", &[1, 2]);
        let expected = (vec![0.0, 1.0, 2.0, 3.0, 6.0, 7.0], weights);
        assert_eq!(of(Keep::blocks(["w*"])), expected);
        assert_eq!(of(Keep::blocks(["w1", "w0"])), expected);
        let of = |names: &[&str]| Keep::blocks(names.to_vec()).of(&layout);
        fails!(of(&["w0", "v"]), UnknownName { what: "parameter block", name: "v" });
        for (names, value) in [
            (&["w0", "w0"][..], "`w0` 2 times"),
            (&["b0", "w1", "w*"], "`w1` 2 times"),
            (&[], "empty"),
        ] {
            fails!(of(names), Argument { name: "blocks to keep", value: value });
        }
    }
}
