//! Trees of leapfrog steps, of which [`Nuts`](crate::sampler::Nuts) grows its trajectories.

use super::dynamics::{Flow, MAX_ENERGY_ERROR, PhasePoint};
use crate::engine::simd::Vector;
use crate::linalg::dot::dot;
use crate::portable::{exp, ln_1p};
use crate::rng::ChainRng;
use crate::sampler::Scale;
use crate::targets::{GradTarget, Point};

/// Some leapfrog steps in a row, in the order in which they were made.
#[derive(Debug)]
pub(super) struct Tree {
    pub p_first: Vec<f64>,
    pub p_last: Vec<f64>,
    /// The sum of the momenta.
    rho: Vec<f64>,
    /// log W.
    pub log_weight: f64,
    /// One of its points, drawn by weight, and the energy there.
    pub draw: Point,
    pub energy: f64,
}

impl Tree {
    pub fn new(dim: usize) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            p_first: zeros.clone(),
            p_last: zeros.clone(),
            rho: zeros,
            log_weight: 0.0,
            draw: Point::new(dim),
            energy: 0.0,
        }
    }

    /// Becomes the tree of a single point.
    pub fn plant(&mut self, phase: &PhasePoint, log_weight: f64, energy: f64) {
        self.p_last.copy_from_slice(&phase.p);
        self.rho.copy_from_slice(&phase.p);
        self.plant_first(phase, log_weight, energy);
    }

    /// Becomes the tree of a single point, to which another one is [appended](Self::append) next.
    fn plant_first(&mut self, phase: &PhasePoint, log_weight: f64, energy: f64) {
        self.p_first.copy_from_slice(&phase.p);
        self.draw.copy_from(&phase.point);
        (self.log_weight, self.energy) = (log_weight, energy);
    }

    /// Appends a point to the only one: as [`join`](Self::join), with a tree of that point. All three checks for a
    /// turn are the same for two points.
    fn append(
        &mut self,
        phase: &PhasePoint,
        log_weight: f64,
        energy: f64,
        rng: &mut ChainRng,
    ) -> bool {
        self.p_last.copy_from_slice(&phase.p);
        let sums = self.rho.iter_mut().zip(&self.p_first).zip(&self.p_last);
        sums.for_each(|((rho, first), last)| *rho = first + last);
        let turns =
            dot::<8>(&self.p_first, &self.rho) <= 0.0 || dot::<8>(&self.p_last, &self.rho) <= 0.0;
        if rng.uniform() < self.share_of(log_weight) {
            self.draw.copy_from(&phase.point);
            self.energy = energy;
        }
        self.log_weight = log_add(self.log_weight, log_weight);
        turns
    }

    /// Appends `next`, which goes on where this tree ends, and takes its draw with probability
    /// `probability`. Returns whether the whole turns back on itself, and whether the draw was
    /// taken.
    pub fn join(&mut self, next: &mut Tree, probability: f64, rng: &mut ChainRng) -> (bool, bool) {
        let [next_first, next_last] = [&next.p_first[..], &next.p_last];
        let products =
            add_sums(&self.p_first, &self.p_last, &mut self.rho, next_first, next_last, &next.rho);
        std::mem::swap(&mut self.p_last, &mut next.p_last);
        self.log_weight = log_add(self.log_weight, next.log_weight);
        let taken = rng.uniform() < probability;
        if taken {
            std::mem::swap(&mut self.draw, &mut next.draw);
            self.energy = next.energy;
        }
        (products.iter().any(|product| *product <= 0.0), taken) //~ nuts-u-turn
    }

    /// W_2 / (W_1 + W_2), where W_2 is the weight of the tree that is joined to this one.
    fn share_of(&self, log_weight: f64) -> f64 {
        1.0 / (1.0 + exp(self.log_weight - log_weight)) //~ nuts-weights
    }
}

/// log(e^a + e^b) of finite numbers.
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    high + ln_1p(exp(low - high))
}

dispatch! {
    /// Adds the summed momenta of a second tree to the sum of a first tree, `rho`, and returns the
    /// products by which they [turn](crate::sampler::Nuts): of the first and the last momentum of
    /// the whole with all momenta, of the first tree and the point after it with theirs, of the
    /// second tree and the point before it with theirs.
    fn add_sums(
        first: &[f64],
        last: &[f64],
        rho: &mut [f64],
        next_first: &[f64],
        next_last: &[f64],
        next_rho: &[f64],
    ) -> [f64; 6] => add_sums_body
}

