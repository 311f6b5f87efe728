//! Rows that are drawn at random from a text which is too long to be read whole.

use std::mem;

use super::blocks::{BLOCK, Blocks};
use super::{CsvReader, Header};
use crate::Error;
use crate::data::gzip::Source;
use crate::message::{Advice, Setting};
use crate::rng::ChainRng;

/// The random stream of the rows.
const STREAM: u64 = u64::from_le_bytes(*b"sampling");

/// How many rows are drawn, and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    rows: usize,
    seed: u64,
}

/// The numbers of the rows that [`CsvReader::sample`] draws of a table of so many, counted from 0, in their order: for programs that
/// read other files than text. Each set of `rows` rows is as likely as any other (algorithm R of Vitter 1985,
/// <https://doi.org/10.1145/3147.3165>); all `of` rows if there are no more.
///
/// ```
/// use bnn_mcmc::data::rows_drawn;
/// let drawn = rows_drawn(3, 1000, 7);
/// assert!(drawn.len() == 3 && drawn.is_sorted() && drawn[2] < 1000);
/// assert_eq!(rows_drawn(3, 2, 7), [0, 1]);
/// ```
pub fn rows_drawn(rows: usize, of: usize, seed: u64) -> Vec<usize> {
    let mut reservoir = Reservoir::new(Sample { rows, seed });
    let mut drawn = Vec::with_capacity(rows.min(of));
    for row in 0..of {
        match reservoir.next() {
            Some(place) if place == drawn.len() => drawn.push(row),
            Some(place) => drawn[place] = row,
            None => {}
        }
    }
    drawn.sort_unstable();
    drawn
}

/// The places of rows among those that are kept, one row after the other. So far each row is kept with the same probability.
struct Reservoir {
    rng: ChainRng,
    rows: usize,
    /// The number of rows so far.
    of: usize,
}

impl Reservoir {
    fn new(Sample { rows, seed }: Sample) -> Self {
        Self { rng: ChainRng::new(seed, STREAM), rows, of: 0 }
    }

    /// The place of the next row, which it may take from another one; `None` if it is not kept.
    fn next(&mut self) -> Option<usize> {
        self.of += 1;
        if self.of <= self.rows {
            return Some(self.of - 1);
        }
        let place = (self.rng.uniform() * self.of as f64) as usize; //~ sampled-rows
        (place < self.rows).then_some(place)
    }
}

/// A line with its number, counted from 1.
type Line = (usize, Vec<u8>);

