"""``fedbounds read``: what a LaTeX file of theorems says, before anything judges it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fedbounds.cli.adapter import Place, command, show


@command("Judge a theorem", label="--theorem")
def read(file: Annotated[Path, Place(dir_okay=False)], *, label: str | None = None) -> None:
    """Read the marked theorems of a LaTeX FILE back: each statement, its symbols, and what may vary. Judges nothing.

    A theorem is marked by comment lines such as "% fedbounds: assume smooth"; claims KEY --format latex shows one.

    label: Only the theorem with this label.
    """
    from fedbounds.latex.reader import read
    from fedbounds.report.claim_text import read_back

    show("\n".join(map(read_back, read(file, label).values())))
