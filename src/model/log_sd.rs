//! A model of the noise beside a model of the mean.

use super::{Activation, Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::layer::Layer;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;

/// A model of the mean, and log standard deviations of the noise that are linear in the features.
///
/// ```text
/// mu(x; u) = g(x; u)          K outputs
/// s(x; G, c) = G x + c        K outputs after them,   G [K x D]
/// ```
///
/// g is the base model. For [`HeteroscedasticGaussian`](crate::likelihood::HeteroscedasticGaussian)
/// and [`StudentTNoise::heteroscedastic`](crate::likelihood::StudentTNoise::heteroscedastic). The noise
/// shares no unit with the mean: in a network with 2 K outputs the units that the noise uses are lost to
/// the mean, and which units these are makes separate modes, which chains do not leave. With features of
/// standard deviation 1, G_kj is the change of s for a change of feature j by its standard deviation, and
/// has a prior of its own: G is the block `log_sd`, c the block `log_sd_bias`, after the blocks of g. The
/// weights of an output layer of g can be [integrated out](crate::targets::Marginal) if K = 1; G and c stay
/// coordinates.
///
/// Source: Harvey, Econometrica 44, 1976, doi:10.2307/1913974 (multiplicative heteroscedasticity).
///
/// ```
/// use bnn_mcmc::model::{LogSd, Model};
/// use bnn_mcmc::prelude::*;
/// let network = Mlp::new(&[8, 40, 1], Activation::Tanh)?;
/// let priors = Priors::by_fan_in(&network).with("log_sd*", Normal::new(0.0, 1.0)?);
/// let model = LogSd::new(network)?;
/// assert_eq!(model.layout().block_names(), ["w0", "b0", "w1", "b1", "log_sd", "log_sd_bias"]);
/// assert_eq!(model.n_outputs(), 2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSd<M> {
    base: M,
    /// Whether there is a model of the noise.
    is_there: bool,
}

/// The names of the blocks of G and c.
pub(crate) const LOG_SD: [&str; 2] = ["log_sd", "log_sd_bias"];

impl<M: Model> LogSd<M> {
    /// `base` for the means, with log standard deviations that are linear in the features.
    ///
    /// # Errors
    /// A base with a block called `log_sd` or `log_sd_bias`.
    pub fn new(base: M) -> Result<Self, Error> {
        if let Some(name) = LOG_SD.iter().find(|name| base.layout().range(name).is_some()) {
            let allowed = "a model without a block of that name";
            return Err(Error::argument("block of the base", name, allowed));
        }
        Ok(Self { base, is_there: true })
    }

    /// `base` without a model of the noise, for programs that choose as they run: the same model as `base`.
    pub fn without(base: M) -> Self {
        Self { base, is_there: false }
    }

    /// The model of the means.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// K if there is a model of the noise, else 0.
    fn n_log_sd(&self) -> usize {
        if self.is_there { self.base.n_outputs() } else { 0 }
    }

    /// The number of the weights u of the base.
    fn n_base(&self, w: &[f64]) -> usize {
        w.len() - self.n_log_sd() * (self.n_inputs() + 1)
    }

    /// The weights u of the base, and G and c.
    fn split<'w>(&self, w: &'w [f64]) -> (&'w [f64], &'w [f64]) {
        w.split_at(self.n_base(w))
    }

    fn split_mut<'w>(&self, w: &'w mut [f64]) -> (&'w mut [f64], &'w mut [f64]) {
        w.split_at_mut(self.n_base(w))
    }

    /// The outputs mu, and the outputs s.
    fn split_outputs<'a>(&self, out: &'a mut TileMut) -> (TileMut<'a>, TileMut<'a>) {
        let (rows, means) = (out.rows(), self.base.n_outputs() * out.stride());
        let (mu, s) = out.values().split_at_mut(means);
        (TileMut::new(mu, rows), TileMut::new(s, rows))
    }

    fn split_tile<'a>(&self, out: Tile<'a>) -> (Tile<'a>, Tile<'a>) {
        let (mu, s) = out.values().split_at(self.base.n_outputs() * out.stride());
        (Tile::new(mu, out.rows()), Tile::new(s, out.rows()))
    }
}

