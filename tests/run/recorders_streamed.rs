//! What recorders make of draws on the way, moments, stored draws and streamed predictions, is what is made of the draws
//! afterwards.

use approx::assert_relative_eq;
use bnn_mcmc::draws::recorder::ChainPlan;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array2, ArrayView2, Axis, array, s};
use shared::refused;

use crate::recorders::{classes, real};

#[test]
fn moments_are_those_of_the_draws() {
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let sampler = Sampler::new(&target, Mala::default()).chains(3).warmup(100).draws(300);
    let (draws, chains) = sampler.run_with(&Moments).unwrap();
    let check = |moments: &RunningMoments, q: ArrayView2<f64>| {
        assert_eq!(moments.draws() as usize, q.nrows());
        let (mean, variance) = (q.mean_axis(Axis(0)).unwrap(), q.var_axis(Axis(0), 1.0));
        for i in 0..2 {
            assert_relative_eq!(moments.mean()[i], mean[i], max_relative = 1e-12);
            assert_relative_eq!(moments.variance()[i], variance[i], max_relative = 1e-12);
        }
    };
    for (c, chain) in chains.iter().enumerate() {
        check(chain, draws.values().index_axis(Axis(0), c));
    }
    check(&RunningMoments::merged(&chains).unwrap(), draws.flat());
    assert!(RunningMoments::new(1).unwrap().variance()[0].is_nan());
    refused!(RunningMoments::merged(&[]), Shape { what: "chains to merge" });
    let other = RunningMoments::new(3).unwrap();
    let merged = RunningMoments::merged(&[chains[0].clone(), other]);
    refused!(merged, Shape { found: 3, expected: 2 });
    let added = RunningMoments::new(3).unwrap().add(&[1.0]);
    refused!(added, Shape { what: "length of q", found: 1, expected: 3 });
}

#[test]
fn every_kth_draw_is_stored_in_single_precision() {
    let (posterior, _) = real(Gaussian::sampled());
    let run = || Sampler::new(&posterior, Mala::default()).chains(2).warmup(50).draws(64);
    for (every, keep) in [(1, Keep::All), (5, Keep::All), (7, Keep::blocks(["w1", "b0"]))] {
        let draws = run().keep(keep.clone()).run().unwrap();
        let (_, records) =
            run().keep(Keep::Statistics).run_with(&EveryKth { every, keep: keep.clone() }).unwrap();
        let stored = StoredDraws::to_draws(&records).unwrap();
        let expected = draws.thinned(every).unwrap();
        assert_eq!(stored.layout(), draws.layout());
        assert_eq!(stored.values(), expected.values().mapv(|x| f64::from(x as f32)));
        assert_eq!(records[1].values(), expected.values().slice(s![1, .., ..]).mapv(|x| x as f32));
        assert_eq!(records[1].n_draws(), 64 / every);
    }
    let with = |every, keep| run().run_with(&EveryKth { every, keep });
    refused!(with(0, Keep::All), Argument { name: "every", value: 0 });
    refused!(with(1, Keep::Statistics), Argument { name: "keep", value: "Statistics" });
    refused!(with(1, Keep::blocks(["v"])), UnknownName { name: "v" });
    refused!(StoredDraws::to_draws(&[]), Shape { what: "chains of stored draws" });
    let huge = 1 << 50;
    let many = Sampler::new(&posterior, Mala::default()).draws(huge).keep(Keep::Statistics);
    // The size names the memory of this machine.
    let Err(Error::Memory { name, size, .. }) = many.run() else { panic!("accepted") };
    assert_eq!(name, "draws");
    assert!(size.starts_with("5 (4 chains, and room to copy one) x "), "{size}");
    let recorder = EveryKth { every: 2, keep: Keep::All };
    let plan = ChainPlan { chain: 0, chains: 1, chains_here: 1, draws: huge, run: 0 };
    let Err(Error::Memory { size, .. }) = recorder.begin(&posterior, plan, None) else {
        panic!("accepted")
    };
    let product = "1 chain x 562949953421312 draws x 14 parameters x 4 bytes = 31525197.4 GB, ";
    assert!(size.starts_with(product), "{size}");
}

