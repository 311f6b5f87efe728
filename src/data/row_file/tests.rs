use std::fs;

use ndarray::{Array1, Array2, array};
use tempfile::TempDir;

use serde_json::Value;

use super::source::{HEAD, MAGIC, TAIL};
use super::{RowFile, Stored};
use crate::data::{Dataset, Standardise};
use crate::error::checks::fails;

fn x(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 3), |(i, j)| (i * (j + 1)) as f64 / 7.0 - 2.0)
}

/// A data set of every kind of response.
fn kinds(rows: usize) -> Vec<Dataset> {
    let whole = |i: usize| (i * i % 5) as f64;
    let y = Array2::from_shape_fn((rows, 2), |(i, j)| (i + j) as f64 * 0.3);
    let counts = Array1::from_shape_fn(rows, whole);
    let lower = Array1::from_shape_fn(rows, |i| 1.0 + i as f64);
    let upper =
        Array1::from_shape_fn(rows, |i| if i % 3 == 0 { f64::INFINITY } else { 1.0 + i as f64 });
    let weights: Vec<f64> = (0..rows).map(|i| 0.5 + whole(i)).collect();
    let real = Dataset::regression(x(rows), y).unwrap();
    let named = real.with_feature_names(["a", "b, \"c\"", "é"]).unwrap();
    let classes = (0..rows).map(|i| i % 2).collect();
    vec![
        named.with_response_names(["u", "v"]).unwrap(),
        Dataset::counts(x(rows), counts).unwrap().with_weights(weights).unwrap(),
        Dataset::classification(x(rows), classes, ["no", "yes", "never"]).unwrap(),
        Dataset::censored(x(rows), lower, upper).unwrap(),
    ]
}

#[test]
fn rows_are_read_as_they_were_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    for data in kinds(50) {
        for size in [1, 7, 50] {
            let mut writer = RowFile::create(&path, Stored::F64).unwrap();
            let rows: Vec<usize> = (0..50).collect();
            for rows in rows.chunks(size) {
                writer.push(&data.select(rows).unwrap()).unwrap();
            }
            let written = writer.finish().unwrap();
            for file in [written, RowFile::open(&path).unwrap()] {
                assert_eq!(file.read(0..50).unwrap(), data);
                assert_eq!(file.read(13..20).unwrap(), data.select(&rows[13..20]).unwrap());
                assert_eq!((file.rows(), file.n_features()), (50, 3));
                assert_eq!(file.feature_names(), data.feature_names());
                assert_eq!(file.response_names(), data.response_names());
                assert_eq!(file.stored(), &Stored::F64);
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left");
    }
    let file = RowFile::open(&path).unwrap();
    fails!(file.read(3..3), Argument { name: "rows", value: "3 to 3" });
    fails!(
        file.read(49..51),
        Argument { name: "rows", value: "49 to 51", allowed: "some of 0 to 50" }
    );
}

/// Blocks with checksums of their own have 1 MiB.
#[test]
fn files_of_several_blocks_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let x = Array2::from_shape_fn((3000, 400), |(i, j)| f64::from((i * 31 + j * 7) as u8));
    let data = Dataset::regression(x, Array1::from_shape_fn(3000, |i| i as f64)).unwrap();
    let mut writer = RowFile::create(&path, Stored::bytes(400)).unwrap();
    let rows: Vec<usize> = (0..3000).collect();
    for rows in rows.chunks(1100) {
        writer.push(&data.select(rows).unwrap()).unwrap();
    }
    let file = writer.finish().unwrap();
    assert_eq!(file.read(2000..3000).unwrap(), data.select(&rows[2000..]).unwrap());
    assert!(fs::metadata(&path).unwrap().len() < 3000 * 408 + 8000);
    // One bit in the second block.
    let mut bytes = fs::read(&path).unwrap();
    bytes[(1 << 20) + 70] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = RowFile::open(&path).unwrap_err().to_string();
    assert!(error.contains("its rows from 2622 on have another checksum"), "{error}");
    assert!(file.read(0..10).unwrap_err().to_string().ends_with("changed since it was opened"));
}

