"""Claims on small instances in fractions."""

from fedbounds import moved

__getattr__ = moved(__name__)
