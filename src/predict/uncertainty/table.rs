//! The uncertainty of each input by all measures: the table that is made of sums over draws.

use std::fmt;
use std::io::Write;
use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayView3, Axis};
use serde::Serialize;

use super::probabilities::p_ln_p;
use super::{Measure, MeasureSummary, RunningUncertainty};
use crate::Error;
use crate::diagnostics::quantile;
use crate::order::largest_first;
use crate::predict::calibration::{Bins, Reliability, check_bins, reliability};
use crate::predict::classification::{accuracy, brier, top_class};
use crate::predict::predictions::{Centre, to_file};
use crate::predict::scores::{Score, Scores};

/// Thresholds for [`Uncertainty::counts_below`]: the bounds of |p_1 - p_7| in table 7 of the
/// dissertation *Bayesian uncertainty reduction analysis by Langevin dynamics sampling*.
pub const THRESHOLDS: [f64; 6] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// The uncertainty of the classification of some inputs, by draws of q: how sure is each prediction,
/// and is it the data or the weights that are not?
///
/// For an input x, draw s of q gives probabilities p_c(x; q_s) of C classes. Over S draws, in nats:
///
/// ```text
/// predictive mean        E p_c  = 1/S sum_s p_c(x; q_s)
/// variation ratio        V      = 1 - max_c E p_c                           0 to 1 - 1/C
/// disagreement           D      = 1 - max_c (share of draws that vote for c)    0 to 1 - 1/C
/// predictive entropy     H[E p] = - sum_c E p_c ln E p_c                    0 to ln C
/// expected entropy       E H[p] = 1/S sum_s - sum_c p_c(x; q_s) ln p_c(x; q_s)  0 to ln C
/// mutual information     I      = H[E p] - E H[p]                           0 to ln C
/// ```
///
/// with 0 ln 0 = 0; a draw votes for its most probable class, the first of equals.
///
/// **Which to look at.** V and H\[E p\] measure how uncertain a prediction is. E H\[p\] is the part
/// of it that every draw shares, as of an image that could be either; I = E KL(p, E p) is the part
/// on which draws differ, which more data would reduce (Houlsby and others 2011, arXiv:1112.5745;
/// Depeweg and others 2018, arXiv:1710.07283). If any measure recognises inputs unlike the training
/// data, it is I. D is the variation ratio of labels (Gal 2016, *Uncertainty in Deep Learning*,
/// section 3.3), where the label of a draw is its vote.
///
/// **The measures do not say** whether the probabilities are right: see [`Reliability`]. A model
/// can be certain and wrong, and cooling a posterior makes all of these small.
///
/// **Monte Carlo error.** I is too small, on average by about I / S for S independent draws (use
/// the effective number); a single draw has I = 0. I is a difference, and values below about 1e-16
/// S are rounding; where rounding would make it negative it is 0.
///
/// **Proper and lazy.** The average over draws, E f(x; q), is [`Posterior::uncertainty`]. The
/// 'lazy' f(x; E q) puts the posterior mean of the weights into the network:
/// `posterior.uncertainty_at(&draws.mean(), x)`. That is one network: I = 0. It does not
/// approximate the average where chains visit other arrangements of hidden units, or other modes:
/// their mean weights belong to none of them. Measured on the bundled ones and sevens (64-10-2 tanh
/// units, prior N(0, 1), 180 training and 181 test images): over two chains of 500 draws of HMC,
/// the average has an accuracy of 1.00, a log predictive density of -0.04, and 2 images with |p_1 -
/// p_7| < 0.4; the lazy network has 0.91, -0.50 and 150.
///
/// **Other inputs.** [`Posterior::uncertainty`] takes inputs without labels, so also inputs of
/// classes that the model does not know. The area under the ROC curve, [`auroc`], is the
/// probability that such an input has a larger measure than a familiar one, ties counting one half:
/// 1/2 is chance.
///
/// **Memory.** [`RunningUncertainty`] takes one draw's probabilities at a time and keeps sums over
/// draws: 16 C + 8 bytes for each input, for any number of draws. Everything here goes through it.
/// Where draws of q are too large to be kept,
/// [`StreamedUncertainty`](crate::predict::StreamedUncertainty) adds up their probabilities while
/// the chain runs. Time: a logarithm for each draw, input and class.
///
/// ```
/// # #[cfg(feature = "datasets")] {
/// use bnn_mcmc::data::bundled;
/// use bnn_mcmc::predict::{Measure, THRESHOLDS};
/// use bnn_mcmc::prelude::*;
///
/// let digits = bundled::digits();
/// let pixels = digits.x() / 16.0;
/// let digits = digits.with_x(pixels)?;
/// let (train, test) = digits.select_classes(["1", "7"])?.stratified_split(0.5, 1)?;
///
/// let network = Mlp::new(&[64, 5, 2], Activation::Tanh)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(network, Categorical, &train, priors)?;
/// let sampler = Sampler::new(&posterior, Hmc::default()).chains(2).warmup(100).draws(100);
/// let draws = sampler.seed(1).run()?;
///
/// // How uncertain are the test images, and which are the worst?
/// let known = posterior.uncertainty(&draws, test.x().view())?;
/// println!("{known:#}");
/// let worst = known.ranking(Measure::PredictiveEntropy)[0];
/// println!("row {worst}: {}", known.mean().row(worst));
///
/// // Images with |p_1 - p_7| below 0.4, 0.5, ..., 0.9: lazy and proper Monte Carlo.
/// let lazy = posterior.uncertainty_at(&draws.mean(), test.x().view())?;
/// println!("{:?}", lazy.counts_below(["1", "7"], &THRESHOLDS)?);
/// println!("{:?}", known.counts_below(["1", "7"], &THRESHOLDS)?);
///
/// // Digits that are neither: do they look more uncertain?
/// let others = digits.select_classes(["0", "2", "3", "4", "5", "6", "8", "9"])?;
/// let others = posterior.uncertainty(&draws, others.x().view())?;
/// let separation = known.separation(&others)?;
/// println!("{separation}");
/// assert!(separation.get(Measure::MutualInformation) > 0.8);
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// [`Posterior::uncertainty`]: crate::posterior::Posterior::uncertainty
/// [`auroc`]: super::auroc
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uncertainty {
    class_names: Vec<String>,
    draws: u64,
    mean: Array2<f64>,
    vote_share: Array2<f64>,
    /// The measures of each input, in the order of [`Measure::ALL`].
    measures: [Vec<f64>; 5],
}

