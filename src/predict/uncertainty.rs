//! Uncertainty of a classification: how sure, and is it the data or the weights that are not?

use std::collections::HashSet;
use std::fmt;
use std::io::Write;
use std::path::Path;

use ndarray::{Array2, Array4, ArrayView1, ArrayView2, ArrayView3, ArrayView4, Axis};
use serde::{Deserialize, Serialize};

use super::calibration::{Bins, Reliability, check_bins, reliability};
use super::cells::quantile;
use super::classification::{accuracy, brier, top_class};
use super::scores::{Score, Scores};
use super::{Predictions, to_file};
use crate::Error;
use crate::data::Response;
use crate::memory;
#[allow(unused_imports)] // for the documentation
use crate::targets::Posterior;

/// The bounds of |p_1 - p_7| in table 7 of the dissertation *Bayesian uncertainty reduction
/// analysis by Langevin dynamics sampling*.
pub const THRESHOLDS: [f64; 6] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// How far the probabilities of a row may be from summing to 1: those computed in f32 are not
/// exact.
const SUM_TOLERANCE: f64 = 1e-5;

/// A measure of the uncertainty of a classification. See the [`Uncertainty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Measure {
    /// 1 - max_c E p_c.
    VariationRatio,
    /// 1 - the largest share of draws that vote for one class.
    Disagreement,
    /// H\[E p\].
    PredictiveEntropy,
    /// E H\[p\].
    ExpectedEntropy,
    /// H\[E p\] - E H\[p\].
    MutualInformation,
}

impl Measure {
    /// All measures.
    pub const ALL: [Self; 5] = [
        Self::VariationRatio,
        Self::Disagreement,
        Self::PredictiveEntropy,
        Self::ExpectedEntropy,
        Self::MutualInformation,
    ];

    /// The measure's name, as in `predictive_entropy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::VariationRatio => "variation_ratio",
            Self::Disagreement => "disagreement",
            Self::PredictiveEntropy => "predictive_entropy",
            Self::ExpectedEntropy => "expected_entropy",
            Self::MutualInformation => "mutual_information",
        }
    }
}

/// The name in words: `predictive entropy`.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name().replace('_', " "))
    }
}

/// Sums over draws of class probabilities and what is made of them, for as many draws as there are.
///
/// Memory and bytes of a checkpoint do not grow with the number of draws. Equal draws in equal
/// order give equal bits; in another order they differ by rounding.
///
/// ```
/// use bnn_mcmc::predict::{Measure, RunningUncertainty};
/// use ndarray::array;
/// // Two draws that are certain, of one input; they do not agree.
/// let mut running = RunningUncertainty::new(1, ["1", "7"])?;
/// running.add(array![[1.0, 0.0]].view())?;
/// running.add(array![[0.0, 1.0]].view())?;
/// let uncertainty = running.uncertainty()?;
/// assert_eq!(uncertainty.measure(Measure::ExpectedEntropy), [0.0]);
/// assert!((uncertainty.measure(Measure::MutualInformation)[0] - 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct RunningUncertainty {
    class_names: Vec<String>,
    draws: u64,
    /// Sum of p, by input and class.
    probability: Vec<f64>,
    /// Draws that vote for a class, by input and class.
    votes: Vec<u64>,
    /// Sum of H[p], by input.
    entropy: Vec<f64>,
}

/// What is read back from a file.
#[derive(Deserialize)]
struct Unchecked {
    class_names: Vec<String>,
    draws: u64,
    probability: Vec<f64>,
    votes: Vec<u64>,
    entropy: Vec<f64>,
}

impl TryFrom<Unchecked> for RunningUncertainty {
    type Error = Error;

    fn try_from(from: Unchecked) -> Result<Self, Error> {
        let Unchecked { class_names, draws, probability, votes, entropy } = from;
        check_class_names(&class_names)?;
        let cells = entropy.len().checked_mul(class_names.len());
        for found in [probability.len(), votes.len()] {
            if Some(found) != cells || found == 0 {
                let expected = format!("{} for each of the inputs", class_names.len());
                return Err(Error::shape("sums over draws", found, expected));
            }
        }
        Ok(Self { class_names, draws, probability, votes, entropy })
    }
}

