//! Linear parts beside another model: of its inputs, and of groups.

use std::ops::Range;

use super::log_sd::LOG_SD;
use super::{Activation, Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::layer::Layer;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut, TileStorage};
use crate::layout::{Block, Layout};
use crate::message::count;

/// A model with a linear part beside it: skip-layer connections from the inputs to the outputs.
///
/// ```text
/// f(x; u, V) = g(x; u) + V x,   V [K x D]
/// ```
///
/// g is the base model, whose bias serves both parts. What is linear in the features need not be
/// learnt by hidden units, and outside the range of the training rows f goes on as a line where
/// the units of g are saturated. V is one more block, `skip`, after the blocks of g. For R rows of
/// a tile the linear part takes 4 K D R floating-point operations, forward and backward; its second
/// derivatives are zero. If the output layer of g can be [integrated
/// out](crate::targets::Marginal), V is integrated out with it.
///
/// **Groups.** [`intercepts`](Self::intercepts) adds a part of its own inputs z, which g does not see: an
/// indicator, 0 or 1, of each group that a row may belong to (a school, a patient).
///
/// ```text
/// f(x, z; u, V, U) = g(x; u) + V x + U z,     z = (z_1, .., z_G),  U [K x G]
/// ```
///
/// With the prior U_kj | tau ~ N(0, tau^2) and a prior of tau
/// ([`Priors::hierarchical`](crate::prior::Priors::hierarchical)) these are varying (random) intercepts:
/// groups of few rows are drawn towards the others. A column z_j that is 1 in no training row has
/// U_kj | tau, y ~ N(0, tau^2) in the posterior: it is the intercept of a group that was not seen. Where the
/// output layer is integrated out, so is U. Several groupings are several calls, each a block with
/// a tau of its own.
///
/// Sources: Ripley, *Pattern Recognition and Neural Networks* (1996), section 5.1,
/// doi:10.1017/CBO9780511812651; of groups Gelman and Hill, *Data Analysis Using Regression and
/// Multilevel/Hierarchical Models* (2006), chapters 11 and 12, doi:10.1017/CBO9780511790942.
///
/// ```
/// use bnn_mcmc::model::{Activation, Mlp, Model, Skip};
/// let model = Skip::new(Mlp::new(&[8, 40, 1], Activation::Tanh)?)?;
/// assert_eq!(model.layout().block_names(), ["w0", "b0", "w1", "b1", "skip"]);
/// assert_eq!(model.layout().dim(), 8 * 40 + 40 + 40 + 1 + 8);
/// let schools = ["A", "B", "a new one"].map(String::from);
/// let model = model.intercepts("school", schools.to_vec())?;
/// assert_eq!(model.layout().block_names()[5], "group_school");
/// assert_eq!((model.n_inputs(), model.layout().dim()), (8 + 3, 409 + 3));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip<M> {
    base: M,
    parts: Vec<Part>,
}

/// A linear part: V of the inputs that the base has, or U of inputs after them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    block: String,
    inputs: Range<usize>,
    /// The names of the groups; none of V.
    groups: Vec<String>,
}

impl Part {
    fn is_of_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The tile of the part's inputs.
    fn of<'x>(&self, x: Tile<'x>) -> Tile<'x> {
        columns(x, self.inputs.clone())
    }
}

/// Some columns of a tile.
pub(crate) fn columns(x: Tile, columns: Range<usize>) -> Tile {
    let stride = x.stride();
    Tile::new(&x.values()[columns.start * stride..columns.end * stride], x.rows())
}

/// The name of the block of V, and the beginning of the names of the blocks of U.
const SKIP: &str = "skip";
const GROUP: &str = "group_";

/// The blocks of the weights of layers, in order, without the blocks of linear parts beside them, for the
/// outputs or for the noise; and the former, if there is one.
pub(crate) fn layers(layout: &Layout) -> (Vec<&Block>, Option<&Block>) {
    let is_beside = |block: &Block| block.name == LOG_SD[0] || block.name.starts_with(GROUP);
    let is_matrix = |block: &&Block| block.shape.len() == 2 && !is_beside(block);
    let matrices = layout.blocks().iter().filter(is_matrix);
    let (skip, layers): (Vec<_>, Vec<_>) = matrices.partition(|block| block.name == SKIP);
    (layers, skip.first().copied())
}

