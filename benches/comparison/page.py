"""Writes README.md and the figures of this folder from results.jsonl: `run.py` calls it."""

import json
import pathlib
import platform
import subprocess

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "bnn-mcmc", "svg.fonttype": "none", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import ticker  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROBLEMS = {
    "linear": "a linear regression with 1,000 rows, 10 parameters",
    "logistic": "a logistic regression with 351 rows, 35 parameters",
    "schools": "eight schools, not centred, 10 parameters",
    "summers": "a regression on the year itself, whose intercept and slope have a correlation of -0.9999, 3 parameters (posteriordb's kilpisjarvi)",
    "classes": "a network 4-3-3 with 150 rows of three classes, 27 parameters; quantities are probabilities at 20 rows",
    "network": "a network 4-5-1 with 200 rows, noise sampled, 31 parameters; quantities are outputs at 20 rows",
}
SAMPLERS = {
    "nuts": ("bnn-mcmc", "NUTS, defaults"),
    "nuts-variances": ("bnn-mcmc", "NUTS, variances of draws"),
    "nuts-dense": ("bnn-mcmc", "NUTS, dense metric of draws and gradients"),
    "mams": ("bnn-mcmc", "MAMS, defaults"),
    "nutpie": ("nutpie (nuts-rs)", "defaults"),
    "nutpie-tuned": ("nutpie (nuts-rs)", "low-rank metric"),
    "stan": ("Stan", "defaults"),
    "stan-tuned": ("Stan", "target 0.95"),
    "numpyro": ("NumPyro", "defaults"),
    "numpyro-tuned": ("NumPyro", "dense metric"),
    "blackjax": ("BlackJAX", "defaults"),
    "blackjax-tuned": ("BlackJAX", "dense metric"),
    "pymc": ("PyMC", "defaults"),
    "pymc-tuned": ("PyMC", "dense metric"),
}
OURS = ["nuts", "nuts-variances", "nuts-dense", "mams"]


def results():
    found = {}
    with (HERE / "results.jsonl").open() as file:
        for line in map(json.loads, file):
            found.setdefault((line["problem"], line["sampler"]), []).append(line)
    return found


class Reference:
    """Moments of the two long runs together, and how far they are apart."""

    def __init__(self, runs):
        means, squares = (np.array([run[key] for run in runs]) for key in ("means", "squares"))
        self.means, self.squares = means.mean(axis=0), squares.mean(axis=0)
        self.sd = np.sqrt(self.squares - self.means**2)
        # The standard deviation of the square of a normal variable with these moments.
        self.sd_of_squares = np.sqrt(2 * self.sd**4 + 4 * self.means**2 * self.sd**2)
        self.apart = np.sqrt(np.mean(((means[0] - means[1]) / self.sd) ** 2))

    def errors(self, runs):
        """Squared errors of means and of squares, each [seed], the mean over quantities."""
        means, squares = (np.array([run[key] for run in runs]) for key in ("means", "squares"))
        return (
            np.mean(((means - self.means) / self.sd) ** 2, axis=1),
            np.mean(((squares - self.squares) / self.sd_of_squares) ** 2, axis=1),
        )


def row(reference, runs):
    """What is said of a sampler on a problem."""
    good = [run for run in runs if "failed" not in run]
    said = {"failed": len(runs) - len(good)}
    if len(good) < 2:
        return said
    of = lambda key: np.array([run[key] for run in good], dtype=float)
    gradients, seconds = of("gradients").mean(), of("seconds").mean()
    for kind, errors in zip(("means", "squares"), reference.errors(good)):
        n = len(errors)
        # Of log(1 / error), leaving one seed out at a time.
        without = np.log((errors.sum() - errors) / (n - 1))
        said[kind] = {
            "error": np.sqrt(errors.mean()),
            "per_gradient": 1e3 / errors.mean() / gradients,
            "per_second": 1 / errors.mean() / seconds,
            "relative": np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)),
        }
    return said | {
        "gradients": gradients,
        "rate": gradients / seconds,
        "seconds": seconds,
        "divergences": of("divergences").sum(),
        "rhat": np.median(of("rhat")),
        "compile": good[0].get("compile_seconds"),
    }


def digits(x, n=2):
    """The number with so many digits, and commas."""
    if x == 0 or not np.isfinite(x):
        return str(x)
    places = max(0, n - 1 - int(np.floor(np.log10(abs(x)))))
    return f"{round(x, n - 1 - int(np.floor(np.log10(abs(x))))):,.{places}f}"


