//! Simulation-based calibration: right posteriors pass, wrong ones fail, whatever samples them.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Collapsed, Cycle, GibbsNoise, Hmc, Mala, Mams, OnBlocks};
use bnn_mcmc::targets::{Autodiff, Density, Number};
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance, Sbc, SbcReport, Simulated};
use ndarray::{Array, Array2, Array3};

/// Draws of an exact posterior, in one chain.
fn exact(n: usize, mut draw: impl FnMut() -> f64) -> Array2<f64> {
    Array2::from_shape_simple_fn((1, n), &mut draw)
}

/// mu ~ N(0, 1) and five observations N(mu, 1), whose exact posterior is N(sum / (5 + 1/s^2), 1 / (5 + 1/s^2)) if mu is taken
/// for N(0, s^2).
fn normal_mean(rng: &mut ChainRng, prior_sd: f64) -> Simulated {
    let truth = rng.normal();
    let y: Vec<f64> = (0..5).map(|_| truth + rng.normal()).collect();
    let precision = 5.0 + prior_sd.powi(-2);
    let mean = y.iter().sum::<f64>() / precision;
    let draws = exact(99, || mean + rng.normal() / precision.sqrt());
    let log_lik = |mu: f64| y.iter().map(|y| -0.5 * (y - mu).powi(2)).sum::<f64>();
    by_hand("mu", truth, draws, log_lik)
}

fn by_hand(name: &str, truth: f64, draws: Array2<f64>, log_lik: impl Fn(f64) -> f64) -> Simulated {
    let of_draws = draws.mapv(&log_lik);
    Simulated::of("log likelihood", log_lik(truth), of_draws.view()).with(name, truth, draws.view())
}

/// v ~ IG(3, 2) and four observations N(0, v), whose exact posterior is IG(3 + 2, 2 + squares / 2). Where v is sampled by log v and
/// the Jacobian v is forgotten, the draws have the density times 1 / v: the shape is larger by 1.
fn variance(rng: &mut ChainRng, forgets_jacobian: bool) -> Simulated {
    let truth = 2.0 / rng.gamma(3.0);
    let y: Vec<f64> = (0..4).map(|_| truth.sqrt() * rng.normal()).collect();
    let squares: f64 = y.iter().map(|y| y * y).sum();
    let shape = 5.0 + f64::from(u8::from(forgets_jacobian));
    let draws = exact(99, || (2.0 + squares / 2.0) / rng.gamma(shape));
    by_hand("variance", truth, draws, |v| -2.0 * v.ln() - squares / (2.0 * v))
}

/// How many runs of SBC the tests here ask, and how many when they are asked for long.
const RUNS: u64 = 10;
const MANY_RUNS: u64 = 100;

/// How many of so many runs fail, of as many simulations as a run chooses itself.
fn failures(runs: u64, simulate: impl Fn(&mut ChainRng) -> Simulated + Sync) -> u64 {
    let run = |sbc: Sbc| sbc.run(|mut rng| Ok(simulate(&mut rng))).unwrap();
    let simulations = run(Sbc::new()).ranks().nrows();
    let fails = |seed: &u64| !run(Sbc::new().simulations(simulations).seed(*seed)).passes();
    (0..runs).filter(fails).count() as u64
}

/// False alarms are rare, so that fewer runs would not see twice as many.
#[test]
fn right_posteriors_pass() {
    let right = |rng: &mut ChainRng| normal_mean(rng, 1.0);
    let found = [failures(MANY_RUNS, right), failures(MANY_RUNS, |rng| variance(rng, false))];
    println!("false alarms: {found:?} of {MANY_RUNS}");
    assert!(found.iter().all(|found| *found <= 1));
}