impl<M: Model> Skip<M> {
    /// `base` with a linear part beside it.
    ///
    /// # Errors
    /// A base with a block called `skip`.
    pub fn new(base: M) -> Result<Self, Error> {
        if base.layout().range(SKIP).is_some() {
            let allowed = "a model without a block of that name: one linear part is enough";
            return Err(Error::argument("block of the base", SKIP, allowed));
        }
        let inputs = 0..base.n_inputs();
        Ok(Self { base, parts: vec![Part { block: SKIP.into(), inputs, groups: Vec::new() }] })
    }

    /// `base` without a linear part, for programs that choose as they run: the same model as `base`.
    pub fn without(base: M) -> Self {
        Self { base, parts: Vec::new() }
    }

    /// The model with an intercept for each of these groups, of a grouping called `name`: as many more
    /// inputs, at the end, and a block `group_name` `[K, G]`, which needs a prior of its own.
    ///
    /// # Errors
    /// No groups, or a grouping or block of that name that is there already.
    pub fn intercepts(mut self, name: &str, groups: Vec<String>) -> Result<Self, Error> {
        let block = format!("{GROUP}{name}");
        if groups.is_empty() {
            return Err(Error::argument(format!("groups of `{name}`"), 0, "1 or more"));
        }
        if self.layout().range(&block).is_some() {
            let allowed = "a name that no other block has";
            return Err(Error::argument("grouping", format!("`{name}`"), allowed));
        }
        let first = self.n_inputs();
        self.parts.push(Part { block, inputs: first..first + groups.len(), groups });
        Ok(self)
    }

    /// The name of the block of the intercepts of a grouping.
    pub(crate) fn block_of_groups(name: &str) -> String {
        format!("{GROUP}{name}")
    }

    /// The inputs that the base has.
    fn of_base<'x>(&self, x: Tile<'x>) -> Tile<'x> {
        columns(x, 0..self.base.n_inputs())
    }

    /// Whether there is a V.
    fn has_skip(&self) -> bool {
        self.parts.iter().any(|part| !part.is_of_groups())
    }

    /// The model beside the linear part.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// The number of weights of the linear parts.
    fn n_linear(&self) -> usize {
        self.n_outputs() * self.parts.iter().map(|part| part.inputs.len()).sum::<usize>()
    }

    /// The weights of the base, u, and of the linear parts.
    fn split<'w>(&self, w: &'w [f64]) -> (&'w [f64], &'w [f64]) {
        w.split_at(w.len() - self.n_linear())
    }

    fn split_mut<'w>(&self, w: &'w mut [f64]) -> (&'w mut [f64], &'w mut [f64]) {
        w.split_at_mut(w.len() - self.n_linear())
    }

    /// Adds the outputs of the linear parts, with the weights `v`.
    fn add_linear(&self, mut v: &[f64], x: Tile, mut to: TileMut, linear: &mut [Linear]) {
        for (part, linear) in self.parts.iter().zip(linear) {
            let own;
            (own, v) = v.split_at(part.inputs.len() * self.n_outputs());
            linear.add(own, part.of(x), to.reborrow());
        }
    }

    /// Adds the gradient with respect to the weights of the linear parts, now or in `finish_linear`.
    fn backward_linear(
        &self,
        mut v: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        linear: &mut [Linear],
    ) {
        let mut rest = grad;
        for (part, linear) in self.parts.iter().zip(linear) {
            let n = part.inputs.len() * self.n_outputs();
            let (own, own_grad);
            (own, v) = v.split_at(n);
            (own_grad, rest) = rest.split_at_mut(n);
            linear.network.backward(own, part.of(x), d_out, own_grad); //~ skip-gradient
        }
    }

    fn finish_linear(&self, grad: &mut [f64], linear: &mut [Linear]) {
        let mut rest = grad;
        for (part, linear) in self.parts.iter().zip(linear) {
            let own;
            (own, rest) = rest.split_at_mut(part.inputs.len() * self.n_outputs());
            linear.network.finish(own);
        }
    }
}

/// Scratch memory of a [`Skip`] model.
#[derive(Debug)]
pub struct SkipWorkspace<W> {
    base: W,
    linear: Vec<Linear>,
}

/// Scratch memory of a linear part.
#[derive(Debug)]
struct Linear {
    network: Network<f64>,
    /// V x.
    out: TileStorage,
}

impl Linear {
    /// Adds V x to `to`.
    fn add(&mut self, v: &[f64], x: Tile, mut to: TileMut) {
        let mut out = TileMut::new(&mut self.out[..to.values().len()], x.rows());
        self.network.forward(v, x, out.reborrow());
        to.values().iter_mut().zip(out.values()).for_each(|(to, part)| *to += *part); //~ skip-sum
    }
}

impl<M: Model> Model for Skip<M> {
    type Workspace = SkipWorkspace<M::Workspace>;

