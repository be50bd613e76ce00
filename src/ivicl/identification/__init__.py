"""The theory, in numpy alone and written once: strata, laws, sharp ends, inequalities."""
