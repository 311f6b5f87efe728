//! The page.

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Lines, Response};
use bnn_mcmc::diagnostics::{ESS_PER_CHAIN, Outcome, SummaryRow, quantile};
use bnn_mcmc::fit::{RecipeLine, Search, Trial, Tried};
use bnn_mcmc::predict::{Loo, PredictiveCheck};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::scores::{Line, Weights};
use super::words::{Trust, advice, heading, marked_up};
use super::{Findings, Linear, effects, figures, scores};
use crate::figure::{Figure, css, number};
use crate::figures::predictive;
use bnn_mcmc::message::{Choice, Plain, duration};

const STYLE: &str = include_str!("style.css");
/// The most rows of a table that stand open.
const OPEN: usize = 12;

/// A link in the table of contents, and the heading that it leads to.
const SECTIONS: [(&str, &str); 7] = [
    ("scores", "Scores"),
    ("effects", "Effects"),
    ("predictions", "Predictions"),
    ("convergence", "Convergence"),
    ("data", "Data"),
    ("model", "Model and run"),
    ("cite", "Reproduce and cite"),
];

pub(super) fn page(findings: &Findings) -> Markup {
    let responses = findings.fit.data().response_names().join(", ");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Report on " (responses) }
                style { (PreEscaped(STYLE)) (PreEscaped(css())) }
            }
            body {
                a class="skip" href="#scores" { "Skip to the scores" }
                header {
                    h1 { "Report on " code { (responses) } }
                    (verdict(findings))
                    (facts(findings))
                }
                nav aria-label="Contents" {
                    ul { @for (link, name) in SECTIONS { li { a href={ "#" (link) } { (name) } } } }
                }
                main {
                    (score_table(findings))
                    (section("effects", effects::effects(findings.fit)))
                    (predictions(findings))
                    (convergence(findings))
                    div class="two" { (data(findings)) (model(findings)) }
                    (cite(findings))
                }
                footer { "Made by bnn-mcmc " (bnn_mcmc::VERSION) ". This file needs no other." }
            }
        }
    }
}

fn section(link: &str, content: Markup) -> Markup {
    let name = SECTIONS.iter().find(|(own, _)| *own == link).map_or("", |(_, name)| name);
    html! { section aria-labelledby=(link) { h2 id=(link) { (name) } (content) } }
}

fn verdict(findings: &Findings) -> Markup {
    let verdict = &findings.verdict;
    let trust = Trust::of(verdict);
    html! {
        section class={ "verdict " (trust.class()) } aria-label="Verdict" {
            p class="name" {
                span class="sign" aria-hidden="true" { (trust.sign()) }
                (heading(verdict))
            }
            p { (marked_up(&capitalised(&verdict.in_words(findings.words)))) "." }
            p { strong { "What to do: " } (advice(verdict)) }
            @if let Some(prior) = &findings.prior {
                p { strong { "The prior: " } (prior.in_words()) "." }
            }
            @if findings.fit.draws().info().stopped_early {
                p { "The run was stopped before its last draw." }
            }
        }
    }
}

/// What is asked first, in numbers.
fn facts(findings: &Findings) -> Markup {
    let fit = findings.fit;
    let sizes: Vec<String> = fit.network().sizes().iter().map(ToString::to_string).collect();
    let kind = match findings.fit.network().sizes().len() {
        2 => "linear",
        3 => "a hidden layer",
        _ => "hidden layers",
    };
    let density = |loo: &Loo| short(loo.elpd / loo.total_weight());
    let own = findings.loo.as_ref().ok().map(density);
    let linear = match &findings.linear {
        Some(Ok(Linear { loo: Ok(loo), .. })) => Some(density(loo)),
        _ => None,
    };
    let covered = fit.search().and_then(|search| {
        search.coverage.iter().find(|(level, _)| *level == 0.9).map(|(_, share)| *share)
    });
    html! {
        dl class="facts" {
            div { dt { "Learnt from" } dd { (fit.training().rows()) " rows" } }
            div { dt { "Model" } dd { (sizes.join("-")) ", " (kind) } }
            @if let Some(own) = own {
                div {
                    dt { "Log density of a new row" }
                    dd { (own) " nats" @if let Some(linear) = linear { ", linear model " (linear) } }
                }
            }
            @if let Some(share) = covered {
                div { dt { "90 % intervals hold" } dd { (format!("{:.0} %", 100.0 * share)) " of new rows" } }
            }
        }
    }
}

