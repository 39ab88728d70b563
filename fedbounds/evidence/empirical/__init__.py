"""Empirical evidence: a claim against a simulated run, with control of the error."""
