"""Proofs that the machine finds: derivations proposed here, and believed only once the checker accepts them."""