/// Exact draws of a regression with known noise whose weights have the prior N(0, sd^2), where N(0, 1) is simulated.
fn exact_regression(sd: f64, sbc: Sbc) -> SbcReport {
    let x = Array2::from_shape_fn((40, 3), |(i, j)| ((3 * i + 7 * j + i * j) as f64).sin());
    let data = Dataset::regression(x, Array::zeros(40)).unwrap();
    let model = Linear::new(3, 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let noise = Gaussian::fixed(0.5).unwrap();
    let posterior = Posterior::new(model, noise, &data, priors).unwrap();
    let sample = |simulated: &Dataset, seed: u64| {
        let (x, y) = (simulated.x(), simulated.real()?.column(0));
        let exact = ConjugateRegression::new(x.view(), y, sd, NoiseVariance::Fixed(0.5))?;
        let mut rng = ChainRng::new(seed, 0);
        let mut values = Array3::zeros((1, 99, exact.dim()));
        for mut q in values.rows_mut() {
            exact.draw(&mut rng, q.as_slice_mut().unwrap());
        }
        Draws::new(posterior.layout().clone(), values)
    };
    sbc.run_posterior(&posterior, &data, sample).unwrap()
}

/// On the rows and simulations that a run chooses itself.
fn a_wide_prior_is_found(runs: u64) {
    let simulations = exact_regression(1.0, Sbc::new()).ranks().nrows();
    let of = |sd: f64| {
        let run = |seed| exact_regression(sd, Sbc::new().simulations(simulations).seed(seed));
        (0..runs).filter(|seed| !run(*seed).passes()).count() as u64
    };
    let (wide, right) = (of(1.5), of(1.0));
    println!("{simulations} simulations: {wide} of {runs} found, {right} false alarms");
    assert!(100 * wide >= 99 * runs && right <= 1);
    // Where the data say much more than the prior nothing is found.
    assert!(exact_regression(1.5, Sbc::new().simulations(simulations).rows(40)).passes());
}

#[test]
fn a_prior_one_and_a_half_times_as_wide_is_found() {
    a_wide_prior_is_found(RUNS);
}

#[test]
#[ignore = "long"]
fn a_prior_one_and_a_half_times_as_wide_is_found_long() {
    a_wide_prior_is_found(MANY_RUNS);
}

#[test]
fn a_dropped_jacobian_is_found() {
    assert_eq!(failures(RUNS, |rng| variance(rng, true)), RUNS);
}

#[test]
#[ignore = "long"]
fn a_dropped_jacobian_is_found_long() {
    assert!(failures(MANY_RUNS, |rng| variance(rng, true)) >= 99);
}

/// Posteriors that ignore the data have uniform ranks of the parameter; the log likelihood finds them.
#[test]
fn a_posterior_that_ignores_the_data_is_found_by_the_log_likelihood() {
    let report = Sbc::new()
        .simulations(200)
        .run(|mut rng| {
            let truth = rng.normal();
            let y: Vec<f64> = (0..5).map(|_| truth + rng.normal()).collect();
            let draws = exact(99, || rng.normal());
            let log_lik = |mu: f64| y.iter().map(|y| -0.5 * (y - mu).powi(2)).sum::<f64>();
            Ok(by_hand("mu", truth, draws, log_lik))
        })
        .unwrap();
    assert_eq!(report.names(), ["log likelihood", "mu"]);
    assert!(report.p_values()[0] <= report.alpha(), "{report}");
    assert!(report.p_values()[1] > report.alpha(), "{report}");
}

fn regression() -> (Posterior<Linear, Gaussian>, Dataset) {
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((3 * i + 7 * j) as f64).sin());
    let data = Dataset::regression(x, Array::zeros(40)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(3.0, 1.0).unwrap());
    let model = Linear::new(2, 1).unwrap();
    (Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap(), data)
}

fn calibrated<A>(algorithm: A, simulations: usize) -> SbcReport
where
    A: Clone + Sync + for<'t> bnn_mcmc::sampler::Algorithm<&'t Posterior<Linear, Gaussian>>,
{
    let (posterior, data) = regression();
    let run = |simulated: &Dataset, seed: u64| {
        let posterior = posterior.given(simulated)?;
        let sampler = Sampler::new(&posterior, algorithm.clone());
        sampler.chains(2).warmup(400).draws(1_000).thin(2).seed(seed).run()
    };
    Sbc::new().simulations(simulations).run_posterior(&posterior, &data, run).unwrap()
}

#[test]
fn samplers_of_every_family_pass() {
    samplers_pass(60);
}

#[test]
#[ignore = "long"]
fn samplers_of_every_family_pass_long() {
    samplers_pass(150);
}

fn samplers_pass(simulations: usize) {
    let reports = [
        ("NUTS", calibrated(Nuts::default(), simulations)),
        ("HMC", calibrated(Hmc::default(), simulations)),
        ("MAMS", calibrated(Mams::default(), simulations)),
        ("MALA", calibrated(Mala::default(), simulations)),
        ("random walk", calibrated(Rwm::default(), simulations)),
        ("collapsed NUTS", calibrated(Collapsed::new(Nuts::default()), simulations)),
        (
            "MALA and Gibbs",
            calibrated(Cycle(OnBlocks::new(&["w", "b"], Mala::default()), GibbsNoise), simulations),
        ),
    ];
    for (name, report) in reports {
        println!("{name}: {report}");
        assert!(report.p_values().iter().all(|p| *p > report.alpha()), "{name}: {report}");
        assert_eq!(report.names()[0], "log likelihood");
        assert!(report.names().contains(&"log_noise_variance".to_string()));
        assert_eq!(report.names().last().unwrap(), "mean of row 30");
    }
}

