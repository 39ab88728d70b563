"""Data: files read, samples generated, and who holds what."""
