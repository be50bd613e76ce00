"""Clusters, strata and sampling weights: how well the ends are known under the design of the data."""
