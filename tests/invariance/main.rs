//! Every kernel leaves its target unchanged, and sabotaged copies do not.

mod blocks;
mod by_hand;
mod collapsed;
mod composed;
mod composition;
mod fixtures;
mod forces;
mod hamiltonian;
mod hamiltonian_warmup;
mod joint;
mod kernels;
mod langevin;
mod langevin_gradient;
mod likelihoods;
mod mclmc;
mod microcanonical;
mod minibatch;
mod nuts;
mod power_posteriors;
mod power_posteriors_runs;
mod row_weights;
mod smmala;
mod surrogates;
mod truncated;