def table(rows):
    head = [
        "library", "settings", "error of means", "of squares", "effective draws per 1,000 gradients, of means", "of squares",
        "per second, of means", "of squares", "relative error of these", "gradients per second", "divergent", "failed", "R-hat", "compiling, s",
    ]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * 2 + " ---: |" * (len(head) - 2)]
    for name, said in rows.items():
        cells = list(SAMPLERS[name])
        if "means" in said:
            of = [said["means"], said["squares"]]
            cells += [digits(kind["error"]) for kind in of]
            cells += [digits(kind[key]) for key in ("per_gradient", "per_second") for kind in of]
            cells += [f"{100 * max(kind['relative'] for kind in of):.0f} %", digits(said["rate"])]
            cells += [f"{said['divergences']:.0f}", str(said["failed"]), f"{said['rhat']:.3f}"]
            cells += ["" if said["compile"] is None else digits(said["compile"])]
        else:
            cells += [""] * 9 + [str(said["failed"]), "", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figure(name, title, key, all_rows):
    fig, axes = plt.subplots(2, 3, figsize=(11, 7.2), sharey=True)
    names = list(SAMPLERS)[::-1]
    for axis, (problem, rows) in zip(axes.flat, all_rows.items()):
        for at, sampler in enumerate(names):
            said = rows.get(sampler, {})
            if "means" not in said:
                continue
            value, factor = said["means"][key], np.exp(said["means"]["relative"])
            colour = "#c0392b" if sampler in OURS else "#34495e"
            axis.plot([value / factor, value * factor], [at, at], color=colour, lw=1.5)
            axis.plot(value, at, "o", color=colour, ms=5)
        axis.set_xscale("log")
        low, high = axis.get_xlim()
        subs = (1.0, 2.0, 5.0) if high < 50 * low else (1.0,)
        axis.xaxis.set_major_locator(ticker.LogLocator(subs=subs))
        axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.10g}"))
        axis.xaxis.set_minor_formatter(ticker.NullFormatter())
        axis.set_title(problem)
        axis.grid(axis="x", which="major", color="#dddddd")
        axis.set_axisbelow(True)
    for axis in axes[:, 0]:
        axis.set_yticks(range(len(names)), [", ".join(SAMPLERS[sampler]) for sampler in names])
    fig.suptitle(title)
    fig.tight_layout()
    fig.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    plt.close(fig)


def better(all_rows):
    """A line for each problem and measure where a library is ahead of all of ours."""
    lines = []
    measures = [("per_gradient", "for each gradient"), ("per_second", "for each second")]
    for problem, rows in all_rows.items():
        for key, words in measures:
            value = lambda sampler: rows[sampler]["means"][key]
            there = [sampler for sampler in rows if "means" in rows[sampler]]
            ours = max((s for s in there if s in OURS), key=value)
            is_ahead = lambda s, of: s not in OURS and value(s) > 1.05 * value(of)
            ahead = sorted((s for s in there if is_ahead(s, ours)), key=value, reverse=True)
            if ahead:
                of = [f"{' with '.join(SAMPLERS[s])} {digits(value(s) / value(ours))} times" for s in ahead]
                lines.append(f"- {problem}, {words}: {'; '.join(of)} as many as the best of ours ({SAMPLERS[ours][1]}).")
            defaults = [s for s in there if not s.endswith("-tuned") and is_ahead(s, "nuts")]
            if defaults and "nuts" != ours:
                of = [f"{SAMPLERS[s][0]} {digits(value(s) / value('nuts'))} times" for s in sorted(defaults, key=value, reverse=True)]
                lines.append(f"- {problem}, {words}, NUTS by its defaults: {'; '.join(of)} as many as ours.")
    return "\n".join(lines) or "- Nothing that was measured here."


def short(all_rows):
    """For each problem, how many times the best of all others our defaults and the best of ours are, per second."""
    said = []
    for problem, rows in all_rows.items():
        value = {name: of["means"]["per_second"] for name, of in rows.items() if "means" in of}
        theirs = max(of for name, of in value.items() if name not in OURS)
        ours = max(of for name, of in value.items() if name in OURS)
        said.append(f"{problem} {digits(value['nuts'] / theirs)} times (NUTS by its defaults), {digits(ours / theirs)} times (the best of ours)")
    return "; ".join(said)


