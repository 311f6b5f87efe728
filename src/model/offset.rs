//! A model beside an offset: a feature whose weight is 1.

use super::{Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;

/// A model whose last input is added to every output.
///
/// ```text
/// f(x, o; w) = g(x; w) + o
/// ```
///
/// g is the base model, and the offset o is the last of the D + 1 inputs; it has no weight. With o = log e
/// and the log link of [`Poisson`](crate::likelihood::Poisson) and
/// [`NegativeBinomial`](crate::likelihood::NegativeBinomial), the expected count is e exp(g): g is the log rate
/// per unit of the exposure e. The derivatives with respect to w are g's own.
///
/// Source: McCullagh and Nelder, *Generalized Linear Models* (2nd edition, 1989), section 6.2,
/// doi:10.1201/9780203753736.
///
/// ```
/// use bnn_mcmc::model::{Linear, Model, Offset};
/// let model = Offset::new(Linear::new(3, 1)?);
/// assert_eq!((model.n_inputs(), model.layout().dim()), (4, 3 + 1));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset<M> {
    base: M,
    is_there: bool,
}

impl<M: Model> Offset<M> {
    /// `base` with an offset, which is one more input, the last.
    pub fn new(base: M) -> Self {
        Self { base, is_there: true }
    }

    /// `base` without an offset, for programs that choose as they run: the same model as `base`.
    pub fn without(base: M) -> Self {
        Self { base, is_there: false }
    }

    /// The model without the offset.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// The inputs of the base, and the offset.
    fn split<'x>(&self, x: Tile<'x>) -> (Tile<'x>, Option<&'x [f64]>) {
        if !self.is_there {
            return (x, None);
        }
        let inputs = self.base.n_inputs();
        let (of_base, _) = x.values().split_at(inputs * x.stride());
        (Tile::new(of_base, x.rows()), Some(x.column(inputs)))
    }
}

impl<M: Model> Model for Offset<M> {
    type Workspace = M::Workspace;

    forward! { self => self.base;
        fn layout() -> Layout;
        fn n_outputs() -> usize;
        fn input_axes() -> Vec<(String, usize)>;
        fn output_axes() -> Vec<(String, usize)>;
        fn named_axes() -> Vec<(String, usize, Vec<String>)>;
        fn tile_rows() -> usize;
        fn workspace() -> M::Workspace;
        fn begin(w: &[f64], ws: &mut M::Workspace);
        fn finish(grad: &mut [f64], ws: &mut M::Workspace);
    }

    fn n_inputs(&self) -> usize {
        self.base.n_inputs() + usize::from(self.is_there)
    }

    fn description(&self) -> Option<String> {
        let base = self.base.description()?;
        Some(if self.is_there { format!("{base}, with an offset") } else { base })
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut Self::Workspace) {
        let (x, offset) = self.split(x);
        self.base.forward(w, x, out.reborrow(), ws);
        let Some(offset) = offset else { return };
        for j in 0..out.columns() {
            for (f, o) in out.column(j).iter_mut().zip(offset) {
                *f += o; //~ offset
            }
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
        self.base.backward(w, self.split(x).0, d_out, grad, ws);
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        if self.is_there {
            let found = self.description().unwrap_or_else(|| "a model with an offset".into());
            return Err(Error::argument("model", found, super::LINEAR_OUTPUTS));
        }
        self.base.output_layer()
    }
}

impl<M: SecondOrderModel> SecondOrderModel for Offset<M> {
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace) {
        self.base.keep_backward(w, self.split(x).0, d_out, ws);
    }

    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        self.base.forward_tangent(w, self.split(x).0, v, r_out, ws);
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
        self.base.backward_tangent(w, self.split(x).0, v, r_d_out, hv, ws);
    }
}
