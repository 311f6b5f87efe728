//! The loop: threads, stops, checkpoints, recorders, optimisation.

mod checkpoint;
mod checkpoint_faults;
mod fit;
mod fit_results;
mod interrupted;
mod job_arrays;
mod optimise;
mod portable;
mod recorders;
mod sampler_loop;
mod stopping;
mod zarr;
