//! Dates and times as features.

use std::f64::consts::TAU;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use serde::{Deserialize, Serialize};

use super::DateOrder;
use super::table::is_date;
use crate::cells::shown;
use crate::message::Advice;

/// Seconds of a year in the mean of the calendar.
const YEAR: f64 = 365.2425 * DAY;
const DAY: f64 = 86_400.0;
/// The moment that seconds are counted from.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The ways of writing a day, as `strftime` has them. The month is in front of the day, or behind it, where both
/// are numbers.
const DAYS: [(&str, Option<DateOrder>); 24] = [
    ("%Y-%m-%d", None),
    ("%Y/%m/%d", None),
    ("%Y.%m.%d", None),
    ("%Y-%m", None),
    ("%d.%m.%Y", None),
    ("%d.%m.%y", None),
    ("%d/%m/%Y", Some(DateOrder::DayFirst)),
    ("%m/%d/%Y", Some(DateOrder::MonthFirst)),
    ("%d/%m/%y", Some(DateOrder::DayFirst)),
    ("%m/%d/%y", Some(DateOrder::MonthFirst)),
    ("%d-%m-%Y", Some(DateOrder::DayFirst)),
    ("%m-%d-%Y", Some(DateOrder::MonthFirst)),
    ("%d-%m-%y", Some(DateOrder::DayFirst)),
    ("%m-%d-%y", Some(DateOrder::MonthFirst)),
    ("%d %b %Y", None),
    ("%d %B %Y", None),
    ("%d-%b-%Y", None),
    ("%d-%b-%y", None),
    ("%d %b %y", None),
    ("%b %d, %Y", None),
    ("%B %d, %Y", None),
    ("%b %d %Y", None),
    ("%B %d %Y", None),
    ("%d. %B %Y", None),
];
/// The way of ISO 8601.
pub(super) const ISO: &str = DAYS[0].0;
/// The ways of writing a time of the day.
const CLOCKS: [&str; 5] = ["%H:%M", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p"];

/// The features that a column of dates or times becomes, by the training rows:
///
/// | feature | value | where |
/// | --- | --- | --- |
/// | `column years` | years (of 365.2425 days) since the first one in training | dates |
/// | `column season sin`, `cos` | sine and cosine of 2 pi times the share of the year that has passed | they span a year, and are not all of the same date |
/// | `column=Monday`, ... | 1 on this day of the week | they span two weeks, and are not all of the same day of the month |
/// | `column hour sin`, `cos` | sine and cosine of 2 pi times the share of the day that has passed | times differ |
///
/// Times are as they are written: an offset, such as `+02:00`, is not applied. A time that is missing has the
/// median of the years, and 0 elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dates {
    /// The way of writing the day; `None` of times of the day, and of columns that were no text.
    day: Option<String>,
    /// The first time in training, in seconds since 1970; `None` of times of the day.
    first: Option<f64>,
    season: bool,
    /// The days of the week that occur in training, counted from Monday as 0, in order.
    weekdays: Vec<usize>,
    clock: bool,
    /// The time zone of the clock in training, of a table that says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
}

