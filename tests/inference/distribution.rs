//! Draws and distributions: kernel density estimates and the kernel Stein discrepancy.

use bnn_mcmc::diagnostics::{Density, Stein, density, density_on_box};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2, Array3, array};
use shared::refused;
use statrs::distribution::{Beta, Continuous};

fn draws(n: usize, seed: u64, mut draw: impl FnMut(&mut ChainRng) -> f64) -> Array2<f64> {
    let mut rng = ChainRng::new(seed, 0);
    Array2::from_shape_simple_fn((4, n / 4), || draw(&mut rng))
}

/// The trapezoid rule on the grid.
fn integral(d: &Density) -> f64 {
    let pairs = d.x.windows(2).into_iter().zip(d.density.windows(2));
    pairs.map(|(x, f)| 0.5 * (x[1] - x[0]) * (f[0] + f[1])).sum()
}

fn gaussian(x: f64, sd: f64) -> f64 {
    (-0.5 * (x / sd).powi(2)).exp() / (std::f64::consts::TAU.sqrt() * sd)
}

#[test]
fn gaussian_kernels_are_their_sum() {
    let d = density(array![[1.0, 2.0], [4.0, 2.5]].view(), Some(0.5), 13).unwrap();
    assert_eq!((d.bandwidth, d.x[0], d.x[12]), (0.5, -1.0, 6.0));
    for (x, f) in d.x.iter().zip(&d.density) {
        let sum: f64 = [1.0, 2.0, 4.0, 2.5].iter().map(|m| gaussian(x - m, 0.5) / 4.0).sum();
        approx::assert_relative_eq!(*f, sum, max_relative = 1e-13);
    }
    // Silverman's rule for 1, 2, 2.5, 4: sd 1.25, quartiles 1.75 and 2.875.
    let d = density(array![[1.0, 2.0], [4.0, 2.5]].view(), None, 13).unwrap();
    approx::assert_relative_eq!(d.bandwidth, 0.9 * 1.125 / 1.34 / 4f64.powf(0.2), epsilon = 1e-14);
    // Quartiles that are equal leave the standard deviation, sqrt(1/5 - 1/25) sqrt(5/4).
    let d = density(array![[1.0, 1.0, 1.0, 1.0, 2.0]].view(), None, 9).unwrap();
    let expected = 0.9 * 0.2f64.sqrt() / 5f64.powf(0.2);
    approx::assert_relative_eq!(d.bandwidth, expected, epsilon = 1e-14);
    // Two draws very far apart: the kernels' far ends are cut, not lost.
    let d = density(array![[-1e6, 1e6]].view(), Some(1.0), 3).unwrap();
    assert_eq!(d.density[1], 0.0);
}

#[test]
fn beta_kernels_are_their_sum() {
    let (b, t) = (0.1, [0.15, 0.5, 0.9]);
    let d = density_on_box(array![[0.15, 0.5, 0.9]].view(), 0.0, 1.0, Some(b), 41).unwrap();
    // Chen's rho, by the other root of the same quadratic: rho = 2 b^2 + 5/2 - root.
    let rho = |x: f64| {
        let half = 2.0 * b * b + 2.5;
        half - (half * half - 4.0 * b * b - 4.0 - x * x - x / b).sqrt()
    };
    for (x, f) in d.x.iter().zip(&d.density) {
        let p = if *x < 2.0 * b { rho(*x) } else { x / b };
        let q = if *x > 1.0 - 2.0 * b { rho(1.0 - x) } else { (1.0 - x) / b };
        let kernel = Beta::new(p, q).unwrap();
        let sum: f64 = t.iter().map(|t| kernel.pdf(*t) / 3.0).sum();
        approx::assert_relative_eq!(*f, sum, max_relative = 1e-9, epsilon = 1e-12);
    }
    // On [-1, 3] it is a quarter as high.
    let wide = density_on_box(array![[-0.4, 1.0, 2.6]].view(), -1.0, 3.0, Some(b), 41).unwrap();
    assert_eq!((wide.x[0], wide.x[40]), (-1.0, 3.0));
    approx::assert_relative_eq!(4.0 * &wide.density, d.density, max_relative = 1e-11);
    // At the bounds the kernels are Beta(1, 1/b) and Beta(1/b, 1), finite for draws there too.
    let ends = density_on_box(array![[0.0, 1.0]].view(), 0.0, 1.0, Some(b), 3).unwrap();
    approx::assert_relative_eq!(ends.density, array![5.0, 0.0, 5.0], epsilon = 1e-10);
    // The rule, where it asks for too much and where not: quartiles 0.45 and 0.55.
    let d = density_on_box(array![[0.0, 0.5, 1.0]].view(), 0.0, 1.0, None, 3).unwrap();
    assert_eq!(d.bandwidth, 0.25); // cut
    let d = density_on_box(array![[0.4, 0.5, 0.6]].view(), 0.0, 1.0, None, 3).unwrap();
    let h = 0.9 * (0.1 / 1.34) / 3f64.powf(0.2);
    approx::assert_relative_eq!(d.bandwidth, h * h / (0.73 / 3.0), max_relative = 1e-12);
}

