//! The diagnostics of a run's draws: summaries, E-BFMI, the verdict.

use ndarray::ArrayView1;

use super::{InUse, Judge, PowerScaling, Summary, SummaryRow, Trajectories, Verdict, ebfmi};
use crate::Error;
use crate::draws::Draws;

impl Draws {
    /// Mean, quantiles, effective sample sizes and R-hat of every parameter.
    ///
    /// Weights of a network can be permuted without changing its function: read a large R-hat here
    /// beside the R-hat of [predictions](crate::predict), which is the one that counts.
    /// [`verdict`](Self::verdict) puts the table into a sentence.
    ///
    /// # Errors
    /// If the draws hold no parameters.
    pub fn summary(&self) -> Result<Summary, Error> {
        self.check_any_parameter()?;
        Summary::new(&self.layout().parameter_names(), self.values())
    }

    /// The [`summary`](Self::summary) of the log likelihood and the log prior. The verdict on a
    /// network looks at these and at
    /// [`Predictions::summary`](crate::predict::Predictions::summary).
    ///
    /// # Errors
    /// Draws from elsewhere, which have no statistics.
    pub fn density_summary(&self) -> Result<Summary, Error> {
        let row = |name: &str| Ok(SummaryRow::new(name, self.stat(name)?));
        Ok(Summary { rows: vec![row("log_likelihood")?, row("log_prior")?] })
    }

    /// The weights by which the [sensitivity](PowerScaling) of quantities to prior and likelihood is found.
    ///
    /// # Errors
    /// Draws from elsewhere, which have no statistics; fewer than 25 draws.
    pub fn power_scaling(&self) -> Result<PowerScaling, Error> {
        PowerScaling::new(self.stat("log_prior")?, self.stat("log_likelihood")?)
    }

    /// The verdict on the run by its parameters, log likelihood, log prior, divergences and
    /// trajectories: for a target of your own, and for models whose parameters mean something.
    ///
    /// **Weights of a network have no such meaning**: hidden units can be permuted, chains in
    /// different copies of one mode disagree in all weights and in no prediction, and this verdict
    /// says 'not converged'. [`Predictions::verdict`](crate::predict::Predictions::verdict), which
    /// looks at predictions instead of weights, is the one that counts for networks.
    ///
    /// Unlike a network's verdict, this one never advises a wider network or integrating the output
    /// layer out, since it does not know the model that the parameters belong to.
    ///
    /// A run that [kept](crate::draws::Keep) no parameters is never called converged: chains in
    /// modes of equal density agree in the log likelihood and the log prior. Where a run kept some
    /// parameters, the verdict is on these and says how many it did not see. Draws from elsewhere
    /// are judged by their parameters alone.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        let draws = (self.n_chains() * self.n_draws()) as u64;
        let transitions = draws.saturating_mul(self.info().thin as u64);
        let parameters = self.info().parameters.max(self.layout().dim());
        let mut judge = Judge::new().parameters(self.values(), parameters);
        if let Ok(draws) = self.stat("log_likelihood") {
            judge = judge.log_likelihood(draws);
        }
        if let Ok(draws) = self.stat("log_prior") {
            judge = judge.quantity("log prior", draws);
        }
        judge
            .divergences(self.divergences(), transitions)
            .trajectories(self.trajectories())
            .in_use(InUse { algorithm: self.info().algorithm.clone(), ..InUse::default() })
            .unadjusted(self.unadjusted())
            .approximation(self.info().approximation.clone())
            .panic(self.info().panic.clone())
            .judge()
    }

    /// The statistics of the trajectories of Hamiltonian Monte Carlo, and of steps on a surrogate,
    /// for a [`Judge`]; empty for other samplers and for draws from elsewhere. Steps [without a
    /// Metropolis test](Self::unadjusted) make no trajectories: neither their number nor their path
    /// length counts.
    pub fn trajectories(&self) -> Trajectories {
        let at_max_depth = self.at_max_depth();
        let is_tuned = self.chain_means("path_length").is_some();
        let has_test = self.unadjusted().is_none(); //~ has-a-test
        let find_their_length = has_test && (is_tuned || at_max_depth.is_some());
        let leapfrog_steps = self.chain_means("leapfrog_steps").filter(|_| has_test);
        // Rejections of a kernel within another kernel mean something else.
        let is_fixed = has_test && self.stat("leapfrog_steps").is_ok() && at_max_depth.is_none();
        let accept_prob = leapfrog_steps.as_ref().and_then(|_| self.chain_means("accept_prob"));
        Trajectories {
            at_max_depth: at_max_depth.unwrap_or_default(),
            ebfmi: self.ebfmi().unwrap_or_default(),
            leapfrog_steps: leapfrog_steps.unwrap_or_default(),
            accept_prob: accept_prob.unwrap_or_default(),
            longest_still: if is_fixed { self.longest_still() } else { Vec::new() },
            find_their_length,
            second_stage_accept: self.second_stage_accept().unwrap_or_default(),
        }
    }

    /// The most transitions in a row that each chain has rejected; nothing of thinned draws, which lack the
    /// transitions in between.
    fn longest_still(&self) -> Vec<usize> {
        let accepted = self.stat("accepted").ok().filter(|_| self.info().thin == 1);
        let Some(accepted) = accepted else { return Vec::new() };
        let longest = |chain: ArrayView1<f64>| {
            let (mut longest, mut now) = (0, 0);
            for accepted in chain {
                now = if *accepted == 0.0 { now + 1 } else { 0 };
                longest = longest.max(now); //~ longest-rejections
            }
            longest
        };
        accepted.rows().into_iter().map(longest).collect()
    }

    /// The mean over the draws of each chain at which the target was asked.
    fn second_stage_accept(&self) -> Option<Vec<f64>> {
        // Composite kernels put a prefix before the names of their parts' statistics.
        let is_wanted = |name: &&String| name.rsplit('.').next() == Some("second_stage_accept");
        let accepted = self.stat(self.stat_names().iter().find(is_wanted)?).ok()?;
        let asked = |chain: ArrayView1<f64>| {
            let asked: Vec<f64> = chain.iter().copied().filter(|p| !p.is_nan()).collect();
            asked.iter().sum::<f64>() / asked.len() as f64 //~ second-stage-asked
        };
        Some(accepted.outer_iter().map(asked).collect())
    }

    /// The energy Bayesian fraction of missing information of each chain of HMC or NUTS; see
    /// [`diagnostics::ebfmi`](ebfmi()).
    ///
    /// `None` for thinned draws, whose energies are too far apart, and where another kernel moves
    /// the chain between two trajectories, as in a [`Cycle`](crate::sampler::Cycle).
    pub fn ebfmi(&self) -> Option<Vec<f64>> {
        let energy = self.stat("energy").ok().filter(|_| self.info().thin == 1);
        energy.map(ebfmi)
    }
}
