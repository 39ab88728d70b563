"""The worst case of the best method over tau: with a server's step of its own, and without."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fedbounds.report.figures.files import save
from fedbounds.report.number_format import number
from fedbounds.study.design import Design


def title(result: Sequence[Design]) -> str:
    """What more local steps are worth in the worst case."""
    first, best, plain = result[0], min(result, key=lambda item: item.worst), result[-1]
    change = f"tau = {best.tau} has {number(best.worst / first.worst, 3)} times the worst case of tau = {first.tau}"
    chosen, usual = ("alpha", "alpha = p") if first.alpha else ("eta_s", "eta_s = 1")
    more = number(plain.plain_worst / first.worst, 3)
    return f"With {chosen}, {change}; at {usual}, tau = {plain.tau} has {more} times"


def design_figure(result: Sequence[Design]) -> Figure:
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes, tau = figure.add_subplot(), [item.tau for item in result]
    chosen, plain = ("alpha", "alpha = p") if result[0].alpha else ("eta_s", "eta_s = 1")
    mark = ", certified" if all(item.certified for item in result) else ""
    axes.plot(tau, [item.plain_worst for item in result], "s--", label=f"best eta at {plain}{mark}")
    axes.plot(tau, [item.worst for item in result], "o-", label=f"best eta and {chosen}{mark}")
    lower = [item.lower for item in result if item.lower is not None]
    if lower:
        axes.plot(tau, lower, "_", markersize=14, label="no method searched is below")
    axes.set_xticks(tau)
    axes.set_yscale("log")
    axes.set_xlabel("local steps a round (tau)")
    axes.set_ylabel("worst " + ("||w_R - w*||^2" if result[0].measure == "distance" else "F(w_R) - F*"))
    axes.set_title(title(result), fontsize=9)
    axes.legend()
    return figure


def draw(result: Sequence[Design], out: str | Path) -> list[Path]:
    """Write the picture beside each other as PNG and SVG; returns their paths."""
    return save(lambda: design_figure(result), Path(out).parent, Path(out).stem)