#[test]
fn numbers_are_rounded_as_stated_or_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let written = |stored: Stored, values: Vec<f64>| {
        let n = values.len();
        let x = Array2::from_shape_vec((n, 1), values)?;
        let mut writer = RowFile::create(&path, stored)?;
        writer.push(&Dataset::regression(x, Array1::zeros(n))?)?;
        Ok::<_, Box<dyn std::error::Error>>(writer.finish()?.read(0..n)?.x().column(0).to_vec())
    };
    let read = |stored, values: &[f64]| written(stored, values.to_vec()).unwrap();
    assert_eq!(
        read(Stored::F32, &[0.1, -1e-50, 3.4e38]),
        [f64::from(0.1_f32), 0.0, 3.4e38_f32.into()]
    );
    assert_eq!(
        read(Stored::F16, &[1.0, 2049.0, -65504.0, 6e-8]),
        [1.0, 2048.0, -65504.0, 2f64.powi(-24)]
    );
    assert_eq!(read(Stored::bytes(1), &[0.0, 7.0, 255.0, 3.4]), [0.0, 7.0, 255.0, 3.0]);
    let ends = read(Stored::ranges(&[[-1.0, 1.0]]), &[-1.0, 1.0, 0.3]);
    assert!(
        ends[0] == -1.0 && (ends[1] - 1.0).abs() < 1e-15 && (ends[2] - 0.3).abs() <= 1.0 / 255.0
    );

    let refused = |stored, value: f64| written(stored, vec![0.0, value]).unwrap_err().to_string();
    let words = refused(Stored::F32, 1e39);
    assert!(
        words.contains("row 2, column `x1`: 1e39 cannot be stored; it must be from -3.4"),
        "{words}"
    );
    let words = refused(Stored::F16, -65520.0);
    assert!(words.contains("-65520 cannot be stored; it must be from -65504 to 65504"), "{words}");
    for value in [-0.6, 255.6] {
        let words = refused(Stored::bytes(1), value);
        assert!(words.contains("it must be from 0 to 255"), "{words}");
    }
    fails!(RowFile::create(&path, Stored::ranges(&[[1.0, 1.0]])), Argument { value: "1 and 0" });
    fails!(
        RowFile::create(&path, Stored::U8(vec![[f64::NAN, 1.0]])),
        Argument { value: "NaN and 1" }
    );
    let two = RowFile::create(&path, Stored::bytes(2)).unwrap().push(&kinds(5)[0]);
    fails!(two, Shape { found: 2, expected: 3 });
}

/// Half precision is rounded by way of single precision, alike on every processor.
#[test]
fn halves_are_rounded_alike_everywhere() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let ulp = |power: i32| 2f64.powi(power);
    let values = [
        (1.0 + ulp(-11) + ulp(-22), 1.0 + ulp(-10)),
        (1.0 + ulp(-11), 1.0),
        (1.0 + ulp(-11) + ulp(-40), 1.0),
        (1.0 + 3.0 * ulp(-11), 1.0 + ulp(-9)),
    ];
    let x = Array2::from_shape_fn((4, 1), |(i, _)| values[i].0);
    let mut writer = RowFile::create(&path, Stored::F16).unwrap();
    writer.push(&Dataset::regression(x, Array1::zeros(4)).unwrap()).unwrap();
    let read = writer.finish().unwrap().read(0..4).unwrap();
    assert_eq!(read.x().column(0).to_vec(), values.map(|(_, rounded)| rounded));
}

