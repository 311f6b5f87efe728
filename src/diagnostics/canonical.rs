//! Canonical draws: each brought to the equivalent weights nearest to one reference.

use std::collections::HashMap;
use std::fmt;

use ndarray::{Array1, Array3, ArrayView1};
use serde::{Deserialize, Serialize};

use super::Summary;
use super::summary::{count, ratio, short, write_table};
use super::symmetry::{FINITE, HiddenUnit, Scratch, Symmetries, SymmetryElement};
use crate::Error;
use crate::draws::Draws;
use crate::threads;

/// The most rounds in which the reference is refined.
const ROUNDS: usize = 10;

/// Draws in canonical form, and where they came from. From [`Symmetries::canonical`].
///
/// Let G be the group of a network's [`Symmetries`] and r a reference. The weights nearer to r than
/// to any other g r, g in G, form a *cell*; its images under G are |G| congruent cells that fill
/// the space. [`Symmetries::canonical`] moves every draw into the cell of r. If q is a draw of a
/// posterior that G leaves alone, the canonical draw is a draw of that posterior restricted to the
/// cell: nothing about functions is lost, and the |G| copies of each mode become one. R-hat,
/// effective sample sizes and covariances of weights then say something.
///
/// **The reference** is the draw of highest log posterior (the last draw of the first chain, where
/// the draws have no statistics), then the mean of the aligned draws, to which all are aligned
/// anew, until no draw changes its cell or 10 rounds are over (generalised Procrustes analysis:
/// Gower 1975, doi:10.1007/BF02291478). To compare two samplers, give the second the reference of
/// the first: it is then used unchanged.
///
/// # Modes visited
/// The element that moves a draw into the cell of r tells in which cell it was, and
/// [`Modes`] counts the cells. **A cell is a mode only if the posterior of the canonical weights
/// lies well inside of it.** Where two units are nearly alike, or a unit's weights are nearly 0 for
/// flips, the posterior straddles the border between two cells, and a chain that never leaves one
/// mode is counted in both. So look at
///
/// - [`Modes::visited`], the number of cells with a draw: what a chain touched, however briefly;
/// - [`Modes::effective`], exp(-sum_g f_g ln f_g) for shares f_g of the draws: cells with a handful
///   of draws hardly count; from 1 to |G|, which it is if all are visited equally often, as all are
///   under the posterior;
/// - [`Modes::transitions`], how often successive draws lie in different cells. Few transitions
///   with long stays are passages between modes; if a fair share of all draws makes one, the border
///   runs through a mode, or there is only one.
///
/// A difference between chains in the cells that they visit says nothing against the predictions,
/// and an agreement of the canonical draws says nothing about modes that are not equivalent.
///
/// Memory: a copy of the draws, and 32 bytes per draw and hidden unit. Time: one alignment per draw
/// and round.
///
/// ```
/// use bnn_mcmc::diagnostics::{BeforeAfter, Symmetries};
/// use bnn_mcmc::prelude::*;
/// // One mode of a network 1-2-1, and three chains in three of its eight images.
/// let network = Mlp::new(&[1, 2, 1], Activation::Tanh)?;
/// let symmetries = Symmetries::new(&network, &network.layout())?;
/// let mode = [2.0, -1.0, 0.5, 0.0, 1.0, 3.0, 0.1];
/// let images = [mode, [-1.0, 2.0, 0.0, 0.5, 3.0, 1.0, 0.1], [2.0, 1.0, 0.5, 0.0, 1.0, -3.0, 0.1]];
/// let mut rng = ChainRng::new(1, 0);
/// let mut around = |x: f64| x + 0.1 * rng.normal();
/// let q = ndarray::Array3::from_shape_fn((3, 500, 7), |(c, _, p)| around(images[c][p]));
/// let draws = Draws::new(network.layout(), q)?;
///
/// let canonical = symmetries.canonical(&draws, None)?;
/// println!("{canonical}");
/// assert_eq!(canonical.all.visited(), 3);
/// let table = BeforeAfter::new(&draws.summary()?, &canonical.draws.summary()?)?;
/// println!("{table}");
/// assert!(draws.summary()?.max_rhat() > 1.5);
/// assert!(canonical.draws.summary()?.max_rhat() < 1.02);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Canonical {
    /// The canonical draws: same layout, chains, statistics and information on the run. The
    /// positions of divergences do not change.
    pub draws: Draws,
    /// The reference weights that the draws were aligned to.
    pub reference: Vec<f64>,
    /// The number of times that the reference was replaced by the mean of the aligned draws; 0 for
    /// a given reference.
    pub rounds: usize,
    /// The number of draws that changed their cell in the last round: 0, or a few draws near borders
    /// when the rounds were over.
    pub changed: usize,
    /// The modes that each chain visited.
    pub chains: Vec<Modes>,
    /// The modes that the chains visited together.
    pub all: Modes,
    /// The number of equivalent modes that there are, [`Symmetries::order`].
    pub order: f64,
}

