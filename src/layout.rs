//! Named blocks over the flat parameter vector q.

use std::collections::{HashMap, HashSet};
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
    /// The place of the block in q.
    pub range: Range<usize>,
    /// The number that the indices in the parameters' names count from: 0, or 1 as in files of Stan
    /// and R.
    pub first: usize,
}

impl Block {
    /// Whether `pattern` is this block's name, or its beginning followed by `*`.
    pub fn matches(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(start) => self.name.starts_with(start),
            None => self.name == pattern,
        }
    }

    /// One name for each number of the block.
    fn parameter_names(&self) -> impl Iterator<Item = String> + '_ {
        self.range.clone().map(|at| {
            if self.shape.is_empty() {
                return self.name.clone();
            }
            let mut index: Vec<String> = unravel(at - self.range.start, &self.shape)
                .map(|i| (i + self.first).to_string())
                .collect();
            index.reverse();
            format!("{}[{}]", self.name, index.join(","))
        })
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
    /// refuse a layout with two blocks or two parameters of one name, or with more numbers than fit
    /// into memory.
    pub fn with(self, name: &str, shape: &[usize]) -> Self {
        let range = 0..shape.iter().fold(1usize, |n, k| n.saturating_mul(*k));
        self.with_block(&Block { name: name.into(), shape: shape.into(), range, first: 0 })
    }

    /// A layout of arrays with names, shapes, and the first values of their indices; `None` if they
    /// have more numbers than fit into memory.
    pub(crate) fn from_arrays<'a>(
        arrays: impl Iterator<Item = (&'a str, &'a [usize], usize)>,
    ) -> Option<Self> {
        let mut layout = Self::new();
        for (name, shape, first) in arrays {
            let size = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k))?;
            let dim = layout.dim().checked_add(size)?;
            if dim > isize::MAX as usize / 16 {
                return None;
            }
            let range = 0..size;
            let block = Block { name: name.into(), shape: shape.into(), range, first };
            layout = layout.with_block(&block);
        }
        Some(layout)
    }

    /// Appends a block of another layout.
    pub(crate) fn with_block(mut self, block: &Block) -> Self {
        let start = self.dim();
        let range = start..start.saturating_add(block.range.len());
        self.blocks.push(Block { range, ..block.clone() });
        self
    }

    /// An error if two blocks, or two parameters, have the same name.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        let twice = |what, name: &str| {
            let found = format!("`{name}` twice");
            Err(Error::argument(what, found, "a name of its own for each"))
        };
        let mut names = HashSet::new();
        if let Some(block) = self.blocks.iter().find(|block| !names.insert(&block.name)) {
            return twice("blocks of the layout", &block.name);
        }
        // Only a block of one number can have the name of a part of another block.
        let singles = || self.blocks.iter().filter(|block| block.shape.is_empty());
        let arrays: HashSet<_> = singles().filter_map(|block| array_of(&block.name)).collect();
        let suspects =
            self.blocks.iter().filter(|b| !b.shape.is_empty() && arrays.contains(&b.name[..]));
        match suspects.flat_map(Block::parameter_names).find(|name| names.contains(name)) {
            Some(name) => twice("parameters of the layout", &name),
            None => Ok(()),
        }
    }

    /// Whether both have the same arrays in the same order, whatever their indices count from.
    pub(crate) fn has_arrays_of(&self, other: &Layout) -> bool {
        let arrays = |layout: &Layout| -> Vec<Block> {
            layout.blocks.iter().map(|block| Block { first: 0, ..block.clone() }).collect()
        };
        arrays(self) == arrays(other)
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
            self = self.with_block(block);
        }
        self
    }

    /// The layout of parameters called `names`, whose [`parameter_names`](Self::parameter_names) are
    /// `names` again. Names that stand together and form a complete, ordered array, such as `a[0]`,
    /// `a[1]`, become one block, also if they count from 1, as Stan and R do. All other names become
    /// blocks of one number each.
    pub fn from_parameter_names(names: &[String]) -> Self {
        let mut uses: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        for name in names {
            *uses.entry(name).or_default() += 1;
            if let Some(array) = array_of(name) {
                *uses.entry(array).or_default() += 1;
            }
        }
        let mut layout = Self::new();
        let mut rest = names;
        while let Some(name) = rest.first() {
            let array = array_of(name).unwrap_or(name);
            let run = rest.iter().take_while(|name| array_of(name) == Some(array)).count();
            let (parts, others) = rest.split_at(run.max(1));
            // No part may stand elsewhere, and no other parameter may have the array's name.
            match whole_array(array, parts).filter(|_| uses[array] == run) {
                Some(block) => layout = layout.with_block(&block),
                None => layout = parts.iter().fold(layout, |layout, name| layout.with(name, &[])),
            }
            rest = others;
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

    /// The place of block `name` in q.
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        self.blocks.iter().find(|b| b.name == name).map(|b| b.range.clone())
    }

    /// The place of block `name` in q, or an error that lists the existing names.
    pub fn try_range(&self, name: &str) -> Result<Range<usize>, Error> {
        self.range(name).ok_or_else(|| Error::UnknownName {
            what: "parameter block".into(),
            name: name.into(),
            known: self.block_names(),
        })
    }

    /// One name for each coordinate of q: `w0[1,2]`, `b0[0]`, or `log_noise_variance`.
    pub fn parameter_names(&self) -> Vec<String> {
        self.blocks.iter().flat_map(Block::parameter_names).collect()
    }
}

/// The array that a parameter's name speaks of: `a` of `a[0,1]`.
fn array_of(name: &str) -> Option<&str> {
    name.strip_suffix(']')?.rsplit_once('[').map(|(array, _)| array)
}

/// The array whose parts in row-major order are called `names`, if they are all of it.
fn whole_array(array: &str, names: &[String]) -> Option<Block> {
    let index = |name: &String| -> Option<Vec<usize>> {
        let index = name.strip_prefix(array)?.strip_prefix('[')?.strip_suffix(']')?;
        index.split(',').map(|i| i.parse().ok()).collect()
    };
    let first = index(names.first()?)?.into_iter().next().filter(|first| *first <= 1)?;
    let last = index(names.last()?)?;
    let shape: Vec<usize> =
        last.iter().map(|i| i.checked_add(1)?.checked_sub(first)).collect::<Option<_>>()?;
    let size = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k))?;
    let block = Block { name: array.into(), shape, range: 0..size, first };
    (size == names.len() && block.parameter_names().eq(names.iter().cloned())).then_some(block)
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
        assert!(layout.has_arrays_of(&Layout::new().with("theta", &[2]).with("m", &[2, 2])));
        assert_eq!(layout.parameter_names(), from_one);
        let odd = ["a[1]", "a[0]", "b[0,0]", "b[0,2]", "c[", "d]", "", "e[18446744073709551615]"];
        let odd = odd.map(String::from);
        assert_eq!(Layout::from_parameter_names(&odd).parameter_names(), odd);
    }
}
