//! Stationary averages of Langevin integrators in one dimension, without Monte Carlo noise: from their
//! transition operators, discretised.
//!
//! The transition operator of a Markov chain takes a function f to (P f)(x) = E[f(X') | X = x]. Here f
//! is represented by its values at n points x_i, between which it is interpolated by polynomials of degree
//! [`DEGREE`]; E is a Gauss-Hermite sum over the normals of one step. That makes P a matrix, whose left
//! eigenvector mu of eigenvalue 1 (mu P = mu, sum of mu = 1: one linear system) holds the stationary
//! averages: E f = sum_i mu_i f(x_i). Everything is smooth, so that some hundred points give nine digits
//! (eight Hermite polynomials or fewer are enough for BAOAB at friction 50; at friction 1 and h = 0.3, where
//! they serve worst, 16 and 24 of them differ by 7e-4 of the bias, at h = 0.1 by 2e-5).
//!
//! - Euler-Maruyama: x = q.
//! - Leimkuhler-Matthews: q_n is no Markov chain, but y_n = q_n - s R_n is, with s = sqrt(h/(2B)):
//!   y_(n+1) = y_n + 2 s R_n + h g(y_n + s R_n), where R_n is independent of y_n. Averages over q are those
//!   of f(y + s R).
//! - BAOAB: (x, p) just after the O step. The rest of a step, A B B A, is a deterministic map to
//!   (x', p'), and then O takes p' to c p' + sqrt((1 - c^2) m/B) R, c = e^(-gamma h). Functions of p are
//!   expanded in K normalised Hermite polynomials of p sqrt(B/m), which O multiplies by c^k; their
//!   coefficients are functions of x. q of a draw is x + h/2 p/m.
//!
//! **Domain.** x lies in (-L, L), reflected at both ends: what passes L by d is put back at L - d, with p
//! reversed. The potential is even, so that (0, L) is enough: x < 0 is (-x, -p).

/// A potential U(q) that is even, and its derivative.
#[derive(Clone, Copy)]
pub struct Potential {
    pub u: fn(f64) -> f64,
    pub du: fn(f64) -> f64,
    /// The domain is |q| < L.
    pub l: f64,
}

/// U = q^2 (0.1 + sin^2 q) on |q| < 3 pi/2: a well at 0 and two near +-pi.
pub const THREE_WELLS: Potential = Potential {
    u: |q| q * q * (0.1 + q.sin().powi(2)),
    du: |q| 2.0 * q * (0.1 + q.sin().powi(2)) + q * q * (2.0 * q).sin(),
    l: 1.5 * std::f64::consts::PI,
};

/// An integrator; B = 1, m = 1.
#[derive(Clone, Copy, Debug)]
pub enum Integrator {
    EulerMaruyama,
    LeimkuhlerMatthews,
    /// With K Hermite polynomials: few are enough where friction is high.
    Baoab {
        friction: f64,
        hermite: usize,
    },
}

/// The degree of the interpolating polynomials.
const DEGREE: usize = 9;

