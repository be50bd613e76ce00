"""Small tools without an opinion on causal inference; every room may use them."""