impl Uncertainty {
    /// Measures uncertainty by the probabilities of all draws, `[draw, input, class]`, or for two
    /// classes also `[draw, input, 1]`, the probability of the second class. One draw is a point
    /// prediction.
    ///
    /// # Errors
    /// If there is no draw; the errors of [`RunningUncertainty::new`] and
    /// [`RunningUncertainty::add`].
    pub fn new<S: Into<String>>(
        probabilities: ArrayView3<f64>,
        class_names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let mut running = RunningUncertainty::new(probabilities.len_of(Axis(1)), class_names)?;
        probabilities.outer_iter().try_for_each(|draw| running.add(draw))?;
        running.uncertainty()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.mean.nrows()
    }

    /// The number of draws.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// The names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// The predictive mean E p, `[input, class]`.
    pub fn mean(&self) -> ArrayView2<'_, f64> {
        self.mean.view()
    }

    /// The share of draws whose most probable class is this one, `[input, class]`.
    pub fn vote_share(&self) -> ArrayView2<'_, f64> {
        self.vote_share.view()
    }

    /// The values of a measure, one for each input.
    pub fn measure(&self, measure: Measure) -> &[f64] {
        &self.measures[measure as usize]
    }

    /// The inputs, counted from 0, the most uncertain first; of equals, the first.
    pub fn ranking(&self, measure: Measure) -> Vec<usize> {
        let values = self.measure(measure);
        let mut order: Vec<usize> = (0..values.len()).collect();
        largest_first(&mut order, &|i| values[i]);
        order
    }

    /// |E p_a - E p_b| of every input, for two classes a and b.
    ///
    /// # Errors
    /// If a class does not exist, or both are the same.
    pub fn margins(&self, [a, b]: [&str; 2]) -> Result<Vec<f64>, Error> {
        let column = |name: &str| {
            let position = self.class_names.iter().position(|n| n == name);
            position.ok_or_else(|| {
                let (what, name, known) = ("class".into(), name.into(), self.class_names.clone());
                Error::UnknownName { what, name, known }
            })
        };
        let (first, second) = (column(a)?, column(b)?);
        if first == second {
            return Err(Error::argument("classes", format!("`{a}` twice"), "two different ones"));
        }
        Ok(self.mean.rows().into_iter().map(|p| (p[first] - p[second]).abs()).collect())
    }

    /// For each threshold, how many inputs have |E p_a - E p_b| below it: table 7 of the
    /// dissertation, with its [`THRESHOLDS`].
    ///
    /// Small counts alone are not a merit: a model that is certain and wrong has them too.
    ///
    /// # Errors
    /// The errors of [`margins`](Self::margins); also if a threshold is NaN.
    pub fn counts_below(
        &self,
        classes: [&str; 2],
        thresholds: &[f64],
    ) -> Result<Vec<usize>, Error> {
        if thresholds.iter().any(|t| t.is_nan()) {
            return Err(Error::argument("thresholds", "NaN", "numbers"));
        }
        let margins = self.margins(classes)?;
        let below = |t: &f64| margins.iter().filter(|margin| *margin < t).count();
        Ok(thresholds.iter().map(below).collect())
    }

    /// Each measure over the inputs, in the order of [`Measure::ALL`].
    pub fn summary(&self) -> [MeasureSummary; 5] {
        Measure::ALL.map(|measure| {
            let mut sorted = self.measure(measure).to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            let [median, q95, max] = [0.5, 0.95, 1.0].map(|p| quantile(&sorted, p));
            let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
            MeasureSummary { measure, mean, median, q95, max }
        })
    }

    /// Accuracy, Brier score, expected calibration error and log predictive density of the
    /// predictive mean by the observed `classes`, counted from 0: as
    /// [`Predictions::scores`](crate::predict::Predictions::scores), for draws that were not kept.
    /// Scores of single draws are NaN.
    ///
    /// # Errors
    /// If there is not one class for each input, or one does not exist.
    pub fn scores(&self, classes: &[usize]) -> Result<Scores, Error> {
        self.check_observed(classes)?;
        let p = self.mean();
        let log_density = |(p, class): (ArrayView1<f64>, &usize)| p[*class].ln();
        let log_densities = p.rows().into_iter().zip(classes).map(log_density);
        let scores = [
            ("accuracy", accuracy(p, classes, None)),
            ("brier", brier(p, classes, None)),
            ("ece", reliability(p, classes, None, Bins::default()).ece()),
            ("log_predictive_density", log_densities.sum::<f64>() / classes.len() as f64),
        ];
        let nan = f64::NAN;
        let score = |(name, posterior): (&str, f64)| Score {
            name: name.into(),
            posterior,
            draws_mean: nan,
            draws_sd: nan,
        };
        let (scores, centre) = (scores.map(score).to_vec(), Centre::Mean);
        Ok(Scores { scores, rows: classes.len(), centre, weight: None })
    }

    /// The [reliability curve](Reliability) of the predictive mean.
    ///
    /// # Errors
    /// The errors of [`scores`](Self::scores); also no bins, or more than 10,000.
    pub fn reliability(&self, classes: &[usize], bins: Bins) -> Result<Reliability, Error> {
        let (Bins::EqualWidth(n) | Bins::EqualCount(n)) = bins;
        check_bins(n)?;
        self.check_observed(classes)?;
        Ok(reliability(self.mean(), classes, None, bins))
    }

    fn check_observed(&self, classes: &[usize]) -> Result<(), Error> {
        if classes.len() != self.inputs() {
            return Err(Error::shape("observed classes", classes.len(), self.inputs()));
        }
        match classes.iter().find(|class| **class >= self.class_names.len()) {
            Some(class) => {
                let allowed = format!("0 to {}", self.class_names.len() - 1);
                Err(Error::argument("observed class", class, allowed))
            }
            None => Ok(()),
        }
    }

    /// One line per input: `input`, the predictive mean of each class (`p_1`, `p_7`), its share of
    /// votes (`votes_1`, `votes_7`), and the measures.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        let mut record = vec!["input".to_string()];
        record.extend(self.class_names.iter().map(|name| format!("p_{name}")));
        record.extend(self.class_names.iter().map(|name| format!("votes_{name}")));
        record.extend(Measure::ALL.map(|measure| measure.name().to_string()));
        csv.write_record(&record)?;
        for (i, (mean, votes)) in
            self.mean.rows().into_iter().zip(self.vote_share.rows()).enumerate()
        {
            let measures = self.measures.iter().map(|values| &values[i]);
            let numbers = mean.into_iter().chain(votes).chain(measures);
            csv.write_field(i.to_string())?;
            csv.write_record(numbers.map(f64::to_string))?;
        }
        csv.flush()
    }
}

