//! Densities, gradients, Hessians and models against formulas and numbers from elsewhere.

mod collapsed;
mod composed;
mod conjugate_reference;
mod gradients;
mod langevin_1d;
mod likelihoods;
mod model;
mod numpyro_reference;
mod reference_problems;
mod second_derivatives;
mod surrogates;
