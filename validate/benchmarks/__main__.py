"""Every benchmark in one table: `make bench`, or `python -m validate.benchmarks` (some minutes on two cores).

Engines side by side on W and L (frameworks that are not installed are left out), exact moments against Monte Carlo,
semidefinite programmes against PEPit, growth with each dimension, peak memory, where `check` spends its time, and
one round of the vision path.
The figures are written to validate/results/, the scaling curves to docs/img/scaling.png. Curves and values are
checked to agree before any time is printed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
from pathlib import Path

from fedbounds.files import write_text
from validate.benchmarks import check_profile, engine, frameworks, memory, moments, scaling

RESULTS = Path(__file__).resolve().parent.parent / "results"


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    names = ("numpy", "numba", "jax", "fedjax", "flwr", "torch")
    found = {name: importlib.metadata.version(name) for name in names if frameworks.has(name)}
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "load": load,
        "python": platform.python_version(),
        **found,
    }


def engines(rounds: int, replicates: int, repeats: int) -> dict[str, dict[str, dict[str, float]]]:
    """Timings on W and L: wall-clock and processor seconds, and the ratio of wall-clock seconds to fedbounds."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in ("W", "L"):
        with tempfile.TemporaryDirectory() as folder:
            times = engine.side_by_side(kind, rounds, replicates, repeats, Path(folder), installed=True)
        own = times["fedbounds"].wall
        ordered = sorted(times.items(), key=lambda item: item[1].wall)
        found[kind] = {
            name: {"wall": t.wall, "processor": t.processor, "over fedbounds": t.wall / own} for name, t in ordered
        }
    return found


def table(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """Rows: engines; columns: seconds, processor seconds and the ratio on each workload."""
    names = sorted({name for rows in found.values() for name in rows}, key=lambda n: _last(found, n))
    head = "".join(f"| {kind + ': s':>10} {'cpu s':>10} {'ratio':>9} " for kind in found)
    lines = [f"{'engine':<28}{head}"]
    for name in names:
        cells = ""
        for rows in found.values():
            row = rows.get(name)
            numbers = [f"{row[key]:.3f}" for key in row] if row else ["-", "-", "-"]
            cells += f"| {numbers[0]:>10} {numbers[1]:>10} {numbers[2]:>9} "
        lines.append(f"{name:<28}{cells}")
    return "\n".join(lines)


def _last(found: dict[str, dict[str, dict[str, float]]], name: str) -> float:
    return next(rows[name]["wall"] for rows in found.values() if name in rows)


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for, all of it unless told."""
    parser = argparse.ArgumentParser(description="Every benchmark in one table.")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parts = ("engines", "moments", "pepit", "scaling", "memory", "check", "vision")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON files it writes")
    options = parser.parse_args(arguments)
    if "engines" in options.only:
        found = engines(options.rounds, options.replicates, options.repeats)
        print(table(found), flush=True)
        _store(options.out / "engines.json", {"machine": machine(), "workloads": found})
    if "moments" in options.only:
        exact = moments.measure(options.rounds)
        print(moments.table(exact), flush=True)
        _store(options.out / "moments.json", {"machine": machine(), **exact})
    if "pepit" in options.only and frameworks.has("PEPit"):
        from validate.benchmarks import against_pepit

        against_pepit.main()
    if "scaling" in options.only:
        scaling.main([])
    if "memory" in options.only:
        memory.main([])
    if "check" in options.only:
        check_profile.main([])
    if "vision" in options.only and frameworks.has("torch"):
        from validate.benchmarks import vision

        round_times = vision.measure()
        print(vision.table(round_times), flush=True)
        _store(options.out / "vision_speed.json", {"machine": machine(), **round_times})


def _store(path: Path, found: object) -> None:
    write_text(path, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
