//! Random features fitted to the log likelihood.

use bnn_mcmc::draws::Draws;
use bnn_mcmc::model::Activation;
use bnn_mcmc::rng::ChainRng;
use bnn_mcmc::surrogate::Emulator;
use bnn_mcmc::targets::PowerGradTarget;
use bnn_mcmc::{Error, memory};
use nalgebra::{Cholesky, DMatrix, DVector};
use ndarray::linalg::general_mat_vec_mul;
use ndarray::{Array1, Array2, Axis, azip, s};

use crate::pairs::{Pairs, Scaling};
use crate::{add_combination, positive};

/// The settings of an emulator of random features.
///
/// With z = (q - m) / s, the positions centred and scaled by the draws to learn from,
///
/// ```text
/// ell*(q) = v_0 + sum_k v_k softplus(u_k . z + b_k) - v_z |z|^2 / 2
/// u_k ~ N(0, scale^2 I / d),   b_k ~ N(0, scale^2)
/// ```
///
/// u and b are drawn once and stay; v is fitted by least squares with a ridge penalty, to ell at the
/// pairs and, with `gradients`, to its gradient there (d + 1 equations a pair). A pair is a draw
/// with the log likelihood there. The penalty is the mean of the diagonal of the normal equations
/// times that power of ten, from 1e-12 to 100, with which ell is predicted best at pairs held out; v
/// is then fitted to all.
///
/// Where ell is smooth and the pairs surround the place, a few hundred features do. Away from the
/// pairs it is the quadratic term that counts. An evaluation costs 2 d multiplications a feature,
/// whatever the number of rows.
///
/// Zhang, Shahbaba and Zhao (2017, arXiv:1506.05555) fit the potential, prior included, and have
/// neither the quadratic term nor gradients: random bases in the sense of an extreme learning
/// machine.
///
/// The [front page](crate) has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomFeatures {
    /// The number of features, at least 1.
    pub features: usize,
    /// The size of u and b, positive.
    pub scale: f64,
    /// Whether gradients are fitted, too.
    pub gradients: bool,
    /// The number of draws that are used, evenly spaced; all if `None`.
    pub pairs: Option<usize>,
    /// The share of the pairs that is held out to choose the penalty, from 0.05 to 0.5.
    pub held_out: f64,
    /// The seed of u, b and the choice of held-out pairs.
    pub seed: u64,
}

impl Default for RandomFeatures {
    /// 300 features of scale 1, with gradients, from all draws, a fifth of which is held out.
    fn default() -> Self {
        Self { features: 300, scale: 1.0, gradients: true, pairs: None, held_out: 0.2, seed: 0 }
    }
}

/// The result of fitting [`RandomFeatures`].
#[derive(Clone, Debug)]
pub struct FittedFeatures {
    scaling: Scaling,
    /// u `[feature, coordinate]`.
    directions: Array2<f64>,
    offsets: Array1<f64>,
    weights: Array1<f64>,
    curvature: f64,
    constant: f64,
    pairs: usize,
    held_out_error: f64,
}

/// Scratch memory of [`FittedFeatures`].
#[derive(Debug)]
pub struct FeaturesWorkspace {
    z: Array1<f64>,
    /// d ell*/dz.
    d_z: Array1<f64>,
    values: Array1<f64>,
    slopes: Array1<f64>,
}

impl RandomFeatures {
    /// Fits to values of `target` at the draws.
    ///
    /// # Errors
    /// A setting out of range; draws of another target, or fewer than `pairs`; a log likelihood or
    /// gradient that is not finite at one of them, or the same at all.
    pub fn fit<T: PowerGradTarget>(
        &self,
        target: &T,
        draws: &Draws,
    ) -> Result<FittedFeatures, Error> {
        self.fit_runs(target, &[draws])
    }

