"""The choices of a run that are words."""

from __future__ import annotations

from typing import Literal

# Models are averaged after tau steps, or whenever tau divides t, as equation (2) is written.
Aggregation = Literal["algorithm-1", "equation-2"]
Engine = Literal["auto", "kernels", "reference"]
