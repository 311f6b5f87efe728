"""NUTS of another library on a problem of `main.rs`: a line of JSON for each seed, as that prints.

usage: peers.py PEER PROBLEM.json NAME SEED..      PEER: numpyro, blackjax, pymc, nutpie, stan, each also with `-tuned`; nutpie-long

Four chains, one after the other, from the same starts as ours, 1,000 iterations of warm-up and 1,000 draws each, one core. Each
library has its own defaults; tuned is what its documentation has for correlated posteriors: a dense metric, of nutpie the low-rank one, and
of Stan a target acceptance of 0.95, since PyStan has no dense metric. The long run, of 25,000 draws with a target acceptance of 0.9, is a reference. Seconds are CPU seconds (of Stan wall time) without compilation, which is
`compile_seconds`.
"""

import json
import os
import resource
import sys
import tempfile
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
warnings.simplefilter("ignore")

import numpy as np
import problems

WARMUP, DRAWS, CHAINS = 1000, 1000, 4


def clock():
    """CPU seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def jax_peer(chain_of):
    """A sampler whose `chain(seed, chain, start)` gives draws, gradients and divergences, compiled by its first call."""

    def peer(name, problem, tuned):
        density = problems.jax_density(name, problem["data"])
        problems.check(problem, density)
        starts = np.asarray(problem["starts"])
        chain = chain_of(density, tuned)
        began = clock()
        chain(0, starts[0])
        first = clock() - began
        began = clock()
        chain(0, starts[0])
        compile_seconds = max(0.0, first - (clock() - began))

        def run(seed):
            began = clock()
            chains = [chain(100 * seed + c, start) for c, start in enumerate(starts)]
            seconds = clock() - began
            draws, gradients, divergences = zip(*chains)
            return np.stack(draws), sum(gradients), sum(divergences), seconds

        return run, compile_seconds

    return peer


def numpyro(density, tuned):
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import hmc

    init, step = hmc(lambda q: -density(q), algo="NUTS")

    @jax.jit
    def thousand(state):  # iterations are of warm-up while there are fewer than WARMUP
        def one(state, _):
            state = step(state)
            return state, (state.z, state.num_steps, state.diverging)

        return jax.lax.scan(one, state, None, DRAWS)

    def chain(seed, start):
        state = init(jnp.asarray(start), WARMUP, dense_mass=tuned, rng_key=jax.random.PRNGKey(seed))
        state, (_, warm, _) = thousand(state)
        _, (draws, steps, divergent) = thousand(state)
        return np.asarray(draws), int(warm.sum()) + int(steps.sum()), int(divergent.sum())

    return chain


def blackjax(density, tuned):
    import blackjax
    import jax
    import jax.numpy as jnp

    warm = blackjax.window_adaptation(
        blackjax.nuts,
        density,
        is_mass_matrix_diagonal=not tuned,
        adaptation_info_fn=lambda state, info, adaptation: info.num_integration_steps,
    )

    @jax.jit
    def all_of(key, start):
        first, second = jax.random.split(key)
        (state, parameters), steps = warm.run(first, start, WARMUP)
        kernel = blackjax.nuts(density, **parameters)

        def one(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return steps.sum(), jax.lax.scan(one, state, jax.random.split(second, DRAWS))[1]

    def chain(seed, start):
        steps, (draws, later, divergent) = all_of(jax.random.PRNGKey(seed), jnp.asarray(start))
        return np.asarray(draws), int(steps) + int(later.sum()), int(divergent.sum())

    return chain


def check_pymc(model, starts, problem, name):
    """The model's log density, with the Jacobians of its transforms, at the 20 points."""
    log_density = model.compile_logp(jacobian=True)
    logarithms = problems.VARIABLES[name][1]

    def of(theta):
        values = starts(theta)
        for variable in logarithms:
            values[f"{variable}_log__"] = np.log(values.pop(variable))
        return log_density({key: np.asarray(value) for key, value in values.items()})

    # PyMC has constants of priors, such as the logarithms of scales, in single precision.
    first = of(np.asarray(problem["points"][0])) - problem["log_densities"][0]
    assert abs(first) < 1e-5, f"a constant of {first}"
    problems.check(problem, lambda theta: of(theta) - first)