impl RunningUncertainty {
    /// No draws yet, of `inputs` inputs and the named classes.
    ///
    /// # Errors
    /// If there is no input, there are more than memory can hold, fewer than two classes, or a name
    /// occurs twice.
    pub fn new<S: Into<String>>(
        inputs: usize,
        class_names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let class_names: Vec<String> = class_names.into_iter().map(Into::into).collect();
        check_class_names(&class_names)?;
        if inputs == 0 {
            return Err(Error::argument("number of inputs", inputs, "at least 1"));
        }
        let size = [(inputs, "inputs"), (2 * class_names.len() + 1, "numbers")];
        memory::check::<f64>("number of inputs", &size, "give as many as memory can hold")?;
        let cells = inputs * class_names.len();
        let (probability, votes, entropy) = (vec![0.0; cells], vec![0; cells], vec![0.0; inputs]);
        Ok(Self { class_names, draws: 0, probability, votes, entropy })
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.entropy.len()
    }

    /// The number of draws so far.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// The names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// Adds one draw: its probabilities `[input, class]`, or of two classes also `[input, 1]`, that
    /// of the second. Nothing is allocated.
    ///
    /// # Errors
    /// If the shape is another, or a row is no probabilities: from 0 to 1, with a sum of 1 to
    /// within 1e-5. The draw is then left out as a whole.
    pub fn add(&mut self, probabilities: ArrayView2<f64>) -> Result<(), Error> {
        let classes = self.class_names.len();
        check_probabilities(probabilities, self.inputs(), &self.class_names)?;
        let sums = self.probability.chunks_exact_mut(classes);
        let votes = self.votes.chunks_exact_mut(classes);
        let inputs = sums.zip(votes).zip(&mut self.entropy);
        for (((sums, votes), entropy), p) in inputs.zip(probabilities.rows()) {
            for (class, sum) in sums.iter_mut().enumerate() {
                let p = of_class(p, class);
                *sum += p;
                *entropy -= p_ln_p(p);
            }
            votes[top_class(p).0] += 1;
        }
        self.draws += 1;
        Ok(())
    }

    /// Adds all draws of `other`, as of another chain.
    ///
    /// # Errors
    /// If it is of another number of inputs or of other classes.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if other.inputs() != self.inputs() {
            return Err(Error::shape("inputs to merge", other.inputs(), self.inputs()));
        }
        check_same_classes(&other.class_names, &self.class_names)?;
        let add = |(a, b): (&mut f64, &f64)| *a += b;
        self.probability.iter_mut().zip(&other.probability).for_each(add);
        self.entropy.iter_mut().zip(&other.entropy).for_each(add);
        self.votes.iter_mut().zip(&other.votes).for_each(|(a, b)| *a = a.saturating_add(*b));
        self.draws = self.draws.saturating_add(other.draws);
        Ok(())
    }

    /// The uncertainty by the draws so far.
    ///
    /// # Errors
    /// If there are none.
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
            let information = (predictive - expected).max(0.0);
            let row = [all_but_top(mean), all_but_top(votes), predictive, expected, information];
            measures.iter_mut().zip(row).for_each(|(all, value)| all.push(value));
        }
        let class_names = self.class_names.clone();
        Ok(Uncertainty { class_names, draws: self.draws, mean, vote_share, measures })
    }
}

