//! IDX files: images and their labels, as MNIST has them.

use std::io::Read;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::dataset::class_places;
use super::gzip::{Source, default_limit};
use super::{Dataset, Response};
use crate::Error;
use crate::memory;
use crate::message::Advice;

/// The code of unsigned bytes.
const UNSIGNED_BYTES: u8 = 0x08;

/// The largest number of pixels in an image: each has a name.
const MOST_PIXELS: u64 = 1 << 20;

/// Reads a file of images and the file of their labels as a [`Dataset`].
///
/// An IDX file is an array of numbers with its shape in front, all of it big-endian
/// (Y. LeCun, C. Cortes and C. J. C. Burges, *The MNIST database of handwritten digits*, 1998):
///
/// ```text
/// 0 0 T D          two zero bytes, the type T of the elements, the number D of dimensions
/// n_1 ... n_D      the size of each dimension, four bytes each
/// elements         n_1 * ... * n_D of them, the last dimension fastest
/// ```
///
/// Here T is 8, unsigned bytes, as in MNIST and its relatives; D is 3 for images (number, rows,
/// columns of pixels) and 1 for labels. Both files may be packed by gzip.
///
/// A byte b becomes the pixel b / 255, from 0 to 1, whatever the brightest pixel of the file is.
/// Features are named `px` row column, counted from 0 and padded to equal length: `px00` to `px77`
/// of 8x8 pixels, `px0000` to `px2727` of 28x28. Classes are the labels that occur, as text and by
/// size, unless [`classes`](IdxReader::classes) names some of them in an order of its own.
///
/// Memory: the bytes of all images and 8 bytes for each pixel of the selected ones. The header is
/// not believed: no memory is taken before the bytes have been read that are to fill it. More than
/// 2^20 pixels in an image (1024x1024) are refused, and more than 1 GiB of them in a file unless
/// [`limit`](IdxReader::limit) allows it.
///
/// ```
/// use bnn_mcmc::data::IdxReader;
/// // Three images of 1x2 pixels, with their labels.
/// let images = [&[0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2][..], &[0, 255, 51, 0, 7, 9]];
/// let labels = [0, 0, 8, 1, 0, 0, 0, 3, 7, 1, 4];
/// let data = IdxReader::new().classes(["1", "7"]).read(&images.concat()[..], &labels[..])?;
/// assert_eq!(data.x(), ndarray::array![[0.0, 1.0], [0.2, 0.0]]);
/// assert_eq!(data.classes()?, [1, 0]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdxReader {
    classes: Option<Vec<String>>,
    #[serde(default = "default_limit")]
    limit: u64,
}

impl Default for IdxReader {
    fn default() -> Self {
        Self { classes: None, limit: default_limit() }
    }
}

impl IdxReader {
    /// Reads images of all labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads only the images of these labels, which become classes in this order; the images keep
    /// theirs. Training and test files are to be read with the same call, or with none if the
    /// same labels occur in both.
    pub fn classes<S: Into<String>>(self, labels: impl IntoIterator<Item = S>) -> Self {
        Self { classes: Some(labels.into_iter().map(Into::into).collect()), ..self }
    }

    /// Files of more than `bytes` bytes after the header are refused, counted after unpacking.
    /// Without this call the limit is 1 GiB. The data set takes eight times the bytes of the
    /// selected images.
    pub fn limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Reads two files, plain or gzip.
    ///
    /// # Errors
    /// If a file cannot be opened, is not as the [`IdxReader`] says, has fewer or more bytes than
    /// its header says, or does not fit into memory; if there are not as many labels as images; if
    /// a class of [`classes`](Self::classes) does not occur, or there are fewer than two.
    pub fn read_path(
        &self,
        images: impl AsRef<Path>,
        labels: impl AsRef<Path>,
    ) -> Result<Dataset, Error> {
        self.read_sources(Source::open(images.as_ref())?, Source::open(labels.as_ref())?)
    }

