//! Named blocks over the flat parameter vector q.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Error;

/// One named block of q: an array of `shape` stored row-major at `range`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The block's name, such as `w0`.
    pub name: String,
    /// The array's shape; empty for a single number.
    pub shape: Vec<usize>,
    /// Where the block lies in q.
    pub range: Range<usize>,
}

/// The named blocks of a flat parameter vector, in order and without gaps.
///
/// ```
/// use bnn_mcmc::layout::Layout;
/// let layout = Layout::new().with("w0", &[2, 3]).with("b0", &[2]).with("log_noise_variance", &[]);
/// assert_eq!(layout.dim(), 9);
/// assert_eq!(layout.range("b0"), Some(6..8));
/// assert_eq!(layout.parameter_names()[5..], ["w0[1,2]", "b0[0]", "b0[1]", "log_noise_variance"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    blocks: Vec<Block>,
}

impl Layout {
    /// A layout without blocks.
    pub fn new() -> Self {
        Self::default()
    }

    /// One block `name` of `dim` numbers.
    pub fn vector(name: &str, dim: usize) -> Self {
        Self::new().with(name, &[dim])
    }

    /// Appends a block.
    pub fn with(mut self, name: &str, shape: &[usize]) -> Self {
        let start = self.dim();
        self.blocks.push(Block {
            name: name.to_string(),
            shape: shape.to_vec(),
            range: start..start + shape.iter().product::<usize>(),
        });
        self
    }

    /// Appends all blocks of `other`.
    pub fn then(mut self, other: &Layout) -> Self {
        for block in &other.blocks {
            self = self.with(&block.name, &block.shape);
        }
        self
    }

    /// The length of q.
    pub fn dim(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.range.end)
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The blocks' names in order.
    pub fn block_names(&self) -> Vec<String> {
        self.blocks.iter().map(|b| b.name.clone()).collect()
    }

    /// Where block `name` lies in q.
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        self.blocks.iter().find(|b| b.name == name).map(|b| b.range.clone())
    }

    /// Where block `name` lies in q, or an error that lists the names there are.
    pub fn try_range(&self, name: &str) -> Result<Range<usize>, Error> {
        self.range(name).ok_or_else(|| Error::UnknownName {
            what: "parameter block".into(),
            name: name.into(),
            known: self.block_names(),
        })
    }

    /// One name for each coordinate of q: `w0[1,2]`, `b0[0]`, or `log_noise_variance`.
    pub fn parameter_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.dim());
        for block in &self.blocks {
            if block.shape.is_empty() {
                names.push(block.name.clone());
                continue;
            }
            for flat in 0..block.range.len() {
                let mut index = vec![0; block.shape.len()];
                let mut rest = flat;
                for (i, n) in block.shape.iter().enumerate().rev() {
                    index[i] = rest % n;
                    rest /= n;
                }
                let index: Vec<String> = index.iter().map(ToString::to_string).collect();
                names.push(format!("{}[{}]", block.name, index.join(",")));
            }
        }
        names
    }
}
