use bnn_mcmc::draws::Draws;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::figure::{BoxPlot, Figure, Interval, Mark, Panel, Scale, Symbol};
use bnn_mcmc_report::figures::{Quantity, parameters};
use ndarray::{Array2, Array3, ArrayView2, s};
use serde::Deserialize;
use shared::said;

use crate::common::check;

/// Written by `tests/golden/parameters.py`.
#[derive(Deserialize)]
struct Golden {
    values: Vec<Vec<Vec<f64>>>,
    quantiles: Vec<[f64; 5]>,
    /// By chain, then parameter.
    by_chain: Vec<Vec<[f64; 5]>>,
    rhat: Vec<f64>,
    correlation: Vec<Vec<f64>>,
    boxes: Vec<GoldenBox>,
    /// Of few values, whose quartiles lie beyond the last value that is no outlier.
    few: Vec<FewValues>,
    density: GoldenDensity,
    histogram_of_last: GoldenHistogram,
}

#[derive(Deserialize)]
struct GoldenBox {
    quartiles: [f64; 3],
    whiskers: [f64; 2],
    outliers: usize,
}

#[derive(Deserialize)]
struct FewValues {
    values: Vec<f64>,
    #[serde(flatten)]
    expected: GoldenBox,
}

#[derive(Deserialize)]
struct GoldenDensity {
    x: Vec<f64>,
    of_first: Vec<f64>,
}

#[derive(Deserialize)]
struct GoldenHistogram {
    edges: Vec<f64>,
    heights: Vec<f64>,
}

impl Golden {
    fn read() -> Self {
        serde_json::from_str(include_str!("../golden/parameters.json")).unwrap()
    }

    /// Blocks of four and two parameters.
    fn draws(&self) -> Draws {
        let shape = (self.values.len(), self.values[0].len(), 6);
        let values = self.values.iter().flatten().flatten().copied().collect();
        let values = Array3::from_shape_vec(shape, values).unwrap();
        Draws::new(Layout::new().with("w0", &[2, 2]).with("b0", &[2]), values).unwrap()
    }
}

/// All parameters of draws as quantities.
fn quantities<'a>(draws: &'a Draws, names: &'a [String]) -> Vec<Quantity<'a>> {
    let values = names.iter().map(|name| draws.parameter(name).unwrap());
    names.iter().zip(values).map(|(name, values)| Quantity { name, values }).collect()
}

#[track_caller]
fn close(found: impl IntoIterator<Item = f64>, expected: impl IntoIterator<Item = f64>) {
    let (found, expected): (Vec<f64>, Vec<f64>) =
        (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "number {k}: {a}, not {b}");
    }
}

fn intervals(panel: &Panel) -> Vec<Interval> {
    let of = |mark: &Mark| match mark {
        Mark::Intervals { intervals, .. } => intervals.clone(),
        _ => Vec::new(),
    };
    panel.marks.iter().flat_map(of).collect()
}

fn numbers(interval: &Interval) -> [f64; 5] {
    let Interval { value, inner, outer, .. } = interval;
    [outer[0], inner[0], *value, inner[1], outer[1]]
}

fn points(panel: &Panel, wanted: Symbol) -> Vec<[f64; 2]> {
    let of = |mark: &Mark| match mark {
        Mark::Points { symbol, points, .. } if *symbol == wanted => points.clone(),
        _ => Vec::new(),
    };
    panel.marks.iter().flat_map(of).collect()
}

fn names_of(scale: &Scale) -> &[String] {
    match scale {
        Scale::Names(names) => names,
        _ => panic!("{scale:?} has no names"),
    }
}

