//! Fewer points that look the same.

/// The points of a line that decide its picture in so many pixel columns between the smallest and the
/// largest x: of each column the first, the lowest, the highest and the last point, in their order
/// along the line (Jugel, Jerzak, Hackenbroich, Markl 2014, doi:10.14778/2732951.2732953). A line whose x
/// does not ascend, and one with few points, is left as it is.
pub(super) fn line(points: &[[f64; 2]], columns: usize) -> Vec<[f64; 2]> {
    let ascends = points.windows(2).all(|pair| pair[0][0] <= pair[1][0]);
    if points.len() <= 4 * columns || !ascends {
        return points.to_vec();
    }
    let (from, to) = (points[0][0], points[points.len() - 1][0]);
    let column = |x: f64| ((x - from) / (to - from) * columns as f64) as usize;
    let mut kept = Vec::with_capacity(4 * columns + 4);
    for run in points.chunk_by(|a, b| column(a[0]) == column(b[0])) {
        let by_height = |a: &&usize, b: &&usize| run[**a][1].total_cmp(&run[**b][1]);
        let places: Vec<usize> = (0..run.len()).collect();
        let mut four = vec![0, run.len() - 1];
        four.extend(places.iter().min_by(by_height));
        four.extend(places.iter().max_by(by_height));
        four.sort_unstable();
        four.dedup();
        kept.extend(four.into_iter().map(|i| run[i]));
    }
    kept
}

/// One point of each cell of a grid that many lie in: the first. Points are in pixels.
pub(super) fn points(points: &[(i32, i32)], cell: i32) -> Vec<(i32, i32)> {
    let mut taken = std::collections::HashSet::new();
    points.iter().copied().filter(|(x, y)| taken.insert((x / cell, y / cell))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_envelope() {
        let n = 1_000_000;
        let long: Vec<_> =
            (0..n).map(|i| [i as f64, ((i as u64 * 7919) % 10_007) as f64]).collect();
        let short = line(&long, 300);
        assert!(short.len() <= 4 * 301 && short.len() > 1000, "{}", short.len());
        assert_eq!((short[0], short[short.len() - 1]), (long[0], long[n - 1]));
        assert!(short.windows(2).all(|pair| pair[0][0] < pair[1][0]));
        // Lowest and highest of an arbitrary column.
        let column = |p: &&[f64; 2]| (p[0] / (n - 1) as f64 * 300.0) as usize == 123;
        let extremes = |points: &[[f64; 2]]| {
            let heights = || points.iter().filter(column).map(|p| p[1]);
            (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max))
        };
        assert_eq!(extremes(&short), extremes(&long));
    }

    #[test]
    fn a_loop_is_left_as_it_is() {
        let circle: Vec<_> =
            (0..5000).map(|i| [(i as f64 / 800.0).cos(), (i as f64 / 800.0).sin()]).collect();
        assert_eq!(line(&circle, 300), circle);
    }

    #[test]
    fn points_on_top_of_each_other_are_drawn_once() {
        assert_eq!(points(&[(0, 0), (1, 1), (4, 0), (0, 1)], 4), [(0, 0), (4, 0)]);
    }
}
