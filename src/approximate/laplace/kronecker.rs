//! H = G (x) A + I (x) D of one layer, by eigenvectors.

use ndarray::{Array1, Array2, ArrayView2};

use crate::Error;
use crate::layout::Layout;
use crate::linalg::eigen::SymmetricEigen;
use crate::portable::ln;
use crate::posterior::KroneckerFactors;

/// H = K^T diag(1 + g_u l_i) K with K = V^T (x) (U^T D^(1/2)): see
/// [`LaplaceApproximation::kronecker`](super::LaplaceApproximation::kronecker).
///
/// Vectors are arrays `[units, inputs + 1]`, row-major.
#[derive(Clone, Debug)]
pub(super) struct Kronecker {
    /// V.
    v: Array2<f64>,
    /// U.
    u: Array2<f64>,
    /// 1 + g_u l_i.
    eigenvalues: Array2<f64>,
    /// D^(1/2).
    roots: Array1<f64>,
}

/// The coordinates in q of the entries of (W, b) `[units, inputs + 1]` of a layer whose first
/// weight is at `start`.
pub(super) fn coordinates(start: usize, units: usize, inputs: usize) -> Vec<usize> {
    let bias = start + units * inputs;
    let row = |u: usize| (start + u * inputs..start + (u + 1) * inputs).chain([bias + u]);
    (0..units).flat_map(row).collect()
}

/// D: the precision of the prior for each input of a layer with these `coordinates`.
pub(super) fn columns(
    layout: &Layout,
    precisions: &[f64],
    coordinates: &[usize],
    factors: &KroneckerFactors,
) -> Result<Vec<f64>, Error> {
    let mut rows = coordinates.chunks_exact(factors.inputs + 1);
    let of = |row: &[usize]| row.iter().map(|k| precisions[*k]).collect::<Vec<f64>>();
    let first = rows.next().map(of).unwrap_or_default();
    for row in rows {
        let other = of(row);
        if let Some(i) = (0..first.len()).find(|i| other[*i] != first[*i]) {
            let k = row[i];
            let block = layout.blocks().iter().find(|block| block.range.contains(&k));
            let name = block.map_or("", |block| &block.name);
            let problem = format!(
                "the prior of block `{name}` differs between the units of the layer, which the \
                 Kronecker-factored Laplace approximation cannot treat"
            );
            return Err(Error::prior(problem, layout.block_names()));
        }
    }
    Ok(first)
}

impl Kronecker {
    /// From the factors of a layer, and the precision of the prior for each input; the last one is
    /// for the bias.
    pub(super) fn new(factors: &KroneckerFactors, columns: &[f64]) -> Result<Self, Error> {
        let side = columns.len();
        let roots: Array1<f64> = columns.iter().map(|d| d.sqrt()).collect();
        let mut a = factors.a.clone();
        for (at, a) in a.iter_mut().enumerate() {
            *a /= roots[at / side] * roots[at % side];
        }
        let a = SymmetricEigen::new("second moments of the inputs of a layer", &a, side)?;
        let g = SymmetricEigen::new("information about a layer", &factors.g, factors.units)?;
        // Both are positive semi-definite except for rounding.
        let eigenvalues = Array2::from_shape_fn((factors.units, side), |(j, i)| {
            1.0 + g.values[j].max(0.0) * a.values[i].max(0.0)
        });
        if let Some(found) = eigenvalues.iter().find(|e| !e.is_finite()) {
            let what = "eigenvalues of the curvature of a layer";
            return Err(Error::argument(what, found, "finite numbers"));
        }
        Ok(Self { v: g.vectors, u: a.vectors, eigenvalues, roots })
    }

    pub(super) fn log_det(&self) -> f64 {
        let prior: f64 = self.roots.iter().map(|root| 2.0 * ln(*root)).sum();
        let units = self.v.nrows() as f64;
        self.eigenvalues.iter().map(|e| ln(*e)).sum::<f64>() + units * prior //~ kronecker-log-det
    }

    /// V X U^T D^(-1/2), written over `out`.
    fn transform_back(&self, x: &Array2<f64>, out: &mut [f64]) {
        let product = self.v.dot(x).dot(&self.u.t()) / &self.roots;
        out.iter_mut().zip(&product).for_each(|(out, p)| *out = *p);
    }

    pub(super) fn solve(&self, b: &mut [f64]) {
        let rotated = self.v.t().dot(&(&self.view(b) / &self.roots)).dot(&self.u);
        self.transform_back(&(rotated / &self.eigenvalues), b);
    }

    pub(super) fn spread(&self, z: &mut [f64]) {
        let scaled = &self.view(z) / self.eigenvalues.mapv(f64::sqrt); //~ kronecker-draw
        self.transform_back(&scaled, z);
    }

    pub(super) fn variances(&self) -> Vec<f64> {
        let squares = |m: &Array2<f64>| m.mapv(|m| m * m);
        let inverse = self.eigenvalues.mapv(|e| 1.0 / e);
        let rotated = squares(&self.v).dot(&inverse).dot(&squares(&self.u).t());
        (rotated / self.roots.mapv(|d| d * d)).into_iter().collect()
    }

    fn view<'a>(&self, values: &'a [f64]) -> ArrayView2<'a, f64> {
        ArrayView2::from_shape(self.eigenvalues.dim(), values).expect("as many as the layer has")
    }
}