impl Dates {
    /// The features for a column of `times`: seconds since the beginning of 1970 as a clock on the
    /// wall there shows them, or since midnight if `is_clock`. NaN is missing; if all are, years are since
    /// 1970.
    pub fn of(times: impl IntoIterator<Item = f64>, is_clock: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut days, mut clocks, mut weekdays) = (Vec::new(), Vec::new(), Vec::new());
        let mut dates = Vec::new();
        for time in times.into_iter().filter(|time| !time.is_nan()) {
            (low, high) = (low.min(time), high.max(time));
            let date = at(time);
            let weekday = usize::from(date.weekday().to_monday_zero_offset().unsigned_abs());
            add(&mut days, date.day());
            add(&mut dates, (date.month(), date.day()));
            add(&mut clocks, time.rem_euclid(DAY).to_bits());
            add(&mut weekdays, weekday);
        }
        weekdays.sort_unstable();
        let has_week = !is_clock && high - low >= 14.0 * DAY && days.len() > 1;
        Self {
            day: None,
            first: (!is_clock).then_some(if low.is_finite() { low } else { 0.0 }),
            season: !is_clock && high - low >= 365.0 * DAY && dates.len() > 1, //~ season-of-one-date
            weekdays: if has_week && weekdays.len() > 1 { weekdays } else { Vec::new() },
            clock: is_clock || clocks.len() > 1,
            zone: None,
        }
    }

    /// The same of a clock in this time zone, such as `Europe/Berlin`: a program that hands over times of other zones brings them
    /// there first.
    pub fn in_zone(self, zone: Option<String>) -> Self {
        Self { zone, ..self }
    }

    /// The time zone of the clock in training, if the table said it.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    pub(super) fn written(self, day: Option<&str>) -> Self {
        Self { day: day.map(String::from), ..self }
    }

    /// The way of writing the day: that of ISO 8601 if the training rows were no text.
    fn day(&self) -> Option<&str> {
        self.day.as_deref().or(self.has_years().then_some(ISO))
    }

    /// The time of a cell in seconds, if it is written as those in training.
    pub(super) fn read(&self, cell: &str) -> Option<f64> {
        seconds(cell, self.day())
    }

    /// The time of a cell in seconds, if it is written as ISO 8601 has it.
    pub(super) fn read_iso(&self, cell: &str) -> Option<f64> {
        seconds(cell, self.has_years().then_some(ISO))
    }

    /// Whether the first feature is the elapsed time, of which a missing one has the median.
    pub(super) fn has_years(&self) -> bool {
        self.first.is_some()
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        let pairs = usize::from(self.season) + usize::from(self.clock);
        usize::from(self.has_years()) + 2 * pairs + self.weekdays.len()
    }

    /// The names of the features of the column of this name.
    pub fn features(&self, column: &str) -> Vec<String> {
        const NAMES: [&str; 7] =
            ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        let mut names = Vec::with_capacity(self.width());
        let pair = |what: &str| [format!("{column} {what} sin"), format!("{column} {what} cos")];
        names.extend(self.has_years().then(|| format!("{column} years")));
        names.extend(self.season.then(|| pair("season")).into_iter().flatten());
        names.extend(self.weekdays.iter().map(|day| format!("{column}={}", NAMES[*day])));
        names.extend(self.clock.then(|| pair("hour")).into_iter().flatten());
        names
    }

    /// Adds the features of a time, in seconds as in [`of`](Self::of).
    pub fn push(&self, time: f64, x: &mut Vec<f64>) {
        let date = at(time);
        let midnight = time.rem_euclid(DAY);
        if let Some(first) = self.first {
            x.push((time - first) / YEAR);
        }
        if self.season {
            let passed = f64::from(date.day_of_year()) - 1.0 + midnight / DAY;
            x.extend(wave(passed, f64::from(date.days_in_year()))); //~ season
        }
        let weekday = usize::from(date.weekday().to_monday_zero_offset().unsigned_abs());
        x.extend(self.weekdays.iter().map(|day| f64::from(u8::from(*day == weekday))));
        if self.clock {
            x.extend(wave(midnight, DAY));
        }
    }

    /// Adds the features of a missing time.
    pub fn push_missing(&self, years: f64, x: &mut Vec<f64>) {
        let start = x.len();
        x.resize(start + self.width(), 0.0);
        if self.has_years() {
            x[start] = years;
        }
    }

    /// The time, in seconds as in [`of`](Self::of), that has become these features, up to rounding; `None` of a missing
    /// time of the day.
    pub fn time(&self, features: &[f64]) -> Option<f64> {
        match self.first {
            Some(first) => features.first().map(|years| first + years * YEAR),
            None => match features {
                [sin, cos, ..] if (*sin, *cos) != (0.0, 0.0) => {
                    Some((libm::atan2(*sin, *cos) / TAU).rem_euclid(1.0) * DAY)
                }
                _ => None,
            },
        }
    }

    /// A time in words: day, time of the day, or both where the training rows have both.
    pub fn shown(&self, time: f64) -> String {
        let shown = |pattern| at(time).strftime(pattern).to_string();
        match (self.has_years(), self.clock) {
            (true, false) => shown("%Y-%m-%d"),
            (true, true) => shown("%Y-%m-%d %H:%M"),
            (false, _) => shown("%H:%M"),
        }
    }

    /// What the column is taken for, in words.
    pub fn in_words(&self) -> String {
        let parts = [
            self.first.map(|first| format!("years since {}", at(first).date())),
            self.season.then(|| "season".into()),
            (!self.weekdays.is_empty()).then(|| "day of the week".into()),
            self.clock.then(|| "time of the day".into()),
        ];
        Vec::from_iter(parts.into_iter().flatten()).join(", ")
    }
}

