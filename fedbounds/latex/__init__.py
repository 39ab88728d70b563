"""Theorem files in LaTeX: read as data and written; nothing in them runs."""
