//! Isokinetic motion: a velocity of constant length, which the gradient turns.
//!
//! In the coordinates x of q = L x, with d >= 2 dimensions, g = L^T grad log pi and |u| = 1,
//!
//! ```text
//! dx/dt = u,   du/dt = (I - u u^T) g / (d - 1)
//! ```
//!
//! **A(h)** moves x by h u. **B(h)** solves the second equation with g fixed. With e = g/|g| and c = u.e it says
//! dc/dt = (1 - c^2) |g|/(d - 1), so that c = tanh(artanh c_0 + delta), delta = h |g|/(d - 1), and u turns towards
//! e within the plane of both:
//!
//! ```text
//! u <- (u + (sinh(delta) + c (cosh(delta) - 1)) e) / (cosh(delta) + c sinh(delta))
//! ```
//!
//! **Volume.** On the sphere the divergence of (I - u u^T) g/(d - 1) is -u.g, so that B(h) multiplies volume by
//! exp(-dK) with
//!
//! ```text
//! dK = integral of |g| c dt = (d - 1) log(cosh(delta) + c sinh(delta))
//! ```
//!
//! A(h) preserves it. The steps B(h/2) A(h) B(h/2), with u turned round at their end, are therefore a map that is
//! its own inverse and multiplies volume by exp(-sum dK). With u uniform on the sphere, whose density is constant,
//! the Metropolis ratio is exp(log pi(q') - log pi(q) - sum dK): the energy is H = K - log pi(q), where K is the
//! sum of dK since the start.
//!
//! **In numbers**, with z = exp(-delta), w = u + e and m = 1 + c = |w|^2 / 2, which keep their digits where u is near
//! -e:
//!
//! ```text
//! s = m + (2 - m) z^2,   u <- ((m (1 - 2 z) - (2 - m) z^2) e + 2 z w) / s,   dK = (d - 1) (delta + log(s/2))
//! ```
//!
//! s is 0 where u = -e and z^2 underflows: there u stays, and dK = -(d - 1) delta. Where g = 0, nothing turns.
//!
//! Source: Robnik, De Luca, Silverstein and Seljak, *Microcanonical Hamiltonian Monte Carlo*, JMLR 24, 2023,
//! arXiv:2212.08549; Ver Steeg and Galstyan, NeurIPS 2021, arXiv:2111.02434, for the exact B.

use super::dynamics::{Flow, add_scaled};
use crate::linalg::dot::dot;
use crate::portable::{exp, exp_m1, ln};
use crate::rng::ChainRng;
use crate::sampler::Scale;
use crate::targets::{GradTarget, Point};

/// A position with a velocity of length 1, and the gradient in the coordinates of the velocity.
#[derive(Debug)]
pub struct Isokinetic {
    point: Point,
    u: Vec<f64>,
    /// e = g/|g|, or 0 where g is.
    direction: Vec<f64>,
    /// |g|.
    size: f64,
    velocity: Vec<f64>,
    /// The position before the latest step.
    before: Vec<f64>,
    /// K.
    kinetic: f64,
    by_force: bool,
}

impl Isokinetic {
    /// Starts at `from`, whose force or gradient is known, with the velocity `u`.
    pub(super) fn resume(&mut self, from: &Point, u: &[f64], scale: &Scale) {
        self.point.copy_from(from);
        self.take_gradient(scale);
        self.u.copy_from_slice(u);
        self.kinetic = 0.0;
    }

    /// u.
    pub(super) fn u(&self) -> &[f64] {
        &self.u
    }

    /// Turns u at random, as much as it forgets in a `time`: u <- normalise(k u + sqrt((1 - k^2)/d) z) with k =
    /// exp(-time) and z ~ N(0, I).
    pub(super) fn refresh(&mut self, time: f64, rng: &mut ChainRng) {
        let kept = exp(-time);
        let sd = (-exp_m1(-2.0 * time) / self.u.len() as f64).sqrt(); //~ mclmc-noise
        self.u.iter_mut().for_each(|u| *u = kept * *u + sd * rng.normal());
        normalise(&mut self.u);
    }

