//! The data module from outside: hostile tables and IDX files, properties of splits and scalings,
//! baselines.

use bnn_mcmc::data::{
    Columns, CsvReader, Dataset, Encoding, IdxReader, MinMax, Standardise, Takens,
};
use ndarray::{Array1, Array2};
use proptest::prelude::*;

/// Readers of every kind, so that hostile text meets every option.
fn readers() -> Vec<CsvReader> {
    let responses = [Columns::Last, "a".into(), ["a", "b"].into(), 0.into()];
    responses
        .into_iter()
        .flat_map(|columns| {
            [
                CsvReader::regression(columns.clone()),
                CsvReader::classification(columns.clone()),
                CsvReader::counts(columns),
            ]
        })
        .flat_map(|reader| {
            [
                reader.clone(),
                reader.clone().no_header().detect_delimiter(),
                reader.clone().whitespace().header().encoding(Encoding::Codes),
                reader.drop_missing_rows().delimiter(b';').encoding(Encoding::DropFirst),
            ]
        })
        .collect()
}

/// Whatever is read is valid and can be read again by its own schema.
fn check(reader: &CsvReader, bytes: &[u8]) -> Result<(), TestCaseError> {
    match reader.read(bytes) {
        Ok(read) => {
            prop_assert!(read.dataset.rows() > 0 && read.dataset.n_features() > 0);
            prop_assert!(read.dataset.x().iter().all(|v| v.is_finite()));
            prop_assert_eq!(read.dataset.rows(), read.dataset.response().rows());
            let again = read.schema.read(bytes);
            prop_assert_eq!(again.as_ref().ok(), Some(&read));
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

/// Bytes that make up tables, good and bad.
fn table_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => Just(","), 4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\""), 1 => Just(" "),
        1 => Just("\t"), 2 => Just(";"), 6 => Just("1"), 2 => Just("-2.5"), 2 => Just("a"),
        2 => Just("b"), 1 => Just("NA"), 1 => Just("inf"), 1 => Just("é"), 1 => Just("1e999"),
        1 => Just("\u{FEFF}"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes())
}

/// A table with a header whose columns hold numbers, whole numbers or labels each, with a cell of
/// another kind now and then: most readers can read some of these.
fn rectangular() -> impl Strategy<Value = Vec<u8>> {
    const COLUMNS: usize = 4;
    let odd = prop_oneof![
        194 => Just(""), 1 => Just("NA"), 1 => Just("x"), 1 => Just("7"), 1 => Just("\"q, r\""),
        1 => Just("-inf"), 1 => Just("1,2"),
    ];
    let row = prop::collection::vec((0..3u8, -1e3..1e3f64, odd), COLUMNS);
    (
        prop::collection::vec(0..3u8, COLUMNS),
        prop::collection::vec(row, 1..12),
        2..=COLUMNS,
        prop_oneof![3 => Just(","), 1 => Just(";"), 1 => Just(" ")],
    )
        .prop_map(|(kinds, rows, columns, delimiter)| {
            let mut lines = vec![["a", "b", "c", "d"][..columns].join(delimiter)];
            for row in rows {
                let cells = row.into_iter().zip(&kinds).map(|((whole, real, odd), kind)| {
                    match (odd, kind) {
                        ("", 0) => real.to_string(),
                        ("", 1) => whole.to_string(),
                        ("", _) => ["x", "y", "z"][usize::from(whole)].to_string(),
                        (odd, _) => odd.to_string(),
                    }
                });
                lines.push(cells.take(columns).collect::<Vec<_>>().join(delimiter));
            }
            lines.join("\n").into_bytes()
        })
}

/// An IDX file, its header right or nearly so.
fn idx_like(dimensions: usize) -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![12 => 1..4u32, 1 => Just(0), 1 => any::<u32>()];
    let good = prop_oneof![15 => Just(true), 1 => Just(false)];
    (
        prop::collection::vec(size, dimensions),
        (good.clone(), good.clone(), good),
        prop::collection::vec(prop_oneof![3 => 0..4u8, 1 => any::<u8>()], 0..40),
        any::<[u8; 4]>(),
    )
        .prop_map(|(sizes, (good_start, good_length, plain), mut elements, start)| {
            let fitting = sizes.iter().map(|n| *n as usize).try_fold(1, usize::checked_mul);
            if let (true, Some(n @ 0..1000)) = (good_length, fitting) {
                elements = elements.into_iter().cycle().take(n).collect();
                elements.resize(n, 7);
            }
            let start = if good_start { [0, 0, 8, sizes.len() as u8] } else { start };
            let sizes = sizes.iter().flat_map(|n| n.to_be_bytes());
            let bytes: Vec<u8> = start.into_iter().chain(sizes).chain(elements).collect();
            if plain { bytes } else { gzip(&bytes) }
        })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Whatever is read is valid, and its classes are those that select themselves.
fn check_idx(images: &[u8], labels: &[u8]) -> Result<bool, TestCaseError> {
    let some = IdxReader::new().classes(["2", "1"]).read(images, labels);
    match IdxReader::new().read(images, labels) {
        Ok(all) => {
            prop_assert!(all.x().iter().all(|v| (0.0..=1.0).contains(v)));
            prop_assert_eq!(all.rows(), all.response().rows());
            prop_assert!(all.response().class_sizes().unwrap().iter().all(|n| *n > 0));
            let names = all.response().class_names().unwrap().to_vec();
            prop_assert_eq!(
                IdxReader::new().classes(names).read(images, labels).unwrap(),
                all.clone()
            );
            prop_assert_eq!(some.ok(), all.select_classes(["2", "1"]).ok());
            Ok(true)
        }
        Err(error) => {
            prop_assert!(!error.to_string().is_empty() && (error.is_data() || error.is_argument()));
            prop_assert!(some.is_err());
            Ok(false)
        }
    }
}

fn regression(rows: usize) -> Dataset {
    let x = Array2::from_shape_fn((rows, 1), |(i, _)| i as f64);
    Dataset::regression(x, Array1::zeros(rows)).unwrap()
}

/// The numbers of the rows in [`regression`] and `classified`.
fn ids(data: &Dataset) -> Vec<usize> {
    data.x().column(0).iter().map(|v| *v as usize).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for reader in readers() {
            check(&reader, &bytes)?;
        }
    }

    #[test]
    fn random_tables_never_panic(bytes in prop_oneof![table_like(), rectangular()]) {
        for reader in readers() {
            check(&reader, &bytes)?;
        }
    }

    #[test]
    fn random_bytes_are_no_images(
        images in prop::collection::vec(any::<u8>(), 0..100),
        labels in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        check_idx(&images, &labels)?;
        // With the first bytes of gzip, whose header then is nonsense.
        check_idx(&[&[0x1F, 0x8B], &images[..]].concat(), &labels)?;
        check_idx(&[&[0x1F, 0x8B, 8, 0], &images[..]].concat(), &labels)?;
    }

    #[test]
    fn random_images_never_panic(images in idx_like(3), labels in idx_like(1)) {
        check_idx(&images, &labels)?;
    }

    #[test]
    fn a_schema_meets_any_other_file_without_panic(table in rectangular(), other in rectangular()) {
        // The other half of the same table fits more often than another table does.
        let lines: Vec<&[u8]> = table.split(|byte| *byte == b'\n').collect();
        let (train, rest) = lines.split_at(lines.len() / 2 + 1);
        let half = [&[lines[0]], rest].concat().join(&b'\n');
        for reader in readers() {
            let Ok(read) = reader.read(&train.join(&b'\n')[..]) else { continue };
            for test in [&half, &other] {
                let Ok(test) = read.schema.read(&test[..]) else { continue };
                prop_assert_eq!(test.dataset.feature_names(), read.dataset.feature_names());
                let classes = test.dataset.response().class_names();
                prop_assert_eq!(classes, read.dataset.response().class_names());
            }
        }
    }

    #[test]
    fn written_numbers_are_read_back_exactly(
        values in prop::collection::vec((-1e300..1e300f64, -1.0..1.0f64), 1..20),
    ) {
        let rows: String = values.iter().map(|(x, y)| format!("{x},{y:e}\n")).collect();
        let read = CsvReader::regression(Columns::Last).no_header().read(rows.as_bytes()).unwrap();
        for (i, (x, y)) in values.iter().enumerate() {
            prop_assert_eq!(read.dataset.x()[(i, 0)], *x);
            prop_assert_eq!(read.dataset.real().unwrap()[(i, 0)], *y);
        }
    }

    #[test]
    fn a_split_is_complete_disjoint_and_fixed_by_its_seed(
        rows in 2..200usize, fraction in 0.01..0.99f64, seed: u64,
    ) {
        let data = regression(rows);
        if let Ok((train, test)) = data.train_test_split(fraction, seed) {
            let mut all = [ids(&train), ids(&test)].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
            prop_assert_eq!(test.rows(), (rows as f64 * fraction).round() as usize);
            prop_assert_eq!(data.train_test_split(fraction, seed).unwrap(), (train, test));
        }
    }

    #[test]
    fn a_stratified_split_keeps_shares_to_within_one_row(
        classes in prop::collection::vec(0..4usize, 2..200), fraction in 0.01..0.99f64, seed: u64,
    ) {
        let x = Array2::from_shape_fn((classes.len(), 1), |(i, _)| i as f64);
        let data = Dataset::classification(x, classes, ["a", "b", "c", "d"]).unwrap();
        if let Ok((train, test)) = data.stratified_split(fraction, seed) {
            let mut all = [ids(&train), ids(&test)].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..data.rows()).collect::<Vec<_>>());
            let sizes = |data: &Dataset| data.response().class_sizes().unwrap();
            for ((n, train), test) in sizes(&data).into_iter().zip(sizes(&train)).zip(sizes(&test)) {
                prop_assert!((test as f64 - n as f64 * fraction).abs() <= 1.0);
                prop_assert!(n == 0 || (train > 0 && test > 0));
            }
            prop_assert_eq!(data.stratified_split(fraction, seed).unwrap(), (train, test));
        }
    }

    #[test]
    fn every_row_is_tested_in_one_fold(
        classes in prop::collection::vec(0..3usize, 2..100), k in 2..10usize, seed: u64,
    ) {
        let x = Array2::from_shape_fn((classes.len(), 1), |(i, _)| i as f64);
        let data = Dataset::classification(x, classes, ["a", "b", "c"]).unwrap();
        for folds in [data.k_folds(k, seed), data.stratified_k_folds(k, seed)] {
            let Ok(folds) = folds else { continue };
            let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
            tested.sort_unstable();
            prop_assert_eq!(tested, (0..data.rows()).collect::<Vec<_>>());
            for fold in &folds {
                prop_assert!(fold.train.iter().all(|row| !fold.test.contains(row)));
                prop_assert_eq!(fold.train.len() + fold.test.len(), data.rows());
                prop_assert!(fold.test.len().abs_diff(data.rows() / k) <= 1);
            }
        }
        if let Ok(folds) = data.stratified_k_folds(k, seed) {
            for class in 0..3 {
                let members = |rows: &[usize]| {
                    rows.iter().filter(|row| data.classes().unwrap()[**row] == class).count()
                };
                let sizes: Vec<usize> = folds.iter().map(|fold| members(&fold.test)).collect();
                prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_scaling_does_what_it_says_and_is_undone(
        values in prop::collection::vec(-1e6..1e6f64, 4..60), far in -1e9..1e9f64,
    ) {
        let rows = values.len() / 2;
        let x = Array2::from_shape_fn((rows, 2), |(i, j)| values[2 * i + j] + far * j as f64);
        if let Ok(scaler) = Standardise::new().fit(x.view()) {
            let z = scaler.transform(x.view()).unwrap();
            for column in z.columns() {
                prop_assert!(column.mean().unwrap().abs() < 1e-6);
                prop_assert!((column.std(0.0) - 1.0).abs() < 1e-6);
            }
            let back = scaler.inverse(z.view()).unwrap();
            prop_assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() <= 1e-12 * (1e6 + far.abs())));
        }
        if let Ok(scaler) = MinMax::new().to_range(-2.0, 3.0).fit(x.view()) {
            let z = scaler.transform(x.view()).unwrap();
            prop_assert!(z.iter().all(|v| (-2.0..=3.0 + 1e-12).contains(v)));
            let back = scaler.inverse(z.view()).unwrap();
            prop_assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() <= 1e-12 * (1e6 + far.abs())));
        }
    }

    #[test]
    fn an_embedding_has_the_values_it_names(
        n in 0..60usize, window in 0..6usize, lag in 0..4usize, stride in 0..4usize,
        horizon in 0..4usize,
    ) {
        let series: Vec<f64> = (0..n).map(|t| t as f64).collect();
        let takens = Takens { window, lag, stride, horizon };
        if let Ok(data) = takens.embed(&series) {
            let y = data.real().unwrap();
            for i in 0..data.rows() {
                let first = i * stride;
                for j in 0..window {
                    prop_assert_eq!(data.x()[(i, j)], (first + j * lag) as f64);
                }
                prop_assert_eq!(y[(i, 0)], (first + (window - 1) * lag + horizon) as f64);
            }
            // No further window would fit.
            prop_assert!(data.rows() * stride + takens.span().unwrap() > n);
        }
    }
}

