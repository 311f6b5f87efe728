//! Named blocks over the flat parameter vector q.

use std::collections::HashSet;
use std::ops::Range;

use serde::Serialize;

use crate::Error;

/// One named block of q: an array of `shape` stored row-major at `range`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The block's name, such as `w0`.
    pub name: String,
    /// The array's shape; empty for a single number.
    pub shape: Vec<usize>,
    /// Where the block lies in q.
    pub range: Range<usize>,
}

impl Block {
    /// Whether `pattern` is this block's name, or its beginning followed by `*`.
    pub fn matches(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(start) => self.name.starts_with(start),
            None => self.name == pattern,
        }
    }
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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

    /// Appends a block. Names should differ: a run and [`Draws::new`](crate::draws::Draws::new)
    /// refuse a layout with two blocks of one name, or with more numbers than fit into memory.
    pub fn with(mut self, name: &str, shape: &[usize]) -> Self {
        let start = self.dim();
        let size = shape.iter().fold(1usize, |n, k| n.saturating_mul(*k));
        self.blocks.push(Block {
            name: name.to_string(),
            shape: shape.to_vec(),
            range: start..start.saturating_add(size),
        });
        self
    }

    /// An error if two blocks have the same name.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        match self.blocks.iter().find(|block| !seen.insert(&block.name)) {
            None => Ok(()),
            Some(block) => {
                let found = format!("`{}` twice", block.name);
                Err(Error::argument("blocks of the layout", found, "a name of its own for each"))
            }
        }
    }

    /// The blocks with their shapes, for messages: `w0[10,4], b0[10]`, or `none`.
    pub(crate) fn described(&self) -> String {
        if self.blocks.is_empty() {
            return "none".into();
        }
        let describe = |b: &Block| match b.shape[..] {
            [] => b.name.clone(),
            _ => format!("{}{:?}", b.name, b.shape).replace(' ', ""),
        };
        self.blocks.iter().map(describe).collect::<Vec<_>>().join(", ")
    }

    /// Appends all blocks of `other`.
    pub fn then(mut self, other: &Layout) -> Self {
        for block in &other.blocks {
            self = self.with(&block.name, &block.shape);
        }
        self
    }

    /// The layout of parameters called `names`. Names that form a complete, ordered array, such as
    /// `a[0]`, `a[1]`, become one block, also if they count from 1, as Stan and R do (the layout's own
    /// names count from 0); others become blocks of one number each.
    pub fn from_parameter_names(names: &[String]) -> Self {
        let split = |name: &str| -> Option<(String, Vec<usize>)> {
            let (block, index) = name.strip_suffix(']')?.rsplit_once('[')?;
            let index = index.split(',').map(|i| i.parse().ok()).collect::<Option<Vec<usize>>>()?;
            Some((block.to_string(), index))
        };
        let mut layout = Self::new();
        let mut first = 0;
        while first < names.len() {
            let Some((block, origin)) = split(&names[first]) else {
                layout = layout.with(&names[first], &[]);
                first += 1;
                continue;
            };
            let group: Vec<Vec<usize>> = names[first..]
                .iter()
                .map_while(|n| split(n).filter(|(b, _)| *b == block))
                .map(|(_, index)| index)
                .collect();
            match array_shape(&origin, &group) {
                Some(shape) => layout = layout.with(&block, &shape),
                None => {
                    for name in &names[first..first + group.len()] {
                        layout = layout.with(name, &[]);
                    }
                }
            }
            first += group.len();
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
                let mut index: Vec<String> =
                    unravel(flat, &block.shape).map(|i| i.to_string()).collect();
                index.reverse();
                names.push(format!("{}[{}]", block.name, index.join(",")));
            }
        }
        names
    }
}

/// The shape of the array whose row-major indices are `indices`, counted from `origin` (all 0 or all
/// 1); `None` if they are no such array.
fn array_shape(origin: &[usize], indices: &[Vec<usize>]) -> Option<Vec<usize>> {
    let base = *origin.first()?;
    if base > 1 || origin.iter().any(|i| *i != base) {
        return None;
    }
    let last = indices.last()?;
    let shape: Vec<usize> =
        last.iter().map(|i| (i + 1).checked_sub(base)).collect::<Option<_>>()?;
    let size = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k))?;
    let is_array = size == indices.len()
        && indices.iter().enumerate().all(|(flat, index)| {
            index.len() == shape.len()
                && unravel(flat, &shape).zip(index.iter().rev()).all(|(i, j)| i + base == *j)
        });
    is_array.then_some(shape)
}

/// The index of the `flat`-th element of a row-major array, last axis first.
fn unravel(flat: usize, shape: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut rest = flat;
    shape.iter().rev().map(move |n| {
        let i = rest % n;
        rest /= n;
        i
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_come_back_from_their_names() {
        let layout = Layout::new().with("w0", &[2, 3]).with("b0", &[2]).with("eta", &[]);
        assert_eq!(Layout::from_parameter_names(&layout.parameter_names()), layout);
        let from_one = ["theta[1]", "theta[2]", "m[1,1]", "m[1,2]", "m[2,1]", "m[2,2]"];
        let layout = Layout::from_parameter_names(&from_one.map(String::from));
        assert_eq!(layout, Layout::new().with("theta", &[2]).with("m", &[2, 2]));
        let odd = ["a[1]", "a[0]", "b[0,0]", "b[0,2]", "c[", "d]", "", "e[18446744073709551615]"];
        let odd = odd.map(String::from);
        assert_eq!(Layout::from_parameter_names(&odd).parameter_names(), odd);
    }
}
