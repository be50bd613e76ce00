"""How good a model is: against the exact posterior, on the prior, and on the paper's synthetic benchmark."""
