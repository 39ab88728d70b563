"""The worst case of the best method over tau, or over the clients of a round, beside the best of the usual ones."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fedbounds.report.best_method_text import measured
from fedbounds.report.figures.styles import save
from fedbounds.report.number_format import number
from fedbounds.study.best_method import BestMethod


def labels(result: Sequence[BestMethod]) -> tuple[str, list[str]]:
    """(what differs, its values)."""
    if len({item.run.tau for item in result}) == 1 and result[0].participation:
        return "K/N", [item.participation for item in result]
    return "tau", [str(item.run.tau) for item in result]


def title(result: Sequence[BestMethod]) -> str:
    """What more local steps, or clients, are worth in the worst case."""
    over, values = labels(result)
    first, best, last = result[0], min(result, key=lambda item: item.worst), result[-1]
    at = values[result.index(best)]
    change = f"{over} = {at} has {number(best.worst / first.worst, 3)} times the worst case of {over} = {values[0]}"
    if first.random:
        return f"Best: {change}"
    chosen, usual = _chosen(first)
    more = number(last.usual_worst / first.worst, 3)
    return f"With {chosen}, {change};\nat {usual}, {over} = {values[-1]} has {more} times"


def _chosen(item: BestMethod) -> tuple[str, str]:
    if isinstance(item.run.eta, tuple):
        return "a step a round", "one step"
    return ("alpha", "alpha = p") if item.run.p else ("eta_s", "eta_s = 1")


def best_method_figure(result: Sequence[BestMethod]) -> Figure:
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes, (over, values) = figure.add_subplot(), labels(result)
    chosen, usual = _chosen(result[0])
    mark, at = ", certified" if all(item.certified for item in result) else "", range(len(result))
    axes.plot(at, [item.usual_worst for item in result], "s--", label=f"best eta at {usual}{mark}")
    if not result[0].random:
        axes.plot(at, [item.worst for item in result], "o-", label=f"best eta and {chosen}{mark}")
    lower = [item.lower for item in result if item.lower is not None]
    if lower:
        axes.plot(at, lower, "_", markersize=14, label="no method searched is below")
    axes.set_xticks(at, values)
    axes.set_yscale("log")
    axes.set_xlabel("local steps a round (tau)" if over == "tau" else "clients a round (K/N)")
    axes.set_ylabel(f"worst {measured(result[0])}")
    axes.set_title(title(result), fontsize=9)
    axes.legend()
    return figure


def draw(result: Sequence[BestMethod], out: Path) -> list[Path]:
    """Write the picture as PNG and SVG; returns their paths."""
    return save(lambda: best_method_figure(result), out.parent, out.stem)
