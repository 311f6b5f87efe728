//! Likelihoods of real numbers and plain counts against numbers from elsewhere (tests/golden/likelihoods.py), against
//! what defines them (sums and integrals of densities and curvatures are 1 and minus the Fisher information), and far
//! outside of what a sampler should meet.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::likelihood::{SecondOrderLikelihood, Tangent, Weights};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::Curvature;
use serde::Deserialize;
use shared::refused;

/// Padded rows of a tile of one row.
const STRIDE: usize = 8;

fn tile(values: &[f64]) -> Vec<f64> {
    values.iter().flat_map(|v| [*v, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).collect()
}

fn first_row(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by(STRIDE).collect()
}

fn real(y: f64) -> Response {
    Response::Real(ndarray::array![[y]])
}

fn count(y: f64) -> Response {
    Response::Counts(ndarray::array![[y]])
}

fn class(y: f64, classes: usize) -> Response {
    let names = (0..classes).map(|k| format!("class {k}")).collect();
    Response::Classes { index: vec![y as usize], names }
}

/// log p(y | f, phi) and its derivatives in (f, phi).
struct At {
    value: f64,
    gradient: Vec<f64>,
}

fn at<L: Likelihood>(likelihood: &L, response: &Response, f: &[f64], phi: &[f64]) -> At {
    let y = tile(likelihood.encode(response, f.len()).unwrap().as_slice().unwrap());
    let (mut out, mut d_out, mut d_phi) = (tile(f), tile(f), vec![0.5; phi.len()]);
    let (y, mut rows) = (Tile::new(&y, 1), [0.0]);
    let d = TileMut::new(&mut d_out, 1);
    let value =
        likelihood.log_lik_grad(phi, Tile::new(&out, 1), y, Weights::ones(1), d, &mut d_phi);
    likelihood.log_lik_rows(phi, TileMut::new(&mut out, 1), y, &mut rows);
    let same = (rows[0] - value).abs() <= 1e-13 * value.abs().max(1.0) || rows[0] == value;
    assert!(same, "{} alone, {value} with the gradient", rows[0]);
    let mut gradient = first_row(&d_out);
    gradient.extend(d_phi.iter().map(|d| d - 0.5)); // it is added to
    At { value, gradient }
}

/// The matrix of second derivatives in (f, phi), one direction after the other.
fn curvature<L: SecondOrderLikelihood>(
    likelihood: &L,
    kind: Curvature,
    response: &Response,
    f: &[f64],
    phi: &[f64],
) -> Vec<Vec<f64>> {
    let (n, d) = (f.len(), f.len() + phi.len());
    let y = tile(likelihood.encode(response, n).unwrap().as_slice().unwrap());
    let (out, mut mean) = (tile(f), tile(&vec![0.0; likelihood.n_means(n)]));
    likelihood.mean(phi, Tile::new(&out, 1), TileMut::new(&mut mean, 1));
    let row = |i: usize| {
        let mut direction = vec![0.0; d];
        direction[i] = 1.0;
        let (r_out, r_phi) = (tile(&direction[..n]), &direction[n..]);
        let (mut r_d_out, mut r_d_phi) = (tile(f), vec![0.0; phi.len()]);
        let [out, mean, y, r_out] = [&out, &mean, &y, &r_out].map(|values| Tile::new(values, 1));
        let at = Tangent { phi, out, mean, y, weights: Weights::ones(1), r_out, r_phi };
        likelihood.log_lik_tangent(kind, at, TileMut::new(&mut r_d_out, 1), &mut r_d_phi);
        [first_row(&r_d_out), r_d_phi].concat()
    };
    (0..d).map(row).collect()
}

#[derive(Deserialize)]
struct Case {
    name: String,
    y: f64,
    f: Vec<f64>,
    phi: Vec<f64>,
    log_density: f64,
    gradient: Vec<f64>,
    hessian: Vec<Vec<f64>>,
}

/// Checks a case, also with own parameters that are fixed at the same values.
fn check_case(case: &Case) {
    fn compare<L: SecondOrderLikelihood>(l: &L, response: &Response, case: &Case, own: &[usize]) {
        let phi: Vec<f64> = own.iter().map(|i| case.phi[*i]).collect();
        let n = case.f.len();
        let kept: Vec<usize> = (0..n).chain(own.iter().map(|i| n + i)).collect();
        let found = at(l, response, &case.f, &phi);
        let label = format!("{} y = {} f = {:?} phi = {phi:?}", case.name, case.y, case.f);
        // Terms of size y log y cancel in the density of a count.
        let is_count = matches!(response, Response::Counts(_));
        let terms = if is_count { case.y * case.y.ln_1p() } else { 0.0 };
        let close = |found: f64, golden: f64, what: &str| {
            let error = (found - golden).abs() / (golden.abs() + 1e-3 * terms).max(1.0);
            assert!(error < 2e-12, "{label}: {what} is {found}, not {golden}");
        };
        close(found.value, case.log_density, "the log density");
        let hessian = curvature(l, Curvature::Observed, response, &case.f, &phi);
        for (a, i) in kept.iter().enumerate() {
            close(found.gradient[a], case.gradient[*i], &format!("derivative {i}"));
            for (b, j) in kept.iter().enumerate() {
                close(hessian[a][b], case.hessian[*i][*j], &format!("second derivative {i}, {j}"));
            }
        }
    }
    match case.name.as_str() {
        "heteroscedastic_gaussian" => compare(&HeteroscedasticGaussian, &real(case.y), case, &[]),
        "poisson" => compare(&Poisson, &count(case.y), case, &[]),
        "negative_binomial" => {
            compare(&NegativeBinomial::sampled(), &count(case.y), case, &[0]);
            let fixed = NegativeBinomial::fixed(case.phi[0].exp()).unwrap();
            compare(&fixed, &count(case.y), case, &[]);
        }
        "zero_inflated_poisson" => compare(&ZeroInflated::poisson(), &count(case.y), case, &[0]),
        "zero_inflated_negative_binomial" => {
            compare(&ZeroInflated::negative_binomial(), &count(case.y), case, &[0, 1]);
        }
        "hurdle_poisson" => compare(&Hurdle::poisson(), &count(case.y), case, &[0]),
        "hurdle_negative_binomial" => {
            compare(&Hurdle::negative_binomial(), &count(case.y), case, &[0, 1]);
        }
        "beta" => compare(&Beta, &real(case.y), case, &[0]),
        "ordinal" => {
            let classes = case.phi.len() + 1;
            let (all, own) = (Ordinal::new(classes).unwrap(), Vec::from_iter(0..classes - 1));
            compare(&all, &class(case.y, classes), case, &own);
            let fixed = all.with_first_cutpoint(case.phi[0]).unwrap();
            compare(&fixed, &class(case.y, classes), case, &own[1..]);
        }
        "student_t" => {
            let (tau, nu) = ((0.5 * case.phi[0]).exp(), case.phi[1].exp());
            let (all, response) = (StudentTNoise::sampled(), &real(case.y));
            compare(&all, response, case, &[0, 1]);
            compare(&all.with_scale(tau).unwrap(), response, case, &[1]);
            compare(&all.with_degrees_of_freedom(nu).unwrap(), response, case, &[0]);
            let none = all.with_scale(tau).unwrap().with_degrees_of_freedom(nu).unwrap();
            compare(&none, response, case, &[]);
        }
        other => panic!("no test for {other}"),
    }
}

#[test]
fn densities_and_derivatives_are_those_of_scipy_and_mpmath() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../golden/likelihoods.json")).unwrap();
    assert!(cases.len() > 100);
    cases.iter().for_each(check_case);
}

