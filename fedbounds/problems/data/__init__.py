"""Data: files read, samples generated, and who holds what."""

from fedbounds import moved

__getattr__ = moved(__name__)
