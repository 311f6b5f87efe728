//! Student-t noise, which is normal noise given a weight for each row.
//!
//! With t_i = r_i e^-s_i, r_i = y_i - f_i, nu degrees of freedom, the scale e^s_i, the same for all rows or
//! not, and the likelihood to the power beta, a_beta = beta (nu + 1) / 2:
//!
//! ```text
//! p(y_i | f_i, s_i, nu)^beta = C(nu)^beta e^(-beta s_i) (1 + t_i^2/nu)^-a
//!                            = C(nu)^beta e^(-beta s_i) integral u^(a - 1) e^(-u (1 + t_i^2/nu)) du / Gamma(a)
//! ```
//!
//! so that (q, u) with the density under the integral has the posterior of q as its marginal. Given u it is
//! normal in f_i, with precision P_i = w_i e^-2s_i, w_i = 2 u_i / nu: the integral over the output layer is
//! the integral for noise by row, with w_i in place of beta in P_i. (With beta = 1, w_i is the usual precision
//! lambda_i ~ Gamma((nu + 1)/2, rate (nu + t_i^2)/2).) A step draws, given all coordinates q,
//!
//! ```text
//! c      from p(q with all s_i + c | y),  by a slice, if there is a coordinate for it
//! nu     from p(nu | all else but u, y),  by a slice
//! u_i    ~ Gamma(a, rate 1 + t_i^2/nu)
//! ```
//!
//! With weights omega_i of the rows, the likelihood of row i has the power beta omega_i, and a its own
//! a_i = beta omega_i (nu + 1) / 2: a row of weight 0 has u_i = 0.
//!
//! and then moves the other coordinates but nu by the density given u. u is drawn again at every step, so no
//! state but q is left. nu stays where it is meanwhile: given u its distribution is narrower than the
//! posterior by a factor that grows with the number of rows.
//!
//! Sources: Geweke, J. Appl. Econometrics 8, 1993, doi:10.1002/jae.3950080504 (Student-t noise by its
//! mixture); Neal, Annals of Statistics 31, 2003, doi:10.1214/aos/1056562461 (slice sampling).

use super::super::{Observed, Posterior, PosteriorWorkspace};
use super::by_row::{LogSd, Rows};
use super::scratch::{Collapsed, basis};
use crate::engine::elementary::exp_in_place;
use crate::engine::network::product;
use crate::engine::{LentTiles, TileMut};
use crate::likelihood::{Likelihood, NormalNoise, StudentTNoise};
use crate::model::Model;
use crate::portable::exp;
use crate::rng::ChainRng;

