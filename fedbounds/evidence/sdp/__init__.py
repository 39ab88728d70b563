"""One-round claims for whole problem classes: semidefinite programmes and rational certificates."""

from fedbounds import moved

__getattr__ = moved(__name__)
