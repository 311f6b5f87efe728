//! The rows of a fit as text.

use std::collections::HashMap;

use ndarray::Array2;

use super::saved::{DATA, Saved};
use crate::Error;
use crate::data::{Dataset, Response, guarded, unguarded};

/// The rows as text: features, then the response, then the weights of rows, if there are any, in a column of the name
/// `weights`; numbers are read back as the same bits. Names that a spreadsheet would take for formulas are guarded.
pub(super) fn to_csv(data: &Dataset, weights: Option<String>) -> Result<Vec<u8>, Error> {
    let failed = |e: csv::Error| Error::argument(DATA, e, "writable");
    let mut csv = csv::Writer::from_writer(Vec::new());
    let until = until(data.response_names(), data.response().bounds().is_some());
    let names = data.feature_names().iter().chain(data.response_names());
    let names = names.chain(&until).chain(&weights);
    csv.write_record(names.map(|name| guarded(name).into_owned())).map_err(failed)?;
    for (i, row) in data.x().rows().into_iter().enumerate() {
        let mut record: Vec<String> = row.iter().map(f64::to_string).collect(); //~ saved-digits
        match data.response() {
            Response::Real(y) | Response::Counts(y) => {
                record.extend(y.row(i).iter().map(f64::to_string));
            }
            Response::Classes { index, names } => record.push(guarded(&names[index[i]]).into()),
            Response::Censored { lower, upper } => {
                record.extend([lower[i], upper[i]].map(|y| y.to_string()));
            }
        }
        record.extend(data.weights().map(|w| w[i].to_string())); //~ saved-weights
        csv.write_record(&record).map_err(failed)?;
    }
    csv.into_inner().map_err(|e| Error::argument(DATA, e, "writable"))
}

/// The name of the column of upper bounds, of numbers with bounds.
fn until(names: &[String], has_bounds: bool) -> Option<String> {
    names.first().filter(|_| has_bounds).map(|name| format!("{name} until"))
}

/// Reads the rows that [`to_csv`] wrote; an error says what is wrong with the text.
pub(super) fn from_csv(bytes: &[u8], saved: &Saved) -> Result<Dataset, String> {
    let mut csv = csv::Reader::from_reader(bytes);
    let header = csv.headers().map_err(|e| e.to_string())?.clone();
    // The reader skips a byte-order mark at the beginning of the file, so names are compared
    // without it.
    let without_mark = |name: &str| name.trim_start_matches('\u{FEFF}').to_string();
    let until = until(&saved.response_names, saved.is_of_times());
    let names = saved.feature_names.iter().chain(&saved.response_names);
    let names = names.chain(&until).chain(&saved.weights);
    // Folders of earlier versions have unguarded names that a spreadsheet takes for formulas.
    let is_name = |(cell, name): (&str, &String)| {
        let [cell, name] = [cell, name].map(without_mark);
        cell == name || unguarded(&cell) == name
    };
    if header.len() != names.clone().count() || !header.iter().zip(names).all(is_name) {
        return Err("its columns are not those that `fit.json` names".into());
    }
    let width = saved.feature_names.len();
    let weight = saved.weights.as_ref().map(|_| header.len() - 1);
    let (mut x, mut y, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    let mut weights = Vec::new();
    let numbers = saved.class_names.as_ref().map(|names| -> HashMap<&str, usize> {
        names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect()
    });
    for record in csv.records() {
        let record = record.map_err(|e| e.to_string())?;
        for (j, cell) in record.iter().enumerate() {
            if let (Some(numbers), true) = (&numbers, j == width) {
                let class = numbers.get(unguarded(cell)).or_else(|| numbers.get(cell)).copied();
                classes.push(class.ok_or_else(|| format!("`{cell}` is no class"))?);
                continue;
            }
            let number = cell.parse().map_err(|_| format!("`{cell}` is not a number"))?;
            match j {
                _ if Some(j) == weight => weights.push(number),
                _ if j < width => x.push(number),
                _ => y.push(number),
            }
        }
    }
    let array = |values: Vec<f64>, columns: usize| {
        let rows = values.len() / columns.max(1);
        Array2::from_shape_vec((rows, columns), values).map_err(|e| e.to_string())
    };
    let response = match &saved.class_names {
        Some(names) => Response::Classes { index: classes, names: names.clone() },
        None if saved.is_of_counts() => Response::Counts(array(y, saved.response_names.len())?),
        None if saved.is_of_times() => {
            let bounds = array(y, 2)?;
            let [lower, upper] = [0, 1].map(|j| bounds.column(j).to_owned());
            Response::Censored { lower, upper }
        }
        None => Response::Real(array(y, saved.response_names.len())?),
    };
    let names = (saved.feature_names.clone(), saved.response_names.clone());
    let data = Dataset::checked(array(x, width)?, response, names.0, names.1);
    let data = match saved.weights {
        Some(_) => data.and_then(|data| data.with_weights(weights)),
        None => data,
    };
    data.map_err(|e| e.to_string())
}