/// A table of each measure over the inputs; `{:#}` adds the ten inputs of largest predictive
/// entropy.
impl fmt::Display for Uncertainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        let (inputs, names) = (self.inputs(), self.class_names.join(", "));
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let (s, draws) = (plural(inputs as u64), self.draws);
        writeln!(f, "{inputs} input{s}, {draws} draw{}, classes {names}; in nats", plural(draws))?;
        let columns = ["mean", "median", "95 %", "largest"];
        writeln!(f, "{:20}{}", "", columns.map(|c| format!(" {c:>10}")).concat())?;
        for s in self.summary() {
            write!(f, "{:20}", s.measure)?;
            for value in [s.mean, s.median, s.q95, s.max] {
                write!(f, " {value:10.6}")?;
            }
            writeln!(f)?;
        }
        if f.alternate() {
            let columns = ["V", "D", "H[E p]", "E H[p]", "I"].map(String::from);
            let columns = self.class_names.iter().map(|n| format!("p {n}")).chain(columns);
            let columns: Vec<String> = columns.map(|c| format!(" {c:>8}")).collect();
            writeln!(f, "{:8}{}", "input", columns.concat())?;
            for &i in self.ranking(Measure::PredictiveEntropy).iter().take(SHOWN) {
                write!(f, "{i:<8}")?;
                let measures = self.measures.iter().map(|values| &values[i]);
                for (value, column) in self.mean.row(i).into_iter().chain(measures).zip(&columns) {
                    write!(f, " {value:0$.5}", column.chars().count() - 1)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

impl RunningUncertainty {
    /// The [uncertainty](Uncertainty) by the draws so far.
    ///
    /// # Errors
    /// If there are no draws.
    pub fn uncertainty(&self) -> Result<Uncertainty, Error> {
        if self.draws == 0 {
            return Err(Error::shape("draws of probabilities", 0, "at least 1"));
        }
        let n = self.draws as f64;
        let shape = (self.inputs(), self.class_names.len());
        let array = |values: Vec<f64>| {
            Array2::from_shape_vec(shape, values).expect("one number for each input and class")
        };
        let mean = array(self.probability.iter().map(|sum| sum / n).collect());
        let vote_share = array(self.votes.iter().map(|votes| *votes as f64 / n).collect());
        let mut measures: [Vec<f64>; 5] = Default::default();
        let rows = mean.rows().into_iter().zip(vote_share.rows()).zip(&self.entropy);
        for ((mean, votes), entropy) in rows {
            let predictive = entropy_of(mean);
            let expected = (entropy / n).max(0.0);
            let information = (predictive - expected).max(0.0); //~ mutual-information
            let row = [all_but_top(mean), all_but_top(votes), predictive, expected, information];
            measures.iter_mut().zip(row).for_each(|(all, value)| all.push(value));
        }
        let class_names = self.class_names.clone();
        Ok(Uncertainty { class_names, draws: self.draws, mean, vote_share, measures })
    }
}

/// -sum p ln p; not negative where a rounded p exceeds 1.
fn entropy_of(p: ArrayView1<f64>) -> f64 {
    (-p.iter().map(|p| p_ln_p(*p)).sum::<f64>()).max(0.0)
}

/// 1 - max p, as the sum of all others: no digits are lost where max p is near 1.
fn all_but_top(p: ArrayView1<f64>) -> f64 {
    let top = top_class(p).0;
    p.iter().enumerate().filter(|(class, _)| *class != top).map(|(_, p)| p).sum()
}
