"""How good the second network is beyond what the first could be asked: every head, amounts, no defiers, huge tables."""