#[test]
fn a_forest_has_the_quantiles_and_rhat_of_numpy() {
    let golden = Golden::read();
    let (draws, names) = (golden.draws(), golden.draws().layout().parameter_names());
    let figure = parameters::forest(&quantities(&draws, &names)).unwrap();
    check(&figure);
    let found = intervals(&figure.panels[0]);
    close(found.iter().flat_map(numbers), golden.quantiles.iter().flatten().copied());
    close(found.iter().map(|i| i.at), (0..6).map(f64::from));
    assert_eq!(names_of(&figure.panels[0].y.scale), names);
    close(points(&figure.panels[1], Symbol::Dot).iter().map(|p| p[0]), golden.rhat.clone());
    assert_eq!(figure.panels.len(), 3);

    let figure = parameters::forest_by_chain(&quantities(&draws, &names)).unwrap();
    check(&figure);
    let found = intervals(&figure.panels[0]);
    close(found.iter().flat_map(numbers), golden.by_chain.iter().flatten().flatten().copied());
    // The lines of one parameter stay within its row, and chains are in order.
    let places: Vec<f64> = found.iter().map(|i| i.at).collect();
    assert!(
        places
            .chunks(6)
            .all(|chain| chain.iter().zip(0..).all(|(at, k)| (at - f64::from(k)).abs() < 0.4))
    );
    assert!(places[0] < places[6] && places[6] < places[12] && places[12] < places[18]);
}

#[test]
fn of_many_quantities_a_forest_shows_the_worst() {
    let mut rng = ChainRng::new(1, 0);
    let mut values = Array3::from_shape_simple_fn((2, 50, 100), || rng.normal());
    // Of every third parameter the chains disagree.
    for k in (0..100).step_by(3) {
        values.slice_mut(s![1, .., k]).mapv_inplace(|x| x + 5.0);
    }
    let draws = Draws::new(Layout::vector("q", 100), values).unwrap();
    let names = draws.layout().parameter_names();
    let figure = parameters::forest(&quantities(&draws, &names)).unwrap();
    check(&figure);
    let shown = names_of(&figure.panels[0].y.scale);
    assert_eq!(shown.len(), 40);
    assert!((0..100).step_by(3).all(|k| shown.contains(&format!("q[{k}]"))), "{shown:?}");
    said!(figure.caption);
    // A parameter that never moves has no R-hat, and is not among the worst.
    let mut constant = draws.values().to_owned();
    constant.slice_mut(s![.., .., 1..50;3]).fill(2.0);
    let constant = Draws::new(Layout::vector("q", 100), constant).unwrap();
    let figure = parameters::forest(&quantities(&constant, &names)).unwrap();
    check(&figure);
    let shown = names_of(&figure.panels[0].y.scale);
    assert_eq!(shown.len(), 40);
    assert!((0..100).step_by(3).all(|k| shown.contains(&format!("q[{k}]"))), "{shown:?}");
    assert!((1..50).step_by(3).all(|k| !shown.contains(&format!("q[{k}]"))), "{shown:?}");
    said!(figure.caption);
    let none = Draws::new(Layout::vector("q", 100), Array3::zeros((2, 50, 100))).unwrap();
    let figure = parameters::forest_by_chain(&quantities(&none, &names)).unwrap();
    assert_eq!(names_of(&figure.panels[0].y.scale), &names[..20]);
    said!(figure.caption);
    let figure = parameters::forest_by_chain(&quantities(&draws, &names)).unwrap();
    assert_eq!(names_of(&figure.panels[0].y.scale).len(), 20);
    assert!(figure.panels[0].aspect <= 2.0 && figure.to_svg().len() < 40_000);
}