/// Responses with weights under which sums are integrals over all responses: all counts that have any probability, or
/// the nodes y = centre + scale sinh(v), equidistant in v.
fn all_counts(largest: u32) -> Vec<(Response, f64)> {
    (0..=largest).map(|y| (count(f64::from(y)), 1.0)).collect()
}

fn all_numbers(centre: f64, scale: f64) -> Vec<(Response, f64)> {
    let (n, h) = (6_000, 0.01);
    (-n..=n)
        .map(|i| f64::from(i) * h)
        .map(|v| (real(centre + scale * v.sinh()), scale * v.cosh() * h))
        .collect()
}

/// Nodes y = sigmoid(v), equidistant in v. Above v = 36 they are rounded to 1.
fn all_shares() -> Vec<(Response, f64)> {
    let share = |v: f64| 1.0 / (1.0 + (-v).exp());
    let nodes = (-20_000..=3_600).map(|i| f64::from(i) * 0.01);
    nodes.map(|v| (real(share(v)), share(v) * share(-v) * 0.01)).collect()
}

fn all_classes(classes: usize) -> Vec<(Response, f64)> {
    (0..classes).map(|k| (class(k as f64, classes), 1.0)).collect()
}

/// The density integrates to 1; the score has mean 0; the expected curvature is the mean of the observed one, and minus
/// the mean of squared scores.
fn check_expectations<L: SecondOrderLikelihood>(
    likelihood: &L,
    responses: &[(Response, f64)],
    f: &[f64],
    phi: &[f64],
) {
    let d = f.len() + phi.len();
    let (mut mass, mut score) = (0.0, vec![0.0; d]);
    let (mut squares, mut observed) = (vec![vec![0.0; d]; d], vec![vec![0.0; d]; d]);
    for (response, weight) in responses {
        let one = at(likelihood, response, f, phi);
        let probability = weight * one.value.exp();
        if probability < 1e-300 {
            continue;
        }
        mass += probability;
        let hessian = curvature(likelihood, Curvature::Observed, response, f, phi);
        for i in 0..d {
            score[i] += probability * one.gradient[i];
            for j in 0..d {
                squares[i][j] += probability * one.gradient[i] * one.gradient[j];
                observed[i][j] += probability * hessian[i][j];
            }
        }
    }
    let label = format!("f = {f:?}, phi = {phi:?}");
    assert!((mass - 1.0).abs() < 1e-10, "{label}: the mass is {mass}");
    let expected = curvature(likelihood, Curvature::Expected, &responses[0].0, f, phi);
    for i in 0..d {
        let scale = squares[i][i].max(1.0);
        assert!(score[i].abs() < 1e-9 * scale, "{label}: score {i} has mean {}", score[i]);
        for j in 0..d {
            let (e, o, s) = (expected[i][j], observed[i][j], squares[i][j]);
            let scale = (squares[i][i] * squares[j][j]).sqrt().max(1.0);
            assert!((e - o).abs() < 1e-9 * scale, "{label}: ({i}, {j}) {e}, observed {o}");
            assert!((e + s).abs() < 1e-9 * scale, "{label}: ({i}, {j}) {e}, squares {s}");
        }
    }
}

