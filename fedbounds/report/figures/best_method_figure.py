"""The worst case of the best method over tau, or over the clients of a round: with a server's step, and without."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fedbounds.report.figures.styles import save
from fedbounds.report.number_format import number
from fedbounds.study.design import Design


def labels(result: Sequence[Design]) -> tuple[str, list[str]]:
    """(what differs, its values)."""
    if len({item.tau for item in result}) == 1 and result[0].participation:
        return "K/N", [item.participation for item in result]
    return "tau", [str(item.tau) for item in result]


def title(result: Sequence[Design]) -> str:
    """What more local steps, or clients, are worth in the worst case."""
    over, values = labels(result)
    first, best, plain = result[0], min(result, key=lambda item: item.worst), result[-1]
    at = values[result.index(best)]
    change = f"{over} = {at} has {number(best.worst / first.worst, 3)} times the worst case of {over} = {values[0]}"
    if first.sigma or first.participation:
        return f"Best: {change}"
    chosen, usual = _chosen(first)
    more = number(plain.plain_worst / first.worst, 3)
    return f"With {chosen}, {change}; at {usual}, tau = {plain.tau} has {more} times"


def _chosen(item: Design) -> tuple[str, str]:
    if item.etas:
        return "a step a round", "one step"
    return ("alpha", "alpha = p") if item.alpha else ("eta_s", "eta_s = 1")


def best_method_figure(result: Sequence[Design]) -> Figure:
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes, (over, values) = figure.add_subplot(), labels(result)
    chosen, plain = _chosen(result[0])
    mark = ", certified" if all(item.certified for item in result) else ""
    random, at = bool(result[0].sigma or result[0].participation), range(len(result))
    axes.plot(at, [item.plain_worst for item in result], "s--", label=f"best eta at {plain}{mark}")
    if not random:
        axes.plot(at, [item.worst for item in result], "o-", label=f"best eta and {chosen}{mark}")
    lower = [item.lower for item in result if item.lower is not None]
    if lower:
        axes.plot(at, lower, "_", markersize=14, label="no method searched is below")
    axes.set_xticks(at, values)
    axes.set_yscale("log")
    axes.set_xlabel("local steps a round (tau)" if over == "tau" else "clients a round (K/N)")
    what = "||w_R - w*||^2" if result[0].measure == "distance" else "F(w_R) - F*"
    axes.set_ylabel(f"worst {'E' if random else ''}{what}")
    axes.set_title(title(result), fontsize=9)
    axes.legend()
    return figure


def draw(result: Sequence[Design], out: str | Path) -> list[Path]:
    """Write the picture beside each other as PNG and SVG; returns their paths."""
    return save(lambda: best_method_figure(result), Path(out).parent, Path(out).stem)
