//! Log posteriors and gradients of the benchmark problems against an independent NumPy
//! implementation (float64, its own backpropagation): values at one point of each problem.

#[allow(dead_code)]
#[path = "../../benches/problems/mod.rs"]
mod problems;

#[test]
fn log_posteriors_and_gradients_agree_with_numpy() {
    for (key, log_density, gradient_norm) in [
        ('a', -11494.87513, 13214.90378),
        ('b', -342.1909939, 120.2622094),
        ('c', -251.9137963, 53.23358512),
        ('d', -2515.370825, 4653.818209),
        ('e', -8936.447776, 13087.69893),
        ('f', -4954.170192, 213.6204231),
        ('g', -10710.04598, 4259.544946),
    ] {
        let q = problems::theta0(key);
        let mut grad = vec![0.0; q.len()];
        let value = problems::gradient(key)(&q, &mut grad);
        let norm = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
        // The reference values have ten digits.
        approx::assert_relative_eq!(value, log_density, max_relative = 1e-9);
        approx::assert_relative_eq!(norm, gradient_norm, max_relative = 1e-9);
    }
}
