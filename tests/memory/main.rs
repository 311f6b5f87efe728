//! Memory: what is allocated, what a run takes, what hostile files take, and the limit.

mod allocator;
mod fuzz;
mod inputs;
mod limit;
mod models;
mod round_trips;
mod runs;
mod steps;