LIBRARIES = {
    "ours": ("bnn-mcmc", "defaults: the data choose the model"),
    "ours-ensemble": ("bnn-mcmc", "ensemble (no posterior)"),
    "ours-collapsed": ("bnn-mcmc", "network of 16, collapsed MAMS"),
    "ours-nuts": ("bnn-mcmc", "network of 16, NUTS"),
    "numpyro": ("NumPyro", "the same network, NUTS"),
    "numpyro-example": ("NumPyro", "the network of its example, NUTS"),
    "bde": ("bde", "as constructed"),
    "bde-tuned": ("bde", "settings of its quick start"),
    "torch": ("PyTorch", "ensemble of 5, 40 epochs"),
    "torch-tuned": ("PyTorch", "ensemble of 5, stopped early"),
    "sklearn-mlp": ("scikit-learn", "5 MLPs, stopped early"),
    "sklearn-boosting": ("scikit-learn", "gradient boosting"),
    "sklearn-ridge": ("scikit-learn", "Bayesian ridge regression"),
    "sklearn-gp": ("scikit-learn", "Gaussian process"),
}
TABLES = {
    "diabetes": "353 rows of training, 89 of test, 10 features; three splits",
    "boston": "404 rows of training, 102 of test, 13 features; two splits",
    "abalone": "1,000 rows of training, 3,177 of test, 10 features; one split",
}


class OfTable:
    """What is said of a library on a table: means over the splits on which it did not fail."""

    def __init__(self, lines):
        good = [line for line in lines if "failed" not in line]
        self.failed = [line["failed"] for line in lines if "failed" in line]
        self.lines = good
        if not good:
            return
        mean = lambda key: float(np.mean([line[key] for line in good]))
        self.seconds, self.rmse, self.density, self.coverage = map(mean, ("seconds", "rmse", "density", "coverage"))
        behind = np.array([line.get("behind", [np.nan, np.nan]) for line in good])
        self.ahead = behind[:, 0].mean()
        # Over the rows of the tests, or, if that is more, between splits.
        self.se = np.sqrt(np.sum(behind[:, 1] ** 2)) / len(behind)
        if len(behind) > 1:
            self.se = max(self.se, behind[:, 0].std(ddof=1) / np.sqrt(len(behind)))
        self.rhat = max((line["rhat"] for line in good if "rhat" in line), default=None)


def of_tables():
    found = {table: {} for table in TABLES}
    with (HERE / "tables.jsonl").open() as file:
        for line in map(json.loads, file):
            # What ran again replaces what was there.
            found[line["table"]].setdefault(line["library"], {})[line["split"]] = line
    return {table: {name: OfTable(list(of[name].values())) for name in LIBRARIES if name in of} for table, of in found.items()}


def table_of(rows):
    head = ["library", "settings", "log density", "ahead of our defaults by", "RMSE", "coverage of 90 % intervals", "seconds", "R-hat", "failed"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * 2 + " ---: |" * (len(head) - 2)]
    for name, said in rows.items():
        cells = list(LIBRARIES[name])
        if said.lines:
            chosen = sorted({line["model"] for line in said.lines if line.get("model")})
            if chosen:
                cells[1] += f" (`{'`, `'.join(chosen)}`)"
            cells += [f"{said.density:.3f}", "" if name == "ours" else f"{said.ahead:+.3f} +- {said.se:.3f}"]
            cells += [digits(said.rmse, 3), f"{said.coverage:.2f}", digits(said.seconds)]
            cells += ["" if said.rhat is None else f"{said.rhat:.3f}"]
        else:
            cells += [""] * 6
        cells.append("; ".join(f"{said.failed.count(why)} {why}" for why in sorted(set(said.failed))) or "0")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def better_on_tables(found):
    """A line for each table: who is ahead of our defaults."""
    lines = []
    for table, rows in found.items():
        ours, said = rows["ours"], []
        if not ours.lines:
            lines.append(f"- {table}: our defaults failed.")
            continue
        others = {name: of for name, of in rows.items() if of.lines and not name.startswith("ours")}
        name_of = lambda name: ", ".join(LIBRARIES[name])
        denser = sorted((name for name in others if others[name].ahead > 0), key=lambda name: -others[name].ahead)
        if denser:
            said.append("log density: " + "; ".join(f"{name_of(name)} {others[name].ahead:+.3f} +- {others[name].se:.3f}" for name in denser))
        nearer = sorted((name for name in others if others[name].rmse < ours.rmse), key=lambda name: others[name].rmse)
        if nearer:
            said.append(f"RMSE ({digits(ours.rmse, 3)}): " + "; ".join(f"{name_of(name)} {digits(others[name].rmse, 3)}" for name in nearer))
        faster = sorted((name for name in others if others[name].seconds < ours.seconds), key=lambda name: others[name].seconds)
        if faster:
            said.append(f"seconds ({digits(ours.seconds)}): " + "; ".join(f"{name_of(name)} {digits(others[name].seconds)}" for name in faster))
        lines.append(f"- {table}, beside our defaults. " + ". ".join(said or ["Nothing"]) + ".")
    return "\n".join(lines)