/// Half of the density at a bound is lost by Gaussian kernels, none by Beta kernels.
#[test]
fn bias_at_the_bounds_of_a_uniform_density() {
    let uniform = draws(8_000, 1, ChainRng::uniform);
    let gaussian = density(uniform.view(), None, 2_001).unwrap();
    let at = |x: f64| {
        let i = gaussian.x.iter().position(|g| *g >= x).unwrap();
        gaussian.density[i]
    };
    for x in [0.0, 1.0] {
        assert!((at(x) - 0.5).abs() < 0.08, "{}", at(x));
    }
    assert!((at(0.5) - 1.0).abs() < 0.1);
    assert!((integral(&gaussian) - 1.0).abs() < 1e-4, "{}", integral(&gaussian));

    let beta = density_on_box(uniform.view(), 0.0, 1.0, None, 401).unwrap();
    println!(
        "b {}, ends {} {}, integral {}",
        beta.bandwidth,
        beta.density[0],
        beta.density[400],
        integral(&beta)
    );
    for i in [0, 400] {
        assert!((beta.density[i] - 1.0).abs() < 0.15, "{}", beta.density[i]);
    }
    assert!(beta.density.iter().all(|f| (f - 1.0).abs() < 0.2));
    assert!((integral(&beta) - 1.0).abs() < 0.01, "{}", integral(&beta));
}

/// The integrated squared error falls with n, like n^(-4/5): by 6.3 from 1,000 to 10,000 draws.
#[test]
fn estimates_converge() {
    // f(x) = 6 x (1 - x), and 2 (1 - x), which does not vanish at 0.
    let beta_22 = |rng: &mut ChainRng| {
        let mut u = [rng.uniform(), rng.uniform(), rng.uniform()];
        u.sort_by(f64::total_cmp);
        u[1]
    };
    let ramp = |rng: &mut ChainRng| 1.0 - rng.uniform().sqrt();
    let error = |d: &Density, f: &dyn Fn(f64) -> f64| -> f64 {
        d.x.iter().zip(&d.density).map(|(x, g)| (g - f(*x)).powi(2)).sum::<f64>()
            * (d.x[1] - d.x[0])
    };
    let errors = |n: usize| {
        let mut sums = [0.0; 3];
        for seed in 0..8 {
            let normal = draws(n, seed, ChainRng::normal);
            sums[0] += error(&density(normal.view(), None, 201).unwrap(), &|x| gaussian(x, 1.0));
            let on_box =
                |draws: Array2<f64>| density_on_box(draws.view(), 0.0, 1.0, None, 101).unwrap();
            sums[1] += error(&on_box(draws(n, seed, beta_22)), &|x| 6.0 * x * (1.0 - x));
            sums[2] += error(&on_box(draws(n, seed, ramp)), &|x| 2.0 * (1.0 - x));
        }
        sums.map(|s| s / 8.0)
    };
    let (few, many) = (errors(1_000), errors(10_000));
    println!("{few:?} {many:?}");
    for i in 0..3 {
        let ratio = few[i] / many[i];
        assert!((3.0..14.0).contains(&ratio), "case {i}: {} to {}", few[i], many[i]);
    }
    assert!(many[0] < 1e-3 && many[1] < 6e-3 && many[2] < 6e-3, "{many:?}");
}