/// The equivalent modes of a network's weights that draws were found in, and the passages between
/// them. [`Canonical`] says what a cell is, and when it is a mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// For each cell, the element that moves its draws to the cell of the reference, and the number
    /// of its draws; most draws first.
    pub cells: Vec<(SymmetryElement, usize)>,
    /// The number of draws that lie in another cell than the draw before, in the same chain.
    pub transitions: usize,
}

impl Modes {
    /// The number of cells with at least one draw.
    pub fn visited(&self) -> usize {
        self.cells.len()
    }

    /// The number of cells as if all were visited equally often: exp of the entropy of the shares.
    /// NaN without draws.
    pub fn effective(&self) -> f64 {
        let n = self.draws() as f64;
        let entropy = |(_, draws): &(SymmetryElement, usize)| {
            let share = *draws as f64 / n;
            -share * share.ln()
        };
        if n > 0.0 { self.cells.iter().map(entropy).sum::<f64>().exp() } else { f64::NAN }
    }

    /// The number of draws.
    pub fn draws(&self) -> usize {
        self.cells.iter().map(|(_, draws)| draws).sum()
    }
}

impl Symmetries {
    /// Brings all draws to the equivalent weights nearest to one reference, the given one or the
    /// one described in the [`Canonical`], and counts the modes they came from.
    ///
    /// Draws are shared out over the threads of rayon's pool; the result does not depend on their
    /// number.
    ///
    /// # Errors
    /// Draws with other blocks than the layout's, a reference of another length, numbers that are not
    /// finite; no draws and no reference.
    pub fn canonical(&self, draws: &Draws, reference: Option<&[f64]>) -> Result<Canonical, Error> {
        let (chains, length, _) = draws.values().dim();
        draws.check_layout("blocks of the draws", self.layout())?;
        threads::ready()?;
        let is_usable = |q: &ArrayView1<f64>| q.to_slice().is_some_and(|q| self.has_finite_norm(q));
        if let Some(n) = draws.flat().rows().into_iter().position(|q| !is_usable(&q)) {
            let found = format!(
                "draw {} of chain {}, which is not finite or too large",
                n % length,
                n / length
            );
            return Err(Error::argument("draws", found, FINITE));
        }
        let (mut reference, refine) = match reference {
            Some(given) => {
                self.check("reference", given)?;
                (given.to_vec(), false)
            }
            None => (highest(draws)?.to_vec(), true),
        };
        let mut aligned = draws.values().to_owned();
        let mut codes = self.align_all(draws, &reference, &mut aligned);
        let (mut rounds, mut changed) = (0, 0);
        while refine && rounds < ROUNDS {
            let mean = mean(&aligned);
            if !self.has_finite_norm(&mean) {
                break;
            }
            reference = mean;
            let before = codes;
            codes = self.align_all(draws, &reference, &mut aligned);
            let units = self.n_hidden_units().max(1);
            let pairs = before.chunks(units).zip(codes.chunks(units));
            changed = pairs.filter(|(a, b)| a != b).count();
            rounds += 1;
            if changed == 0 {
                break;
            }
        }
        let units = self.n_hidden_units();
        let of_chain =
            |c: usize| self.modes(&codes[c * length * units..(c + 1) * length * units], length);
        let each: Vec<Modes> = (0..chains).map(of_chain).collect();
        let mut all = self.modes(&codes, chains * length);
        all.transitions = each.iter().map(|m| m.transitions).sum();
        let draws = draws.with_values(aligned);
        let order = self.order();
        Ok(Canonical { draws, reference, rounds, changed, chains: each, all, order })
    }

