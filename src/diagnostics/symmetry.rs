//! The symmetries of a network's weights: permutations of hidden units, and sign flips.

use std::fmt;

use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

use crate::Error;
use crate::layout::Layout;
use crate::linalg::assignment::Assignment;
use crate::linalg::dot::dot;
use crate::model::{Activation, Mlp};

/// A hidden unit as a [`SymmetryElement`] places it: which unit it was, and whether its signs are
/// flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HiddenUnit {
    /// The unit of the original weights, counted from 0 within its layer.
    pub from: usize,
    /// Whether incoming weights, bias and outgoing weights change their sign.
    pub flipped: bool,
}

/// One symmetry of a network's weights, an element of the group of its [`Symmetries`]: for each hidden
/// layer, the [`HiddenUnit`] in each place.
///
/// It is written as `+1 -0 | +0 +1 +2`: layers apart, units with their signs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SymmetryElement {
    /// The units of each hidden layer, in the order of their new places.
    pub layers: Vec<Vec<HiddenUnit>>,
}

impl fmt::Display for SymmetryElement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let unit = |u: &HiddenUnit| format!("{}{}", if u.flipped { '-' } else { '+' }, u.from);
        let layer = |units: &Vec<HiddenUnit>| units.iter().map(unit).collect::<Vec<_>>().join(" ");
        f.pad(&self.layers.iter().map(layer).collect::<Vec<_>>().join(" | "))
    }
}

/// The symmetries of a network's weights: permutations of hidden units, and sign flips, that change
/// the weights of an [`Mlp`] and not its function.
///
/// Let layer l of an [`Mlp`] have weights W_l `[H_l x H_{l-1}]`, biases b_l and H_l hidden units,
/// for l = 1 to L, and let layer L + 1 be the output. For permutation matrices P_l and diagonal
/// matrices S_l of signs, with A_l = S_l P_l and A_0 = A_{L+1} = I, the weights
///
/// ```text
/// W'_l = A_l W_l A_{l-1}^T,   b'_l = A_l b_l
/// ```
///
/// give the same function if the hidden activation phi commutes with every A_l. Each phi commutes
/// with permutations; an odd one, phi(-z) = -phi(z), also with signs: tanh, and identity. These A
/// form a group of prod_l H_l! elements, or prod_l H_l! 2^{H_l} with signs (Chen, Lu and
/// Hecht-Nielsen 1993, doi:10.1162/neco.1993.5.6.910, who show that it is the whole group for
/// tanh).
///
/// **Which of them leave the posterior alone** depends on the prior: permutations, if the prior of
/// a block is exchangeable (equal and independent for all its entries); signs, if it is symmetric
/// about 0 as well. N(5, 1) is not: then call [`Symmetries::without_flips`]. Priors that differ
/// between units have neither symmetry, and aligned draws then no posterior to be draws of.
///
/// **The group leaves out** maps that keep the function but not a normal prior's density: the
/// invertible maps between layers of `identity` units, the positive scalings of `relu` units, and
/// the mirrored units of `sigmoid`, for which sigmoid(-z) = 1 - sigmoid(z) moves the next bias.
/// Draws may differ by these after alignment, and chains may sit in modes of unequal weight because
/// of them.
///
/// # Alignment
/// [`Symmetries::align`] replaces q by the equivalent weights nearest to a reference r. All
/// equivalent weights have the same norm, so that |A q - r|^2 is smallest where the scalar product
/// of A q and r is largest. With the other layers fixed, unit k of layer l in the place of unit i
/// contributes s c_ik, s its sign and
///
/// ```text
/// c_ik = sum_j R_l[i, j] W_l[k, j] + r_l[i] b_l[k] + sum_o R_{l+1}[o, i] W_{l+1}[o, k]
/// ```
///
/// so that the best sign is the sign of c_ik, and the best permutation the assignment with the
/// largest sum of |c_ik| (of c_ik without signs).
///
/// - **One hidden layer**: one assignment, which is exact.
/// - **Several**: layers in turn, each given the others, until the scalar product no longer grows
///   (weight matching: Ainsworth, Hayase and Srinivasa 2022, arXiv:2209.04836). **This is a local
///   optimum**; the exact problem is NP-hard. The better of two starts is kept: layers matched by
///   their incoming weights from the first on, and by their outgoing weights from the last on.
///   Neither depends on which of the equivalent weights q is, and so neither does the result. Where
///   q is near an image of r, it is found; of 100 pairs of unrelated weights 2-3-3-1 with tanh, 61
///   got the global optimum.
///
/// Other parameters (a noise variance, hierarchical scales) are not touched and do not count. Time
/// per draw: H_l^2 (H_{l-1} + H_{l+1} + H_l) for each layer and sweep.
///
/// ```
/// use bnn_mcmc::diagnostics::Symmetries;
/// use bnn_mcmc::prelude::*;
/// let network = Mlp::new(&[1, 2, 1], Activation::Tanh)?;
/// let symmetries = Symmetries::new(&network, &network.layout())?;
/// assert_eq!(symmetries.order(), 8.0); // 2! permutations, 2^2 flips
/// //       w0          b0          w1          b1
/// let r = [2.0, -1.0, 0.5, 0.0, 1.0, 3.0, 0.1];
/// let mut q = [1.1, 2.1, 0.1, 0.4, -2.9, 1.0, 0.2];
/// let element = symmetries.align(&mut q, &r)?;
/// assert_eq!(q, [2.1, -1.1, 0.4, -0.1, 1.0, 2.9, 0.2]);
/// assert_eq!(element.to_string(), "+1 -0"); // unit 1, and unit 0 with its signs flipped
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetries {
    layers: Vec<Layer>,
    layout: Layout,
    flips: bool,
}