    /// Takes in the force at the point.
    fn take_gradient(&mut self, scale: &Scale) {
        let Self { point, direction, .. } = self;
        scale.mul_transpose(point.force(), direction);
        self.size = normalise(direction);
    }

    /// B(h).
    fn turn(&mut self, h: f64) {
        if self.size == 0.0 {
            return;
        }
        let Self { u, direction: e, .. } = self;
        let rest = (u.len() - 1) as f64; //~ mams-dimension
        let delta = h * self.size / rest;
        let z = exp(-delta);
        let m = 0.5 * u.iter().zip(&*e).map(|(u, e)| (u + e) * (u + e)).sum::<f64>();
        let s = m + (2.0 - m) * z * z;
        if s == 0.0 {
            self.kinetic -= rest * delta;
            return;
        }
        self.kinetic += rest * (delta + ln(0.5 * s)); //~ mams-volume
        let of_e = m * (1.0 - 2.0 * z) - (2.0 - m) * z * z; //~ mams-turn
        u.iter_mut().zip(&*e).for_each(|(u, e)| *u = (of_e * e + 2.0 * z * (*u + e)) / s);
        normalise(u);
    }
}

/// Divides `x` by its length, which it returns, unless that is 0.
fn normalise(x: &mut [f64]) -> f64 {
    let length = dot::<8>(x, x).sqrt();
    if length > 0.0 {
        x.iter_mut().for_each(|x| *x /= length);
    }
    length
}

impl Flow for Isokinetic {
    const HAS_ENERGY: bool = false;

