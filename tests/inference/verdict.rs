//! Verdicts on real runs that do not converge, for each of the two reasons.

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::diagnostics::{APART_LIMITS, Cause, Outcome, Verdict};
use bnn_mcmc::draws::RunInfo;
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;

/// Rows in units of their standard deviations.
fn scaled(data: &Dataset) -> Dataset {
    let features = Standardise::new().allow_constant().fit_features(data).unwrap();
    let response = Standardise::new().fit_response(data).unwrap();
    response.scale_response(&features.scale_features(data).unwrap()).unwrap()
}

/// A network of tanh units, by the algorithm, and the verdict on its predictions of the same rows.
fn judged<L, A>(
    data: &Dataset,
    units: usize,
    likelihood: L,
    (algorithm, iterations): (A, usize),
) -> (RunInfo, Verdict)
where
    L: Likelihood,
    A: for<'t> Algorithm<&'t Posterior<Mlp, L>>,
{
    let network = Mlp::new(&[data.n_features(), units, 1], Activation::Tanh).unwrap();
    let mut priors = Priors::by_fan_in(&network);
    for block in likelihood.layout().blocks() {
        priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
    }
    let posterior = Posterior::new(network, likelihood, data, priors).unwrap();
    let start = Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.1 };
    let sampler = Sampler::new(&posterior, algorithm).init(start).seed(1);
    let draws = sampler.chains(4).warmup(iterations).draws(iterations).run().unwrap();
    let verdict = posterior.predict(&draws, data).unwrap().verdict().unwrap();
    println!("{verdict}");
    (draws.info().clone(), verdict)
}

/// Three units for Boston's thirteen features: each chain mixes where it is.
#[test]
fn narrow_network_has_modes() {
    let all = scaled(&bundled::boston());
    let few: Vec<usize> = (0..all.rows()).step_by(2).collect();
    let data = all.select(&few).unwrap();
    let algorithm = Collapsed::new(Mams::default());
    let (info, verdict) = judged(&data, 3, Gaussian::sampled(), (algorithm, 400));
    assert_eq!(info.algorithm.as_deref(), Some("Collapsed(Mams)"));
    assert!(!matches!(verdict.outcome, Outcome::ChainsDrift { .. }), "{verdict}");
    assert_eq!(verdict.cause, Some(Cause::Modes), "{verdict}");
    let advice = [Advice::RunLonger, Advice::Widen { units: 100 }, Advice::Temper];
    let said = verdict.advice();
    assert!(
        said.iter().all(|said| advice.contains(said)) && said.ends_with(&advice[1..]),
        "{said:?}"
    );
    // Neither the prior by fan-in, which is in use, nor NUTS, nor to integrate out.
    for in_use in [Advice::PriorByFanIn, Advice::UseNuts, Advice::IntegrateOut] {
        assert!(!said.contains(&in_use), "{said:?}");
    }
    assert!(verdict.apart.unwrap() > APART_LIMITS[1]);
}

/// The network for sunspot, whose output layer makes a ridge: chains creep along it.
#[test]
fn output_layer_makes_a_ridge() {
    let data = scaled(&bundled::sunspot_windows().0);
    let nuts = Nuts { max_depth: 5, ..Nuts::default() };
    let (info, verdict) = judged(&data, 10, Gaussian::sampled(), (nuts.clone(), 200));
    assert_eq!(info.algorithm.as_deref(), Some("Nuts"));
    assert!(!verdict.is_converged());
    let Some(Cause::Ridge { leapfrog_steps }) = verdict.cause else { panic!("{verdict:?}") };
    assert!((20.0..32.0).contains(&leapfrog_steps), "{leapfrog_steps}");
    assert!(verdict.advice().contains(&Advice::IntegrateOut), "{verdict}");

    // Student-t noise is normal given weights of the rows, which `Collapsed` draws.
    let noise = StudentTNoise::sampled();
    let (_, verdict) = judged(&data, 10, noise, (nuts, 100));
    assert!(matches!(verdict.cause, Some(Cause::Ridge { .. })), "{verdict:?}");
    assert!(verdict.advice().contains(&Advice::IntegrateOut), "{verdict}");

    // Nothing is left to integrate out.
    let algorithm = Collapsed::new(Nuts { max_depth: 3, ..Nuts::default() });
    let (_, verdict) = judged(&data, 10, Gaussian::sampled(), (algorithm, 100));
    assert!(matches!(verdict.cause, Some(Cause::Ridge { .. })), "{verdict:?}");
    assert!(!verdict.advice().contains(&Advice::IntegrateOut), "{verdict}");
}