#[test]
fn pairs_have_the_draws_the_divergences_and_the_density_of_scipy() {
    let golden = Golden::read();
    let draws = golden.draws();
    let figure = parameters::pairs(&draws, &["w0[0,0]", "b0[1]", "w0[1,1]"]).unwrap();
    check(&figure);
    assert_eq!((figure.panels.len(), figure.columns), (9, Some(3)));
    said!(figure.caption);
    // Row 1, column 0: 600 draws, all of them.
    let flat = draws.flat();
    let expected: Vec<[f64; 2]> = flat.rows().into_iter().map(|q| [q[0], q[5]]).collect();
    assert_eq!(points(&figure.panels[3], Symbol::Dot), expected);
    assert_eq!((&*figure.panels[3].x.label, &*figure.panels[3].y.label), ("w0[0,0]", "b0[1]"));
    // The upper triangle is empty.
    assert!([1, 2, 5].iter().all(|k| figure.panels[*k].marks.is_empty()));
    let [Mark::Line { points: line, .. }] = &figure.panels[0].marks[..] else {
        panic!("{:?}", figure.panels[0].marks)
    };
    // Interpolated between points so near that the error is small.
    for (x, expected) in golden.density.x.iter().zip(&golden.density.of_first) {
        let pair = line.windows(2).find(|pair| pair[0][0] <= *x && *x < pair[1][0]);
        let found = pair.map_or(0.0, |pair| {
            let share = (x - pair[0][0]) / (pair[1][0] - pair[0][0]);
            pair[0][1] + share * (pair[1][1] - pair[0][1])
        });
        assert!((found - expected).abs() < 1e-3, "at {x}: {found}, not {expected}");
    }

    for (names, problem) in [
        (&["w0[0,0]"][..], "`number of parameters` is 1, but must be 2 to 6"),
        (&["w0[0,0]"; 7], "`number of parameters` is 7, but must be 2 to 6"),
        (&["w0[0,0]", "w9"], "there is no parameter named `w9`"),
    ] {
        let error = parameters::pairs(&draws, names).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

/// Neal's funnel: its neck is where transitions diverge.
struct Funnel;

impl Target for Funnel {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-q[0] * q[0] / 18.0 - q[0] / 2.0 - q[1] * q[1] * (-q[0]).exp() / 2.0)
    }
}

impl GradTarget for Funnel {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let scaled = q[1] * (-q[0]).exp();
        grad[0] = -q[0] / 9.0 - 0.5 + q[1] * scaled / 2.0;
        grad[1] = -scaled;
        self.log_density(q, ws)
    }
}

#[test]
fn crosses_are_where_transitions_diverged() {
    let nuts = Nuts { target_accept: 0.6, ..Nuts::default() };
    let draws = Sampler::new(&Funnel, nuts).warmup(300).draws(500).seed(1).run().unwrap();
    let divergences = &draws.info().divergences;
    assert!(!divergences.is_empty(), "the funnel is too easy for this test");
    let figure = parameters::pairs(&draws, &["q[1]", "q[0]"]).unwrap();
    check(&figure);
    let expected: Vec<[f64; 2]> =
        divergences.iter().map(|d| [d.position[1], d.position[0]]).collect();
    assert_eq!(points(&figure.panels[2], Symbol::Cross), expected);
    assert!(figure.caption.contains(&format!("Crosses are the {} divergent", expected.len())));

    let sampler = Sampler::new(&Funnel, Rwm::default()).warmup(50).draws(50);
    let figure = parameters::pairs(&sampler.run().unwrap(), &["q[0]", "q[1]"]).unwrap();
    said!(figure.caption);
}