/// The strategy of the property test gives files that are read often enough to test more than
/// errors.
#[test]
fn some_random_images_are_read() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut read = 0;
    for _ in 0..1000 {
        let mut file = |d| idx_like(d).new_tree(&mut runner).unwrap().current();
        let (images, labels) = (file(3), file(1));
        read += usize::from(check_idx(&images, &labels).unwrap());
    }
    assert!(read > 50, "{read} of 1,000");
}

/// Root mean squared error on `test` of the least-squares line fitted to `train`.
fn least_squares_rmse(train: &Dataset, test: &Dataset) -> f64 {
    use ndarray::Axis;
    let with_intercept = |data: &Dataset| {
        ndarray::concatenate![Axis(1), data.x().view(), Array2::ones((data.rows(), 1))]
    };
    let x = with_intercept(train);
    // Gauss-Jordan elimination of the normal equations.
    let mut a = ndarray::concatenate![Axis(1), x.t().dot(&x), x.t().dot(train.real().unwrap())];
    let d = a.nrows();
    for i in 0..d {
        let pivot = (i..d).max_by(|&p, &q| a[(p, i)].abs().total_cmp(&a[(q, i)].abs())).unwrap();
        for j in 0..=d {
            a.swap((i, j), (pivot, j));
        }
        let row = &a.row(i) / a[(i, i)];
        a.row_mut(i).assign(&row);
        for k in (0..d).filter(|k| *k != i) {
            let scaled = &row * a[(k, i)];
            a.row_mut(k).zip_mut_with(&scaled, |v, s| *v -= s);
        }
    }
    let prediction = with_intercept(test).dot(&a.slice(ndarray::s![.., d..]));
    rmse(&prediction, test)
}

