"""Proofs checked step by step."""