#[test]
fn correlations_are_those_of_numpy() {
    let golden = Golden::read();
    let figure = parameters::correlations(&golden.draws()).unwrap();
    check(&figure);
    let cells = |panel: &Panel| match &panel.marks[..] {
        [Mark::Cells { values, text, .. }] => (values.clone(), text.clone()),
        marks => panic!("{marks:?}"),
    };
    let (values, text) = cells(&figure.panels[0]);
    for (i, row) in values.iter().enumerate() {
        close(row[..i].iter().copied(), golden.correlation[i][..i].iter().copied());
        assert!(row[i..].iter().all(|c| c.is_nan()));
    }
    assert_eq!(text[1][0], format!("{:.2}", golden.correlation[1][0]));
    // Blocks of parameters 0 to 3, and 4 and 5.
    let largest = |a: std::ops::Range<usize>, b: std::ops::Range<usize>| {
        let pairs = a.flat_map(|i| b.clone().map(move |j| (i, j))).filter(|(i, j)| i != j);
        pairs.map(|(i, j)| golden.correlation[i][j].abs()).fold(0.0, f64::max)
    };
    let (values, _) = cells(&figure.panels[1]);
    close(
        [values[0][0], values[1][0], values[1][1]],
        [largest(0..4, 0..4), largest(4..6, 0..4), largest(4..6, 4..6)],
    );
    assert_eq!(names_of(&figure.panels[1].x.scale), ["w0", "b0"]);

    // Of many parameters those that are correlated are shown: here the last two.
    let mut rng = ChainRng::new(1, 0);
    let mut values = Array3::from_shape_simple_fn((2, 200, 60), || rng.normal());
    let last = values.slice(s![.., .., 59]).to_owned();
    values.slice_mut(s![.., .., 58]).assign(&last);
    values.slice_mut(s![.., .., 0]).fill(3.0);
    let draws = Draws::new(Layout::vector("q", 60), values).unwrap();
    let figure = parameters::correlations(&draws).unwrap();
    check(&figure);
    let shown = names_of(&figure.panels[0].x.scale);
    assert_eq!((shown.len(), &*shown[22], &*shown[23]), (24, "q[58]", "q[59]"));
    assert!(!shown.contains(&"q[0]".to_owned()));
    said!(figure.caption);
    assert!(figure.to_svg().len() < 40_000, "{}", figure.to_svg().len());
}

#[test]
fn boxes_are_those_of_numpy() {
    let golden = Golden::read();
    let figure = parameters::weights(&golden.draws()).unwrap();
    check(&figure);
    let boxes = |panel: &Panel| -> Vec<BoxPlot> {
        let of = |mark: &Mark| match mark {
            Mark::Boxes { boxes, .. } => boxes.clone(),
            _ => Vec::new(),
        };
        panel.marks.iter().flat_map(of).collect()
    };
    assert_eq!(figure.panels.iter().map(|p| &*p.title).collect::<Vec<_>>(), ["w0", "b0"]);
    let found: Vec<BoxPlot> = figure.panels.iter().flat_map(boxes).collect();
    for (found, expected) in found.iter().zip(&golden.boxes) {
        close([found.lower, found.median, found.upper], expected.quartiles);
        close([found.low, found.high], expected.whiskers);
        assert_eq!(found.outliers.len(), expected.outliers);
    }
    close(found.iter().map(|plot| plot.at), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0]);
    for FewValues { values, expected } in &golden.few {
        let found = BoxPlot::new(0.0, values).unwrap();
        close([found.lower, found.median, found.upper], expected.quartiles);
        close([found.low, found.high], expected.whiskers);
        assert_eq!(found.outliers.len(), expected.outliers, "{values:?}");
        assert!(found.low <= found.lower && found.upper <= found.high);
    }
    assert_eq!(golden.few[0].expected.whiskers[1], golden.few[0].expected.quartiles[2]);
    assert!(BoxPlot::new(0.0, &[f64::NAN]).is_none() && BoxPlot::new(0.0, &[]).is_none());

    // Of 100 weights the 40 that are farthest from 0: every second one.
    let mut rng = ChainRng::new(1, 0);
    let value = |(_, _, k): (usize, usize, usize)| {
        rng.normal() + if k % 2 == 0 && k < 80 { 10.0 } else { 0.0 }
    };
    let draws = Array3::from_shape_fn((2, 600, 100), value);
    let draws = Draws::new(Layout::vector("q", 100), draws).unwrap();
    let figure = parameters::weights(&draws).unwrap();
    check(&figure);
    let expected: Vec<String> = (0..80).step_by(2).map(|k| format!("q[{k}]")).collect();
    assert_eq!(names_of(&figure.panels[0].x.scale), expected);
    assert_eq!(figure.panels[0].title, "q: 40 of 100");
    said!(figure.caption);
}

