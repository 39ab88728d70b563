"""A study that was run before on this machine, with the same settings and sources: its files, not run again."""

from collections.abc import Iterable
from pathlib import Path

from fedbounds.io import json_text, parse_json, write_bytes
from fedbounds.study import cache
from fedbounds.study.result import NAME, Result
from fedbounds.study.settings import Settings

# The data that are the same wherever they are named: what is generated, and what scikit-learn brings.
KNOWN_DATA = (None, "digits", "breast-cancer", "diabetes")
# Partitions that are read from a file.
BY_HAND = "hand"


class Earlier:
    """What is kept of the study of ``settings``; nothing where it follows from files or code of the user's own."""

    def __init__(self, settings: Settings, fresh: bool) -> None:
        own = settings.plugins or settings.data not in KNOWN_DATA or (settings.partition or "").startswith(BY_HAND)
        self._folder = None if own or fresh else cache.shelf("study", settings.to_json())
        self._files = {} if self._folder is None else cache.shelved(self._folder)

    def result(self, drawn: bool) -> Result | None:
        """The result where it is kept, and so are the arrays and pictures if these are asked for (``drawn``)."""
        if NAME not in self._files or (drawn and len(self._files) == 1):
            return None
        return Result.from_json(parse_json(self._files[NAME], NAME))

    def write(self, out: Path) -> list[Path]:
        """Its files once more in a folder, the result last, as it is what makes them a study."""
        for name, content in sorted(self._files.items(), key=lambda item: item[0] == NAME):
            write_bytes(out / name, content)
        return [out / name for name in self._files]

    def keep(self, result: Result, written: Iterable[Path]) -> None:
        """Keep a result that was just found, and what was ``written`` of it, if anything."""
        written = list(written)
        if self._folder is not None and cache.fits(sum(path.stat().st_size for path in written)):
            told = {NAME: json_text(result.to_json()).encode()}
            cache.shelve(self._folder, told | {path.name: path.read_bytes() for path in written})
