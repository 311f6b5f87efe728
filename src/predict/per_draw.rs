//! The walk over draws: the predictions of each draw of q for each row.

use ndarray::{Array2, Array3, Array4, ArrayView1, ArrayView2, Axis};

use super::predictions::{Centre, Predictions, Trace};
use super::survival::Times;
use super::uncertainty::{RunningUncertainty, Uncertainty};
use crate::Error;
use crate::data::Dataset;
use crate::diagnostics::InUse;
use crate::draws::{Approximation, Draws};
use crate::engine::{TILE_ROWS, Tile, TileMut, Tiles};
use crate::likelihood::{Likelihood, NormalNoise};
use crate::memory;
use crate::message::Advice;
use crate::model::{Model, layers};
use crate::posterior::{Posterior, PosteriorWorkspace};
use crate::posterior::{check_finite, check_inputs};
use crate::rng::ChainRng;
use crate::targets::{ConditionallyGaussian, LogDensity, Target};
use crate::threads;

/// The part of a chain's random stream that responses are drawn from: no sampler reads it.
const RESPONSES: u64 = u64::from_le_bytes(*b"response");

/// Probabilities that are held at a time on the way to their sums.
const BLOCK: usize = 1 << 20;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Predicts the rows of `data`, and scores them with its response, for every draw. The seed of
    /// the posterior predictive draws is the seed of the run; see
    /// [`predict_seeded`](Self::predict_seeded).
    ///
    /// Memory: chains x draws x rows x (columns of the mean + columns of the response + 1) numbers of
    /// 8 bytes; of noise that depends on the row, also its variance for each column of the mean.
    ///
    /// # Errors
    /// - Draws of another posterior: other parameters, another model, likelihood or training data,
    ///   as far as the draws [know them](crate::draws::RunInfo::target), or another log density at
    ///   the first draw.
    /// - Features, responses or classes whose number, names or order differ from the training
    ///   data's; see [`feature_names`](Self::feature_names).
    /// - Predictions that exceed the [limit](crate::memory) on memory. [`Draws::thinned`] and fewer
    ///   rows at a time take less; [`StreamedMoments`](super::StreamedMoments) and
    ///   [`StreamedUncertainty`](super::StreamedUncertainty) predict while a run goes on, in memory
    ///   that does not grow with the draws.
    pub fn predict(&self, draws: &Draws, data: &Dataset) -> Result<Predictions, Error> {
        self.predict_seeded(draws, data, draws.info().seed)
    }

    /// Predicts new rows, whose response is not known: `x` is `[rows x features]`, in the order of
    /// [`feature_names`](Self::feature_names).
    ///
    /// Methods of these predictions that need an observed response, such as
    /// [`scores`](Predictions::scores), return an error; means, intervals, predictive draws and
    /// verdicts are the same as by [`predict`](Self::predict). Binomial and multinomial counts are
    /// drawn in one trial.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0], [0.5], [1.0]], array![4.1, 5.4, 7.0])?;
    /// let priors = Priors::all(Normal::new(0.0, 5.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.2)?, &data, priors)?;
    /// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
    /// let predictions = posterior.predict_new(&draws, array![[0.25], [0.75]].view())?;
    /// let interval = predictions.predictive_interval(0.9)?;
    /// assert!(interval.lower[[0, 0]] < 4.8 && 4.8 < interval.upper[[0, 0]]);
    /// assert!(predictions.scores().is_err());
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Draws of another posterior, another number of features, no rows, an input that is not finite,
    /// predictions that exceed the [limit](crate::memory) on memory.
    pub fn predict_new(&self, draws: &Draws, x: ArrayView2<f64>) -> Result<Predictions, Error> {
        self.predict_new_seeded(draws, x, draws.info().seed)
    }

    /// Predicts new rows, with `seed` for the posterior predictive draws.
    pub(crate) fn predict_new_seeded(
        &self,
        draws: &Draws,
        x: ArrayView2<f64>,
        seed: u64,
    ) -> Result<Predictions, Error> {
        let rows = self.without_response(x)?;
        Ok(Predictions { log_density: None, ..self.predict_seeded(draws, &rows, seed)? })
    }

    /// Predicts like [`predict`](Self::predict), with `seed` for the posterior predictive draws.
    ///
    /// Each draw of each chain has a random stream of its own, fixed by (seed, chain, draw), that
    /// the rows read in order: results do not depend on the number of threads. Counts are drawn in
    /// as many trials as were observed.
    ///
    /// Two models that are predicted with one seed share the random numbers of their noise, as two
    /// runs do by default if their seeds are equal. This makes differences between them, as of
    /// scores, less noisy; but their predictive draws are not independent, so that a quantity
    /// computed from both, such as the spread of a difference of two responses, needs two seeds.
    pub fn predict_seeded(
        &self,
        draws: &Draws,
        data: &Dataset,
        seed: u64,
    ) -> Result<Predictions, Error> {
        self.check_draws(draws)?; // a data set is finite, and its features are those of `encoded`
        let size = (draws.n_chains(), draws.n_draws(), data.rows());
        let (likelihood, outputs) = (self.likelihood(), self.model().n_outputs());
        let by_row = matches!(likelihood.normal_noise(), Some(NormalNoise::ByRow));
        let noise = if by_row { likelihood.n_means(outputs) } else { 0 };
        let times = if likelihood.censored().is_some() { 2 } else { 0 };
        self.check_size(size, 1 + likelihood.n_drawn(outputs) + noise + times)?;
        let y = self.encoded(data)?;
        let stream = |chain| ChainRng::new(seed, chain).child(RESPONSES);
        let streams = draws.chain_numbers().map(|chain| stream(chain as u64)).collect();
        let observed = Observed { y: self.tiles_of(y.view()), streams, n_draws: draws.n_draws() };
        let walk = self.walk(draws.flat(), &self.tiles_of(data.x().view()), Some(&observed));
        let (chains, n, rows) = size;
        let log_density = Array3::from_shape_vec((chains, n, rows), walk.log_density)
            .expect("one number was written for each draw and row");
        let noise_rows = walk.noise_rows;
        Ok(Predictions {
            mean: with_columns(walk.mean, (chains, n, rows)),
            centre: Centre::Mean,
            noise: (noise_rows > 0).then(|| with_columns(walk.noise, (chains, n, noise_rows))),
            drawn: with_columns(walk.drawn, (chains, n, rows)),
            times: likelihood.censored().map(|censored| Times {
                family: censored.family(),
                parameters: with_columns(walk.times, (chains, n, rows)),
            }),
            log_density: Some(log_density),
            response: data.response().clone(),
            response_names: data.response_names().to_vec(),
            weights: data.weights().map(|w| w.to_owned()),
            trace: self.trace(draws)?,
        })
    }

    /// The log densities of the draws, by which a run is judged: as they were recorded, or
    /// evaluated here for draws that come from a file or from a surrogate.
    pub(crate) fn trace(&self, draws: &Draws) -> Result<Trace, Error> {
        let shape = (draws.n_chains(), draws.n_draws());
        let flat = draws.flat();
        let at = |ws: &mut _, s: usize| self.log_density(flat.row(s).to_slice().unwrap_or(&[]), ws);
        let recorded = (draws.stat("log_likelihood"), draws.stat("log_prior"));
        // A surrogate's run has recorded the surrogate's densities, and a network's run the
        // network's, which are not the densities of its linearisation.
        let model = draws.info().target.as_ref().and_then(|info| info.model.clone());
        let own = self.model().description();
        let is_own =
            draws.info().approximation.as_ref().is_none_or(Approximation::has_own_densities)
                && (model.is_none() || model == own);
        let (log_likelihood, log_prior) = if let (Ok(likelihood), Ok(prior)) = recorded
            && is_own
        {
            if shape.0 * shape.1 > 0 {
                let here = at(&mut self.workspace(), 0);
                for (name, here, recorded) in [
                    ("log likelihood", here.likelihood, likelihood[(0, 0)]),
                    ("log prior", here.prior, prior[(0, 0)]),
                ] {
                    let close = (here - recorded).abs() <= 1e-6 * (1.0 + recorded.abs());
                    if !close {
                        let what =
                            format!("{name} of the first draw (is it of another posterior?)");
                        return Err(Error::shape(what, recorded, here));
                    }
                }
            }
            (likelihood.to_owned(), prior.to_owned())
        } else {
            let all = threads::map_with(shape.0 * shape.1, &|| self.workspace(), &at);
            let array = |of: fn(&LogDensity) -> f64| {
                Array2::from_shape_vec(shape, all.iter().map(of).collect())
                    .expect("one number was evaluated for each draw")
            };
            (array(|d| d.likelihood), array(|d| d.prior))
        };
        let divergences = match draws.stat("divergent") {
            Ok(divergent) => divergent.rows().into_iter().map(|chain| chain.sum() as u64).collect(),
            Err(_) => vec![0; shape.0],
        };
        let transitions = (shape.1 as u64).saturating_mul(draws.info().thin as u64);
        let model = self.model().layout();
        let (layers, _) = layers(&model);
        let output = layers.last().copied();
        // A model of one layer has no hidden units.
        let hidden_units = output.filter(|_| layers.len() > 1).map(|block| block.shape[1]);
        let unadjusted = draws.unadjusted();
        Ok(Trace {
            log_likelihood,
            log_prior,
            divergences,
            transitions,
            trajectories: draws.trajectories(),
            in_use: InUse {
                algorithm: draws.info().algorithm.clone(),
                hidden_units,
                prior_by_fan_in: output.is_some_and(|block| self.has_prior_by_fan_in(block)),
                sampled_variances: self.has_sampled_variances(),
                collapsible: is_own && self.gaussian_coordinates().is_ok(),
                target_accept: None,
                validation: false,
            },
            unadjusted,
            approximation: draws.info().approximation.clone(),
            panic: draws.info().panic.clone(),
        })
    }

    /// E[y | x, q] for inputs `x` `[rows x features]`: `[chain, draw, row, column]`.
    ///
    /// Columns are response columns, class probabilities (one column for two classes: the probability
    /// of the second), expected proportions, or the expected count of counts in one column.
    ///
    /// # Errors
    /// Draws of another posterior, features that do not fit, an input that is not finite.
    pub fn predict_mean(&self, draws: &Draws, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        self.check_draws(draws)?;
        self.check_x(x)?;
        let size = (draws.n_chains(), draws.n_draws(), x.nrows());
        self.check_size(size, 0)?;
        Ok(with_columns(self.walk(draws.flat(), &self.tiles_of(x), None).mean, size))
    }

    /// E[y | x, q] at a single q, such as the end of an [optimisation](crate::optimise) or the mean
    /// of the draws, for inputs `x` `[rows x features]`: `[row, column]`.
    ///
    /// # Errors
    /// A q of another length, features that do not fit, an input that is not finite.
    pub fn predict_at(&self, q: &[f64], x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        let q = self.one_draw_of(q, x)?;
        self.check_size((1, 1, x.nrows()), 0)?;
        let mean = with_columns(self.walk(q, &self.tiles_of(x), None).mean, (1, 1, x.nrows()));
        Ok(mean.index_axis_move(Axis(0), 0).index_axis_move(Axis(0), 0))
    }

    /// The uncertainty of the classification of inputs `x` `[rows x features]`, over all draws of
    /// all chains; the inputs need no labels. See [`Uncertainty`] for the meaning of the measures.
    ///
    /// Memory: as much as [`RunningUncertainty`] takes, and a million probabilities.
    ///
    /// # Errors
    /// If the response is not classes, draws of another posterior, features that do not fit,
    /// no draws, no inputs, an input that is not finite, a probability that is NaN.
    pub fn uncertainty(&self, draws: &Draws, x: ArrayView2<f64>) -> Result<Uncertainty, Error> {
        self.check_draws(draws)?;
        self.check_x(x)?;
        self.uncertainty_of(draws.flat(), x)
    }

    /// The uncertainty of a point prediction: [`uncertainty`](Self::uncertainty) at a single q.
    ///
    /// With the [mean](Draws::mean) of the draws it is the 'lazy' f(x; E q).
    ///
    /// # Errors
    /// The errors of [`uncertainty`](Self::uncertainty); a q of another length.
    pub fn uncertainty_at(&self, q: &[f64], x: ArrayView2<f64>) -> Result<Uncertainty, Error> {
        self.uncertainty_of(self.one_draw_of(q, x)?, x)
    }

    /// q as the only draw, if it and rows of `x` fit.
    fn one_draw_of<'q>(
        &self,
        q: &'q [f64],
        x: ArrayView2<f64>,
    ) -> Result<ArrayView2<'q, f64>, Error> {
        threads::ready()?;
        self.check_x(x)?;
        if q.len() != self.layout().dim() {
            return Err(Error::shape("length of q", q.len(), self.layout().dim()));
        }
        Ok(ArrayView1::from(q).insert_axis(Axis(0)))
    }

    pub(super) fn class_names_or_error(&self) -> Result<&[String], Error> {
        self.class_names().ok_or_else(|| {
            Error::argument("response of the posterior", "real numbers or counts", "classes")
        })
    }

    /// Walks `q` `[draw, parameter]` in blocks, whose probabilities are added in order.
    fn uncertainty_of(&self, q: ArrayView2<f64>, x: ArrayView2<f64>) -> Result<Uncertainty, Error> {
        let classes = self.class_names_or_error()?;
        let mut running = RunningUncertainty::new(x.nrows(), classes.to_vec())?;
        let (rows, columns) = (x.nrows(), self.likelihood().n_means(self.model().n_outputs()));
        let block = (BLOCK / (rows * columns)).max(rayon::current_num_threads());
        self.check_size((1, block.min(q.nrows()), rows), 0)?;
        let x = self.tiles_of(x);
        for q in q.axis_chunks_iter(Axis(0), block) {
            let mean = with_columns(self.walk(q, &x, None).mean, (1, q.nrows(), rows));
            for draw in mean.index_axis(Axis(0), 0).outer_iter() {
                running.add(draw)?;
            }
        }
        running.uncertainty()
    }

    /// Checks that `draws` are of this posterior.
    pub(super) fn check_draws(&self, draws: &Draws) -> Result<(), Error> {
        threads::ready()?;
        draws.check_any_parameter()?;
        draws.check_layout("parameters of the draws", self.layout())?;
        match (&draws.info().target, self.info()) {
            (Some(found), Some(own)) => found.check(&own), //~ draws-of-posterior
            _ => Ok(()),
        }
    }

    /// Checks that rows of `x` can be predicted.
    pub(super) fn check_x(&self, x: ArrayView2<f64>) -> Result<(), Error> {
        check_inputs(self.model(), x.ncols())?;
        check_finite(x)
    }

    /// Checks that predictions of `size` = (chains, draws, rows), with `more` numbers beside the mean,
    /// fit into memory.
    pub(crate) fn check_size(&self, size: (usize, usize, usize), more: usize) -> Result<(), Error> {
        let numbers = self.likelihood().n_means(self.model().n_outputs()) + more;
        let size = [(size.0, "chains"), (size.1, "draws"), (size.2, "rows"), (numbers, "numbers")];
        let rust = [
            "thin the draws (`Draws::thinned`)",
            "predict while the run goes on, by a recorder (`StreamedMoments`, `StreamedUncertainty`) \
             whose memory does not grow with the draws",
        ];
        memory::check::<f64>("predictions", &size, "take fewer rows at a time or fewer draws")
            .map_err(|error| error.advise(rust.map(Advice::in_rust)))
    }

    /// Evaluates the predictions of every q of `[draw, parameter]` for every row; densities and
    /// draws of the response only if responses are given.
    pub(super) fn walk(&self, q: ArrayView2<f64>, x: &Tiles, observed: Option<&Observed>) -> Walk {
        let (outputs, rows) = (self.model().n_outputs(), x.rows());
        let columns = self.likelihood().n_means(outputs);
        let (density, drawn) =
            if observed.is_some() { (1, self.likelihood().n_drawn(outputs)) } else { (0, 0) };
        let noise_rows = match self.likelihood().normal_noise() {
            Some(NormalNoise::Equal(_)) if observed.is_some() => 1,
            Some(NormalNoise::ByRow) if observed.is_some() => rows,
            _ => 0,
        };
        let of_times = match self.likelihood().censored() {
            Some(_) if observed.is_some() => 2,
            _ => 0,
        };
        let n = q.nrows();
        let zeros =
            |rows: usize, columns| Columns { values: vec![0.0; n * rows * columns], columns };
        let mut walk = Walk {
            mean: zeros(rows, columns),
            noise: zeros(noise_rows, columns),
            noise_rows,
            log_density: zeros(rows, density).values,
            drawn: zeros(rows, drawn),
            times: zeros(rows, of_times),
        };
        let parts = parts(&mut walk.mean.values, n)
            .zip(parts(&mut walk.noise.values, n))
            .zip(parts(&mut walk.log_density, n))
            .zip(parts(&mut walk.drawn.values, n))
            .zip(parts(&mut walk.times.values, n));
        let slices = |((((mean, noise), log_density), drawn), times)| Slices {
            mean,
            noise,
            log_density,
            drawn,
            times,
        };
        let mut parts: Vec<_> = parts.map(slices).collect();
        let scratch = || Scratch::<M> {
            ws: self.workspace(),
            outputs: vec![0.0; TILE_ROWS * outputs],
            columns: vec![0.0; TILE_ROWS * columns.max(drawn).max(of_times)],
        };
        threads::each_with(&mut parts, &scratch, &|scratch, s, part| {
            let responses = observed.map(|o| {
                let (chain, draw) = (s / o.n_draws, s % o.n_draws);
                (&o.y, o.streams[chain].child(draw as u64))
            });
            self.one_draw(q.row(s).to_slice().unwrap_or(&[]), x, responses, part, scratch);
        });
        walk
    }

    fn one_draw(
        &self,
        q: &[f64],
        x: &Tiles,
        responses: Option<(&Tiles, ChainRng)>,
        part: &mut Slices,
        scratch: &mut Scratch<M>,
    ) {
        let likelihood = self.likelihood();
        let columns = likelihood.n_means(self.model().n_outputs());
        let drawn_columns = likelihood.n_drawn(self.model().n_outputs());
        let mut responses = responses.map(|(y, rng)| (y.iter(), rng));
        let mut first = 0;
        self.for_each_output(q, x.iter().map(|x| (x, ())), &mut scratch.ws, |phi, mut out, ()| {
            let rows = out.rows();
            let mean = &mut scratch.columns[..out.stride() * columns];
            likelihood.mean(phi, out.as_tile(), TileMut::new(mean, rows));
            copy_rows(Tile::new(mean, rows), &mut part.mean[first * columns..]);
            if first * columns < part.noise.len() {
                likelihood.variance(phi, out.as_tile(), TileMut::new(mean, rows));
                copy_rows(Tile::new(mean, rows), &mut part.noise[first * columns..]);
            }
            if let (Some(censored), false) = (likelihood.censored(), part.times.is_empty()) {
                let parameters = &mut scratch.columns[..out.stride() * 2];
                censored.parameters(phi, out.as_tile(), TileMut::new(parameters, rows));
                copy_rows(Tile::new(parameters, rows), &mut part.times[first * 2..]);
            }
            if let Some((tiles, rng)) = &mut responses
                && let Some(y) = tiles.next()
            {
                let copy = &mut scratch.outputs[..out.values().len()];
                copy.copy_from_slice(out.values());
                likelihood.log_lik_rows(phi, out, y, &mut part.log_density[first..first + rows]);
                let out = TileMut::new(copy, rows);
                let drawn = &mut scratch.columns[..out.stride() * drawn_columns];
                likelihood.draw(phi, out, y, rng, TileMut::new(drawn, rows));
                copy_rows(Tile::new(drawn, rows), &mut part.drawn[first * drawn_columns..]);
            }
            first += rows;
        });
    }
}

