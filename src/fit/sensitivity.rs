//! How much a fit depends on its prior.

use ndarray::{Array2, Axis};
use serde::Serialize;

use super::Fit;
use crate::Error;
use crate::diagnostics::{Influence, PowerScaling, SENSITIVITY_LIMIT, Sensitivity, quantile};
use crate::message::{count, number};
use crate::model::Model;
use crate::threads;
use crate::update::K_LIMIT;

/// The share of rows from which on the prior is said to matter.
const SHARE: f64 = 0.1;

/// How much predictions and parameters of a [`Fit`] depend on the prior and on the data: [`Fit::sensitivity`].
#[derive(Clone, Debug, Serialize)]
pub struct PriorSensitivity {
    /// Of the mean of y given x and q for the [judged rows](Fit::judged_rows), row by row, and the outputs of a row one after
    /// the other: of the standardised response; of classes, their probabilities; of counts and of times with a logarithm, the
    /// logarithm of the mean.
    pub predictions: Vec<Sensitivity>,
    /// The number of those rows.
    pub rows: usize,
    /// Of the uppermost parameters by name, such as `log_noise_variance` or `log_relevance[age]` of the column `age`, but for
    /// the weights of a network with hidden units, which mean nothing by themselves.
    pub parameters: Vec<(String, Sensitivity)>,
    /// Pareto k of the weights for the prior and for the likelihood.
    pub pareto_k: [f64; 2],
}

impl PriorSensitivity {
    /// The number of rows about whose predictions the prior decides, and on which prior and data disagree; a row with
    /// several outputs counts by the strongest influence.
    pub fn rows_influenced(&self) -> (usize, usize) {
        let outputs = (self.predictions.len() / self.rows.max(1)).max(1);
        let rows = self.predictions.chunks(outputs);
        let (mut prior, mut conflict) = (0, 0);
        for row in rows {
            let has = |influence| row.iter().any(|s| s.influence() == influence);
            match (has(Influence::Prior), has(Influence::Conflict)) {
                (true, _) => prior += 1,
                (false, true) => conflict += 1,
                (false, false) => {}
            }
        }
        (prior, conflict)
    }

    /// What was found, in a sentence.
    pub fn in_words(&self) -> String {
        let ([k, of_likelihood], rows) = (self.pareto_k, count(self.rows, "row"));
        let k = k.max(of_likelihood);
        if k > K_LIMIT {
            return format!("unknown: the weights for it have Pareto k {} > {K_LIMIT}", number(k));
        }
        let (prior, conflict) = self.rows_influenced();
        let strongest = if prior > conflict { Influence::Prior } else { Influence::Conflict };
        match (prior + conflict) as f64 > SHARE * self.rows as f64 {
            false => format!(
                "{}: predictions for {} of {rows} hardly depend on it",
                Influence::Robust,
                self.rows - prior - conflict
            ),
            true => {
                let mut of_prior: Vec<f64> = self.predictions.iter().map(|s| s.prior).collect();
                of_prior.sort_unstable_by(f64::total_cmp);
                format!(
                    "{strongest} for {} of {rows} (sensitivity to the prior {:.2} in the median, and \
                     {SENSITIVITY_LIMIT} matters)",
                    prior.max(conflict),
                    quantile(&of_prior, 0.5)
                )
            }
        }
    }
}

impl Fit {
    /// How much the predictions of the [judged rows](Self::judged_rows), and the parameters, depend on the prior and on the
    /// data, by [power-scaling](PowerScaling). Of a hierarchical prior the densities of the uppermost parameters alone are
    /// scaled, for example of the scales of weights, not of weights given their scale. They are densities of the
    /// coordinates that are sampled, such as the logarithm of a variance. Chains that have not converged say nothing of it.
    ///
    /// ```
    /// # use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let fit = Fit::regression("y").hidden(&[4]).chains(2).warmup(200).draws(200).fit(&data)?;
    /// let sensitivity = fit.sensitivity()?;
    /// println!("{}", sensitivity.in_words());
    /// assert_eq!(sensitivity.predictions.len(), 40);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Draws of an approximation, such as an ensemble; fewer than 25 draws; means that are not finite; predictions that do not
    /// fit into memory; several completed tables.
    pub fn sensitivity(&self) -> Result<PriorSensitivity, Error> {
        let (posterior, draws) = (&self.of_one_table()?.plan.posterior, &self.draws);
        if draws.info().approximation.is_some() {
            return Err(Error::argument("draws", "of an approximation", "of the posterior"));
        }
        let network = posterior.model().base().base();
        let is_top = |name: &str| !network.has_scale(name);
        let priors = posterior.priors().iter();
        let top: Vec<_> = priors.filter(|p| p.is_own() && is_top(&p.name)).collect();
        let shape = (draws.n_chains(), draws.n_draws());
        let log_prior = Array2::from_shape_fn(shape, |(chain, draw)| {
            let q = draws.values().slice(ndarray::s![chain, draw, ..]).to_vec();
            top.iter().map(|prior| prior.log_density(&q)).sum() //~ uppermost-priors
        });
        let scaling = PowerScaling::new(log_prior.view(), draws.stat("log_likelihood")?)?;
        let judged = self.judged()?;
        // The mean of a heavy tail is ruled by few draws on its own scale.
        let is_of_logs = self.plan.recipe.kind().has_log_link();
        let of_scale = |mean: &f64| if is_of_logs { crate::portable::ln(*mean) } else { *mean };
        let mean = judged.mean().map(of_scale);
        let (rows, outputs) = (mean.len_of(Axis(2)), mean.len_of(Axis(3)));
        let of_row = |cell: usize| {
            let of_output = mean.index_axis(Axis(3), cell % outputs);
            scaling.of(of_output.index_axis(Axis(2), cell / outputs))
        };
        let weights = network.base().base().layout();
        let is_linear = network.base().base().sizes().len() == 2;
        let mut parameters = Vec::new();
        let names = draws.layout().parameter_names();
        for prior in top {
            if is_linear || weights.range(&prior.name).is_none() {
                let columns = network.names_of_scales(&prior.name);
                for (k, place) in prior.range.clone().enumerate() {
                    let of_column =
                        columns.get(k).map(|column| format!("{}[{column}]", prior.name));
                    let values = draws.values();
                    let values = values.index_axis(Axis(2), place);
                    let name = of_column.unwrap_or_else(|| names[place].clone());
                    parameters.push((name, scaling.of(values)?));
                }
            }
        }
        let predictions = threads::map(rows * outputs, &of_row);
        let predictions = predictions.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(PriorSensitivity { predictions, rows, parameters, pareto_k: scaling.pareto_k() })
    }
}