    /// Fits like [`fit`](Self::fit) to the draws of several runs, `pairs` of each.
    ///
    /// # Errors
    /// As of [`fit`](Self::fit); no runs.
    pub fn fit_runs<T: PowerGradTarget>(
        &self,
        target: &T,
        runs: &[&Draws],
    ) -> Result<FittedFeatures, Error> {
        if self.features == 0 {
            return Err(Error::argument("features", 0, "at least 1"));
        }
        positive("scale", self.scale)?;
        let k = self.features;
        let rng = &mut ChainRng::new(self.seed, 0);
        let n = Pairs::count(runs, self.pairs);
        // Features, slopes and the matrices made of them; the normal equations, thrice; the
        // directions.
        let others = n.max(k).max(target.dim());
        let size = [(k, "features"), (others, "features, pairs or coordinates"), (8, "matrices")];
        memory::check::<f64>("random features", &size, "use fewer features or pairs")?;
        let pairs = Pairs::of(target, runs, self.pairs, self.held_out, rng)?;
        let d = target.dim();
        let mut normals = |n: usize, sd: f64| Array1::from_shape_fn(n, |_| sd * rng.normal());
        let directions = normals(k * d, self.scale / (d as f64).sqrt());
        let directions = directions.into_shape_with_order((k, d));
        let directions = directions.map_err(|_| Error::shape("random directions", k * d, k * d))?;
        let basis = Basis { directions, offsets: normals(k, self.scale) };
        let train = Normal::of(&basis, &pairs, &pairs.rows(false), self.gradients);
        let all: Vec<usize> = (0..n).collect();
        let (held_out, mut best) = (pairs.rows(true), None);
        for power in -12..=2 {
            let penalty = 10f64.powi(power);
            let Some(v) = train.solve(penalty) else { continue };
            let error = basis.error(&v, train.mean_of(&v), &pairs, &held_out);
            if error.is_finite() && best.is_none_or(|(_, least)| error < least) {
                best = Some((penalty, error));
            }
        }
        let all = Normal::of(&basis, &pairs, &all, self.gradients);
        let fit = best.and_then(|(penalty, error)| Some((all.solve(penalty)?, error)));
        let Some((v, held_out_error)) = fit else {
            let allowed = "a basis that the pairs determine: use fewer features or another scale";
            return Err(Error::argument("random features", "not solvable", allowed));
        };
        Ok(FittedFeatures {
            constant: all.mean_of(&v),
            curvature: v[k],
            weights: v.slice(s![..k]).to_owned(),
            scaling: pairs.scaling,
            directions: basis.directions,
            offsets: basis.offsets,
            pairs: n,
            held_out_error,
        })
    }
}

/// u and b.
struct Basis {
    directions: Array2<f64>,
    offsets: Array1<f64>,
}

impl Basis {
    /// Features `[pair, K + 1]`, the last of which is -|z|^2 / 2, and the sigmoids of the others.
    fn evaluate(&self, z: &Array2<f64>) -> (Array2<f64>, Array2<f64>) {
        let k = self.offsets.len();
        let mut softplus = z.dot(&self.directions.t()) + &self.offsets;
        let mut sigmoids = softplus.clone(); // in the same order
        softplus_and_sigmoid(
            softplus.as_slice_memory_order_mut(),
            sigmoids.as_slice_memory_order_mut(),
        );
        let mut features = Array2::zeros((z.nrows(), k + 1));
        features.slice_mut(s![.., ..k]).assign(&softplus);
        for (mut row, z) in features.rows_mut().into_iter().zip(z.rows()) {
            row[k] = -0.5 * z.dot(&z);
        }
        (features, sigmoids)
    }

    /// The root mean squared error of ell at these pairs, in nats.
    fn error(&self, v: &Array1<f64>, constant: f64, pairs: &Pairs, rows: &[usize]) -> f64 {
        let (features, _) = self.evaluate(&pairs.z.select(Axis(0), rows));
        let found = features.dot(v) + constant;
        let errors = found - pairs.log_likelihood.select(Axis(0), rows);
        (errors.mapv(|e| e * e).mean().unwrap_or(f64::NAN)).sqrt()
    }
}

/// The normal equations of least squares: `matrix` v = `right`, features and values centred.
struct Normal {
    matrix: Array2<f64>,
    right: Array1<f64>,
    feature_means: Array1<f64>,
    value_mean: f64,
}

