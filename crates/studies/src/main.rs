//! Studies, and tables and figures of papers, each a sub-command:
//!
//!     cargo run --release -p bnn-mcmc-studies -- converge --quick
//!     cargo run --release -p bnn-mcmc-studies -- help
//!
//! A study is a file of its name with `pub struct Args` and `pub fn run(args: Args)`, a `mod` line and a row of the table
//! below. `README.md` shows what they print.

mod abalone;
mod acceptance;
mod binomial;
mod challenges;
mod converge;
mod diagnose;
mod dissertation;
mod ensemble;
mod evidence;
mod fbnn;
mod fbnn_figures;
mod gallery;
mod gap_1d;
mod harmonic;
mod hidden_states;
mod ionosphere;
mod iris;
mod iris_geometry;
mod langevin_1d;
mod lecture_notes;
mod linear_toy;
mod many_rows;
mod mixture25;
mod mixture25_sghmc;
mod ones_and_sevens;
mod rivals;
mod rows_in_a_file;
mod samplers;
mod sgmcmc_bias;
mod shared;
mod sunspot;
mod tutorial;
mod tutorial_tables;
mod xor;

use clap::{Parser, Subcommand};
use shared::AnyError;

/// Makes the sub-commands of a table: a name, which is that of a module, and a line of help.
macro_rules! studies {
    ($($name:ident: $help:literal,)*) => {
        #[derive(Subcommand)]
        #[command(rename_all = "verbatim")]
        #[allow(non_camel_case_types)]
        enum Study {
            $(#[command(about = $help)] $name($name::Args),)*
        }

        impl Study {
            fn run(self) -> Result<(), AnyError> {
                match self {
                    $(Self::$name(args) => $name::run(args),)*
                }
            }
        }
    };
}

studies! {
    // A linear model beside a small network, by any sampler.
    iris: "Classifies iris flowers by a linear model and a neural network, both Bayesian",
    abalone: "Counts the rings of abalone by a linear model and a neural network, both Bayesian",
    ionosphere: "Classifies radar returns by a linear model and a neural network, both Bayesian",
    sunspot: "Forecasts sunspots by a linear model and a neural network, both Bayesian",
    samplers: "What an effective draw costs, by problem and sampler",
    tutorial_tables: "The tutorial's tables 1 and 2 and figure 10, beside this crate's",
    // Against what is known exactly.
    linear_toy: "Samples a linear regression and compares with its exact posterior",
    binomial: "Samples a binomial proportion and compares with the exact beta posterior",
    harmonic: "Compares simulated and exact stationary variances of Langevin integrators",
    langevin_1d: "Computes the bias of Langevin integrators from their transition operators",
    sgmcmc_bias: "The bias of SGLD, SGHMC and minibatch BAOAB against a long exact run",
    // Networks and how they converge.
    acceptance: "Effective draws of networks by the acceptance that samplers aim at",
    converge: "Fits a network to one data set by one method, and measures convergence",
    ensemble: "Fits an ensemble to a table, and measures what it predicts",
    evidence: "Log evidence of networks of growing width on the iris data",
    xor: "Samples MLP(2, 2, 1) on exclusive or, and shows what diagnostics miss",
    iris_geometry: "Samples MLP(4, 3, 3) on the iris data by every sampler, and compares them",
    mixture25: "Samples 25 well separated modes by four algorithms at equal cost",
    mixture25_sghmc: "Counts what SGHMC and pCN find of a mixture of 25 normals",
    ones_and_sevens: "Uncertainty of ones and sevens by SGD and by Langevin dynamics",
    // Instead of sampling, and many rows.
    rivals: "Methods that are used instead of MCMC, beside the exact posterior",
    gap_1d: "The uncertainty of each method in a gap of the inputs, beside the exact one",
    fbnn: "Emulators in the place of a network's likelihood, beside the exact posterior",
    many_rows: "Methods for many rows, beside the posterior by gradients of all rows",
    rows_in_a_file: "Fits a network to rows in a file that is larger than what is kept in memory",
    // Densities and draws of one's own.
    hidden_states: "A hidden Markov model as a density of your own: constraints, and a gradient by dual numbers",
    diagnose: "Summarises and judges draws from a CSV file, of this crate or any other",
    // Figures of what other studies wrote, and of the gallery.
    tutorial: "Draws the figures of Chandra and Simmons' tutorial from what the studies wrote",
    lecture_notes: "Draws the figures for Dong's lecture notes from what the studies wrote",
    fbnn_figures: "Draws the figures of Moslemi and others' FBNN paper from what the studies wrote",
    challenges: "Draws the figures of Papamarkou and others' Challenges paper from what the studies wrote",
    dissertation: "Draws the figures of Lu's dissertation from what the studies wrote",
    gallery: "Draws or checks the figures of examples/gallery",
}

#[derive(Parser)]
#[command(name = "studies", about = "Studies, and tables and figures of papers, by bnn-mcmc")]
struct Args {
    #[command(subcommand)]
    study: Study,
}

fn main() {
    if let Err(error) = Args::parse().study.run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