    /// The base's blocks, then `skip` `[K, D]` row-major, then the blocks of [groups](Self::intercepts).
    fn layout(&self) -> Layout {
        let outputs = self.n_outputs();
        let with =
            |layout: Layout, part: &Part| layout.with(&part.block, &[outputs, part.inputs.len()]);
        self.parts.iter().fold(self.base.layout(), with)
    }

    forward! { self => self.base;
        fn n_outputs() -> usize;
        fn tile_rows() -> usize;
    }

    fn n_inputs(&self) -> usize {
        self.parts.last().map_or(0, |part| part.inputs.end).max(self.base.n_inputs())
    }

    fn description(&self) -> Option<String> {
        let mut description = self.base.description()?;
        for Part { block, groups, .. } in &self.parts {
            description += &match groups.len() {
                0 => ", linear part beside it".into(),
                n => format!(", {} of `{}`", count(n, "intercept"), &block[GROUP.len()..]),
            };
        }
        Some(description)
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        let mut axes = self.base.input_axes();
        axes.extend(self.has_skip().then(|| (SKIP.into(), 1)));
        axes
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        let own = self.parts.iter().map(|part| (part.block.clone(), 0));
        self.base.output_axes().into_iter().chain(own).collect()
    }

    fn named_axes(&self) -> Vec<(String, usize, Vec<String>)> {
        let groups = self.parts.iter().filter(|part| part.is_of_groups());
        let own = groups.map(|part| (part.block.clone(), 1, part.groups.clone()));
        self.base.named_axes().into_iter().chain(own).collect()
    }

    fn workspace(&self) -> Self::Workspace {
        let units = self.n_outputs();
        let of = |part: &Part| {
            let inputs = part.inputs.len();
            let layer = Layer { inputs, units, bias: false, activation: Activation::Identity };
            Linear { network: Network::new(vec![layer]), out: TileStorage::for_columns(units) }
        };
        SkipWorkspace { base: self.base.workspace(), linear: self.parts.iter().map(of).collect() }
    }

    fn begin(&self, w: &[f64], ws: &mut Self::Workspace) {
        let (u, mut v) = self.split(w);
        self.base.begin(u, &mut ws.base);
        for (part, linear) in self.parts.iter().zip(&mut ws.linear) {
            let own;
            (own, v) = v.split_at(part.inputs.len() * self.n_outputs());
            linear.network.begin(own);
        }
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut Self::Workspace) {
        let (u, v) = self.split(w);
        self.base.forward(u, self.of_base(x), out.reborrow(), &mut ws.base);
        self.add_linear(v, x, out, &mut ws.linear);
    }

    fn backward(
        &self,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let ((u, v), (grad_u, grad_v)) = (self.split(w), self.split_mut(grad));
        self.base.backward(u, self.of_base(x), d_out, grad_u, &mut ws.base);
        self.backward_linear(v, x, d_out, grad_v, &mut ws.linear);
    }

    fn finish(&self, grad: &mut [f64], ws: &mut Self::Workspace) {
        let (grad_u, grad_v) = self.split_mut(grad);
        self.base.finish(grad_u, &mut ws.base);
        self.finish_linear(grad_v, &mut ws.linear);
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        let layer = self.base.output_layer()?;
        if layer.hidden.is_none() && self.has_skip() {
            let found = self.description().unwrap_or_else(|| "a model of your own".into());
            let allowed = "hidden layers with a linear part beside them: beside a linear model it adds \
                           nothing";
            return Err(Error::argument("model", found, allowed));
        }
        let beside = self.parts.iter().map(|part| part.inputs.clone()).collect();
        Ok(OutputLayer { beside, ..layer })
    }
}

impl<M: SecondOrderModel> SecondOrderModel for Skip<M> {
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace) {
        self.base.keep_backward(self.split(w).0, self.of_base(x), d_out, &mut ws.base);
    }

    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        mut r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        let (u, (of_u, of_v)) = (self.split(w).0, self.split(v));
        self.base.forward_tangent(u, self.of_base(x), of_u, r_out.reborrow(), &mut ws.base);
        self.add_linear(of_v, x, r_out, &mut ws.linear);
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
        let ((u, own), of_u, (hv_u, hv_v)) = (self.split(w), self.split(v).0, self.split_mut(hv));
        self.base.backward_tangent(u, self.of_base(x), of_u, r_d_out, hv_u, &mut ws.base);
        self.backward_linear(own, x, r_d_out, hv_v, &mut ws.linear);
        self.finish_linear(hv_v, &mut ws.linear);
    }
}