#[test]
fn densities_are_normalised_and_curvatures_have_their_expectations() {
    for (mu, s) in [(0.3, 0.0), (-2.0, 1.5), (1.0, -3.0)] {
        let responses = all_numbers(mu, f64::exp(s));
        check_expectations(&HeteroscedasticGaussian, &responses, &[mu, s], &[]);
    }
    for (f, eta, nu) in [(0.3, 0.0, 1.0f64), (-2.0, 1.5, 2.5), (1.0, -3.0, 7.0), (0.0, 0.4, 60.0)] {
        let responses = all_numbers(f, f64::exp(0.5 * eta));
        check_expectations(&StudentTNoise::sampled(), &responses, &[f], &[eta, nu.ln()]);
        let by_row = StudentTNoise::heteroscedastic();
        check_expectations(&by_row, &responses, &[f, 0.5 * eta], &[nu.ln()]);
    }
    for (eta, largest) in [(-2.0, 40), (0.9, 80), (3.5, 300)] {
        check_expectations(&Poisson, &all_counts(largest), &[eta], &[]);
    }
    for (eta, r, largest) in [
        (-1.0, 0.5f64, 200),
        (1.3, 0.3, 3_000),
        (1.3, 2.5, 400),
        (3.0, 20.0, 400),
        (2.0, 300.0, 200),
    ] {
        let (counts, rho) = (all_counts(largest), r.ln());
        check_expectations(&NegativeBinomial::sampled(), &counts, &[eta], &[rho]);
        for omega in [-3.0, 0.4] {
            let (phi, hurdle) = ([rho, omega], Hurdle::negative_binomial());
            check_expectations(&ZeroInflated::negative_binomial(), &counts, &[eta], &phi);
            check_expectations(&hurdle, &counts, &[eta], &phi);
            check_expectations(&hurdle, &counts[..9], &[eta - 25.0], &phi);
        }
    }
    for (eta, omega) in [(-2.0, 0.3), (0.9, -2.0), (3.5, 1.0)] {
        check_expectations(&ZeroInflated::poisson(), &all_counts(300), &[eta], &[omega]);
        check_expectations(&Hurdle::poisson(), &all_counts(300), &[eta], &[omega]);
        check_expectations(&Hurdle::poisson(), &all_counts(9), &[eta - 25.0], &[omega]);
    }
    for (f, precision) in [(0.3, 2.0f64), (-2.0, 40.0), (1.0, 4.0), (0.0, 700.0), (-1.0, 1.5)] {
        check_expectations(&Beta, &all_shares(), &[f], &[precision.ln()]);
    }
    for (f, phi) in [(0.3, &[-0.4, 0.2, -1.0][..]), (-2.0, &[0.7]), (4.0, &[-1.0, -6.0, 2.0, 0.3])]
    {
        let classes = phi.len() + 1;
        let ordinal = Ordinal::new(classes).unwrap();
        check_expectations(&ordinal, &all_classes(classes), &[f], phi);
        let fixed = ordinal.with_first_cutpoint(phi[0]).unwrap();
        check_expectations(&fixed, &all_classes(classes), &[f], &phi[1..]);
    }
}