#[test]
fn parallel_coordinates_are_one_line_for_each_solution() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
    let few = ndarray::array![[1.0, 2.0, 3.0], [-1.0, 0.5, f64::NAN]];
    let many = Array2::from_shape_fn((250, 3), |(i, j)| (i * (j + 1)) as f64 / 100.0);
    let groups = [
        parameters::Solutions { name: "few", values: few.view() },
        parameters::Solutions { name: "many", values: many.view() },
    ];
    let figure = parameters::parallel(&names, &groups).unwrap();
    check(&figure);
    assert_eq!(figure.panels[0].title, "few: 2 solutions");
    assert_eq!(figure.panels[1].title, "many: 100 of 250 solutions");
    let line = |panel: &Panel| match panel.marks.last() {
        Some(Mark::Line { points, .. }) => points.clone(),
        mark => panic!("{mark:?}"),
    };
    let points = line(&figure.panels[0]);
    assert_eq!(points[..3], [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]);
    assert!(points[3][0].is_nan() && points[7][0].is_nan() && points[4] == [0.0, -1.0]);
    // 249 / 99 rounded down, and the last solution.
    assert_eq!(line(&figure.panels[1])[4..7], [[0.0, 0.02], [1.0, 0.04], [2.0, 0.06]]);
    assert_eq!(line(&figure.panels[1])[396..399], [[0.0, 2.49], [1.0, 4.98], [2.0, 7.47]]);
    assert!(figure.panels.iter().all(|panel| panel.y.range == Some([-1.0, 7.47])));
    assert!(figure.to_svg().len() < 40_000, "{}", figure.to_svg().len());

    let error = parameters::parallel(&names[..2], &groups).unwrap_err().to_string();
    assert_eq!(error, "parameters of the solutions `few`: found 3, expected 2");
    assert!(parameters::parallel(&[], &groups).is_err());
    assert!(parameters::parallel(&names, &[]).is_err());
}

