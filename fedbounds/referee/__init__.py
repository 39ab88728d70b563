"""A theorem on trial: regimes, mutants, search."""