fn data(findings: &Findings) -> Markup {
    let fit = findings.fit;
    let rows = |n: usize| if n == 1 { "1 row".to_owned() } else { format!("{n} rows") };
    let unit = fit.lines().map_or("line", Lines::unit);
    let features = fit
        .ranges()
        .iter()
        .map(|range| [range.feature.clone(), number(range.low), number(range.high)]);
    section(
        "data",
        html! {
            dl {
                dt { "Learnt from" } dd { (rows(fit.training().rows())) (weighted(fit.training())) }
                @if let Some(drawn) = fit.drawn_rows() {
                    dt { "Fitted to" } dd { (drawn) }
                }
                @if let Some(new) = fit.validation() {
                    dt { "Kept for validation" } dd { (rows(new.rows())) (weighted(new)) }
                }
                @if !fit.dropped().is_empty() {
                    dt { "Left out" }
                    dd {
                        (rows(fit.dropped().len())) " with missing values: "
                        (listed(fit.dropped().iter().map(|line| format!("{unit} {line}"))))
                    }
                }
                @for stand_in in fit.stand_ins() {
                    dt { "Filled in" } dd { (stand_in) }
                }
                dt { "Response" } dd { (response(fit.training(), fit.data().response_names())) }
                @for column in fit.response_scaler().map(|s| s.columns()).unwrap_or_default() {
                    @if let Some(power) = column.transform {
                        dt { "Transform" }
                        dd { code { (column.name) } ": " (power) "; all on this page is of the response itself" }
                    }
                }
                dt { "Features" } dd { (fit.data().n_features()) ", standardised by the training rows" }
            }
            @if let Some(schema) = fit.schema() {
                @let columns = schema.in_words().into_iter().map(|(name, line)| [name, line]);
                (table("What each column was taken for", &["Column", ""], columns.collect()))
            }
            (table("Features and their range in the training rows", &["Feature", "Smallest", "Largest"],
                features.collect()))
        },
    )
}

/// The first items of a list, and how many more there are.
fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(10);
    let shown: Vec<String> = items.take(10).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// The rows that weights of rows stand for.
fn weighted(rows: &Dataset) -> String {
    let of = |_| format!(", which stand for {} by their weights", number(rows.total_weight()));
    rows.weights().map_or_else(String::new, of)
}

fn response(train: &Dataset, names: &[String]) -> Markup {
    let response = train.response();
    let columns = |y: &ndarray::Array2<f64>, kind: &str| {
        let moments = Weights(train.weights()).moments(y.view());
        html! {
            @for ((name, column), [mean, sd]) in names.iter().zip(y.columns()).zip(moments) {
                code { (name) } ", " (kind) ": mean " (number(mean))
                ", standard deviation " (number(sd))
                ", from " (number(column.fold(f64::INFINITY, |a, b| a.min(*b))))
                " to " (number(column.fold(f64::NEG_INFINITY, |a, b| a.max(*b)))) ". "
            }
        }
    };
    match response {
        Response::Real(y) => columns(y, "real"),
        Response::Counts(y) => columns(y, "counts"),
        Response::Classes { names: classes, .. } => {
            let sizes = response.class_sizes().unwrap_or_default();
            let shown = classes.iter().zip(sizes).map(|(class, n)| format!("{class} ({n})"));
            html! { code { (names.join(", ")) } ", classes: " (listed(shown)) "." }
        }
        Response::Censored { lower, upper } => {
            let observed = lower.iter().zip(upper).filter(|(l, u)| l == u).count();
            let others = lower.len() - observed;
            html! { code { (names.join(", ")) } ", times: " (observed) " observed, " (others) " with bounds." }
        }
        _ => html! { code { (names.join(", ")) } },
    }
}

