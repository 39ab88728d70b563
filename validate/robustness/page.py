"""The tables of docs/robustness.md, from what the runs of this folder stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedbounds.io import read_json

RESULTS = Path(__file__).parents[1] / "results"


def inputs(rows: list[dict[str, Any]]) -> list[str]:
    """One line a command, and one of them all."""
    names = ("tried", "refused", "accepted", "wrong")
    whole = {"command": "all", **{name: sum(row[name] for row in rows) for name in names}}
    whole["slowest"] = max(row["slowest"] for row in rows)
    line = "| `{command}` | {tried:,} | {refused:,} | {accepted} | {wrong} | {slowest:.2f} s |"
    return [line.format(**row) for row in (*rows, whole)]


def kills(rows: list[dict[str, Any]]) -> list[str]:
    words = {True: "the same bytes", False: "OTHER BYTES"}
    return [f"| `{row['command']}` | {row['kills']} | {words[row['same']]} |" for row in rows]


def formats(found: dict[str, Any]) -> list[str]:
    """One line a format, and one of them all."""
    names = ("tried", "refused", "read", "wrong")
    rows = found["formats"]
    whole = {"format": "all", **{name: sum(row[name] for row in rows) for name in names}}
    line = "| `{format}` | {tried:,} | {refused:,} | {read:,} | {wrong} |"
    return [line.format(**row) for row in (*rows, whole)]


def memory(rows: list[dict[str, Any]]) -> list[str]:
    return ["| `{command}` | {peak_MiB} MiB | {processor_seconds:.0f} s |".format(**row) for row in rows]


def tables() -> dict[str, list[str]]:
    """The lines of each table, by the file that they come from."""
    made = {"inputs": inputs, "kills": kills, "formats": formats, "commands_memory": memory}
    return {name: lines(read_json(RESULTS / f"{name}.json")) for name, lines in made.items()}


if __name__ == "__main__":
    for stored in tables().values():
        print("\n".join(stored), end="\n\n")