/// Three waiting times of an exponential rate ~ Exp(1).
struct Waiting([f64; 3]);

impl Density for Waiting {
    fn layout(&self) -> Layout {
        Layout::new().with("rate", &[])
    }

    fn log_density<N: Number>(&self, theta: &[N]) -> (N, N) {
        let rate = theta[0];
        (rate.ln() * 3.0 - rate * self.0.iter().sum::<f64>(), -rate)
    }
}

/// A density of one's own, over a free number: its own Jacobian is tested with it.
#[test]
fn a_density_of_ones_own_passes_and_fails_without_its_jacobian() {
    let run = |is_right: bool| {
        Sbc::new().simulations(300).run(|mut rng| {
            let mut exponential = || -(1.0 - rng.uniform()).ln();
            let rate = exponential();
            let density = Waiting([0; 3].map(|_| exponential() / rate));
            let target =
                Constrained::new(Autodiff::new(density), &[("rate", Constraint::Positive)])?;
            let truth = target.unconstrain(&[rate])?;
            let sampler = Sampler::new(&target, Nuts::default()).chains(2).warmup(200);
            let mut draws = sampler.draws(300).seed((1e9 * rng.uniform()) as u64).run()?;
            if !is_right {
                // Draws of the density times e^-x: rate is Gamma(3), and not Gamma(4), over 1 + the sum.
                let sum: f64 = target.target().density().0.iter().sum();
                let shape = (1, 300, 1);
                let wrong =
                    Array3::from_shape_simple_fn(shape, || (rng.gamma(3.0) / (1.0 + sum)).ln());
                draws = Draws::new(target.layout(), wrong)?;
            }
            Simulated::new(&target, &truth, &draws)?.with_parameters(&truth, &draws)
        })
    };
    let (right, wrong) = (run(true).unwrap(), run(false).unwrap());
    assert_eq!(right.names(), ["log likelihood", "log_rate"]);
    assert!(right.passes(), "{right}");
    assert!(!wrong.passes(), "{wrong}");
}

/// The response of every kind is simulated as the data have it.
#[test]
fn classes_counts_and_networks_pass() {
    let x = Array2::from_shape_fn((30, 1), |(i, _)| (1.7 * i as f64).sin());
    let normal = Normal::new(0.0, 1.0).unwrap();
    let classes = (0..30).map(|i| i % 3).collect();
    let data = Dataset::classification(x.clone(), classes, ["a", "b", "c"]).unwrap();
    let network = Mlp::new(&[1, 3, 3], Activation::Tanh).unwrap();
    let posterior = Posterior::new(network, Categorical, &data, Priors::all(normal)).unwrap();
    let report = Sbc::new().simulations(60).run_posterior(&posterior, &data, |simulated, seed| {
        let given = posterior.given(simulated)?;
        Sampler::new(&given, Nuts::default()).chains(2).warmup(300).draws(300).seed(seed).run()
    });
    let report = report.unwrap();
    assert!(report.passes(), "{report}");
    // Weights of hidden units are no quantities.
    assert_eq!(report.names().len(), 5);

    let data = Dataset::counts(x, Array::zeros(30)).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Poisson, &data, Priors::all(normal)).unwrap();
    let report = Sbc::new().simulations(60).run_posterior(&posterior, &data, |simulated, seed| {
        let given = posterior.given(simulated)?;
        Sampler::new(&given, Nuts::default()).chains(2).warmup(300).draws(300).seed(seed).run()
    });
    let report = report.unwrap();
    assert!(report.passes(), "{report}");
    assert_eq!(report.names()[1..3], ["w[0,0]", "b[0]"]);
}

