"""The command line."""

from fedbounds.cli.app import main

__all__ = ["main"]
