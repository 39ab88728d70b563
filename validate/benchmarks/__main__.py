"""Every benchmark in one table: `make bench`, or `python -m validate.benchmarks` (a quarter of an hour on two cores).

Whole commands as a user runs them, engines side by side on W and L, growth with each size, semidefinite programmes
against PEPit. The figures are written to validate/results/. Each run's ratios to the C
kernel are one entry of history.json there, and those a fifth above the run before on such a processor are printed.
Curves and values are checked to agree before any time is printed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbounds.io import read_json, write_json
from validate import runner

# A ratio of medians moves by some per cent from run to run on an idle machine.
SLOWER = 1.2
# Part -> its module with ``measure`` and ``table``, its file, and the package that it needs.
PARTS = {
    "commands": ("commands", "commands", "numba"),
    "engines": ("engine", "engines", "numba"),
    "growth": ("growth", "growth", "numba"),
    "pepit": ("against_pepit", "against_pepit", "PEPit"),
}


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    fields = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in lines}
    model = fields.get("model name", "unknown")
    if model != "unknown":  # two kinds of machine call themselves alike that have other vectors
        model += ", AVX-512" if "avx512f" in fields.get("flags", "") else ", without AVX-512"
    names = ("numpy", "numba")
    result = {name: importlib.metadata.version(name) for name in names}
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "load": load,
        "python": platform.python_version(),
        **result,
    }


def measured(part: str, options: Namespace) -> Any:
    """The figures of a part."""
    module = importlib.import_module(f"validate.benchmarks.{PARTS[part][0]}")
    given: Mapping[str, tuple[int, ...]] = {
        "engines": (options.rounds, options.replicates, options.repeats),
        "commands": (options.repeats,),
    }
    result = module.measure(*given.get(part, ()))
    print(module.table(result), flush=True)
    return result


def remember(path: Path, found: Mapping[str, Any]) -> None:
    """Add the ratios to the C kernel to the history, and print those that rose since the run before."""
    groups = [(group, rows) for group, rows in found.items() if isinstance(rows, Mapping)]
    ratios = {
        f"{group}: {name}": row["over C"]
        for group, rows in groups
        for name, row in rows.items()
        if isinstance(row, Mapping) and "over C" in row
    }
    if not ratios:
        return
    history, here = (read_json(path) if path.exists() else []), machine()
    before: dict[str, float] = {}
    for entry in history:
        before |= entry["ratios"] if entry["machine"]["processor"] == here["processor"] else {}
    for name, ratio in ratios.items():
        if ratio > SLOWER * before.get(name, ratio):
            print(f"slower: {name} takes {ratio:.3g} times the C kernel, {before[name]:.3g} in the run before")
    write_json(path, [*history, {"machine": here, "ratios": ratios}])


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for, all of it unless told."""
    only = {"nargs": "+", "choices": PARTS, "default": tuple(PARTS)}
    sizes = {"rounds": 400, "replicates": 32, "repeats": 5}
    options = runner.options("Every benchmark in one table.", arguments, **sizes, only=only, out=runner.RESULTS)
    ratios: dict[str, Any] = {}
    for part in options.only:
        _, name, needed = PARTS[part]
        if importlib.util.find_spec(needed):
            path, result = options.out / f"{name}.json", measured(part, options)
            ratios |= result if part == "engines" else {part: result}
            if part == "engines":
                result = {"workloads": result}
            write_json(path, {"machine": machine(), **result})
    remember(options.out / "history.json", ratios)


if __name__ == "__main__":
    main()
