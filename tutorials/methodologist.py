# %% [markdown]
# # For a methodologist
#
# You have a method of your own, or a prior, and want to know how well it does. Everything that ships is an object of
# the same kind as yours: a method, a recipe for training, a benchmark. This page needs `pip install 'ivicl[train]'`.
#
# ## A method of your own
#
# A function from data to bounds, and an object that says what they assume. This one believes that the effect is
# the same for everybody, give or take a share of the outcome's range.

# %%
from dataclasses import dataclass

from ivicl import IVBounds, compare, datasets
from ivicl.methods import Estimates, Method, MethodBounds


@dataclass(frozen=True)
class Options:
    spread: float = 0.1


def bounds(data, request):
    def mean(column, arm):
        here = data.z == arm
        return data.w[here] @ column[here] / data.w[here].sum()

    effect = (mean(data.y, 1) - mean(data.y, 0)) / (mean(data.t, 1) - mean(data.t, 0))
    side = request.own.spread * (data.outcome_range[1] - data.outcome_range[0])
    return MethodBounds(
        float(effect - side),
        float(effect + side),
        estimates=Estimates(float(effect), float(effect)),
    )


mine = Method(
    name="nearly-equal",
    label="Nearly equal effects",
    load=bounds,
    interval="estimate",
    summary="Wald's ratio, give or take",
    assumptions=(
        "exchangeable",
        "exclusion",
        "no-interference",
        "Effects differ by at most the spread.",
    ),
    options=Options,
)
trial = datasets.load("vitamin_a")
roles = dict(outcome="y", treatment="t", instrument="z", weights="people")
IVBounds(mine, spread=0.02).fit(trial, **roles)

# %% [markdown]
# That is all: summary, ladder, report, `fit_many` and the command line read the object. Beside other methods:

# %%
methods = ["balke-pearl", "ivicl", IVBounds(mine, spread=0.02)]
compare(trial, methods=methods, **roles).plot()

# %% [markdown]
# ## A prior of your own, and a tiny retrain
#
# The network is what it was trained on: tables drawn from [the prior](../prior.md). Its concentration `gamma`
# says how many types of people are common in a study: the smaller, the fewer. A recipe is a file with the stages of a
# training run; `smoke` is the smallest that has all parts, and what it learns in seconds is worth nothing. It shows the
# way from a prior to a model file, no more.

# %%
from pathlib import Path

from ivicl.learn.prior import PriorConfig
from ivicl.learn.recipes.recipe import load_recipe
from ivicl.learn.recipes.stages import run_recipe

print("the prior that ships: gamma =", PriorConfig().gamma)
recipe = load_recipe("smoke")
for stage in recipe.stages:
    print(f"stage {stage.name}: {stage.config.steps} steps, from {stage.start or 'nothing'}")

# %%
last = run_recipe(recipe, Path("runs"), {"prior.gamma": 0.2}, progress=False)
files = [path for path in Path("runs").rglob("*") if path.is_file()]
print("\n".join(sorted(path.relative_to("runs").as_posix() for path in files)))

# %% [markdown]
# The same on the command line, with the export: `ivicl train --recipe smoke --set prior.gamma=0.2 -o runs/mine`. A real
# run takes hours ([training](../training.md)). Here, the export and a fit with what came out:

# %%
from ivicl.learn.export import export
from ivicl.learn.training.run import result_of

network, record = result_of(last)
export(network, Path("mine.onnx"), record)
toy = IVBounds(model="mine.onnx").fit(trial, **roles)
good = IVBounds().fit(trial, **roles)
for label, res in (("a few steps of training", toy), ("the model that ships", good)):
    low, high = res.posterior.interval(0.05)
    print(f"{label:<24} set {res.lower:+.3f} to {res.upper:+.3f}   effect {low:+.3f} to {high:+.3f}")

# %% [markdown]
# The two hardly differ on the identified set: with many people and no covariates its ends lie close to a plug-in
# estimate, and the graph computes the estimate and its standard error without learning. The posterior of the effect has
# to be learnt, and there the toy knows nothing yet.

# %% [markdown]
# ## A benchmark
#
# One file adds a benchmark: how a data set is drawn, and the truth that only a simulation knows. Here half of the
# people comply and the effect is the same among compliers as among everybody, which is just what our method believes.

# %%
import numpy as np
from IPython.display import Markdown

from ivicl import IVData
from ivicl.benchmarks import compare as tables
from ivicl.benchmarks.base import Benchmark
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.plan import plan
from ivicl.benchmarks.runner import run_jobs
from ivicl.benchmarks.store import RunStore


def half_comply(setting, seed):
    rng = np.random.default_rng(seed)
    z, complies = rng.integers(0, 2, 600), rng.random(600) < 0.5
    t = np.where(complies, z, rng.integers(0, 2, 600))
    y = rng.random(600) < 0.3 + 0.3 * t
    data = IVData.from_arrays(z=z, t=t, y=y)
    return BenchmarkDataset(data=data, effect=0.3, sharp_width=0.5)


benchmark = Benchmark(
    name="half", title="half comply", make=half_comply, settings=("default",), binary=True
)
methods = ["ivicl", "balke-pearl", "late"]
jobs = plan(benchmark, ["default"], range(10), methods, alpha=0.05)
runs = run_jobs(jobs, RunStore(Path("bench")), progress=False)
Markdown(tables.to_markdown(tables.tables_of(runs, benchmark)))

# %% [markdown]
# *Validity* is the share of intervals that hold the true effect; the columns *paper* are empty, because the paper has no
# such benchmark. Methods and benchmarks that an installed package names in its entry points are known to the command
# line too (`ivicl bench half --methods nearly-equal,ivicl`); an object at hand can be asked directly:

# %%
cases = [benchmark.dataset("default", seed) for seed in range(10)]
for spread in (0.02, 0.1, 0.3):
    found = [IVBounds(mine, spread=spread).fit_data(case.data) for case in cases]
    pairs = zip(cases, found, strict=True)
    held = sum(case.valid(each.lower, each.upper) for case, each in pairs)
    print(f"spread {spread:4}: width {2 * spread:.2f}, holds the truth in {held} of {len(cases)}")

# %% [markdown]
# A belief, even a true one, is no allowance for sampling error: effects are equal here, as our method believes, and it
# still misses where its spread is small. Ten data sets show the way; they prove nothing.

# %% [markdown]
# Next: [how it works](../method.md), [the prior](../prior.md), [training](../training.md), [the model
# file](../model-file.md), [benchmarks](../benchmarks.md), and CONTRIBUTING.md for entry points of your own package.
