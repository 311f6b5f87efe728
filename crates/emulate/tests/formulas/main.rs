//! Emulators: gradients, what they learn, what is refused, and that kernels on bad fits stay exact.

mod emulators;
mod invariance;
