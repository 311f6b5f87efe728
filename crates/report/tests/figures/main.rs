//! The figures: their numbers against other sources, and what is drawn of them.

mod common;
mod parameters;
