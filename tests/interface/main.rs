//! What users hand in and read: data, limits of arguments, the programs of the READMEs.

#[path = "../shared/said.rs"]
mod said;
#[path = "../shared/stopping.rs"]
mod stopping;

mod data;
mod limits;
mod messages;
mod outputs;
mod readme;
mod rooms;