/// The uncertainty of the classification of some inputs, by draws of q.
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
/// **Which to look at.** V and H\[E p\] say how uncertain a prediction is. E H\[p\] is the part of
/// it that every draw shares, as of an image that could be either; I = E KL(p, E p) is the part on
/// which draws differ, which more data would reduce (Houlsby and others 2011, arXiv:1112.5745;
/// Depeweg and others 2018, arXiv:1710.07283). Inputs unlike the training data are told by I, if by
/// anything. D is the variation ratio of labels (Gal 2016, *Uncertainty in Deep Learning*, section
/// 3.3), where the label of a draw is its vote.
///
/// **What they do not say** is whether the probabilities are right: see
/// [calibration](super::calibration). A model can be certain and wrong, and cooling a posterior
/// makes all of these small.
///
/// **Monte Carlo error.** I is too small, on average by about I / S for S independent draws (use
/// the effective number); a single draw has I = 0. I is a difference, and what lies below about
/// 1e-16 S is rounding; where rounding would make it negative it is 0.
///
/// **Proper and lazy.** The average over draws, E f(x; q), is [`Posterior::uncertainty`]. The
/// 'lazy' f(x; E q) puts the posterior mean of the weights into the network:
/// `posterior.uncertainty_at(&draws.mean(), x)`. That is one network: I = 0. It is no approximation
/// of the average where chains visit other arrangements of hidden units, or other modes: their mean
/// weights belong to none of them. Measured on the bundled ones and sevens (64-10-2 tanh units,
/// prior N(0, 1), 180 training and 181 test images): over two chains of 500 draws of HMC, the
/// average has an accuracy of 1.00, a log predictive density of -0.04, and 2 images with |p_1 -
/// p_7| < 0.4; the lazy network has 0.91, -0.50 and 150.
///
/// **Other inputs.** [`Posterior::uncertainty`] takes inputs without labels, so also those of
/// classes the model does not know. The area under the ROC curve, [`auroc`], is the probability
/// that such an input has a larger measure than a familiar one, ties counting one half: 1/2 is
/// chance.
///
/// **Memory.** [`RunningUncertainty`] takes one draw's probabilities at a time and keeps sums over
/// draws: 16 C + 8 bytes for each input, for any number of draws. Everything here goes through it.
/// Where draws of q are too large to be kept, [`StreamedUncertainty`](super::StreamedUncertainty)
/// adds up what they say while the chain runs.
/// Time: a logarithm for each draw, input and class.
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uncertainty {
    class_names: Vec<String>,
    draws: u64,
    mean: Array2<f64>,
    vote_share: Array2<f64>,
    /// In the order of [`Measure::ALL`], of each input.
    measures: [Vec<f64>; 5],
}

impl Uncertainty {
    /// From the probabilities of all draws, `[draw, input, class]`, or of two classes also
    /// `[draw, input, 1]`, that of the second. One draw is a point prediction.
    ///
    /// # Errors
    /// If there is no draw; as [`RunningUncertainty::new`] and [`RunningUncertainty::add`].
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

    /// A measure of every input.
    pub fn measure(&self, measure: Measure) -> &[f64] {
        &self.measures[measure as usize]
    }

