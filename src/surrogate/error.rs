//! The error of a surrogate at the draws of a chain.

use std::fmt;

use super::{Emulator, Surrogate};
use ndarray::{Array2, ArrayView1};

use crate::Error;
use crate::draws::Draws;
use crate::memory;
use crate::targets::{PowerTarget, Target, check_coordinates};

/// The error of a surrogate's log density at draws: log pi(q) - log pi*(q), its mean taken away,
/// since constants do not count.
///
/// If the draws are of the surrogate, e^error are the weights by which they would count as draws of
/// the target: `effective_share` is the share of them that is left, (sum w)^2 / (n sum w^2). Where
/// it is small, the draws are of another distribution than the target's.
#[derive(Clone, Debug, PartialEq)]
pub struct SurrogateError {
    /// The description of the surrogate.
    pub description: String,
    /// The number of draws at which both densities were evaluated.
    pub draws: usize,
    /// The standard deviation of the error, in nats.
    pub sd: f64,
    /// The largest absolute error, mean taken away, in nats.
    pub largest: f64,
    /// The effective share of the draws, from 1/n to 1.
    pub effective_share: f64,
    /// The number of draws at which the surrogate extrapolates: they are farther from the mean of
    /// the points that it learnt from, each coordinate in standard deviations of those points, than
    /// any of the points.
    pub extrapolated: usize,
    /// The number of draws at which one of the densities was not finite: they are left out above.
    pub not_finite: usize,
}

impl SurrogateError {
    /// Evaluates both densities at `points` of the draws, as evenly spaced as can be; at least 10.
    ///
    /// # Errors
    /// Targets or draws with other coordinates; fewer draws than `points`; fewer than two at which
    /// both densities are finite.
    pub fn measure<P: PowerTarget, E: Emulator, T: Target>(
        surrogate: &Surrogate<P, E>,
        target: &T,
        draws: &Draws,
        points: usize,
    ) -> Result<Self, Error> {
        check_coordinates(surrogate, target)?;
        let q = positions(target, draws, points, ["points", "draws"])?;
        let (mut of_target, mut of_surrogate) = (target.workspace(), surrogate.workspace());
        let mut errors = Vec::with_capacity(points);
        let mut extrapolated = 0;
        for q in q.rows() {
            let q = q.to_slice().expect("rows are contiguous");
            extrapolated += usize::from(surrogate.emulator().is_extrapolating(q));
            let truth = target.log_density(q, &mut of_target).total();
            errors.push(truth - surrogate.log_density(q, &mut of_surrogate).total());
        }
        errors.retain(|error| error.is_finite());
        let (finite, not_finite) = (errors.len(), points - errors.len());
        if finite < 2 {
            let allowed = "finite densities at two draws or more";
            return Err(Error::argument(
                "densities at the draws",
                format!("{finite} finite"),
                allowed,
            ));
        }
        let n = finite as f64;
        let mean = errors.iter().sum::<f64>() / n;
        errors.iter_mut().for_each(|error| *error -= mean);
        let sd = (errors.iter().map(|e| e * e).sum::<f64>() / (n - 1.0)).sqrt();
        let most = errors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = errors.iter().map(|e| crate::portable::exp(e - most));
        let (sum, squares) = weights.fold((0.0, 0.0), |(sum, sq), w| (sum + w, sq + w * w));
        Ok(Self {
            description: surrogate.approximation().unwrap_or_else(|| "a target".into()),
            draws: finite,
            sd,
            largest: errors.iter().fold(0.0, |largest, e| e.abs().max(largest)),
            effective_share: sum * sum / (n * squares),
            extrapolated,
            not_finite,
        })
    }
}

impl fmt::Display for SurrogateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: at {} draws its log density is off by {:.2} nats (standard deviation; at most {:.2}), so that {:.1} % \
             of them would count as draws of the target",
            self.description,
            self.draws,
            self.sd,
            self.largest,
            100.0 * self.effective_share
        )?;
        if self.extrapolated > 0 {
            let n = self.draws + self.not_finite;
            write!(
                f,
                "; {} of {n} lie outside the cloud of points that it learnt from",
                self.extrapolated
            )?;
        }
        match self.not_finite {
            0 => Ok(()),
            n => write!(f, "; at {n} more a density is not finite"),
        }
    }
}

/// The positions of `pairs` of the draws, as evenly spaced as can be, `[pair, coordinate]`: the
/// points that an emulator of your own learns from.
///
/// Errors call the number and the draws by their `names`, as the caller knows them.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::{surrogate::positions, testing::GaussianTarget};
/// let target = GaussianTarget::standard(3)?;
/// let draws = Sampler::new(&target, Rwm::default()).chains(2).warmup(10).draws(50).run()?;
/// let q = positions(&target, &draws, 20, ["pairs", "draws to learn from"])?;
/// assert_eq!(q.dim(), (20, 3));
/// assert_eq!(q.row(1), draws.values().slice(ndarray::s![0, 5, ..]));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Draws of another target, fewer of them than `pairs`, or `pairs` below 10; more numbers than
/// memory has room for.
pub fn positions(
    target: &impl Target,
    draws: &Draws,
    pairs: usize,
    names: [&str; 2],
) -> Result<Array2<f64>, Error> {
    if *draws.layout() != target.layout() {
        let found = format!("of blocks {:?}", draws.layout().block_names());
        let allowed = format!("all of the target's {:?}", target.layout().block_names());
        return Err(Error::argument(names[1], found, allowed));
    }
    let (chains, n) = (draws.n_chains(), draws.n_draws());
    let all = chains * n;
    if !(10..=all).contains(&pairs) {
        let allowed = format!("from 10 to the {all} draws ({chains} chains of {n})");
        return Err(Error::argument(names[0], pairs, allowed));
    }
    let size = [(pairs, "pairs"), (target.dim(), "coordinates"), (4, "copies")];
    memory::check::<f64>(names[0], &size, "use fewer")?;
    let mut q = Array2::zeros((pairs, target.dim()));
    for (i, mut row) in q.rows_mut().into_iter().enumerate() {
        let place = i * all / pairs;
        let draw = draws.draw(place / n, place % n).unwrap_or_default();
        row.assign(&ArrayView1::from(draw));
    }
    Ok(q)
}
