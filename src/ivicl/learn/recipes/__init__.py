"""Recipes: a model's whole training as one file, and what runs it from any moment on."""