def pymc(name, problem, tuned):
    import pymc as pm

    model, starts = problems.pymc_model(name, problem["data"])
    check_pymc(model, starts, problem, name)
    init = "adapt_full" if tuned else "adapt_diag"  # the default without jitter of the starts
    began = clock()
    with model:
        pm.NUTS()
    compile_seconds = clock() - began

    def run(seed):
        with model:
            trace = pm.sample(
                draws=DRAWS,
                tune=WARMUP,
                chains=CHAINS,
                cores=1,
                random_seed=seed,
                init=init,
                initvals=[starts(np.asarray(q)) for q in problem["starts"]],
                discard_tuned_samples=False,
                compute_convergence_checks=False,
                progressbar=False,
            )
        both = [trace.warmup_sample_stats, trace.sample_stats]
        gradients = sum(int(stats["n_steps"].sum()) for stats in both)
        seconds = sum(float(stats["process_time_diff"].sum()) for stats in both)
        divergences = int(trace.sample_stats["diverging"].sum())
        return problems.flat(name, trace.posterior), gradients, divergences, seconds

    return run, compile_seconds


def nutpie(name, problem, tuned, long=False):
    import dataclasses

    import nutpie

    model, starts = problems.pymc_model(name, problem["data"])
    check_pymc(model, starts, problem, name)
    began = clock()
    compiled = nutpie.compile_pymc_model(model)
    compile_seconds = clock() - began
    settings = dict(tune=WARMUP, chains=1, cores=1, progress_bar=False, low_rank_modified_mass_matrix=tuned)
    settings.update(dict(draws=25_000, target_accept=0.9) if long else dict(draws=DRAWS))

    def run(seed):
        draws, gradients, divergences, seconds = [], 0, 0, 0.0
        for c, start in enumerate(problem["starts"]):
            start = np.asarray(start)
            from_start = dataclasses.replace(compiled, initial_point_func=lambda seed, start=start: start)
            began = clock()
            trace = nutpie.sample(from_start, seed=100 * seed + c, **settings)
            seconds += clock() - began
            draws.append(problems.flat(name, trace.posterior)[0])
            gradients += sum(int(of["n_steps"].sum()) for of in (trace.warmup_sample_stats, trace.sample_stats))
            divergences += int(trace.sample_stats["diverging"].sum())
        return np.stack(draws), gradients, divergences, seconds

    return run, compile_seconds


def stan(name, problem, tuned):
    # Neither programs nor draws of an earlier run.
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    import stan

    data = problems.stan_data(name, problem["data"])
    began = time.perf_counter()
    model = stan.build(problems.STAN[name], data=data)
    compile_seconds = time.perf_counter() - began
    problems.check(problem, lambda theta: model.log_prob(list(theta)))
    more = {"delta": 0.95} if tuned else {}

    def run(seed):
        inits = [problems.stan_starts(name, q) for q in problem["starts"]]
        # The program is compiled already.
        model = stan.build(problems.STAN[name], data=data, random_seed=seed)
        # Its processes are not waited for, so that their CPU time is not known: the time on a core that nothing else uses.
        began = time.perf_counter()
        fit = model.sample(num_chains=CHAINS, num_samples=DRAWS, num_warmup=WARMUP, save_warmup=True, init=inits, **more)
        seconds = time.perf_counter() - began
        # [chain, draw, element]
        of = lambda key: np.asarray(fit[key]).reshape(-1, WARMUP + DRAWS, CHAINS).transpose(2, 1, 0)
        posterior = {variable: of(variable)[:, WARMUP:] for variable in problems.VARIABLES[name][0]}
        divergences = int(of("divergent__")[:, WARMUP:].sum())
        return problems.flat(name, posterior), int(of("n_leapfrog__").sum()), divergences, seconds

    return run, compile_seconds


def largest_rhat(values):
    import arviz

    return float(arviz.rhat(arviz.convert_to_dataset({"f": values}))["f"].max())


PEERS = {"numpyro": jax_peer(numpyro), "blackjax": jax_peer(blackjax), "pymc": pymc, "nutpie": nutpie, "stan": stan}


def main():
    peer, path, name, *seeds = sys.argv[1:]
    with open(path) as file:
        problem = json.load(file)
    library, _, more = peer.partition("-")
    settings = {"long": True} if more == "long" else {}
    run, compile_seconds = PEERS[library](name, problem, more == "tuned", **settings)
    x = np.asarray(problem["data"].get("x", []))
    for seed in map(int, seeds):
        try:
            draws, gradients, divergences, seconds = run(seed)
            values = np.stack([problems.quantities(name, chain, x) for chain in draws])
            assert np.isfinite(values).all(), "draws that are not finite"
        except Exception as error:
            line = {"seed": seed, "failed": f"{type(error).__name__}: {error}"}
        else:
            line = {
                "seed": seed,
                "means": values.mean(axis=(0, 1)).tolist(),
                "squares": (values**2).mean(axis=(0, 1)).tolist(),
                "gradients": gradients,
                "seconds": seconds,
                "divergences": divergences,
                "rhat": largest_rhat(values),
                "compile_seconds": compile_seconds,
            }
        print(json.dumps(line), flush=True)


main()