#[test]
fn streamed_classes_are_those_of_the_draws() {
    let (posterior, _) = classes();
    // More than one tile.
    let x = Array2::from_shape_fn((130, 2), |(i, j)| ((3 * i + 5 * j) as f64).cos());
    let chosen = [129, 0, 64];
    let streamed = StreamedUncertainty::new(&posterior, x.view()).unwrap().along(&chosen).unwrap();
    for chains in [1, 3] {
        let sampler = Sampler::new(&posterior, Hmc::default()).chains(chains).warmup(50).draws(60);
        let (draws, records) = sampler.run_with(&streamed).unwrap();
        let direct = posterior.uncertainty(&draws, x.view()).unwrap();
        let summed = streamed.uncertainty(&records).unwrap();
        assert_eq!(summed.draws(), 60 * chains as u64);
        if chains == 1 {
            assert_eq!(summed, direct, "bit for bit");
        }
        assert_relative_eq!(summed.mean(), direct.mean(), epsilon = 1e-13);
        assert_eq!(summed.vote_share(), direct.vote_share());
        for measure in bnn_mcmc::predict::Measure::ALL {
            let (a, b) = (summed.measure(measure), direct.measure(measure));
            assert_relative_eq!(a, b, epsilon = 1e-12);
        }
        let along = streamed.along_chains(&records).unwrap();
        let mean = posterior.predict_mean(&draws, x.view()).unwrap();
        assert_eq!(along.inputs(), chosen);
        assert_eq!(along.class_names(), posterior.class_names().unwrap());
        assert_eq!(along.values(), mean.select(Axis(2), &chosen));
        let alone = records[0].running().uncertainty().unwrap();
        assert_eq!(alone.draws(), 60);
    }

    let new = |x: ArrayView2<f64>| StreamedUncertainty::new(&posterior, x);
    refused!(new(array![[1.0]].view()), Shape { what: "number of features of the data" });
    let none = Array2::zeros((0, 2));
    refused!(new(none.view()), Argument { name: "number of inputs", value: 0 });
    let new = || new(x.view()).unwrap();
    refused!(new().along(&[130]), Argument { name: "rows", value: 130, allowed: "less than 130" });
    refused!(new().along_chains(&[]), Argument { name: "rows", value: "empty" });
    refused!(new().uncertainty(&[]), Shape { what: "draws of probabilities" });
    let (regression, _) = real(Gaussian::sampled());
    let of_regression = StreamedUncertainty::new(&regression, x.view());
    refused!(of_regression, Argument { name: "response of the posterior" });
    let other = GaussianTarget::standard(21).unwrap();
    let made = Sampler::new(&other, Mala::default()).run_with(&streamed);
    refused!(made, Shape { found: "q[21]" });
    // The same layout, another function.
    let (posterior, data) = classes();
    let network = Mlp::new(&[2, 3, 3], Activation::Relu).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let other = Posterior::new(network, Categorical, &data, priors).unwrap();
    let streamed = StreamedUncertainty::new(&posterior, x.view()).unwrap();
    // The error names both values, which are not the same on every processor.
    let made = Sampler::new(&other, Mala::default()).run_with(&streamed);
    let what = "log likelihood of the target (was the recorder made for another posterior?)";
    assert!(matches!(&made, Err(Error::Shape { what: found, .. }) if found == what), "{made:?}");
}

#[test]
fn streamed_moments_are_those_of_the_draws() {
    let x = Array2::from_shape_fn((130, 2), |(i, j)| ((3 * i + 5 * j) as f64).cos());
    for likelihood in [Gaussian::sampled(), Gaussian::fixed(0.3).unwrap()] {
        let (posterior, _) = real(likelihood);
        let streamed = StreamedMoments::new(&posterior, x.view()).unwrap();
        let sampler = Sampler::new(&posterior, Hmc::default()).chains(3).warmup(50).draws(60);
        let (draws, records) = sampler.run_with(&streamed).unwrap();
        let moments = streamed.moments(&records).unwrap();
        let mean = posterior.predict_mean(&draws, x.view()).unwrap();
        let mean = mean.into_shape_with_order((180, 130, 1)).unwrap();
        assert_eq!(moments.draws, 180);
        assert_relative_eq!(moments.mean, mean.mean_axis(Axis(0)).unwrap(), epsilon = 1e-13);
        let variance = mean.var_axis(Axis(0), 1.0);
        assert_relative_eq!(moments.sd, variance.mapv(f64::sqrt), epsilon = 1e-12);
        let noise = match draws.parameter("log_noise_variance") {
            Ok(eta) => eta.mapv(f64::exp).mean().unwrap(),
            Err(_) => 0.3 * 0.3,
        };
        let each = moments.noise_variance.as_ref().unwrap();
        assert_relative_eq!(*each, Array2::from_elem((130, 1), noise), max_relative = 1e-13);
        let total = variance.mapv(|v| (v + noise).sqrt());
        assert_relative_eq!(moments.total_sd().unwrap(), total, epsilon = 1e-12);
    }
    // Of classes: probabilities, without noise.
    let (posterior, _) = classes();
    let streamed = StreamedMoments::new(&posterior, x.view()).unwrap();
    refused!(streamed.moments(&[]), Shape { what: "recorded draws" });
    let sampler = Sampler::new(&posterior, Hmc::default()).chains(1).warmup(20).draws(20);
    let (draws, records) = sampler.run_with(&streamed).unwrap();
    let moments = streamed.moments(&records).unwrap();
    let uncertainty = posterior.uncertainty(&draws, x.view()).unwrap();
    assert_relative_eq!(moments.mean, uncertainty.mean(), epsilon = 1e-13);
    assert_eq!((&moments.noise_variance, moments.total_sd()), (&None, None));
}
