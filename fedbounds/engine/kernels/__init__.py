"""The compiled engine."""

import os
from pathlib import Path


def cache_seen() -> bool:
    """Whether compiled code lies beside the sources: seen without loading what compiles, which takes 35 MB."""
    return "NUMBA_CACHE_DIR" not in os.environ and any(Path(__file__).parent.glob("__pycache__/*.nbi"))
