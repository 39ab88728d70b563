"""Problem x weightings x claims."""

from fedbounds import moved

__getattr__ = moved(__name__)
