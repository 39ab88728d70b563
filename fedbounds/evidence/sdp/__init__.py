"""One-round claims for whole problem classes: semidefinite programmes and rational certificates."""
