"""Proofs checked step by step."""

from fedbounds import moved

__getattr__ = moved(__name__)