#[test]
fn densities_refuse_what_they_cannot_estimate() {
    let good = array![[0.1, 0.5], [0.3, 0.9]];
    for bad in [f64::NAN, f64::INFINITY] {
        let with = array![[0.1, bad]];
        let finite = "a finite number";
        let of = density(with.view(), None, 5);
        refused!(of, Argument { name: "a draw", value: bad, allowed: finite });
        let of = density_on_box(with.view(), 0.0, 1.0, None, 5);
        refused!(of, Argument { name: "a draw", value: bad, allowed: finite });
        let of = density(good.view(), Some(bad), 5);
        refused!(of, Argument { name: "bandwidth", value: bad });
        let of = density_on_box(good.view(), bad, 1.0, None, 5);
        refused!(of, Argument { name: "lower", value: bad });
        let of = density_on_box(good.view(), 0.0, bad, None, 5);
        refused!(of, Argument { name: "upper", value: bad });
    }
    for few in [array![[]], array![[0.5]]] {
        let of = density(few.view(), None, 5);
        refused!(of, Argument { name: "number of draws", value: few.len() });
    }
    let constant = array![[0.5, 0.5, 0.5]];
    for bandwidth in [None, Some(1.0)] {
        let of = density(constant.view(), bandwidth, 5);
        refused!(of, Argument { name: "draws", value: "0.5 at every place" });
    }
    refused!(density(good.view(), None, 1), Argument { name: "points", value: 1 });
    refused!(density(good.view(), Some(0.0), 5), Argument { name: "bandwidth", value: 0 });
    for odd in [array![[-1e308, 1e308]], array![[0.0, 5e-324]]] {
        let of = density(odd.view(), None, 5);
        refused!(of, Argument { name: "bandwidth by Silverman's rule" });
    }
    for b in [0.0, 0.26, -1.0, f64::NAN] {
        let of = density_on_box(good.view(), 0.0, 1.0, Some(b), 5);
        refused!(of, Argument { name: "bandwidth", value: b, allowed: "above 0, at most 0.25" });
    }
    for (a, b) in [(1.0, 0.0), (0.0, 0.0), (-1e308, 1e308)] {
        let of = density_on_box(good.view(), a, b, None, 5);
        refused!(of, Argument { name: "box", value: format!("[{a}, {b}]") });
    }
    let of = density_on_box(good.view(), 0.2, 1.0, None, 5);
    refused!(of, Argument { name: "a draw", value: 0.1, allowed: "in [0.2, 1]" });
    let of = density_on_box(good.view(), 0.0, 0.8, None, 5);
    refused!(of, Argument { name: "a draw", value: 0.9 });
}

/// k_0 from the kernel's own derivatives, by finite differences of k.
fn stein_kernel(x: &[f64], y: &[f64], gx: &[f64], gy: &[f64], c: f64, l: f64) -> f64 {
    let k = |x: &[f64], y: &[f64]| {
        let rr: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
        1.0 / (c * c + rr / (l * l)).sqrt()
    };
    let moved = |v: &[f64], i: usize, by: f64| {
        let mut v = v.to_vec();
        v[i] += by;
        v
    };
    let h = 1e-4;
    let mut sum = gx.iter().zip(gy).map(|(a, b)| a * b).sum::<f64>() * k(x, y);
    for i in 0..x.len() {
        let dx = |y: &[f64]| (k(&moved(x, i, h), y) - k(&moved(x, i, -h), y)) / (2.0 * h);
        let dy = (k(x, &moved(y, i, h)) - k(x, &moved(y, i, -h))) / (2.0 * h);
        sum +=
            (dx(&moved(y, i, h)) - dx(&moved(y, i, -h))) / (2.0 * h) + gx[i] * dy + gy[i] * dx(y);
    }
    sum
}

#[test]
fn two_draws_by_hand() {
    let (x, y, gx, gy) = ([0.3, -1.0], [1.1, 0.4], [0.5, 2.0], [-0.7, 0.2]);
    let (draws, gradients) = (array![x, y], array![gx, gy]);
    for (c, l) in [(1.0, 1.0), (0.5, 2.0), (2.0, 0.7)] {
        let stein = Stein { c, length_scale: Some(l), ..Stein::default() };
        let found = stein.from_gradients(draws.view(), gradients.view()).unwrap();
        let k = |a: &[f64], b: &[f64], ga: &[f64], gb: &[f64]| stein_kernel(a, b, ga, gb, c, l);
        let (xx, xy, yy) = (k(&x, &x, &gx, &gx), k(&x, &y, &gx, &gy), k(&y, &y, &gy, &gy));
        approx::assert_relative_eq!(found.u_statistic, xy, max_relative = 1e-6);
        let v = (xx + 2.0 * xy + yy) / 4.0;
        approx::assert_relative_eq!(found.v_statistic, v, max_relative = 1e-6);
        assert_eq!((found.n_draws, found.length_scale), (2, l));
        approx::assert_relative_eq!(found.standard_error, xy.abs(), max_relative = 1e-6);
        approx::assert_relative_eq!(found.discrepancy(), v.sqrt(), max_relative = 1e-6);
    }
    // One dimension, by hand: x = 0, y = 1, gradients 1 and -2, c = l = 1: u = 2, r = -1.
    let found = Stein { length_scale: Some(1.0), ..Stein::default() };
    let found = found.from_gradients(array![[0.0], [1.0]].view(), array![[1.0], [-2.0]].view());
    let (u, half) = (2f64, std::f64::consts::FRAC_1_SQRT_2);
    let xy = half / u - 3.0 * half / (u * u) - 3.0 * half / u - 2.0 * half;
    approx::assert_relative_eq!(found.unwrap().u_statistic, xy, max_relative = 1e-14);
    // Standardised: two draws of sd s lie sqrt(2) apart in each of two coordinates, so l = 2.
    let found = Stein::default().from_gradients(draws.view(), gradients.view()).unwrap();
    approx::assert_relative_eq!(found.length_scale, 2.0, max_relative = 1e-14);
    let sd = [0.8 * half, 1.4 * half];
    let scaled = |v: [f64; 2], up: bool| {
        if up { [v[0] * sd[0], v[1] * sd[1]] } else { [v[0] / sd[0], v[1] / sd[1]] }
    };
    let xy = stein_kernel(
        &scaled(x, false),
        &scaled(y, false),
        &scaled(gx, true),
        &scaled(gy, true),
        1.0,
        2.0,
    );
    approx::assert_relative_eq!(found.u_statistic, xy, max_relative = 1e-6);
}