#[test]
fn a_plane_has_the_draws_of_each_chain_and_a_path_their_order() {
    let golden = Golden::read();
    let (draws, names) = (golden.draws(), golden.draws().layout().parameter_names());
    let all = quantities(&draws, &names);
    let figure = parameters::plane([all[4], all[1]]).unwrap();
    check(&figure);
    assert_eq!(figure.panels[0].marks.len(), 4);
    let Mark::Points { points: third, name, .. } = &figure.panels[0].marks[2] else { panic!() };
    assert_eq!(name.as_deref(), Some("chain 2"));
    let expected: Vec<[f64; 2]> = golden.values[2].iter().map(|q| [q[4], q[1]]).collect();
    assert_eq!(*third, expected);

    let figure = parameters::path([all[4], all[1]], 2, 20).unwrap();
    check(&figure);
    assert_eq!(points(&figure.panels[0], Symbol::Dot), expected[..20]);
    assert_eq!(points(&figure.panels[0], Symbol::Triangle), expected[..1]);
    for (chain, draws, name) in [(4, 10, "chain"), (0, 0, "draws"), (0, 5_000, "draws")] {
        let error = parameters::path([all[0], all[1]], chain, draws).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{name}` is ")), "{error}");
    }
    let short = Quantity { name: "short", values: all[0].values.slice(s![..2, ..]) };
    assert!(parameters::plane([all[0], short]).unwrap_err().is_argument());
}

#[test]
fn a_histogram_is_that_of_numpy() {
    let golden = Golden::read();
    let draws = golden.draws();
    let values = draws.parameter("b0[1]").unwrap();
    let curve = [[0.0, 0.1], [1.0, 0.5]];
    let quantity = Quantity { name: "b0[1]", values };
    let figure = parameters::histogram(quantity, Some(("exact", &curve))).unwrap();
    check(&figure);
    let [Mark::Bars { edges, heights, .. }, Mark::Line { name, points, .. }] =
        &figure.panels[0].marks[..]
    else {
        panic!("{:?}", figure.panels[0].marks)
    };
    close(edges.iter().copied(), golden.histogram_of_last.edges);
    close(heights.iter().copied(), golden.histogram_of_last.heights);
    assert_eq!((name.as_deref(), &points[..]), (Some("exact"), &curve[..]));
    let apart = ndarray::array![[-f64::MAX, f64::MAX, 0.0]];
    let figure = parameters::histogram(Quantity { name: "x", values: apart.view() }, None).unwrap();
    check(&figure);
    assert!(figure.panels[0].marks.is_empty());
    said!(figure.caption);
}

/// Every figure of some draws, with their names in pairs.
fn all(draws: &Draws) -> Vec<Result<Figure, Error>> {
    let names = draws.layout().parameter_names();
    let quantities = quantities(draws, &names);
    let chosen: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    let solutions: ArrayView2<f64> = draws.flat();
    let groups = [parameters::Solutions { name: "all", values: solutions }];
    let pair = || [quantities[0], quantities[1]];
    vec![
        parameters::pairs(draws, &chosen),
        parameters::forest(&quantities),
        parameters::forest_by_chain(&quantities),
        parameters::correlations(draws),
        parameters::weights(draws),
        parameters::parallel(&names, &groups),
        parameters::plane(pair()),
        parameters::path(pair(), 0, 100),
        parameters::histogram(quantities[0], None),
    ]
}

#[test]
fn hostile_draws_are_drawn_and_left_out_numbers_are_counted() {
    let layout = || Layout::new().with("<script>\"&'", &[2]).with("\u{1F600} b", &[]);
    let mut rng = ChainRng::new(1, 0);
    let usual = Array3::from_shape_simple_fn((2, 40, 3), || rng.normal());
    let mut spoilt = usual.clone();
    spoilt[[0, 3, 0]] = f64::NAN;
    spoilt[[1, 4, 0]] = f64::INFINITY;
    let nan = Array3::from_elem((2, 40, 3), f64::NAN);
    let constant = Array3::from_elem((2, 40, 3), 1.5);
    let extreme = usual.mapv(|x| x * 1e300);
    let one_draw = usual.slice(s![..1, ..1, ..]).to_owned();
    let one_chain = usual.slice(s![..1, .., ..]).to_owned();
    for values in [usual, spoilt.clone(), nan, constant, extreme, one_draw, one_chain] {
        let draws = Draws::new(layout(), values).unwrap();
        for figure in all(&draws) {
            check(&figure.unwrap());
        }
    }
    let draws = Draws::new(layout(), spoilt).unwrap();
    for figure in all(&draws) {
        let figure = figure.unwrap();
        let says_so = figure.caption.contains("2 numbers that are not finite are left out.")
            || ["correlations", "parallel"].contains(&&*figure.name);
        assert!(says_so, "{}: {}", figure.name, figure.caption);
    }
    // No draws: an error that says so.
    let none = Draws::new(layout(), Array3::zeros((2, 0, 3))).unwrap();
    for (k, figure) in all(&none).into_iter().enumerate() {
        match figure {
            // A forest and no solutions are empty pictures.
            Ok(figure) => check(&figure),
            Err(error) => said!(format!("{k}: {error}")),
        }
    }
    let none = Array2::zeros((0, 0));
    let nothing = Quantity { name: "nothing", values: none.view() };
    check(&parameters::forest(&[nothing]).unwrap());
    check(&parameters::forest_by_chain(&[nothing]).unwrap());
    assert!(parameters::forest(&[]).is_err());
    assert!(parameters::histogram(nothing, None).is_err());
}

#[test]
fn long_runs_make_small_files() {
    let mut rng = ChainRng::new(1, 0);
    let values = Array3::from_shape_simple_fn((4, 100_000, 2), || rng.normal());
    let draws = Draws::new(Layout::vector("q", 2), values).unwrap();
    for figure in all(&draws) {
        // Parallel coordinates are of solutions, not of draws.
        let figure = figure.unwrap();
        check(&figure);
        for panel in &figure.panels {
            let alone = Figure::new("panel", "t", "c").panel(panel.clone());
            let size = alone.svg_elements()[0].len();
            assert!(size < 40_000, "{}: {size}", figure.name);
        }
    }
}
