//! Likelihoods and priors together: parameters from the prior, a response drawn given them, some steps of a kernel on
//! the posterior of that response. What comes out is again a draw of the prior, if draws, densities and gradients of
//! the likelihood belong together (Geweke 2004, doi:10.1198/016214504000001132). And conjugate posteriors of counts.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel};
use bnn_mcmc::targets::{Point, Tempered};
use bnn_mcmc::testing::Invariance;
use ndarray::{Array1, Array2, array};

use crate::fixtures::worst_of;

/// Rows of the data: fewer than a tile's padding.
const ROWS: usize = 6;

/// The largest |z| of the means of q' - q and q'^2 - q^2, and the smallest p-value of Kolmogorov-Smirnov tests of q'
/// against fresh draws of the prior. `shift` is added to the outputs that responses are drawn from.
fn joint<'a, L, A>(
    likelihood: L,
    outputs: usize,
    response: impl Fn(f64) -> Response,
    algorithm: &A,
    shift: f64,
) -> (f64, f64)
where
    L: SecondOrderLikelihood + Copy + 'a,
    A: for<'t> Algorithm<&'t Posterior<Linear, L>>,
{
    let replicates = 4_000;
    let x = Array2::from_shape_fn((ROWS, 1), |(i, _)| i as f64 / 2.0 - 1.25);
    let mut priors = Priors::all(Normal::new(0.0, 0.6).unwrap());
    for block in likelihood.layout().blocks() {
        let prior: Normal = match block.name.as_str() {
            "log_degrees_of_freedom" => Normal::new(1.0, 0.5).unwrap(),
            _ => Normal::new(0.2, 0.6).unwrap(),
        };
        priors = priors.with(&block.name, prior);
    }
    let posterior = |y: &[f64]| {
        if let Response::Censored { .. } = response(0.0) {
            let each: Vec<_> = y.iter().map(|y| response(*y)).collect();
            let end = |of: fn(&Response) -> f64| each.iter().map(of).collect::<Array1<f64>>();
            let lower = end(|one| one.bounds().unwrap().0[0]);
            let upper = end(|one| one.bounds().unwrap().1[0]);
            let data = Dataset::censored(x.clone(), lower, upper).unwrap();
            let model = Linear::new(1, outputs).unwrap();
            return Posterior::new(model, likelihood, &data, priors.clone()).unwrap();
        }
        let rows: Vec<f64> = y
            .iter()
            .map(|y| response(*y))
            .flat_map(|one| match one {
                Response::Real(y) | Response::Counts(y) => y.into_raw_vec_and_offset().0,
                Response::Classes { index, .. } => index.iter().map(|k| *k as f64).collect(),
                _ => unreachable!("numbers or classes"),
            })
            .collect();
        let column = Array2::from_shape_vec((ROWS, 1), rows).unwrap();
        let data = match response(0.0) {
            Response::Real(_) => Dataset::regression(x.clone(), column).unwrap(),
            Response::Classes { names, .. } => {
                let classes = column.iter().map(|k| *k as usize).collect();
                Dataset::classification(x.clone(), classes, names).unwrap()
            }
            _ => Dataset::counts(x.clone(), column).unwrap(),
        };
        Posterior::new(Linear::new(1, outputs).unwrap(), likelihood, &data, priors.clone()).unwrap()
    };
    let any = posterior(&[0.0; ROWS]);
    let d = any.dim();
    let columns = || vec![Vec::with_capacity(replicates); d];
    let (mut after, mut fresh, mut moves) = (columns(), columns(), vec![Vec::new(); 2 * d]);
    let mut rng = ChainRng::new(8, 0);
    let (mut q, mut other) = (vec![0.0; d], vec![0.0; d]);
    for _ in 0..replicates {
        any.draw_prior(&mut rng, &mut q).unwrap();
        any.draw_prior(&mut rng, &mut other).unwrap();
        // f = w x + b of each output, and a response.
        let mut f = vec![0.0; 8 * outputs];
        for k in 0..outputs {
            for i in 0..ROWS {
                f[8 * k + i] = q[k] * x[(i, 0)] + q[outputs + k] + if k == 0 { shift } else { 0.0 };
            }
        }
        let (mut y, none) = ([0.0; 8], [0.0; 8]);
        let phi = &q[2 * outputs..];
        let (out, y_tile) = (TileMut::new(&mut f, ROWS), TileMut::new(&mut y, ROWS));
        likelihood.draw(phi, out, Tile::new(&none, ROWS), &mut rng, y_tile);
        let target = posterior(&y[..ROWS]);
        let mut kernel = algorithm.kernel(&&target, &rng).unwrap();
        kernel.freeze();
        let (mut ws, mut point) = (target.workspace(), Point::new(d));
        point.set(|to| to.copy_from_slice(&q));
        point.eval(&&target, &mut ws);
        for _ in 0..15 {
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

fn mala() -> Mala {
    Mala { step_size: 0.35, adapt_step_size: false, ..Mala::default() }
}

fn real(y: f64) -> Response {
    Response::Real(array![[y]])
}

fn count(y: f64) -> Response {
    Response::Counts(array![[y]])
}

/// Any share in the place of 0, which is no draw.
fn share(y: f64) -> Response {
    real(if y == 0.0 { 0.5 } else { y })
}

fn grade(y: f64) -> Response {
    let names = ["poor", "fair", "good", "best"].map(String::from).to_vec();
    Response::Classes { index: vec![y as usize], names }
}

/// Bounds as a study has them: nothing is seen before 0.4, visits at 1 and 1.5 tell only between which of them a time
/// lies, and the end is at 3. In between, times are observed.
fn followed(y: f64) -> Response {
    let (lower, upper) = match y {
        y if y < 0.4 => (f64::NEG_INFINITY, 0.4),
        y if (1.0..1.5).contains(&y) => (1.0, 1.5),
        y if y > 3.0 => (3.0, f64::INFINITY),
        y => (y, y),
    };
    Response::Censored { lower: array![lower], upper: array![upper] }
}

/// At most 10 means and 5 distributions per case: |z| < 5 and p > 1e-5 leave a right likelihood a chance of 1e-4 to fail.
/// Responses that are drawn from other outputs than those of the density are seen in each case.
fn check<L: SecondOrderLikelihood + Copy>(
    likelihood: L,
    outputs: usize,
    response: impl Fn(f64) -> Response + Copy,
) {
    let right = joint(likelihood, outputs, response, &mala(), 0.0);
    assert!(right.0 < 5.0 && right.1 > 1e-5, "{right:?}");
    let wrong = joint(likelihood, outputs, response, &mala(), 0.3);
    assert!(wrong.0 > 6.0, "a wrong likelihood goes unnoticed: {wrong:?}");
}

#[test]
fn draws_and_densities_of_real_noise_belong_together() {
    check(Gaussian::sampled(), 1, real);
    check(HeteroscedasticGaussian, 2, real);
    check(StudentTNoise::sampled(), 1, real);
    check(StudentTNoise::heteroscedastic(), 2, real);
    check(StudentTNoise::sampled().with_degrees_of_freedom(2.5).unwrap(), 1, real);
}

#[test]
fn draws_and_densities_of_counts_belong_together() {
    check(Poisson, 1, count);
    check(NegativeBinomial::sampled(), 1, count);
    check(NegativeBinomial::fixed(0.8).unwrap(), 1, count);
}

#[test]
fn draws_and_densities_of_counts_with_extra_zeros_belong_together() {
    check(ZeroInflated::poisson(), 1, count);
    check(ZeroInflated::negative_binomial(), 1, count);
    check(Hurdle::poisson(), 1, count);
    check(Hurdle::negative_binomial(), 1, count);
}

#[test]
fn draws_and_densities_of_shares_belong_together() {
    check(Beta, 1, share);
}

#[test]
fn draws_and_densities_of_numbers_with_bounds_belong_together() {
    for likelihood in [Censored::normal(), Censored::log_normal(), Censored::weibull()] {
        check(likelihood, 1, followed);
    }
    check(Censored::weibull().with_scale(0.6).unwrap(), 1, followed);
    check(Censored::log_normal().in_units(0.5, 0.8).unwrap(), 1, followed);
}

#[test]
fn draws_and_densities_of_classes_in_order_belong_together() {
    let four = Ordinal::new(4).unwrap();
    check(four.with_first_cutpoint(-0.5).unwrap(), 1, grade);
    check(four, 1, grade);
}

/// With the metric of the Fisher information, which is a sum over counts.
#[test]
fn smmala_leaves_posteriors_with_a_sampled_dispersion_invariant() {
    let smmala: Smmala<Fisher> = Smmala { step_size: 0.7, ..Smmala::default() };
    let found = joint(NegativeBinomial::sampled(), 1, count, &smmala, 0.0);
    assert!(found.0 < 5.0 && found.1 > 1e-5, "{found:?}");
    let found = joint(HeteroscedasticGaussian, 2, real, &smmala, 0.0);
    assert!(found.0 < 5.0 && found.1 > 1e-5, "{found:?}");
    let found = joint(Censored::weibull(), 1, followed, &smmala, 0.0);
    assert!(found.0 < 5.0 && found.1 > 1e-5, "{found:?}");
    let found = joint(ZeroInflated::negative_binomial(), 1, count, &smmala, 0.0);
    assert!(found.0 < 5.0 && found.1 > 1e-5, "{found:?}");
}

/// With one feature that is -1 in all n rows and no intercept, the rate is e^-w. If e^w ~ IG(a, b), the rate is
/// Gamma(a, b), and given counts y it is Gamma(a + sum y, b + n): e^w ~ IG(a + sum y, b + n).
#[test]
fn rates_of_counts_have_their_conjugate_posterior() {
    let counts = array![3.0, 0.0, 2.0, 1.0, 4.0, 1.0, 0.0];
    let (n, sum) = (counts.len() as f64, counts.sum());
    let x = Array2::from_elem((counts.len(), 1), -1.0);
    let data = Dataset::counts(x, counts).unwrap();
    let priors = Priors::all(LogInverseGamma::new(1.5, 0.8).unwrap());
    let model = Linear::new(1, 1).unwrap().without_bias();
    let posterior = Posterior::new(model, Poisson, &data, priors).unwrap();
    let test = Invariance { replicates: 20_000, steps: 10, ..Invariance::default() };
    let mala = Mala { step_size: 0.3, adapt_step_size: false, ..Mala::default() };
    let run = |shape: f64| {
        let exact = LogInverseGamma::new(1.5 + shape, 0.8 + n).unwrap();
        test.run(&posterior, &mala, |rng, q| exact.draw(rng, q).unwrap()).unwrap()
    };
    let report = run(sum);
    assert!(report.passes(), "{report}");
    assert!(!run(sum + 1.0).passes(), "another posterior goes unnoticed");
}

/// Draws of a prior, moved by MALA on the prior alone, are draws of the prior; those of another prior are not.
#[test]
fn priors_with_scales_of_inputs_draw_what_their_densities_say() {
    let x = Array2::from_shape_fn((4, 3), |(i, j)| (i + 2 * j) as f64 / 4.0 - 0.8);
    let data = Dataset::regression(x, array![0.3, -0.2, 1.0, 0.1]).unwrap();
    let build = |priors| {
        let model = Linear::new(3, 1).unwrap();
        Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap()
    };
    let all = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    // Hyperpriors that are narrow enough for one step size.
    let hyper = |mean| Normal::new(mean, 0.7).unwrap();
    let cases = [
        (build(all().ard("w", "s", hyper(0.2))), build(all().ard("w", "s", hyper(0.5)))),
        (
            build(all().horseshoe("w", "s", "t", hyper(0.2))),
            build(all().horseshoe("w", "s", "t", hyper(0.5))),
        ),
    ];
    let mala = Mala { step_size: 0.25, adapt_step_size: false, ..Mala::default() };
    let test = Invariance { replicates: 20_000, steps: 20, ..Invariance::default() };
    for (posterior, other) in &cases {
        let prior = Tempered::new(posterior, 0.0).unwrap();
        let run = |from: &Posterior<Linear, Gaussian>| {
            test.run(&prior, &mala, |rng, q| from.draw_prior(rng, q).unwrap()).unwrap()
        };
        let report = run(posterior);
        assert!(report.passes(), "{report}");
        assert!(!run(other).passes(), "another prior goes unnoticed");
        // The scales are what a kernel that draws from a Gaussian prior draws with.
        let weights = OnBlocks::new(&["w", "b"], Pcn { step_size: 0.5, ..Pcn::default() });
        let draw = |rng: &mut ChainRng, q: &mut [f64]| posterior.draw_prior(rng, q).unwrap();
        let report = test.run(&prior, &weights, draw).unwrap();
        assert!(report.passes(), "{report}");
    }
}
