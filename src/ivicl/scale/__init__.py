"""Many studies and large tables."""
