//! Reads CSV tables from standard input, one request of JSON a line, and answers each with a line: what
//! the library makes of the table, or why it refuses it. The tests compare it with data frames.

use std::io::{BufRead, Write, stdin, stdout};

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvReader, Response};
use bnn_mcmc::fit::Fit;
use serde_json::{Value, json};

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(String::from)).collect()
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

fn answer(request: &Value) -> Result<Value, Error> {
    let response = texts(&request["response"]);
    let (reader, recipe) = match request["task"].as_str() {
        Some("classification") => {
            (CsvReader::classification(response.clone()), Fit::classification(response))
        }
        Some("counts") => (CsvReader::counts(response.clone()), Fit::counts(response)),
        _ => (CsvReader::regression(response.clone()), Fit::regression(response)),
    };
    let reader = reader.header();
    let reader = reader.categorical(texts(&request["categorical"]));
    let reader = reader.ignore(texts(&request["ignored"]));
    let text = request["text"].as_str().unwrap_or_default();
    let read = reader.read(text.as_bytes())?;
    let rows = &read.dataset;
    let (y, classes): (Vec<f64>, _) = match rows.response() {
        Response::Real(y) | Response::Counts(y) => (y.iter().copied().collect(), Vec::new()),
        _ => (
            rows.classes()?.iter().map(|class| *class as f64).collect(),
            rows.response().class_names().unwrap_or_default().to_vec(),
        ),
    };
    let mut answer = json!({
        "features": rows.feature_names(),
        "response": rows.response_names(),
        "x": rows.x().iter().collect::<Vec<_>>(),
        "y": y,
        "classes": classes,
    });
    let settings = &request["fit"];
    if settings.is_null() {
        return Ok(answer);
    }
    let units: Vec<usize> =
        settings["hidden"].as_array().into_iter().flatten().map(number).collect();
    let recipe = recipe
        .hidden(&units)
        .chains(number(&settings["chains"]))
        .warmup(number(&settings["warmup"]))
        .draws(number(&settings["draws"]))
        .seed(number(&settings["seed"]) as u64);
    let fit = recipe.fit_like(rows, &read.schema)?;
    let predicted = fit.predict_new(rows.x().view())?.predictions.posterior_mean()?;
    let scaling = fit.feature_scaler().columns().iter().flat_map(|c| [c.shift, c.scale]);
    answer["scaling"] = scaling.collect();
    answer["draws"] = fit.draws().values().iter().copied().collect();
    answer["predicted"] = predicted.iter().copied().collect();
    Ok(answer)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = answer(&request).unwrap_or_else(|error| json!({"error": error.to_string()}));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
