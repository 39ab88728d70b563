"""Pictures of studies, sweeps and comparisons (the only importer of matplotlib)."""
