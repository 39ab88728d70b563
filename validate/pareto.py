"""Speed against error on known problems: the hindsight front, the schemes on their own runs, and what it costs.

    python -m validate.pareto           (about half a minute on one core)

Writes validate/results/pareto.json and docs/img/pareto.png.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from fedbounds.io import write_text
from fedbounds.study.pareto import SCHEMES, TradeOff, picture
from fedbounds.study.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 200
PROBLEMS = {
    "least squares, regression": Settings(problem="least-squares", clients=6, rounds=ROUNDS),
    "least squares, diabetes": Settings(problem="least-squares", data="diabetes", clients=6, rounds=ROUNDS),
    "quadratic": Settings(problem="quadratic", clients=6, rounds=ROUNDS),
}


def numbers(found: TradeOff) -> dict[str, Any]:
    """What the documentation quotes of a picture."""
    rows = {
        mark.name: {
            "rho_bar": mark.rho_bar,
            "rho_tilde": mark.rho_tilde,
            "cost over front": {horizon: found.excess_cost(mark, price) for horizon, price in found.prices.items()},
        }
        for mark in found.schemes
    }
    ends = [{"rho_bar": m.rho_bar, "rho_tilde": m.rho_tilde} for m in (found.front[0], found.front[-1])]
    return {"prices": dict(found.prices), "schemes": rows, "front": ends}


def draw(pictures: dict[str, TradeOff], path: Path) -> None:
    """One panel a problem: speed 1/rho_bar against error rho_tilde/rho_bar - 1, both better when small."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(pictures), 3.8), layout="constrained", dpi=100)
    for axes, (name, result) in zip(
        figure.subplots(1, len(pictures), squeeze=False)[0], pictures.items(), strict=True
    ):
        axes.plot([m.error for m in result.front], [m.speed for m in result.front], "k.-", label="hindsight front")
        for marker, mark in zip("os^dvPX*<>", result.schemes, strict=False):
            axes.plot(mark.error, mark.speed, marker, label=mark.name, markersize=6)
        axes.set_title(name, fontsize=9, loc="left")
        axes.set_xlabel("error: rho_tilde / rho_bar - 1")
        axes.set_ylabel("speed: 1 / rho_bar")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Every problem; ``--small`` does one, briefly, and writes nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one small problem, nothing written")
    small = parser.parse_args(arguments).small
    chosen = {"small": Settings(problem="quadratic", clients=3, dimension=2, rounds=5)} if small else PROBLEMS
    pictures = {name: picture(settings, SCHEMES[:2] if small else SCHEMES) for name, settings in chosen.items()}
    table = {name: numbers(result) for name, result in pictures.items()}
    for name, rows in table.items():
        print(name, {k: round(v, 2) for k, v in rows["prices"].items()})
        for scheme, row in rows["schemes"].items():
            costs = ", ".join(f"T={k}: {v:.3f}" for k, v in row["cost over front"].items())
            print(f"  {scheme}: rho_bar {row['rho_bar']:.3f}, rho_tilde {row['rho_tilde']:.3f}, {costs}")
    if not small:
        draw(pictures, ROOT / "docs" / "img" / "pareto.png")
        write_text(ROOT / "validate" / "results" / "pareto.json", json.dumps(table, indent=1) + "\n")
    return table


if __name__ == "__main__":
    main()