    fn new(dim: usize, by_force: bool) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            point: Point::new(dim),
            u: zeros.clone(),
            direction: zeros.clone(),
            size: 0.0,
            velocity: zeros.clone(),
            before: zeros,
            kinetic: 0.0,
            by_force,
        }
    }

    /// u is uniform on the sphere.
    fn begin(&mut self, from: &Point, scale: &Scale, rng: &mut ChainRng) {
        self.point.copy_from(from);
        self.take_gradient(scale);
        rng.fill_normal(&mut self.u); //~ mams-direction
        normalise(&mut self.u);
        self.kinetic = 0.0;
    }

    /// B(h/2) A(h) B(h/2).
    fn step<T: GradTarget>(
        &mut self,
        step_size: f64,
        scale: &Scale,
        target: &T,
        ws: &mut T::Workspace,
    ) {
        self.turn(0.5 * step_size);
        self.before.copy_from_slice(self.point.q());
        scale.mul(&self.u, &mut self.velocity);
        let velocity = &self.velocity;
        self.point.set(|q| add_scaled(q, step_size, velocity));
        self.point.eval_slope(self.by_force, target, ws);
        self.take_gradient(scale);
        self.turn(0.5 * step_size);
    }

    fn energy(&self) -> f64 {
        let energy = self.kinetic - self.point.rough_density().total(); //~ mams-energy
        if energy.is_nan() { f64::INFINITY } else { energy }
    }

    fn point(&self) -> &Point {
        &self.point
    }

    fn point_mut(&mut self) -> &mut Point {
        &mut self.point
    }

    fn before(&self) -> &[f64] {
        &self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::Preconditioner;
    use crate::testing::GaussianTarget;

    /// A velocity and a gradient in `dim` dimensions, drawn at random.
    fn drawn(dim: usize, size: f64, rng: &mut ChainRng) -> Isokinetic {
        let mut flow = Isokinetic::new(dim, true);
        rng.fill_normal(&mut flow.u);
        normalise(&mut flow.u);
        rng.fill_normal(&mut flow.direction);
        normalise(&mut flow.direction);
        flow.size = size;
        flow
    }

    /// The image of `u` under B(h).
    fn turned(flow: &mut Isokinetic, u: &[f64], h: f64) -> Vec<f64> {
        flow.u.copy_from_slice(u);
        flow.turn(h);
        flow.u.clone()
    }

    /// Takes from `x` its components along the vectors of `basis`, which are of length 1, and returns its length.
    fn orthogonalise(x: &mut [f64], basis: &[Vec<f64>]) -> f64 {
        for b in basis {
            let along = dot::<8>(x, b);
            x.iter_mut().zip(b).for_each(|(x, b)| *x -= along * b);
        }
        normalise(x)
    }

    /// The determinant of the map of the sphere, by central differences along great circles through u.
    #[test]
    fn the_kinetic_energy_is_the_change_of_volume_on_the_sphere() {
        let mut rng = ChainRng::new(3, 0);
        for dim in 3..=6 {
            for size in [0.1, 2.0, 15.0] {
                let mut flow = drawn(dim, size, &mut rng);
                let start = flow.u.clone();
                turned(&mut flow, &start, 0.7);
                let kinetic = flow.kinetic;
                let (mut tangents, mut images) = (vec![start.clone()], Vec::new());
                let mut log_volume = 0.0;
                while images.len() < dim - 1 {
                    let mut tangent = vec![0.0; dim];
                    rng.fill_normal(&mut tangent);
                    orthogonalise(&mut tangent, &tangents);
                    let eps = 1e-5f64;
                    let [ahead, behind] = [eps, -eps].map(|angle| {
                        let on_circle = start.iter().zip(&tangent);
                        let u: Vec<f64> =
                            on_circle.map(|(u, t)| u * angle.cos() + t * angle.sin()).collect();
                        turned(&mut flow, &u, 0.7)
                    });
                    let slope = ahead.iter().zip(behind).map(|(a, b)| (a - b) / (2.0 * eps));
                    let mut image: Vec<f64> = slope.collect();
                    log_volume += orthogonalise(&mut image, &images).ln();
                    tangents.push(tangent);
                    images.push(image);
                }
                let difference = (log_volume + kinetic).abs();
                assert!(difference < 1e-6 * (1.0 + kinetic.abs()), "{dim}, {size}: {difference:e}");
                assert!(kinetic.abs() > 1e-3, "{dim}, {size}: {kinetic}");
            }
        }
    }

    /// u by its differential equation, in many small steps of Euler's midpoint rule.
    #[test]
    fn the_turn_solves_its_differential_equation() {
        let mut rng = ChainRng::new(4, 0);
        let dim = 5;
        let mut flow = drawn(dim, 6.0, &mut rng);
        let (e, mut u) = (flow.direction.clone(), flow.u.clone());
        let slope = |u: &[f64]| -> Vec<f64> {
            let c = dot::<8>(u, &e);
            u.iter().zip(&e).map(|(u, e)| (e - c * u) * 6.0 / 4.0).collect()
        };
        let steps = 20_000;
        let dt = 0.9 / f64::from(steps);
        let mut work = 0.0;
        for _ in 0..steps {
            let first = slope(&u);
            let middle: Vec<f64> = u.iter().zip(first).map(|(u, f)| u + 0.5 * dt * f).collect();
            work += 6.0 * dot::<8>(&middle, &e) * dt;
            let second = slope(&middle);
            u.iter_mut().zip(second).for_each(|(u, f)| *u += dt * f);
        }
        flow.turn(0.9);
        let error = u.iter().zip(&flow.u).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-7 && (flow.kinetic - work).abs() < 1e-6, "{error:e}");
    }

    #[test]
    fn two_halves_of_a_turn_are_the_whole() {
        let mut rng = ChainRng::new(5, 0);
        for size in [1e-6, 1.0, 40.0] {
            let mut flow = drawn(4, size, &mut rng);
            let start = flow.u.clone();
            let whole = turned(&mut flow, &start, 1.0);
            let kinetic = std::mem::take(&mut flow.kinetic);
            let half = turned(&mut flow, &start, 0.5);
            let halves = turned(&mut flow, &half, 0.5);
            let error = whole.iter().zip(halves).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{size}: {error:e}");
            assert!((flow.kinetic - kinetic).abs() <= 1e-12 * (1.0 + kinetic.abs()), "{size}");
        }
    }

    /// exp(-delta) underflows, u points against the gradient, or there is none.
    #[test]
    fn extreme_turns() {
        let mut rng = ChainRng::new(6, 0);
        for size in [300.0, 3e3, 1e8, 1e300] {
            let mut flow = drawn(3, size, &mut rng);
            let c = dot::<8>(&flow.u, &flow.direction);
            flow.turn(1.0);
            let delta = 0.5 * size;
            let expected = 2.0 * (delta + (0.5 * (1.0 + c)).ln());
            assert!((flow.kinetic / expected - 1.0).abs() < 1e-14, "{size}");
            let apart = flow.u.iter().zip(&flow.direction).map(|(u, e)| (u - e).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-14, "{size}");

            // Straight against the gradient, u stays.
            let e = flow.direction.clone();
            flow.u.iter_mut().zip(&e).for_each(|(u, e)| *u = -e);
            let (before, start) = (std::mem::take(&mut flow.kinetic), flow.u.clone());
            flow.turn(1.0);
            assert!(before > 0.0 && flow.kinetic <= -2.0 * delta * (1.0 - 1e-12), "{size}");
            assert_eq!(flow.u, start);
        }
        // Nearly against it: 1 + c is 5e-17, which c itself cannot tell from 0.
        let mut flow = Isokinetic::new(2, true);
        flow.direction.copy_from_slice(&[1.0, 0.0]);
        flow.u.copy_from_slice(&[-1.0, 1e-8]);
        flow.size = 20.0;
        flow.turn(1.0);
        let z = (-20.0f64).exp();
        let expected = 20.0 + (0.5 * (0.5e-16 + 2.0 * z * z)).ln();
        assert!((flow.kinetic - expected).abs() < 1e-12, "{} {expected}", flow.kinetic);

        let mut flat = drawn(3, 0.0, &mut rng);
        flat.direction.fill(0.0);
        let start = flat.u.clone();
        flat.turn(5.0);
        assert!(flat.u == start && flat.kinetic == 0.0);
    }

    #[test]
    fn a_trajectory_can_be_retraced() {
        let covariance = [1.0, 0.6, 0.2, 0.6, 2.0, -0.3, 0.2, -0.3, 0.5];
        let target = GaussianTarget::new(vec![1.0, -0.5, 0.0], &covariance).unwrap();
        let scale = Scale::of_run(3, 0.5, None, Preconditioner::Identity).unwrap();
        let (mut rng, mut ws) = (ChainRng::new(7, 0), crate::targets::Target::workspace(&target));
        let mut from = Point::new(3);
        from.set(|q| q.copy_from_slice(&[0.3, 1.0, -0.7]));
        from.eval_grad(&target, &mut ws);
        for (step_size, steps) in [(0.1, 20), (0.9, 20), (3.0, 4)] {
            let mut flow = Isokinetic::new(3, true);
            flow.begin(&from, &scale, &mut rng);
            let start = flow.u.clone();
            (0..steps).for_each(|_| flow.step(step_size, &scale, &target, &mut ws));
            let (there, error) =
                (flow.point.q().to_vec(), flow.energy() + from.log_density().total());
            assert!(there.iter().zip(from.q()).any(|(a, b)| (a - b).abs() > 0.1));
            flow.u.iter_mut().for_each(|u| *u = -*u);
            (0..steps).for_each(|_| flow.step(step_size, &scale, &target, &mut ws));
            for (end, start) in flow.point.q().iter().zip(from.q()) {
                assert!((end - start).abs() < 1e-6, "{step_size}: {end} {start}");
            }
            for (end, start) in flow.u.iter().zip(&start) {
                assert!((end + start).abs() < 1e-6, "{step_size}: {end} {start}");
            }
            assert!(flow.kinetic.abs() < 1e-6, "{step_size}: {} {error}", flow.kinetic);
        }
    }
}