    /// Reads images and labels like [`read_path`](Self::read_path), from anything that yields
    /// bytes; errors call them `images` and `labels`.
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path).
    pub fn read(&self, images: impl Read, labels: impl Read) -> Result<Dataset, Error> {
        self.read_sources(Source::new("images", images)?, Source::new("labels", labels)?)
    }

    fn read_sources(&self, mut images: Source, mut labels: Source) -> Result<Dataset, Error> {
        let [n_labels] = shape(&mut labels, "labels", ["labels"])?;
        let [n, height, width] = shape(&mut images, "images", ["images", "rows", "columns"])?;
        if n != n_labels {
            let problem = format!("there are {n} images, but {n_labels} labels in {}", labels.name);
            return Err(images.problem(problem));
        }
        let pixels = u64::from(height) * u64::from(width);
        if pixels > MOST_PIXELS {
            let problem = format!(
                "its header says that an image has {height} rows of {width} pixels; at most \
                 {MOST_PIXELS} pixels are allowed"
            );
            return Err(images.problem(problem));
        }
        let label_bytes = elements(&mut labels, n.into(), self.limit)?;
        let Classes { of_label, names } = self.select(&labels, &label_bytes)?;
        // Below 2^52: at most 2^32 images of 2^20 pixels.
        let bytes = elements(&mut images, u64::from(n) * pixels, self.limit)?;
        let images_of = bytes.chunks_exact(pixels as usize).zip(&label_bytes);
        let chosen = images_of.filter_map(|(b, l)| Some((b, of_label[usize::from(*l)]?)));
        let rows = label_bytes.iter().filter(|l| of_label[usize::from(**l)].is_some()).count();
        let name = format!("data set of {}", images.name);
        let size = [(rows, "images"), (pixels as usize, "pixels")];
        memory::check::<f64>(&name, &size, "select some of the classes")?;
        let mut x = Vec::with_capacity(rows * pixels as usize);
        let mut index = Vec::with_capacity(rows);
        for (image, class) in chosen {
            x.extend(image.iter().map(|b| f64::from(*b) / 255.0));
            index.push(class);
        }
        let x = Array2::from_shape_vec((rows, pixels as usize), x)
            .expect("every image has as many pixels");
        let response = Response::Classes { index, names };
        Dataset::checked(x, response, pixel_names(height, width), vec!["label".into()])
            .map_err(|error| labels.problem(error.to_string()))
    }

    /// The classes of the labels that are wanted.
    fn select(&self, source: &Source, labels: &[u8]) -> Result<Classes, Error> {
        let mut counts = [0; 256];
        labels.iter().for_each(|label| counts[usize::from(*label)] += 1);
        let occurring: Vec<usize> = (0..256).filter(|label| counts[*label] > 0).collect();
        let names: Vec<String> = occurring.iter().map(usize::to_string).collect();
        let sizes: Vec<usize> = occurring.iter().map(|label| counts[*label]).collect();
        let (places, names) = match &self.classes {
            Some(chosen) => {
                let what = format!("label in {}", source.name);
                (class_places(&what, &names, &sizes, chosen)?, chosen.clone())
            }
            None => ((0..names.len()).map(Some).collect(), names),
        };
        let mut of_label = [None; 256];
        occurring.iter().zip(places).for_each(|(label, place)| of_label[*label] = place);
        Ok(Classes { of_label, names })
    }
}

struct Classes {
    /// The class of each label that is wanted.
    of_label: [Option<usize>; 256],
    names: Vec<String>,
}

