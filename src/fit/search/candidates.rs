//! The candidates of a search, and the recipe of each.

use crate::data::{Dataset, FEW_GRADES, ROWS_OF_GRADE, Response, Task, Transform};
use crate::fit::Recipe;
use crate::fit::choices::{Candidate, Method, Noise, WeightPrior};

/// The units of the hidden layer of a network that is a candidate.
pub(super) const UNITS: usize = 20;
/// The hidden layers of [`Candidate::NetworkDeep`], and the fewest rows that it is tried on.
pub(super) const DEEP: [usize; 2] = [40, 40];
pub(in crate::fit) const DEEP_ROWS: usize = 250;
/// A deep network's time per chain over the chosen one-layer network's: 0.8 to 4.0 on five tables.
pub(super) const DEEP_TIMES: f64 = 4.0;

impl Candidate {
    /// The recipe with this model, for so many columns of a response. What the recipe says itself stays.
    pub(in crate::fit) fn of(self, recipe: &Recipe, columns: usize) -> Recipe {
        let usual = if recipe.takes_logs { Transform::Log } else { Transform::YeoJohnson };
        let (noise, transform) = match (self, recipe.task) {
            (Self::Network, Task::Regression) if columns == 1 => {
                (Some(Noise::StudentT), Transform::None)
            }
            (
                Self::LinearTransformed
                | Self::Additive
                | Self::NetworkTransformed
                | Self::NetworkDeep,
                Task::Regression,
            ) if columns == 1 => (Some(Noise::StudentT), usual),
            (Self::NetworkHeteroscedastic, _) => (Some(Noise::HeteroscedasticStudentT), usual),
            (Self::LinearHurdle | Self::NetworkHurdle, _) => {
                (Some(Noise::HurdleNegativeBinomial), Transform::None)
            }
            (Self::LinearWeibull | Self::NetworkWeibull, _) => {
                (Some(Noise::Weibull), Transform::None)
            }
            (
                Self::Linear
                | Self::LinearTransformed
                | Self::Additive
                | Self::Network
                | Self::NetworkTransformed
                | Self::NetworkDeep,
                task,
            ) => (Noise::default_of(task), Transform::None),
        };
        let is_open = recipe.has_open_noise();
        let (hidden, weights) = match self {
            Self::Additive => (vec![], WeightPrior::Scales),
            linear if linear.is_linear() => match recipe.task {
                Task::Regression => (vec![], WeightPrior::FanIn),
                //~ scale-of-linear
                _ => (vec![], WeightPrior::Scales),
            },
            Self::NetworkDeep => (DEEP.to_vec(), WeightPrior::Scales),
            _ => (vec![UNITS], WeightPrior::Scales),
        };
        let mut own = recipe.clone();
        own.model = None;
        own.curves = self == Self::Additive;
        own.hidden.get_or_insert(hidden);
        own.skip.get_or_insert(!self.is_linear());
        //~ powers-of-candidate
        own.power_features.get_or_insert(self != Self::Linear);
        own.weights.get_or_insert(weights);
        own.noise = own.noise.or(noise);
        if is_open {
            own.transform = transform;
        }
        let has_t = matches!(own.noise, Some(Noise::StudentT | Noise::HeteroscedasticStudentT));
        let method = match (own.method, own.chosen_method(columns)) {
            (Some(given), _) => given,
            (None, chosen) if own.layers().is_empty() => chosen,
            //~ method-of-candidate
            (None, Method::Collapsed) if !has_t => Method::Collapsed,
            (None, _) => Method::Mams,
        };
        own.method(method)
    }
}

impl Recipe {
    /// Whether the model is to be chosen by the data: no setting of it was given.
    pub(in crate::fit) fn is_open(&self) -> bool {
        let Self { model, hidden, skip, weights, method, .. } = self;
        let is_given = [model.is_some(), hidden.is_some(), skip.is_some(), weights.is_some()];
        !is_given.contains(&true) && method.is_none()
    }

    /// Whether neither noise nor transform was given.
    pub(super) fn has_open_noise(&self) -> bool {
        self.noise.is_none() && self.transform.is_none()
    }

    /// The candidates for a response of so many columns, from the simplest one on.
    pub(in crate::fit) fn candidates(&self, columns: usize) -> Vec<Candidate> {
        use Candidate::{
            Additive, Linear, LinearHurdle, LinearTransformed, LinearWeibull, Network, NetworkDeep,
            NetworkHeteroscedastic, NetworkHurdle, NetworkTransformed, NetworkWeibull,
        };
        let known: &[Candidate] = match self.task {
            Task::Regression if self.has_open_noise() && columns == 1 => &[
                Linear,
                LinearTransformed,
                Additive,
                Network,
                NetworkTransformed,
                NetworkHeteroscedastic,
                NetworkDeep,
            ],
            Task::Regression => &[Linear, Additive, Network],
            Task::Counts if self.has_open_noise() => {
                &[Linear, LinearTransformed, LinearHurdle, Additive, Network, NetworkHurdle]
            }
            Task::Survival if self.has_open_noise() => {
                &[Linear, LinearTransformed, LinearWeibull, Additive, Network, NetworkWeibull]
            }
            Task::Classification | Task::Counts | Task::Survival => {
                &[Linear, LinearTransformed, Additive, Network]
            }
        };
        // Of other responses than real ones it differs from the linear model by the powers of the features alone.
        let is_another = self.task == Task::Regression || self.power_features.is_none();
        known.iter().copied().filter(|known| *known != LinearTransformed || is_another).collect()
    }

    /// The candidates that are always compared.
    pub(in crate::fit) fn first_candidates(&self, columns: usize) -> Vec<Candidate> {
        let mut candidates = self.candidates(columns);
        candidates.retain(|candidate| *candidate != Candidate::NetworkDeep);
        candidates
    }

    /// The candidates that are always compared on these rows: noise by row not where the response has few different values, such as
    /// grades.
    pub(in crate::fit) fn candidates_for(&self, data: &Dataset) -> Vec<Candidate> {
        let mut candidates = self.first_candidates(data.response().width());
        if has_few_values(data.response()) {
            candidates.retain(|candidate| *candidate != Candidate::NetworkHeteroscedastic); //~ few-values
        }
        candidates
    }

    /// The candidate that is tried after the first ones have been compared on so many rows: a deep network where a network
    /// was chosen.
    pub(in crate::fit) fn deeper(
        &self,
        chosen: Candidate,
        columns: usize,
        rows: usize,
    ) -> Option<Candidate> {
        let is_tried = !chosen.is_linear() && rows >= DEEP_ROWS;
        let deep = Candidate::NetworkDeep;
        (is_tried && self.candidates(columns).contains(&deep)).then_some(deep)
    }
}

/// Whether a real response has at most [`FEW_GRADES`] different values, each of [`ROWS_OF_GRADE`] rows on average.
pub(super) fn has_few_values(response: &Response) -> bool {
    let Response::Real(y) = response else { return false };
    let mut values: Vec<f64> = Vec::new();
    for value in y {
        if !values.contains(value) {
            values.push(*value);
        }
        if values.len() > FEW_GRADES {
            return false;
        }
    }
    y.nrows() >= ROWS_OF_GRADE * values.len()
}