/// The places of W_l, row-major, and b_l in q.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    inputs: usize,
    units: usize,
    w: usize,
    b: usize,
}

impl Layer {
    fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.w + i * self.inputs..self.w + (i + 1) * self.inputs
    }
}

/// The condition on weights under which their scalar products are finite.
pub(super) const FINITE: &str = "finite, with a finite sum of squares";

/// Scratch memory of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    assignment: Assignment,
    /// c, then the costs.
    products: Vec<f64>,
    costs: Vec<f64>,
    units: Vec<HiddenUnit>,
    old_units: Vec<HiddenUnit>,
    old_weights: Vec<f64>,
    /// q and its element from the other start.
    other: (Vec<f64>, Vec<HiddenUnit>),
}

/// The weights of a unit that are compared.
#[derive(Clone, Copy, PartialEq)]
enum Match {
    Incoming,
    Outgoing,
    Both,
}

impl Symmetries {
    /// The symmetries of `network`, whose blocks `w0`, `b0`, `w1`, ... are among the blocks of
    /// `layout`.
    ///
    /// # Errors
    /// A block that is missing, or that has another shape than the network's.
    pub fn new(network: &Mlp, layout: &Layout) -> Result<Self, Error> {
        let find = |name: String, shape: &[usize]| -> Result<usize, Error> {
            let start = layout.try_range(&name)?.start;
            let block = layout.blocks().iter().find(|b| b.name == name);
            match block.map(|b| &b.shape[..]) {
                Some(found) if found == shape => Ok(start),
                found => {
                    let found = format!("{:?}", found.unwrap_or(&[]));
                    Err(Error::shape(format!("block `{name}`"), found, format!("{shape:?}")))
                }
            }
        };
        let layer = |(l, size): (usize, &[usize])| {
            let (inputs, units) = (size[0], size[1]);
            let w = find(format!("w{l}"), &[units, inputs])?;
            Ok(Layer { inputs, units, w, b: find(format!("b{l}"), &[units])? })
        };
        let layers = network.sizes().windows(2).enumerate().map(layer).collect::<Result<_, _>>()?;
        let flips = matches!(network.hidden(), Activation::Tanh | Activation::Identity);
        Ok(Self { layers, layout: layout.clone(), flips })
    }

    /// The permutations only, for priors that are not symmetric about 0.
    pub fn without_flips(mut self) -> Self {
        self.flips = false;
        self
    }

    /// Whether sign flips are among the symmetries.
    pub fn has_flips(&self) -> bool {
        self.flips
    }

    /// The number of units of each hidden layer.
    pub fn hidden_sizes(&self) -> Vec<usize> {
        self.hidden().iter().map(|l| l.units).collect()
    }

    /// The number of symmetries, the order of the group; infinite above 1.8e308, where
    /// [`ln_order`](Self::ln_order) is not.
    pub fn order(&self) -> f64 {
        let sign = if self.flips { 2.0 } else { 1.0 };
        let of_layer = |l: &Layer| (1..=l.units).map(|k| k as f64 * sign).product::<f64>();
        self.hidden().iter().map(of_layer).product()
    }

    /// The logarithm of the number of symmetries.
    pub fn ln_order(&self) -> f64 {
        let sign = if self.flips { std::f64::consts::LN_2 } else { 0.0 };
        let of_layer = |l: &Layer| ln_gamma(l.units as f64 + 1.0) + l.units as f64 * sign;
        self.hidden().iter().map(of_layer).sum()
    }