impl Normal {
    fn of(basis: &Basis, pairs: &Pairs, rows: &[usize], gradients: bool) -> Self {
        let z = pairs.z.select(Axis(0), rows);
        let (mut features, sigmoids) = basis.evaluate(&z);
        let mut values = pairs.log_likelihood.select(Axis(0), rows);
        let feature_means = features.mean_axis(Axis(0)).unwrap_or_default();
        let value_mean = values.mean().unwrap_or(0.0);
        features -= &feature_means;
        values -= value_mean;
        let (mut matrix, mut right) = (features.t().dot(&features), features.t().dot(&values));
        if gradients {
            // The gradient of feature k at a pair is sigmoid_k u_k, the gradient of the last
            // feature is -z.
            let k = basis.offsets.len();
            let slopes = pairs.gradients.select(Axis(0), rows);
            let mut block = sigmoids.t().dot(&sigmoids);
            block *= &basis.directions.dot(&basis.directions.t());
            let along_z = z.dot(&basis.directions.t()) * &sigmoids;
            let along_slope = slopes.dot(&basis.directions.t()) * &sigmoids;
            let mut part = matrix.slice_mut(s![..k, ..k]);
            part += &block;
            for i in 0..k {
                let cross = -along_z.column(i).sum();
                matrix[[i, k]] += cross;
                matrix[[k, i]] += cross;
                right[i] += along_slope.column(i).sum();
            }
            azip!((z in &z, slope in &slopes) {
                matrix[[k, k]] += z * z;
                right[k] -= z * slope;
            });
        }
        Self { matrix, right, feature_means, value_mean }
    }

    /// The coefficients v with the penalty `penalty` times the mean of the diagonal, unless the
    /// matrix is singular.
    fn solve(&self, penalty: f64) -> Option<Array1<f64>> {
        let n = self.right.len();
        let mut matrix = DMatrix::from_row_iterator(n, n, self.matrix.iter().copied());
        let ridge = penalty * matrix.trace() / n as f64;
        (0..n).for_each(|i| matrix[(i, i)] += ridge);
        let right = DVector::from_iterator(n, self.right.iter().copied());
        let v = Cholesky::new(matrix)?.solve(&right);
        Some(Array1::from_iter(v.iter().copied()))
    }

    /// The constant that goes with v.
    fn mean_of(&self, v: &Array1<f64>) -> f64 {
        self.value_mean - self.feature_means.dot(v)
    }
}

/// Replaces x by softplus x, and writes its derivative.
fn softplus_and_sigmoid(x: Option<&mut [f64]>, sigmoids: Option<&mut [f64]>) {
    let (Some(x), Some(sigmoids)) = (x, sigmoids) else { unreachable!("arrays without gaps") };
    Activation::Softplus.apply_with_derivative(x, sigmoids);
}

impl FittedFeatures {
    /// The root mean squared error of the log likelihood at the pairs held out, in nats.
    pub fn held_out_error(&self) -> f64 {
        self.held_out_error
    }

    /// Fills the workspace with features and slopes, and returns ell*.
    fn evaluate(&self, q: &[f64], ws: &mut FeaturesWorkspace) -> f64 {
        let FeaturesWorkspace { z, values, slopes, .. } = ws;
        self.scaling.apply(q, z.view_mut());
        values.assign(&self.offsets);
        general_mat_vec_mul(1.0, &self.directions, z, 1.0, values);
        softplus_and_sigmoid(values.as_slice_mut(), slopes.as_slice_mut());
        self.constant + self.weights.dot(values) - 0.5 * self.curvature * z.dot(z)
    }
}

impl Emulator for FittedFeatures {
    type Workspace = FeaturesWorkspace;

    fn workspace(&self) -> FeaturesWorkspace {
        let (k, d) = self.directions.dim();
        let [z, d_z] = [d; 2].map(Array1::zeros);
        let [values, slopes] = [k; 2].map(Array1::zeros);
        FeaturesWorkspace { z, d_z, values, slopes }
    }

    fn log_likelihood(&self, q: &[f64], ws: &mut FeaturesWorkspace) -> f64 {
        self.evaluate(q, ws)
    }

    fn add_grad(
        &self,
        factor: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut FeaturesWorkspace,
    ) -> f64 {
        let value = self.evaluate(q, ws);
        let FeaturesWorkspace { z, d_z, slopes, .. } = ws;
        //~ random-features-gradient
        d_z.iter_mut().zip(&*z).for_each(|(d, z)| *d = -self.curvature * z);
        *slopes *= &self.weights;
        add_combination(slopes.view(), self.directions.view(), d_z.view_mut());
        self.scaling.add_grad(factor, d_z, grad);
        value
    }

    fn is_extrapolating(&self, q: &[f64]) -> bool {
        self.scaling.is_outside(q)
    }

    fn description(&self) -> String {
        let (k, error) = (self.weights.len(), self.held_out_error);
        format!(
            "{k} random features fitted to {} values of the log likelihood (held-out error {error:.2} nats)",
            self.pairs
        )
    }
}
