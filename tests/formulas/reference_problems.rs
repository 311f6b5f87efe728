//! Log posteriors and gradients of the benchmark problems against an independent NumPy
//! implementation (float64, its own backpropagation): values at one point of each problem.

#[allow(dead_code)]
#[path = "../../benches/problems/mod.rs"]
mod problems;

#[test]
fn log_posteriors_and_gradients_agree_with_numpy() {
    "abcdefgGH".chars().for_each(problems::check);
}