/// Values of tests/golden/negative_binomial_information.py: the mean, r, and the information on log r.
#[test]
fn information_on_a_dispersion_is_exact_for_all_means() {
    const INFINITE: f64 = f64::INFINITY;
    let nb = NegativeBinomial::sampled();
    let information =
        |eta: f64, rho: f64| curvature(&nb, Curvature::Expected, &count(0.0), &[eta], &[rho])[1][1];
    for (mu, r, exact) in [
        (1e-3f64, 0.7f64, 4.19265559021e-7),
        (0.4, 0.5, 0.044029003909),
        (3.0, 2.5, 0.128764161958),
        (20.0, 300.0, 0.00194717361336),
        (200.0, 0.1, 0.439004287408),
        (1e7, 1e4, 0.499018065),
        (1e8, 1e5, 0.499003155),
        (1e10, 1e10, 0.125),
        (INFINITE, 0.5, 0.733700550136),
        (INFINITE, 1.0, 0.644934066848),
        (INFINITE, 30.0, 0.505554321966),
    ] {
        let found = -information(if mu == INFINITE { 1e4 } else { mu.ln() }, r.ln());
        println!("{mu:e} {r:e}: {found} {exact} {:.1e}", found / exact - 1.0);
        assert!((found / exact - 1.0).abs() < 3e-9, "mu = {mu:e}, r = {r:e}: {found}, {exact}");
    }
    for eta in [-1e300, -700.0, -1.0, 40.0, 700.0, 1e300] {
        for rho in [-230.0, -3.0, 0.0, 40.0, 230.0] {
            let found = -information(eta, rho);
            assert!((0.0..1.0 + 1e-9).contains(&found), "eta = {eta}, rho = {rho}: {found}");
        }
    }
}