/// Bytes are exact where they can be, and within half a step elsewhere.
#[test]
fn bytes_hold_whole_numbers_as_they_are() {
    let folder = TempDir::new().unwrap();
    let [wide, path] = ["wide.rows", "some.rows"].map(|name| folder.path().join(name));
    // Whole numbers that span 255 and 256, numbers that do not, and one number.
    let of_row = |i: usize, j: usize| match j {
        0 => (i * 13 % 256) as f64 - 1e9,
        1 => (i * 13 % 257) as f64,
        2 => (i * 13 % 511) as f64 / 7.0 - 20.0,
        3 => (i * 13 % 511) as f64 * 1e6,
        _ => 0.1,
    };
    let x = Array2::from_shape_fn((9000, 5), |(i, j)| of_row(i, j));
    let largest = [0.0, 0.5 * 256.0 / 255.0, 0.5 * 510.0 / 7.0 / 255.0, 0.5 * 510e6 / 255.0, 0.0];
    let y = Array1::from_shape_fn(9000, |i| (i % 7) as f64);
    let weights: Vec<f64> = (0..9000).map(|i| f64::from(u8::from(i > 5000))).collect();
    let data = Dataset::counts(x, y).unwrap().with_weights(weights).unwrap();
    let mut writer = RowFile::create(&wide, Stored::F64).unwrap();
    writer.push(&data).unwrap();
    let bytes = writer.finish().unwrap().in_bytes(&path).unwrap();
    assert_eq!(bytes.row_bytes(), 5);
    let read = bytes.read(0..9000).unwrap();
    assert_eq!((read.response(), read.weights()), (data.response(), data.weights()));
    for (j, largest) in largest.into_iter().enumerate() {
        let errors = read.x().column(j).to_owned() - data.x().column(j);
        let found = errors.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
        assert!(found <= largest * (1.0 + 1e-9), "column {j}: {found}");
        assert!(found >= 0.9 * largest, "column {j}: {found}");
    }
    let scaler = bytes.fit_features(&Standardise::new().allow_constant()).unwrap();
    fails!(bytes.scaled(&scaler).unwrap().in_bytes(&path), Argument { name: "rows" });
    let mut writer = RowFile::create(&wide, Stored::F64).unwrap();
    writer.push(&Dataset::counts(array![[-1e308], [1e308]], array![1.0, 2.0]).unwrap()).unwrap();
    assert!(writer.finish().unwrap().in_bytes(&path).is_err());
    assert_eq!(RowFile::open(&path).unwrap().rows(), 9000, "the file before stays");
}

