//! The contents of `fit.json`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::Sum;
use super::{FeatureRange, Noise, Plan, Recipe, WeightPrior};
use crate::Error;
use crate::data::{Lines, Scaler, Schema, StandIn, Task};
use crate::error::Difference;
use crate::message::{Advice, Choice, Setting};

/// The version of the format of `fit.json` and `data.csv`.
const FORMAT: u32 = 1;

/// The file that describes the fit in a folder.
pub(super) const FIT: &str = "fit.json";
/// The file of the rows.
pub(super) const DATA: &str = "data.csv";

/// The contents of `fit.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    pub format: u32,
    /// The version of this crate that wrote it.
    pub bnn_mcmc: String,
    /// Whether the run has come to its end.
    pub finished: bool,
    pub recipe: Value,
    pub schema: Option<Schema>,
    pub dropped: Vec<usize>,
    /// The cells that something else stands in for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<StandIn>,
    /// The line of each row in the file; earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// The features' names in order, and the response's.
    pub feature_names: Vec<String>,
    pub response_names: Vec<String>,
    pub class_names: Option<Vec<String>>,
    /// The column of the weights of rows, which is the last one of `data.csv`, if rows have weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// The CRC-32 of `data.csv`.
    pub data_crc32: u32,
    /// The CRC-32 of `verdict.txt`, of a fit that is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict_crc32: Option<u32>,
    /// The [checksum](checksum_of) of `draws.zarr`, of a fit that is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws_crc32: Option<u32>,
    // The fields below follow from the fields above, and are written for people.
    pub network: Vec<usize>,
    pub parameters: usize,
    pub features: Scaler,
    pub response: Option<Scaler>,
    pub ranges: Vec<FeatureRange>,
    /// The CRC-32 of all else, as compact JSON with a 0 here.
    pub crc32: u32,
}

impl Saved {
    /// The contents of `fit.json` for a finished fit, with its verdict and the checksum of its
    /// draws, or for an unfinished one, without both.
    pub(super) fn of(plan: &Plan, data: &Sum, verdict: Option<(&str, u32)>) -> Result<Self, Error> {
        let recipe = serde_json::to_value(&plan.recipe);
        let names = plan.data.response().class_names();
        let saved = Self {
            format: FORMAT,
            bnn_mcmc: crate::VERSION.into(),
            finished: verdict.is_some(),
            recipe: recipe.map_err(|e| Error::argument("recipe", e, "writable as JSON"))?,
            schema: plan.origin.schema.clone(),
            dropped: plan.origin.dropped.clone(),
            stand_ins: plan.origin.stand_ins.clone(),
            lines: plan.origin.lines.clone(),
            feature_names: plan.data.feature_names().to_vec(),
            response_names: plan.data.response_names().to_vec(),
            class_names: names.map(<[String]>::to_vec),
            weights: plan.recipe.weights_column(&plan.data),
            data_crc32: data.crc32(),
            verdict_crc32: verdict.map(|(text, _)| crc32fast::hash(text.as_bytes())),
            draws_crc32: verdict.map(|(_, draws)| draws),
            network: plan.posterior.model().base().base().base().base().sizes().to_vec(),
            parameters: plan.posterior.layout().dim(),
            features: plan.features.scaler.clone(),
            response: plan.response.clone(),
            ranges: plan.ranges.clone(),
            crc32: 0,
        };
        Ok(Self { crc32: saved.checksum(), ..saved })
    }

    /// The text of `fit.json` in this folder.
    pub(super) fn text(&self, folder: &Path) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|e| problem(&folder.join(FIT), e.to_string()))?;
        Ok(format!("{text}\n"))
    }

    /// The recipe of the fit in `folder`.
    pub(super) fn recipe(&self, folder: &Path) -> Result<Recipe, Error> {
        let unread = |e| problem(&folder.join(FIT), format!("its recipe cannot be read: {e}"));
        serde_json::from_value(self.recipe.clone()).map_err(unread)
    }

    /// The task of the recipe.
    pub(super) fn task(&self) -> Option<Task> {
        self.recipe.get("task").and_then(Value::as_str).and_then(Task::named)
    }

    fn checksum(&self) -> u32 {
        let text = serde_json::to_string_pretty(&Self { crc32: 0, ..self.clone() });
        crc32fast::hash(compact(&text.unwrap_or_default()).as_bytes())
    }

    /// The first thing by which this fit differs from `other`: a setting, or the rows. It may have more
    /// draws; of a run that is not finished, also fewer.
    pub(super) fn difference(&self, other: &Self) -> Option<Difference> {
        let mut recipe = self.recipe.clone();
        if let (Some(own), Some(there)) = (draws(&self.recipe), draws(&other.recipe))
            && (own > there || !other.finished)
        {
            recipe["draws"] = there.into();
        }
        // The same model may have been given, and defaults may have been written out.
        let noise = self.task().and_then(Noise::default_of);
        let noise = noise.map_or(Value::Null, |noise| noise.name().into());
        let of = |recipe: &Value| {
            let mut recipe = recipe.clone();
            if let Some(recipe) = recipe.as_object_mut() {
                recipe.remove("search"); //~ same-model
                recipe.remove("most_draws");
                recipe.remove("run_until");
                for flag in ["skip", "power_features"] {
                    recipe.entry(flag).or_insert(false.into());
                }
                recipe.entry("weights").or_insert(WeightPrior::default().name().into());
                let own = recipe.entry("noise").or_insert(Value::Null);
                if own.is_null() {
                    *own = noise.clone();
                }
            }
            recipe
        };
        if let Some(difference) = difference("recipe", &of(&recipe), &of(&other.recipe)) {
            return Some(difference);
        }
        let is_same = self.data_crc32 == other.data_crc32 && self.schema == other.schema;
        (!is_same).then_some(Difference::Rows)
    }
}