/// Averages of f under the stationary density of an integrator of step size h, for all `functions`, which
/// are even.
pub fn stationary<const F: usize>(
    potential: Potential,
    integrator: Integrator,
    h: f64,
    points: usize,
    functions: [fn(f64) -> f64; F],
) -> [f64; F] {
    let grid = Grid { points, l: potential.l };
    let g = |q: f64| -(potential.du)(q);
    match integrator {
        Integrator::EulerMaruyama => {
            let noise = (2.0 * h).sqrt();
            let normals = gauss_hermite(32);
            let mu = left_eigenvector(points, 1, |i, row| {
                let q = grid.at(i);
                for (z, weight) in &normals {
                    let next = q + h * g(q) + noise * z;
                    grid.interpolate(next, |j, _, w| row[j] += weight * w);
                }
            });
            functions.map(|f| (0..points).map(|i| mu[i] * f(grid.at(i))).sum())
        }
        Integrator::LeimkuhlerMatthews => {
            let s = (h / 2.0).sqrt();
            let normals = gauss_hermite(32);
            let mu = left_eigenvector(points, 1, |i, row| {
                for (z, weight) in &normals {
                    let q = grid.at(i) + s * z;
                    let next = q + s * z + h * g(q);
                    grid.interpolate(next, |j, _, w| row[j] += weight * w);
                }
            });
            functions.map(|f| {
                let at = |y: f64| normals.iter().map(|(z, w)| w * f(y + s * z)).sum::<f64>();
                (0..points).map(|i| mu[i] * at(grid.at(i))).sum()
            })
        }
        Integrator::Baoab { friction, hermite } => {
            let c = (-friction * h).exp();
            let normals = gauss_hermite(2 * hermite + 16);
            let polynomials: Vec<_> = normals.iter().map(|(p, _)| hermites(*p, hermite)).collect();
            let mu = left_eigenvector(points * hermite, hermite, |row_index, row| {
                let (i, k) = (row_index / hermite, row_index % hermite);
                for ((p, weight), he) in normals.iter().zip(&polynomials) {
                    let q = grid.at(i) + 0.5 * h * p; // A
                    let p = p + h * g(q); // B B
                    let next = q + 0.5 * h * p; // A
                    let mut o = hermites(p, hermite);
                    let mut power = 1.0;
                    for o in &mut o {
                        *o *= power;
                        power *= c;
                    }
                    grid.interpolate(next, |j, reversed, w| {
                        let w = weight * he[k] * w;
                        for (l, o) in o.iter().enumerate() {
                            let sign = if reversed && l % 2 == 1 { -1.0 } else { 1.0 };
                            row[j * hermite + l] += w * sign * o;
                        }
                    });
                }
            });
            functions.map(|f| {
                let coefficient = |i: usize, k: usize| -> f64 {
                    let terms = normals.iter().zip(&polynomials);
                    terms.map(|((p, w), he)| w * he[k] * f(grid.at(i) + 0.5 * h * p)).sum()
                };
                let pairs = (0..points).flat_map(|i| (0..hermite).map(move |k| (i, k)));
                pairs.map(|(i, k)| mu[i * hermite + k] * coefficient(i, k)).sum()
            })
        }
    }
}

/// Averages under the density proportional to exp(-U) on |q| < L.
pub fn exact<const F: usize>(potential: Potential, functions: [fn(f64) -> f64; F]) -> [f64; F] {
    let n = 20_000;
    let grid = Grid { points: n, l: potential.l };
    let weights: Vec<f64> = (0..n).map(|i| (-(potential.u)(grid.at(i))).exp()).collect();
    let total: f64 = weights.iter().sum();
    functions.map(|f| (0..n).map(|i| weights[i] * f(grid.at(i))).sum::<f64>() / total)
}

/// The slope of log y against log x by least squares.
pub fn order(x: &[f64], y: &[f64]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) =
        (x.iter().map(|x| x.ln()).collect(), y.iter().map(|y| y.ln()).collect());
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let xy: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    xy / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>()
}

/// Points (i + 1/2) dx in (0, L).
#[derive(Clone, Copy)]
struct Grid {
    points: usize,
    l: f64,
}

impl Grid {
    fn at(self, i: usize) -> f64 {
        (i as f64 + 0.5) * self.l / self.points as f64
    }

    /// Calls `add(j, reversed, w)` for each point x_j from which f(x) is interpolated, with its weight,
    /// and whether p is reversed there.
    fn interpolate(self, x: f64, mut add: impl FnMut(usize, bool, f64)) {
        let n = self.points as isize;
        let u = x / self.l * self.points as f64 - 0.5;
        let first = u.floor() as isize - (DEGREE / 2) as isize;
        // Lagrange's polynomials on DEGREE + 1 neighbours.
        for a in 0..=DEGREE {
            let at = (first + a as isize) as f64;
            let mut w = 1.0;
            for b in (0..=DEGREE).filter(|b| *b != a) {
                let other = (first + b as isize) as f64;
                w *= (u - other) / (at - other);
            }
            // The points beyond 0 and L are mirror images; the pattern repeats after 2 n.
            let j = (first + a as isize).rem_euclid(2 * n);
            let reversed = j >= n;
            add(if reversed { 2 * n - 1 - j } else { j } as usize, reversed, w);
        }
    }
}

