//! Symmetries of networks, canonical draws, covariances compared and the multivariate R-hat:
//! against forward evaluation, brute force over the group, planted modes and exact draws.

use bnn_mcmc::diagnostics::*;
use bnn_mcmc::engine::{Tile, TileMut, padded};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::model::{Activation, Mlp, Model};
use bnn_mcmc::prelude::*;
use ndarray::{Array2, Array3, Axis, array, s};
use shared::{failed, refused, said};

use super::fixtures::without_numbers;

fn normals(rng: &mut ChainRng, n: usize) -> Vec<f64> {
    let mut q = vec![0.0; n];
    rng.fill_normal(&mut q);
    q
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn below(rng: &mut ChainRng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n - 1)
}

fn random_element(rng: &mut ChainRng, symmetries: &Symmetries) -> SymmetryElement {
    let mut layer = |units: usize| {
        let mut from: Vec<usize> = (0..units).collect();
        for i in (1..units).rev() {
            from.swap(i, below(rng, i + 1));
        }
        let mut flip = |_| symmetries.has_flips() && rng.uniform() < 0.5;
        from.into_iter().map(|from| HiddenUnit { from, flipped: flip(from) }).collect()
    };
    SymmetryElement { layers: symmetries.hidden_sizes().into_iter().map(&mut layer).collect() }
}

