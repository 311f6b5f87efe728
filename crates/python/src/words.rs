//! Python's spelling of settings in the library's messages.

use bnn_mcmc::message::{Setting, Vocabulary};

/// The parameters of the estimators.
pub struct Parameters;

impl Vocabulary for Parameters {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let parameter = setting.parameter()?;
        Some(match (setting, value) {
            (_, None) => format!("`{parameter}`"),
            (Setting::Hidden, Some(units)) => format!("`{parameter}=({units},)`"),
            (_, Some(value)) if value.parse::<f64>().is_ok() => format!("`{parameter}={value}`"),
            (_, Some(value)) => format!("`{parameter}=\"{value}\"`"),
        })
    }
}