/// mu with mu P = mu and mu . e = 1, where `fill(i, row)` writes row i of P. e, the constant function, has
/// 1 at every `stride`-th coefficient (Hermite polynomial 0) and 0 elsewhere.
fn left_eigenvector(n: usize, stride: usize, mut fill: impl FnMut(usize, &mut [f64])) -> Vec<f64> {
    let mut p = vec![0.0; n * n];
    for (i, row) in p.chunks_exact_mut(n).enumerate() {
        fill(i, row);
        row[i] -= 1.0;
        // P e = e: one of the equations mu (P - 1) = 0 follows from the others. mu . e = 1 is in its place.
        row[0] = if i % stride == 0 { 1.0 } else { 0.0 };
    }
    // Gaussian elimination of mu P = (1, 0, ..): the columns of P are equations, and in each step the one with the
    // largest coefficient comes first.
    let mut mu = vec![0.0; n];
    mu[0] = 1.0;
    let mut at: Vec<usize> = (0..n).collect();
    for k in 0..n {
        let row = p[k * n..][..n].to_vec();
        let pivot = (k..n).max_by(|a, b| row[at[*a]].abs().total_cmp(&row[at[*b]].abs()));
        at.swap(k, pivot.expect("an equation is left"));
        let factors: Vec<(usize, f64)> =
            at[k + 1..].iter().map(|j| (*j, row[*j] / row[at[k]])).collect();
        for (j, factor) in &factors {
            mu[*j] -= factor * mu[at[k]];
        }
        for row in p[(k + 1) * n..].chunks_exact_mut(n) {
            let subtracted = row[at[k]];
            factors.iter().for_each(|(j, factor)| row[*j] -= factor * subtracted);
        }
    }
    let mut solution = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|i| solution[i] * p[i * n + at[k]]).sum();
        solution[k] = (mu[at[k]] - known) / p[k * n + at[k]];
    }
    solution
}

/// Nodes and weights (with sum 1) for the mean of a function of a standard normal: the zeros of He_n, which are
/// found between points where its sign changes, and 1 / sum_(k < n) He_k^2 / k! there.
fn gauss_hermite(n: usize) -> Vec<(f64, f64)> {
    let last = |x: f64| hermites(x, n + 1)[n];
    let (end, steps) = (2.0 * (n as f64).sqrt() + 1.0, 500 * n);
    let grid = |i: usize| end * (2.0 * i as f64 / steps as f64 - 1.0 + 1e-9);
    let brackets = (0..steps).map(|i| (grid(i), grid(i + 1)));
    let zero = |(mut low, mut high): (f64, f64)| {
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let is_below = last(low) * last(middle) <= 0.0;
            (low, high) = if is_below { (low, middle) } else { (middle, high) };
        }
        0.5 * (low + high)
    };
    let nodes: Vec<f64> = brackets.filter(|(a, b)| last(*a) * last(*b) < 0.0).map(zero).collect();
    assert_eq!(nodes.len(), n, "zeros of a Hermite polynomial");
    let weight = |x: f64| 1.0 / hermites(x, n).iter().map(|he| he * he).sum::<f64>();
    nodes.into_iter().map(|x| (x, weight(x))).collect()
}

/// He_k(p) / sqrt(k!) for k < n: orthonormal under N(0, 1).
fn hermites(p: f64, n: usize) -> Vec<f64> {
    let mut he = vec![1.0; n];
    for k in 1..n {
        let before = if k > 1 { ((k - 1) as f64).sqrt() * he[k - 2] } else { 0.0 };
        he[k] = (p * he[k - 1] - before) / (k as f64).sqrt();
    }
    he
}