/// Nothing is NaN, however far a trajectory has gone: -inf, which rejects, at worst.
#[test]
fn extreme_outputs_and_parameters_are_rejected_and_never_nan() {
    fn check<L: Likelihood>(likelihood: &L, response: &Response, f: &[f64], phi: &[f64]) -> f64 {
        let At { value, gradient } = at(likelihood, response, f, phi);
        let label = format!("y = {response:?} f = {f:?} phi = {phi:?}: {value}, {gradient:?}");
        assert!(value < f64::INFINITY && gradient.iter().all(|d| !d.is_nan()), "{label}");
        assert!(value == f64::NEG_INFINITY || gradient.iter().all(|d| d.is_finite()), "{label}");
        value
    }
    let sizes = [0.0, 3.0, 50.0, 400.0, 800.0, 1e4, 1e150, 1e300].map(|x| [x, -x]);
    let sizes = sizes.as_flattened();
    for &a in sizes {
        for y in [0.0, 2.5, -1e200] {
            for &s in sizes {
                check(&HeteroscedasticGaussian, &real(y), &[a, s], &[]);
                for nu in [-800.0, -100.0, 0.0, 30.0, 200.0, 800.0] {
                    check(&StudentTNoise::sampled(), &real(y), &[a], &[s, nu]);
                    check(&StudentTNoise::heteroscedastic(), &real(y), &[a, s], &[nu]);
                }
            }
        }
        for y in [0.0, 1.0, 1e3, 1e7] {
            let poisson = check(&Poisson, &count(y), &[a], &[]);
            assert_eq!(poisson == f64::NEG_INFINITY, a > 709.0, "{a}");
            for &rho in sizes {
                let value = check(&NegativeBinomial::sampled(), &count(y), &[a], &[rho]);
                let is_zero = rho.abs() > 231.0;
                assert!((value == f64::NEG_INFINITY) == is_zero || a.abs() > 1e100, "{a} {rho}");
            }
        }
    }
    for &a in sizes {
        for &s in sizes {
            let is_ordinary = s.abs() < 231.0;
            for y in [1e-300, 0.5, 1.0 - 0.5 * f64::EPSILON] {
                let value = check(&Beta, &real(y), &[a], &[s]);
                assert_eq!(value > f64::NEG_INFINITY, is_ordinary, "{a} {s} {y}: {value}");
            }
            for y in [0.0, 1.0, 1e7] {
                for rho in [-800.0, -3.0, 3.0] {
                    check(&ZeroInflated::negative_binomial(), &count(y), &[a], &[rho, s]);
                    check(&Hurdle::negative_binomial(), &count(y), &[a], &[rho, s]);
                }
                let value = check(&Hurdle::poisson(), &count(y), &[a], &[s]);
                assert_eq!(value > f64::NEG_INFINITY, y == 0.0 || a < 710.0, "{a} {s} {y}");
                let value = check(&ZeroInflated::poisson(), &count(y), &[a], &[s]);
                let is_possible = y == 0.0 || a < 710.0;
                assert_eq!(value > f64::NEG_INFINITY, is_possible, "{a} {s} {y}: {value}");
            }
            for y in [0.0, 1.0, 2.0] {
                let three = Ordinal::new(3).unwrap();
                let value = check(&three, &class(y, 3), &[a], &[1.0, s]);
                assert_eq!(value > f64::NEG_INFINITY, is_ordinary, "{a} {s} {y}: {value}");
                check(&three, &class(y, 3), &[a], &[s, 1.0]);
            }
        }
    }
    // Far from both cutpoints: the density is e^-f, times what lies between the cutpoints.
    for f in [800.0, 1e4, 1e300] {
        let far = |f| check(&Ordinal::new(3).unwrap(), &class(1.0, 3), &[f], &[-1.0, 0.5]);
        let between = f64::exp(-1.0 + 0.5f64.exp()) - f64::exp(-1.0);
        assert!((far(f) + f - between.ln()).abs() < 1e-12 * f, "{f}: {}", far(f));
    }
    // Certain of no count, and of infinitely many.
    for (f, y, certain) in
        [(-1.0, 0.0, true), (-1.0, 2.0, false), (1.0, 0.0, false), (1.0, 2.0, false)]
    {
        let value = check(&Poisson, &count(y), &[f * f64::INFINITY], &[]);
        assert_eq!(value, if certain { 0.0 } else { f64::NEG_INFINITY }, "{f} {y}");
    }
    // The bounds of a scale are allowed.
    for tau in [1e-50, 1e50] {
        let t = StudentTNoise::sampled().with_scale(tau).unwrap();
        assert!(check(&t, &real(tau), &[0.0], &[1.0]).is_finite());
        assert!(StudentTNoise::sampled().with_scale(tau.powf(1.001)).is_err());
    }
    // A row that is fitted exactly has a density, however small its noise; another one has none.
    assert!((check(&HeteroscedasticGaussian, &real(1.0), &[1.0, -800.0], &[]) - 799.0).abs() < 0.1);
    assert_eq!(check(&HeteroscedasticGaussian, &real(1.0), &[1.1, -800.0], &[]), f64::NEG_INFINITY);
}

