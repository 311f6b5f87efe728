//! Weights as standard weights times scales that are sampled: the non-centred parameterisation.

use std::ops::Range;

use super::mlp_f32::MlpF32Workspace;
use super::{Mlp, MlpF32, Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::portable::exp;

/// A model with some weights replaced by products of a scale, which is sampled, and a standard
/// weight.
///
/// ```text
/// f(x; s, z) = g(x; w),   w_i = e^(s_g / 2) z_i for weight i of group g,   w_i = z_i for all others
/// d / d z_i = e^(s_g / 2) d / d w_i,   d / d s_g = sum over the group of w_i (d / d w_i) / 2
/// ```
///
/// s_g is the log variance of a group: of [a block](Self::by_block), such as a layer, or of the
/// [columns](Self::by_column) of a matrix, such as the weights of one input. With z_i ~ N(0, 1) it is
/// the hierarchical prior w_i ~ N(0, e^s_g) of
/// [`Priors::hierarchical`](crate::prior::Priors::hierarchical) and
/// [`Priors::ard`](crate::prior::Priors::ard), whose coordinates are w and s. There a group that the
/// data say little about makes a funnel, narrow where s is small; here its z and s are independent
/// of each other. A group that the data determine well is easier with the coordinates w and s.
///
/// The log variances are the first blocks, in the order in which they were added, and the blocks of
/// g follow with z in the place of w. Give the log variances priors by name, such as
/// [`LogHalfT`](crate::prior::LogHalfT), and the z normal priors of fan-in
/// ([`Priors::by_fan_in`](crate::prior::Priors::by_fan_in)). An evaluation takes two passes over the
/// weights more than one of g.
///
/// Sources: Papaspiliopoulos, Roberts and Skold, Statistical Science 22, 2007,
/// doi:10.1214/088342307000000014; Betancourt and Girolami, arXiv:1312.0906.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::model::NonCentred;
/// let network = Mlp::new(&[3, 8, 1], Activation::Tanh)?;
/// // The first two inputs are the indicators of one column of a table.
/// let network = NonCentred::new(network).by_column("w0", "log_relevance", &["sex", "sex", "age"])?;
/// assert_eq!(network.layout().range("log_relevance"), Some(0..2));
/// let priors = Priors::by_fan_in(&network).with("log_relevance", LogHalfCauchy::new(1.0)?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonCentred<M> {
    base: M,
    groups: Vec<Groups>,
}

/// The groups of one block of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Groups {
    /// The block of log variances.
    name: String,
    /// The block of z, its coordinates among the base's, and the number of its columns.
    block: String,
    range: Range<usize>,
    /// The group of each column, counted from 0; a single 0 if the block is one group.
    of_column: Vec<usize>,
    /// The names of the groups of columns; none if the block is one group.
    names: Vec<String>,
}

impl Groups {
    fn len(&self) -> usize {
        self.names.len().max(1)
    }
}

impl<M: Model> NonCentred<M> {
    /// `base`, with no groups yet.
    pub fn new(base: M) -> Self {
        Self { base, groups: Vec::new() }
    }

    /// The model g.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// Gives one scale to all weights of a block, with the log variance in a new block, of one
    /// coordinate.
    ///
    /// # Errors
    /// No such block; a block that has scales already; a name that is taken.
    pub fn by_block(self, block: &str, log_variance: &str) -> Result<Self, Error> {
        self.with(block, log_variance, None)
    }

    /// Gives scales to the columns of a matrix: column j is in the group `group_of_column[j]`, by its
    /// name. The log variances are in a new block, one for each group, in the order in which the
    /// groups occur. For the first layer of a network a column is an input.
    ///
    /// # Errors
    /// No such matrix; another number of columns; a block that has scales already; a name of a block
    /// that is taken.
    pub fn by_column(
        self,
        block: &str,
        log_variances: &str,
        group_of_column: &[impl AsRef<str>],
    ) -> Result<Self, Error> {
        let names: Vec<&str> = group_of_column.iter().map(AsRef::as_ref).collect();
        self.with(block, log_variances, Some(&names))
    }

