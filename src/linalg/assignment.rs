//! The linear assignment problem: n rows to n columns, one to one, at the smallest total cost.
//!
//! One row after the other is assigned along a shortest augmenting path, found by Dijkstra's
//! algorithm on the reduced costs c_ij - u_i - v_j >= 0 (Jonker and Volgenant 1987,
//! doi:10.1007/BF02278710, without their initial reductions). Time n^3, memory n.
//!
//! Own code, because it is called for every draw of a run: the crates for it take costs that are
//! `Ord` (`pathfinding`), bind another ndarray and are kept as they are (`lapjv`), or allocate in
//! every call (all).

const FREE: usize = usize::MAX;

/// Solves problems of up to a given size; only the first of a larger size allocates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assignment {
    column_of: Vec<usize>,
    row_of: Vec<usize>,
    u: Vec<f64>,
    v: Vec<f64>,
    distance: Vec<f64>,
    parent: Vec<usize>,
    done: Vec<bool>,
}

impl Assignment {
    /// The column of each row, for finite costs `[n x n]`, row-major.
    pub(crate) fn solve(&mut self, cost: &[f64], n: usize) -> &[usize] {
        debug_assert_eq!(cost.len(), n * n);
        let Self { column_of, row_of, u, v, distance, parent, done } = self;
        for places in [&mut *column_of, &mut *row_of, &mut *parent] {
            places.clear();
            places.resize(n, FREE);
        }
        for numbers in [&mut *u, &mut *v, &mut *distance] {
            numbers.clear();
            numbers.resize(n, 0.0);
        }
        for row in 0..n {
            distance.fill(f64::INFINITY);
            parent.fill(FREE);
            done.clear();
            done.resize(n, false);
            let (mut i, mut reached) = (row, 0.0);
            let sink = loop {
                let (mut nearest, mut least) = (FREE, f64::INFINITY);
                for j in (0..n).filter(|j| !done[*j]) {
                    let through_i = reached + cost[i * n + j] - u[i] - v[j];
                    if through_i < distance[j] || parent[j] == FREE {
                        (distance[j], parent[j]) = (through_i, i);
                    }
                    if distance[j] < least || nearest == FREE {
                        (least, nearest) = (distance[j], j);
                    }
                }
                reached = least;
                done[nearest] = true;
                match row_of[nearest] {
                    FREE => break nearest,
                    assigned => i = assigned,
                }
            };
            u[row] += reached;
            for j in (0..n).filter(|j| done[*j] && *j != sink) {
                u[row_of[j]] += reached - distance[j];
                v[j] -= reached - distance[j];
            }
            let mut j = sink;
            loop {
                let i = parent[j];
                row_of[j] = i;
                std::mem::swap(&mut column_of[i], &mut j);
                if i == row {
                    break;
                }
            }
        }
        column_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::ChainRng;

    /// The smallest total cost over all permutations of the columns.
    fn brute_force(cost: &[f64], n: usize, row: usize, taken: &mut [bool]) -> f64 {
        if row == n {
            return 0.0;
        }
        let mut least = f64::INFINITY;
        for j in 0..n {
            if !taken[j] {
                taken[j] = true;
                least = least.min(cost[row * n + j] + brute_force(cost, n, row + 1, taken));
                taken[j] = false;
            }
        }
        least
    }

    #[test]
    fn assignments_cost_as_little_as_the_best_of_all_permutations() {
        let mut rng = ChainRng::new(1, 0);
        let mut solver = Assignment::default();
        for case in 0..3000 {
            let n = case % 7;
            let mut cost = vec![0.0; n * n];
            rng.fill_normal(&mut cost);
            if case % 3 == 0 {
                cost.iter_mut().for_each(|c| *c = c.round()); // ties
            }
            let columns = solver.solve(&cost, n).to_vec();
            let mut sorted = columns.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..n).collect::<Vec<_>>(), "a permutation");
            let found: f64 = columns.iter().enumerate().map(|(i, j)| cost[i * n + j]).sum();
            let best = brute_force(&cost, n, 0, &mut vec![false; n]);
            assert!((found - best).abs() < 1e-12, "{n}: {found}, best {best}");
        }
    }

    #[test]
    fn a_hidden_permutation_of_a_large_problem_is_found() {
        let n = 200;
        let mut rng = ChainRng::new(2, 0);
        let cost: Vec<f64> = (0..n * n)
            .map(|at| if at % n == (7 * (at / n) + 3) % n { -1.0 } else { rng.uniform() })
            .collect();
        let columns = Assignment::default().solve(&cost, n).to_vec();
        assert!(columns.iter().enumerate().all(|(i, j)| *j == (7 * i + 3) % n));
    }

    #[test]
    fn costs_that_are_not_finite_give_some_permutation() {
        for cost in [[f64::NAN; 9], [f64::INFINITY; 9], [f64::NEG_INFINITY; 9]] {
            let mut columns = Assignment::default().solve(&cost, 3).to_vec();
            columns.sort_unstable();
            assert_eq!(columns, [0, 1, 2]);
        }
    }
}