fn rmse(prediction: &Array2<f64>, test: &Dataset) -> f64 {
    (prediction - test.real().unwrap()).mapv(|e| e * e).mean().unwrap().sqrt()
}

#[test]
fn the_sunspot_windows_have_the_known_baselines() {
    let (train, test) = bnn_mcmc::data::bundled::sunspot_windows();
    let persistence = rmse(&test.x().slice(ndarray::s![.., 3..]).to_owned(), &test);
    assert!((persistence - 0.0116).abs() < 1e-4, "{persistence}");
    let least_squares = least_squares_rmse(&train, &test);
    assert!((least_squares - 0.0062).abs() < 1e-4, "{least_squares}");
}

#[test]
fn the_bundled_files_are_the_embedded_ones() {
    use bnn_mcmc::data::bundled;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    for (file, reader, data) in [
        ("iris.csv", CsvReader::classification("species"), bundled::iris()),
        ("abalone.csv", CsvReader::regression("rings"), bundled::abalone()),
        ("boston.csv", CsvReader::regression("medv"), bundled::boston()),
        ("wine_red.csv", CsvReader::regression("quality"), bundled::wine_red()),
        ("ionosphere.csv", CsvReader::classification("class"), bundled::ionosphere()),
        ("digits.csv.gz", CsvReader::classification("digit"), bundled::digits()),
    ] {
        assert_eq!(reader.read_path(folder.join(file)).unwrap().dataset, data);
    }
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let plain = ["iris", "abalone", "boston", "ionosphere", "sunspot", "wine_red"];
    let files = plain.map(|name| format!("{name}.csv"));
    for file in files.iter().map(String::as_str).chain(["digits.csv.gz"]) {
        let line = sums.lines().find(|line| line.ends_with(&format!("  {file}"))).unwrap();
        assert_eq!(line.split(' ').next().unwrap().len(), 64);
    }
}
