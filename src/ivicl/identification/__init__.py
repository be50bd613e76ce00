"""The theory, written once and with numpy alone: strata, laws, sharp ends, inequalities."""