/// Sine and cosine of what has `passed` of a period, the same on every machine. Times that mirror one another have the same numbers
/// but for the sign: 08:00 and 16:00 one cosine, of which rounding would otherwise make two.
fn wave(passed: f64, period: f64) -> [f64; 2] {
    let (half, quarter) = (0.5 * period, 0.25 * period);
    let (at, sign_of_sin) = if passed > half { (period - passed, -1.0) } else { (passed, 1.0) };
    let (at, sign_of_cos) = if at > quarter { (half - at, -1.0) } else { (at, 1.0) }; //~ wave-mirror
    let [sin, cos] = if at <= 0.5 * quarter {
        let angle = TAU * at / period;
        [libm::sin(angle), libm::cos(angle)]
    } else {
        let angle = TAU * (quarter - at) / period;
        [libm::cos(angle), libm::sin(angle)]
    };
    [sign_of_sin * sin, sign_of_cos * cos]
}

/// The day and the time so many seconds after the beginning of 1970.
fn at(time: f64) -> DateTime {
    let since = SignedDuration::try_from_secs_f64(time).unwrap_or_default();
    EPOCH.checked_add(since).unwrap_or(EPOCH)
}

/// A time as ISO 8601 has it.
pub(super) fn in_iso(time: f64) -> String {
    at(time).strftime("%Y-%m-%d %H:%M:%S%.f").to_string()
}

fn add<T: PartialEq>(seen: &mut Vec<T>, value: T) {
    if seen.len() < 7 && !seen.contains(&value) {
        seen.push(value);
    }
}

/// The seconds since the beginning of 1970, or since midnight where there is no `day`, of a cell; `None` if
/// it is not written so.
pub(super) fn seconds(cell: &str, day: Option<&str>) -> Option<f64> {
    let (date, clock) = match (day, cut(cell)) {
        (None, (None, Some(clock))) => (EPOCH.date(), Some(clock)),
        (Some(day), (Some(date), clock)) => (date_of(date, day)?, clock),
        _ => return None,
    };
    let time = match clock {
        Some(clock) => time_of(clock)?,
        None => Time::midnight(),
    };
    Some(date.to_datetime(time).duration_since(EPOCH).as_secs_f64())
}

/// The day and the time of the day, which are apart by `T` or a blank.
fn cut(cell: &str) -> (Option<&str>, Option<&str>) {
    let Some(colon) = cell.find(':') else { return (Some(cell), None) };
    match cell[..colon].rfind(['T', ' ']) {
        Some(at) => (Some(cell[..at].trim_end()), Some(&cell[at + 1..])),
        None => (None, Some(cell)),
    }
}

fn date_of(date: &str, day: &str) -> Option<Date> {
    // `%Y` reads 24 as the year 24.
    let mut runs = date.split(|c: char| !c.is_ascii_digit());
    if day.contains("%Y") != runs.any(|run| run.len() == 4) {
        return None;
    }
    match day {
        "%Y-%m" => Date::strptime("%Y-%m-%d", format!("{date}-01")).ok(),
        day => Date::strptime(day, date).ok(),
    }
}

/// A time of the day, without the offset behind it.
fn time_of(clock: &str) -> Option<Time> {
    let clock = clock.trim_end_matches('Z');
    let end = clock.find(['+', '-']).unwrap_or(clock.len());
    let clock = clock[..end].trim();
    CLOCKS.iter().find_map(|way| Time::strptime(way, clock).ok())
}

/// The search for the way in which the dates of a column are written.
#[derive(Clone)]
pub(super) struct Search {
    /// The ways of writing the day that all cells so far allow, a bit each.
    ways: u32,
    first: Option<(usize, String)>,
    /// The first cell that is one date with the day first and another one with the month first.
    apart: Option<(usize, String)>,
    /// The first cell that is written in no way in which the cells before it are.
    other: Option<(usize, String)>,
    has_day: bool,
    are_dates: bool,
}

impl Search {
    pub(super) fn new() -> Self {
        let ways = (1 << DAYS.len()) - 1;
        let (first, apart, other) = (None, None, None);
        Self { ways, first, apart, other, has_day: false, are_dates: true }
    }

