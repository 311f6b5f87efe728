//! The loop: threads, stops, checkpoints, recorders, optimisation.

mod checkpoint;
mod checkpoint_faults;
mod cut;
mod fit;
mod fit_by_hand;
#[cfg(target_os = "linux")]
mod fit_faults;
mod fit_parts;
mod fit_results;
mod interrupted;
mod job_arrays;
mod optimise;
mod portable;
mod recorders;
mod sampler_loop;
mod stopping;
#[cfg(target_os = "linux")]
mod threads;
mod zarr;
