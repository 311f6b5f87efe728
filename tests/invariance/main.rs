//! Every kernel leaves its target unchanged, and sabotaged copies do not.

mod blocks;
mod by_hand;
mod collapsed;
mod composed;
mod composition;
mod fixtures;
mod hamiltonian;
mod kernels;
mod langevin;
mod langevin_gradient;
mod likelihoods;
mod mclmc;
mod microcanonical;
mod minibatch;
mod power_posteriors;
mod smmala;
mod surrogates;
mod truncated;
