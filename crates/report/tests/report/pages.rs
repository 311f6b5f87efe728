//! What the page says.

use std::time::Instant;

use bnn_mcmc::fit::{Fit, Method, Noise};
use bnn_mcmc::message::Plain;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::report;
use ndarray::{Array1, Array2};

use super::{HOSTILE, hostile, iris, not_converged, regression, strength, written};

use shared::refused;

/// The text between two marks.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    &page[start..start + page[start..].find(to).unwrap_or_else(|| panic!("no {to}"))]
}

/// Whether the text of a page has this sentence, of which code and stressed words are marked up.
fn says(page: &str, sentence: &str) -> bool {
    let shown: String =
        page.split('<').map(|part| part.split_once('>').map_or(part, |p| p.1)).collect();
    let shown = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let sentence = sentence.replace("**", "").replace('`', "");
    // The first letter is a capital one.
    shown.replace("&amp;", "&").to_lowercase().contains(&sentence.to_lowercase())
}

#[test]
fn a_converged_run_begins_with_the_verdict() {
    let fit = iris();
    let page = report(&fit).unwrap();
    written("iris", &page);
    let verdict = between(&page, "<section class=\"verdict full\"", "</section>");
    assert_eq!(between(verdict, "</span>", "</p>"), "Converged");
    let words = fit.verdict().unwrap().in_words(&Plain);
    assert!(says(verdict, &words), "{words}\n{verdict}");
    for text in ["105 rows", "45 rows", "setosa (35)", "petal_width", "one hidden layer of 4 units"]
    {
        assert!(page.contains(text), "{text}");
    }
    // The numbers of the table are those of the library; the baseline guesses one of three species.
    let scores = fit.scores(fit.validation().unwrap()).unwrap();
    let accuracy = scores.get("accuracy").unwrap().posterior;
    let line = between(&page, "Share of rows whose class is right</th>", "</tr>");
    assert!(line.contains(&format!(">{accuracy:.4}<")) && line.contains(">0.3333<"), "{line}");
    let worst = fit.judged().unwrap().summary().unwrap().max_rhat();
    assert!(page.contains(&format!(">{worst:.3}<")));
    assert!(!page.contains("could not be made"), "{}", between(&page, "could not be made", "</p>"));
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn a_run_that_has_not_converged_says_so_and_what_to_do() {
    let fit = not_converged();
    assert!(!fit.verdict().unwrap().is_converged());
    let page = report(&fit).unwrap();
    written("not_converged", &page);
    let verdict = between(&page, "<section class=\"verdict none\"", "</section>");
    assert_eq!(between(verdict, "</span>", "</p>"), "Not converged");
    let words = fit.verdict().unwrap().in_words(&Plain);
    assert!(says(verdict, &words), "{words}\n{verdict}");
    assert!(between(verdict, "<strong>What to do: </strong>", "</p>").len() > 50, "{verdict}");
    assert!(page.contains("Scores on the rows that the model learnt from"));
}

/// The ids that stand in a page more than once.
fn ids_twice(page: &str) -> Vec<&str> {
    let mut ids: Vec<_> =
        page.split(" id=\"").skip(1).filter_map(|p| p.split('"').next()).collect();
    ids.sort_unstable();
    ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

#[test]
fn names_are_shown_as_they_are_and_nothing_is_asked_for() {
    let page = report(&hostile()).unwrap();
    written("hostile", &page);
    for markup in ["<script", "<img", "<b>", "</style><b"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.contains("&lt;script&gt;&quot;&amp;"), "{HOSTILE}");
    for page in [&page, &report(&iris()).unwrap()] {
        assert!(!page.contains("http:") && !page.contains("https:"));
        assert!(!page.contains("@import") && !page.contains("url("));
        assert_eq!(ids_twice(page), [""; 0]);
    }
}

#[test]
fn every_kind_of_response_has_a_page() {
    let counts = {
        let mut rng = ChainRng::new(6, 0);
        let x = Array2::from_shape_simple_fn((50, 1), || rng.normal());
        let y: Array1<f64> = x.column(0).mapv(|x| (2.0 + x).exp().round());
        Dataset::counts(x, y).unwrap()
    };
    let two = {
        let (one, y) = (strength(), strength().real().unwrap().clone());
        let y = ndarray::concatenate![ndarray::Axis(1), y, y.mapv(|y| y * y)];
        Dataset::regression(one.x().clone(), y).unwrap()
    };
    let fits = [
        ("regression", regression().validation(0.2).fit(&strength())),
        ("heteroscedastic", regression().noise(Noise::Heteroscedastic).fit(&strength())),
        ("student", regression().noise(Noise::StudentT).fit(&strength())),
        ("linear", regression().hidden(&[]).fit(&strength())),
        ("two columns", regression().fit(&two)),
        ("counts", Fit::counts("y").hidden(&[2]).warmup(100).draws(100).fit(&counts)),
        ("one chain", regression().chains(1).fit(&strength())),
    ];
    for (name, fit) in fits {
        let page = report(&fit.unwrap()).unwrap();
        written(name, &page);
        let reason =
            page.find("could not be made").map(|at| &page[at - 40..(at + 200).min(page.len())]);
        assert_eq!(reason, None, "{name}");
        assert_eq!(ids_twice(&page), [""; 0], "{name}");
    }
}

#[test]
fn a_long_run_has_a_small_page() {
    let fit = regression().hidden(&[]).warmup(200).draws(100_000).fit(&strength()).unwrap();
    let start = Instant::now();
    let page = report(&fit).unwrap();
    written("long", &page);
    let info = fit.draws().info();
    println!(
        "{} bytes in {:.2} s, after {:.2} s of sampling",
        page.len(),
        start.elapsed().as_secs_f64(),
        info.warmup_seconds + info.sampling_seconds
    );
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(page.contains("one draw in 100 of each chain"));
}

#[test]
fn several_responses_have_scores_of_their_own_whatever_their_size() {
    let (one, y) = (strength(), strength().real().unwrap().clone());
    // The second response is a million million times smaller than its square.
    let y = ndarray::concatenate![ndarray::Axis(1), y, y.mapv(|y| 1e-12 * y * y)];
    let data = Dataset::regression(one.x().clone(), y).unwrap();
    let data = data.with_response_names(["large", "small"]).unwrap();
    let fit = regression().fit(&data).unwrap();
    let page = report(&fit).unwrap();
    let mean = fit.predict(&data).unwrap().posterior_mean().unwrap();
    for (k, name) in ["large", "small"].iter().enumerate() {
        let errors = &data.real().unwrap().column(k) - &mean.column(k);
        let rmse = errors.mapv(|e| e * e).mean().unwrap().sqrt();
        let line = between(&page, &format!("{name}: root mean squared error</th>"), "</tr>");
        let shown: f64 = between(line, "<td class=\"n\">", "</td>").parse().unwrap();
        assert!((shown / rmse - 1.0).abs() < 1e-3, "{name}: {shown} {rmse}");
    }
}

#[test]
fn many_chains_keep_the_draws_that_a_verdict_wants() {
    let fit = regression().chains(20).warmup(50).draws(1000).fit(&strength()).unwrap();
    let page = report(&fit).unwrap();
    assert!(page.contains("one draw in 3 of each chain"));
    assert!(page.contains("2000 effective draws"));
}

#[test]
fn a_run_without_draws_is_refused() {
    let stop = bnn_mcmc::sampler::StopHandle::new();
    stop.stop();
    let fit = regression().stop_handle(&stop).fit(&strength()).unwrap();
    refused!(report(&fit), Shape { what: "draws of the fit to report on", found: 0 });
}

/// What a reader sees of a page: the text between its tags, without style rules.
fn visible(page: &str) -> String {
    let body = &page[page.find("<body").unwrap()..];
    body.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_page_has_one_calibration_error() {
    let fit = iris();
    let page = report(&fit).unwrap();
    let scores = fit.scores(fit.validation().unwrap()).unwrap();
    let ece = scores.get("ece").unwrap().posterior;
    let line = between(&page, "Expected calibration error, 15 bins of equal width</th>", "</tr>");
    let shown: f64 = between(line, "<td class=\"n\">", "</td>").parse().unwrap();
    assert!((shown - ece).abs() < 1e-4, "{shown} {ece}");
    let named = page.split("The expected calibration error").skip(1);
    let others: Vec<&str> = named.filter_map(|rest| rest.split(" is ").nth(1)?.get(..5)).collect();
    assert!(!others.is_empty());
    assert!(others.iter().all(|other| *other == format!("{ece:.3}")), "{others:?}, {ece}");
}

/// No value is shown as the programming language writes it.
#[test]
fn readers_see_words() {
    for fit in
        [iris(), not_converged(), regression().method(Method::Tempered).fit(&strength()).unwrap()]
    {
        let page = report(&fit).unwrap();
        let text = visible(&page);
        for code in ["{", "}", "Some(", "None", "[]", "step_size", "max_depth"] {
            let at =
                text.find(code).map(|at| &text[at.saturating_sub(60)..(at + 60).min(text.len())]);
            assert_eq!(at, None, "{code}");
        }
    }
    let page = report(&not_converged()).unwrap();
    let recipe = not_converged().recipe().to_string();
    let line = |name: &str| recipe.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert!(says(&page, line("sampler")), "{page}");
}

/// Rows by their lines in the file, and predictions in its units.
#[test]
fn rows_and_units_are_those_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let data = strength();
    let mut text = String::from("age,water,strength\n");
    for (i, row) in data.x().rows().into_iter().enumerate() {
        let y = data.real().unwrap()[(i, 0)];
        text += &format!("{},{},{y}\n{}", row[0], row[1], if i == 3 { "\n" } else { "" });
    }
    std::fs::write(&path, &text).unwrap();
    let fit = regression().validation(0.2).read_csv(&path).unwrap();
    let page = report(&fit).unwrap();
    written("lines", &page);
    let table = between(&page, "The predictions that disagree most", "</table>");
    assert!(table.contains("Rows are named by their line in the file"), "{table}");
    assert!(table.contains("in the units of the table"), "{table}");
    // The mean prediction of the first of them, by its line.
    let name = between(table, "<th scope=\"row\">line ", ", strength");
    let line: usize = name.parse().unwrap();
    let row = (0..fit.training().rows())
        .find(|row| fit.training_row_name(*row) == format!("line {line}"));
    let of_line = text.lines().nth(line - 1).unwrap().rsplit(',').next().unwrap();
    let observed: f64 = of_line.parse().unwrap();
    assert_eq!(fit.training().real().unwrap()[(row.unwrap(), 0)], observed);
    let mean: f64 = between(table, "<td class=\"n\">", "</td>").parse().unwrap();
    let predicted =
        fit.predict(fit.training()).unwrap().posterior_mean().unwrap()[(row.unwrap(), 0)];
    assert!((mean / predicted - 1.0).abs() < 1e-3, "{mean} {predicted}");
    assert!(page.contains(">line of the file<"), "the axis of Pareto k");
    assert!(!page.contains("Rows are counted from 0") && !page.contains(">row<"));
    let rows = page.split("training row ").skip(1);
    assert!(rows.into_iter().all(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())));
}

/// Characters that a reader does not see are written out: they can turn the text around them.
#[test]
fn hidden_characters_are_shown() {
    let turned = "a\u{202E}b\u{2066}\u{200F}\u{1B}[2J\u{61C}";
    let data = strength().with_feature_names([turned, "water"]).unwrap();
    let data = data.with_response_names([format!("y{turned}")]).unwrap();
    let fit = Fit::regression("y").hidden(&[2]).warmup(50).draws(50).fit(&data).unwrap();
    let page = report(&fit).unwrap();
    written("turned", &page);
    assert!(page.contains("a\\u{202e}b\\u{2066}\\u{200f}\\u{1b}[2J\\u{61c}"));
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61C}' | '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(page.chars().find(|c| is_hidden(*c)), None);
    // Names of the other direction stand by themselves.
    assert!(page.contains("unicode-bidi:isolate"));
}

