# %% [markdown]
# # For a lift team
#
# You run lift tests by the thousand: a random half of the audience may be shown the ad, some of them see it,
# and you want one row per campaign, in the warehouse, by tomorrow. Nobody looks at every result, so each has
# to say for itself when it cannot be trusted. The campaigns here are made up, with a fixed seed; put your table in
# their place.

# %%
import numpy as np
import polars as pl

from ivicl import IVBounds

rng = np.random.default_rng(0)
rows = []
for campaign in range(40):
    people, reach = rng.integers(20_000, 400_000), rng.uniform(0.2, 0.9)
    keen = rng.uniform(1.0, 2.0)  # those who are reached buy more often, ad or no ad
    lift = rng.choice([0.0, 0.0, 0.003, 0.006])
    offered = rng.binomial(people, 0.5)
    arms = (people - offered, offered)
    would_see = [rng.binomial(arm, reach) for arm in arms]
    seers = [rng.binomial(would_see[z], 0.02 * keen + z * lift) for z in (0, 1)]
    others = [rng.binomial(arms[z] - would_see[z], 0.02) for z in (0, 1)]
    for z, t, size, bought in (
        (0, 0, people - offered, seers[0] + others[0]),
        (1, 0, offered - would_see[1], others[1]),
        (1, 1, would_see[1], seers[1]),
    ):
        rows += [(campaign, z, t, 1, bought), (campaign, z, t, 0, size - bought)]
columns = ["campaign", "offered", "saw", "bought", "people"]
tests = pl.DataFrame(rows, schema=columns, orient="row")
tests.head(6)

# %% [markdown]
# The table is a `GROUP BY campaign, offered, saw, bought` with a count. For discrete columns that loses
# nothing: a billion rows and their counts give the same answer.
#
# ## One row per campaign

# %%
roles = dict(
    by="campaign", outcome="bought", treatment="saw", instrument="offered",
    weights="people",
)
bounds = IVBounds().fit_many(tests, **roles)
columns = ["att_lower", "att_upper", "lift_lower", "lift_upper", "itt_estimate", "grade"]
bounds.select("campaign", "n", *columns).head(8)

# %% [markdown]
# Which column is the answer depends on the question:
#
# | you ask | column | why |
# |---|---|---|
# | What did the ad do to those who saw it? | `att_*` | nobody else could see it, so this is a number with an interval |
# | By what share did it raise their buying? | `lift_*` | the same, relative to what they would have bought without it |
# | What did the campaign do to the audience? | `itt_*` | diluted by those who were not reached |
# | What would it do if *everybody* saw it? | `lower`, `upper` | a set: those never reached never showed its effect |

# %%
clear = bounds.filter(pl.col("att_lower") > 0)
for_all = bounds.filter(pl.col("lower") > 0)
print(f"Interval above zero, of {len(bounds)} campaigns, at 95 % each:")
print(f"  effect on those who saw the ad     {len(clear)}")
print(f"  effect if everybody had seen it    {len(for_all)}")
print("rows with an error:", bounds["error"].count())
print("grades:", dict(bounds["grade"].value_counts().iter_rows()))

# %%
from ivicl.results.pictures import forest_of_rows

some = tests.filter(pl.col("campaign") < 12)
forest_of_rows(IVBounds(estimand="ATT").fit_many(some, **roles))

# %% [markdown]
# The bars are 95 % intervals for the effect on those who saw the ad; two dots are estimates of the ends of a set that is
# nearly a point. With many campaigns some intervals miss the truth by chance, at 95 % about one in twenty.
#
# ## A campaign that is broken
#
# Suppose that a logging fault loses most buyers among those who were offered the ad but did not see it, and marks some
# people as having seen it who were never offered it. The numbers would still come out. The row has the grade *stop*, and
# Python warns once for the whole table:

# %%
import warnings

broken = pl.DataFrame(
    {
        "campaign": ["broken"] * 8,
        "offered": [0, 0, 0, 0, 1, 1, 1, 1],
        "saw": [0, 0, 1, 1, 0, 0, 1, 1],
        "bought": [0, 1, 0, 1, 0, 1, 0, 1],
        "people": [2000, 6000, 1500, 500, 7000, 500, 500, 2000],
    }
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    row = IVBounds().fit_many(broken, **roles).row(0, named=True)
print("grade:", row["grade"])
print(f"{caught[0].category.__name__}: {caught[0].message}")

# %% [markdown]
# ## Thousands of campaigns, and Spark
#
# On one machine, `ivicl batch studies.parquet --by campaign ... -o bounds.parquet` keeps no finished rows in memory, and
# with `--resume` it goes on after an interruption. In Spark the merge runs where the data are, each worker loads the
# model once, and the answer is a Spark frame:

# %%
import importlib.util
import os
import shutil
import sys

# Otherwise Spark's workers run the first python3 on the path, which need not have ivicl.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
if importlib.util.find_spec("pyspark") and shutil.which("java"):
    from pyspark.sql import SparkSession

    from ivicl.scale.spark import fit_many

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    in_spark = fit_many(
        spark.createDataFrame(tests.filter(pl.col("campaign") < 3).to_pandas()),
        ones={},
        **roles,
    )
    in_spark.select("campaign", "n", "att_lower", "att_upper").show()
    spark.stop()
else:
    print("Skipped: Spark is not installed here (pip install 'ivicl[spark]', and Java 17).")

# %% [markdown]
# Next: [many studies](../many-studies.md), [large data](../large-data.md), [the columns of a
# row](../columns.md), [other estimands](../estimands.md).
