//! Models that are linear in their weights, around a point.

use super::{Model, SecondOrderModel};
use crate::Error;
use crate::engine::{Tile, TileMut, TileStorage};
use crate::layout::Layout;

/// The first-order expansion of a model in its weights:
///
/// ```text
/// f_lin(x; w) = f(x; w0) + J(x; w0) (w - w0)
/// ```
///
/// with J the Jacobian of the outputs with respect to the weights. It is a model like any other,
/// with the layout of its base: J v is the base's
/// [`forward_tangent`](SecondOrderModel::forward_tangent), J^T d_out its
/// [`backward`](Model::backward), both at w0, and second derivatives are zero. An evaluation costs
/// one forward pass more than the base's.
///
/// Its posterior is the posterior of a generalised linear model whose features are the columns of
/// J. With Gaussian noise of a known variance and normal priors it is a normal distribution. The
/// [Laplace approximation](crate::approximate::LaplaceApproximation) of the base at w0 with
/// [`Curvature::Expected`](crate::targets::Curvature::Expected) has the same covariance, and at a
/// mode w0 the same mean. With draws of that approximation, predict by f_lin; by f they often
/// underfit (Immer, Korzepa and Bauer, AISTATS 2021, arXiv:2008.08400).
///
/// The [description](Model::description) is the base's, followed by `linearised at` and a checksum
/// of w0. A posterior of f_lin accepts draws of the posterior of f, whose w means the same; a
/// posterior of f refuses draws of f_lin.
///
/// Made by [`Posterior::linearised`](crate::posterior::Posterior::linearised).
#[derive(Clone, Debug, PartialEq)]
pub struct Linearised<M> {
    base: M,
    at: Vec<f64>,
}

/// The text in the description of a linearised model between the description of its base and the
/// checksum.
pub(crate) const LINEARISED: &str = ", linearised at ";

impl<M: SecondOrderModel> Linearised<M> {
    /// `base` around the weights `at`.
    ///
    /// # Errors
    /// `at` of the wrong length, or not finite.
    pub fn new(base: M, at: Vec<f64>) -> Result<Self, Error> {
        let dim = base.layout().dim();
        if at.len() != dim {
            return Err(Error::shape("number of weights to linearise around", at.len(), dim));
        }
        if let Some(i) = at.iter().position(|w| !w.is_finite()) {
            let what = format!("weight {i} to linearise around");
            return Err(Error::argument(what, at[i], "a finite number"));
        }
        Ok(Self { base, at })
    }

    /// The model that is linearised.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// w0.
    pub fn at(&self) -> &[f64] {
        &self.at
    }
}

/// Scratch memory of a [`Linearised`] model.
#[derive(Debug)]
pub struct LinearisedWorkspace<W> {
    base: W,
    /// w - w0.
    direction: Vec<f64>,
    tangent: TileStorage,
}

impl<M: SecondOrderModel> Model for Linearised<M> {
    type Workspace = LinearisedWorkspace<M::Workspace>;

    fn layout(&self) -> Layout {
        self.base.layout()
    }

    fn n_inputs(&self) -> usize {
        self.base.n_inputs()
    }

    fn n_outputs(&self) -> usize {
        self.base.n_outputs()
    }

    fn description(&self) -> Option<String> {
        let mut crc = crc32fast::Hasher::new();
        self.at.iter().for_each(|w| crc.update(&w.to_le_bytes()));
        Some(format!("{}{LINEARISED}{:08x}", self.base.description()?, crc.finalize()))
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        self.base.input_axes()
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        self.base.output_axes()
    }

    fn tile_rows(&self) -> usize {
        self.base.tile_rows()
    }

    fn workspace(&self) -> Self::Workspace {
        LinearisedWorkspace {
            base: self.base.workspace(),
            direction: vec![0.0; self.at.len()],
            tangent: TileStorage::for_columns(self.base.n_outputs()),
        }
    }

    fn begin(&self, w: &[f64], ws: &mut Self::Workspace) {
        for ((v, w), at) in ws.direction.iter_mut().zip(w).zip(&self.at) {
            *v = w - at; //~ linearised-direction
        }
        self.base.begin(&self.at, &mut ws.base);
    }

    fn forward(&self, _: &[f64], x: Tile, mut out: TileMut, ws: &mut Self::Workspace) {
        let LinearisedWorkspace { base, direction, tangent } = ws;
        self.base.forward(&self.at, x, out.reborrow(), base);
        let mut tangent = TileMut::new(&mut tangent[..out.values().len()], x.rows());
        self.base.forward_tangent(&self.at, x, direction, tangent.reborrow(), base);
        out.values().iter_mut().zip(tangent.values()).for_each(|(out, t)| *out += *t);
    }

    fn backward(
        &self,
        _: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        self.base.backward(&self.at, x, d_out, grad, &mut ws.base);
    }

    fn finish(&self, grad: &mut [f64], ws: &mut Self::Workspace) {
        self.base.finish(grad, &mut ws.base);
    }
}

impl<M: SecondOrderModel> SecondOrderModel for Linearised<M> {
    fn keep_backward(&self, _: &[f64], _: Tile, _: Tile, _: &mut Self::Workspace) {}

    fn forward_tangent(
        &self,
        _: &[f64],
        x: Tile,
        v: &[f64],
        r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        self.base.forward_tangent(&self.at, x, v, r_out, &mut ws.base);
    }

    fn backward_tangent(
        &self,
        _: &[f64],
        x: Tile,
        _: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        self.base.backward(&self.at, x, r_d_out, hv, &mut ws.base);
        self.base.finish(hv, &mut ws.base);
    }
}