/// Reads the header of a file of `what`, whose dimensions are called `axes`; none of them is 0.
fn shape<const D: usize>(
    source: &mut Source,
    what: &str,
    axes: [&str; D],
) -> Result<[u32; D], Error> {
    let header = source.read_up_to(4 + 4 * D as u64)?;
    let Some((&[zero, also_zero, kind, dimensions], sizes)) = header.split_first_chunk() else {
        let problem = format!("the file has only {} bytes, fewer than a header", header.len());
        return Err(source.problem(problem));
    };
    if (zero, also_zero) != (0, 0) {
        return Err(source.problem(format!(
            "the first two bytes are {zero:#04x} {also_zero:#04x}, but those of an IDX file are 0: \
             this is none"
        )));
    }
    if kind != UNSIGNED_BYTES {
        let known = match kind {
            0x09 => " (signed bytes)",
            0x0B => " (16-bit integers)",
            0x0C => " (32-bit integers)",
            0x0D => " (32-bit real numbers)",
            0x0E => " (64-bit real numbers)",
            _ => "",
        };
        return Err(source.problem(format!(
            "the elements are of the type {kind:#04x}{known}, but must be of the type \
             {UNSIGNED_BYTES:#04x} (unsigned bytes)"
        )));
    }
    if usize::from(dimensions) != D {
        let axes = axes.join(", ");
        let swapped = match dimensions {
            1 | 3 => ": are images and labels in the right order?",
            _ => "",
        };
        return Err(source.problem(format!(
            "the number of dimensions is {dimensions}, but must be {D} ({axes}) for {what}{swapped}"
        )));
    }
    let (sizes, rest) = sizes.as_chunks::<4>();
    let Ok(sizes) = <[[u8; 4]; D]>::try_from(sizes) else {
        let read = 4 * sizes.len() + rest.len();
        let problem =
            format!("the file ends within its header: {read} of {} bytes of sizes", 4 * D);
        return Err(source.problem(problem));
    };
    let sizes = sizes.map(u32::from_be_bytes);
    if let Some((_, axis)) = sizes.iter().zip(axes).find(|(size, _)| **size == 0) {
        let problem = format!("its header says that there are 0 {axis}, but must be at least 1");
        return Err(source.problem(problem));
    }
    Ok(sizes)
}

/// Reads the `n` bytes after the header, and that no other follows.
fn elements(source: &mut Source, n: u64, limit: u64) -> Result<Vec<u8>, Error> {
    if n > limit {
        let rust = "raise the limit by `IdxReader::limit` if the file is to be trusted";
        let problem =
            format!("its header says that {n} bytes follow, but at most {limit} are read");
        return Err(source.problem(problem).advise([Advice::in_rust(rust)]));
    }
    let bytes = source.read_up_to(n)?;
    if (bytes.len() as u64) < n {
        return Err(source.problem(format!(
            "the file is cut short: its header says that {n} bytes follow, but there are {}",
            bytes.len()
        )));
    }
    if !source.read_up_to(1)?.is_empty() {
        return Err(source.problem(format!(
            "the file is too long, or damaged: its header says that {n} bytes follow, but there are \
             more"
        )));
    }
    Ok(bytes)
}