/// The draws of each chain that a recipe asks for.
pub(super) fn draws(recipe: &Value) -> Option<u64> {
    recipe.get("draws").and_then(Value::as_u64)
}

/// The first place at which `there` differs from `here`, and both values.
fn difference(place: &str, here: &Value, there: &Value) -> Option<Difference> {
    if here == there {
        return None;
    }
    if let (Some(here), Some(there)) = (here.as_object(), there.as_object()) {
        return here.keys().chain(there.keys()).find_map(|key| {
            let [here, there] = [here, there].map(|o| o.get(key).cloned().unwrap_or_default());
            difference(&format!("{place}.{key}"), &here, &there)
        });
    }
    Some(Difference::Setting {
        name: place.into(),
        setting: setting(place),
        there: shown(there),
        asked: shown(here),
    })
}

/// The setting at a place of `fit.json`, such as `recipe.reader.response.Named`.
fn setting(place: &str) -> Option<Setting> {
    let mut names = place.rsplit('.');
    names.find_map(|name| Setting::ALL.iter().copied().find(|setting| setting.name() == name))
}

/// The first characters of a value.
fn shown(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

pub(super) fn other_fit(path: &Path, problem: impl Into<String>, difference: Difference) -> Error {
    let advice = vec![Advice::OtherFolder];
    Error::OtherFit {
        path: path.into(),
        problem: problem.into(),
        difference: difference.into(),
        advice,
    }
}

pub(super) fn problem(path: &Path, problem: impl Into<String>) -> Error {
    Error::table(path.display().to_string(), problem)
}

/// The result of reading `fit.json`.
pub(super) enum Read {
    Nothing,
    Damaged(Error),
    Saved(Box<Saved>),
}

/// # Errors
/// A file that the system refuses to read, or one of another version of this crate.
pub(super) fn read(folder: &Path) -> Result<Read, Error> {
    let path = folder.join(FIT);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Read::Nothing),
        Err(e) => return Err(Error::io(path, e)),
    };
    let damaged = |what: String| Ok(Read::Damaged(problem(&path, what)));
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(e) => return damaged(format!("it is not JSON: {e}")),
    };
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let version = value.get("bnn_mcmc").and_then(|v| v.as_str()).unwrap_or("unknown");
            let known = format!(
                "it has format {format}, of bnn-mcmc {version}; this version ({}) reads format {FORMAT}",
                crate::VERSION
            );
            return Err(problem(&path, known));
        }
        None => return damaged("it is not of a fit: it has no `format`".into()),
    }
    let saved: Saved = match serde_json::from_value(value) {
        Ok(saved) => saved,
        Err(e) => return damaged(e.to_string()),
    };
    //~ edited-fit
    if saved.crc32 != saved.checksum() {
        return damaged("it was edited or damaged: its checksum differs".into());
    }
    Ok(Read::Saved(Box::new(saved)))
}

/// JSON without the blanks between its parts: what serde_json writes if it is not to be pretty.
fn compact(pretty: &str) -> String {
    let (mut within_text, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        within_text ^= *c == '"' && !is_escaped;
        is_escaped = within_text && *c == '\\' && !is_escaped;
        within_text || !c.is_ascii_whitespace()
    };
    pretty.chars().filter(is_kept).collect()
}

/// The contents of `fit.json`, if the file exists. A damaged file is an error.
pub(super) fn read_json(folder: &Path) -> Result<Option<Saved>, Error> {
    match read(folder)? {
        Read::Nothing => Ok(None),
        Read::Damaged(error) => Err(error),
        Read::Saved(saved) => Ok(Some(*saved)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_json_is_that_of_serde_json() {
        let value = serde_json::json!({
            "a b": [1.5, "x\\\" y\\\\", "\\", " : , \n\t"], "empty": [{}, [], ""], "\"": null, "é ": {"in": true}
        });
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(compact(&pretty), serde_json::to_string(&value).unwrap());
    }
}
