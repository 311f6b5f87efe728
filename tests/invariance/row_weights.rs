//! Weights of rows in a joint distribution (Geweke 2004, doi:10.1198/016214504000001132): parameters from the prior,
//! responses given them, some steps on the posterior of these responses. What comes out is a draw of the prior again, if
//! responses have the density that is proportional to p(y | f)^w in y, with a factor that does not depend on f:
//!
//! ```text
//! normal, sd tau                    y ~ N(f, tau^2 / w)
//! Student-t, nu degrees, scale tau  y = f + tau sqrt(nu / m) t_m,  m = w (nu + 1) - 1
//! Poisson, w = 1 / k                y = k z,  z ~ Poisson(e^f / k)
//! ```

use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel};
use bnn_mcmc::targets::Point;
use ndarray::{Array1, Array2};

use crate::fixtures::worst_of;

const TAU: f64 = 0.5;
const NU: f64 = 4.0;
/// Of normal and of Student-t noise.
const SHARES: [f64; 6] = [0.3, 0.4, 2.0, 0.35, 0.3, 0.5];
/// Of counts: one part of a row each.
const PARTS: [f64; 6] = [0.5, 0.25, 1.0, 0.5, 0.2, 1.0];

fn normal(f: f64, w: f64, rng: &mut ChainRng) -> f64 {
    f + TAU / w.sqrt() * rng.normal()
}

fn student_t(f: f64, w: f64, rng: &mut ChainRng) -> f64 {
    let m = w * (NU + 1.0) - 1.0;
    let t = rng.normal() / (2.0 * rng.gamma(0.5 * m) / m).sqrt();
    f + TAU * (NU / m).sqrt() * t
}

/// The number of uniform factors of which the product stays above e^-mean, as many for each part.
fn poisson(f: f64, w: f64, rng: &mut ChainRng) -> f64 {
    let (mut product, mut z) = (rng.uniform(), 0.0);
    while product > (-w * f.exp()).exp() {
        (product, z) = (product * rng.uniform(), z + 1.0);
    }
    z / w
}

/// A model of one feature, with the way in which responses with weights are drawn.
struct Case<M, L> {
    model: M,
    likelihood: L,
    prior: f64,
    weights: [f64; 6],
    draw: fn(f64, f64, &mut ChainRng) -> f64,
}

impl<M: Model + Clone, L: SecondOrderLikelihood + Copy> Case<M, L> {
    /// The posterior, with weights or of a copy that forgets them.
    fn posterior(&self, y: Array1<f64>, forgets: bool) -> Posterior<M, L> {
        let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64 / 2.0 - 1.25);
        let data = match self.likelihood.normal_noise() {
            Some(_) => Dataset::regression(x, y),
            None => Dataset::counts(x, y),
        };
        let data = data.unwrap().with_weights(self.weights).unwrap();
        let data = if forgets { data.without_weights() } else { data };
        let priors = Priors::all(Normal::new(0.1, self.prior).unwrap());
        Posterior::new(self.model.clone(), self.likelihood, &data, priors).unwrap()
    }

    /// The largest |z| of the means of q' - q and q'^2 - q^2, and the smallest p-value of q' against fresh draws of the
    /// prior.
    fn joint<A>(&self, algorithm: &A, forgets: bool) -> (f64, f64)
    where
        A: for<'t> Algorithm<&'t Posterior<M, L>>,
    {
        let any = self.posterior(Array1::zeros(6), false);
        let d = any.dim();
        let (mut after, mut fresh, mut moves) =
            (vec![Vec::new(); d], vec![Vec::new(); d], vec![Vec::new(); 2 * d]);
        let mut rng = ChainRng::new(12, 0);
        let (mut q, mut other, mut f) = (vec![0.0; d], vec![0.0; d], vec![0.0; 6]);
        let mut of_any = any.workspace();
        for _ in 0..10_000 {
            any.draw_prior(&mut rng, &mut q).unwrap();
            any.draw_prior(&mut rng, &mut other).unwrap();
            any.write_outputs(&q, &mut f, &mut of_any).unwrap();
            let rows = f.iter().zip(self.weights);
            let y = rows.map(|(f, w)| (self.draw)(*f, w, &mut rng)).collect();
            let target = self.posterior(y, forgets);
            let mut kernel = algorithm.kernel(&&target, &rng).unwrap();
            kernel.freeze();
            let (mut ws, mut point) = (target.workspace(), Point::new(d));
            point.set(|to| to.copy_from_slice(&q));
            point.eval(&&target, &mut ws);
            for _ in 0..10 {
                kernel.step(&&target, &mut point, &mut ws, &mut rng);
            }
            for i in 0..d {
                let (new, old) = (point.q()[i], q[i]);
                moves[i].push(new - old);
                moves[d + i].push(new * new - old * old);
                after[i].push(new);
                fresh[i].push(other[i]);
            }
        }
        worst_of(&moves, after, fresh)
    }

    /// At most 14 means and 7 distributions: |z| < 5 and p > 1e-5 leave right weights a chance of 1e-4 to fail.
    fn check<A>(&self, what: &str, algorithm: &A)
    where
        A: for<'t> Algorithm<&'t Posterior<M, L>>,
    {
        let (z, p) = self.joint(algorithm, false);
        let (z_of_copy, p_of_copy) = self.joint(algorithm, true);
        println!(
            "{what}: z {z:.2}, p {p:.1e}; without weights z {z_of_copy:.2}, p {p_of_copy:.1e}"
        );
        assert!(z < 5.0 && p > 1e-5, "{what}: z {z}, p {p}");
        assert!(z_of_copy > 6.0, "{what}: weights that are forgotten go unnoticed: z {z_of_copy}");
    }
}

fn mala() -> Mala {
    Mala { step_size: 0.3, adapt_step_size: false, ..Mala::default() }
}

fn rwm() -> Rwm {
    Rwm { step_size: 0.5, adapt_step_size: false, ..Rwm::default() }
}

fn network() -> Mlp {
    Mlp::new(&[1, 2, 1], Activation::Tanh).unwrap()
}

fn line() -> Linear {
    Linear::new(1, 1).unwrap()
}

#[test]
fn weights_are_powers_of_densities() {
    let gaussian = Gaussian::fixed(TAU).unwrap();
    let case =
        Case { model: line(), likelihood: gaussian, prior: 0.8, weights: SHARES, draw: normal };
    case.check("normal", &mala());
    let t = StudentTNoise::sampled().with_scale(TAU).unwrap().with_degrees_of_freedom(NU).unwrap();
    let case = Case { model: line(), likelihood: t, prior: 0.8, weights: SHARES, draw: student_t };
    case.check("student t", &mala());
    let case =
        Case { model: line(), likelihood: Poisson, prior: 0.8, weights: PARTS, draw: poisson };
    case.check("counts", &mala());
}

#[test]
fn weights_are_powers_of_densities_where_the_output_layer_is_integrated_out() {
    let gaussian = Gaussian::fixed(TAU).unwrap();
    let case =
        Case { model: network(), likelihood: gaussian, prior: 1.0, weights: SHARES, draw: normal };
    case.check("normal, integrated", &Collapsed::new(rwm()));
    let t = StudentTNoise::sampled().with_scale(TAU).unwrap().with_degrees_of_freedom(NU).unwrap();
    let case =
        Case { model: network(), likelihood: t, prior: 1.0, weights: SHARES, draw: student_t };
    case.check("student t, integrated", &Collapsed::new(rwm()));
}
