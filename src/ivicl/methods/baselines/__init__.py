"""The baselines: plug-in, two efficient estimators, two Gaussian-process posteriors. Needs `ivicl[baselines]`."""
