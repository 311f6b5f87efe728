//! A sampler of your own: configuration, transition, and the test that it is right.
//!
//!     cargo run --release --example own_sampler
//!     cargo run --release --example own_sampler -- --quick
//!
//! The sampler is the Barker proposal (Livingstone and Zanella, JRSS B 84, 2022,
//! doi:10.1111/rssb.12482): each coordinate proposes noise z ~ N(0, eps^2), and takes it as +z with
//! probability 1 / (1 + e^(-z g)), where g is the coordinate's gradient, else as -z. For w the step
//! that was taken,
//!
//!     log ratio = log pi(q') - log pi(q) + sum_i [log(1 + e^(-w_i g_i(q))) - log(1 + e^(w_i g_i(q')))]

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, metropolis_test};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::{GaussianTarget, Invariance};
use serde::{Deserialize, Serialize};

/// The configuration: plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Barker {
    step_size: f64,
    /// Leaves out the correction for the proposal, to show that the test notices.
    sabotage: bool,
}

/// The transition: everything that a step needs is allocated once.
struct BarkerKernel {
    config: Barker,
    proposal: Point,
    taken: Vec<f64>,
}

impl<T: GradTarget> Algorithm<T> for Barker {
    type Kernel = BarkerKernel;

    fn name(&self) -> String {
        "Barker".into()
    }

    fn kernel(&self, target: &T, _: &ChainRng) -> Result<BarkerKernel, Error> {
        if !(self.step_size > 0.0 && self.step_size.is_finite()) {
            return Err(Error::argument("step_size", self.step_size, "a finite number above 0"));
        }
        let dim = target.dim();
        Ok(BarkerKernel { config: self.clone(), proposal: Point::new(dim), taken: vec![0.0; dim] })
    }
}

impl<T: GradTarget> Kernel<T> for BarkerKernel {
    /// Nothing is adapted, so there is nothing to store.
    type State = ();

    fn state(&self) {}

    fn restore(&mut self, (): ()) {}

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let old = current.eval_grad(target, ws).total();
        for (taken, gradient) in self.taken.iter_mut().zip(current.grad()) {
            let z = self.config.step_size * rng.normal();
            let plus = rng.uniform() < 1.0 / (1.0 + (-z * gradient).exp());
            *taken = if plus { z } else { -z };
        }
        self.proposal.set(|q| {
            for ((new, old), taken) in q.iter_mut().zip(current.q()).zip(&self.taken) {
                *new = old + taken;
            }
        });
        let new = self.proposal.eval_grad(target, ws).total();
        let mut log_ratio = new - old;
        if !self.config.sabotage {
            let gradients = current.grad().iter().zip(self.proposal.grad());
            // log(1 + e^x), without overflow.
            let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
            for (w, (here, there)) in self.taken.iter().zip(gradients) {
                log_ratio += softplus(-w * here) - softplus(w * there);
            }
        }
        metropolis_test(current, &mut self.proposal, log_ratio, 1, rng)
    }
}

fn main() {
    let mut is_quick = false;
    for argument in std::env::args().skip(1) {
        if argument != "--quick" {
            eprintln!("error: unknown argument `{argument}`; the only one is `--quick`");
            std::process::exit(2);
        }
        is_quick = true;
    }
    if let Err(error) = run(is_quick) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(is_quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0])?;

    for sabotage in [false, true] {
        let barker = Barker { step_size: 1.5, sabotage };
        let report = Invariance::default().run(&target, &barker, |rng, q| target.draw(rng, q))?;
        println!("{}: {report}", if sabotage { "sabotaged" } else { "Barker" });
        if report.passes() == sabotage {
            return Err("the invariance test gave the wrong answer".into());
        }
    }

    let draws = Sampler::new(&target, Barker { step_size: 1.5, sabotage: false })
        .draws(if is_quick { 2_000 } else { 20_000 })
        .seed(1)
        .run()?;
    println!("{}", draws.summary()?);
    Ok(())
}
