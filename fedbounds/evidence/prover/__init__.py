"""Proofs that are found by the machine: derivations proposed here, and believed only once the checker accepts them."""
