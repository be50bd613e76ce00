"""Recipes: a model's whole training as one file, and the code that runs it or continues it after an interruption."""