#[test]
fn a_run_goes_on_from_its_file_and_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sbc");
    let run = |sbc: Sbc| sbc.run(|mut rng| Ok(normal_mean(&mut rng, 1.0)));
    let whole = run(Sbc::new().simulations(80).threads(1)).unwrap();

    // Half of it, a line that was cut, and the rest.
    run(Sbc::new().simulations(40).checkpoint(&file)).unwrap();
    let mut text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 41);
    text.push_str("{\"simulation\":41,\"es");
    std::fs::write(&file, &text).unwrap();
    let again = run(Sbc::new().simulations(80).threads(2).checkpoint(&file)).unwrap();
    assert_eq!(again.ranks(), whole.ranks());
    assert_eq!(again.p_values(), whole.p_values());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 81);
    // Nothing is left to do: the file serves.
    let done = Sbc::new().simulations(80).checkpoint(&file);
    assert_eq!(run(done).unwrap().ranks(), whole.ranks());

    let refused = |sbc: Sbc| run(sbc.checkpoint(&file)).unwrap_err().to_string();
    let other = refused(Sbc::new().simulations(80).seed(2));
    assert!(
        other.contains("it is of seed 1") && other.contains("this run is of seed 2"),
        "{other}"
    );
    std::fs::write(&file, "wrong\n").unwrap();
    let other = refused(Sbc::new().simulations(80));
    assert!(other.contains("first line is not of SBC"), "{other}");
    std::fs::write(&file, "of somebody").unwrap();
    let other = refused(Sbc::new().simulations(80));
    assert!(other.contains("a file of something else"), "{other}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of somebody");
    // Another model has another first simulation.
    std::fs::remove_file(&file).unwrap();
    run(Sbc::new().simulations(20).checkpoint(&file)).unwrap();
    let other = Sbc::new().simulations(20).checkpoint(&file);
    let other = other.run(|mut rng| Ok(normal_mean(&mut rng, 0.2))).unwrap_err().to_string();
    assert!(other.contains("another model or sampler"), "{other}");
}

#[test]
fn what_a_design_finds_is_what_it_was_chosen_for() {
    let report =
        Sbc::new().to_find(0.5, 1.5).run(|mut rng| Ok(normal_mean(&mut rng, 1.0))).unwrap();
    let [shift, wide, narrow] = report.detects().map(Option::unwrap);
    println!("{} simulations find {shift:.2} sd, {wide:.2}, {narrow:.2}", report.ranks().nrows());
    assert!(shift <= 0.52 && wide <= 1.55 && narrow >= 1.0 / 1.55, "{shift}, {wide}, {narrow}");
    assert!(shift > 0.25 && wide > 1.2, "{shift}, {wide}: more simulations than it needs");
    let band = report.band();
    assert_eq!(band.len(), 99);
    for [u, low, high] in &band {
        assert!(low < u && u < high, "{u}: {low} to {high}");
    }
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let refused = |sbc: Sbc, of: &(dyn Fn() -> Simulated + Sync)| {
        sbc.run(|_| Ok(of())).unwrap_err().to_string()
    };
    let ones = || Simulated::of("a", 1.0, Array2::ones((1, 99)).view());
    for (sbc, part) in [
        (Sbc::new().simulations(3), "simulations"),
        (Sbc::new().draws(2_000), "9 to 999"),
        (Sbc::new().alpha(0.9), "alpha"),
        (Sbc::new().to_find(0.0, 2.0), "fault to find"),
    ] {
        let error = refused(sbc, &ones);
        assert!(error.contains(part), "{error}");
    }
    let few = || Simulated::of("a", 1.0, Array2::ones((1, 20)).view());
    let error = refused(Sbc::new(), &few);
    assert!(error.contains("draws of `a`") && error.contains("at least 99"), "{error}");
    let one = Array2::ones((1, 99));
    let many = || (0..400).fold(ones(), |all, i| all.with(format!("q{i}"), 1.0, one.view()));
    let error = refused(Sbc::new(), &many);
    assert!(error.contains("quantities") && error.contains("at most 250"), "{error}");
    let nan = || Simulated::of("a", f64::NAN, Array2::ones((1, 99)).view());
    assert!(refused(Sbc::new(), &nan).contains("`a`"));

    let (posterior, data) = regression();
    let of = |sbc: Sbc, data: &Dataset| {
        let none = |_: &Dataset, _| unreachable!("it is refused before");
        sbc.run_posterior(&posterior, data, none).unwrap_err().to_string()
    };
    for rows in [0, 41] {
        assert!(of(Sbc::new().rows(rows), &data).contains("1 to 40"));
    }
    let weighted = data.clone().with_weights(vec![2.0; 40]).unwrap();
    assert!(of(Sbc::new(), &weighted).contains("weights of rows"));
    let error = Simulated::new(&posterior, &[0.0], &posterior.prior_draws(5, 1).unwrap());
    assert!(error.unwrap_err().to_string().contains("number of true parameters"));

    // Chains without enough effective draws are told, and nothing is said of the sampler.
    let report = Sbc::new().simulations(20).run(|mut rng| {
        let draws = Array2::from_shape_fn((1, 99), |(_, i)| if i < 50 { 0.0 } else { 1.0 });
        Ok(Simulated::of("a", rng.uniform(), draws.view()))
    });
    let report = report.unwrap();
    assert!(report.least_ess() < 10.0 && !report.passes());
    assert!(report.to_string().contains("NOT TESTED"), "{report}");
}
