//! Tables at random, of columns from which much is derived: each is fitted, or refused with advice that works when it is
//! followed. Nothing panics. A hundred thousand on demand:
//!
//!     CASES=100000 cargo test --release -p bnn-mcmc-tests --test run fit_advice:: -- --ignored --nocapture

use std::collections::BTreeMap;

use bnn_mcmc::data::{DateOrder, Encoding};
use bnn_mcmc::fit::{Fit, Recipe};
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;

/// A number from 0 to below n.
fn below(rng: &mut ChainRng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n - 1)
}

/// The cells of a column of one of many kinds.
fn column(rng: &mut ChainRng, rows: usize) -> Vec<String> {
    let kind = below(rng, 20);
    let many = 2 + below(rng, rows + 60);
    let mut cell = |i: usize| match kind {
        0 => format!("{}", rng.normal()),
        1 => below(rng, 4).to_string(),
        2 => "7".to_string(),
        3 => ["True", "false", "TRUE"][below(rng, 3)].to_string(),
        4 => ["a", "b", "c"][below(rng, 3)].to_string(),
        5 => format!("name {}", below(rng, many)),
        6 => format!("name {i}"),
        7 => format!("{}-01-01", 2000 + i % 5),
        8 => format!("2024-{:02}-{:02}", 1 + below(rng, 12), 1 + below(rng, 28)),
        9 => "2024-05-01".to_string(),
        10 => format!("{:02}:00", [8, 16][i % 2]),
        11 => format!("2024-05-{:02}T10:30:00", 1 + i % 28),
        12 => format!("{}/{}/2024", 1 + below(rng, 12), 1 + below(rng, 12)),
        13 => format!("{}kg", below(rng, 9)),
        14 => format!("${}", below(rng, 9)),
        15 => i.to_string(),
        16 => format!("{}e{}", below(rng, 9), below(rng, 300)),
        17 => ["", "1", "x", "2024-01-01"][below(rng, 4)].to_string(),
        18 => String::new(),
        _ => ["only", "only"][below(rng, 2)].to_string(),
    };
    let mut cells: Vec<String> = (0..rows).map(&mut cell).collect();
    let share = [0.0, 0.0, 0.1, 0.6][below(rng, 4)];
    for cell in &mut cells {
        if rng.uniform() < share {
            *cell = ["", "NA", "?"][below(rng, 3)].to_string();
        }
    }
    cells
}

/// A table as text, and how it is to be fitted.
fn case(seed: u64) -> (String, Recipe) {
    let mut rng = ChainRng::new(seed, 0);
    let (rows, columns) = (4 + below(&mut rng, 50), 1 + below(&mut rng, 4));
    let mut names: Vec<String> = (0..columns).map(|j| format!("c{j}")).collect();
    let mut all: Vec<Vec<String>> = (0..columns).map(|_| column(&mut rng, rows)).collect();
    let task = below(&mut rng, 3);
    names.push("y".into());
    all.push(match below(&mut rng, 4) {
        0 => column(&mut rng, rows),
        _ => (0..rows)
            .map(|_| match task {
                0 => rng.normal().to_string(),
                1 => ["u", "v", "w"][below(&mut rng, 3)].to_string(),
                _ => below(&mut rng, 6).to_string(),
            })
            .collect(),
    });
    let mut recipe = match task {
        0 => Fit::regression("y"),
        1 => Fit::classification("y"),
        _ => Fit::counts("y"),
    };
    if below(&mut rng, 4) == 0 {
        names.push("weight".into());
        all.push((0..rows).map(|_| ["0", "1", "2.5"][below(&mut rng, 3)].to_string()).collect());
        recipe = recipe.row_weights("weight");
    }
    if below(&mut rng, 4) == 0 {
        names.push("school".into());
        let groups = 1 + below(&mut rng, rows);
        all.push((0..rows).map(|_| format!("s{}", below(&mut rng, groups))).collect());
        recipe = recipe.group("school");
    }
    if below(&mut rng, 4) == 0 {
        recipe = recipe.validation(0.3);
    }
    let encoding =
        [Encoding::OneHot, Encoding::DropFirst, Encoding::Codes][below(&mut rng, 6).min(2)];
    let recipe = recipe.reader(|reader| reader.encoding(encoding)).hidden(&[]);
    let mut text = names.join(",") + "\n";
    for i in 0..rows {
        let line: Vec<&str> = all.iter().map(|column| &column[i][..]).collect();
        text += &(line.join(",") + "\n");
    }
    (text, recipe.chains(1).warmup(4).draws(4).seed(seed).threads(1))
}

fn advice_of(error: &Error) -> &[Advice] {
    match error {
        Error::Argument { advice, .. }
        | Error::Memory { advice, .. }
        | Error::Prior { advice, .. }
        | Error::Table { advice, .. }
        | Error::Cell { advice, .. } => advice,
        _ => &[],
    }
}

/// The recipe after the first advice that is a setting of the reader, beside the columns of earlier advice, which are
/// left out or labels; `None` of advice that is none.
fn followed(recipe: &Recipe, advice: &[Advice], columns: &mut [Vec<String>; 2]) -> Option<Recipe> {
    let recipe = recipe.clone();
    advice.iter().find_map(|advice| {
        let recipe = recipe.clone();
        let [ignored, labels] = &mut *columns;
        Some(match advice {
            Advice::Ignore { column, .. } => {
                ignored.push(column.clone());
                recipe.reader(|r| r.ignore(ignored.clone()))
            }
            Advice::Categorical { column, .. } => {
                labels.push(column.clone());
                recipe.reader(|r| r.categorical(labels.clone()))
            }
            Advice::Group { column } => recipe.group(column),
            Advice::DropMissing => recipe.reader(|r| r.drop_missing_rows()),
            Advice::DateOrder => recipe.reader(|r| r.date_order(DateOrder::DayFirst)),
            Advice::EncodeAsCodes => recipe.reader(|r| r.encoding(Encoding::Codes)),
            _ => return None,
        })
    })
}

fn advice_is_followed(cases: std::ops::Range<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in cases {
        let (text, mut recipe) = case(seed);
        std::fs::write(&path, &text).unwrap();
        let (mut columns, mut said) = ([vec![], vec![]], Vec::new());
        let end = loop {
            let error = match recipe.read_csv(&path) {
                Ok(_) if said.is_empty() => break "fitted",
                Ok(_) => break "fitted after advice",
                Err(error) => error,
            };
            let words = error.to_string();
            assert!(!said.contains(&words), "{seed}: said again after its advice: {words}\n{text}");
            said.push(words.clone());
            match followed(&recipe, advice_of(&error), &mut columns) {
                Some(next) => recipe = next,
                None => break "refused",
            }
            // The response is no column to leave out.
            assert!(!columns[0].contains(&"y".to_string()), "{seed}: {words}\n{text}");
        };
        if end == "refused" && std::env::var("SHOWN").is_ok() {
            println!("{seed}: {}", said.join(" | "));
        }
        *ends.entry(end).or_default() += 1;
    }
    println!("{ends:?}");
    let of = |name: &str| ends.get(name).copied().unwrap_or(0);
    assert!(of("fitted") > 0 && of("fitted after advice") > 0);
}

#[test]
fn advice_can_be_followed() {
    advice_is_followed(0..400);
}

#[test]
#[ignore = "long"]
fn advice_can_be_followed_long() {
    let cases = std::env::var("CASES").map_or(20_000, |cases| cases.parse().unwrap());
    advice_is_followed(400..400 + cases);
}