/// r -> inf is Poisson's, nu -> inf is Gaussian, w -> 0 has no extra zeros, two classes in order are two classes.
#[test]
fn limits_are_the_simpler_likelihoods() {
    for (y, eta) in [(0.0, 0.5), (4.0, 1.0), (90.0, 4.4)] {
        let limit = at(&Poisson, &count(y), &[eta], &[]);
        let found = at(&NegativeBinomial::sampled(), &count(y), &[eta], &[32.0]);
        assert!((found.value - limit.value).abs() < 1e-9, "{} {}", found.value, limit.value);
        assert!((found.gradient[0] - limit.gradient[0]).abs() < 1e-9);
        assert!(found.gradient[1].abs() < 1e-9, "{:?}", found.gradient);
    }
    for (y, eta, rho) in [(0.0, 0.5, 0.3), (4.0, 1.0, -1.0), (90.0, 4.4, 2.0)] {
        let without = at(&NegativeBinomial::sampled(), &count(y), &[eta], &[rho]);
        let found = at(&ZeroInflated::negative_binomial(), &count(y), &[eta], &[rho, -40.0]);
        assert!((found.value - without.value).abs() < 1e-13 * without.value.abs());
        for (found, without) in found.gradient.iter().zip(&without.gradient) {
            assert!((found - without).abs() < 1e-13 * without.abs().max(1.0));
        }
    }
    for (y, f) in [(0.0, 0.5), (1.0, -3.0), (1.0, 40.0)] {
        let two = at(&Bernoulli, &class(y, 2), &[f], &[]);
        let ordinal = Ordinal::new(2).unwrap().with_first_cutpoint(0.0).unwrap();
        let found = at(&ordinal, &class(y, 2), &[f], &[]);
        assert!((found.value - two.value).abs() < 1e-13 * two.value.abs().max(1.0));
        assert!((found.gradient[0] - two.gradient[0]).abs() < 1e-13);
    }
    for (y, f, eta) in [(0.0, 0.5, 0.3), (4.0, 1.0, -1.0)] {
        let limit = at(&Gaussian::sampled(), &real(y), &[f], &[eta]);
        let found = at(&StudentTNoise::sampled(), &real(y), &[f], &[eta, 32.0]);
        assert!((found.value - limit.value).abs() < 1e-10 * limit.value.abs());
        for i in 0..2 {
            assert!((found.gradient[i] - limit.gradient[i]).abs() < 1e-10 * limit.value.abs());
        }
        assert!(found.gradient[2].abs() < 1e-9, "{:?}", found.gradient);
        // Where the scale is an output, its logarithm is half of eta.
        let sampled = at(&StudentTNoise::sampled(), &real(y), &[f], &[eta, 1.1]);
        let output = at(&StudentTNoise::heteroscedastic(), &real(y), &[f, 0.5 * eta], &[1.1]);
        let [a, b] = [&sampled.gradient, &output.gradient];
        assert!((sampled.value - output.value).abs() < 1e-13 * output.value.abs());
        for (a, b) in [(a[0], b[0]), (2.0 * a[1], b[1]), (a[2], b[2])] {
            assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

/// Two response columns are two responses.
#[test]
fn columns_of_a_response_are_independent() {
    let both = Response::Real(ndarray::array![[0.3, -1.0]]);
    let two = at(&HeteroscedasticGaussian, &both, &[0.1, 0.7, -0.4, 0.9], &[]);
    let first = at(&HeteroscedasticGaussian, &real(0.3), &[0.1, -0.4], &[]);
    let second = at(&HeteroscedasticGaussian, &real(-1.0), &[0.7, 0.9], &[]);
    assert!((two.value - first.value - second.value).abs() < 1e-13);
    let [a, b] = [&first.gradient, &second.gradient];
    assert_eq!(two.gradient, [a[0], b[0], a[1], b[1]]);
    let both_t = at(&StudentTNoise::sampled(), &both, &[0.1, 0.7], &[0.2, 1.1]);
    let a = at(&StudentTNoise::sampled(), &real(0.3), &[0.1], &[0.2, 1.1]);
    let b = at(&StudentTNoise::sampled(), &real(-1.0), &[0.7], &[0.2, 1.1]);
    assert!((both_t.value - a.value - b.value).abs() < 1e-13);
    for i in [1, 2] {
        assert!((both_t.gradient[i + 1] - a.gradient[i] - b.gradient[i]).abs() < 1e-13);
    }
}

#[test]
fn responses_and_parameters_that_do_not_fit_are_refused_by_name() {
    let two = Response::Counts(ndarray::array![[1.0, 2.0]]);
    let t = StudentTNoise::sampled();
    let one = "counts in one column";
    for (result, likelihood, found) in [
        (HeteroscedasticGaussian.encode(&count(1.0), 2), "heteroscedastic Gaussian", one),
        (t.encode(&count(1.0), 1), "Student-t", one),
        (Poisson.encode(&real(1.0), 1), "Poisson", "real numbers in 1 column"),
        (Poisson.encode(&two, 1), "Poisson", "counts of 2 categories"),
        (
            NegativeBinomial::sampled().encode(&two, 1),
            "negative binomial",
            "counts of 2 categories",
        ),
        (
            ZeroInflated::poisson().encode(&two, 1),
            "zero-inflated Poisson",
            "counts of 2 categories",
        ),
        (Beta.encode(&count(1.0), 1), "beta", one),
        (Ordinal::new(3).unwrap().encode(&count(1.0), 1), "ordinal", one),
        (
            Ordinal::new(3).unwrap().encode(&class(0.0, 2), 1),
            "ordinal",
            "2 classes (class 0, class 1)",
        ),
        (Multinomial.encode(&count(1.0), 1), "multinomial", one),
        (Binomial.encode(&count(1.0), 1), "binomial", one),
    ] {
        let what = format!("response for the {likelihood} likelihood");
        refused!(result, Shape { what: what, found: found });
    }
    for (result, [found, expected]) in [
        (HeteroscedasticGaussian.encode(&real(1.0), 1), [1, 2]),
        (t.encode(&real(1.0), 2), [2, 1]),
        (Poisson.encode(&count(1.0), 2), [2, 1]),
        (ZeroInflated::negative_binomial().encode(&count(1.0), 2), [2, 1]),
        (Beta.encode(&real(0.5), 2), [2, 1]),
        (Ordinal::new(3).unwrap().encode(&class(0.0, 3), 3), [3, 1]),
    ] {
        refused!(result, Shape { found: found, expected: expected });
    }
    for dispersion in [0.0, f64::NAN] {
        let name = "dispersion of the negative binomial likelihood";
        refused!(NegativeBinomial::fixed(dispersion), Argument { name: name, value: dispersion });
    }
    for share in [0.0, 1.0, -0.2, 1.5] {
        let some = Response::Real(ndarray::array![[0.5], [share]]);
        refused!(Beta.encode(&some, 1), Table { table: "response for the beta likelihood" });
    }
    for classes in [0, 1, 101] {
        let name = "classes of the ordinal likelihood";
        refused!(Ordinal::new(classes), Argument { name: name, value: classes });
    }
    let infinite = Ordinal::new(4).unwrap().with_first_cutpoint(f64::INFINITY);
    refused!(infinite, Argument { name: "first cutpoint", value: "inf" });
    let name = "scale of the Student-t likelihood";
    refused!(t.with_scale(-1.0), Argument { name: name, value: -1 });
    let name = "degrees of freedom of the Student-t likelihood";
    let infinite = t.with_degrees_of_freedom(f64::INFINITY);
    refused!(infinite, Argument { name: name, value: "inf" });
}
