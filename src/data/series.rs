//! Series: delay embedding into rows, and the 13-month smoothing of sunspot numbers.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Dataset, Response};
use crate::Error;
use crate::error::Row;

/// A delay embedding (Takens 1981) of a series s for regression.
///
/// Row i starts at time t0 = i * `stride`. Its inputs are `s[t0]`, `s[t0 + lag]`, ...,
/// `s[t0 + (window - 1) lag]`; its response is the value `horizon` steps after the last input.
///
/// Split a series before it is embedded where windows of the training and the test rows must not
/// share values.
///
/// ```
/// use bnn_mcmc::data::Takens;
/// let series: Vec<f64> = (0..10).map(f64::from).collect();
/// // Four values one step apart, the next value as the response, windows two steps apart.
/// let data = Takens { window: 4, lag: 1, stride: 2, horizon: 1 }.embed(&series)?;
/// assert_eq!(data.x().row(1).to_vec(), [2.0, 3.0, 4.0, 5.0]);
/// assert_eq!(data.real()?[(1, 0)], 6.0);
/// assert_eq!(data.feature_names(), ["t-3", "t-2", "t-1", "t"]);
/// assert_eq!(data.response_names(), ["t+1"]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takens {
    /// The number of inputs, often called the embedding dimension.
    pub window: usize,
    /// Steps between neighbouring inputs.
    pub lag: usize,
    /// Steps from the start of a window to the start of the next.
    pub stride: usize,
    /// Steps from the last input to the response.
    pub horizon: usize,
}

impl Takens {
    /// `window` neighbouring values predict the next one; the windows start at every step.
    pub fn new(window: usize) -> Self {
        Self { window, lag: 1, stride: 1, horizon: 1 }
    }

    /// The number of values that one row spans, response included.
    ///
    /// # Errors
    /// If one of the four numbers is 0, or the span exceeds `usize`.
    pub fn span(&self) -> Result<usize, Error> {
        for (name, value) in [
            ("window", self.window),
            ("lag", self.lag),
            ("stride", self.stride),
            ("horizon", self.horizon),
        ] {
            if value == 0 {
                return Err(Error::argument(name, 0, "at least 1"));
            }
        }
        (self.window - 1)
            .checked_mul(self.lag)
            .and_then(|steps| steps.checked_add(self.horizon)?.checked_add(1))
            .ok_or_else(|| {
                let value = format!("{} x {}", self.window, self.lag);
                Error::argument("window x lag", value, "within the range of whole numbers")
            })
    }

    /// The rows of a series. Features are named by their time, from `t-3` to `t`, say, the
    /// response `t+1`.
    ///
    /// # Errors
    /// If one of the four numbers is 0, the series is shorter than one window and its response, or
    /// a value is not finite.
    pub fn embed(&self, series: &[f64]) -> Result<Dataset, Error> {
        let span = self.span()?;
        if series.len() < span {
            let expected = format!("at least {span}, the span of one window and its response");
            return Err(Error::shape("length of the series", series.len(), expected));
        }
        check_series(series)?;
        let rows = (series.len() - span) / self.stride + 1;
        let x = Array2::from_shape_fn((rows, self.window), |(i, j)| {
            series[i * self.stride + j * self.lag]
        });
        let y = Array2::from_shape_fn((rows, 1), |(i, _)| series[i * self.stride + span - 1]);
        let names = (0..self.window).rev().map(|back| match back * self.lag {
            0 => "t".to_string(),
            steps => format!("t-{steps}"),
        });
        let response = vec![format!("t+{}", self.horizon)];
        Dataset::checked(x, Response::Real(y), names.collect(), response)
    }
}

/// The 13-month smoothed series, six values shorter at either end.
///
/// Each value is the mean of 13 neighbours in which the first and the last count one half: the
/// custom for monthly sunspot numbers. Value i of the result belongs to month i + 6.
///
/// # Errors
/// If the series has fewer than 13 values, or one is not finite.
pub fn smooth_13_months(series: &[f64]) -> Result<Vec<f64>, Error> {
    if series.len() < 13 {
        return Err(Error::shape("length of the series", series.len(), "at least 13"));
    }
    check_series(series)?;
    let smoothed = |w: &[f64]| (0.5 * (w[0] + w[12]) + w[1..12].iter().sum::<f64>()) / 12.0;
    Ok(series.windows(13).map(smoothed).collect())
}

fn check_series(series: &[f64]) -> Result<(), Error> {
    match series.iter().position(|value| !value.is_finite()) {
        Some(i) => Err(Error::Cell {
            table: "series".into(),
            row: Row::Number(i + 1),
            column: "value".into(),
            problem: format!("{} is not a finite number", series[i]),
            advice: Vec::new(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn windows_with_all_four_numbers_above_one() {
        let series: Vec<f64> = (0..20).map(f64::from).collect();
        let data = Takens { window: 3, lag: 4, stride: 5, horizon: 2 }.embed(&series).unwrap();
        assert_eq!(data.rows(), 2);
        assert_eq!(data.x().row(1).to_vec(), [5.0, 9.0, 13.0]);
        assert_eq!(data.real().unwrap().column(0).to_vec(), [10.0, 15.0]);
        assert_eq!(data.feature_names(), ["t-8", "t-4", "t"]);
        assert_eq!(data.response_names(), ["t+2"]);
    }

    #[test]
    fn the_shortest_series_gives_one_row() {
        let data = Takens::new(4).embed(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(data.rows(), 1);
        assert_eq!(
            Takens::new(4).embed(&[1.0, 2.0, 3.0, 4.0]).unwrap_err().to_string(),
            "length of the series: found 4, expected at least 5, the span of one window and its \
             response"
        );
    }

    #[test]
    fn bad_parameters_and_values_are_errors() {
        let good = Takens::new(2);
        for (name, bad) in [
            ("window", Takens { window: 0, ..good }),
            ("lag", Takens { lag: 0, ..good }),
            ("stride", Takens { stride: 0, ..good }),
            ("horizon", Takens { horizon: 0, ..good }),
        ] {
            let error = bad.embed(&[0.0; 10]).unwrap_err().to_string();
            assert_eq!(error, format!("`{name}` is 0, but must be at least 1"));
        }
        for bad in [
            Takens { window: usize::MAX, lag: usize::MAX, ..good },
            Takens { horizon: usize::MAX, ..good },
            Takens { window: usize::MAX, ..good },
        ] {
            assert!(bad.embed(&[0.0; 10]).is_err());
        }
        let wide = Takens { stride: usize::MAX, ..good };
        assert_eq!(wide.embed(&[0.0; 10]).unwrap().rows(), 1);
        let error = good.embed(&[0.0, 1.0, f64::NAN]).unwrap_err().to_string();
        assert_eq!(error, "series, row 3, column `value`: NaN is not a finite number");
    }

    #[test]
    fn smoothing_keeps_a_line_and_weighs_the_ends_by_one_half() {
        let line: Vec<f64> = (0..20).map(f64::from).collect();
        for (i, value) in smooth_13_months(&line).unwrap().into_iter().enumerate() {
            assert_abs_diff_eq!(value, i as f64 + 6.0, epsilon = 1e-12);
        }
        let mut pulse = vec![0.0; 13];
        pulse[0] = 24.0;
        assert_eq!(smooth_13_months(&pulse).unwrap(), [1.0]);
        pulse[1] = 12.0;
        assert_eq!(smooth_13_months(&pulse).unwrap(), [2.0]);
        assert!(smooth_13_months(&[0.0; 12]).is_err());
        pulse[3] = f64::INFINITY;
        assert!(smooth_13_months(&pulse).is_err());
    }
}
