//! `predict --conformal`: intervals and sets, the rows they are calibrated on, and what they cannot be of.

use shared::said;

use super::*;

/// 120 rows of y = 3 a + noise, and its sign as a class.
fn table(place: &Place) {
    let mut text = String::from("a,y,sign\n");
    let mut state = 7_u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    for _ in 0..120 {
        let a = 4.0 * uniform() - 2.0;
        let y = 3.0 * a + 2.0 * (uniform() + uniform() - 1.0);
        let sign = if y + uniform() > 0.5 { "yes" } else { "no" };
        text.push_str(&format!("{a:.4},{y:.4},{sign}\n"));
    }
    place.write("t.csv", &text);
}

/// The numbers in the columns of these names.
fn columns<const N: usize>(csv: &str, names: [&str; N]) -> Vec<[f64; N]> {
    let cells = |line: &str| line.split(',').map(String::from).collect::<Vec<String>>();
    let header = cells(csv.lines().next().unwrap());
    let at = names.map(|name| header.iter().position(|h| h == name).expect(name));
    csv.lines().skip(1).map(|line| at.map(|j| cells(line)[j].parse().unwrap())).collect()
}

const LINE: &str = "--hidden 0 --chains 2 --warmup 300 --draws 800 --quiet --seed 1";

#[test]
fn intervals_are_calibrated_on_rows_that_the_model_has_not_seen() {
    let place = Place::new();
    table(&place);
    let fit = "fit t.csv --target y --ignore sign --out";
    // Far too few iterations: the intervals hold all the same.
    place
        .run(&format!(
            "{fit} r --hidden 3 --chains 2 --warmup 4 --draws 8 --quiet --validation 0.4"
        ))
        .well();
    let ended = place.run("predict r t.csv --conformal --out p.csv");
    said!(ended.err.lines().last().unwrap());
    ended.well();
    let ends =
        columns(&place.read("p.csv"), ["conformal_lower", "conformal_upper", "new_q05", "new_q95"]);
    assert_eq!(ends.len(), 120);
    // Conformalised quantiles move both ends of the predictive interval by the same.
    for [lower, upper, low, high] in &ends {
        assert!(((low - lower) - (upper - high)).abs() < 1e-6, "{lower} {upper} {low} {high}");
    }
    let scored = place.run("predict r t.csv --conformal --scores --out q.csv").well();
    let number = |name: &str| -> f64 {
        let line = scored.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().last().unwrap().parse().unwrap()
    };
    assert!(number("conformal coverage") > 0.8, "{scored}");
    let width = ends.iter().map(|ends| ends[1] - ends[0]).sum::<f64>() / 120.0;
    assert!((number("conformal width") - width).abs() < 1e-3, "{scored} {width}");
    let narrow = place.run("predict r t.csv --conformal=0.5").well();
    let narrow = columns(&narrow, ["conformal_lower", "conformal_upper"]);
    let narrower = narrow.iter().zip(&ends).filter(|(n, w)| n[1] - n[0] < w[1] - w[0]).count();
    assert!(narrower > 110, "{narrower}");
    place.run("predict r t.csv --conformal --out p.parquet").well();
    assert!(place.size("p.parquet") > 1000);

    // Without rows of its own: those of a file, or, of chains that have converged, the training rows.
    let lines: Vec<String> = place.read("t.csv").lines().map(String::from).collect();
    place.write("learn.csv", &lines[..71].join("\n"));
    place.write("rest.csv", &[&lines[..1], &lines[71..]].concat().join("\n"));
    place.run(&format!("fit learn.csv --target y --ignore sign --out c {LINE}")).well();
    let ended = place.run("predict c rest.csv --conformal");
    said!(ended.err.lines().last().unwrap());
    let [by_jackknife, by_file] = ["", " --calibration rest.csv"].map(|flag| {
        let csv = place.run(&format!("predict c rest.csv --conformal{flag}")).well();
        columns(&csv, ["conformal_lower", "conformal_upper"])
    });
    for [lower, upper] in by_jackknife.iter().chain(&by_file) {
        assert!((upper - lower - 3.0).abs() < 1.5, "{lower} {upper}");
    }
    assert_ne!(by_jackknife, by_file);
    // What becomes of the rows of the file is said, as of new rows.
    let no_feature = lines[80].split_once(',').unwrap().1;
    let no_response = lines[81].split(',').next().unwrap();
    let gaps =
        [&lines[..1], &lines[90..], &[format!(",{no_feature}"), format!("{no_response},,yes")]];
    place.write("gaps.csv", &gaps.concat().join("\n"));
    let ended = place.run("predict c rest.csv --conformal --calibration gaps.csv");
    said!(ended.err.lines().rev().nth(1).unwrap());
    place.write("few.csv", &lines[..6].join("\n"));
    let ended = place.run("predict c rest.csv --conformal --calibration few.csv");
    said!(ended.err.lines().last().unwrap());
    assert!(ended.well().contains(",-inf,inf"));
}

#[test]
fn classes_have_sets() {
    let place = Place::new();
    table(&place);
    place
        .run(&format!("fit t.csv --target sign --ignore y --out r --validation 0.4 {LINE}"))
        .well();
    let csv = place.run("predict r t.csv --conformal=0.8").well();
    let rows = columns(&csv, ["probability", "conformal_set", "conformal_size"]);
    // A line for the second class alone.
    assert_eq!(rows.len(), 120);
    let one = rows.iter().filter(|row| row[2] == 1.0);
    assert!(one.clone().count() > 60);
    assert!(one.clone().all(|[p, set, _]| (*set == 1.0) == (*p > 0.5)), "{csv}");

    place.fit("i", "--validation 0.4").well();
    let csv = place.run("predict i iris.csv --conformal=0.95").well();
    let sets = columns(&csv, ["conformal_set", "conformal_size"]);
    assert_eq!(sets.len(), 450);
    for row in sets.chunks(3) {
        assert_eq!(row.iter().map(|line| line[0]).sum::<f64>(), row[0][1], "{row:?}");
    }
    let scored = place.run("predict i iris.csv --conformal=0.95 --scores --out p.csv").well();
    assert!(has_line(&scored, "conformal coverage") && has_line(&scored, "conformal set size"));
}

#[test]
fn what_cannot_be_conformal_is_refused_by_name() {
    let place = Place::new();
    table(&place);
    let fit = "fit t.csv --target y --ignore sign --out";
    place.run(&format!("{fit} r --hidden 3 --chains 2 --warmup 4 --draws 8 --quiet")).well();
    said!(place.run("predict r t.csv --conformal").error(1));
    said!(place.run("predict r t.csv --conformal=1.5").error(1));
    assert!(place.run("predict r t.csv --calibration t.csv").refused(2).contains("--conformal"));
    said!(place.run("predict r t.csv --conformal --calibration no.csv").error(1));
    place
        .run(&format!(
            "fit t.csv --target y --target a --out two --validation 0.3 --categorical sign {LINE}"
        ))
        .well();
    said!(place.run("predict two t.csv --conformal").error(1));
}
