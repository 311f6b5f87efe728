//! E_q log p(q): exact for blocks with normal priors, from a sample of q for the others.

use std::f64::consts::TAU;
use std::ops::Range;

use super::{At, Normals};
use crate::Error;
use crate::layout::Layout;
use crate::portable::ln;
use crate::prior::{BlockPrior, Family};
use crate::rng::ChainRng;

/// The expectation of the log prior under q = N(mean, diag(sd^2)).
#[derive(Clone, Debug)]
pub struct ExpectedPrior<'a> {
    /// Blocks with the priors N(m, t^2): range, m, t.
    normal: Vec<(Range<usize>, f64, f64)>,
    sampled: Vec<&'a BlockPrior>,
    /// The coordinates that a sample of q must have.
    drawn: Vec<Range<usize>>,
}

/// A sample q = mean + sd * noise, of some of its coordinates, and scratch memory for a gradient.
#[derive(Clone, Debug)]
pub struct Sample {
    pub q: Vec<f64>,
    pub noise: Vec<f64>,
    pub grad: Vec<f64>,
}

impl Sample {
    pub fn new(dim: usize) -> Self {
        let zeros = || vec![0.0; dim];
        Self { q: zeros(), noise: zeros(), grad: zeros() }
    }

    /// Draws the coordinates `range`.
    pub fn draw(&mut self, range: Range<usize>, at: At, rng: &mut ChainRng) {
        rng.fill_normal(&mut self.noise[range.clone()]);
        for i in range {
            self.q[i] = at.mean[i] + at.sd[i] * self.noise[i];
        }
    }

    /// Adds the gradient that was left in the sample's `grad` to the gradients of mean and sd.
    pub fn add_grad(&self, range: Range<usize>, grad: &mut Normals<&mut [f64]>) {
        for i in range {
            grad.mean[i] += self.grad[i];
            grad.sd[i] += self.grad[i] * self.noise[i]; //~ weight-noise-gradient
        }
    }
}

impl<'a> ExpectedPrior<'a> {
    /// Refuses by name priors that have no expectation. `also` are other coordinates that are to be
    /// drawn.
    pub fn new(
        layout: &Layout,
        priors: &'a [BlockPrior],
        also: Range<usize>,
    ) -> Result<Self, Error> {
        let (mut normal, mut sampled) = (Vec::new(), Vec::new());
        let mut is_drawn = vec![false; layout.dim()];
        is_drawn[also].fill(true);
        let mut scratch = vec![0.0; layout.dim()];
        let mut rng = ChainRng::new(0, 0);
        for block in priors {
            let refused = |why: String| {
                Error::prior(format!("block `{}` {why}", block.name), layout.block_names())
            };
            let (lower, upper) = block.bounds();
            if lower.is_finite() || upper.is_finite() {
                return Err(refused(format!(
                    "has no density outside [{lower}, {upper}], and a normal distribution leaves every \
                     interval: give it another prior for variational inference"
                )));
            }
            block.draw(&mut rng, &mut scratch).map_err(|_| {
                refused("has an improper prior, to which no KL divergence is defined".into())
            })?;
            let family = block.parents().is_empty().then(|| block.family(&[], block.range.start));
            if let Some(Family::Normal { mean, sd }) = family {
                normal.push((block.range.clone(), mean, sd));
            } else {
                is_drawn[block.range.clone()].fill(true);
                is_drawn[block.parents()].fill(true);
                sampled.push(block);
            }
        }
        let ranges = is_drawn.chunk_by(|a, b| a == b).scan(0, |end, run| {
            let start = *end;
            *end += run.len();
            Some((run[0], start..*end))
        });
        let drawn = ranges.filter_map(|(is_drawn, range)| is_drawn.then_some(range)).collect();
        Ok(Self { normal, sampled, drawn })
    }

    /// Draws the coordinates that are needed.
    pub fn draw(&self, at: At, rng: &mut ChainRng, sample: &mut Sample) {
        for range in &self.drawn {
            sample.draw(range.clone(), at, rng);
        }
    }

    /// The expectation, where `sample` was drawn.
    pub fn value(&self, at: At, sample: &Sample) -> f64 {
        let normal = self.normal.iter().map(|(range, m, t)| of_normal(at, range.clone(), *m, *t));
        let sampled = self.sampled.iter().map(|block| block.log_density(&sample.q));
        normal.sum::<f64>() + sampled.sum::<f64>()
    }

    /// The expectation. Adds the gradient of the normal blocks to `grad`, and the gradient of the
    /// sampled blocks to the gradient in `sample`, to be added to `grad` later.
    pub fn add_grad(&self, at: At, sample: &mut Sample, grad: &mut Normals<&mut [f64]>) -> f64 {
        let mut value = 0.0;
        for (range, m, t) in &self.normal {
            let precision = 1.0 / (t * t);
            for i in range.clone() {
                grad.mean[i] -= precision * (at.mean[i] - m);
                grad.sd[i] -= precision * at.sd[i];
            }
            value += of_normal(at, range.clone(), *m, *t);
        }
        let Sample { q, grad, .. } = sample;
        value + self.sampled.iter().map(|block| block.add_grad(q, grad)).sum::<f64>()
    }

    /// Makes the gradient in `sample` zero where it is used.
    pub fn clear(&self, sample: &mut Sample) {
        self.drawn.iter().for_each(|range| sample.grad[range.clone()].fill(0.0));
    }

    /// Adds the gradient in `sample` to `grad`.
    pub fn add_sampled(&self, sample: &Sample, grad: &mut Normals<&mut [f64]>) {
        self.drawn.iter().for_each(|range| sample.add_grad(range.clone(), grad));
    }
}

/// The expectation of log N(x; m, t^2) of every coordinate of `range`.
fn of_normal(at: At, range: Range<usize>, m: f64, t: f64) -> f64 {
    let squares = at.mean[range.clone()].iter().zip(&at.sd[range.clone()]);
    //~ expected-prior
    let squares: f64 = squares.map(|(mean, sd)| (mean - m) * (mean - m) + sd * sd).sum();
    -(range.len() as f64) * (0.5 * ln(TAU) + ln(t)) - 0.5 * squares / (t * t)
}