def acceptance():
    """The tables of `crates/studies/src/acceptance.rs`: of each set one with a row for each sampler and a column for each rate."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (HERE / "acceptance.md").read_text().splitlines()[2:]]
    sets, rates = dict.fromkeys(row[0] for row in rows), dict.fromkeys(row[2] for row in rows)
    tables = []
    for of in sets:
        lines = [f"| {of} | " + " | ".join(rates) + " |", "| --- |" + " ---: |" * len(rates)]
        for sampler in dict.fromkeys(row[1] for row in rows if row[0] == of):
            cells = {row[2]: row for row in rows if row[:2] == [of, sampler]}
            best = max(float(row[5]) for row in cells.values())
            least = lambda row: f"**{row[5]}**" if float(row[5]) == best and float(row[4]) <= 1.01 else row[5]
            lines.append(f"| {sampler} | " + " | ".join(f"{least(cells[rate])} ({cells[rate][4]})" for rate in rates) + " |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def versions(requirements, *names):
    locked = dict(line.split("==") for line in (HERE / requirements).read_text().split() if "==" in line)
    return ", ".join(f"{name} {locked[name]}" for name in names)


def main():
    found, all_rows, references = results(), {}, {}
    for problem in PROBLEMS:
        runs = [found[problem, name][0] for name in ("long", "nutpie-long")]
        references[problem] = Reference(runs)
        there = [name for name in SAMPLERS if (problem, name) in found]
        all_rows[problem] = {name: row(references[problem], found[problem, name]) for name in there}
    figure("per_second", "Effective draws per second of one core, by the error of means", "per_second", all_rows)
    figure("per_gradient", "Effective draws per 1,000 gradients, by the error of means", "per_gradient", all_rows)
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    tables = [
        f"**{problem}**: {words}. The two long runs are {digits(references[problem].apart)} standard deviations apart "
        f"(root mean square over quantities).\n\n{table(all_rows[problem])}"
        for problem, words in PROBLEMS.items()
    ]
    found = of_tables()
    page = TEXT.format(
        better=better(all_rows),
        short=short(all_rows),
        tables="\n\n".join(tables),
        processor=processor(),
        rustc=rustc,
        versions=versions("requirements.txt", "nutpie", "pystan", "httpstan", "numpyro", "blackjax", "jax", "pymc", "pytensor"),
        better_on_tables=better_on_tables(found),
        of_tables="\n\n".join(f"**{name}**: {TABLES[name]}.\n\n{table_of(rows)}" for name, rows in found.items()),
        versions_of_tables=versions("requirements-tables.txt", "numpyro", "jax", "sklearn-contrib-bde", "torch", "scikit-learn"),
        acceptance=acceptance(),
        linear=(HERE / "linear.md").read_text().strip(),
    )
    (HERE / "README.md").write_text(page)


TEXT = """# Comparison with other libraries

<!-- Written by page.py: change it there. -->