    /// Takes one more cell.
    pub(super) fn add(&mut self, line: usize, cell: &str) {
        if !self.are_dates || !is_date(cell) {
            self.are_dates = false;
            return;
        }
        let has_day = cut(cell).0.is_some();
        if self.first.is_none() {
            self.has_day = has_day;
            self.first = Some((line, cell.into()));
        }
        let is_so = match self.has_day {
            false => !has_day && seconds(cell, None).is_some(),
            true => {
                let allows = |way: &usize| seconds(cell, Some(DAYS[*way].0)).is_some();
                let left: u32 = ways_of(self.ways).filter(allows).map(|way| 1 << way).sum();
                if left > 0 {
                    self.ways = left;
                }
                left > 0
            }
        };
        if !is_so && self.other.is_none() {
            self.other = Some((line, cell.into()));
        }
        if self.apart.is_none() && is_so && self.ways.count_ones() > 1 {
            let mut dates = ways_of(self.ways).filter_map(|way| date_of(cut(cell).0?, DAYS[way].0));
            let first = dates.next();
            if dates.any(|date| Some(date) != first) {
                self.apart = Some((line, cell.into()));
            }
        }
    }

    /// The way of writing the day, `None` for times of the day; an error with its line where there is
    /// none or there are several. `None` if the column holds no dates.
    pub(super) fn end(self, order: DateOrder) -> Option<Result<Option<&'static str>, Problem>> {
        let (line, first) = self.first.filter(|_| self.are_dates)?;
        if let Some((line, cell)) = self.other {
            return Some(Err(Problem { line, cell, kind: Kind::Other { first } }));
        }
        if !self.has_day {
            return Some(Ok(None));
        }
        let suits =
            |way: &usize| DAYS[*way].1.is_none_or(|own| order == DateOrder::Auto || own == order);
        let ways = ways_of(self.ways);
        let suiting = ways.clone().find(suits);
        let orders = ways.clone().filter_map(|way| DAYS[way].1);
        let is_open = order == DateOrder::Auto
            && orders.clone().any(|order| order == DateOrder::DayFirst)
            && orders.clone().any(|order| order == DateOrder::MonthFirst);
        Some(match suiting {
            Some(_) if is_open => {
                let (line, first) = self.apart.unwrap_or((line, first));
                let reading = |order: DateOrder| {
                    let way = ways.clone().find(|way| DAYS[*way].1 == Some(order))?;
                    Some(date_of(cut(&first).0?, DAYS[way].0)?.strftime("%-d %B %Y").to_string())
                };
                let [day, month] = [DateOrder::DayFirst, DateOrder::MonthFirst]
                    .map(|order| reading(order).unwrap_or_default());
                Err(Problem { line, cell: first, kind: Kind::Ambiguous { day, month } })
            }
            Some(way) => Ok(Some(DAYS[way].0)),
            None => Err(Problem { line, cell: first, kind: Kind::Order }),
        })
    }
}

/// The places of ways in [`DAYS`], in order.
fn ways_of(bits: u32) -> impl Iterator<Item = usize> + Clone {
    (0..DAYS.len()).filter(move |way| bits >> way & 1 == 1)
}

/// What is wrong with a cell of a column of dates.
pub(super) struct Problem {
    pub(super) line: usize,
    cell: String,
    kind: Kind,
}

enum Kind {
    /// It is not written as the first one is.
    Other { first: String },
    /// It may be either day, and so may all others.
    Ambiguous { day: String, month: String },
    /// It is none in the order that was asked for.
    Order,
}

impl Problem {
    /// The problem in words, and what can be done about it.
    pub(super) fn said(self) -> (String, Vec<Advice>) {
        let cell = shown(&self.cell);
        match self.kind {
            Kind::Other { first } if first == self.cell => {
                (format!("`{cell}` looks like a date, but is none"), vec![Advice::MarkMissing])
            }
            Kind::Other { first } => {
                let problem =
                    format!("`{cell}` is not a date that is written as `{}` is", shown(&first));
                (problem, vec!["write all in one way".into(), Advice::MarkMissing])
            }
            Kind::Ambiguous { day, month } => {
                let either = match day == month {
                    true => "have the day first or the month first".to_string(),
                    false => format!("be {day} or {month}"),
                };
                let problem =
                    format!("`{cell}` may {either}, and no cell of the column tells which");
                (problem, vec![Advice::DateOrder])
            }
            Kind::Order => (
                format!("`{cell}` is no date in the order that was asked for"),
                vec![Advice::DateOrder],
            ),
        }
    }
}
