//! Densities, gradients, Hessians and models against formulas and numbers from elsewhere.

mod censored;
mod collapsed;
mod composed;
mod conjugate_reference;
mod conjugate_refused;
mod fixtures;
mod forces;
mod gradients;
mod groups;
mod langevin_1d;
mod likelihoods;
mod model;
mod numpyro_reference;
mod predictions;
mod priors;
mod reference_problems;
mod second_derivatives;
mod surrogates;
mod textbook;
mod transforms;
mod weights;
