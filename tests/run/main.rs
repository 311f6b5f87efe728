//! The loop: threads, stops, checkpoints, recorders, optimisation.

mod checkpoint;
mod checkpoint_damage;
mod checkpoint_faults;
mod checkpoint_killed;
mod checkpoint_races;
mod checkpoint_refused;
mod cut;
mod fit;
mod fit_advice;
mod fit_by_hand;
mod fit_calibrated;
mod fit_conformal;
mod fit_ensemble;
#[cfg(target_os = "linux")]
mod fit_faults;
mod fit_folders;
mod fit_groups;
mod fit_imputed;
mod fit_parts;
mod fit_rates;
mod fit_results;
mod fit_search;
mod fit_survival;
mod fit_tables;
mod fit_transforms;
mod fit_update;
mod fit_weights;
mod fixtures;
mod interrupted;
mod job_arrays;
mod on_file;
mod optimise;
mod portable;
mod ranks;
mod recorders;
mod recorders_files;
mod recorders_killed;
mod recorders_streamed;
mod same_draws;
mod sampler_loop;
mod starts;
#[cfg(target_os = "linux")]
mod threads;
mod zarr;
