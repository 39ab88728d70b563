"""Cells that cost nothing, for the tests of sweeps: they keep a log, wait, fail or kill their process."""

import os
import signal
import time
from pathlib import Path

from fedbounds.study.sweep import MEASURED, CellResult


def rows(cell):
    """One row a weighting whose numbers follow from the settings."""
    seed = cell.settings["seed"]
    about = ("fedavg", "corollary", "repaired", "empirical", "HOLDS")
    named = dict(zip(("weighting", "claim", "reading", "evidence", "status"), about, strict=True))
    return tuple(dict.fromkeys(MEASURED) | named | {"tightness": seed + 0.1 * j} for j in range(2))


def log(cell):
    """Append this process's id to the cell's own log, in the folder that the setting ``data`` names."""
    with (Path(cell.settings["data"]) / str(cell.settings["seed"])).open("a") as file:
        file.write(f"{os.getpid()}\n")


def logged(folder):
    """Seed -> process ids that began it."""
    return {int(path.name): path.read_text().split() for path in Path(folder).iterdir()}


def quick(cell):
    log(cell)
    return CellResult(cell.settings, rows(cell))


def slow(cell):
    log(cell)
    time.sleep(0.15)
    return CellResult(cell.settings, rows(cell))


def deadly(cell):
    """Kills its process at seed 3, late enough for other cells to wait beside it."""
    log(cell)
    if cell.settings["seed"] == 3:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    return CellResult(cell.settings, rows(cell))