    fn with(mut self, block: &str, name: &str, columns: Option<&[&str]>) -> Result<Self, Error> {
        let layout = self.layout();
        if layout.range(name).is_some() {
            let allowed = format!("none of {}", layout.block_names().join(", "));
            return Err(Error::argument("name of a block of log variances", name, allowed));
        }
        if self.has_scale(block) {
            return Err(Error::argument("block", block, "a block that has no scales yet"));
        }
        let base = self.base.layout();
        let range = base.try_range(block)?;
        let (mut names, mut of_column) = (Vec::new(), vec![0]);
        if let Some(columns) = columns {
            let shape = base.blocks().iter().find(|b| b.name == block).map(|b| &b.shape[..]);
            let expected = match shape {
                Some([_, columns]) => *columns,
                _ => return Err(Error::argument("block", block, "a matrix")),
            };
            if columns.len() != expected {
                let what = format!("columns of `{block}`");
                return Err(Error::shape(what, columns.len(), expected));
            }
            for name in columns {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_string());
                }
            }
            let place = |name: &&str| names.iter().position(|known| known == name).unwrap_or(0);
            of_column = columns.iter().map(place).collect();
        }
        self.groups.push(Groups {
            name: name.to_string(),
            block: block.to_string(),
            range,
            of_column,
            names,
        });
        Ok(self)
    }

    /// Whether the weights of a block have a scale.
    pub(crate) fn has_scale(&self, block: &str) -> bool {
        self.groups.iter().any(|groups| groups.block == block)
    }

    /// The names of the groups whose log variances are in this block; none if it is one group.
    pub(crate) fn names_of_scales(&self, log_variances: &str) -> &[String] {
        let groups = self.groups.iter().find(|groups| groups.name == log_variances);
        groups.map_or(&[], |groups| &groups.names)
    }

    fn n_scales(&self) -> usize {
        self.groups.iter().map(Groups::len).sum()
    }

    /// The groups, with the place of their first log variance.
    fn each(&self) -> impl Iterator<Item = (&Groups, usize)> {
        self.groups.iter().scan(0, |next, groups| {
            let first = *next;
            *next += groups.len();
            Some((groups, first))
        })
    }

    /// Calls `work(i, g)` for each weight i of the base in a group, with the place g of its log
    /// variance.
    fn for_each(&self, mut work: impl FnMut(usize, usize)) {
        for (Groups { range, of_column, .. }, first) in self.each() {
            for (i, group) in range.clone().zip(of_column.iter().cycle()) {
                work(i, first + group);
            }
        }
    }
}

/// Scratch memory of a [`NonCentred`] model.
#[derive(Debug)]
pub struct NonCentredWorkspace<W> {
    base: W,
    /// e^(s / 2).
    sd: Vec<f64>,
    w: Vec<f64>,
    /// The derivative with respect to w; zero between evaluations.
    grad: Vec<f64>,
    tangent: Option<Tangent>,
}

/// Scratch memory of second derivatives, allocated at their first use.
#[derive(Debug)]
struct Tangent {
    /// The derivative of w along v, and of the gradient with respect to w.
    r_w: Vec<f64>,
    r_grad: Vec<f64>,
    /// The gradient with respect to w of the latest tile.
    grad: Vec<f64>,
}

impl Tangent {
    fn new(dim: usize) -> Self {
        let zeros = || vec![0.0; dim];
        Self { r_w: zeros(), r_grad: zeros(), grad: zeros() }
    }
}

impl<M: Model> Model for NonCentred<M> {
    type Workspace = NonCentredWorkspace<M::Workspace>;

    /// The blocks of log variances, then the base's.
    fn layout(&self) -> Layout {
        let layout = self.groups.iter().fold(Layout::new(), |layout, groups| {
            let shape = if groups.names.is_empty() { &[][..] } else { &[groups.len()] };
            layout.with(&groups.name, shape)
        });
        layout.then(&self.base.layout())
    }

    forward! { self => self.base;
        fn n_inputs() -> usize;
        fn n_outputs() -> usize;
        fn tile_rows() -> usize;
        fn input_axes() -> Vec<(String, usize)>;
        fn output_axes() -> Vec<(String, usize)>;
    }

    fn description(&self) -> Option<String> {
        let base = self.base.description()?;
        let shown = |groups: &Groups| format!("{} of {}", groups.len(), groups.block);
        let groups: Vec<String> = self.groups.iter().map(shown).collect();
        match groups.is_empty() {
            true => Some(base),
            false => Some(format!("{base}, scales sampled: {}", groups.join(", "))),
        }
    }

    fn named_axes(&self) -> Vec<(String, usize, Vec<String>)> {
        let own = self.groups.iter().filter(|groups| !groups.names.is_empty());
        let own = own.map(|groups| (groups.name.clone(), 0, groups.names.clone()));
        own.chain(self.base.named_axes()).collect()
    }

    fn workspace(&self) -> Self::Workspace {
        let dim = self.base.layout().dim();
        NonCentredWorkspace {
            base: self.base.workspace(),
            sd: vec![0.0; self.n_scales()],
            w: vec![0.0; dim],
            grad: vec![0.0; dim],
            tangent: None,
        }
    }