/// `px0000` and so on, row by row.
fn pixel_names(height: u32, width: u32) -> Vec<String> {
    let digits = (height.max(width) - 1).to_string().len();
    let name = |i: u32| move |j: u32| format!("px{i:0digits$}{j:0digits$}");
    (0..height).flat_map(|i| (0..width).map(name(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// An IDX file of bytes.
    fn idx(sizes: &[u32], elements: &[u8]) -> Vec<u8> {
        let mut file = vec![0, 0, 8, sizes.len() as u8];
        sizes.iter().for_each(|n| file.extend(n.to_be_bytes()));
        file.extend(elements);
        file
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    /// Five images of 2x3 pixels and their labels.
    fn files() -> (Vec<u8>, Vec<u8>) {
        let pixels: Vec<u8> = (0..30).map(|i| i * 8).collect();
        (idx(&[5, 2, 3], &pixels), idx(&[5], &[7, 1, 10, 7, 2]))
    }

    fn message(reader: &IdxReader, images: &[u8], labels: &[u8]) -> String {
        let error = reader.read(images, labels).unwrap_err();
        assert!(error.is_data() || error.is_argument(), "{error:?}");
        error.to_string()
    }

    #[test]
    fn images_become_rows_and_labels_classes() {
        let (images, labels) = files();
        let data = IdxReader::new().read(&images[..], &labels[..]).unwrap();
        assert_eq!((data.rows(), data.n_features()), (5, 6));
        assert_eq!(data.feature_names(), ["px00", "px01", "px02", "px10", "px11", "px12"]);
        assert_eq!(data.response_names(), ["label"]);
        // By size, not alphabetically.
        assert_eq!(data.response().class_names().unwrap(), ["1", "2", "7", "10"]);
        assert_eq!(data.classes().unwrap(), [2, 0, 3, 2, 1]);
        for ((i, j), value) in data.x().indexed_iter() {
            assert_eq!(*value, (6 * i + j) as f64 * 8.0 / 255.0);
        }
        // All 256 bytes; names of three digits.
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * 101).collect();
        let wide = (idx(&[2, 1, 101], &bytes), idx(&[2], &[0, 1]));
        let data = IdxReader::new().read(&wide.0[..], &wide.1[..]).unwrap();
        assert_eq!(data.feature_names()[100], "px000100");
        assert_eq!(data.x()[(1, 100)], 201.0 / 255.0);
    }

    #[test]
    fn some_classes_are_numbered_in_the_order_given() {
        let (images, labels) = files();
        let all = IdxReader::new().read(&images[..], &labels[..]).unwrap();
        for chosen in [["7", "1"], ["1", "7"], ["10", "2"]] {
            let some = IdxReader::new().classes(chosen).read(&images[..], &labels[..]).unwrap();
            assert_eq!(some, all.select_classes(chosen).unwrap());
        }
        let sevens = IdxReader::new().classes(["7", "1"]).read(&images[..], &labels[..]).unwrap();
        assert_eq!(sevens.classes().unwrap(), [0, 1, 0]);
        assert_eq!(sevens.x().row(2), all.x().row(3));

        let error =
            |chosen: &[&str]| message(&IdxReader::new().classes(chosen.to_vec()), &images, &labels);
        assert_eq!(
            error(&["1", "3"]),
            "there is no label in labels named `3`; there are: `1`, `2`, `7`, `10`"
        );
        assert_eq!(error(&["1"]), "number of classes to select: found 1, expected at least 2");
        let twice = IdxReader::new().classes(["1", "7", "1"]).read(&images[..], &labels[..]);
        fails!(twice, Argument { value: "`1` twice" });
        let one = idx(&[5], &[4; 5]);
        assert_eq!(
            message(&IdxReader::new(), &images, &one),
            "labels: number of classes: found 1, expected at least 2"
        );
    }

    #[test]
    fn gzip_makes_no_difference() {
        let (images, labels) = files();
        let plain = IdxReader::new().read(&images[..], &labels[..]).unwrap();
        for (images, labels) in [
            (gzip(&images), gzip(&labels)),
            (images.clone(), gzip(&labels)),
            // Gzip files one after the other are one.
            ([gzip(&images[..20]), gzip(&images[20..])].concat(), labels.clone()),
        ] {
            assert_eq!(IdxReader::new().read(&images[..], &labels[..]).unwrap(), plain);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            folder.path().join(name)
        };
        let (i, l) = (path("images.gz", &gzip(&images)), path("labels", &labels));
        assert_eq!(IdxReader::new().read_path(&i, &l).unwrap(), plain);
        let table = i.display().to_string();
        fails!(IdxReader::new().read_path(&l, &i), Table { table: table });
        for missing in [folder.path().join("none"), folder.path().to_path_buf()] {
            let read = IdxReader::new().read_path(&missing, &l);
            assert!(matches!(&read, Err(Error::Io { path, .. }) if *path == missing), "{read:?}");
        }

        let mut packed = gzip(&images);
        let last = packed.len() - 5;
        packed[last] ^= 1; // a byte of the checksum
        let damaged = message(&IdxReader::new(), &packed, &labels);
        assert!(damaged.starts_with("images: the gzip data cannot be unpacked"), "{damaged}");
        let cut = message(&IdxReader::new(), &gzip(&images)[..30], &labels);
        assert!(cut.starts_with("images: the gzip data cannot be unpacked"), "{cut}");
    }

    #[test]
    fn bad_files_are_named_with_what_was_found_and_what_is_allowed() {
        let (images, labels) = files();
        let reader = IdxReader::new();
        let with = |at: usize, byte: u8| {
            let mut bytes = images.clone();
            bytes[at] = byte;
            message(&reader, &bytes, &labels)
        };
        assert_eq!(
            with(0, 0x50),
            "images: the first two bytes are 0x50 0x00, but those of an IDX file are 0: this is none"
        );
        assert_eq!(
            with(2, 0x0D),
            "images: the elements are of the type 0x0d (32-bit real numbers), but must be of the \
             type 0x08 (unsigned bytes)"
        );
        assert_eq!(
            with(2, 0x77),
            "images: the elements are of the type 0x77, but must be of the type 0x08 (unsigned bytes)"
        );
        assert_eq!(
            with(3, 4),
            "images: the number of dimensions is 4, but must be 3 (images, rows, columns) for images"
        );
        assert_eq!(
            message(&reader, &labels, &images),
            "labels: the number of dimensions is 3, but must be 1 (labels) for labels: are images \
             and labels in the right order?"
        );
        assert_eq!(with(7, 6), "images: there are 6 images, but 5 labels in labels");
        for (at, axis) in [(7, "images"), (11, "rows"), (15, "columns")] {
            let expected =
                format!("images: its header says that there are 0 {axis}, but must be at least 1");
            assert_eq!(with(at, 0), expected);
        }
        assert_eq!(
            message(&reader, &images[..45], &labels),
            "images: the file is cut short: its header says that 30 bytes follow, but there are 29"
        );
        assert_eq!(
            message(&reader, &[&images[..], &[0]].concat(), &labels),
            "images: the file is too long, or damaged: its header says that 30 bytes follow, but there are more"
        );
        assert!(message(&reader, &images, &labels[..12]).starts_with("labels: the file is cut"));
        for n in 0..images.len() {
            assert!(message(&reader, &images[..n], &labels).starts_with("images: the file "));
        }
        for n in 0..labels.len() {
            assert!(message(&reader, &images, &labels[..n]).starts_with("labels: the file "));
        }
    }

    /// Fails the test if it is read to its end, as a file of any length would be by whoever
    /// believed its header.
    struct Endless(Vec<u8>, usize);

    impl Read for Endless {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let n = to.len().min(self.0.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            if n == 0 {
                self.1 += to.len();
                assert!(self.1 < 1 << 20, "more than the header is read");
                return Ok(to.len());
            }
            Ok(n)
        }
    }

    #[test]
    fn headers_are_not_believed() {
        let reader = IdxReader::new();
        // 2^32 images that are not there.
        let huge = idx(&[u32::MAX, 1024, 1024], &[0; 10]);
        let labels = idx(&[u32::MAX], &[0; 10]);
        let (table, says) = ("labels", "its header says that 4294967295 bytes follow");
        let short = "the file is cut short";
        let problem = format!("{says}, but at most 1073741824 are read");
        let read = reader.read(&huge[..], &labels[..]);
        fails!(read, Table { table: table, problem: problem });
        let read = reader.clone().limit(u64::MAX).read(&huge[..], &labels[..]);
        fails!(read, Table { table: table, problem: format!("{short}: {says}, but there are 10") });
        // More pixels than allowed, and products beyond 64 bits.
        let five = idx(&[5], &[0, 1, 0, 1, 0]);
        for sizes in [[5, 1024, 1025], [5, 1, 1 << 21], [5, u32::MAX, u32::MAX]] {
            let read = reader.read(&idx(&sizes, &[0; 10])[..], &five[..]);
            let Err(Error::Table { table, problem, .. }) = read else { panic!("{sizes:?}") };
            assert_eq!(table, "images");
            assert!(problem.ends_with("at most 1048576 pixels are allowed"), "{problem}");
        }
        let most = idx(&[5, 1024, 1024], &[0; 10]);
        let says = "its header says that 5242880 bytes follow";
        let problem = format!("{short}: {says}, but there are 10");
        fails!(reader.read(&most[..], &five[..]), Table { table: "images", problem: problem });
        // A file without end is read as far as its header says.
        let (images, labels) = files();
        let too_long = |bytes: usize| {
            let says = format!("its header says that {bytes} bytes follow");
            format!("the file is too long, or damaged: {says}, but there are more")
        };
        let read = reader.read(Endless(images.clone(), 0), &labels[..]);
        fails!(read, Table { table: "images", problem: too_long(30) });
        let read = reader.read(&images[..], Endless(labels, 0));
        fails!(read, Table { table: "labels", problem: too_long(5) });
    }
}