    /// The inputs, counted from 0, the most uncertain first; of equals, the first.
    pub fn ranking(&self, measure: Measure) -> Vec<usize> {
        let values = self.measure(measure);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
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
    /// Small counts are no merit by themselves: a model that is certain and wrong has them too.
    ///
    /// # Errors
    /// As [`margins`](Self::margins); also if a threshold is NaN.
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

    /// How well each measure tells the inputs of `outside` from these.
    ///
    /// # Errors
    /// If the classes of `outside` are others.
    pub fn separation(&self, outside: &Self) -> Result<Separation, Error> {
        check_same_classes(&outside.class_names, &self.class_names)?;
        let of = |measure| auroc(self.measure(measure), outside.measure(measure));
        let mut area = [0.0; 5];
        for (area, measure) in area.iter_mut().zip(Measure::ALL) {
            *area = of(measure)?;
        }
        Ok(Separation { area, inside: self.inputs(), outside: outside.inputs() })
    }

    /// Accuracy, Brier score, expected calibration error and log predictive density of the
    /// predictive mean by the observed `classes`, counted from 0: those of [`Predictions::scores`],
    /// for draws that were not kept. Scores of single draws are NaN.
    ///
    /// # Errors
    /// If there is not one class for each input, or one does not exist.
    pub fn scores(&self, classes: &[usize]) -> Result<Scores, Error> {
        self.check_observed(classes)?;
        let p = self.mean();
        let log_density = |(p, class): (ArrayView1<f64>, &usize)| p[*class].ln();
        let log_densities = p.rows().into_iter().zip(classes).map(log_density);
        let scores = [
            ("accuracy", accuracy(p, classes)),
            ("brier", brier(p, classes)),
            ("ece", reliability(p, classes, Bins::default()).ece()),
            ("log_predictive_density", log_densities.sum::<f64>() / classes.len() as f64),
        ];
        let nan = f64::NAN;
        let score = |(name, posterior): (&str, f64)| Score {
            name: name.into(),
            posterior,
            draws_mean: nan,
            draws_sd: nan,
        };
        Ok(Scores { scores: scores.map(score).to_vec(), rows: classes.len() })
    }

    /// The reliability curve of the predictive mean, see [calibration](super::calibration).
    ///
    /// # Errors
    /// As [`scores`](Self::scores); also no bins, or more than 10,000.
    pub fn reliability(&self, classes: &[usize], bins: Bins) -> Result<Reliability, Error> {
        let (Bins::EqualWidth(n) | Bins::EqualCount(n)) = bins;
        check_bins(n)?;
        self.check_observed(classes)?;
        Ok(reliability(self.mean(), classes, bins))
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

    /// As [`to_csv`](Self::to_csv), to any writer.
    ///
    /// # Errors
    /// Those of the writer.
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

/// A measure over all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureSummary {
    /// The measure.
    pub measure: Measure,
    /// Its mean over inputs.
    pub mean: f64,
    /// Its median over inputs.
    pub median: f64,
    /// Its 95 % quantile over inputs.
    pub q95: f64,
    /// Its largest value.
    pub max: f64,
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

/// How well each measure tells two sets of inputs apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// The area under the ROC curve, in the order of [`Measure::ALL`].
    pub area: [f64; 5],
    /// The number of inputs like those of the training data.
    pub inside: usize,
    /// The number of other inputs.
    pub outside: usize,
}

impl Separation {
    /// The area under the ROC curve of a measure.
    pub fn get(&self, measure: Measure) -> f64 {
        self.area[measure as usize]
    }

    /// One line per measure: `measure, auroc, inside, outside`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// As [`to_csv`](Self::to_csv), to any writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["measure", "auroc", "inside", "outside"])?;
        for (measure, area) in Measure::ALL.iter().zip(self.area) {
            csv.serialize((measure.name(), area, self.inside, self.outside))?;
        }
        csv.flush()
    }
}

/// A table of the areas.
impl fmt::Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:20} {:>8}",
            format!("{} and {} inputs", self.inside, self.outside),
            "AUROC"
        )?;
        for (measure, area) in Measure::ALL.iter().zip(self.area) {
            writeln!(f, "{measure:20} {area:8.4}")?;
        }
        Ok(())
    }
}

/// The area under the ROC curve: the probability that a score of `outside` is larger than one of
/// `inside`, ties counting one half.
///
/// That is U / (n m) with the statistic of Mann and Whitney (1947, doi:10.1214/aoms/1177730491;
/// Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747), counted exactly from sorted
/// scores. Under chance its standard deviation is about sqrt((n + m + 1) / (12 n m)).
///
/// ```
/// use bnn_mcmc::predict::auroc;
/// assert_eq!(auroc(&[0.0, 1.0], &[1.0, 2.0])?, 3.5 / 4.0);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// If one of the sets is empty or has a NaN.
pub fn auroc(inside: &[f64], outside: &[f64]) -> Result<f64, Error> {
    for (name, scores) in [("inside", inside), ("outside", outside)] {
        if scores.is_empty() {
            return Err(Error::argument(name, "empty", "at least one score"));
        }
        if let Some(i) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::argument(name, format!("NaN at {i}"), "numbers"));
        }
    }
    let mut sorted = inside.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // Comparisons, unlike the total order, take -0 and 0 for equals.
    let twice_u: u128 = outside
        .iter()
        .map(|score| {
            let below = sorted.partition_point(|s| s < score);
            (below + sorted.partition_point(|s| s <= score)) as u128
        })
        .sum();
    Ok(twice_u as f64 / (2.0 * inside.len() as f64 * outside.len() as f64))
}