/// The width of the first interval of a slice, for log nu and for s.
const WIDTH: f64 = 0.5;
/// The most intervals by which a slice grows.
const MOST_STEPS: usize = 32;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The coordinate of log nu, if the noise is a mixture and nu is sampled.
    pub(super) fn degrees_of_freedom(&self) -> Option<usize> {
        match self.likelihood.normal_noise()? {
            NormalNoise::Mixture(noise) => Some(self.n_weights + noise.places()[1]?),
            _ => None,
        }
    }

    /// Moves c and nu, and draws the weights of all rows; without random numbers the weights are their means
    /// given q, as in the EM algorithm.
    pub(super) fn refresh_mixture(
        &self,
        noise: &StudentTNoise,
        beta: f64,
        rng: Option<&mut ChainRng>,
        q: &mut [f64],
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        self.write_squares(q, scratch, ws);
        let Some(by_row) = &scratch.by_row else { return };
        // First t^2, then the weights.
        let Some(squares) = &mut scratch.mixture else { return };
        let mut rng = rng;
        if let Some(rng) = rng.as_deref_mut() {
            let scale = match by_row.log_sd {
                LogSd::Coordinate(eta) => Some((eta, 0.5)),
                LogSd::Known(_) => None,
                LogSd::OfLayer => {
                    let bias = (scratch.shape.integrated, scratch.shape.columns());
                    let coordinate = scratch.shape.coordinate(bias.0, bias.1);
                    scratch.shape.bias.then_some((coordinate, 1.0))
                }
                LogSd::OfFeatures(start) => Some((start + self.model.n_inputs(), 1.0)),
            };
            if let Some((coordinate, rate)) = scale {
                let before = q[coordinate];
                self.move_by_slice(noise, beta, squares, (coordinate, rate), rng, q);
                let factor = exp(-2.0 * rate * (q[coordinate] - before));
                squares.iter_mut().for_each(|square| *square *= factor);
            }
            if let Some(nu) = self.degrees_of_freedom() {
                self.move_by_slice(noise, beta, squares, (nu, 0.0), rng, q);
            }
        }
        let (_, nu) = noise.squared_scale_and_nu(self.split(q).1);
        let shape = 0.5 * beta * (nu + 1.0); //~ mixture-shape
        let of_rows = self.observed_in(0..self.x.n_tiles()).flat_map(|observed| observed.weights);
        for (weight, omega) in squares.iter_mut().zip(of_rows) {
            let shape = omega * shape; //~ mixture-power
            let u = match rng.as_deref_mut() {
                Some(rng) if shape > 0.0 => rng.gamma(shape),
                _ => shape,
            };
            *weight = 2.0 * u / (nu + *weight); //~ mixture-weight
        }
    }

    /// Writes t^2 of all rows in place of their weights.
    fn write_squares(
        &self,
        q: &[f64],
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let tile_rows = self.model.tile_rows();
        let Collapsed { shape, hidden, by_row, mixture, mean, .. } = scratch;
        let Some(by_row) = by_row else { return };
        let squares = mixture.get_or_insert_with(|| vec![0.0; self.x.rows()]);
        shape.take(q, mean);
        if let Some(hidden) = hidden.as_mut() {
            hidden.begin(shape, q);
        }
        let (weights, bias) = mean.split_at(shape.columns() * shape.outputs);
        let (mut tiles, mut number) = (self.tiles(), 0);
        while let Some((x, observed)) = tiles.next_tile() {
            let Observed { y, weights: of_rows } = observed;
            let stride = x.stride();
            let phi = basis(hidden, shape, q, number, x);
            let rows = Rows { phi, x, y, weights: of_rows, mixture: None };
            let mut out = TileMut::new(&mut ws.out[..shape.outputs * stride], x.rows());
            product(weights, bias, phi, stride, out.values());
            let s = &mut ws.d_out[..stride];
            by_row.log_sd.write(shape, q, mean, rows, s);
            s.iter_mut().for_each(|s| *s *= -2.0);
            exp_in_place(s);
            let residuals = y.column(0).iter().zip(out.column(0)).zip(&*s);
            let squares = squares[number * tile_rows..].iter_mut();
            for (square, ((y, f), precision)) in squares.zip(residuals) {
                let r = y - *f;
                *square = precision * r * r;
            }
            number += 1;
        }
    }

    /// Moves a coordinate of q by a slice of its density given the others, without the weights: the
    /// coordinate of log nu, or another whose change by 1 changes all s by `rate`. `squares` are t^2 before.
    fn move_by_slice(
        &self,
        noise: &StudentTNoise,
        beta: f64,
        squares: &[f64],
        (coordinate, rate): (usize, f64),
        rng: &mut ChainRng,
        q: &mut [f64],
    ) {
        let start = q[coordinate];
        let mut log_density = |at: f64| {
            q[coordinate] = at;
            let (_, nu) = noise.squared_scale_and_nu(self.split(q).1);
            let shift = rate * (at - start);
            let factor = exp(-2.0 * shift);
            let of_rows =
                self.observed_in(0..self.x.n_tiles()).flat_map(|observed| observed.weights);
            let rows = squares.iter().map(|square| square * factor).zip(of_rows.copied());
            let t = StudentTNoise::log_density(nu, rows);
            let prior: f64 = self.priors.iter().map(|block| block.log_density(q)).sum();
            beta * (t - self.n_weighted() * shift) + prior //~ mixture-slice
        };
        let level = log_density(start) - exponential(rng);
        if !level.is_finite() {
            q[coordinate] = start;
            return;
        }
        let mut low = start - WIDTH * rng.uniform();
        let mut high = low + WIDTH;
        // As many steps to either side as were drawn: this keeps a slice that is cut off reversible.
        let below = (rng.uniform() * MOST_STEPS as f64) as usize;
        for _ in 0..below {
            if log_density(low) <= level {
                break;
            }
            low -= WIDTH;
        }
        for _ in 0..MOST_STEPS - 1 - below {
            if log_density(high) <= level {
                break;
            }
            high += WIDTH;
        }
        loop {
            let at = low + (high - low) * rng.uniform();
            // Equal only where the interval has shrunk to the start.
            if log_density(at) > level || at == start {
                return;
            }
            match at < start {
                true => low = at,
                false => high = at,
            }
        }
    }
}

/// One draw of the exponential distribution of mean 1.
fn exponential(rng: &mut ChainRng) -> f64 {
    -crate::portable::ln(1.0 - rng.uniform())
}
