//! The starting points of chains.

use crate::Error;
use crate::draws::Draws;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::targets::{Point, Target};

/// The starting points of chains. Points are checked: the log density must be finite.
///
/// From a start where the log density is below -1e8, as draws of a wide prior can have it, warm-up
/// cannot begin: no step size is right for the way from there. NUTS, HMC, MAMS and MCLMC, by
/// themselves and within `Collapsed`, `Cycle` and `Mixture`, leave it by an ascent of at most 200
/// gradients; [`RunInfo::climbed`](crate::draws::RunInfo::climbed) says which chains did.
///
/// **Which one?** The default, draws from the prior, lies within every support and is dispersed, as
/// R-hat wants it. For networks with a real response take small weights instead, `Around { centre:
/// vec![0.0; dim], sd: 0.1 }`: draws of a wide prior saturate hidden units, and chains stay where
/// they do. Measured on the bundled sunspot series (MLP 4-10-1 tanh, standardised, 4 chains,
/// sampled noise): with N(0, 5^2) priors R-hat of the predictions after 500 + 250 draws of NUTS
/// (one seed) was 1.66 from prior draws, 1.41 from [Adam](crate::optimise::Adam) started there, and
/// 1.23 from small weights; MALA's chains had log likelihoods of 40 to 172 after 5,000 + 2,000
/// steps from prior draws, and 513 to 566 from small weights. With N(0, 1) priors the difference is
/// small, and none was seen for classes. Adam from small weights did no better than small weights
/// alone, since the first steps of NUTS climb as fast.
#[derive(Clone, Debug, Default)]
pub enum Init {
    /// Random points of the target: draws from the prior, for a posterior. Tried up to
    /// [`Init::TRIES`] times per chain.
    #[default]
    Random,
    /// One point per chain.
    Points(Vec<Vec<f64>>),
    /// Normal with standard deviation `sd` around `centre`, independent for each coordinate and
    /// chain. Tried up to [`Init::TRIES`] times per chain.
    Around {
        /// The centre, as long as q.
        centre: Vec<f64>,
        /// The standard deviation, above 0.
        sd: f64,
    },
}

impl Init {
    /// The number of random points that a chain tries before it gives up.
    pub const TRIES: usize = 100;

    /// The points where the chains of `draws` ended: one for each chain, none if there are no
    /// draws.
    pub fn ends_of(draws: &Draws) -> Self {
        let last = draws.n_draws().wrapping_sub(1);
        let ends = (0..draws.n_chains()).filter_map(|chain| draws.draw(chain, last));
        Self::Points(ends.map(<[f64]>::to_vec).collect())
    }

    /// A starting point of finite log density for chain number `chain` of `chains`.
    pub(crate) fn find<T: Target>(
        &self,
        target: &T,
        chain: usize,
        chains: usize,
        rng: &mut ChainRng,
        ws: &mut T::Workspace,
    ) -> Result<Point, Error> {
        let mut point = Point::new(target.dim());
        let tries = if matches!(self, Self::Points(_)) { 1 } else { Self::TRIES };
        for _ in 0..tries {
            let mut start = vec![0.0; target.dim()];
            match self {
                Self::Random => target.draw_start(rng, &mut start)?,
                given => given.draw(chain, chains, rng, &mut start)?,
            }
            point.set(|q| q.copy_from_slice(&start));
            if point.eval(target, ws).is_finite() {
                return Ok(point);
            }
        }
        let last = point.log_density();
        Err(Error::Start {
            chain,
            tries,
            last: format!("log likelihood {}, log prior {}", last.likelihood, last.prior),
        })
    }

    /// A starting point that does not depend on the target; `q` is left alone by [`Self::Random`].
    fn draw(
        &self,
        chain: usize,
        chains: usize,
        rng: &mut ChainRng,
        q: &mut [f64],
    ) -> Result<(), Error> {
        let check = |what: &str, point: &[f64]| {
            if point.len() != q.len() {
                let what = format!("length of {what}");
                return Err(Error::shape(what, point.len(), q.len()));
            }
            match point.iter().position(|x| !x.is_finite()) {
                Some(i) => Err(Error::argument(
                    format!("coordinate {i} of {what}"),
                    point[i],
                    "a finite number",
                )),
                None => Ok(()),
            }
        };
        match self {
            Self::Random => {}
            Self::Points(points) => {
                if points.len() != chains {
                    return Err(Error::shape("number of starting points", points.len(), chains));
                }
                check(&format!("the starting point of chain {chain}"), &points[chain])?;
                q.copy_from_slice(&points[chain]);
            }
            Self::Around { centre, sd } => {
                positive("sd of the starting points", *sd)?;
                check("the centre of the starting points", centre)?;
                for (q, c) in q.iter_mut().zip(centre) {
                    *q = c + sd * rng.normal();
                }
            }
        }
        Ok(())
    }
}
