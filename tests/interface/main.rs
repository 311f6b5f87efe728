//! What users hand in and read: data, limits of arguments, the programs of the READMEs.

mod data;
mod limits;
mod messages;
mod outputs;
mod readme;
mod rooms;
