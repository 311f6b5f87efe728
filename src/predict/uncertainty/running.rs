//! Sums over draws of class probabilities.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::probabilities::{
    check_class_names, check_probabilities, check_same_classes, of_class, p_ln_p,
};
use crate::Error;
use crate::memory;
use crate::predict::classification::top_class;

/// Sums over draws of class probabilities, votes and entropies, for any number of draws.
///
/// [`uncertainty`](Self::uncertainty) makes an [`Uncertainty`](super::Uncertainty) of them. Memory and
/// bytes of a checkpoint do not grow with the number of draws. Equal draws in equal
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
    pub(super) class_names: Vec<String>,
    pub(super) draws: u64,
    /// Sum of p, by input and class.
    pub(super) probability: Vec<f64>,
    /// Draws that vote for a class, by input and class.
    pub(super) votes: Vec<u64>,
    /// Sum of H[p], by input.
    pub(super) entropy: Vec<f64>,
}

/// The fields as they are read from a file, before they are checked.
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
    /// Sums without draws yet, for `inputs` inputs and the named classes.
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

    /// Adds one draw: its probabilities `[input, class]`, or of two classes also `[input, 1]`, the
    /// probability of the second. Nothing is allocated.
    ///
    /// # Errors
    /// If the shape differs, a number does not lie between 0 and 1, or a row does not sum to 1
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
    /// If `other` has another number of inputs or other classes.
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
}
