"""A grid of studies, resumable."""