#[inline(always)]
fn add_sums_body<V: Vector<f64>>(
    level: V::Level,
    first: &[f64],
    last: &[f64],
    rho: &mut [f64],
    next_first: &[f64],
    next_last: &[f64],
    next_rho: &[f64],
) -> [f64; 6] {
    let mut sums = [V::splat(level, 0.0); 6];
    let whole = rho.len() - rho.len() % V::LANES;
    let firsts = V::chunks(first).iter().zip(V::chunks(last));
    let nexts = V::chunks(next_first).iter().zip(V::chunks(next_last)).zip(V::chunks(next_rho));
    for (rho, ((first, last), ((next_first, next_last), next_rho))) in
        V::chunks_mut(rho).iter_mut().zip(firsts.zip(nexts))
    {
        let (first, last) = (V::load(level, first), V::load(level, last));
        let (next_first, next_last) = (V::load(level, next_first), V::load(level, next_last));
        let next_rho = V::load(level, next_rho);
        let before = V::load(level, rho);
        let all = before.add(next_rho);
        all.store(rho);
        let (one_more, one_before) = (before.add(next_first), last.add(next_rho));
        sums = [
            first.mul_add(all, sums[0]),
            next_last.mul_add(all, sums[1]),
            first.mul_add(one_more, sums[2]),
            next_first.mul_add(one_more, sums[3]),
            last.mul_add(one_before, sums[4]),
            next_last.mul_add(one_before, sums[5]),
        ];
    }
    let mut products = [0.0; 6];
    for k in 0..6 {
        products[k] = sums[k].sum();
    }
    for i in whole..rho.len() {
        let all = rho[i] + next_rho[i];
        let (one_more, one_before) = (rho[i] + next_first[i], last[i] + next_rho[i]);
        products[0] += first[i] * all;
        products[1] += next_last[i] * all;
        products[2] += first[i] * one_more;
        products[3] += next_first[i] * one_more;
        products[4] += last[i] * one_before;
        products[5] += next_last[i] * one_before;
        rho[i] = all;
    }
    products
}

/// The inputs and the running sums of building a subtree.
pub(super) struct Builder<'a, T: GradTarget> {
    pub target: &'a T,
    pub ws: &'a mut T::Workspace,
    pub rng: &'a mut ChainRng,
    pub scale: &'a Scale,
    /// Negative to go backwards in time.
    pub step_size: f64,
    pub start_energy: f64,
    /// The end that moves.
    pub end: &'a mut PhasePoint,
    pub steps: u32,
    pub sum_accept: f64,
    pub divergent: bool,
}

impl<T: GradTarget> Builder<'_, T> {
    /// Makes `tree` of the next 2^depth leapfrog steps, with `scratch` for `depth` trees. False if
    /// it must not be used: it turns within itself, diverged, or left the support.
    pub fn build(&mut self, depth: usize, tree: &mut Tree, scratch: &mut [Tree]) -> bool {
        match depth {
            0 => self.leap().map(|(w, energy)| tree.plant(self.end, w, energy)).is_some(),
            1 => {
                let Some((w, energy)) = self.leap() else { return false };
                tree.plant_first(self.end, w, energy);
                let Some((w, energy)) = self.leap() else { return false };
                !tree.append(self.end, w, energy, self.rng) //~ nuts-append
            }
            _ => {
                let Some((second, scratch)) = scratch[..depth].split_last_mut() else {
                    return false;
                };
                if !self.build(depth - 1, tree, scratch) || !self.build(depth - 1, second, scratch)
                {
                    return false;
                }
                let probability = tree.share_of(second.log_weight);
                let (turns, _) = tree.join(second, probability, self.rng);
                !turns //~ nuts-turned
            }
        }
    }

    /// Moves the end by a leapfrog step. Returns log w and the energy there, unless it diverged or left the support.
    fn leap(&mut self) -> Option<(f64, f64)> {
        self.end.step(self.step_size, self.scale, self.target, self.ws);
        self.steps += 1;
        let energy = self.end.energy();
        let log_weight = self.start_energy - energy;
        if self.end.point.log_density().is_outside_support() {
            return None;
        }
        // An energy of -infinity is as wrong as one of +infinity, and so is a position that has
        // overflowed, whatever the target says of it.
        self.divergent = !energy.is_finite()
            || -log_weight > MAX_ENERGY_ERROR
            || !self.end.point.q().iter().all(|q| q.is_finite());
        if self.divergent {
            return None;
        }
        self.sum_accept += exp(log_weight.min(0.0));
        Some((log_weight, energy))
    }
}
