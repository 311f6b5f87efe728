//! The `zarr.json` of an array, and the places of its chunks.

use serde_json::{Value as Json, json};

/// The kind of an array's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Little-endian f64; NaN where nothing was written.
    Float,
    /// Little-endian i64; 0 where nothing was written.
    Integer,
    /// Bytes 0 and 1; 0 where nothing was written.
    Bool,
    /// UTF-8.
    Text,
}

impl Kind {
    /// The bytes of a value where nothing was written; empty for [`Text`](Self::Text).
    fn fill(self) -> Vec<u8> {
        match self {
            Self::Float => f64::NAN.to_le_bytes().into(),
            Self::Integer => 0i64.to_le_bytes().into(),
            Self::Bool => vec![0],
            Self::Text => Vec::new(),
        }
    }
}

/// An axis, with the labels of its places.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub name: String,
    pub labels: Labels,
}

/// The coordinates of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Labels {
    /// Whole numbers: the first, and how many there are.
    Numbers(usize, usize),
    Names(Vec<String>),
}

impl Axis {
    pub fn numbered(name: &str, first: usize, len: usize) -> Self {
        Self { name: name.into(), labels: Labels::Numbers(first, len) }
    }

    pub fn named(name: &str, labels: &[String]) -> Self {
        Self { name: name.into(), labels: Labels::Names(labels.to_vec()) }
    }

    pub fn len(&self) -> usize {
        match &self.labels {
            Labels::Numbers(_, len) => *len,
            Labels::Names(names) => names.len(),
        }
    }
}

/// An array. Arrays of draws have the axes `chain` and `draw` first, and one chain and as many draws
/// in a chunk as [`CHUNK_BYTES`] hold; others are one chunk.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub kind: Kind,
    pub dims: Vec<String>,
    pub shape: Vec<usize>,
    pub chunk: Vec<usize>,
    pub attributes: Json,
}

/// Chunks have at most this many bytes, unless a single draw has more.
const CHUNK_BYTES: usize = 1 << 24;

impl Array {
    /// One chunk.
    pub fn whole(kind: Kind, axes: &[&Axis]) -> Self {
        let shape: Vec<usize> = axes.iter().map(|axis| axis.len()).collect();
        // Chunks have no side of length zero.
        let chunk = shape.iter().map(|n| (*n).max(1)).collect();
        let dims = axes.iter().map(|axis| axis.name.clone()).collect();
        Self { kind, dims, shape, chunk, attributes: json!({}) }
    }

    /// A value, or an array of them with these `axes`, for each draw of each chain.
    pub fn of_draws(kind: Kind, (chains, draws): (usize, usize), axes: &[&Axis]) -> Self {
        let (chains, draws) =
            (Axis::numbered("chain", 0, chains), Axis::numbered("draw", 0, draws));
        let mut all = vec![&chains, &draws];
        all.extend(axes);
        let mut array = Self::whole(kind, &all);
        array.chunk[0] = 1;
        let most = CHUNK_BYTES / array.draw_bytes().max(1);
        array.chunk[1] = most.clamp(1, array.chunk[1]);
        array
    }

    /// Bytes of one draw.
    pub fn draw_bytes(&self) -> usize {
        let rest = &self.shape[2..];
        rest.iter().fold(self.kind.fill().len(), |n, k| n.saturating_mul(*k))
    }

    /// Bytes where one draw was not written.
    pub fn draw_fill(&self) -> Vec<u8> {
        self.kind.fill().repeat(self.shape[2..].iter().product())
    }

    /// The number of chunks that hold the first `written` draws of a chain.
    pub fn chunks_of(&self, written: usize) -> usize {
        if self.draw_bytes() == 0 { 0 } else { written.div_ceil(self.chunk[1]) } //~ zarr-chunks
    }

    /// The file of a chunk, within the folder of the array.
    pub fn file(&self, chunk: [usize; 2]) -> String {
        let mut file = format!("c/{}", chunk[0]);
        if self.shape.len() > 1 {
            file.push_str(&format!("/{}", chunk[1]));
        }
        file.push_str(&"/0".repeat(self.shape.len().saturating_sub(2)));
        file
    }

    /// The contents of `zarr.json`.
    pub fn metadata(&self) -> Json {
        let little = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
        let (data_type, fill, codecs) = match self.kind {
            Kind::Float => ("float64", json!("NaN"), little),
            Kind::Integer => ("int64", json!(0), little),
            Kind::Bool => ("bool", json!(false), json!([{ "name": "bytes" }])),
            Kind::Text => ("string", json!(""), json!([{ "name": "vlen-utf8" }])),
        };
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": data_type,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": self.chunk } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": fill,
            "codecs": codecs,
            "attributes": self.attributes,
            "dimension_names": self.dims,
            "storage_transformers": [],
        })
    }
}

/// A chunk of text: the number of texts, then each with its length before it.
pub(crate) fn vlen_utf8(texts: &[String]) -> std::io::Result<Vec<u8>> {
    let number = |n: usize| u32::try_from(n).map(u32::to_le_bytes).map_err(std::io::Error::other);
    let mut bytes = number(texts.len())?.to_vec();
    for text in texts {
        bytes.extend(number(text.len())?);
        bytes.extend(text.as_bytes());
    }
    Ok(bytes)
}
