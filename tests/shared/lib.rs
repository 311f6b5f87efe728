//! What the tests of all packages share: the words of messages, targets that end their run, waiting for other processes.

pub mod said;
pub mod stopping;
pub mod wait;
