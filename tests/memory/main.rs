//! Memory: what is allocated, what a run takes, what hostile files take, and the limit.

mod allocator;
mod inputs;
mod limit;
mod models;
mod runs;
mod steps;