/// Class probabilities along the chains, for chosen inputs: table 8 of the dissertation. From
/// [`Predictions::along_chains`], from [`Posterior::predict_mean`] for inputs without labels, or
/// from [`StreamedUncertainty`](super::StreamedUncertainty) while the chain runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainProbabilities {
    values: Array4<f64>,
    inputs: Vec<usize>,
    class_names: Vec<String>,
}

impl ChainProbabilities {
    /// Takes `inputs`, counted from 0, out of `probabilities` `[chain, draw, input, class]`; of two
    /// classes there may be one column, that of the second.
    ///
    /// # Errors
    /// If `inputs` is empty or names one that does not exist, there are fewer than two class names,
    /// one occurs twice, or there are not as many as columns.
    pub fn new<S: Into<String>>(
        probabilities: ArrayView4<f64>,
        inputs: &[usize],
        class_names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let class_names: Vec<String> = class_names.into_iter().map(Into::into).collect();
        check_class_names(&class_names)?;
        let (chains, draws, all, columns) = probabilities.dim();
        check_columns(columns, class_names.len())?;
        if inputs.is_empty() {
            return Err(Error::argument("inputs", "empty", "at least one input"));
        }
        if let Some(input) = inputs.iter().find(|input| **input >= all) {
            return Err(Error::argument("inputs", input, format!("less than {all}")));
        }
        let shape = (chains, draws, inputs.len(), class_names.len());
        let values = Array4::from_shape_fn(shape, |(chain, draw, i, class)| {
            let p = probabilities.index_axis(Axis(0), chain);
            let p = p.index_axis_move(Axis(0), draw).index_axis_move(Axis(0), inputs[i]);
            of_class(p, class)
        });
        Ok(Self { values, inputs: inputs.to_vec(), class_names })
    }

    /// From `probabilities` of the chosen `inputs` alone, which have these numbers among all.
    pub(super) fn of_rows(
        probabilities: ArrayView4<f64>,
        inputs: &[usize],
        class_names: Vec<String>,
    ) -> Result<Self, Error> {
        let all: Vec<usize> = (0..inputs.len()).collect();
        Ok(Self { inputs: inputs.to_vec(), ..Self::new(probabilities, &all, class_names)? })
    }

    /// The probabilities, `[chain, draw, input, class]`, of the [`inputs`](Self::inputs).
    pub fn values(&self) -> ArrayView4<'_, f64> {
        self.values.view()
    }

    /// The chosen inputs, counted from 0 among all.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// One line per chain, draw and input: `chain, draw, input`, then `p_1`, `p_7`, ...
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// As [`to_csv`](Self::to_csv), to any writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        let mut record = ["chain", "draw", "input"].map(String::from).to_vec();
        record.extend(self.class_names.iter().map(|name| format!("p_{name}")));
        csv.write_record(&record)?;
        for (c, chain) in self.values.outer_iter().enumerate() {
            for (s, draw) in chain.outer_iter().enumerate() {
                for (input, p) in self.inputs.iter().zip(draw.rows()) {
                    let at = [c, s, *input].map(|n| n.to_string());
                    csv.write_record(at.into_iter().chain(p.iter().map(f64::to_string)))?;
                }
            }
        }
        csv.flush()
    }
}

/// For each input and chain, eight draws at equal distances, or all if there are fewer.
impl fmt::Display for ChainProbabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let (chains, draws, _, _) = self.values.dim();
        let columns: Vec<String> =
            self.class_names.iter().map(|n| format!(" {:>8}", format!("p {n}"))).collect();
        writeln!(f, "{:>8} {:>6} {:>8}{}", "input", "chain", "draw", columns.concat())?;
        for (i, input) in self.inputs.iter().enumerate() {
            for chain in 0..chains {
                let shown = draws.min(SHOWN);
                for draw in (1..=shown).map(|k| k * draws / shown - 1) {
                    write!(f, "{input:>8} {chain:>6} {draw:>8}")?;
                    for (class, column) in columns.iter().enumerate() {
                        let p = self.values[(chain, draw, i, class)];
                        write!(f, " {p:0$.6}", column.chars().count() - 1)?;
                    }
                    writeln!(f)?;
                }
            }
        }
        Ok(())
    }
}

