"""What is run, as data; and the choices of a run that are words."""

from collections.abc import Callable
from typing import Literal

Engine = Literal["auto", "kernels", "reference"]
# Called with what is under way, how much of it is done, how much there is, and perhaps a note in words.
Progress = Callable[..., None]