fn target() -> GaussianTarget {
    GaussianTarget::new(vec![1.0, -0.5, 0.0], &[1.0, 0.6, 0.2, 0.6, 2.0, -0.3, 0.2, -0.3, 0.5])
        .unwrap()
}

/// Exact draws of the target, their distance from its mean multiplied by `width`, moved by `shift`.
fn exact(n: usize, seed: u64, shift: f64, width: f64) -> Draws {
    let (target, mut rng) = (target(), ChainRng::new(seed, 0));
    let mut values = Array3::zeros((1, n, 3));
    for mut row in values.rows_mut() {
        let q = row.as_slice_mut().unwrap();
        target.draw(&mut rng, q);
        for (q, mean) in q.iter_mut().zip([1.0, -0.5, 0.0]) {
            *q = mean + width * (*q - mean) + shift;
        }
    }
    Draws::new(Layout::vector("q", 3), values).unwrap()
}

#[test]
fn the_stein_kernel_has_mean_zero_under_the_target() {
    let target = target();
    for stein in [Stein::default(), Stein { length_scale: Some(0.7), c: 0.5, ..Stein::default() }] {
        let z: Array1<f64> = (0..40)
            .map(|seed| {
                let d = stein.of_draws(&target, &exact(400, seed, 0.0, 1.0)).unwrap();
                d.u_statistic / d.standard_error
            })
            .collect();
        println!("z: mean {}, sd {}", z.mean().unwrap(), z.std(1.0));
        // Of mean 0 and variance 1 by definition of the standard error.
        assert!(z.mean().unwrap().abs() < 5.0 / 40f64.sqrt(), "{z}");
        assert!((0.6..1.5).contains(&z.std(1.0)), "{z}");
        // Shifted by a fifth of a unit, a fifth too narrow, a quarter too wide.
        for (shift, width) in [(0.2, 1.0), (0.0, 0.8), (0.0, 1.25)] {
            let d = stein.of_draws(&target, &exact(2_000, 1, shift, width)).unwrap();
            let z = d.u_statistic / d.standard_error;
            println!("shift {shift}, width {width}: {z}");
            assert!(z > 8.0, "shift {shift}, width {width}: {z}");
        }
    }
}

#[test]
fn v_falls_like_one_over_n_for_the_target_and_not_for_others() {
    let (target, stein) = (target(), Stein { length_scale: Some(1.0), ..Stein::default() });
    let v = |n, shift, width| {
        let of_seed = |seed| stein.of_draws(&target, &exact(n, seed, shift, width)).unwrap();
        (0..8).map(|seed| of_seed(seed).v_statistic).sum::<f64>() / 8.0
    };
    // The mean of V is E k_0(x, x) / n = (d / l^2 + trace of the precision) / n, for c = 1.
    let det = 1.0 * (2.0 * 0.5 - 0.09) - 0.6 * (0.3 + 0.06) + 0.2 * (-0.18 - 0.4);
    let trace = ((2.0 * 0.5 - 0.09) + (0.5 - 0.04) + (2.0 - 0.36)) / det;
    for n in [100, 400, 1600] {
        let ratio = n as f64 * v(n, 0.0, 1.0) / (3.0 + trace);
        assert!((ratio - 1.0).abs() < 0.25, "{n}: {ratio}");
    }
    for (shift, width) in [(0.5, 1.0), (0.0, 0.6)] {
        let (few, many) = (v(400, shift, width), v(1600, shift, width));
        println!("{shift} {width}: {few} {many}");
        assert!(many > 0.8 * few && many > 5.0 * v(1600, 0.0, 1.0), "{few} {many}");
    }
}