impl CsvReader {
    /// Of a text that is longer than the [limit](Self::limit), so many rows, at least 2, are drawn at random where it would be
    /// refused, in one pass: each has the same chance. Memory holds as many bytes as the limit, these rows, and a byte for each
    /// line of the file. A shorter text is read whole. The lines of other rows are not looked at; levels, classes and all else
    /// that is learnt is of the rows that were drawn. [`CsvData::drawn_from`](super::CsvData::drawn_from) says how many there were.
    ///
    /// Source: Vitter 1985, Random sampling with a reservoir, algorithm R, <https://doi.org/10.1145/3147.3165>.
    ///
    /// ```
    /// use std::fmt::Write;
    /// use bnn_mcmc::data::CsvReader;
    /// let mut text = String::from("x,y\n");
    /// (0..5000).for_each(|i| writeln!(text, "{i},{}", i % 7).unwrap());
    /// let read = CsvReader::regression("y").limit(10_000).sample(100, 1).read(text.as_bytes())?;
    /// assert_eq!((read.dataset.rows(), read.drawn_from), (100, Some(5000)));
    /// let line = read.lines.get(0).unwrap(); // of the file
    /// assert_eq!(read.dataset.x()[(0, 0)], (line - 2) as f64);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn sample(self, rows: usize, seed: u64) -> Self {
        Self { sample: Some(Sample { rows, seed }), ..self }
    }

    /// The text of a training file, and the number of its rows if only some were drawn: the other lines are blank.
    pub(super) fn training_text(
        &self,
        source: &mut Source,
    ) -> Result<(Vec<u8>, Option<usize>), Error> {
        // Of what is too long alone fewer rows can be read.
        let raises = |advice: &Advice| matches!(advice, Advice::RaiseLimit { .. });
        let advised = |error: Error| match &error {
            Error::Table { advice, .. } if advice.iter().any(raises) => {
                error.advise([Advice::SampleRows])
            }
            _ => error,
        };
        let Some(sample) = self.sample else {
            return Ok((self.text(source).map_err(advised)?, None));
        };
        let text = source.read_up_to(self.limit.saturating_add(1))?;
        if text.len() as u64 <= self.limit {
            return Ok((self.decoded(text, source)?, None));
        }
        if sample.rows < 2 {
            let error = Error::argument("number of rows to draw", sample.rows, "at least 2");
            return Err(error.of(Setting::MostRows));
        }
        let encoding = self.encoding_of(&text);
        if [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&encoding) {
            let problem = "the file is UTF-16 text, of which rows are not drawn".into();
            return Err(source.problem(problem).advise(["save it as UTF-8".into()]));
        }
        source.put_back(text);
        let (text, of) = self.drawn(source, sample)?;
        Ok((self.decoded_as(encoding, text, source)?, Some(of)))
    }

    /// The lines of the header and of the rows that are drawn, each in its place among blank ones, and the number of all rows.
    fn drawn(&self, source: &mut Source, sample: Sample) -> Result<(Vec<u8>, usize), Error> {
        let mut reservoir = Reservoir::new(sample);
        let mut header: Option<Line> = None;
        let mut kept: Vec<Line> = Vec::new();
        let mut bytes = 0;
        let mut blocks = Blocks::of(BLOCK);
        while let Some((text, first)) = blocks.next(source, self.limit)? {
            let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
            for (i, row) in text.split(|byte| *byte == end).enumerate() {
                if row.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                let line = || (first + i, row.to_vec());
                if header.is_none() && self.header != Header::None {
                    header = Some(line());
                    continue;
                }
                if let Some(place) = reservoir.next() {
                    bytes += row.len() as u64;
                    match kept.get_mut(place) {
                        Some(there) => bytes -= mem::replace(there, line()).1.len() as u64,
                        None => kept.push(line()),
                    }
                }
                if bytes > self.limit {
                    let (limit, rows) = (self.limit, sample.rows);
                    let problem = format!(
                        "{rows} of its rows are longer than {limit} bytes, which is the limit"
                    );
                    let fewer = ["draw fewer".into(), Advice::RaiseLimit { if_trusted: true }];
                    return Err(source.problem(problem).advise(fewer));
                }
            }
        }
        kept.sort_unstable_by_key(|(line, _)| *line);
        let (mut text, mut at) = (Vec::new(), 1);
        for (line, row) in header.into_iter().chain(kept) {
            text.resize(text.len() + line - at, b'\n');
            text.extend(row);
            text.push(b'\n');
            at = line + 1;
        }
        Ok((text, reservoir.of))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::data::CsvData;
    use crate::error::checks::fails;

    fn text(rows: usize, end: &str) -> String {
        let mut text = format!("\u{feff}x,kind,y{end}");
        for i in 0..rows {
            if i % 10 == 4 {
                text += end; // a blank line
            }
            write!(text, "{i},{},{}{end}", ["a", "b"][i % 2], i % 7).unwrap();
        }
        text
    }

    fn drawn(text: &str, rows: usize, seed: u64) -> Result<CsvData, Error> {
        CsvReader::regression("y").limit(500).sample(rows, seed).read(text.as_bytes())
    }

    /// What is drawn are rows of the file, on their lines, each with the same chance.
    #[test]
    fn rows_are_drawn_with_equal_chances() {
        let (rows, some) = (200, 20);
        for end in ["\n", "\r\n", "\r"] {
            let text = text(rows, end);
            let whole = CsvReader::regression("y").read(text.as_bytes()).unwrap();
            let mut times = vec![0; rows];
            for seed in 0..400 {
                let read = drawn(&text, some, seed).unwrap();
                // Those that a program draws which reads other files.
                let places =
                    read.lines.iter().map(|line| whole.lines.iter().position(|l| l == line));
                assert!(places.eq(rows_drawn(some, rows, seed).into_iter().map(Some)));
                assert_eq!((read.dataset.rows(), read.drawn_from), (some, Some(rows)));
                assert_eq!(read.schema.feature_names(), whole.schema.feature_names());
                for (i, line) in read.lines.iter().enumerate() {
                    let at = whole.lines.iter().position(|known| known == line).unwrap();
                    assert_eq!(read.dataset.x().row(i), whole.dataset.x().row(at));
                    times[at] += 1;
                }
            }
            // 40 times each: the sum of squares is chi-squared on 199 degrees of freedom, over 0.9.
            let squares: f64 = times.iter().map(|n| f64::from(n - 40).powi(2) / 36.0).sum();
            assert!((140.0..270.0).contains(&squares), "{squares}");
            // The same seed, the same rows; and a text that is short enough is read whole.
            let one = drawn(&text, some, 1).unwrap();
            assert_eq!(one, drawn(&text, some, 1).unwrap());
            let all = CsvReader::regression("y").sample(some, 1).read(text.as_bytes()).unwrap();
            assert_eq!((&all.dataset, all.drawn_from), (&whole.dataset, None));
            // Other files are read whole, or refused.
            assert!(one.schema.read(text.as_bytes()).unwrap_err().to_string().contains("limit"));
        }
    }

    #[test]
    fn headers_encodings_and_what_is_refused() {
        let text = text(200, "\n");
        let body = text.split_once('\n').unwrap().1;
        let bare = CsvReader::regression(2).no_header().limit(500);
        let read = bare.clone().sample(30, 3).read(body.as_bytes()).unwrap();
        assert_eq!((read.dataset.rows(), read.drawn_from), (30, Some(200)));
        // More than there are.
        assert!(
            drawn(&text, 500, 1).unwrap_err().to_string().contains("500 of its rows are longer")
        );
        let spread = text.replace("\n", &"\n".repeat(20));
        let all = drawn(&spread, 60, 1).unwrap();
        assert_eq!(all.dataset.rows(), 60);
        assert_eq!(
            spread.lines().nth(all.lines.get(59).unwrap() - 1).unwrap().parse::<f64>().ok(),
            None
        );
        let error = CsvReader::regression("y").limit(500).read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("draw some of its rows (`most_rows`)"), "{error}");
        let damaged = CsvReader::regression("y").read(&[0x1F, 0x8B, 8, 0, 1, 2][..]);
        let damaged = damaged.unwrap_err().to_string();
        assert!(damaged.contains("cannot be unpacked") && !damaged.contains("draw"), "{damaged}");
        fails!(drawn(&text, 1, 1), Argument { value: "1", allowed: "at least 2" });
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let words = CsvReader::regression("y").limit(500).sample(9, 1).read(&utf16[..]);
        assert!(words.unwrap_err().to_string().contains("UTF-16 text, of which rows"));
        let long = format!("x,y\n1,2\n{}", "1".repeat(2 * BLOCK));
        assert!(drawn(&long, 2, 1).unwrap_err().to_string().contains("the line is longer than"));
        // The description is of the same rows.
        let reader = CsvReader::regression("y").limit(500).sample(20, 5);
        let (described, read) = (reader.describe(text.as_bytes()), reader.read(text.as_bytes()));
        let (described, read) = (described.unwrap(), read.unwrap());
        assert_eq!((described.rows, described.drawn_from), (20, Some(200)));
        let x = read.dataset.x().column(0).to_vec();
        let ends =
            (x.iter().copied().fold(f64::MAX, f64::min), x.iter().copied().fold(0.0, f64::max));
        assert_eq!(described.columns[0].range, Some(ends));
    }
}