    /// Aligns all `draws` and returns the units of each, one draw after the other.
    fn align_all(
        &self,
        draws: &Draws,
        reference: &[f64],
        aligned: &mut Array3<f64>,
    ) -> Vec<HiddenUnit> {
        aligned.assign(&draws.values());
        let identity = self.identity();
        let n = aligned.dim().0 * aligned.dim().1;
        let mut codes = identity.repeat(n);
        if identity.is_empty() {
            return codes;
        }
        let values = aligned.as_slice_mut().expect("draws are stored in standard order");
        let all = values.chunks_exact_mut(reference.len());
        let mut all: Vec<_> = all.zip(codes.chunks_exact_mut(identity.len())).collect();
        threads::each_with(&mut all, &Scratch::default, &|scratch, _, (q, code)| {
            self.align_checked(q, reference, code, scratch);
        });
        codes
    }

    /// Counts the cells of `draws` successive draws.
    fn modes(&self, codes: &[HiddenUnit], draws: usize) -> Modes {
        let units = self.n_hidden_units();
        if units == 0 {
            let only = (SymmetryElement { layers: Vec::new() }, draws);
            return Modes { cells: if draws > 0 { vec![only] } else { vec![] }, transitions: 0 };
        }
        let mut counts: HashMap<&[HiddenUnit], usize> = HashMap::new();
        for code in codes.chunks_exact(units) {
            *counts.entry(code).or_default() += 1;
        }
        let mut cells: Vec<(&[HiddenUnit], usize)> = counts.into_iter().collect();
        cells.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let cells = cells.into_iter().map(|(code, n)| (self.element(code), n)).collect();
        let successive = codes.chunks_exact(units).zip(codes.chunks_exact(units).skip(1));
        Modes { cells, transitions: successive.filter(|(a, b)| a != b).count() }
    }
}

/// The draw of highest log posterior, or the last one of the first chain.
fn highest(draws: &Draws) -> Result<&[f64], Error> {
    let last = (0, draws.n_draws().saturating_sub(1));
    let at = match (draws.stat("log_likelihood"), draws.stat("log_prior")) {
        (Ok(likelihood), Ok(prior)) => {
            let total = (&likelihood + &prior).into_dyn();
            let finite = total.indexed_iter().filter(|(_, x)| x.is_finite());
            // The first of several that are equally high.
            let best =
                finite.fold(None, |best: Option<((usize, usize), f64)>, (at, x)| match best {
                    Some((_, highest)) if highest >= *x => best,
                    _ => Some(((at[0], at[1]), *x)),
                });
            best.map_or(last, |(at, _)| at)
        }
        _ => last,
    };
    draws
        .draw(at.0, at.1)
        .ok_or_else(|| Error::shape("draws to bring to canonical form", 0, "at least 1"))
}

/// The mean over all chains and draws.
fn mean(values: &Array3<f64>) -> Vec<f64> {
    let (chains, draws, parameters) = values.dim();
    let mut sum = Array1::<f64>::zeros(parameters);
    for q in values.rows() {
        sum += &q;
    }
    (sum / (chains * draws) as f64).to_vec()
}

