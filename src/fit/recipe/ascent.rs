//! Runs that begin where ascents end: the members of an ensemble, and chains of networks on many rows.

use std::ops::Range;
use std::path::Path;

use super::model::variance_of;
use super::{
    ASCENT, FitPosterior, HORSESHOE, MEMBER_PATH, MEMBER_WARMUP, OF_SKIP, OUTPUTS, RELEVANCE,
    ROWS_OF_STEP, Recipe, Sizes,
};
use crate::Error;
use crate::draws::{Approximation, Draws, RunInfo};
use crate::fit::Plan;
use crate::fit::ensemble::{Held, Member};
use crate::layout::Layout;
use crate::message::Setting;
use crate::optimise::{Adam, Optimiser};
use crate::sampler::{Collapsed, Init, Mams, Minibatch};
use crate::targets::Target;

impl Recipe {
    /// An error if the sizes of an ensemble make none.
    pub(super) fn check_ensemble(&self) -> Result<(), Error> {
        if !self.is_ensemble() {
            return Ok(());
        }
        let Sizes { chains, warmup, .. } = self.sizes();
        let least = |name: &str, found, least, setting| match found < least {
            true => {
                let error =
                    Error::argument(name, found, format!("at least {least} for an ensemble"));
                Err(error.of(setting))
            }
            false => Ok(()),
        };
        least("chains", chains, 2, Setting::Chains)?;
        least("warmup", warmup, 1, Setting::Warmup)
    }

    /// The steps of the ascent of a member of an ensemble, and the iterations that warm up its sampler.
    pub(in crate::fit) fn ascent(&self) -> (usize, usize) {
        let warmup = self.sizes().warmup;
        let sampler = (warmup / 2).min(MEMBER_WARMUP);
        (warmup - sampler, sampler)
    }

    /// The coordinates that an ascent leaves alone: the logarithms of scales, for which the joint
    /// density of scales and weights has no maximum; and the coordinates that are 0 besides, by which
    /// the noise depends on the features.
    pub(super) fn held(&self, layout: &Layout) -> [Vec<Range<usize>>; 2] {
        let ranges = |names: &[&str]| names.iter().filter_map(|name| layout.range(name)).collect();
        let scales = [RELEVANCE, HORSESHOE, OUTPUTS, OF_SKIP].map(String::from);
        let of_groups = self.reader.groupings().iter().map(|column| variance_of(column));
        let scales: Vec<String> = scales.into_iter().chain(of_groups).collect();
        let scales: Vec<&str> = scales.iter().map(String::as_str).collect();
        [ranges(&scales), ranges(&["log_sd"])]
    }

    pub(super) fn sample_ensemble<'t>(
        &'t self,
        plan: &'t Plan,
        posterior: &'t FitPosterior,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error> {
        let columns = plan.data.response().width();
        let [mut held, zero] = self.held(posterior.layout());
        held.extend(zero.iter().cloned());
        let adam = Adam { steps: self.ascent().0, learning_rate: 0.01, ..Adam::default() };
        let (ascent, mams) = (Held { adam, held }, self.of_member());
        let draws = if self.can_collapse(columns) {
            let algorithm = Collapsed::new(mams);
            self.sample_by(plan, posterior, Member { ascent, zero, algorithm }, checkpoint)?
        } else {
            let path_length = Some(MEMBER_PATH * (posterior.dim() as f64).sqrt()); //~ path-of-member
            let algorithm = Mams { path_length, ..mams };
            self.sample_by(plan, posterior, Member { ascent, zero, algorithm }, checkpoint)?
        };
        let members = self.sizes().chains;
        let approximation = Some(Approximation::Ensemble { members });
        let info = RunInfo { approximation, ..draws.info().clone() };
        Ok(draws.with_info(info))
    }

    /// Whether chains begin where ascents on minibatches end.
    pub(in crate::fit) fn ascends(&self) -> bool {
        self.has_many_rows() && self.has_rest() && !self.is_ensemble()
    }

    /// Where chains of networks on many rows begin: the ends of ascents on minibatches, in the time of some gradients of all rows.
    pub(super) fn ascended(
        &self,
        plan: &Plan,
        posterior: &FitPosterior,
        from: &Init,
    ) -> Result<Init, Error> {
        let [mut held, zero] = self.held(posterior.layout());
        held.extend(zero);
        let (learning_rate, steps) = (0.01, ASCENT);
        let minibatch = Minibatch { size: ROWS_OF_STEP.min(plan.own_train().rows()) };
        let adam = Adam { learning_rate, steps, ..Adam::new(minibatch) };
        let ascent = Optimiser::new(posterior, Held { adam, held }).seed(self.seed_of_draws());
        ascent.starts(from, self.sizes().chains)
    }
}
