"""The choices of a run that are words, and how long work reports its progress: a light module, as help imports it."""

from collections.abc import Callable
from typing import Literal

Engine = Literal["auto", "kernels", "reference"]
# Called with what is under way, how much of it is done, how much there is, and perhaps a note in words.
Progress = Callable[..., None]