impl Predictions {
    /// The uncertainty of the classification of every row, over all draws of all chains. See the
    /// [`Uncertainty`].
    ///
    /// Errors: there are no draws, the response is not classes, or a probability is NaN.
    pub fn uncertainty(&self) -> Result<Uncertainty, Error> {
        Uncertainty::new(self.draws_of_mean()?, self.names_of_classes()?)
    }

    /// How well each measure of uncertainty tells the rows of `outside` from these; see [`auroc`].
    ///
    /// The rows of `outside` need classes known to the model, whatever these say; without any,
    /// [`Posterior::uncertainty`] and [`Uncertainty::separation`] do the same.
    ///
    /// Errors: as [`uncertainty`](Self::uncertainty); other classes.
    pub fn separation(&self, outside: &Self) -> Result<Separation, Error> {
        self.uncertainty()?.separation(&outside.uncertainty()?)
    }

    /// The class probabilities along the chains, for chosen rows.
    ///
    /// Errors: the response is not classes, `rows` is empty or names a row that does not exist.
    pub fn along_chains(&self, rows: &[usize]) -> Result<ChainProbabilities, Error> {
        ChainProbabilities::new(self.mean(), rows, self.names_of_classes()?)
    }

    fn names_of_classes(&self) -> Result<&[String], Error> {
        match self.observed() {
            Response::Classes { names, .. } => Ok(names),
            _ => Err(self.wrong_kind("classes")),
        }
    }
}

/// The probability of a class, also where there is one column for the second of two.
fn of_class(p: ArrayView1<f64>, class: usize) -> f64 {
    match (p.len(), class) {
        (1, 0) => (1.0 - p[0]).max(0.0),
        (1, _) => p[0],
        _ => p[class],
    }
}

fn p_ln_p(p: f64) -> f64 {
    if p > 0.0 { p * p.ln() } else { 0.0 }
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

fn check_class_names(names: &[String]) -> Result<(), Error> {
    if names.len() < 2 {
        return Err(Error::shape("number of class names", names.len(), "at least 2"));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => {
            Err(Error::argument("class names", format!("`{name}` twice"), "all different"))
        }
        None => Ok(()),
    }
}

fn check_same_classes(found: &[String], expected: &[String]) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::shape("classes of the probabilities", found.join(", "), expected.join(", ")))
}

fn check_columns(found: usize, classes: usize) -> Result<(), Error> {
    if found == classes || (found, classes) == (1, 2) {
        return Ok(());
    }
    let or_one = if classes == 2 { ", or 1 for the second" } else { "" };
    let expected = format!("{classes}, one for each class{or_one}");
    Err(Error::shape("columns of the probabilities", found, expected))
}

/// Checks the probabilities of one draw.
fn check_probabilities(
    probabilities: ArrayView2<f64>,
    inputs: usize,
    class_names: &[String],
) -> Result<(), Error> {
    if probabilities.nrows() != inputs {
        return Err(Error::shape("inputs of the probabilities", probabilities.nrows(), inputs));
    }
    check_columns(probabilities.ncols(), class_names.len())?;
    for (i, row) in probabilities.rows().into_iter().enumerate() {
        if let Some(p) = row.iter().find(|p| !(0.0..=1.0 + SUM_TOLERANCE).contains(*p)) {
            let name = format!("probability of input {i}");
            return Err(Error::argument(name, p, "from 0 to 1"));
        }
        let sum = row.sum();
        if row.len() > 1 && (sum - 1.0).abs() > SUM_TOLERANCE {
            let name = format!("sum of the probabilities of input {i}");
            return Err(Error::argument(name, sum, format!("1 to within {SUM_TOLERANCE}")));
        }
    }
    Ok(())
}
