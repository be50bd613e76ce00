"""The benchmarks, one per file."""
