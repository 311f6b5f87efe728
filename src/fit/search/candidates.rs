//! The candidates of a search, and the recipe of each.

use crate::data::{Dataset, FEW_GRADES, ROWS_OF_GRADE, Response, Transform};
use crate::fit::Recipe;
use crate::fit::Settings;
use crate::fit::choices::{Candidate, Method, WeightPrior};
use crate::fit::kinds::Noise;

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
        let kind = recipe.kind();
        let known = kind.candidates(columns).iter().find(|(known, ..)| *known == self);
        let (_, noise, transform) = known.copied().unwrap_or((self, None, Transform::None));
        let transform = match transform {
            Transform::YeoJohnson if recipe.decided.takes_logs => Transform::Log,
            given => given,
        };
        let is_open = recipe.has_open_noise();
        let (hidden, weights) = match self {
            Self::Additive => (vec![], WeightPrior::Scales),
            linear if linear.is_linear() => (vec![], kind.prior_of_linear()),
            Self::NetworkDeep => (DEEP.to_vec(), WeightPrior::Scales),
            _ => (vec![UNITS], WeightPrior::Scales),
        };
        let mut own = recipe.clone();
        own.settings.model = None;
        own.settings.hidden.get_or_insert(hidden);
        own.decided.curves = match self {
            Self::Additive => own.layers().is_empty(),
            Self::NetworkCurves => !own.layers().is_empty(), //~ curves-of-candidate
            _ => false,
        };
        own.settings.skip.get_or_insert(!self.is_linear());
        //~ powers-of-candidate
        own.settings.power_features.get_or_insert(self != Self::Linear);
        own.settings.weights.get_or_insert(weights);
        own.settings.noise = own.settings.noise.or(noise).or(Noise::default_of(own.task));
        if is_open {
            own.settings.transform = transform;
        }
        let method = match (own.settings.method, own.chosen_method(columns)) {
            (Some(given), _) => given,
            // Where scales are sampled and may be near 0, 10 of 400 transitions of NUTS diverged on Sacramento, 7 on PhDPublications.
            (None, chosen) if own.layers().is_empty() && own.prior() != WeightPrior::Scales => {
                chosen
            }
            //~ method-of-candidate
            (None, Method::Collapsed) if !own.kind().has_tails() => Method::Collapsed,
            (None, _) => Method::Mams,
        };
        own.method(method)
    }
}

impl Recipe {
    /// Whether the model is to be chosen by the data: no setting of it was given.
    pub(in crate::fit) fn is_open(&self) -> bool {
        let Settings { model, hidden, skip, weights, method, .. } = &self.settings;
        let is_given = [model.is_some(), hidden.is_some(), skip.is_some(), weights.is_some()];
        !is_given.contains(&true) && method.is_none()
    }

    /// The model by the name that it has because of its curves: [`Candidate::Additive`], or [`Candidate::NetworkCurves`] with any hidden
    /// layers; `None` of a model without curves.
    pub fn model_of_curves(&self) -> Option<Candidate> {
        let of_curves = match self.layers() {
            [] => Candidate::Additive,
            _ => Candidate::NetworkCurves,
        };
        self.decided.curves.then_some(of_curves)
    }

    /// Whether neither noise nor transform was given.
    pub(super) fn has_open_noise(&self) -> bool {
        self.settings.noise.is_none() && self.settings.transform.is_none()
    }

    /// The candidates for a response of so many columns, from the simplest one on.
    pub(in crate::fit) fn candidates(&self, columns: usize) -> Vec<Candidate> {
        use Candidate::{Additive, Linear, LinearTransformed, Network, NetworkCurves};
        let is_known = |(candidate, _, transform): &(Candidate, Option<Noise>, Transform)| {
            let is_plain =
                transform.is_none() && matches!(candidate, Linear | LinearTransformed | Network);
            let is_plain = is_plain || matches!(candidate, Additive | NetworkCurves);
            // Without a transform of the response it differs from the linear model by the powers of the features alone.
            let is_twin = *candidate == LinearTransformed && transform.is_none();
            (is_plain || self.has_open_noise())
                && !(is_twin && self.settings.power_features.is_some())
        };
        let known = self.kind().candidates(columns).iter().copied();
        known.filter(is_known).map(|(candidate, ..)| candidate).collect()
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