fn model(findings: &Findings) -> Markup {
    let fit = findings.fit;
    let (draws, info) = (fit.draws(), fit.draws().info());
    let lines = fit.recipe().in_words();
    let is_shown = |name: &str| !["response", "file", "folder"].contains(&name);
    let warm_up_divergences: u64 = info.warmup_divergences.iter().sum();
    let climbed = info.climbed.iter().filter(|gradients| **gradients > 0).count();
    let gradients = draws.gradient_evals();
    section(
        "model",
        html! {
            dl {
                @for RecipeLine { name, text } in lines.iter().filter(|line| is_shown(line.name)) {
                    dt { (capitalised(name)) }
                dd {
                    @match (*name, fit.training().response().class_names().map(<[String]>::len)) {
                        ("noise", Some(2)) => "Bernoulli, one output",
                        ("noise", Some(classes)) => { "categorical, " (classes) " outputs" },
                        _ => (marked_up(text)),
                    }
                }
                }
                dt { "Parameters" }
                dd {
                    (info.parameters) " in "
                    (listed(draws.layout().blocks().iter().map(|b| block(&b.name, &b.shape))))
                }
                dt { "Draws kept" } dd { (draws.n_chains()) " chains of " (draws.n_draws()) }
                dt { "Time" }
                dd {
                    (duration(info.warmup_seconds)) " of warm-up, " (duration(info.sampling_seconds))
                    " of sampling"
                }
                @if gradients > 0 {
                    dt { "Gradients" } dd { (gradients) " while sampling" }
                }
                @if climbed > 0 {
                    dt { "Starts" }
                    dd {
                        (climbed) " of " (draws.n_chains()) " chains began after a short ascent, from starts that \
                        no warm-up leaves"
                    }
                }
                dt { "Divergent" }
                dd {
                    (draws.divergences()) " of " (draws.n_chains() * draws.n_draws()) " transitions, "
                    (warm_up_divergences) " more in warm-up"
                }
            }
            @for line in lines.iter().filter(|line| line.name == "file") {
                details { summary { "How the file was read" } pre { (line.text) } }
            }
        },
    )
}

