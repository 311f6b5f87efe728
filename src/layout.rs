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

    /// The layout whose [`parameter_names`](Self::parameter_names) are `names`. Names that are no
    /// complete, ordered array (`a[0]`, `a[1]`, ...) become blocks of one number each.
    pub fn from_parameter_names(names: &[String]) -> Self {
        let split = |name: &str| -> Option<(String, Vec<usize>)> {
            let (block, index) = name.strip_suffix(']')?.rsplit_once('[')?;
            let index = index.split(',').map(|i| i.parse().ok()).collect::<Option<Vec<usize>>>()?;
            Some((block.to_string(), index))
        };
        let mut layout = Self::new();
        let mut first = 0;
        while first < names.len() {
            let array = split(&names[first]).and_then(|(block, _)| {
                let group: Vec<Vec<usize>> = names[first..]
                    .iter()
                    .map_while(|n| split(n).filter(|(b, _)| *b == block))
                    .map(|(_, index)| index)
                    .collect();
                let shape: Vec<usize> = group.last()?.iter().map(|i| i.saturating_add(1)).collect();
                let size = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k))?;
                let candidate = Layout::new().with(&block, &shape);
                let complete = size == group.len()
                    && candidate.parameter_names() == names[first..first + group.len()];
                complete.then_some((block, shape))
            });
            let (block, shape) = array.unwrap_or_else(|| (names[first].clone(), Vec::new()));
            layout = layout.with(&block, &shape);
            first = layout.dim();
        }
        layout
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_come_back_from_their_names() {
        let layout = Layout::new().with("w0", &[2, 3]).with("b0", &[2]).with("eta", &[]);
        assert_eq!(Layout::from_parameter_names(&layout.parameter_names()), layout);
        let odd = ["a[1]", "a[0]", "b[0,0]", "b[0,2]", "c[", "d]", "", "e[18446744073709551615]"];
        let odd = odd.map(String::from);
        assert_eq!(Layout::from_parameter_names(&odd).parameter_names(), odd);
    }
}