    /// Replaces `q` by the equivalent weights that `element` makes of it.
    ///
    /// # Errors
    /// `q` of another length than the layout's, or an element that is not among these symmetries.
    pub fn apply(&self, element: &SymmetryElement, q: &mut [f64]) -> Result<(), Error> {
        self.check_length("length of `q`", q)?;
        let is_permutation = |units: &[HiddenUnit]| {
            let mut from: Vec<usize> = units.iter().map(|u| u.from).collect();
            from.sort_unstable();
            from.into_iter().eq(0..units.len())
        };
        let sizes: Vec<usize> = element.layers.iter().map(Vec::len).collect();
        let units = || element.layers.iter().flatten();
        if sizes != self.hidden_sizes()
            || !element.layers.iter().all(|l| is_permutation(l))
            || (!self.flips && units().any(|u| u.flipped))
        {
            let flips = if self.flips { "with" } else { "without" };
            let allowed = format!("permutations of {:?} units {flips} flips", self.hidden_sizes());
            return Err(Error::argument("element", format!("`{element}`"), allowed));
        }
        let mut scratch = Scratch::default();
        for (l, units) in element.layers.iter().enumerate() {
            self.rearrange(q, l, units, &mut scratch.old_weights);
        }
        Ok(())
    }

    /// Replaces `q` by the equivalent weights nearest to `reference`: exactly with one hidden
    /// layer, a local optimum with more (see the [`Symmetries`]). Returns the transformation, so
    /// that [`apply`](Self::apply) can repeat it.
    ///
    /// # Errors
    /// `q` or `reference` of another length than the layout's, or with weights that are not finite
    /// or whose squares overflow.
    pub fn align(&self, q: &mut [f64], reference: &[f64]) -> Result<SymmetryElement, Error> {
        self.check("q", q)?;
        self.check("reference", reference)?;
        let mut code = self.identity();
        self.align_checked(q, reference, &mut code, &mut Scratch::default());
        Ok(self.element(&code))
    }

    pub(super) fn check(&self, name: &str, q: &[f64]) -> Result<(), Error> {
        self.check_length(&format!("length of `{name}`"), q)?;
        if self.has_finite_norm(q) {
            return Ok(());
        }
        Err(Error::argument(name, "not finite, or too large", FINITE))
    }

    fn check_length(&self, what: &str, q: &[f64]) -> Result<(), Error> {
        if q.len() == self.layout.dim() {
            Ok(())
        } else {
            Err(Error::shape(what, q.len(), self.layout.dim()))
        }
    }

    /// Whether scalar products of the weights with others of finite norm are finite.
    pub(super) fn has_finite_norm(&self, q: &[f64]) -> bool {
        self.product(q, q).is_finite()
    }

    /// The scalar product of two networks' weights.
    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        let of_layer = |l: &Layer| {
            let (w, b_at) = (l.w..l.w + l.units * l.inputs, l.b..l.b + l.units);
            dot::<1>(&a[w.clone()], &b[w]) + dot::<1>(&a[b_at.clone()], &b[b_at])
        };
        self.layers.iter().map(of_layer).sum()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    fn hidden(&self) -> &[Layer] {
        &self.layers[..self.layers.len() - 1]
    }

    pub(super) fn n_hidden_units(&self) -> usize {
        self.hidden().iter().map(|l| l.units).sum()
    }

    /// The units of all layers, one after the other, as they are.
    pub(super) fn identity(&self) -> Vec<HiddenUnit> {
        let layer = |l: &Layer| (0..l.units).map(|from| HiddenUnit { from, flipped: false });
        self.hidden().iter().flat_map(layer).collect()
    }

    pub(super) fn element(&self, code: &[HiddenUnit]) -> SymmetryElement {
        let mut rest = code;
        let layer = |l: &Layer| {
            let (units, tail) = rest.split_at(l.units);
            rest = tail;
            units.to_vec()
        };
        SymmetryElement { layers: self.hidden().iter().map(layer).collect() }
    }

    /// Aligns like [`align`](Self::align), for arguments that were checked; `code` is the identity
    /// before and the element after.
    pub(super) fn align_checked(
        &self,
        q: &mut [f64],
        reference: &[f64],
        code: &mut [HiddenUnit],
        scratch: &mut Scratch,
    ) {
        let layers = self.hidden().len();
        if layers <= 1 {
            if layers == 1 {
                self.rematch(0, Match::Both, q, reference, code, scratch);
            }
            return;
        }
        let (mut other, mut other_code) = std::mem::take(&mut scratch.other);
        other.clear();
        other.extend_from_slice(q);
        other_code.clear();
        other_code.extend_from_slice(code);
        for l in 0..layers {
            self.rematch(l, Match::Incoming, q, reference, code, scratch);
        }
        for l in (0..layers).rev() {
            self.rematch(l, Match::Outgoing, &mut other, reference, &mut other_code, scratch);
        }
        self.climb(q, reference, code, scratch);
        self.climb(&mut other, reference, &mut other_code, scratch);
        if self.product(&other, reference) > self.product(q, reference) {
            q.copy_from_slice(&other);
            code.copy_from_slice(&other_code);
        }
        scratch.other = (other, other_code);
    }

