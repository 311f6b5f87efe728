//! The rows of a fit as text.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ndarray::Array2;

use super::saved::Saved;
use crate::data::{Dataset, guarded, unguarded};

/// Writes the rows as text: features, then the response, then the weights of rows, if there are any, in a column of the name
/// `weights`; numbers are read back as the same bits. Names that a spreadsheet would take for formulas are guarded.
pub(super) fn write(
    data: &Dataset,
    weights: Option<String>,
    to: &mut dyn Write,
) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(to);
    let until = until(data.response_names(), data.response().bounds().is_some());
    let names = data.feature_names().iter().chain(data.response_names());
    let names = names.chain(&until).chain(&weights);
    csv.write_record(names.map(|name| guarded(name).into_owned()))?;
    let (y, class_names) = (data.response().in_columns(), data.response().class_names());
    for (i, row) in data.x().rows().into_iter().enumerate() {
        let mut record: Vec<String> = row.iter().map(f64::to_string).collect(); //~ saved-digits
        record.extend(y.row(i).iter().map(|y| match class_names {
            Some(names) => guarded(&names[*y as usize]).into(),
            None => y.to_string(),
        }));
        record.extend(data.weights().map(|w| w[i].to_string())); //~ saved-weights
        csv.write_record(&record)?;
    }
    Ok(csv.flush()?)
}

/// The length and the CRC-32 of a file: two that are equal here are taken for equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    length: u64,
    crc32: crc32fast::Hasher,
}

impl Sum {
    /// Of the file at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut sum = Self::default();
        io::copy(&mut File::open(path)?, &mut sum)?;
        Ok(sum)
    }

    pub(super) fn crc32(&self) -> u32 {
        self.crc32.clone().finalize()
    }

    /// Whether the file at `path` has this sum.
    pub(super) fn is_of(&self, path: &Path) -> io::Result<bool> {
        let there = Self::of(path)?;
        Ok((there.length, there.crc32()) == (self.length, self.crc32()))
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        self.crc32.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of the column of upper bounds, of numbers with bounds.
fn until(names: &[String], has_bounds: bool) -> Option<String> {
    names.first().filter(|_| has_bounds).map(|name| format!("{name} until"))
}

/// Reads the rows that [`write`] wrote; an error says what is wrong with the text.
pub(super) fn read(from: impl Read, saved: &Saved) -> Result<Dataset, String> {
    let mut csv = csv::Reader::from_reader(from);
    let header = csv.headers().map_err(|e| e.to_string())?.clone();
    // The reader skips a byte-order mark at the beginning of the file, so names are compared
    // without it.
    let without_mark = |name: &str| name.trim_start_matches('\u{FEFF}').to_string();
    let task = saved.task().ok_or("`fit.json` has no task")?;
    let until = until(&saved.response_names, task.has_bounds());
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
    let (mut upper, mut weights) = (Vec::new(), Vec::new());
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
                _ if until.is_some() && j > width => upper.push(number),
                _ => y.push(number),
            }
        }
    }
    let array = |values: Vec<f64>, columns: usize| {
        let rows = values.len() / columns.max(1);
        Array2::from_shape_vec((rows, columns), values).map_err(|e| e.to_string())
    };
    let y = array(y, saved.response_names.len())?;
    let class_names = saved.class_names.clone().unwrap_or_default();
    let response = task.response(y, upper, (classes, class_names));
    let names = (saved.feature_names.clone(), saved.response_names.clone());
    let data = Dataset::checked(array(x, width)?, response, names.0, names.1);
    let data = match saved.weights {
        Some(_) => data.and_then(|data| data.with_weights(weights)),
        None => data,
    };
    data.map_err(|e| e.to_string())
}