/// Rows of weight 0 alone are rows, too.
#[test]
fn parts_of_a_file_may_have_no_weight() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let data = kinds(6).remove(0).with_weights([1.0, 0.5, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let mut writer = RowFile::create(&path, Stored::F64).unwrap();
    writer.push(&data).unwrap();
    let file = writer.finish().unwrap();
    let weights: Vec<f64> =
        file.blocks(2).flat_map(|block| block.unwrap().weights().unwrap().to_vec()).collect();
    assert_eq!(weights, data.weights().unwrap().to_vec());
}

/// A file that is there stays until the new one is seen to be whole.
#[test]
fn a_file_that_cannot_be_opened_replaces_none() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let write = |weight: f64| {
        let mut writer = RowFile::create(&path, Stored::F64)?;
        for _ in 0..2 {
            writer.push(&kinds(1).remove(0).with_weights([weight])?)?;
        }
        writer.finish()
    };
    write(3.0).unwrap();
    // Each sum of weights is allowed, and their sum is not.
    let error = write(8e14).unwrap_err();
    assert!(error.is_data() && error.to_string().contains("sum of the weights"), "{error}");
    assert_eq!(RowFile::open(&path).unwrap().total_weight(), 6.0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A change of the bytes of features and of responses, and of the foot.
type Change<'c> = &'c dyn Fn(&mut [u8], &mut [u8], &mut Value);

/// Files with right checksums, but wrong sizes, scales, classes or numbers.
#[test]
fn forged_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let written = |data: &Dataset, stored: Stored| {
        let mut writer = RowFile::create(&path, stored).unwrap();
        writer.push(data).unwrap();
        writer.finish().unwrap();
        fs::read(&path).unwrap()
    };
    // Changes the body and the foot, and makes checksums and lengths right again.
    let forge = |bytes: &[u8], rows: usize, columns: usize, width: usize, change: Change| {
        let tail = bytes.len() - TAIL as usize;
        let length = u64::from_le_bytes(bytes[tail..tail + 8].try_into().unwrap()) as usize;
        let mut foot: Value = serde_json::from_slice(&bytes[tail - length..tail]).unwrap();
        let mut body = bytes[..tail - length].to_vec();
        let (features, observed) = body[HEAD as usize..].split_at_mut(rows * columns * width);
        change(features, observed, &mut foot);
        foot["blocks"] = vec![crc32fast::hash(features)].into();
        foot["observed"] = crc32fast::hash(observed).into();
        let json = serde_json::to_vec(&foot).unwrap();
        let ends =
            [&(json.len() as u64).to_le_bytes()[..], &crc32fast::hash(&json).to_le_bytes(), &MAGIC];
        body.extend(&json);
        body.extend(ends.concat());
        fs::write(&path, body).unwrap();
        let error = RowFile::open(&path).unwrap_err();
        assert!(error.is_data(), "{error:?}");
        error.to_string()
    };
    let data = &kinds(6)[2];
    let doubles = written(data, Stored::F64);
    let says = |found: String, words: &str| assert!(found.contains(words), "{found}");
    let nan = |features: &mut [u8], _: &mut [u8], _: &mut Value| {
        features[32..40].copy_from_slice(&f64::NAN.to_le_bytes());
    };
    says(forge(&doubles, 6, 3, 8, &nan), "row 2, column `x2`: NaN is not a finite number");
    for (class, words) in [
        (-1.0, "the class of a row is no whole number"),
        (0.5, "the class of a row is no whole number"),
        (f64::NAN, "the class of a row is no whole number"),
        (7.0, "7"),
    ] {
        let other = |_: &mut [u8], observed: &mut [u8], _: &mut Value| {
            observed[..8].copy_from_slice(&f64::to_le_bytes(class));
        };
        says(forge(&doubles, 6, 3, 8, &other), words);
    }
    let rows = |_: &mut [u8], _: &mut [u8], foot: &mut Value| foot["rows"] = u64::MAX.into();
    says(forge(&doubles, 6, 3, 8, &rows), "its size is not that of its rows");
    let bytes = written(data, Stored::ranges(&[[-2.0, 2.0]; 3]));
    let one = |_: &mut [u8], _: &mut [u8], foot: &mut Value| {
        foot["stored"] = serde_json::json!({ "u8": [[0.0, 1.0]] });
    };
    says(forge(&bytes, 6, 3, 1, &one), "some.rows: its foot is wrong: offsets and scales of bytes");
    let wide = |_: &mut [u8], _: &mut [u8], foot: &mut Value| {
        foot["stored"] = serde_json::json!({ "u8": [[1e308, 1e307], [0.0, 1.0], [0.0, 1.0]] });
    };
    says(forge(&bytes, 6, 3, 1, &wide), "some.rows: its foot is wrong: ");
}

#[test]
fn rows_of_another_table_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let data = kinds(5);
    let mut writer = RowFile::create(&path, Stored::F64).unwrap();
    writer.push(&data[0]).unwrap();
    let renamed = data[0].clone().with_feature_names(["a", "b", "c"]).unwrap();
    let weighted = data[0].clone().with_weights([1.0; 5]).unwrap();
    let counts =
        Dataset::counts(x(5), array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]);
    let counts = counts.unwrap().with_feature_names(data[0].feature_names().to_vec()).unwrap();
    let counts = counts.with_response_names(["u", "v"]).unwrap();
    fails!(writer.push(&renamed), Argument { name: "features of the rows", value: "a, b, c" });
    fails!(writer.push(&data[2]), Argument { name: "features of the rows" });
    fails!(writer.push(&weighted), Argument { name: "weights of the rows", value: "given" });
    fails!(
        writer.push(&counts),
        Argument { name: "kind of response of the rows", value: "counts" }
    );
    assert_eq!(writer.rows(), 5);
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "what is not finished is removed");
    fails!(
        RowFile::create(&path, Stored::F64).unwrap().finish(),
        Shape { what: "rows of the file", found: 0 }
    );
    fails!(RowFile::create("/", Stored::F64).map(|_| ()), Argument { name: "path" });
    assert!(RowFile::create(path.join("x"), Stored::F64).unwrap_err().is_io());
    assert!(RowFile::open(&path).unwrap_err().is_io());
}

