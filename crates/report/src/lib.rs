//! Figures and reports of runs of [`bnn_mcmc`].