/// A block of parameters with its size: `w0 2 x 3`.
fn block(name: &str, shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if sizes.is_empty() { name.to_owned() } else { format!("{name} {}", sizes.join(" x ")) }
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn score_table(findings: &Findings) -> Markup {
    let of = match findings.are_new {
        true => "Scores on the validation rows, which the model has not seen.",
        false => {
            "Scores on the rows that the model learnt from: new rows will be predicted worse. \
             Leave-one-out, below, estimates the log predictive density of a new row."
        }
    };
    let baseline = match findings.fit.training().response() {
        Response::Classes { .. } => "the shares of the classes in the training rows",
        Response::Counts(_) => "the mean of the training responses",
        Response::Censored { .. } => "the same time for each row",
        _ => "mean and standard deviation of the training responses",
    };
    section(
        "scores",
        html! {
            p {
                (of) " The baseline always predicts " (baseline)
                @if matches!(findings.linear, Some(Ok(_))) { "; the linear model has learnt from the same rows, by 2 chains of 500 draws" }
                "."
                @if findings.rows.rows() < findings.of { " " (whose(findings)) }
                (thinned(findings))
            }
            div class="two" {
            div { @match scores::lines(findings) {
                Ok(lines) => (beside(findings, &lines)),
                Err(error) => (missing("Scores", &error)),
            } }
            div { @match &findings.loo {
                Ok(loo) => {
                    h3 { "Leave-one-out" }
                    p {
                        "How well each training row is predicted from the others, without refits (PSIS-LOO): an "
                        "expected log predictive density of " (short(loo.elpd / loo.total_weight()))
                        " nats for a row, " (format!("{:.1} ± {:.1}", loo.elpd, loo.se))
                        " for all; effective number of parameters " (format!("{:.1}", loo.p_loo)) "."
                    }
                    (linear_loo(findings, loo))
                    @for warning in loo.warnings() { p { (marked_up(&capitalised(&warning))) "." } }
                (unreliable(findings, loo))
                }
                Err(error) => (missing("Leave-one-out", error)),
            } }
            }
            @if let Some(search) = findings.fit.search() { (choice(search)) }
        },
    )
}

/// The table of scores.
fn beside(findings: &Findings, lines: &[Line]) -> Markup {
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    let of = |line: &Line| {
        let [linear, baseline] = [line.linear, line.baseline].map(shown);
        [line.label.clone(), short(line.model), linear, baseline, line.better.to_owned()]
    };
    match &findings.linear {
        Some(linear) => html! {
            @if let Err(error) = linear { (missing("The linear model", error)) }
            (table("Scores", &["Score", "Model", "Linear", "Baseline", ""], lines.iter().map(of).collect()))
        },
        None => {
            let rows = lines
                .iter()
                .map(of)
                .map(|[label, model, _, baseline, better]| [label, model, baseline, better]);
            table("Scores", &["Score", "Model", "Baseline", ""], rows.collect())
        }
    }
}

/// Leave-one-out beside that of the linear model.
fn linear_loo(findings: &Findings, loo: &Loo) -> Markup {
    let Some(Ok(Linear { loo: Ok(linear), .. })) = &findings.linear else { return html! {} };
    let Ok(comparison) = Loo::compare(&[("model", loo), ("linear", linear)]) else {
        return html! {};
    };
    let [best, other] = &comparison.models[..] else { return html! {} };
    let (difference, error) = (-other.difference, other.se_difference);
    html! {
        p {
            "The linear model: " (short(linear.elpd / linear.total_weight())) " nats for a row; "
            // Less than that and chance may have made it.
            @if difference < 2.0 * error { "the two predict alike: they differ by " }
            @else if best.name == "model" { "this model is better by " }
            @else { strong { "it is better than this model" } " by " }
            (format!("{difference:.1} ± {error:.1}")) " nats over all rows."
        }
    }
}

/// How the model was chosen.
fn choice(search: &Search) -> Markup {
    let said = search.in_words();
    let rows = search.tried.iter().map(|Tried { candidate, outcome }| {
        let name = candidate.name().to_owned();
        match outcome {
            Trial::Scored { log_density, .. } if *candidate == search.chosen => {
                [name, format!("{log_density:.3}"), "chosen".into()]
            }
            Trial::Scored { log_density, difference, se_difference, .. } => [
                name,
                format!("{log_density:.3}"),
                format!("{difference:+.3} ± {se_difference:.3}"),
            ],
            Trial::Failed(why) => [name, "–".into(), why.clone()],
        }
    });
    html! {
        h3 { "The choice of the model" }
        @for sentence in &said { p { (capitalised(sentence)) "." } }
        (table("Log density of a row that the candidate has not seen",
            &["Candidate", "Nats a row", "Less the chosen one, standard error"], rows.collect()))
    }
}

/// The rows for which leave-one-out cannot be trusted, by their names in the table.
fn unreliable(findings: &Findings, loo: &Loo) -> Markup {
    const FEATURES: usize = 3;
    let train = findings.fit.training();
    let rows = loo.unreliable();
    let lines = rows.iter().map(|&row| {
        let observed = match train.response() {
            Response::Real(y) | Response::Counts(y) => number(y[(row, 0)]),
            Response::Classes { index, names } => names[index[row]].clone(),
            _ => String::new(),
        };
        let features = train.feature_names().iter().zip(train.x().row(row)).take(FEATURES);
        let features: Vec<String> =
            features.map(|(name, value)| format!("{name} {}", number(*value))).collect();
        let k = loo.rows[row].k;
        let k = if k.is_nan() { "–".to_owned() } else { format!("{k:.2}") };
        [findings.fit.training_row_name(row), k, observed, features.join(", ")]
    });
    html! {
        @if !rows.is_empty() {
            (table("The rows that leave-one-out is unreliable for",
                &["Row", "k", "Observed", "First features"], lines.collect()))
            p class="note" { (findings.rows_are()) }
        }
    }
}

/// The sentence about draws that were left out.
fn thinned(findings: &Findings) -> Markup {
    html! {
        @if findings.every > 1 {
            " Scores, and all that follows but the worst values of each group, are made from one draw in "
            (findings.every) " of each chain; the verdict is passed on all draws."
        }
    }
}

fn predictions(findings: &Findings) -> Markup {
    section(
        "predictions",
        html! {
            p {
                "How the model predicts. " (whose(findings))
                @if !findings.are_new {
                    " The model has learnt from these rows: its intervals hold more of them than they \
                      hold of new rows, and classes of theirs are predicted too well. Figures that leave \
                      each row out in turn say so."
                }
            }
            div class="figures" { @for figure in figures::predictions(findings) { (figure_or_reason(&figure)) } }
            (checks(findings))
        },
    )
}

/// Predictive checks.
fn checks(findings: &Findings) -> Markup {
    let fit = findings.fit;
    if matches!(fit.training().response(), Response::Censored { .. }) {
        return html! {};
    }
    let all = match fit.predictive_checks() {
        Ok(all) => all,
        Err(error) => return missing("Predictive checks", &error),
    };
    let interval = |check: &PredictiveCheck| {
        let mut sorted = check.replicated.clone();
        sorted.sort_by(f64::total_cmp);
        let [low, high] = [0.05, 0.95].map(|p| short(quantile(&sorted, p)));
        format!("{low} to {high}")
    };
    let rows = all.iter().flat_map(|of| {
        let several = all.len() > 1;
        of.posterior.iter().zip(&of.prior).map(move |(check, prior)| {
            let of_column = if several { format!("{}: ", of.column) } else { String::new() };
            [
                format!("{of_column}{}", check.name),
                short(check.observed),
                interval(check),
                format!("{:.3}", check.p_value()),
                interval(prior),
            ]
        })
    });
    let figures = all.iter().enumerate().map(|(k, of)| {
        let own = |figure: Figure| match k {
            0 => figure,
            k => Figure { name: format!("{}-{k}", figure.name), ..figure },
        };
        ("Observed and replicated responses", predictive::checks(of).map(own))
    });
    html! {
        h3 { "Would the model have made these rows?" }
        p {
            "Statistics of the training responses beside those of responses that the model would have made in their place, and of those \
             that the prior expects before it has seen any. A small p tells of something that the model cannot make. It has learnt from \
             these rows, so that p is nearer to 1 than it would be by chance, and mean and standard deviation are nearly always met."
        }
        (table("Predictive checks", &["Statistic", "Observed", "Replicated, 90 %", "p", "Prior, 90 %"], rows.collect()))
        div class="figures" { @for figure in figures.take(3) { (figure_or_reason(&figure)) } }
    }
}

/// The sentence on the rows that scores and figures are of.
fn whose(findings: &Findings) -> String {
    let kind = if findings.are_new { "validation" } else { "training" };
    match findings.rows.rows() {
        n if n < findings.of => {
            format!("They are of {n} of the {} {kind} rows, evenly spaced.", findings.of)
        }
        _ => format!("They are of the {kind} rows."),
    }
}

fn convergence(findings: &Findings) -> Markup {
    let verdict = &findings.verdict;
    let groups = verdict.groups.iter().map(|group| {
        let name = match group.name.as_str() {
            "predictions" => format!("{} predictions", group.quantities),
            name => name.to_owned(),
        };
        [name, rhat(group.max_rhat), ess(group.min_ess_bulk), ess(group.min_ess_tail)]
    });
    let worst = findings.worst(OPEN);
    let rows = worst.iter().map(|(_, row)| diagnostics(row));
    let wanted = ESS_PER_CHAIN * findings.fit.draws().n_chains() as f64;
    let titles = ["", "R-hat", "ESS, bulk", "ESS, tail"];
    let units = match findings.fit.training().response() {
        Response::Real(_) => "Means and standard deviations are in the units of the table.",
        Response::Classes { .. } => "Means and standard deviations are of probabilities.",
        Response::Censored { .. } => {
            "Means and standard deviations are of mean times, in the units of the table."
        }
        _ => "Means and standard deviations are of expected counts.",
    };
    section(
        "convergence",
        html! {
            div class="two" {
            div {
            p {
                "A run has converged when every prediction has an R-hat of at most "
                (verdict.rhat_limit) " and " (wanted) " effective draws (ESS) in the bulk and in the tails. "
                "Predictions are judged, not weights: hidden units can be exchanged without changing a "
                "prediction, so that weights may disagree where nothing is wrong."
            }
            (table("The worst of each group", &titles, groups.collect()))
            }
            div {
            h3 { "The predictions that disagree most" }
            p class="note" { (findings.rows_are()) " " (units) }
            (table("The predictions with the largest R-hat",
                &["Prediction", "Mean", "Sd", "R-hat", "ESS, bulk", "ESS, tail"], rows.collect()))
            }
            }
            div class="figures" { @for figure in figures::convergence(findings) { (figure_or_reason(&figure)) } }
            h3 { "Weights" }
            p {
                "Weights are not judged: they may disagree where nothing is wrong. They are shown for "
                "those who want to know what the network has learnt."
            }
            div class="figures" { @for figure in figures::weights(findings) { (figure_or_reason(&figure)) } }
        },
    )
}

fn diagnostics(row: &SummaryRow) -> [String; 6] {
    [
        row.name.clone(),
        short(row.mean),
        short(row.sd),
        rhat(row.rhat),
        ess(row.ess_bulk),
        ess(row.ess_tail),
    ]
}

/// Four significant digits.
pub(super) fn short(value: f64) -> String {
    match value.is_finite() && value != 0.0 {
        true => {
            let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
            number(format!("{value:.decimals$}").parse().unwrap_or(value))
        }
        false => number(value),
    }
}

fn rhat(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{value:.3}") }
}

fn ess(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{value:.0}") }
}

fn cite(findings: &Findings) -> Markup {
    let (fit, info) = (findings.fit, findings.fit.draws().info());
    let algorithm = info.algorithm.as_deref().unwrap_or("an unknown algorithm");
    let sizes: Vec<String> = fit.network().sizes().iter().map(ToString::to_string).collect();
    let (worst, fewest) = (findings.verdict.max_rhat(), findings.verdict.min_ess());
    let sentence = format!(
        "{} of a Bayesian network ({} units by layer, {} parameters) for {}, {} rows, sampled by \
         {algorithm} with bnn-mcmc {}: {} chains of {} iterations of warm-up and {} draws, seed {}. {} \
         (largest R-hat of predictions, log likelihood and log prior {}, smallest effective sample size \
         {}).",
        match findings.verdict.outcome {
            Outcome::Ensemble { .. } => "Ensemble, not the posterior,",
            _ => "Posterior",
        },
        sizes.join("-"),
        info.parameters,
        fit.data().response_names().join(", "),
        fit.training().rows(),
        bnn_mcmc::VERSION,
        fit.draws().n_chains(),
        info.warmup,
        fit.draws().n_draws(),
        info.seed,
        heading(&findings.verdict),
        rhat(worst),
        ess(fewest),
    );
    section(
        "cite",
        html! {
            p {
                "The same data, settings, seed and version of bnn-mcmc give the same draws, whatever the number "
                "of threads, on one kind of processor. In a paper:"
            }
            pre { (sentence) }
        },
    )
}

/// A table whose later columns are numbers; a long one is folded.
pub(super) fn table<const N: usize>(
    caption: &str,
    titles: &[&str; N],
    rows: Vec<[String; N]>,
) -> Markup {
    let is_number = |k: usize| k > 0 && !titles[k].is_empty();
    let table = html! {
        div class="scroll" tabindex="0" role="region" aria-label=(caption) {
            table {
                thead { tr {
                    @for (k, title) in titles.iter().enumerate() {
                        @if title.is_empty() { td {} }
                        @else { th scope="col" class=[is_number(k).then_some("n")] { (title) } }
                    }
                } }
                tbody { @for row in &rows { tr {
                    @for (k, cell) in row.iter().enumerate() {
                        @if k == 0 { th scope="row" { (cell) } }
                        @else { td class=[is_number(k).then_some("n")] { (cell) } }
                    }
                } } }
            }
        }
    };
    html! {
        @if rows.len() > OPEN {
            details { summary { (caption) " (" (rows.len()) ")" } (table) }
        } @else { (table) }
    }
}

/// The paragraph about a part that could not be made, with the reason.
pub(super) fn missing(what: &str, error: &Error) -> Markup {
    html! { p class="missing" { (what) ": could not be made. " (marked_up(&capitalised(&error.in_words(&Plain)))) "." } }
}

/// The number of panels of a figure that stand side by side, if there is room.
fn side_by_side(figure: &Figure) -> usize {
    figure.columns.unwrap_or(figure.panels.len()).min(figure.panels.len())
}

pub(super) fn figure_or_reason((name, figure): &(&str, Result<Figure, Error>)) -> Markup {
    match figure {
        Ok(figure) => html! {
            // The figure spans as many columns of the page as it has panels side by side.
            figure id=(figure.name) class=(["one", "pair", "all"][side_by_side(figure).clamp(1, 3) - 1]) {
                figcaption { strong { (figure.title) } (figure.caption) }
                div class=(if figure.columns.is_some() { "matrix scroll" } else { "panels" })
                    style=[figure.columns.map(|_| format!("--columns:{}", side_by_side(figure)))]
                    tabindex=[figure.columns.map(|_| "0")] {
                    @for svg in figure.svg_elements() { (PreEscaped(svg)) }
                }
            }
        },
        Err(error) => missing(name, error),
    }
}