/// All elements of the group.
fn all_elements(symmetries: &Symmetries) -> Vec<SymmetryElement> {
    fn of_layer(units: usize, flips: bool) -> Vec<Vec<HiddenUnit>> {
        let mut all = vec![vec![]];
        for _ in 0..units {
            let mut longer = Vec::new();
            for head in &all {
                let head: &Vec<HiddenUnit> = head;
                for from in (0..units).filter(|k| head.iter().all(|u| u.from != *k)) {
                    for flipped in [false, true] {
                        if !flipped || flips {
                            let mut next = head.clone();
                            next.push(HiddenUnit { from, flipped });
                            longer.push(next);
                        }
                    }
                }
            }
            all = longer;
        }
        all
    }
    let mut all = vec![SymmetryElement { layers: vec![] }];
    for units in symmetries.hidden_sizes() {
        let layers = of_layer(units, symmetries.has_flips());
        let with = |e: &SymmetryElement| {
            let longer = |layer: &Vec<HiddenUnit>| {
                let mut layers = e.layers.clone();
                layers.push(layer.clone());
                SymmetryElement { layers }
            };
            layers.iter().map(longer).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

fn outputs(network: &Mlp, w: &[f64], x: &[f64], rows: usize) -> Vec<f64> {
    let mut out = vec![0.0; network.n_outputs() * padded(rows)];
    let mut ws = network.workspace();
    network.forward(w, Tile::new(x, rows), TileMut::new(&mut out, rows), &mut ws);
    out
}

#[test]
fn neither_group_elements_nor_alignment_change_the_function() {
    let mut rng = ChainRng::new(1, 0);
    for &activation in Activation::ALL {
        for sizes in
            [&[3, 2][..], &[2, 1, 1], &[2, 2, 1], &[4, 6, 3], &[3, 4, 5, 2], &[2, 3, 3, 3, 1]]
        {
            let network = Mlp::new(sizes, activation).unwrap();
            let symmetries = Symmetries::new(&network, &network.layout()).unwrap();
            assert_eq!(
                symmetries.has_flips(),
                matches!(activation, Activation::Tanh | Activation::Identity)
            );
            let x = normals(&mut rng, sizes[0] * padded(20));
            for _ in 0..20 {
                let q = normals(&mut rng, network.layout().dim());
                let f = outputs(&network, &q, &x, 20);
                let reference = normals(&mut rng, q.len());
                let mut moved = q.clone();
                let element = random_element(&mut rng, &symmetries);
                symmetries.apply(&element, &mut moved).unwrap();
                let mut aligned = q.clone();
                let applied = symmetries.align(&mut aligned, &reference).unwrap();
                for same in [&moved, &aligned] {
                    for (a, b) in outputs(&network, same, &x, 20).iter().zip(&f) {
                        assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{activation} {sizes:?}");
                    }
                }
                assert!(distance(&aligned, &reference) <= distance(&q, &reference) + 1e-12);
                let mut again = q.clone();
                symmetries.apply(&applied, &mut again).unwrap();
                assert_eq!(again, aligned, "the element returned is what was done");
                symmetries.align(&mut moved, &reference).unwrap();
                assert_eq!(moved, aligned, "one form for all equivalent weights: {sizes:?}");
            }
        }
    }
}

#[test]
fn flips_of_an_activation_that_is_not_odd_do_change_the_function() {
    // What would make the test above pass for any group: it must see a wrong one.
    let network = Mlp::new(&[2, 3, 1], Activation::Sigmoid).unwrap();
    let tanh = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let wrong = Symmetries::new(&tanh, &tanh.layout()).unwrap();
    let mut rng = ChainRng::new(2, 0);
    let x = normals(&mut rng, 2 * padded(8));
    let mut q = normals(&mut rng, 13);
    let f = outputs(&network, &q, &x, 8);
    let units = (0..3).map(|from| HiddenUnit { from, flipped: from == 1 }).collect();
    wrong.apply(&SymmetryElement { layers: vec![units] }, &mut q).unwrap();
    assert!(distance(&outputs(&network, &q, &x, 8), &f) > 1e-3);
}

#[test]
fn with_one_hidden_layer_no_equivalent_weights_are_nearer() {
    let mut rng = ChainRng::new(3, 0);
    for (sizes, flips) in
        [([2, 1, 1], true), ([2, 3, 2], true), ([3, 5, 1], false), ([1, 4, 3], true)]
    {
        let network = Mlp::new(&sizes, Activation::Tanh).unwrap();
        let mut symmetries = Symmetries::new(&network, &network.layout()).unwrap();
        if !flips {
            symmetries = symmetries.without_flips();
        }
        let elements = all_elements(&symmetries);
        assert_eq!(elements.len() as f64, symmetries.order());
        assert!((symmetries.ln_order() - symmetries.order().ln()).abs() < 1e-12);
        for _ in 0..50 {
            let [q, reference] = [0; 2].map(|_| normals(&mut rng, network.layout().dim()));
            let nearest = |e: &SymmetryElement| {
                let mut q = q.clone();
                symmetries.apply(e, &mut q).unwrap();
                distance(&q, &reference)
            };
            let best = elements.iter().map(nearest).fold(f64::INFINITY, f64::min);
            let mut aligned = q.clone();
            symmetries.align(&mut aligned, &reference).unwrap();
            assert!((distance(&aligned, &reference) - best).abs() < 1e-12 * best);
        }
    }
}

#[test]
fn with_several_layers_planted_elements_are_found_and_random_weights_mostly() {
    let mut rng = ChainRng::new(4, 0);
    for sizes in [&[2, 3, 3, 1][..], &[4, 8, 8, 2], &[3, 6, 5, 4, 2], &[2, 2, 2, 2, 1]] {
        let network = Mlp::new(sizes, Activation::Tanh).unwrap();
        let symmetries = Symmetries::new(&network, &network.layout()).unwrap();
        for _ in 0..200 {
            let reference = normals(&mut rng, network.layout().dim());
            let near: Vec<f64> = reference.iter().map(|r| r + 0.1 * rng.normal()).collect();
            let mut moved = near.clone();
            symmetries.apply(&random_element(&mut rng, &symmetries), &mut moved).unwrap();
            symmetries.align(&mut moved, &reference).unwrap();
            assert_eq!(moved, near, "{sizes:?}");
        }
    }
    // Unrelated weights: how often is the local optimum the global one?
    let network = Mlp::new(&[2, 3, 3, 1], Activation::Tanh).unwrap();
    let symmetries = Symmetries::new(&network, &network.layout()).unwrap();
    let elements = all_elements(&symmetries);
    assert_eq!(elements.len(), 48 * 48);
    let mut global = 0;
    for _ in 0..100 {
        let [mut q, reference] = [0; 2].map(|_| normals(&mut rng, network.layout().dim()));
        let nearest = |e: &SymmetryElement| {
            let mut q = q.clone();
            symmetries.apply(e, &mut q).unwrap();
            distance(&q, &reference)
        };
        let best = elements.iter().map(nearest).fold(f64::INFINITY, f64::min);
        symmetries.align(&mut q, &reference).unwrap();
        let found = distance(&q, &reference);
        assert!(found > best - 1e-9);
        global += usize::from(found < best + 1e-9);
    }
    println!("global optimum for {global} of 100 unrelated weights");
    assert!(global >= 50, "{global}");
}

/// Chains that move between the modes named by `modes`, `[chain][draw]`, around one set of weights.
fn planted(
    network: &Mlp,
    layout: Layout,
    elements: &[SymmetryElement],
    modes: &[Vec<usize>],
) -> Draws {
    let mut rng = ChainRng::new(5, 0);
    let symmetries = Symmetries::new(network, &layout).unwrap();
    // Far from the borders between cells, compared with the noise.
    let weights: Vec<f64> = normals(&mut rng, layout.dim()).iter().map(|w| 2.0 * w).collect();
    let mut q = Array3::zeros((modes.len(), modes[0].len(), layout.dim()));
    for (c, chain) in modes.iter().enumerate() {
        for (t, mode) in chain.iter().enumerate() {
            let mut draw: Vec<f64> = weights.iter().map(|w| w + 0.05 * rng.normal()).collect();
            symmetries.apply(&elements[*mode], &mut draw).unwrap();
            q.slice_mut(s![c, t, ..]).assign(&ndarray::ArrayView1::from(&draw));
        }
    }
    Draws::new(layout, q).unwrap()
}

#[test]
fn canonical_draws_of_planted_modes_agree_and_the_modes_are_counted() {
    for sizes in [&[2, 3, 1][..], &[2, 3, 3, 1]] {
        let network = Mlp::new(sizes, Activation::Tanh).unwrap();
        // Parameters before and after the network's that must not be touched.
        let layout = Layout::new()
            .with("before", &[2])
            .then(&network.layout())
            .with("log_noise_variance", &[]);
        let symmetries = Symmetries::new(&network, &layout).unwrap();
        let mut rng = ChainRng::new(6, 0);
        let elements: Vec<SymmetryElement> =
            (0..5).map(|_| random_element(&mut rng, &symmetries)).collect();
        let mut distinct = elements.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 5);
        // Chain 0 stays, 1 moves once, 2 alternates every 100, 3 touches a mode for one draw.
        let modes: Vec<Vec<usize>> = vec![
            vec![0; 500],
            (0..500).map(|t| 1 + t / 250).collect(),
            (0..500).map(|t| 3 * ((t / 100) % 2)).collect(),
            (0..500).map(|t| if t == 77 { 4 } else { 0 }).collect(),
        ];
        let draws = planted(&network, layout.clone(), &elements, &modes);
        let canonical = symmetries.canonical(&draws, None).unwrap();
        let visited: Vec<usize> = canonical.chains.iter().map(Modes::visited).collect();
        let transitions: Vec<usize> = canonical.chains.iter().map(|m| m.transitions).collect();
        assert_eq!((visited, transitions), (vec![1, 2, 2, 2], vec![0, 1, 4, 2]));
        assert_eq!((canonical.all.visited(), canonical.all.transitions), (5, 7));
        assert_eq!((canonical.changed, canonical.order), (0, symmetries.order()));
        let effective = |c: usize| canonical.chains[c].effective();
        assert!((effective(0) - 1.0).abs() < 1e-12 && (effective(1) - 2.0).abs() < 1e-12);
        assert!(effective(3) < 1.02, "one draw hardly counts: {}", effective(3));
        assert_eq!(canonical.chains[3].cells[0].1, 499);

        // Each cell's element brings its draws to the canonical ones.
        let mut q = draws.draw(1, 0).unwrap().to_vec();
        let [first, second] = [0, 1].map(|k| &canonical.chains[1].cells[k].0);
        let moved = [first, second].map(|e| {
            let mut q = q.clone();
            symmetries.apply(e, &mut q).unwrap();
            q
        });
        assert!(moved.iter().any(|q| q == canonical.draws.draw(1, 0).unwrap()));
        symmetries.align(&mut q, &canonical.reference).unwrap();
        assert_eq!(q, canonical.draws.draw(1, 0).unwrap());

        // Other parameters are as they were; given the reference, the result is the same.
        for block in ["before", "log_noise_variance"] {
            assert_eq!(draws.block(block).unwrap(), canonical.draws.block(block).unwrap());
        }
        let again = symmetries.canonical(&draws, Some(&canonical.reference)).unwrap();
        assert_eq!((again.draws.values(), again.rounds), (canonical.draws.values(), 0));
        assert_eq!(again.chains, canonical.chains);

        let (raw, after) = (draws.summary().unwrap(), canonical.draws.summary().unwrap());
        let table = BeforeAfter::new(&raw, &after).unwrap();
        assert_eq!(table.rows.len(), layout.dim());
        assert!(raw.max_rhat() > 1.5 && after.max_rhat() < 1.02, "{table}");
        assert!(after.min_ess_bulk() > 20.0 * raw.min_ess_bulk(), "{table}");
        let text = table.to_string();
        let first_words = text.lines().filter_map(|line| line.split_whitespace().next());
        said!(first_words.collect::<Vec<_>>().join(" "));
        said!(canonical.to_string().lines().last().unwrap());
        assert!(BeforeAfter::new(&raw, &Summary::default()).is_err());
    }
}

#[test]
fn canonical_draws_of_a_run_are_equivalent_under_its_posterior() {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| i as f64 / 4.0 - 1.4);
    let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
    let network = Mlp::new(&[1, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(network, Gaussian::fixed(0.1).unwrap(), &data, priors).unwrap();
    let draws = Sampler::new(&posterior, Nuts::default())
        .chains(4)
        .warmup(300)
        .draws(300)
        .seed(1)
        .run()
        .unwrap();
    let symmetries = Symmetries::new(posterior.model(), draws.layout()).unwrap();
    let canonical = symmetries.canonical(&draws, None).unwrap();
    assert_eq!(canonical.draws.stat_names(), draws.stat_names());
    assert_eq!(canonical.draws.info(), draws.info());
    println!("{canonical}");
    println!(
        "{}",
        BeforeAfter::new(&draws.summary().unwrap(), &canonical.draws.summary().unwrap()).unwrap()
    );
    // Equivalent under the posterior: same log density and same function, draw by draw.
    let mut ws = posterior.workspace();
    for (c, d) in [(0, 0), (1, 17), (2, 150), (3, 299)] {
        let [a, b] = [&draws, &canonical.draws]
            .map(|x| posterior.log_density(x.draw(c, d).unwrap(), &mut ws).total());
        assert!((a - b).abs() < 1e-9 * a.abs(), "{a} {b}");
    }
    let [raw, after] = [&draws, &canonical.draws].map(|d| d.summary().unwrap().max_rhat());
    assert!(raw > 1.2 && after < raw, "{raw} {after}");
}

#[test]
fn what_does_not_fit_is_named() {
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let layout = network.layout();
    let vector = Symmetries::new(&network, &Layout::vector("w0", 13));
    refused!(vector, Shape { what: "block `w0`", found: "[13]", expected: "[3, 2]" });
    let missing = Layout::new().with("w0", &[3, 2]);
    refused!(Symmetries::new(&network, &missing), UnknownName { name: "b0" });
    let symmetries = Symmetries::new(&network, &layout).unwrap();
    let mut q = vec![1.0; 13];
    assert!(symmetries.align(&mut q, &[0.0; 12]).unwrap_err().is_argument());
    assert!(symmetries.align(&mut [0.0; 2], &q).unwrap_err().is_argument());
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        let mut q = q.clone();
        q[4] = bad;
        let aligned = symmetries.align(&mut q, &[0.0; 13]);
        refused!(aligned, Argument { name: "q", value: "not finite, or too large" });
        let mut values = Array3::zeros((2, 5, 13));
        values[(1, 3, 4)] = bad;
        let draws = Draws::new(layout.clone(), values).unwrap();
        let value = "draw 3 of chain 1, which is not finite or too large";
        refused!(symmetries.canonical(&draws, None), Argument { name: "draws", value: value });
    }
    let empty = Draws::new(layout.clone(), Array3::zeros((0, 5, 13))).unwrap();
    assert!(symmetries.canonical(&empty, None).unwrap_err().is_argument());
    let other = Draws::new(Layout::vector("x", 3), Array3::zeros((2, 5, 3))).unwrap();
    assert!(symmetries.canonical(&other, None).unwrap_err().is_argument());
    let unit = |from, flipped| HiddenUnit { from, flipped };
    let no_permutation = SymmetryElement { layers: vec![vec![unit(0, false); 3]] };
    let of_two = SymmetryElement { layers: vec![vec![unit(0, false), unit(1, false)]] };
    let flipped =
        SymmetryElement { layers: vec![vec![unit(0, true), unit(1, false), unit(2, false)]] };
    assert!(symmetries.apply(&no_permutation, &mut q).is_err());
    assert!(symmetries.apply(&of_two, &mut q).is_err());
    assert!(symmetries.apply(&flipped, &mut q).is_ok());
    assert!(symmetries.clone().without_flips().apply(&flipped, &mut q).is_err());
    // A network without hidden units has the identity only.
    let linear = Mlp::new(&[2, 1], Activation::Tanh).unwrap();
    let draws = Draws::new(linear.layout(), Array3::from_elem((2, 5, 3), 1.5)).unwrap();
    let symmetries = Symmetries::new(&linear, &linear.layout()).unwrap();
    let canonical = symmetries.canonical(&draws, None).unwrap();
    assert_eq!((symmetries.order(), canonical.all.visited()), (1.0, 1));
    assert_eq!(canonical.draws.values(), draws.values());
}

/// Draws of N(0, A A^T) in chains that mix like an AR(1) with correlation `rho`.
fn gaussian(seed: u64, shape: (usize, usize), a: &Array2<f64>, rho: f64) -> Draws {
    let mut rng = ChainRng::new(seed, 9);
    let d = a.nrows();
    let mut q = Array3::zeros((shape.0, shape.1, d));
    for mut chain in q.outer_iter_mut() {
        let mut z = ndarray::Array1::from(normals(&mut rng, d));
        for mut draw in chain.rows_mut() {
            let fresh = ndarray::Array1::from(normals(&mut rng, d));
            z = rho * z + (1.0 - rho * rho).sqrt() * fresh;
            draw.assign(&a.dot(&z));
        }
    }
    Draws::new(Layout::vector("x", d), q).unwrap()
}

fn mixing(d: usize) -> Array2<f64> {
    let mut rng = ChainRng::new(7, 0);
    Array2::from_shape_fn((d, d), |(i, j)| rng.normal() + if i == j { 2.0 } else { 0.0 })
}

#[test]
fn correlations_are_scaled_covariances() {
    let draws = gaussian(1, (3, 400), &mixing(4), 0.0);
    let (covariance, correlation) = (draws.covariance(), draws.correlation());
    for ((i, j), r) in correlation.indexed_iter() {
        let expected = covariance[(i, j)] / (covariance[(i, i)] * covariance[(j, j)]).sqrt();
        assert!((r - expected).abs() < 1e-14);
    }
    let mut values = draws.values().to_owned();
    values.slice_mut(s![.., .., 2]).fill(0.1);
    let correlation = Draws::new(draws.layout().clone(), values).unwrap().correlation();
    for ((i, j), r) in correlation.indexed_iter() {
        assert_eq!(r.is_nan(), i == 2 || j == 2);
    }
}

#[test]
fn samplers_of_one_gaussian_agree_and_of_another_differ() {
    let a = mixing(4);
    // One correlation changed: x_1 mixed with x_0 by a little more.
    let mut changed = a.clone();
    let row = &a.row(1) + &(0.6 * &a.row(0));
    changed.row_mut(1).assign(&row);
    let (mut agree, mut differ, mut squares, mut entries) = (0, 0, 0.0, 0.0);
    let (mut frobenius, mut noise) = (0.0, 0.0);
    for seed in 0..100 {
        // Samplers that mix differently: their standard errors must tell.
        let first = gaussian(2 * seed, (4, 500), &a, 0.0);
        let second = gaussian(2 * seed + 1, (4, 1000), &a, 0.6);
        let comparison = CovarianceComparison::new(&first, &second).unwrap();
        assert_eq!(comparison.comparisons, 16);
        agree += usize::from(comparison.agreement() == Agreement::Agree);
        for z in comparison.covariance.z().iter().chain(&comparison.correlation.z()) {
            if !z.is_nan() {
                squares += z * z;
                entries += 1.0;
            }
        }
        frobenius += comparison.frobenius.powi(2);
        noise += comparison.frobenius_noise.powi(2);
        if seed < 20 {
            let second = gaussian(2 * seed + 1, (4, 1000), &changed, 0.6);
            let comparison = CovarianceComparison::new(&first, &second).unwrap();
            differ += usize::from(comparison.agreement() == Agreement::Differ);
        }
    }
    println!("agree {agree}/100, differ {differ}/20, mean z^2 {}", squares / entries);
    println!("Frobenius {} against {}", frobenius, noise);
    assert!(agree >= 95, "{agree}");
    assert_eq!(differ, 20);
    assert!((squares / entries - 1.0).abs() < 0.15, "{}", squares / entries);
    assert!((frobenius / noise - 1.0).abs() < 0.2, "{frobenius} {noise}");
}

#[test]
fn comparisons_that_cannot_be_judged_say_so() {
    let a = mixing(3);
    let slow = gaussian(1, (2, 200), &a, 0.97);
    let good = gaussian(2, (4, 1000), &a, 0.0);
    let comparison = CovarianceComparison::new(&slow, &good).unwrap();
    assert_eq!(comparison.agreement(), Agreement::TooFewDraws);
    said!(without_numbers(comparison.to_string().lines().next().unwrap()));
    let same = CovarianceComparison::new(&good, &good).unwrap();
    assert_eq!((same.max_z(), same.frobenius, same.agreement()), (0.0, 0.0, Agreement::Agree));
    let other = gaussian(1, (2, 200), &mixing(2), 0.0);
    assert!(CovarianceComparison::new(&good, &other).unwrap_err().is_argument());
    let short = gaussian(1, (2, 3), &a, 0.0);
    assert!(CovarianceComparison::new(&good, &short).unwrap_err().is_argument());
    let mut values = good.values().to_owned();
    values[(0, 1, 2)] = f64::NAN;
    let nan = Draws::new(good.layout().clone(), values.clone()).unwrap();
    let value = "NaN in chain 0, draw 1, parameter 2";
    let of_nan = CovarianceComparison::new(&nan, &good);
    refused!(of_nan, Argument { name: "first", value: value });
    // A parameter that is constant in both is left out, in one only it is a difference.
    values.slice_mut(s![.., .., 2]).fill(0.3);
    let constant = Draws::new(good.layout().clone(), values).unwrap();
    let comparison = CovarianceComparison::new(&constant, &constant).unwrap();
    assert_eq!((comparison.comparisons, comparison.agreement()), (4, Agreement::Agree));
    let comparison = CovarianceComparison::new(&constant, &good).unwrap();
    assert_eq!(comparison.agreement(), Agreement::Differ);
}

#[test]
fn multivariate_rhat_of_one_parameter_is_the_univariate_formula() {
    for n in [200, 201] {
        let draws = gaussian(3, (5, n), &array![[1.7]], 0.9);
        let x = draws.values();
        let x = x.index_axis(Axis(2), 0);
        // R^2 = (n - 1)/n + B/(n W), with B/n the variance of the chain means.
        let of = |r: f64, m: f64, n: f64| {
            let ratio = r * r - (n - 1.0) / n;
            (n - 1.0) / n + (m + 1.0) / m * ratio
        };
        let base = of(rhat_base(x), 5.0, n as f64);
        let split = of(rhat_split(x), 10.0, (n / 2) as f64);
        approx::assert_relative_eq!(
            rhat_multivariate_base(draws.values()).unwrap(),
            base,
            max_relative = 1e-12
        );
        approx::assert_relative_eq!(
            rhat_multivariate(draws.values()).unwrap(),
            split,
            max_relative = 1e-12
        );
    }
}

#[test]
fn multivariate_rhat_is_invariant_and_not_below_any_direction() {
    let draws = gaussian(4, (4, 300), &mixing(5), 0.95);
    let found = rhat_multivariate_base(draws.values()).unwrap();
    let flat = draws.flat();
    let map = mixing(5) * 3.0;
    let mapped = flat.dot(&map).into_shape_with_order((4, 300, 5)).unwrap() + 100.0;
    let of_mapped = rhat_multivariate_base(mapped.view()).unwrap();
    approx::assert_relative_eq!(of_mapped, found, max_relative = 1e-9);
    // Brooks and Gelman's univariate ratio of any direction is at most R^p, and nearly reaches it.
    let mut rng = ChainRng::new(8, 0);
    let ratio = |direction: &[f64]| {
        let x = flat.dot(&ndarray::Array1::from(direction.to_vec()));
        let x = x.into_shape_with_order((4, 300)).unwrap();
        let (n, m) = (300.0, 4.0);
        (n - 1.0) / n + (m + 1.0) / m * (rhat_base(x.view()).powi(2) - (n - 1.0) / n)
    };
    let mut largest = 0.0f64;
    let mut best = vec![0.0; 5];
    for k in 0..3000 {
        let step = if k < 500 { 1.0 } else { 0.1 };
        let direction: Vec<f64> =
            best.iter().map(|b| b * f64::from(k >= 500) + step * rng.normal()).collect();
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        let direction: Vec<f64> = direction.iter().map(|x| x / norm).collect();
        let r = ratio(&direction);
        assert!(r <= found * (1.0 + 1e-12));
        if r > largest {
            (largest, best) = (r, direction);
        }
    }
    assert!(largest > 1.0 + 0.97 * (found - 1.0), "{largest} of {found}");
    for p in 0..5 {
        let mut unit = vec![0.0; 5];
        unit[p] = 1.0;
        assert!(ratio(&unit) < found);
    }
}

#[test]
fn multivariate_rhat_of_exact_draws_is_near_one_and_sees_a_hidden_disagreement() {
    let draws = gaussian(5, (4, 2000), &mixing(9), 0.0);
    let exact = rhat_multivariate(draws.values()).unwrap();
    // (1 + sqrt(9/7))^2 / 1000 is about 0.0046.
    assert!((1.0..1.008).contains(&exact), "{exact}");
    // A chain that drifts: only the split form sees it.
    let mut drifting = draws.values().to_owned();
    for (t, mut q) in drifting.index_axis_mut(Axis(0), 0).rows_mut().into_iter().enumerate() {
        q += (t as f64 - 999.5) / 1000.0 * 3.0;
    }
    let [split, base] = [
        rhat_multivariate(drifting.view()).unwrap(),
        rhat_multivariate_base(drifting.view()).unwrap(),
    ];
    assert!(split > 1.1 && base < 1.02, "{split} {base}");
}

#[test]
fn multivariate_rhat_of_singular_draws_is_an_error_that_says_why() {
    let of = |values: &Array3<f64>| rhat_multivariate(values.view());
    let good = gaussian(6, (4, 100), &mixing(3), 0.0).values().to_owned();
    let mut constant = good.clone();
    constant.slice_mut(s![.., .., 1]).fill(0.1);
    let value = "constant in parameter 1 (counted from 0) within every chain";
    refused!(of(&constant), Argument { name: "draws", value: value });
    // Also where the chains differ.
    for c in 0..4 {
        constant.slice_mut(s![c, .., 1]).fill(c as f64);
    }
    refused!(of(&constant), Argument { name: "draws", value: value });
    let mut collinear = good.clone();
    let sum = &good.slice(s![.., .., 0]) - &(2.0 * &good.slice(s![.., .., 1]));
    collinear.slice_mut(s![.., .., 2]).assign(&sum);
    // Whether the factor fails, or has a small pivot, is a matter of rounding.
    let error = failed!(of(&collinear), Argument { name: "draws" });
    let Error::Argument { value, .. } = &error else { unreachable!() };
    assert!(value.ends_with("is a linear combination of others"), "{error}");
    let value = "too large or too small to be squared in parameter 0";
    refused!(of(&(&good * 1e200)), Argument { name: "draws", value: value });
    let mut nan = good.clone();
    nan[(3, 2, 1)] = f64::NAN;
    refused!(of(&nan), Argument { value: "NaN in chain 3, draw 2, parameter 1" });
    assert!(rhat_multivariate(good.slice(s![..1, .., ..])).is_err());
    assert!(rhat_multivariate(good.slice(s![.., ..3, ..])).is_err());
    assert!(rhat_multivariate(good.slice(s![.., .., ..0])).is_err());
    let wide =
        Array3::from_shape_fn((2, 4, 5), |(c, t, p)| ((c * 31 + t * 17 + p * p * 7) as f64).sin());
    let allowed = "at most 4 for 4 (split) chains of 2 draws";
    refused!(of(&wide), Argument { name: "number of parameters", value: 5, allowed: allowed });
}
