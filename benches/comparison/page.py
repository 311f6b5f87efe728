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
    "nuts-dense": ("bnn-mcmc", "NUTS, dense metric"),
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
OURS = ["nuts", "nuts-dense", "mams"]


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


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def versions():
    names = ["nutpie", "pystan", "httpstan", "numpyro", "blackjax", "jax", "pymc", "pytensor"]
    locked = dict(line.split("==") for line in (HERE / "requirements.txt").read_text().split() if "==" in line)
    return ", ".join(f"{name} {locked[name]}" for name in names if name in locked)


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
    page = TEXT.format(
        better=better(all_rows), tables="\n\n".join(tables), processor=processor(), rustc=rustc, versions=versions()
    )
    (HERE / "README.md").write_text(page)


TEXT = """# The samplers beside others

<!-- Written by page.py: change it there. -->

The same log densities, to 1e-10 at 20 points, from the same four starting points, in double precision, on one core: four chains of 1,000 iterations of
warm-up and 1,000 draws, ten seeds. Every library runs with its own defaults, and once more with what its documentation has for correlated posteriors.

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

"dense metric" is the whole covariance matrix. PyMC begins without its jitter, so that starts are the same. PyStan has no dense metric: its second row has a target acceptance
of 0.95, which is its advice against divergences.

{tables}

**Versions and machine.** This crate by rustc {rustc}, profile of `cargo bench`; {versions}. Two cores of {processor}, one job on each. All lines are in `results.jsonl`,
with the moments of each run; `python3 benches/comparison/run.py` makes everything anew from the versions in `requirements.txt`, in some two hours. Stan needs a C++ compiler.
"""

main()
