//! A fit on one page of HTML: the verdict first, then the rest.

mod effects;
mod figures;
mod page;
mod scores;
mod words;

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Lines};
use bnn_mcmc::diagnostics::{Summary, SummaryRow, Verdict};
use bnn_mcmc::fit::{Fit, PriorSensitivity};
use bnn_mcmc::message::{Plain, Vocabulary};
use bnn_mcmc::predict::{Loo, Predictions};

use crate::figure::is_bidirectional;

/// The largest number of draws, of all chains together, that everything but the verdict is made
/// from, unless [`DRAWS_PER_CHAIN`] allows more.
const DRAWS: usize = 4000;
/// The number of draws of each chain that are used however many chains there are: four times the
/// number of effective draws that a verdict wants.
const DRAWS_PER_CHAIN: usize = 400;
/// The largest number of rows for scores and figures of predictions.
const ROWS: usize = 5000;
/// The largest number of predicted values (rows by draws by columns) for scores and figures of
/// predictions. Each takes about 30 bytes.
const CELLS: usize = 20_000_000;

/// A report on a fit: one HTML file, with its figures and styles inside, that asks for nothing from
/// anywhere. It begins with the verdict in plain words and says what to do; then come the data, the
/// model, scores beside a baseline, figures of the predictions, of convergence (of predictions before
/// weights), the worst quantities, and how to cite the run.
///
/// The verdict is passed on all draws. All else takes every k-th draw of long runs, so that there are
/// about 4,000, or 400 of each chain. Scores and figures of predictions are of at most 5,000 rows, evenly
/// spaced, fewer of many classes; leave-one-out is of all training rows. The page says so.
///
/// Rows are named by their line in the file that they come from, and predictions are in the units of the
/// table. Control characters in names, and characters that turn the direction of the text around them, are
/// written as `\u{202e}`.
///
/// A part that cannot be made, such as leave-one-out of an approximation, is named on the page with the
/// reason.
///
/// ```no_run
/// use bnn_mcmc::fit::Fit;
/// let fit = Fit::load("run")?;
/// std::fs::write("report.html", bnn_mcmc_report::report(&fit)?).expect("the disk has room");
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// If the run was ended before the first draw; predictions that do not fit into memory.
pub fn report(fit: &Fit) -> Result<String, Error> {
    report_in_words(fit, &Plain)
}

/// A report like [`report`](report()), with the settings that the verdict advises spelt by `words`,
/// as users of one face know them. [`report`](report()) has them in plain words, since a page may
/// be read by anybody.
///
/// # Errors
/// The errors of [`report`](report()).
pub fn report_in_words(fit: &Fit, words: &dyn Vocabulary) -> Result<String, Error> {
    Ok(without_controls(page::page(&Findings::new(fit, words)?).into_string()))
}

/// The page with escapes in the place of characters that names in a table can hold, and that a reader does not
/// see: control characters, and those that turn the direction of the text around them.
fn without_controls(page: String) -> String {
    let is_hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    match page.contains(is_hidden) {
        true => {
            let shown = |c: char| match is_hidden(c) {
                true => format!("\\u{{{:x}}}", c as u32),
                false => c.into(),
            };
            page.chars().map(shown).collect()
        }
        false => page,
    }
}

/// The contents of a report, computed once.
struct Findings<'a> {
    fit: &'a Fit,
    words: &'a dyn Vocabulary,
    /// The verdict on all draws.
    verdict: Verdict,
    /// The fit with the draws that all else is made from: every [`every`](Self::every)-th.
    few: Fit,
    every: usize,
    /// Predictions of the judged rows, in the units of the table.
    judged: Predictions,
    /// The diagnostics of the judged predictions, named by row and column.
    predictions: Summary,
    /// The rows that scores are of, their places, and how many there are to choose from.
    rows: Dataset,
    chosen: Vec<usize>,
    of: usize,
    /// The predictions of these rows, in the units of the table.
    scored: Predictions,
    /// Whether these are validation rows, and not those that the model learnt from.
    are_new: bool,
    /// How much predictions depend on the prior, where the draws can tell: all of them.
    prior: Option<PriorSensitivity>,
    /// The linear model of the same rows, unless the fit is linear itself.
    linear: Option<Result<Linear, Error>>,
    /// The leave-one-out estimate, or the reason why there is none.
    loo: Result<Loo, Error>,
}