/// Scratch memory of a [`LogSd`] model.
#[derive(Debug)]
pub struct LogSdWorkspace<W> {
    base: W,
    log_sd: Option<Network<f64>>,
}

impl<M: Model> Model for LogSd<M> {
    type Workspace = LogSdWorkspace<M::Workspace>;

    /// The base's blocks, then `log_sd` `[K, D]` row-major and `log_sd_bias` `[K]`.
    fn layout(&self) -> Layout {
        let layout = self.base.layout();
        match self.n_log_sd() {
            0 => layout,
            k => layout.with(LOG_SD[0], &[k, self.n_inputs()]).with(LOG_SD[1], &[k]),
        }
    }

    forward! { self => self.base;
        fn n_inputs() -> usize;
        fn tile_rows() -> usize;
        fn named_axes() -> Vec<(String, usize, Vec<String>)>;
    }

    fn n_outputs(&self) -> usize {
        self.base.n_outputs() + self.n_log_sd()
    }

    fn description(&self) -> Option<String> {
        let base = self.base.description()?;
        let noise = "log standard deviation of the noise linear in the features";
        Some(if self.is_there { format!("{base}, {noise}") } else { base })
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        let mut axes = self.base.input_axes();
        axes.extend(self.is_there.then(|| (LOG_SD[0].into(), 1)));
        axes
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        let mut axes = self.base.output_axes();
        if self.is_there {
            axes.extend(LOG_SD.map(|block| (block.into(), 0)));
        }
        axes
    }

    fn workspace(&self) -> Self::Workspace {
        let (inputs, units) = (self.n_inputs(), self.n_log_sd());
        let layer = Layer { inputs, units, bias: true, activation: Activation::Identity };
        let log_sd = self.is_there.then(|| Network::new(vec![layer]));
        LogSdWorkspace { base: self.base.workspace(), log_sd }
    }

    fn begin(&self, w: &[f64], ws: &mut Self::Workspace) {
        let (u, own) = self.split(w);
        self.base.begin(u, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.begin(own);
        }
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut Self::Workspace) {
        let ((u, own), (mu, s)) = (self.split(w), self.split_outputs(&mut out));
        self.base.forward(u, x, mu, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.forward(own, x, s);
        }
    }

    fn backward(
        &self,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let ((u, own), (grad_u, grad_own)) = (self.split(w), self.split_mut(grad));
        let (d_mu, d_s) = self.split_tile(d_out);
        self.base.backward(u, x, d_mu, grad_u, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.backward(own, x, d_s, grad_own); //~ log-sd-gradient
        }
    }

    fn finish(&self, grad: &mut [f64], ws: &mut Self::Workspace) {
        let (grad_u, grad_own) = self.split_mut(grad);
        self.base.finish(grad_u, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.finish(grad_own);
        }
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        Ok(OutputLayer { log_sd: self.is_there, ..self.base.output_layer()? })
    }
}

impl<M: SecondOrderModel> SecondOrderModel for LogSd<M> {
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace) {
        self.base.keep_backward(self.split(w).0, x, self.split_tile(d_out).0, &mut ws.base);
    }

    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        mut r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        let (u, (of_u, of_own)) = (self.split(w).0, self.split(v));
        let (r_mu, r_s) = self.split_outputs(&mut r_out);
        self.base.forward_tangent(u, x, of_u, r_mu, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.forward(of_own, x, r_s);
        }
    }

    fn backward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let ((u, own), of_u) = (self.split(w), self.split(v).0);
        let ((hv_u, hv_own), (r_d_mu, r_d_s)) = (self.split_mut(hv), self.split_tile(r_d_out));
        self.base.backward_tangent(u, x, of_u, r_d_mu, hv_u, &mut ws.base);
        if let Some(log_sd) = &mut ws.log_sd {
            log_sd.backward(own, x, r_d_s, hv_own);
            log_sd.finish(hv_own);
        }
    }
}