/// Every bit and every length of a file: what is damaged is an error, and never a panic or other numbers.
#[test]
fn damage_anywhere_is_found() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    for (data, stored) in kinds(6).into_iter().zip([
        Stored::F64,
        Stored::F32,
        Stored::F16,
        Stored::ranges(&[[-2.0, 2.0]; 3]),
    ]) {
        let mut writer = RowFile::create(&path, stored).unwrap();
        writer.push(&data).unwrap();
        let read = |file: RowFile| file.read(0..6).unwrap();
        let expected = read(writer.finish().unwrap());
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(RowFile::open(&path).unwrap_err().is_data(), "{length}");
        }
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(&path, bytes).unwrap();
                match RowFile::open(&path) {
                    Err(error) => assert!(error.is_data(), "{at}: {error:?}"),
                    // Of the head only the first bytes say something.
                    Ok(file) => assert!((8..64).contains(&at) && read(file) == expected, "{at}"),
                }
            }
        }
        let longer = [&whole[..], b"1234"].concat();
        fs::write(&path, longer).unwrap();
        assert!(RowFile::open(&path).unwrap_err().is_data());
    }
}

/// A foot with the right checksum may still say what is wrong.
#[test]
fn a_foot_of_other_sizes_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.rows");
    let mut writer = RowFile::create(&path, Stored::F64).unwrap();
    writer.push(&kinds(4)[2]).unwrap();
    drop(writer.finish().unwrap());
    let whole = fs::read(&path).unwrap();
    let (rest, tail) = whole.split_at(whole.len() - 20);
    let length = u64::from_le_bytes(tail[..8].try_into().unwrap()) as usize;
    let (rows, json) = rest.split_at(rest.len() - length);
    let json = String::from_utf8(json.to_vec()).unwrap();
    let with = |from: &str, to: &str| {
        assert!(json.contains(from), "{json}");
        let json = json.replace(from, to);
        let length = (json.len() as u64).to_le_bytes();
        let checksum = crc32fast::hash(json.as_bytes()).to_le_bytes();
        let bytes = [rows, json.as_bytes(), &length, &checksum, b"BNNROWS1"].concat();
        fs::write(&path, bytes).unwrap();
        RowFile::open(&path).unwrap_err().to_string()
    };
    for rows in ["0", "5", "18446744073709551615", "2305843009213693952"] {
        let words = with("\"rows\":4", &format!("\"rows\":{rows}"));
        assert!(words.ends_with("its size is not that of its rows"), "{words}");
    }
    let words = with("\"stored\":\"f64\"", "\"stored\":\"f32\"");
    assert!(words.ends_with("its size is not that of its rows"), "{words}");
    let words = with("\"stored\":\"f64\"", "\"stored\":\"f128\"");
    assert!(words.contains("its foot is of another version of this crate"), "{words}");
    let words = with("[\"x1\",\"x2\",\"x3\"]", "[\"x1\",\"x2\",\"x2\"]");
    assert!(words.contains("`x2` twice"), "{words}");
    let words = with("[\"no\",\"yes\",\"never\"]", "[\"no\",\"yes\",\"yes\"]");
    assert!(words.contains("`yes` twice"), "{words}");
    let words = with("[\"no\",\"yes\",\"never\"]", "[\"no\"]");
    assert!(words.contains("number of classes: found 1"), "{words}");
}