/// The linear model beside the fit.
struct Linear {
    /// The predictions of the rows that scores are of.
    scored: Predictions,
    loo: Result<Loo, Error>,
}

impl Linear {
    /// `None` of a fit that is linear itself.
    fn of(fit: &Fit, chosen: &[usize]) -> Option<Result<Self, Error>> {
        // A network without hidden layers has two sizes, of features and outputs.
        let is_linear = fit.network().sizes().len() == 2;
        (!is_linear).then(|| {
            let linear = fit.linear_model()?;
            let all = linear.validation().unwrap_or(linear.training());
            let scored = linear.predict(&all.select(chosen)?)?;
            Ok(Self { scored, loo: linear.loo() })
        })
    }
}

impl<'a> Findings<'a> {
    fn new(fit: &'a Fit, words: &'a dyn Vocabulary) -> Result<Self, Error> {
        let draws = fit.of_one_table()?.draws();
        let (chains, draws) = (draws.n_chains(), draws.n_draws());
        if chains * draws == 0 {
            return Err(Error::shape(
                "draws of the fit to report on",
                0,
                "at least 1 of each chain",
            ));
        }
        let kept = (DRAWS / chains).max(DRAWS_PER_CHAIN);
        let every = draws.div_ceil(kept);
        let few = fit.thinned(every)?;
        // R-hat and effective sample sizes on the page are those that the verdict is passed on.
        let all_draws = fit.judged()?;
        let verdict = all_draws.verdict()?;
        let own_units = |judged: Predictions| match fit.response_scaler() {
            Some(scaler) => judged.unscaled(scaler),
            None => Ok(judged),
        };
        let class = if fit.training().response().classes().is_some() { "class " } else { "" };
        let judged_rows = fit.judged_rows();
        let named = |row: usize, column: &str| {
            format!("{}, {class}{column}", fit.training_row_name(judged_rows[row]))
        };
        let predictions = own_units(all_draws)?.summary_named(named)?;
        let judged = own_units(few.judged()?)?;
        let all = fit.validation().unwrap_or(fit.training());
        let of = all.rows();
        let width = chains * few.draws().n_draws() * all.response().width();
        let most = ROWS.min(CELLS / width.max(1)).clamp(1, of);
        let chosen: Vec<usize> = (0..most).map(|i| i * of / most).collect();
        let rows = all.select(&chosen)?;
        let scored = few.predict(&rows)?;
        let prior = verdict.is_settled().then(|| fit.sensitivity().ok()).flatten();
        let (are_new, loo) = (fit.validation().is_some(), few.loo());
        let linear = Linear::of(fit, &chosen);
        Ok(Self {
            linear,
            fit,
            words,
            verdict,
            few,
            every,
            judged,
            predictions,
            rows,
            chosen,
            of,
            scored,
            prior,
            are_new,
            loo,
        })
    }

    /// A sentence on the names of rows: lines of a file, or places in a data set.
    fn rows_are(&self) -> &'static str {
        match self.fit.lines().map(Lines::unit) {
            Some("row") => "Rows are named by their place in the file, counted from 1.",
            Some(_) => "Rows are named by their line in the file, counted from 1.",
            None => "Rows are counted from 0, in the order of the data.",
        }
    }

    /// The predictions with the largest R-hat, and their places; those without an R-hat, such as
    /// constant ones, come last.
    fn worst(&self, most: usize) -> Vec<(usize, &SummaryRow)> {
        let mut rows: Vec<_> = self.predictions.rows.iter().enumerate().collect();
        let key = |row: &SummaryRow| if row.rhat.is_nan() { f64::NEG_INFINITY } else { row.rhat };
        rows.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
        rows.truncate(most);
        rows
    }
}