    /// Layers in turn, each given the others, until none improves.
    fn climb(
        &self,
        q: &mut [f64],
        reference: &[f64],
        code: &mut [HiddenUnit],
        scratch: &mut Scratch,
    ) {
        let layers = self.hidden().len();
        // Layers in a row that did not improve. The product grows by more than its rounding error
        // whenever one does, and the group is finite.
        let (mut l, mut unimproved) = (0, 0);
        while unimproved < layers {
            let improved = self.rematch(l, Match::Both, q, reference, code, scratch);
            unimproved = if improved { 1 } else { unimproved + 1 };
            l = (l + 1) % layers;
        }
    }

    /// Rearranges the units of hidden layer `l` in the best way, if that is better than to leave
    /// them as they are.
    fn rematch(
        &self,
        l: usize,
        by: Match,
        q: &mut [f64],
        reference: &[f64],
        code: &mut [HiddenUnit],
        scratch: &mut Scratch,
    ) -> bool {
        let Scratch { assignment, products, costs, units, old_units, old_weights, .. } = scratch;
        let (layer, next) = (&self.layers[l], &self.layers[l + 1]);
        let n = layer.units;
        products.clear();
        products.resize(n * n, 0.0);
        if by != Match::Outgoing {
            for (i, products) in products.chunks_exact_mut(n).enumerate() {
                let (row, bias) = (&reference[layer.row(i)], reference[layer.b + i]);
                for (k, c) in products.iter_mut().enumerate() {
                    *c = dot::<1>(row, &q[layer.row(k)]) + bias * q[layer.b + k];
                }
            }
        }
        if by != Match::Incoming {
            for o in 0..next.units {
                let (row, q_row) = (&reference[next.row(o)], &q[next.row(o)]);
                for (r, products) in row.iter().zip(products.chunks_exact_mut(n)) {
                    for (c, w) in products.iter_mut().zip(q_row) {
                        *c += r * w;
                    }
                }
            }
        }
        costs.clear();
        costs.extend(products.iter().map(|c| if self.flips { -c.abs() } else { -c }));
        let best = assignment.solve(costs, n);
        let (mut gain, mut scale) = (0.0, 0.0);
        units.clear();
        for (i, &from) in best.iter().enumerate() {
            let (c, now) = (products[i * n + from], products[i * n + i]);
            units.push(HiddenUnit { from, flipped: self.flips && c < 0.0 });
            gain += -costs[i * n + from] - now;
            scale += c.abs() + now.abs();
        }
        let better = gain > 1e-13 * n as f64 * scale;
        if better {
            self.rearrange(q, l, units, old_weights);
            let start = self.layers[..l].iter().map(|l| l.units).sum::<usize>();
            let code = &mut code[start..start + n];
            old_units.clear();
            old_units.extend_from_slice(code);
            for (code, unit) in code.iter_mut().zip(&*units) {
                let old = old_units[unit.from];
                *code = HiddenUnit { from: old.from, flipped: old.flipped ^ unit.flipped };
            }
        }
        better
    }

    /// Puts `units` into the places of hidden layer `l`.
    fn rearrange(&self, q: &mut [f64], l: usize, units: &[HiddenUnit], old: &mut Vec<f64>) {
        let (layer, next) = (&self.layers[l], &self.layers[l + 1]);
        let signed = |x: f64, unit: &HiddenUnit| if unit.flipped { -x } else { x };
        let weights = layer.w..layer.w + layer.units * layer.inputs;
        old.clear();
        old.extend_from_slice(&q[weights.clone()]);
        for (row, unit) in q[weights].chunks_exact_mut(layer.inputs).zip(units) {
            let old_row = &old[unit.from * layer.inputs..(unit.from + 1) * layer.inputs];
            row.iter_mut().zip(old_row).for_each(|(new, old)| *new = signed(*old, unit));
        }
        let rows = (0..next.units).map(|o| next.row(o));
        for range in rows.chain(std::iter::once(layer.b..layer.b + layer.units)) {
            old.clear();
            old.extend_from_slice(&q[range.clone()]);
            q[range].iter_mut().zip(units).for_each(|(new, u)| *new = signed(old[u.from], u));
        }
    }
}