#[test]
fn a_network_stands_beside_the_linear_model() {
    let fit = regression().validation(0.2).fit(&strength()).unwrap();
    let page = report(&fit).unwrap();
    let linear = fit.linear_model().unwrap();
    let line = between(&page, "Root mean squared error</th>", "</tr>");
    for of in [&fit, &linear] {
        let rmse = of.scores(fit.validation().unwrap()).unwrap().get("rmse").unwrap().posterior;
        assert!(line.contains(&format!(">{rmse:.2}<")), "{rmse} {line}");
    }
    let loo = |fit: &Fit| fit.loo().unwrap();
    let comparison = Loo::compare(&[("model", &loo(&fit)), ("linear", &loo(&linear))]).unwrap();
    let other = &comparison.models[1];
    let difference =
        format!("{:.1} ± {:.1} nats over all rows", -other.difference, other.se_difference);
    assert!(says(&page, &difference), "{difference}");
    // A linear fit has no second one beside it.
    let alone = report(&regression().hidden(&[]).fit(&strength()).unwrap()).unwrap();
    assert!(!alone.contains("Linear</th>") && page.contains("Linear</th>"));
}

#[test]
fn checks_are_those_of_the_library() {
    let fit = regression().fit(&strength()).unwrap();
    let page = report(&fit).unwrap();
    for check in &fit.predictive_checks().unwrap()[0].posterior {
        let line = between(&page, &format!("row\">{}</th>", check.name), "</tr>");
        assert!(line.contains(&format!(">{:.3}<", check.p_value())), "{line}");
    }
    // What matters first: scores, effects, predictions; then how it came about.
    let places = ["scores", "effects", "predictions", "convergence", "data", "model", "cite"]
        .map(|link| page.find(&format!("<h2 id=\"{link}\"")).unwrap());
    assert!(places.is_sorted());
}