/// One line for each chain, one for all, and the values to compare them with.
impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let header = ["", "modes visited", "effective", "transitions", "draws"];
        let mut table = vec![header.map(String::from).to_vec()];
        let row = |name: String, modes: &Modes| {
            vec![
                name,
                modes.visited().to_string(),
                short(modes.effective()),
                modes.transitions.to_string(),
                modes.draws().to_string(),
            ]
        };
        let chains = self.chains.iter().enumerate();
        table.extend(chains.map(|(c, modes)| row(format!("chain {c}"), modes)));
        table.push(row("all".into(), &self.all));
        write_table(f, &table)?;
        let order =
            if self.order < 1e6 { count(self.order) } else { format!("{:.3e}", self.order) };
        writeln!(f, "equivalent modes there are: {order}")?;
        if self.changed > 0 {
            writeln!(
                f,
                "draws near borders, still changing after {} rounds: {}",
                self.rounds, self.changed
            )?;
        }
        Ok(())
    }
}

/// R-hat and effective sample size of one parameter, of the raw draws and in canonical form: a row
/// of [`BeforeAfter`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeforeAfterRow {
    /// The name of the parameter.
    pub name: String,
    /// The headline R-hat of the raw draws.
    pub rhat_before: f64,
    /// The headline R-hat of the canonical draws.
    pub rhat_after: f64,
    /// The bulk effective sample size of the raw draws.
    pub ess_bulk_before: f64,
    /// The bulk effective sample size of the canonical draws.
    pub ess_bulk_after: f64,
}

/// Two summaries of the same parameters side by side: of the raw draws and in
/// [canonical](Canonical) form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeforeAfter {
    /// One row for each parameter.
    pub rows: Vec<BeforeAfterRow>,
}

impl BeforeAfter {
    /// Puts two summaries side by side.
    ///
    /// # Errors
    /// If they are not of the same parameters in the same order.
    pub fn new(before: &Summary, after: &Summary) -> Result<Self, Error> {
        if before.rows.len() != after.rows.len() {
            return Err(Error::shape("rows of `after`", after.rows.len(), before.rows.len()));
        }
        let row = |(before, after): (&super::SummaryRow, &super::SummaryRow)| {
            if before.name != after.name {
                let allowed = format!("`{}`, as in `before`", before.name);
                return Err(Error::argument("parameter of `after`", &after.name, allowed));
            }
            Ok(BeforeAfterRow {
                name: before.name.clone(),
                rhat_before: before.rhat,
                rhat_after: after.rhat,
                ess_bulk_before: before.ess_bulk,
                ess_bulk_after: after.ess_bulk,
            })
        };
        Ok(Self { rows: before.rows.iter().zip(&after.rows).map(row).collect::<Result<_, _>>()? })
    }
}

/// An aligned table for the terminal, with the worst of each column in the last line.
impl fmt::Display for BeforeAfter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let header = ["", "R-hat", "canonical", "ess bulk", "canonical"];
        let mut table = vec![header.map(String::from).to_vec()];
        let cells = |name: &str, rhat: [f64; 2], ess: [f64; 2]| {
            let numbers = rhat.map(ratio).into_iter().chain(ess.map(count));
            std::iter::once(name.to_string()).chain(numbers).collect::<Vec<_>>()
        };
        let of_row = |r: &BeforeAfterRow| {
            let (rhat, ess) =
                ([r.rhat_before, r.rhat_after], [r.ess_bulk_before, r.ess_bulk_after]);
            cells(&r.name, rhat, ess)
        };
        table.extend(self.rows.iter().map(of_row));
        let worst = |of: fn(&BeforeAfterRow) -> f64, choose: fn(f64, f64) -> f64| {
            self.rows.iter().map(of).filter(|x| !x.is_nan()).fold(f64::NAN, choose)
        };
        table.push(cells(
            "worst",
            [worst(|r| r.rhat_before, f64::max), worst(|r| r.rhat_after, f64::max)],
            [worst(|r| r.ess_bulk_before, f64::min), worst(|r| r.ess_bulk_after, f64::min)],
        ));
        write_table(f, &table)
    }
}
