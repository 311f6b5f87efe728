//! The table of mutants. A row says what is wrong, where, how, and which test must fail.

/// One mistake.
pub struct Mutant {
    /// What is wrong, in words; unique.
    pub name: &'static str,
    /// The source file.
    pub file: &'static str,
    /// Texts that each occur exactly once in the file, with what they become: expressions of one type,
    /// which stay right if they are put in parentheses. Several mutants may share a text.
    pub edits: &'static [(&'static str, &'static str)],
    /// The test binary: the name of a folder in `tests`, or `lib` for the unit tests; of a member of the workspace
    /// after its name and a colon, as `report:figures` and `cli:command`.
    pub binary: &'static str,
    /// The test that must fail, with its path within the binary.
    pub test: &'static str,
}

const fn mutant(
    name: &'static str,
    file: &'static str,
    edits: &'static [(&'static str, &'static str)],
    (binary, test): (&'static str, &'static str),
) -> Mutant {
    Mutant { name, file, edits, binary, test }
}

pub const MUTANTS: &[Mutant] = &[
    // Simulated tables.
    mutant(
        "simulated regression: noise with the variance for the sd",
        "src/data/simulate/regression.rs",
        &[("self.noise_sd * noise.normal()", "self.noise_sd.sqrt() * noise.normal()")],
        (
            "lib",
            "data::simulate::regression::tests::least_squares_recover_the_truth_within_their_errors",
        ),
    ),
    mutant(
        "simulated regression: no intercept",
        "src/data/simulate/regression.rs",
        &[("self.intercept + line", "line")],
        (
            "lib",
            "data::simulate::regression::tests::least_squares_recover_the_truth_within_their_errors",
        ),
    ),
    mutant(
        "simulated regression: all features informative",
        "src/data/simulate/regression.rs",
        &[("w.iter_mut().take(self.informative)", "w.iter_mut().take(self.features)")],
        (
            "lib",
            "data::simulate::regression::tests::without_noise_the_response_is_the_line_of_the_informative_features",
        ),
    ),
    mutant(
        "simulated clusters: a hypercube of half the side",
        "src/data/simulate/clusters.rs",
        &[(
            "if up { separation } else { -separation }",
            "if up { separation / 2.0 } else { -separation / 2.0 }",
        )],
        ("lib", "data::simulate::clusters::tests::centres_are_different_vertices_of_the_hypercube"),
    ),
    mutant(
        "simulated clusters: vertices with replacement",
        "src/data/simulate/clusters.rs",
        &[("vertices.insert(vertex.clone())", "vertices.insert(vertex.clone()) || true")],
        ("lib", "data::simulate::clusters::tests::centres_are_different_vertices_of_the_hypercube"),
    ),
    mutant(
        "simulated clusters: matrices of positive entries",
        "src/data/simulate/clusters.rs",
        &[("2.0 * rng.uniform() - 1.0", "rng.uniform()")],
        (
            "lib",
            "data::simulate::clusters::tests::matrices_have_entries_uniform_on_both_sides_of_zero",
        ),
    ),
    mutant(
        "simulated clusters: transposed mixing",
        "src/data/simulate/clusters.rs",
        &[(
            "self.mixing.index_axis(Axis(0), k)",
            "self.mixing.index_axis(Axis(0), k).reversed_axes()",
        )],
        (
            "lib",
            "data::simulate::classification::tests::rows_of_a_cluster_have_its_mean_and_covariance",
        ),
    ),
    mutant(
        "simulated clusters: redundant features of the normals before mixing",
        "src/data/simulate/clusters.rs",
        &[("add_product(u, self.redundant.view(), v)", "add_product(z, self.redundant.view(), v)")],
        (
            "lib",
            "data::simulate::classification::tests::redundant_columns_are_exact_combinations_of_the_informative",
        ),
    ),
    mutant(
        "simulated classes: flipped to the next class",
        "src/data/simulate/classification.rs",
        &[(
            "noise.random_range(0..self.classes)",
            "(*class + noise.random_range(0..2)) % self.classes",
        )],
        (
            "lib",
            "data::simulate::classification::tests::a_flipped_share_of_rows_has_a_class_of_all",
        ),
    ),
    mutant(
        "simulated classes: equal shares",
        "src/data/simulate/classification.rs",
        &[(
            "self.shares.as_ref().map_or(1.0 / self.classes as f64, |s| s[class])",
            "1.0 / self.classes as f64",
        )],
        (
            "lib",
            "data::simulate::classification::tests::classes_and_clusters_have_their_shares_in_random_order",
        ),
    ),
    mutant(
        "simulated classes: rows in the order of their clusters",
        "src/data/simulate/classification.rs",
        &[("class.shuffle(&mut stream(seed, Stream::Order))", "()")],
        (
            "lib",
            "data::simulate::classification::tests::classes_and_clusters_have_their_shares_in_random_order",
        ),
    ),
    // Priors.
    mutant(
        "normal prior: normaliser with the variance for the sd",
        "src/prior/normal.rs",
        &[(
            "-0.5 * ln(std::f64::consts::TAU) - ln(sd)",
            "-0.5 * ln(std::f64::consts::TAU) - 2.0 * ln(sd)",
        )],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "Laplace prior: normaliser without its 2",
        "src/prior/laplace.rs",
        &[("ln(2.0 * self.scale)", "ln(self.scale)")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "Student-t prior: normaliser without the degrees of freedom",
        "src/prior/student_t.rs",
        &[("ln(std::f64::consts::PI * nu)", "ln(std::f64::consts::PI)")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "Student-t prior: gradient of another power",
        "src/prior/student_t.rs",
        &[("(nu + 1.0) * t / (self.scale * (nu + t * t))", "nu * t / (self.scale * (nu + t * t))")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "uniform prior: not normalised",
        "src/prior/uniform.rs",
        &[("-ln(upper - lower)", "0.0")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "log inverse gamma: not normalised",
        "src/prior/log_inverse_gamma.rs",
        &[("shape * ln(scale) - ln_gamma(shape)", "shape * ln(scale)")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "log inverse gamma: no Jacobian, seen by draws of a regression",
        "src/prior/log_inverse_gamma.rs",
        &[(
            "(self.constant - self.shape * x - tail, tail - self.shape)",
            "(self.constant - (self.shape + 1.0) * x - tail, tail - self.shape - 1.0)",
        )],
        ("invariance", "kernels::the_posterior_of_a_regression"),
    ),
    mutant(
        "log inverse gamma: no Jacobian, seen by the density",
        "src/prior/log_inverse_gamma.rs",
        &[(
            "(self.constant - self.shape * x - tail, tail - self.shape)",
            "(self.constant - (self.shape + 1.0) * x - tail, tail - self.shape - 1.0)",
        )],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "log inverse gamma: draws of another shape",
        "src/prior/log_inverse_gamma.rs",
        &[("log_uniform / self.shape", "log_uniform / (self.shape + 1.0)")],
        ("formulas", "gradients::priors_are_normalised_and_draw_from_themselves"),
    ),
    mutant(
        "hierarchical prior: no normaliser, in value and gradient",
        "src/prior/hierarchical.rs",
        &[
            ("ln(std::f64::consts::TAU) + s", "ln(std::f64::consts::TAU)"),
            ("0.5 * (precision * squares - len as f64)", "0.5 * precision * squares"),
        ],
        ("formulas", "gradients::a_hierarchical_prior_has_the_density_of_its_factors"),
    ),
    mutant(
        "log half-Cauchy: a Laplace tail throughout",
        "src/prior/log_half_cauchy.rs",
        &[("z + ln_1p(exp(-2.0 * z))", "z")],
        ("formulas", "gradients::priors_have_the_densities_of_statrs"),
    ),
    mutant(
        "log half-Cauchy: half of a Cauchy's standard deviation drawn",
        "src/prior/log_half_cauchy.rs",
        &[("2.0 * (ln(a) - ln(b))", "ln(a) - ln(b)")],
        ("formulas", "gradients::priors_are_normalised_and_draw_from_themselves"),
    ),
    mutant(
        "ARD: columns taken from the wrong scale, by kernels that draw from the prior",
        "src/prior/block_prior.rs",
        &[("(coordinate - self.range.start) % log_variances.len()", "0 * coordinate")],
        ("formulas", "gradients::priors_with_scales_of_inputs_have_the_density_of_their_factors"),
    ),
    mutant(
        "horseshoe: no derivative by the common scale",
        "src/prior/block_prior.rs",
        &[("grad[*log_scale] -= prior.slope(x)", "grad[*log_scale] -= 0.0 * prior.slope(x)")],
        ("formulas", "gradients::priors_with_scales_of_inputs_have_the_density_of_their_factors"),
    ),
    mutant(
        "priors: those of all weights also for the noise",
        "src/prior/blocks.rs",
        &[("!(is_own(block) && pattern == \"*\")", "(is_own(block) || !is_own(block))")],
        (
            "lib",
            "prior::blocks::tests::misspelt_uncovered_and_doubly_covered_blocks_are_refused_with_the_names",
        ),
    ),
    // Likelihoods.
    mutant(
        "Gaussian: several columns normalised as one, in values",
        "src/likelihood/gaussian.rs",
        &[(
            "-0.5 * out.columns() as f64 * (ln(std::f64::consts::TAU) + eta)",
            "-0.5 * (ln(std::f64::consts::TAU) + eta)",
        )],
        ("formulas", "gradients::a_gaussian_likelihood_is_a_product_over_rows_and_columns"),
    ),
    mutant(
        "Gaussian: several columns normalised as one, with gradients",
        "src/likelihood/gaussian.rs",
        &[("(out.rows() * out.columns()) as f64", "out.rows() as f64")],
        ("formulas", "gradients::a_gaussian_likelihood_is_a_product_over_rows_and_columns"),
    ),
    mutant(
        "Gaussian: no normaliser in the derivative by the noise",
        "src/likelihood/gaussian.rs",
        &[("0.5 * (precision * sse - n)", "0.5 * precision * sse")],
        ("formulas", "gradients::linear_models_under_every_likelihood_and_prior"),
    ),
    mutant(
        "Gaussian: noise drawn with tau^2 for tau",
        "src/likelihood/gaussian.rs",
        &[("exp(0.5 * self.log_variance(phi))", "exp(self.log_variance(phi))")],
        ("inference", "predict::real_responses_have_the_noise_sd_tau_not_its_square"),
    ),
    mutant(
        "Bernoulli: gradient with its sign turned",
        "src/likelihood/bernoulli.rs",
        &[("y - *d", "*d - y")],
        ("formulas", "gradients::likelihoods_are_their_textbook_formulas"),
    ),
    mutant(
        "categorical: gradient without the softmax's normaliser",
        "src/likelihood/categorical.rs",
        &[("*d * inverse", "*d * inverse * inverse")],
        ("formulas", "gradients::likelihoods_are_their_textbook_formulas"),
    ),
    mutant(
        "binomial: no coefficient",
        "src/likelihood/binomial.rs",
        &[("ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)", "0.0")],
        ("formulas", "gradients::likelihoods_are_their_textbook_formulas"),
    ),
    mutant(
        "binomial: gradient of one trial",
        "src/likelihood/binomial.rs",
        &[("k[i] - n[i] * *d", "k[i] - *d")],
        ("formulas", "gradients::likelihoods_are_their_textbook_formulas"),
    ),
    mutant(
        "multinomial: coefficient without n!",
        "src/likelihood/multinomial.rs",
        &[("ln_factorial(y[k])", "0.0")],
        ("formulas", "gradients::likelihoods_are_their_textbook_formulas"),
    ),
    mutant(
        "heteroscedastic: no normaliser in the derivative by s",
        "src/likelihood/heteroscedastic_gaussian.rs",
        &[("t * t - 1.0", "t * t")],
        ("formulas", "likelihoods::densities_and_derivatives_are_those_of_scipy_and_mpmath"),
    ),
    mutant(
        "heteroscedastic: noise drawn with the variance for the sd",
        "src/likelihood/heteroscedastic_gaussian.rs",
        &[("mu + sd * rng.normal()", "mu + sd * sd * rng.normal()")],
        ("inference", "likelihoods::draws_have_the_mean_and_variance_of_their_row"),
    ),
    mutant(
        "Poisson: no factorial with the gradient",
        "src/likelihood/poisson.rs",
        &[("weighted(y[i], eta[i]) - log_factorial[i]", "weighted(y[i], eta[i])")],
        ("formulas", "likelihoods::densities_and_derivatives_are_those_of_scipy_and_mpmath"),
    ),
    mutant(
        "negative binomial: dispersion that does not move the mean's share",
        "src/likelihood/negative_binomial.rs",
        &[(
            "r * (digamma_rise(y, r) - softplus) - self.d_eta(i, y, r)",
            "r * (digamma_rise(y, r) - softplus)",
        )],
        ("formulas", "likelihoods::densities_and_derivatives_are_those_of_scipy_and_mpmath"),
    ),
    mutant(
        "negative binomial: drawn without its dispersion",
        "src/likelihood/negative_binomial.rs",
        &[("*y * (rng.gamma(r) / r)", "*y * (rng.gamma(r) / r).powi(0)")],
        ("inference", "likelihoods::draws_have_the_mean_and_variance_of_their_row"),
    ),
    mutant(
        "Student-t noise: a chi-squared variable twice as large",
        "src/likelihood/student_t_noise.rs",
        &[("0.5 * nu / rng.gamma(0.5 * nu)", "nu / rng.gamma(0.5 * nu)")],
        ("invariance", "likelihoods::draws_and_densities_of_real_noise_belong_together"),
    ),
    mutant(
        "log gamma functions: Stirling's series without its rest",
        "src/likelihood/gamma_functions.rs",
        &[("(stirling(x + a) - stirling(x))", "0.0")],
        ("formulas", "likelihoods::densities_and_derivatives_are_those_of_scipy_and_mpmath"),
    ),
    // Derivatives of models.
    mutant(
        "sigmoid: derivative of tanh",
        "src/engine/activation.rs",
        &[("multiply(d, y, |y| fused(-y, y, y))", "multiply(d, y, |y| fused(-y, y, F::ONE))")],
        ("lib", "engine::activation::tests::derivatives_match_central_differences"),
    ),
    mutant(
        "tanh: derivative of the sigmoid",
        "src/engine/activation.rs",
        &[("multiply(d, y, |y| fused(-y, y, F::ONE))", "multiply(d, y, |y| fused(-y, y, y))")],
        ("formulas", "gradients::networks_under_every_likelihood_prior_and_activation"),
    ),
    mutant(
        "relu: derivative of the identity",
        "src/engine/activation.rs",
        &[("if *y > zero { *d } else { zero }", "*d")],
        ("lib", "engine::activation::tests::derivatives_match_central_differences"),
    ),
    mutant(
        "softplus: derivative of relu",
        "src/engine/activation.rs",
        &[(
            "F::of(one_minus_exp_minus::<V::Level>(y.wide()))",
            "if y.wide() > 0.0 { F::ONE } else { F::default() }",
        )],
        ("lib", "engine::activation::tests::derivatives_match_central_differences"),
    ),
    mutant(
        "silu: derivative of the sigmoid",
        "src/engine/activation.rs",
        &[("fused(*y, F::ONE - *s, *s)", "fused(F::default() * *y, F::ONE, (F::ONE - *s) * *s)")],
        ("lib", "engine::activation::tests::derivatives_match_central_differences"),
    ),
    mutant(
        "layers: derivatives by biases of the last tile alone",
        "src/engine/dense.rs",
        &[(
            "column_sum::<F, V>(level, start, column)",
            "column_sum::<F, V>(level, V::splat(level, F::default()), column)",
        )],
        ("lib", "engine::dense::tests::products_in_f64_match_triple_loops_at_every_level"),
    ),
    mutant(
        "network in f32: sums of the first rows are lost",
        "src/engine/network.rs",
        &[("self.finish(grad)", "self.summed = 0")],
        ("lib", "model::mlp_f32::tests::errors_are_those_of_f32"),
    ),
    mutant(
        "network: Hessian without the activations' curvature",
        "src/model/mlp.rs",
        &[("*r += bend * r_z", "*r += 0.0 * bend * r_z")],
        ("formulas", "second_derivatives::hessians_of_networks"),
    ),
    // Targets.
    mutant(
        "tempering: the prior is tempered too",
        "src/targets/mod.rs",
        &[(
            "self.beta * self.likelihood + self.prior",
            "self.beta * (self.likelihood + self.prior)",
        )],
        ("invariance", "power_posteriors::every_rung_of_a_regression_with_sampled_noise"),
    ),
    mutant(
        "minibatches: the gradient is not scaled by N/|b|",
        "src/posterior/minibatch.rs",
        &[("factor * weight", "factor")],
        ("invariance", "minibatch::the_mean_over_an_epoch_is_the_full_gradient"),
    ),
    mutant(
        "control variates: differences with their sign turned",
        "src/gradient/minibatch.rs",
        &[("*new += *grad - *batch", "*new += *batch - *grad")],
        ("invariance", "minibatch::the_steps_of_an_epoch_follow_the_full_gradient"),
    ),
    mutant(
        "epochs: rows are drawn again before all were used",
        "src/gradient/epoch.rs",
        &[("rng.random_range(i..self.rows.len())", "rng.random_range(0..self.rows.len())")],
        ("lib", "gradient::epoch::tests::epochs_use_each_row_once_and_all_rows_equally"),
    ),
    // Metropolis kernels.
    mutant(
        "Metropolis test: NaN is accepted",
        "src/sampler/metropolis/mod.rs",
        &[
            ("!is_finite || log_ratio.is_nan() || log_ratio == f64::INFINITY", "false"),
            ("ln(rng.uniform()) < log_ratio", "!(ln(rng.uniform()) >= log_ratio)"),
        ],
        ("run", "sampler_loop::bad_densities_are_rejected_and_counted_apart_from_the_support"),
    ),
    mutant(
        "random walk: ratio x 0.9",
        "src/sampler/metropolis/rwm.rs",
        &[(
            "new - current.eval(target, ws).total()",
            "0.9 * (new - current.eval(target, ws).total())",
        )],
        ("invariance", "kernels::random_walk_metropolis"),
    ),
    mutant(
        "MALA: nine tenths of the drift on the way back",
        "src/sampler/metropolis/mala.rs",
        &[("z + 0.5 * step_size * (s + s_new)", "z + 0.5 * step_size * (s + 0.9 * s_new)")],
        ("invariance", "kernels::mala_with_small_and_with_large_steps"),
    ),
    mutant(
        "MALA: the old gradient on the way back",
        "src/sampler/metropolis/mala.rs",
        &[("z + 0.5 * step_size * (s + s_new)", "z + step_size * s")],
        ("invariance", "kernels::mala"),
    ),
    mutant(
        "truncated MALA: density without the mass within the box",
        "src/sampler/metropolis/truncated_normal.rs",
        &[("-u * (0.5 * u + self.t) - ln(self.below + self.above)", "-u * (0.5 * u + self.t)")],
        ("invariance", "kernels::truncated_mala"),
    ),
    mutant(
        "independence: no proposal density of the old position",
        "src/sampler/metropolis/independence.rs",
        &[("self.density.log_density(current.q())", "0.0")],
        ("invariance", "kernels::independence"),
    ),
    mutant(
        "pCN: the ratio of a random walk",
        "src/sampler/metropolis/pcn.rs",
        &[(
            "-0.5 * standard.map(|z| z * z).sum::<f64>()",
            "0.0 * standard.map(|z| z * z).sum::<f64>()",
        )],
        ("invariance", "blocks::the_prior_mean_and_the_scale_of_pcn"),
    ),
    mutant(
        "pCN: turns around 0",
        "src/sampler/metropolis/pcn.rs",
        &[("m + keep * (current.q()[i] - m)", "keep * current.q()[i]")],
        ("invariance", "blocks::the_prior_mean_and_the_scale_of_pcn"),
    ),
    mutant(
        "SMMALA: no determinants",
        "src/sampler/metropolis/smmala.rs",
        &[("g_back.half_log_det() - g.half_log_det()", "0.0")],
        ("invariance", "smmala::both_metrics_leave_curved_targets_unchanged"),
    ),
    mutant(
        "Langevin gradient: proposals are taken for symmetric",
        "src/sampler/metropolis/langevin_gradient.rs",
        &[("(current.q()[i] - centre_back[i])", "z[i] * step_size * relative[i]")],
        (
            "invariance",
            "langevin_gradient::the_transition_is_invariant_for_every_map_and_on_blocks",
        ),
    ),
    // Hamiltonian Monte Carlo and NUTS.
    mutant(
        "HMC: no kinetic energy",
        "src/sampler/hamiltonian/dynamics.rs",
        &[("self.kinetic - self.point.log_density().total()", "-self.point.log_density().total()")],
        ("invariance", "hamiltonian::correlated_normal"),
    ),
    mutant(
        "HMC: ratio x 0.9",
        "src/sampler/hamiltonian/trajectory.rs",
        &[(
            "if flight.failed { f64::NEG_INFINITY } else { -flight.error }",
            "if flight.failed { f64::NEG_INFINITY } else { -0.9 * flight.error }",
        )],
        ("invariance", "hamiltonian::hmc_accepts_with_the_exact_probability"),
    ),
    mutant(
        "HMC: ratio x 0.9, seen by exact draws",
        "src/sampler/hamiltonian/trajectory.rs",
        &[(
            "if flight.failed { f64::NEG_INFINITY } else { -flight.error }",
            "if flight.failed { f64::NEG_INFINITY } else { -0.9 * flight.error }",
        )],
        ("invariance", "hamiltonian::hmc_with_small_and_with_large_energy_errors"),
    ),
    mutant(
        "HMC: paths are lengthened only",
        "src/sampler/hamiltonian/path.rs",
        &[("(2.0 * rng.uniform() - 1.0)", "rng.uniform()")],
        ("invariance", "hamiltonian::path_lengths_are_uniform_around_the_one_given"),
    ),
    mutant(
        "MAMS: no kinetic energy",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("self.kinetic - self.point.log_density().total()", "-self.point.log_density().total()")],
        ("invariance", "microcanonical::correlated_normal"),
    ),
    mutant(
        "MAMS: each trajectory goes on in the direction of the one before",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("rng.fill_normal(&mut self.u)", "rng.fill_normal(&mut self.velocity)")],
        ("invariance", "microcanonical::correlated_normal"),
    ),
    mutant(
        "MAMS: a sphere of one dimension too many",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("(u.len() - 1) as f64", "u.len() as f64")],
        ("invariance", "microcanonical::correlated_normal"),
    ),
    mutant(
        "MAMS: a turn too short",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("m * (1.0 - 2.0 * z) - (2.0 - m) * z * z", "m * (1.0 - 2.0 * z)")],
        (
            "lib",
            "sampler::hamiltonian::isokinetic::tests::the_turn_solves_its_differential_equation",
        ),
    ),
    mutant(
        "MAMS: the volume's change without its limit for long turns",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("rest * (delta + ln(0.5 * s))", "rest * delta")],
        (
            "lib",
            "sampler::hamiltonian::isokinetic::tests::the_kinetic_energy_is_the_change_of_volume_on_the_sphere",
        ),
    ),
    mutant(
        "MCLMC: too little noise in the direction",
        "src/sampler/hamiltonian/isokinetic.rs",
        &[("-exp_m1(-2.0 * time)", "-exp_m1(-time)")],
        ("invariance", "mclmc::the_direction_is_forgotten_on_the_path_length"),
    ),
    mutant(
        "MCLMC: a new direction in each iteration",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("state.started = !failed", "state.started = false")],
        ("invariance", "mclmc::the_direction_is_forgotten_on_the_path_length"),
    ),
    mutant(
        "MCLMC: the direction is never refreshed",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("flow.refresh(h / length, rng)", "flow.refresh(0.0, rng)")],
        ("invariance", "mclmc::variances_and_energy_errors_are_those_of_the_discretised_dynamics"),
    ),
    mutant(
        "MCLMC: the step size is adapted to the energy error of all dimensions",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("variance / self.wanted", "variance * dim / self.wanted")],
        ("invariance", "mclmc::warm_up_finds_the_step_size_and_the_path_length"),
    ),
    mutant(
        "MCLMC: the path length of the mean variance",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("variance / (2.0 * self.s)", "self.s / self.mean.len() as f64")],
        ("invariance", "mclmc::slow_directions_get_longer_paths"),
    ),
    mutant(
        "MCLMC: the path length outlives its coordinates",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("*path_length = 2.0 * root", "()")],
        ("invariance", "mclmc::a_path_length_does_not_outlive_its_coordinates"),
    ),
    mutant(
        "MCLMC: a step that fails is made",
        "src/sampler/hamiltonian/mclmc.rs",
        &[("error.is_nan() || error.abs() > MAX_ENERGY_ERROR", "false")],
        ("invariance", "mclmc::what_is_no_number_is_not_entered"),
    ),
    mutant(
        "MCLMC: passes for a sampler with a test",
        "src/sampler/hamiltonian/mclmc.rs",
        &[(
            "Report { unadjusted: true, ladder: None }",
            "Report { unadjusted: false, ladder: None }",
        )],
        ("invariance", "mclmc::it_says_that_it_has_no_test"),
    ),
    mutant(
        "path length: half a trajectory costs as much as a whole one",
        "src/sampler/hamiltonian/path.rs",
        &[("end - 2.0 * ratio * ratio * middle", "end - ratio * ratio * middle")],
        ("invariance", "microcanonical::warm_up_tunes_the_path_length_and_the_step_size"),
    ),
    mutant(
        "HMC: the first trajectories are as long as the others",
        "src/sampler/hamiltonian/trajectory.rs",
        &[("self.max_steps.min(self.max_first_steps)", "self.max_steps")],
        ("invariance", "microcanonical::the_first_trajectories_are_short"),
    ),
    mutant(
        "path length: descent for ascent",
        "src/sampler/hamiltonian/path.rs",
        &[(
            "ln(self.length) + powf(k + 10.0, -0.6) * slope",
            "ln(self.length) - powf(k + 10.0, -0.6) * slope",
        )],
        ("invariance", "microcanonical::slow_directions_get_longer_paths"),
    ),
    mutant(
        "many rows: the last tile of each share is lost",
        "src/posterior/walk.rs",
        &[("k * tiles / n..(k + 1) * tiles / n", "k * tiles / n..(k + 1) * tiles / n - 1")],
        (
            "formulas",
            "gradients::gradients_by_many_rows_are_sums_of_parts_on_any_number_of_threads",
        ),
    ),
    mutant(
        "descent: the prior's gradient of an earlier call stays",
        "src/posterior/descent.rs",
        &[("prior.fill(0.0)", "()")],
        ("invariance", "langevin_gradient::the_map_is_gradient_descent"),
    ),
    mutant(
        "row by row: derivatives go back through the weights of the start",
        "src/engine/row_by_row.rs",
        &[("step::<V>(level, rate, *d, &below.h, weights)", "()")],
        ("formulas", "model::descents_row_by_row_are_those_of_the_walk_over_tiles"),
    ),
    mutant(
        "leapfrog: a whole step of the momentum at the end",
        "src/sampler/hamiltonian/dynamics.rs",
        &[
            ("V::splat(level, 0.5 * h)", "V::splat(level, h)"),
            (
                "f64::multiply_add::<V::Level>(0.5 * h, force[i], p[i])",
                "f64::multiply_add::<V::Level>(h, force[i], p[i])",
            ),
        ],
        ("invariance", "hamiltonian::correlated_normal"),
    ),
    mutant(
        "leapfrog: a whole step of the momentum at the end, in registers only",
        "src/sampler/hamiltonian/dynamics.rs",
        &[("V::splat(level, 0.5 * h)", "V::splat(level, h)")],
        ("invariance", "hamiltonian::whole_registers_and_what_is_left_over"),
    ),
    mutant(
        "NUTS: a coin of 0.6",
        "src/sampler/hamiltonian/nuts.rs",
        &[("rng.uniform() < 0.5", "rng.uniform() < 0.6")],
        ("invariance", "hamiltonian::two_doublings_end_where_the_definition_says"),
    ),
    mutant(
        "NUTS: equal weights within a doubling",
        "src/sampler/hamiltonian/tree.rs",
        &[("1.0 / (1.0 + exp(self.log_weight - log_weight))", "0.5")],
        ("invariance", "hamiltonian::two_doublings_end_where_the_definition_says"),
    ),
    mutant(
        "NUTS: a doubling's draw is always taken",
        "src/sampler/hamiltonian/nuts.rs",
        &[("exp(doubling.log_weight - self.tree.log_weight)", "1.0")],
        ("invariance", "hamiltonian::two_doublings_end_where_the_definition_says"),
    ),
    mutant(
        "NUTS: no U-turn between a half and its neighbour",
        "src/sampler/hamiltonian/tree.rs",
        &[("products.iter()", "products[..2].iter()")],
        ("invariance", "hamiltonian::trees_are_as_deep_as_those_of_the_definition"),
    ),
    mutant(
        "NUTS: subtrees that turn within themselves are kept",
        "src/sampler/hamiltonian/tree.rs",
        &[
            ("!turns", "true"),
            (
                "!tree.append(self.end, w, energy, self.rng)",
                "{ tree.append(self.end, w, energy, self.rng); true }",
            ),
        ],
        ("invariance", "hamiltonian::correlated_normal"),
    ),
    // Combinations and populations.
    mutant(
        "Gibbs: shape + (n - 1)/2",
        "src/sampler/compose/gibbs.rs",
        &[("0.5 * beta * values", "0.5 * beta * (values - 1.0)")],
        ("invariance", "blocks::blocks_gibbs_pcn_cycles_and_mixtures"),
    ),
    mutant(
        "Gibbs: the residuals are not tempered",
        "src/sampler/compose/gibbs.rs",
        &[("0.5 * beta * sse", "0.5 * sse")],
        ("invariance", "power_posteriors::every_rung_of_a_regression_with_sampled_noise"),
    ),
    mutant(
        "Mixture: a fair coin",
        "src/sampler/compose/pair.rs",
        &[("rng.uniform() < self.probability", "rng.uniform() < 0.5")],
        ("invariance", "blocks::a_mixture_uses_its_kernels_as_often_as_it_says"),
    ),
    mutant(
        "blocks: the other coordinates are as they were at the start",
        "src/sampler/compose/on_blocks.rs",
        &[("self.ws.q.copy_from_slice(current.q())", "()")],
        ("invariance", "blocks::blocks_gibbs_pcn_cycles_and_mixtures"),
    ),
    mutant(
        "exchanges: ratio x 0.9",
        "src/sampler/tempering/power_posteriors.rs",
        &[("ratio(rungs, i, j)", "0.9 * ratio(rungs, i, j)")],
        ("invariance", "power_posteriors::exchanges_have_their_exact_probability"),
    ),
    mutant(
        "exchanges: gradients and metrics stay where they were",
        "src/targets/point.rs",
        &[("point.set(|_| {})", "()")],
        ("invariance", "power_posteriors::what_kernels_know_does_not_travel_with_exchanges"),
    ),
    mutant(
        "exchanges: a state keeps the power of the rung that it left",
        "src/targets/point.rs",
        &[("Some(LogDensity { beta, ..density })", "Some(density)")],
        ("invariance", "power_posteriors::what_kernels_know_does_not_travel_with_exchanges"),
    ),
    mutant(
        "ladder: rungs are moved to steps of the wrong size",
        "src/sampler/tempering/ladder.rs",
        &[("total * i as f64 / last as f64", "total * i as f64 / (last + 1) as f64")],
        ("lib", "sampler::tempering::ladder::tests::rungs_take_equal_steps_of_the_barrier"),
    ),
    mutant(
        "cycles: the image of a descent of another position",
        "src/targets/point.rs",
        &[("self.of == Some(point.stamp)", "self.of.is_some()")],
        ("invariance", "composition::langevin_gradient_with_different_descents"),
    ),
    mutant(
        "cycles: a metric of another position",
        "src/targets/point.rs",
        &[("self.of == Some(point.stamp)", "self.of.is_some()")],
        ("invariance", "composition::manifold_proposals"),
    ),
    mutant(
        "cycles: the gradient of a minibatch of another position",
        "src/targets/point.rs",
        &[("self.of == Some(point.stamp)", "self.of.is_some()")],
        ("invariance", "composition::integrators_with_different_steps"),
    ),
    // Langevin integrators.
    mutant(
        "O: noise of half the variance",
        "src/sampler/langevin/kernel.rs",
        &[("-exp_m1(-2.0 * self.friction * h)", "-exp_m1(-self.friction * h)")],
        ("invariance", "langevin::underdamped_variances_are_those_of_the_discretised_dynamics"),
    ),
    mutant(
        "OBABO: a whole kick at the start",
        "src/sampler/langevin/obabo.rs",
        &[("a(q, h, p, &bath.mass)", "{ b(p, 0.5 * h, g); a(q, h, p, &bath.mass) }")],
        ("invariance", "langevin::underdamped_variances_are_those_of_the_discretised_dynamics"),
    ),
    mutant(
        "SGHMC: noise h C for 2 h C",
        "src/sampler/langevin/sghmc.rs",
        &[("(2.0 * h * c / self.0.inverse_temperature)", "(h * c / self.0.inverse_temperature)")],
        ("invariance", "langevin::sghmc_with_full_gradients_has_the_variances_of_its_recursion"),
    ),
    mutant(
        "Euler-Maruyama and SGLD: noise h for 2 h",
        "src/sampler/langevin/euler_maruyama.rs",
        &[("(2.0 * h / self.inverse_temperature)", "(h / self.inverse_temperature)")],
        ("invariance", "langevin::overdamped_variances_are_those_of_the_discretised_dynamics"),
    ),
    mutant(
        "Leimkuhler-Matthews: two fresh normals in each step",
        "src/sampler/langevin/leimkuhler_matthews.rs",
        &[("noise * (old + *r)", "noise * (rng.normal() + *r + 0.0 * old)")],
        ("invariance", "langevin::overdamped_variances_are_those_of_the_discretised_dynamics"),
    ),
    // Adaptation.
    mutant(
        "warm-up: adaptation goes on after it",
        "src/run/chain.rs",
        &[
            ("self.kernel.freeze()", "()"),
            (
                "at.unfinished.add(&step)",
                "{ let warmup = WarmupProgress { iteration: at.done[0], total: at.done[0] + 1 }; \
                 self.kernel.adapt(&step, &at.point, warmup); at.unfinished.add(&step) }",
            ),
        ],
        ("run", "sampler_loop::nothing_is_adapted_after_warm_up"),
    ),
    mutant(
        "dual averaging: away from the target",
        "src/adapt/dual_averaging.rs",
        &[("(self.target - accept_prob)", "(accept_prob - self.target)")],
        ("invariance", "hamiltonian::warm_up_reaches_the_target_acceptance_and_the_scales"),
    ),
    mutant(
        "running variance: divisor n",
        "src/adapt/welford.rs",
        &[("squares / (self.n - 1.0)", "squares / self.n")],
        ("lib", "adapt::welford::tests::agrees_with_the_two_pass_formulas"),
    ),
    mutant(
        "running variance: divisor n, in streamed moments",
        "src/adapt/welford.rs",
        &[("squares / (self.n - 1.0)", "squares / self.n")],
        ("run", "recorders::moments_are_those_of_the_draws"),
    ),
    // Diagnostics.
    mutant(
        "R-hat: no folding",
        "src/diagnostics/rhat.rs",
        &[("if folded > rank { folded } else { rank }", "rank")],
        ("inference", "diagnostics::every_function_equals_arviz"),
    ),
    mutant(
        "R-hat: no split",
        "src/diagnostics/rhat.rs",
        &[("chains.split().rhat()", "chains.rhat()")],
        ("inference", "diagnostics::every_function_equals_arviz"),
    ),
    mutant(
        "ESS: not cut where correlations turn negative",
        "src/diagnostics/geyer.rs",
        &[
            ("even + odd >= 0.0", "even + odd >= f64::NEG_INFINITY"),
            ("even + odd > 0.0", "even + odd > f64::NEG_INFINITY"),
        ],
        ("inference", "diagnostics::every_function_equals_arviz"),
    ),
    mutant(
        "ESS: the initial sequence is not monotone",
        "src/diagnostics/geyer.rs",
        &[("rho[k] + rho[k + 1] > rho[k - 2] + rho[k - 1]", "false")],
        ("inference", "diagnostics::every_function_equals_arviz"),
    ),
    mutant(
        "MCSE of a quantile: the whole width",
        "src/diagnostics/mcse.rs",
        &[("(high - low) / 2.0", "(high - low)")],
        ("inference", "diagnostics::every_function_equals_arviz"),
    ),
    // Evidence.
    mutant(
        "stepping stone: each step from its colder end",
        "src/evidence.rs",
        &[("betas.windows(2).zip(rungs)", "betas.windows(2).zip(&rungs[1..])")],
        ("inference", "evidence::beta_binomial"),
    ),
    mutant(
        "thermodynamic integration: no correction of the trapezoid rule",
        "src/evidence.rs",
        &[("sign * d * d / 12.0", "0.0 * sign")],
        ("lib", "evidence::tests::the_rules_are_exact_for_polynomials"),
    ),
    mutant(
        "verdict: modes without effective draws within",
        "src/diagnostics/verdict/cause.rs",
        &[("of_most >= ESS_WITHIN", "of_most >= 0.0 * ESS_WITHIN")],
        (
            "inference",
            "diagnostics::verdict_on_modes_weighs_what_is_between_against_what_is_within",
        ),
    ),
    mutant(
        "verdict: a slow scale for modes",
        "src/diagnostics/verdict/cause.rs",
        &[("ess_of(x).min(ess_of(distance))", "ess_of(x).max(ess_of(distance))")],
        ("inference", "diagnostics::verdict_on_a_slow_scale_speaks_of_no_modes"),
    ),
    mutant(
        "verdict: a given length for a ridge",
        "src/diagnostics/verdict/cause.rs",
        &[(
            "trajectories.find_their_length && steps >= LONG_TRAJECTORY",
            "steps >= LONG_TRAJECTORY",
        )],
        ("inference", "diagnostics::verdict_on_slow_chains_reads_their_trajectories"),
    ),
    mutant(
        "verdict: steps without a test for trajectories",
        "src/diagnostics/draws.rs",
        &[("self.unadjusted().is_none()", "true")],
        ("inference", "diagnostics::verdict_on_steps_without_a_test_speaks_of_no_ridge"),
    ),
    mutant(
        "verdict: modes by R-hat instead of its square",
        "src/diagnostics/verdict/cause.rs",
        &[("(rhat * rhat - 1.0)", "(rhat - 1.0)")],
        (
            "inference",
            "diagnostics::verdict_on_modes_weighs_what_is_between_against_what_is_within",
        ),
    ),
    mutant(
        "verdict: modes of chains that are only short",
        "src/diagnostics/verdict/cause.rs",
        &[("self.effective_share < SLOW", "self.effective_share < 1.0 + SLOW")],
        ("inference", "diagnostics::verdict_on_short_runs_infers_no_modes"),
    ),
    mutant(
        "verdict: any drift hides modes",
        "src/diagnostics/verdict/judge.rs",
        &[("!separate && 2 * drifting.len() > drift.len()", "2 * drifting.len() > drift.len()")],
        ("inference", "diagnostics::verdict_on_modes_where_another_quantity_drifts"),
    ),
    mutant(
        "verdict: log likelihoods that fall for rising ones",
        "src/diagnostics/verdict/arrived.rs",
        &[("second.mean - first.mean", "first.mean - second.mean")],
        ("inference", "arrived::rising_log_likelihoods_have_not_arrived"),
    ),
    mutant(
        "verdict: levels apart by Monte Carlo errors alone",
        "src/diagnostics/verdict/arrived.rs",
        &[("gap > LEVELS_APART * sd", "gap > 0.0 * sd")],
        ("inference", "arrived::levels_within_the_limit_are_modes"),
    ),
    mutant(
        "verdict: a prior in use is advised",
        "src/diagnostics/verdict/in_use.rs",
        &[("self.prior_by_fan_in || self.sampled_variances", "false")],
        ("inference", "diagnostics::verdict_on_modes_says_what_was_not_done_yet"),
    ),
    mutant(
        "verdict: the last stretch of rejections for the longest",
        "src/diagnostics/draws.rs",
        &[("longest.max(now)", "now")],
        ("inference", "arrived::standing_still_is_said"),
    ),
    // Predictions.
    mutant(
        "chains apart: variance for standard deviation",
        "src/predict/regression.rs",
        &[("drawn.std(1.0)", "drawn.var(1.0)")],
        ("inference", "predict::how_far_chains_are_apart_is_hand_computed"),
    ),
    mutant(
        "chains apart: the last draw of each chain for its mean",
        "src/predict/regression.rs",
        &[(
            "self.mean.mean_axis(Axis(1))",
            "self.mean.axis_iter(Axis(1)).last().map(|last| last.to_owned())",
        )],
        ("inference", "predict::how_far_chains_are_apart_is_hand_computed"),
    ),
    mutant(
        "predictive interval: without the noise",
        "src/predict/regression.rs",
        &[("self.interval(self.predictive_draws(), level)", "self.interval(self.mean(), level)")],
        ("inference", "predict::exact_posteriors_cover_what_they_should"),
    ),
    mutant(
        "coverage: intervals without the noise",
        "src/predict/regression.rs",
        &[(
            "self.intervals(self.predictive_draws(), levels)",
            "self.intervals(self.mean(), levels)",
        )],
        ("inference", "predict::exact_posteriors_cover_what_they_should"),
    ),
    mutant(
        "CRPS: the spread counts twice",
        "src/predict/regression.rs",
        &[("spread / (n * n)", "2.0 * spread / (n * n)")],
        (
            "inference",
            "predict::crps_is_its_closed_form_for_a_normal_and_hand_computed_for_few_draws",
        ),
    ),
    mutant(
        "PIT: ties are not spread",
        "src/predict/calibration.rs",
        &[("v * (up_to - below + 1) as f64", "v")],
        ("inference", "predict::discrete_responses_have_a_uniform_randomised_pit"),
    ),
    mutant(
        "expected calibration error: bins count alike",
        "src/predict/calibration.rs",
        &[(
            "b.rows as f64 * (b.accuracy - b.confidence).abs()",
            "rows as f64 / self.bins.len() as f64 * (b.accuracy - b.confidence).abs()",
        )],
        ("inference", "predict::reliability_and_ece_are_hand_computed"),
    ),
    mutant(
        "mutual information: the entropy of the mean alone",
        "src/predict/uncertainty/table.rs",
        &[("(predictive - expected).max(0.0)", "predictive")],
        ("inference", "uncertainty::mutual_information_is_the_mean_divergence_from_the_mean"),
    ),
    mutant(
        "PSIS: the fit of k without its prior",
        "src/predict/loo/pareto.rs",
        &[("(n * k + 5.0) / (n + 10.0)", "k")],
        ("inference", "loo::golden_values_of_arviz"),
    ),
    mutant(
        "PSIS: a longer tail for more efficient draws",
        "src/predict/loo/pareto.rs",
        &[("all / relative_efficiency", "all * relative_efficiency")],
        ("inference", "loo::golden_values_of_arviz"),
    ),
    mutant(
        "PSIS: weights that exceed the largest ratio",
        "src/predict/loo/pareto.rs",
        &[("(cutoff + pareto.quantile(p)).min(1.0)", "cutoff + pareto.quantile(p)")],
        ("inference", "loo::golden_values_of_arviz"),
    ),
    mutant(
        "LOO-PIT: weighted by the likelihood, not by its inverse",
        "src/predict/loo/pit.rs",
        &[("scratch.psis.weights()", "&scratch.likelihood[..]")],
        ("inference", "loo::a_row_left_out_has_its_exact_transform"),
    ),
    mutant(
        "LOO comparison: an error as if of different rows",
        "src/predict/loo/comparison.rs",
        &[("(n * squares / (n - 1.0)).sqrt()", "self.se.hypot(other.se)")],
        ("inference", "loo::comparisons_are_those_of_arviz"),
    ),
    mutant(
        "LOO: an unknown k passes for a good one",
        "src/predict/loo/mod.rs",
        &[("row.k <= threshold || row.is_constant()", "!(row.k > threshold)")],
        ("inference", "loo::rows_without_a_k_say_why"),
    ),
    mutant(
        "log predictive density: the mean of logarithms",
        "src/predict/scores.rs",
        &[(
            "largest + (sum / values.len() as f64).ln()",
            "values.mean().unwrap_or(f64::NAN) + 0.0 * sum",
        )],
        ("formulas", "gradients::regression_scores_are_the_textbook_ones"),
    ),
    // Surrogates.
    mutant(
        "delayed acceptance: second stage without the surrogate's ratio",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("(after - before) - (surrogate_after - surrogate_before.total())", "after - before")],
        ("invariance", "surrogates::delayed_acceptance_on_a_wrong_surrogate"),
    ),
    mutant(
        "delayed acceptance: the second stage's ratio inverted",
        "src/sampler/compose/delayed_acceptance.rs",
        &[(
            "(after - before) - (surrogate_after - surrogate_before.total())",
            "(surrogate_after - surrogate_before.total()) - (after - before)",
        )],
        ("invariance", "surrogates::delayed_acceptance_on_a_wrong_surrogate"),
    ),
    mutant(
        "delayed acceptance: a rejected walk is not taken back",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("walker.copy_from(here.at(current))", "()")],
        ("invariance", "surrogates::delayed_acceptance_on_a_wrong_surrogate"),
    ),
    mutant(
        "delayed acceptance: the density of the accepted state is not kept",
        "src/sampler/compose/delayed_acceptance.rs",
        &[(
            "proposal.eval(target, ws).total()",
            "{ let after = proposal.eval(target, ws).total(); proposal.set_as_in(current, |_| {}); after }",
        )],
        ("invariance", "surrogates::delayed_acceptance_on_a_wrong_surrogate"),
    ),
    mutant(
        "delayed acceptance: a cycle counts as reversible",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("!self.inner.is_reversible()", "false")],
        ("invariance", "surrogates::what_would_not_be_exact_is_refused"),
    ),
    mutant(
        "HMC on a surrogate: the kinetic energy left out",
        "src/sampler/hamiltonian/surrogate_hmc.rs",
        &[("(after - before) - kinetic", "after - before")],
        ("invariance", "surrogates::trajectories_on_a_wrong_surrogate"),
    ),
    mutant(
        "HMC on a surrogate: the surrogate's energy error taken for the kinetic energy",
        "src/sampler/hamiltonian/surrogate_hmc.rs",
        &[("flight.error + (surrogate_after - surrogate_before)", "flight.error")],
        ("invariance", "surrogates::trajectories_on_a_wrong_surrogate"),
    ),
    mutant(
        "delayed acceptance: a first stage of moves, not of their share",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("moves as f64 / self.steps as f64", "moves as f64")],
        ("invariance", "surrogates::the_statistics_of_delayed_acceptance_are_counted_apart"),
    ),
    mutant(
        "delayed acceptance: the outcome of the second stage for its probability",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("step.accept_prob.unwrap_or(f64::NAN)", "f64::from(u8::from(step.accepted))")],
        ("invariance", "surrogates::the_statistics_of_delayed_acceptance_are_counted_apart"),
    ),
    mutant(
        "delayed acceptance: the target's densities are not counted",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("self.last.target_evals = 1.0", "self.last.target_evals = 0.0")],
        ("invariance", "surrogates::the_statistics_of_delayed_acceptance_are_counted_apart"),
    ),
    mutant(
        "delayed acceptance: the surrogate's gradients of the last inner step alone",
        "src/sampler/compose/delayed_acceptance.rs",
        &[(
            "gradients += f64::from(step.gradient_evals)",
            "gradients = f64::from(step.gradient_evals)",
        )],
        ("invariance", "surrogates::the_statistics_of_delayed_acceptance_are_counted_apart"),
    ),
    mutant(
        "delayed acceptance: the surrogate's error where the chain was",
        "src/sampler/compose/delayed_acceptance.rs",
        &[("self.last.error = after - surrogate_after", "()")],
        ("invariance", "surrogates::the_statistics_of_delayed_acceptance_are_counted_apart"),
    ),
    mutant(
        "HMC on a surrogate: the gradient where a trajectory begins is not counted",
        "src/sampler/hamiltonian/surrogate_hmc.rs",
        &[("f64::from(evals + taken)", "f64::from(taken)")],
        (
            "invariance",
            "surrogates::the_statistics_of_trajectories_on_a_surrogate_are_counted_apart",
        ),
    ),
    mutant(
        "HMC on a surrogate: the surrogate's error where the chain was",
        "src/sampler/hamiltonian/surrogate_hmc.rs",
        &[("self.error = after - surrogate_after", "()")],
        (
            "invariance",
            "surrogates::the_statistics_of_trajectories_on_a_surrogate_are_counted_apart",
        ),
    ),
    mutant(
        "second stage: steps at which the target was not asked count, too",
        "src/diagnostics/draws.rs",
        &[("asked.len() as f64", "chain.len() as f64")],
        ("inference", "diagnostics::verdict_warns_of_a_second_stage_that_accepts_next_to_nothing"),
    ),
    mutant(
        "part of the rows: gradient not weighted",
        "src/surrogate/rows.rs",
        &[("factor * weight", "factor")],
        ("formulas", "surrogates::gradients_of_emulators_are_exact"),
    ),
    mutant(
        "control variates: the Hessian of the rows not weighted",
        "src/surrogate/rows.rs",
        &[("subset.weight()", "1.0")],
        ("formulas", "surrogates::rows_with_control_variates_are_exact_to_their_order"),
    ),
    mutant(
        "random features: sign of the quadratic term's gradient",
        "src/emulate/random_features.rs",
        &[("*grad = -self.curvature * z", "*grad = self.curvature * z")],
        ("formulas", "surrogates::gradients_of_emulators_are_exact"),
    ),
    mutant(
        "network emulator: gradient with respect to the scaled position",
        "src/emulate/network.rs",
        &[("factor * d / sd", "factor * d")],
        ("formulas", "surrogates::gradients_of_emulators_are_exact"),
    ),
    mutant(
        "network emulator: the noise has no gradient",
        "src/emulate/network.rs",
        &[("of_phi.zip(&ws.d_phi).for_each(|(grad, d)| *grad += factor * d)", "drop(of_phi)")],
        ("formulas", "surrogates::gradients_of_emulators_are_exact"),
    ),
    // Zarr folders.
    mutant(
        "Zarr: dots at the ends of names stay, so that `..` is a path",
        "src/draws/zarr/names.rs",
        &[("i > 0 && i < last", "true")],
        ("lib", "draws::zarr::names::tests::names_are_escaped"),
    ),
    mutant(
        "Zarr: the last draws of a chain are left out if they fill no chunk",
        "src/draws/zarr/array.rs",
        &[("written.div_ceil(self.chunk[1])", "written / self.chunk[1]")],
        ("run", "zarr::the_last_chunk_is_padded"),
    ),
    mutant(
        "Zarr: the list of arrays is not sorted by depth",
        "src/draws/zarr/folder.rs",
        &[("depth(a).cmp(&depth(b)).then_with(|| a.cmp(b))", "a.cmp(b)")],
        ("run", "zarr::predictions_and_names_lie_beside_the_draws"),
    ),
    mutant(
        "Zarr: a NaN in the run's description loses its bits",
        "src/draws/zarr/json.rs",
        &[("x.to_bits() == f64::NAN.to_bits()", "x.is_nan()")],
        ("lib", "draws::zarr::json::tests::floats_keep_their_bits"),
    ),
    mutant(
        "Zarr: checksums of arrays are not compared",
        "src/draws/zarr/read.rs",
        &[("*stated == found", "*stated == found || found > 0")],
        ("run", "zarr::damage_is_refused_by_file"),
    ),
    mutant(
        "predictions take draws of another model, likelihood or data",
        "src/predict/per_draw.rs",
        &[("found.check(&own)", "Ok(())")],
        ("run", "zarr::draws_of_another_posterior_are_refused_with_what_differs"),
    ),
    // Mixtures of chains.
    mutant(
        "mixture: what rounding leaves over goes to no chain",
        "src/draws/mixture.rs",
        &[("all.saturating_sub(counts.iter().sum())", "0 * all")],
        ("lib", "draws::mixture::tests::counts_have_the_sum_and_no_weight_has_none"),
    ),
    mutant(
        "mixture: the first draws of a chain in the place of evenly spaced ones",
        "src/draws/mixture.rs",
        &[("(2 * i + 1) * n / (2 * count)", "(2 * i + 1) * n / (2 * count) * 0 + i % n")],
        ("inference", "mixture::a_mixture_predicts_with_the_weights"),
    ),
    // Fits and new rows.
    mutant(
        "unscaled predictions: the Jacobian with the other sign",
        "src/predict/regression.rs",
        &[("density - log_scale", "density + log_scale")],
        ("inference", "new_rows::unscaled_predictions_are_those_of_the_unscaled_response"),
    ),
    mutant(
        "new rows: a blank response taken for an observed one",
        "src/predict/mod.rs",
        &[("self.log_density.is_some().then_some(&self.response)", "Some(&self.response)")],
        ("inference", "new_rows::new_rows_are_predicted_as_rows_with_a_response_are"),
    ),
    mutant(
        "a fit predicts unscaled features",
        "src/fit/mod.rs",
        &[("features.scale_features(rows)?", "rows.clone()")],
        ("run", "fit::predictions_are_in_the_units_of_the_file_and_name_what_lies_outside"),
    ),
    mutant(
        "a fit takes rows above the range for rows within",
        "src/fit/range.rs",
        &[("*value < range.low || *value > range.high", "*value < range.low")],
        ("run", "fit::predictions_are_in_the_units_of_the_file_and_name_what_lies_outside"),
    ),
    mutant(
        "leave-one-out in own units with the Jacobian upside down",
        "src/predict/loo/mod.rs",
        &[("row.elpd - log_scale", "row.elpd + log_scale")],
        ("run", "fit_results::leave_one_out_is_in_own_units_and_compares_fits_of_the_same_rows"),
    ),
    mutant(
        "a fit writes predictions on the scale of the standardised response",
        "src/fit/mod.rs",
        &[(
            "self.predict(train)?",
            "self.parts.posterior.predict(&self.draws, &self.parts.train)?",
        )],
        ("run", "fit_results::zarr_is_in_the_units_of_the_table"),
    ),
    mutant(
        "a fit chooses validation rows by another seed",
        "src/fit/recipe.rs",
        &[(
            "data.split_rows(self.validation, self.seed)?",
            "data.split_rows(self.validation, self.seed + 1)?",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit of classes splits them as real responses",
        "src/fit/recipe.rs",
        &[(
            "data.stratified_rows(self.validation, self.seed)?",
            "data.split_rows(self.validation, self.seed)?",
        )],
        ("run", "fit_by_hand::classes_keep_their_shares_among_validation_rows"),
    ),
    mutant(
        "a fit scales features by validation rows, too",
        "src/fit/mod.rs",
        &[(
            "Standardise::new().allow_constant().fit_features(&train)?",
            "Standardise::new().allow_constant().fit_features(data)?",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit scales the response by validation rows, too",
        "src/fit/mod.rs",
        &[("Standardise::new().fit_response(&train)?", "Standardise::new().fit_response(data)?")],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit knows the range of validation rows",
        "src/fit/mod.rs",
        &[(
            "range::ranges(train.x().view(), train.feature_names())",
            "range::ranges(data.x().view(), data.feature_names())",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit swaps shape and scale of the noise's prior",
        "src/fit/recipe.rs",
        &[(
            "LogInverseGamma::new(SQUARED_SCALE.0, SQUARED_SCALE.1)?",
            "LogInverseGamma::new(SQUARED_SCALE.1, SQUARED_SCALE.0)?",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit's chains start from weights of standard deviation 1",
        "src/fit/recipe.rs",
        &[("Init::Around { centre, sd: START }", "Init::Around { centre, sd: 1.0 }")],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit's chains take seed 0",
        "src/fit/recipe.rs",
        &[(
            "Sampler::new(posterior, algorithm).chains(self.chains).seed(self.seed)",
            "Sampler::new(posterior, algorithm).chains(self.chains).seed(0)",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit swaps mean and standard deviation of the degrees of freedom",
        "src/fit/recipe.rs",
        &[("Normal::new(DEGREES.0, DEGREES.1)?", "Normal::new(DEGREES.1, DEGREES.0)?")],
        ("run", "fit_by_hand::priors_of_noise_and_of_counts_are_those_that_a_recipe_says"),
    ),
    mutant(
        "a fit swaps mean and standard deviation of the dispersion",
        "src/fit/recipe.rs",
        &[("Normal::new(DISPERSION.0, DISPERSION.1)?", "Normal::new(DISPERSION.1, DISPERSION.0)?")],
        ("run", "fit_by_hand::priors_of_noise_and_of_counts_are_those_that_a_recipe_says"),
    ),
    mutant(
        "a fit of counts believes in the log of their sum",
        "src/fit/recipe.rs",
        &[("(counts.sum() + 0.5) / counts.nrows() as f64", "counts.sum() + 0.5")],
        ("run", "fit_by_hand::priors_of_noise_and_of_counts_are_those_that_a_recipe_says"),
    ),
    mutant(
        "a fit of counts starts around 0",
        "src/fit/recipe.rs",
        &[("centre[bias].fill(mean)", "centre[bias].fill(0.0 * mean)")],
        ("run", "fit_by_hand::priors_of_noise_and_of_counts_are_those_that_a_recipe_says"),
    ),
    mutant(
        "new rows are predicted on the scale of the standardised response",
        "src/fit/mod.rs",
        &[(
            "predictions.unscaled(scaler)?",
            "scaler.columns().iter().fold(predictions, |as_it_is, _| as_it_is)",
        )],
        ("run", "fit_by_hand::rows_scales_ranges_and_draws_are_those_of_the_parts"),
    ),
    mutant(
        "a fit takes rows below the range for rows within",
        "src/fit/range.rs",
        &[("*value < range.low || *value > range.high", "*value > range.high")],
        ("run", "fit_by_hand::values_outside_the_range_are_told_on_both_sides"),
    ),
    mutant(
        "a verdict is passed on the first rows",
        "src/fit/mod.rs",
        &[("i * rows / rows.min(JUDGED)", "i")],
        ("run", "fit_by_hand::judged_rows_are_spread_over_all_training_rows"),
    ),
    mutant(
        "transforms of rows left out are of the unscaled rows",
        "src/fit/mod.rs",
        &[(
            "self.parts.posterior.loo_pit(&self.draws, &self.parts.train, seed)",
            "self.parts.posterior.loo_pit(&self.draws, self.training(), seed)",
        )],
        ("run", "fit_by_hand::transforms_of_rows_left_out_are_of_the_scaled_training_rows"),
    ),
    mutant(
        "a saved table has six decimals",
        "src/fit/rows.rs",
        &[(
            "row.iter().map(f64::to_string).collect()",
            "row.iter().map(|x| format!(\"{x:.6}\")).collect()",
        )],
        ("run", "fit::what_is_saved_is_loaded"),
    ),
    mutant(
        "jobs for neighbouring chains are taken for jobs of one chain",
        "src/fit/parts.rs",
        &[("a.start < b.end && b.start < a.end", "a.start <= b.end && b.start <= a.end")],
        ("run", "job_arrays::parts_of_a_fit_are_merged_in_its_folder"),
    ),
    mutant(
        "progress takes the first statistic for the step size",
        "src/run/chain.rs",
        &[("stats[place]", "stats[0]")],
        ("run", "sampler_loop::progress_has_the_step_size_and_the_divergences_of_each_chain"),
    ),
    mutant(
        "the time left includes what is done",
        "src/run/progress.rs",
        &[("took * (self.total - self.done) as f64 / done", "took * self.total as f64 / done")],
        ("lib", "run::progress::tests::lines_come_every_ten_seconds_and_at_the_end_of_a_phase"),
    ),
    mutant(
        "a finished fit is loaded where more draws are asked for",
        "src/fit/run.rs",
        &[("draws(&there.recipe) < draws(&self.saved.recipe)", "false")],
        ("run", "fit_results::a_finished_run_goes_on_with_more_draws"),
    ),
    mutant(
        "while draws take the place of others there is no fit",
        "src/fit/folder.rs",
        &[("read_draws(&folder.join(OLD), &parts.recipe).map_err(|_| error)", "Err(error)")],
        ("run", "fit_faults::a_process_that_is_killed_leaves_the_old_fit_or_the_new_one"),
    ),
    mutant(
        "a verdict that was changed stays",
        "src/fit/folder.rs",
        &[("crc32fast::hash(&there) == crc", "crc32fast::hash(&there) == crc || true")],
        ("run", "fit_results::damage_anywhere_is_noticed_or_does_no_harm"),
    ),
    mutant(
        "a step that was cut is not made again",
        "src/run/chain.rs",
        &[("self.data.at = before", "drop(before)")],
        ("run", "cut::a_step_that_was_cut_is_made_again"),
    ),
    mutant(
        "an edited fit is loaded",
        "src/fit/saved.rs",
        &[("saved.crc32 != saved.checksum()", "false")],
        ("run", "fit::damaged_and_edited_folders_are_refused_with_what_differs"),
    ),
    mutant(
        "emulators that extrapolate do not say so",
        "src/emulate/pairs.rs",
        &[("self.square(q) > self.reach", "self.square(q) > self.reach && self.reach < 0.0")],
        ("formulas", "surrogates::draws_outside_what_an_emulator_learnt_from_are_counted"),
    ),
    mutant(
        "a part's chains take the random streams of the first chains",
        "src/run/sampler.rs",
        &[(
            "ChainRng::new(sizes.seed, index as u64)",
            "ChainRng::new(sizes.seed, (index - chains.start) as u64)",
        )],
        ("run", "job_arrays::parts_of_a_run_are_the_run"),
    ),
    mutant(
        "merged parts of different lengths hide that one was stopped",
        "src/draws/part.rs",
        &[(
            "are_cut || infos().any(|info| info.stopped_early)",
            "infos().any(|info| info.stopped_early)",
        )],
        ("run", "job_arrays::a_job_that_was_stopped_cuts_the_others"),
    ),
    mutant(
        "parts of runs with other settings are merged",
        "src/draws/part.rs",
        &[(
            "by_name.or(target).or(start).or(thinned).or(names)",
            "target.or(start).or(thinned).or(names)",
        )],
        ("run", "job_arrays::what_is_no_part_of_the_run_is_named"),
    ),
    mutant(
        "nested R-hat without the variance between the chains of a superchain",
        "src/diagnostics/chains.rs",
        &[("between_chains + mean(variances)", "mean(variances)")],
        ("inference", "diagnostics::nested_rhat_equals_arviz"),
    ),
    mutant(
        "stacking of equal weights",
        "src/predict/stacking.rs",
        &[("maximise(&relative)?", "vec![1.0 / candidates as f64; candidates]")],
        ("lib", "predict::stacking::tests::known_weights"),
    ),
    // Collapsed posteriors.
    mutant(
        "collapsed: the log determinant left out",
        "src/posterior/collapsed/integral.rs",
        &[("0.5 * shape.integrated as f64 * log_det", "0.0 * log_det")],
        ("invariance", "collapsed::networks_with_one_scale_of_hidden_and_output_weights"),
    ),
    mutant(
        "collapsed: the output weights at their mean",
        "src/posterior/collapsed/mod.rs",
        &[("mean[at] + sd[j] * noise[j]", "mean[at]")],
        ("invariance", "collapsed::linear_regressions_against_exact_draws"),
    ),
    mutant(
        "collapsed: the draw of the output weights with the whole inverse for its root",
        "src/posterior/collapsed/mod.rs",
        &[("factor.colour(rhs, noise)", "factor.solve(rhs, noise)")],
        (
            "formulas",
            "collapsed::densities_and_conditional_draws_are_those_of_normal_distributions_from_elsewhere",
        ),
    ),
    mutant(
        "collapsed: the trace left out of the noise's derivative",
        "src/posterior/collapsed/integral.rs",
        &[("beta * d_phi + d_log_det", "beta * d_phi")],
        ("formulas", "collapsed::gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed: the covariance once for two responses",
        "src/posterior/collapsed/scratch.rs",
        &[("-(shape.outputs as f64) * precision", "-precision")],
        ("formulas", "collapsed::gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed: tempered noise at beta = 1",
        "src/posterior/collapsed/integral.rs",
        &[("beta * exp(-gaussian.log_variance(phi))", "exp(-gaussian.log_variance(phi))")],
        ("invariance", "collapsed::tempered_posteriors_against_exact_draws"),
    ),
    mutant(
        "collapsed: the prior's mean left out of the response",
        "src/posterior/collapsed/integral.rs",
        &[("g * mean", "0.0 * g * mean")],
        ("formulas", "collapsed::the_marginal_is_the_joint_density_less_the_conditional_one"),
    ),
    mutant(
        "collapsed: a scale's derivative without the known part",
        "src/posterior/collapsed/integral.rs",
        &[("squares - known", "squares - known * 0.0")],
        ("formulas", "collapsed::gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed, noise by row: tempered at beta = 1",
        "src/posterior/collapsed/by_row.rs",
        &[("beta.sqrt()", "1.0f64.sqrt()")],
        (
            "formulas",
            "collapsed::densities_and_conditional_draws_are_those_of_normal_distributions_from_elsewhere",
        ),
    ),
    mutant(
        "collapsed, noise by row: the response is not weighted",
        "src/posterior/collapsed/by_row.rs",
        &[("*root *= y", "*root = *y")],
        ("invariance", "collapsed::networks_whose_noise_is_an_output"),
    ),
    mutant(
        "collapsed, noise by row: the ones are not weighted",
        "src/posterior/collapsed/by_row.rs",
        &[("*one = *root", "*one = 1.0")],
        (
            "formulas",
            "collapsed::with_noise_by_row_the_marginal_is_the_joint_density_less_the_conditional_one",
        ),
    ),
    mutant(
        "collapsed, noise by row: the prior of the weights of s left out",
        "src/posterior/collapsed/mod.rs",
        &[("before_and_after.chain(&scratch.rest)", "before_and_after.chain(&scratch.rest[..0])")],
        ("invariance", "collapsed::networks_whose_noise_is_an_output"),
    ),
    mutant(
        "collapsed, noise by row: the variance of the mean left out of the derivative with respect to s",
        "src/posterior/collapsed/by_row.rs",
        &[("*g += phi * *t", "*g += 0.0 * phi * *t")],
        ("formulas", "collapsed::with_noise_by_row_gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed, noise by row: the variance of the bias left out of the derivative with respect to s",
        "src/posterior/collapsed/by_row.rs",
        &[("*g += *t * p", "*g += 0.0 * *t * p")],
        ("formulas", "collapsed::with_noise_by_row_gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed, noise by row: s left out of the derivative with respect to hidden outputs",
        "src/posterior/collapsed/by_row.rs",
        &[("a * u + b * v - t", "a * u + 0.0 * b * v - t")],
        ("formulas", "collapsed::with_noise_by_row_gradients_match_finite_differences"),
    ),
    mutant(
        "collapsed, noise by row: shares without the covariance of the whole",
        "src/posterior/collapsed/integral.rs",
        &[("own.copy_covariance(by_row)", "()")],
        ("formulas", "collapsed::shares_of_the_rows_give_the_same_bits_on_any_number_of_threads"),
    ),
    mutant(
        "collapsed: what another kernel moved is not seen",
        "src/sampler/compose/collapsed.rs",
        &[("!is_at.is_of(current)", "point.q().iter().all(|v| *v == 0.0)")],
        ("invariance", "collapsed::a_step_begins_where_another_kernel_has_moved_the_chain"),
    ),
    mutant(
        "collapsed: output weights that cannot be drawn are no divergence",
        "src/sampler/compose/collapsed.rs",
        &[("step.divergent = true", "()")],
        ("invariance", "collapsed::a_step_whose_weights_cannot_be_drawn_is_taken_back_and_counted"),
    ),
    mutant(
        "collapsed: a step that was taken back counts as accepted",
        "src/sampler/compose/collapsed.rs",
        &[("step.accepted = false", "()")],
        ("invariance", "collapsed::a_step_whose_weights_cannot_be_drawn_is_taken_back_and_counted"),
    ),
    mutant(
        "collapsed: a draw that failed diverges where the chain stays",
        "src/sampler/compose/collapsed.rs",
        &[("self.draw_failed", "false")],
        ("invariance", "collapsed::a_step_whose_weights_cannot_be_drawn_is_taken_back_and_counted"),
    ),
    // Approximations.
    mutant(
        "Laplace: the evidence with log det H, not half of it",
        "src/approximate/laplace/mod.rs",
        &[(
            "0.5 * (d as f64 * ln(std::f64::consts::TAU) - log_det)",
            "0.5 * d as f64 * ln(std::f64::consts::TAU) - log_det",
        )],
        ("inference", "approximate_laplace::logistic_regression_is_that_of_mpmath"),
    ),
    mutant(
        "Laplace: draws by L^-1 in the place of its transpose",
        "src/approximate/laplace/precision.rs",
        &[("l.solve_lower_transpose(z)", "l.solve_lower(z)")],
        ("inference", "approximate_laplace::draws_have_the_stated_covariance"),
    ),
    mutant(
        "Laplace: the diagonal's draws by the precision in the place of its root",
        "src/approximate/laplace/precision.rs",
        &[("h.sqrt()", "*h")],
        ("inference", "approximate_laplace::draws_have_the_stated_covariance"),
    ),
    mutant(
        "Kronecker factors: A is not a mean",
        "src/posterior/kronecker.rs",
        &[("self.n_obs() as f64", "1.0")],
        ("inference", "approximate_laplace::kronecker_is_full_for_one_layer_and_one_row"),
    ),
    mutant(
        "Kronecker-factored Laplace: draws of another scale than the covariance",
        "src/approximate/laplace/kronecker.rs",
        &[("self.eigenvalues.mapv(f64::sqrt)", "self.eigenvalues.clone()")],
        ("inference", "approximate_laplace::draws_have_the_stated_covariance"),
    ),
    mutant(
        "Kronecker-factored Laplace: log det without the prior",
        "src/approximate/laplace/kronecker.rs",
        &[("units * prior", "0.0 * units * prior")],
        ("inference", "approximate_laplace::kronecker_factors_are_those_of_numpy"),
    ),
    mutant(
        "linearised model: the direction from the origin",
        "src/model/linearised.rs",
        &[("w - at", "w - 0.0 * at")],
        ("inference", "approximate_laplace::a_linearised_network_is_the_expansion_of_its_outputs"),
    ),
    mutant(
        "the last layer: rows of the Hessian by the numbers of a chunk",
        "src/posterior/second_order.rs",
        &[("chunk[j]", "coordinates[j]")],
        ("inference", "approximate_laplace::the_last_layer_is_a_part_of_the_whole_matrix"),
    ),
    // Iterates, masks, students.
    mutant(
        "SWAG: the diagonal whole beside the low-rank part",
        "src/approximate/swag.rs",
        &[("0.5f64.sqrt()", "1.0")],
        ("inference", "approximate::swags_moments_are_those_of_the_iterates"),
    ),
    mutant(
        "SWAG: the low-rank part by K in the place of K - 1",
        "src/approximate/swag.rs",
        &[("2.0 * (self.rank as f64 - 1.0)", "2.0 * self.rank as f64")],
        ("inference", "approximate::swags_moments_are_those_of_the_iterates"),
    ),
    mutant(
        "SWAG: squares about the mean before",
        "src/approximate/swag.rs",
        &[("before * (q - *mean)", "before * before")],
        ("inference", "approximate::swags_moments_are_those_of_the_iterates"),
    ),
    mutant(
        "SWAG: an iterate at the first step of each interval",
        "src/approximate/swag.rs",
        &[(
            "(step - self.burn_in).is_multiple_of(self.every)",
            "(step - self.burn_in + 1).is_multiple_of(self.every)",
        )],
        ("inference", "approximate::swags_moments_are_those_of_the_iterates"),
    ),
    mutant(
        "SWAG: an ascent that left its start is accepted",
        "src/approximate/swag.rs",
        &[("at_end < least", "at_end < -f64::MAX")],
        ("inference", "approximate::swags_settings_are_checked"),
    ),
    mutant(
        "dropout: units that are kept are not scaled",
        "src/approximate/masked.rs",
        &[("1.0 / (1.0 - self.rate)", "1.0")],
        ("inference", "approximate::a_masked_draw_predicts_what_the_masked_network_predicts"),
    ),
    mutant(
        "dropout: the gradient without the chain rule",
        "src/approximate/masked.rs",
        &[("*grad *= f", "*grad *= 1.0 + 0.0 * f")],
        ("inference", "approximate::dropout_minimises_the_expected_loss"),
    ),
    mutant(
        "dropout: no prior",
        "src/approximate/masked.rs",
        &[("*grad += *prior", "*grad += 0.0 * *prior")],
        ("inference", "approximate::dropout_minimises_the_expected_loss"),
    ),
    mutant(
        "distillation: the divergence the wrong way round",
        "src/approximate/distil.rs",
        &[("ln(*t) - ln(*s)", "ln(*s) - ln(*t)")],
        ("inference", "approximate::a_students_probabilities_and_entropy_are_those_of_the_draws"),
    ),
    mutant(
        "distillation: logits in the place of log probabilities",
        "src/approximate/distil.rs",
        &[("largest + ln(sum)", "largest + 0.0 * ln(sum)")],
        ("inference", "approximate::a_students_probabilities_and_entropy_are_those_of_the_draws"),
    ),
    mutant(
        "schedules: cycles that never begin again",
        "src/optimise/run.rs",
        &[("half_cosine(t % steps, *steps)", "half_cosine(t, *steps)")],
        ("inference", "approximate::cyclical_rates_fall_and_rise_again"),
    ),
    // Variational inference.
    mutant(
        "variational: the sign of the entropy",
        "src/approximate/variational/elbo.rs",
        &[("expectations.prior + entropy", "expectations.prior - entropy")],
        ("inference", "approximate_variational::the_entropy_of_the_normals_is_in_the_bound"),
    ),
    mutant(
        "variational: the entropy left out of the gradient",
        "src/approximate/variational/elbo.rs",
        &[("*d * sd + 1.0", "*d * sd")],
        ("inference", "approximate_variational::gradients_of_minibatches_are_unbiased"),
    ),
    mutant(
        "variational: the rows of a minibatch counted once beside a whole KL divergence",
        "src/approximate/variational/local.rs",
        &[("beta * weight", "beta")],
        ("inference", "approximate_variational::gradients_of_minibatches_are_unbiased"),
    ),
    mutant(
        "variational, local: variances times inputs that are not squared",
        "src/engine/noisy.rs",
        &[("h * h", "h.abs()")],
        (
            "inference",
            "approximate_variational::bound_of_a_linear_regression_misses_the_evidence_by_the_exact_kl_divergence",
        ),
    ),
    mutant(
        "variational, local: inputs left out of the way back through the variances",
        "src/engine/noisy.rs",
        &[("2.0 * h * *below_v", "0.0 * h * *below_v")],
        (
            "inference",
            "approximate_variational::gradients_are_the_derivatives_of_the_estimates_with_their_noise",
        ),
    ),
    mutant(
        "variational: the variance left out of the expectation of a normal prior",
        "src/approximate/variational/prior.rs",
        &[("(mean - m) * (mean - m) + sd * sd", "(mean - m) * (mean - m) + 0.0 * sd")],
        (
            "inference",
            "approximate_variational::local_noise_and_weight_samples_estimate_the_same_and_local_noise_varies_less",
        ),
    ),
    mutant(
        "variational: the noise of a sample left out of the gradient of its standard deviation",
        "src/approximate/variational/prior.rs",
        &[("self.grad[i] * self.noise[i]", "self.grad[i] * self.noise[i].abs()")],
        (
            "inference",
            "approximate_variational::a_correlated_gaussian_gives_the_factorised_optimum",
        ),
    ),
    mutant(
        "variational: the gradient of the likelihood's parameters by the rows of a minibatch",
        "src/approximate/variational/local.rs",
        &[("factor * *d_phi", "beta * *d_phi")],
        (
            "inference",
            "approximate_variational::gradients_are_the_derivatives_of_the_estimates_with_their_noise",
        ),
    ),
    mutant(
        "variational: draws with variances in place of standard deviations",
        "src/approximate/variational/fit.rs",
        &[("mean + sd * *q", "mean + sd * sd * *q")],
        ("inference", "approximate_variational::draws_are_the_fitted_normals"),
    ),
    // Figures and the report.
    mutant(
        "report, PIT: the curve without the uniform one taken off",
        "crates/report/src/figures/calibration/pit.rs",
        &[("share(*count) - z", "share(*count) - 0.0 * z")],
        ("report:figures", "calibration::transforms_are_those_of_numpy_and_scipy"),
    ),
    mutant(
        "report, reliability: a band around the accuracy",
        "crates/report/src/figures/calibration/reliability.rs",
        &[(
            "binomial_interval(bin.rows, bin.confidence, 1.0 - LEVEL)",
            "binomial_interval(bin.rows, bin.accuracy, 1.0 - LEVEL)",
        )],
        ("report:figures", "calibration::reliability_has_the_band_of_scipy"),
    ),
    mutant(
        "report, coverage of rows left out: intervals twice as wide",
        "crates/report/src/figures/calibration/coverage.rs",
        &[("(**u - 0.5).abs() <= 0.5 * level", "(**u - 0.5).abs() <= level")],
        ("report:figures", "calibration::coverage_of_rows_left_out_is_that_of_numpy"),
    ),
    mutant(
        "report, rank ECDF: a rank counts one place too early",
        "crates/report/src/figures/chains/rank_ecdf.rs",
        &[("own.partition_point(|rank| rank < t)", "own.partition_point(|rank| rank <= t)")],
        ("report:figures", "chains::rank_ecdfs_and_their_band"),
    ),
    mutant(
        "report, ranks: equal values in the order of the chains",
        "crates/report/src/figures/chains/mod.rs",
        &[("ties.swap(i, (rng.uniform() * (i + 1) as f64) as usize)", "()")],
        ("report:figures", "chains::ranks_of_equal_values_are_spread_out"),
    ),
    mutant(
        "report, autocorrelation: a band without the square root",
        "crates/report/src/figures/chains/autocorrelation.rs",
        &[("NORMAL_95 / (draws as f64).sqrt()", "NORMAL_95 / draws as f64")],
        ("report:figures", "chains::autocorrelations"),
    ),
    mutant(
        "report, running mean: divided by one more",
        "crates/report/src/figures/chains/running_mean.rs",
        &[("sum / (i + 1) as f64", "sum / (i + 2) as f64")],
        ("report:figures", "chains::running_means"),
    ),
    mutant(
        "report, predictions: the interval of the mean for the one of new observations",
        "crates/report/src/figures/predictive/cells.rs",
        &[("[of(&new.lower), of(&new.upper)]", "[of(&mean.lower), of(&mean.upper)]")],
        ("report:figures", "predictive::bands_are_those_of_numpy"),
    ),
    mutant(
        "report, predictions: averages over groups are sums",
        "crates/report/src/figures/predictive/curve.rs",
        &[(
            "rows.iter().map(|i| values[*i]).sum::<f64>() / rows.len() as f64",
            "rows.iter().map(|i| values[*i]).sum::<f64>()",
        )],
        ("report:figures", "predictive::curves_are_smooth_and_reach_the_last_row"),
    ),
    mutant(
        "report, residuals: quantiles at the ends of their shares",
        "crates/report/src/figures/predictive/residuals.rs",
        &[("(*k as f64 + 0.5) / n", "(*k as f64 + 1.0) / (n + 1.0)")],
        ("report:figures", "predictive::residuals_have_the_band_of_scipy"),
    ),
    mutant(
        "report, changes: from the observation, not from the last value",
        "crates/report/src/figures/predictive/changes.rs",
        &[("mean - last", "mean - y")],
        ("report:figures", "predictive::changes_are_differences_from_the_last_value"),
    ),
    mutant(
        "report, bands: one tail of twice the size",
        "crates/report/src/figures/calibration/band.rs",
        &[("binomial.inverse_cdf(1.0 - 0.5 * gamma)", "binomial.inverse_cdf(1.0 - gamma)")],
        ("report:lib", "figures::calibration::band::tests::the_band_is_the_one_of_scipy"),
    ),
    mutant(
        "report, baseline: a Brier score without the observed class",
        "crates/report/src/report/scores.rs",
        &[("squares + 1.0 - 2.0 * shares[class]", "squares - 2.0 * shares[class]")],
        ("report:lib", "report::scores::tests::the_baseline_knows_the_training_responses_only"),
    ),
    // The command.
    mutant(
        "command, predict: rows are numbered anew in each block",
        "crates/cli/src/predict.rs",
        &[("format!(\"{},{line}\", first + row)", "format!(\"{},{line}\", row)")],
        ("cli:command", "walk::a_large_table_is_predicted_in_blocks"),
    ),
    mutant(
        "command, predict: lines of the first block in each block",
        "crates/cli/src/predict.rs",
        &[("lines.get(first + row)", "lines.get(row)")],
        ("cli:command", "walk::a_large_table_is_predicted_in_blocks"),
    ),
    mutant(
        "command, predict: values above the range are not told",
        "crates/cli/src/predict.rs",
        &[("value < range.low || value > range.high", "value < range.low")],
        ("cli:command", "walk::predictions_name_the_lines_of_the_table"),
    ),
    mutant(
        "command, predict: values outside with the number of the next line",
        "crates/cli/src/predict.rs",
        &[(
            "Outside { row: line, value, range: range.clone() }",
            "Outside { row: line + 1, value, range: range.clone() }",
        )],
        ("cli:command", "walk::predictions_name_the_lines_of_the_table"),
    ),
    mutant(
        "command, compare: features of other rows are not looked at",
        "crates/cli/src/compare.rs",
        &[("x != y", "x != y && false")],
        ("cli:command", "refusals::runs_on_other_rows_are_not_compared"),
    ),
    mutant(
        "command, compare: rows that were chosen by other seeds",
        "crates/cli/src/compare.rs",
        &[("chosen(a.1)? != chosen(b.1)?", "false")],
        ("cli:command", "refusals::runs_on_other_rows_are_not_compared"),
    ),
    mutant(
        "command, fit: text is taken for a real response",
        "crates/cli/src/task.rs",
        &[("first.is_text", "first.is_text && false")],
        ("cli:command", "walk::the_kind_of_response_is_chosen_and_said_where_it_can_be_told"),
    ),
];