/// The observed response, and the random streams of the chains for predictive draws.
pub(super) struct Observed {
    pub y: Tiles,
    pub streams: Vec<ChainRng>,
    pub n_draws: usize,
}

/// Numbers for all draws, in order of draw, row and column.
pub(super) struct Columns {
    pub values: Vec<f64>,
    columns: usize,
}

pub(super) struct Walk {
    mean: Columns,
    /// The variance of normal noise, of this many rows.
    noise: Columns,
    noise_rows: usize,
    pub log_density: Vec<f64>,
    pub drawn: Columns,
    /// Location and scale of the distribution of a time.
    times: Columns,
}

/// The memory that one draw writes to.
struct Slices<'a> {
    mean: &'a mut [f64],
    noise: &'a mut [f64],
    log_density: &'a mut [f64],
    drawn: &'a mut [f64],
    times: &'a mut [f64],
}

/// Scratch memory of one thread.
struct Scratch<M: Model> {
    ws: PosteriorWorkspace<M::Workspace>,
    outputs: Vec<f64>,
    columns: Vec<f64>,
}

/// `values` in `n` equal parts.
fn parts(values: &mut [f64], n: usize) -> impl Iterator<Item = &mut [f64]> {
    let len = values.len().checked_div(n).unwrap_or(0);
    let mut rest = values;
    (0..n).map(move |_| rest.split_off_mut(..len).expect("there is room for n parts"))
}

/// Writes a tile row by row to the beginning of `to`, as many rows as there is room for.
pub(super) fn copy_rows(tile: Tile, to: &mut [f64]) {
    let columns = tile.columns();
    for j in 0..columns {
        for (to, value) in to.iter_mut().skip(j).step_by(columns).zip(tile.column(j)) {
            *to = *value;
        }
    }
}

fn with_columns(walk: Columns, (chains, draws, rows): (usize, usize, usize)) -> Array4<f64> {
    Array4::from_shape_vec((chains, draws, rows, walk.columns), walk.values)
        .expect("one number was written for each draw, row and column")
}