#[test]
fn draws_are_thinned_evenly() {
    let (target, draws) = (target(), exact(1_000, 3, 0.0, 1.0));
    let few = Stein { max_draws: 100, ..Stein::default() }.of_draws(&target, &draws).unwrap();
    let every_tenth = draws.values().slice(ndarray::s![.., ..;10, ..]).to_owned();
    let every_tenth = Draws::new(Layout::vector("q", 3), every_tenth).unwrap();
    assert_eq!(few, Stein::default().of_draws(&target, &every_tenth).unwrap());
    assert_eq!(few.n_draws, 100);
    // Gradients given, or computed: the same.
    let mut gradients = Array2::zeros((1_000, 3));
    for (mut g, q) in gradients.rows_mut().into_iter().zip(draws.flat().rows()) {
        let (q, g) = (q.to_slice().unwrap(), g.as_slice_mut().unwrap());
        target.log_density_grad(q, g, &mut target.workspace());
    }
    let stein = Stein { max_draws: 100, ..Stein::default() };
    assert_eq!(few, stein.from_gradients(draws.flat(), gradients.view()).unwrap());
}

#[test]
fn stein_refuses_what_it_cannot_compute() {
    let x = array![[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]];
    let of =
        |stein: Stein, x: &Array2<f64>, g: &Array2<f64>| stein.from_gradients(x.view(), g.view());
    let new = Stein::default;
    let (what, expected) = ("gradients", "3 x 2");
    let narrow = of(new(), &x, &Array2::zeros((3, 1)));
    refused!(narrow, Shape { what: what, found: "3 x 1", expected: expected });
    let short = of(new(), &x, &Array2::zeros((2, 2)));
    refused!(short, Shape { what: what, found: "2 x 2", expected: expected });
    for n in [0, 1] {
        let few = Array2::zeros((n, 2));
        refused!(of(new(), &few, &few), Argument { name: "number of draws", value: n });
    }
    let none = Array2::zeros((3, 0));
    refused!(of(new(), &none, &none), Argument { name: "number of coordinates", value: 0 });
    for bad in [f64::NAN, f64::INFINITY] {
        let mut with = x.clone();
        with[(1, 1)] = bad;
        refused!(of(new(), &with, &x), Argument { name: "a draw", value: bad });
        refused!(of(new(), &x, &with), Argument { name: "a gradient", value: bad });
        let c = Stein { c: bad, ..new() };
        refused!(of(c, &x, &x), Argument { name: "c", value: bad });
        let length = Stein { length_scale: Some(bad), ..new() };
        refused!(of(length, &x, &x), Argument { name: "length_scale", value: bad });
    }
    let few = Stein { max_draws: 1, ..new() };
    refused!(of(few, &x, &x), Argument { name: "max_draws", value: 1 });
    let length = Stein { length_scale: Some(0.0), ..new() };
    refused!(of(length, &x, &x), Argument { name: "length_scale", value: 0 });
    let constant = array![[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
    let name = "standard deviation of coordinate 1";
    refused!(of(new(), &constant, &x), Argument { name: name, value: 0 });
    let fixed = Stein { length_scale: Some(1.0), ..new() };
    assert!(fixed.from_gradients(constant.view(), x.view()).is_ok());
    let mut stuck = Array2::zeros((10, 1));
    stuck[(9, 0)] = 1.0;
    let name = "median distance between draws";
    refused!(of(new(), &stuck, &stuck), Argument { name: name, value: 0 });
    refused!(of(fixed, &(1e200 * &x), &x), Argument { name: "Stein discrepancy" });

    let draws = exact(10, 1, 0.0, 1.0);
    let wrong = GaussianTarget::standard(2).unwrap();
    let of_wrong = new().of_draws(&wrong, &draws);
    refused!(of_wrong, Shape { what: "parameters of the draws", found: 3, expected: 2 });
    // A draw outside the support has no gradient.
    let data = Dataset::regression(array![[0.0, 1.0], [1.0, 0.5]], array![1.0, 2.0]).unwrap();
    let priors = Priors::all(Uniform::new(-0.5, 0.5).unwrap());
    let noise = Gaussian::fixed(1.0).unwrap();
    let posterior = Posterior::new(Linear::new(2, 1).unwrap(), noise, &data, priors).unwrap();
    let outside = new().of_draws(&posterior, &draws);
    refused!(outside, Argument { name: "log density of a draw", value: "-inf" });
}