    fn begin(&self, q: &[f64], ws: &mut Self::Workspace) {
        let NonCentredWorkspace { base, sd, w, .. } = ws;
        let (log_variances, z) = q.split_at(sd.len());
        sd.iter_mut().zip(log_variances).for_each(|(sd, s)| *sd = exp(0.5 * s));
        w.copy_from_slice(z);
        self.for_each(|i, g| w[i] *= sd[g]); //~ non-centred-scale
        self.base.begin(w, base);
    }

    fn forward(&self, _: &[f64], x: Tile, out: TileMut, ws: &mut Self::Workspace) {
        self.base.forward(&ws.w, x, out, &mut ws.base);
    }

    fn backward(&self, _: &[f64], x: Tile, d_out: Tile, _: &mut [f64], ws: &mut Self::Workspace) {
        self.base.backward(&ws.w, x, d_out, &mut ws.grad, &mut ws.base);
    }

    fn finish(&self, to: &mut [f64], ws: &mut Self::Workspace) {
        let NonCentredWorkspace { base, sd, w, grad, .. } = ws;
        self.base.finish(grad, base);
        let (of_scales, of_z) = to.split_at_mut(sd.len());
        self.for_each(|i, g| {
            of_scales[g] += 0.5 * w[i] * grad[i]; //~ non-centred-log-variance
            grad[i] *= sd[g]; //~ non-centred-gradient
        });
        of_z.iter_mut().zip(&*grad).for_each(|(to, grad)| *to += grad);
        grad.fill(0.0);
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        let layer = self.base.output_layer()?;
        let Some(last) = self.groups.iter().map(|groups| groups.range.end).max() else {
            return Ok(layer);
        };
        let hidden = layer
            .hidden
            .as_ref()
            .filter(|hidden| hidden.groups.is_empty() && last <= hidden.base.layout().dim());
        let Some(hidden) = hidden else {
            let found = self.description().unwrap_or_else(|| "a model of your own".into());
            let allowed = "one whose output layer has no scales of its own, if it is to be integrated \
                           out: its prior may be hierarchical";
            return Err(Error::argument("model", found, allowed));
        };
        let hidden = NonCentred { base: hidden.base.clone(), groups: self.groups.clone() };
        Ok(OutputLayer { hidden: Some(hidden), ..layer })
    }
}

impl NonCentred<Mlp> {
    /// The network, computing in f32.
    pub(crate) fn in_f32(self) -> NonCentred<MlpF32> {
        NonCentred { base: self.base.in_f32(), groups: self.groups }
    }
}

impl NonCentred<MlpF32> {
    /// The network that computes, and the gradient with respect to its weights.
    pub(crate) fn network_of(
        ws: &mut NonCentredWorkspace<MlpF32Workspace>,
    ) -> (&mut Network<f32>, &mut [f64]) {
        (&mut ws.base.network, &mut ws.grad)
    }
}

impl<M: SecondOrderModel> SecondOrderModel for NonCentred<M> {
    fn keep_backward(&self, _: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace) {
        let NonCentredWorkspace { base, w, tangent, .. } = ws;
        let Tangent { grad, .. } = tangent.get_or_insert_with(|| Tangent::new(w.len()));
        self.base.keep_backward(w, x, d_out, base);
        grad.fill(0.0);
        self.base.backward(w, x, d_out, grad, base);
        self.base.finish(grad, base);
    }

    fn forward_tangent(
        &self,
        _: &[f64],
        x: Tile,
        v: &[f64],
        r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        let NonCentredWorkspace { base, sd, w, tangent, .. } = ws;
        let Tangent { r_w, .. } = tangent.get_or_insert_with(|| Tangent::new(w.len()));
        let (v_s, v_z) = v.split_at(sd.len());
        r_w.copy_from_slice(v_z);
        self.for_each(|i, g| r_w[i] = sd[g] * r_w[i] + 0.5 * w[i] * v_s[g]); //~ non-centred-tangent
        self.base.forward_tangent(w, x, r_w, r_out, base);
    }

    fn backward_tangent(
        &self,
        _: &[f64],
        x: Tile,
        v: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let NonCentredWorkspace { base, sd, w, tangent, .. } = ws;
        let Tangent { r_w, r_grad, grad } = tangent.get_or_insert_with(|| Tangent::new(w.len()));
        r_grad.fill(0.0);
        self.base.backward_tangent(w, x, r_w, r_d_out, r_grad, base);
        let v_s = &v[..sd.len()];
        let (of_scales, of_z) = hv.split_at_mut(sd.len());
        self.for_each(|i, g| {
            of_scales[g] += 0.5 * (r_grad[i] * w[i] + grad[i] * r_w[i]);
            r_grad[i] = sd[g] * (r_grad[i] + 0.5 * v_s[g] * grad[i]); //~ non-centred-hessian
        });
        of_z.iter_mut().zip(&*r_grad).for_each(|(to, r)| *to += r);
    }
}