Three parts: [samplers](#samplers) on the same densities, [regressions of real tables](#regressions-of-real-tables), and which [acceptance rate](#acceptance-rates-of-networks) samplers of networks
should aim at. `python3 benches/comparison/run.py` makes all of it anew from the versions in `requirements.txt` and `requirements-tables.txt`, in less than three hours on two idle cores;
the lines behind it are in `results.jsonl`, `tables.jsonl`, `acceptance.md` and `linear.md`.

## Samplers

The same log densities, to 1e-10 at 20 points, from the same four starting points, in double precision, on one core: four chains of 1,000 iterations of
warm-up and 1,000 draws, ten seeds. Every other library runs with its own defaults, and once more with what its documentation has for correlated posteriors; ours runs with four settings, and the best of four noisy numbers is a little
too good. Our densities of `schools` and `summers`, with their gradients, are written by hand in Rust, as a user of this crate would, where the others differentiate theirs.

**In short**, effective draws per second beside the best of all others: {short}.

**What others do better.** Effective draws of means, where a library has at least 5 % more (the tables have the errors of these numbers, many of
which are larger than that):

{better}

![Effective draws per second](per_second.svg)

![Effective draws per 1,000 gradients](per_gradient.svg)

**How it is measured.** The error of a run is that of the mean of each quantity over its 4,000 draws, in standard deviations of the quantity, against the mean of two long
runs: NUTS of this crate and nutpie's, each of four chains of 25,000 draws with a target acceptance of 0.9. With mean squared errors b2, over quantities and seeds, 1 / b2 is
the number of independent draws that would have the same error: the effective draws, which no sampler can claim by an estimate of its own. It is the same for the squares
of the quantities, whose standard deviations are taken as those of a normal variable (squares of probabilities near 0 and 1 vary more, so that errors of squares look larger in `classes`, for all
samplers alike). BlackJAX's defaults are NUTS after its window adaptation. Gradients and seconds include warm-up. Seconds are CPU seconds of one core, without
compilation, which has a column of its own, and of Stan, whose processes cannot be watched, seconds of the clock; PyMC's are those that it counts for its iterations, and it keeps what it has compiled before. The relative error is of effective draws, by
leaving out one seed at a time. Divergences are of all ten seeds together, R-hat is the median over seeds of the largest one. Nothing is left out: a run that failed is counted.

"dense metric" is the whole covariance matrix; ours of draws and gradients is `Preconditioner::DenseFromGradients`. Our defaults are the scales of each coordinate from draws and gradients. PyMC begins without its jitter, so that starts are the same. PyStan has no dense metric: its second row has a target acceptance
of 0.95, which is its advice against divergences.

{tables}

**Versions and machine.** This crate by rustc {rustc}, profile of `cargo bench`; {versions}. Two cores of {processor}, one job on each. The rows "variances of draws" and "dense metric of draws and gradients"
were measured a day after all others; our two other rows, run again then, were 6 to 32 % faster than the day before. Stan needs a C++ compiler.

## Regressions of real tables

`tables.py` says what each row is. All libraries have the same standardised rows; scores are those of test rows that no library has seen, in units of the response: the mean log predictive density (nats), the difference to that of
our defaults with its standard error over test rows or between splits, whichever is larger, the error of the mean, and the share of test rows in 90 % intervals. Seconds are of the clock for one fit on two cores with nothing else running, with all
compilation and without imports, as a user waits for it; a fit may take 900. R-hat is the largest one of the mean function at 200 test rows, the largest of the splits, of chains of 100 draws and more. NumPyro's and our NUTS have the
same density on the same network, and equal scores up to Monte Carlo error where both have converged. JAX and PyTorch compute with 32 bits, as they do by default.

**What others do better.** Who is ahead of our defaults, however little, in the mean over splits:

{better_on_tables}

{of_tables}

**Versions.** {versions_of_tables}; PyTorch and JAX on processors.

## Acceptance rates of networks

The tutorial of Chandra and others (2024, arXiv:2304.02595) asks which acceptance rate samplers of networks should aim at, since the rates of theory (0.574 for MALA, 0.651 for trajectories) are of products of many equal densities.
`crates/studies/src/acceptance.rs` adapts each sampler to seven rates on the posteriors that `Fit` builds, each run with 300,000 gradients a chain: effective draws of the least well known of 50 predictions for 1,000 gradients, and in brackets
R-hat of the predictions. Bold is the best rate of a sampler whose chains agree there (R-hat of at most 1.01). One seed.

{acceptance}

- Where chains agree, effective draws depend little on the rate: from 0.574 to 0.9 those of HMC, NUTS, MAMS and both collapsed samplers are within a factor of 1.45 of the best, and they are fewer at 0.98. Our defaults (0.8 of NUTS and HMC; 0.9 of MAMS and of
  collapsed samplers) are in that range. MALA has most at 0.574, the rate of theory, and half of that at 0.9.
- Where chains do not agree, no rate makes them: of the 42 runs on boston's network, R-hat is 1.16 at best. Integrating the output layer out is worth more than any rate: on sunspot's network R-hat is 1.02 and more without it, whatever the
  rate, and 1.003 to 1.010 with it from 0.574 on.
- Rates are not reached where geometry varies: MALA on sunspot's network accepts 5 to 52 % whatever it aims at.

**Ensembles of linear models**, which the tutorial's discussion suggests in the place of networks (`--linear`; 20 of them, each on a bootstrap sample of the rows, 4 chains of 1,000 + 1,000; one split, one seed): they converge, as one linear model
does, and predict about like it. Where the network is much better, on boston, they are not.

{linear}
"""

main()
