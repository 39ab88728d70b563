"""A comparison of theorems and algorithms: the answer in words, a table of each, and one picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbounds.plugins import weightings
from fedbounds.report.figure_styles import BLACK, CLIENTS, DASHES, DPI, MARKERS
from fedbounds.report.number_format import counted, number, times, upward
from fedbounds.report.study_figures import log_spaced_indices
from fedbounds.report.table import Block, Bullets, Table
from fedbounds.study.comparison_rows import MOST_ROUNDS, AlgorithmRow, ErrorCurve, TheoremComparison, TheoremRow
from fedbounds.theory.claim import FEDAVG
from fedbounds.theory.verdict import Status

# Theorems that one panel can show; the tables have all.
DRAWN = 4
# A bound this many times the start is drawn as leaving the picture.
TOP = 30.0
# What falls below this part of the target, as linear convergence does, leaves it too.
BOTTOM = 1e-5
# A band is drawn down to this part of its mean, as a logarithmic axis has no 0.
DEEP = 4.0
# The part of the rounds in which what is at the target is there early.
EARLY = 4
QUANTITIES = {"distance": "squared distance", "gap": "gap"}


def blocks(comparison: TheoremComparison) -> list[Block]:
    """Everything that is printed."""
    unmet = [f"{row.claim}: {row.unmet}" for row in comparison.theorems if row.unmet]
    refused = [f"{row.algorithm}: {row.refused}" for row in comparison.algorithms if row.refused]
    lists = (("Theorems that do not apply here", unmet), ("Algorithms that were not run", refused))
    listed: list[Block] = [Bullets(title, tuple(items)) for title, items in lists if items]
    tables = [*([theorem_table(comparison)] if comparison.applying else []), algorithm_table(comparison)]
    return ["\n".join(answer(comparison)), *tables, *listed, "\n".join(notes(comparison))]


def answer(comparison: TheoremComparison) -> list[str]:
    """A sentence a question: the theorems, the algorithms, and which rule to take."""
    return [_theorems(comparison), _algorithms(comparison), _recommendation(comparison)]


def _recommendation(comparison: TheoremComparison) -> str:
    """The rule and step that reach the target in the fewest rounds, what ties with it, and what theory says."""
    best = comparison.recommended
    if best is None or best.reached is None:
        return (
            "No rule can be recommended: none reaches the target. More rounds or a larger target may tell them apart."
        )
    message = f"Recommended: {best.algorithm}, at a constant step of {best.step:.3g}/L: "
    message += f"{best.reached} round{'' if str(best.reached) == '1' else 's'} here"
    rivals = [row.algorithm for row in comparison.ranked if row is not best and _overlap(row, best)]
    message += f"; the runs do not separate it from {', '.join(rivals)}" if rivals else ""
    if best.algorithm != FEDAVG and best.algorithm.partition(":")[0] in weightings():
        message += ". Its weights are biased: it may keep a floor that these rounds do not show (fedbounds check)"
        message += f"; the weights of {FEDAVG}, as fast here, are unbiased" if FEDAVG in rivals else ""
    if not best.by:
        return f"{message}. No theorem here bounds its rounds."
    promised = _rounds_by_theorem(best.promised)
    return f"{message}. {best.by} promises the target after {promised} rounds at its own step."


def _theorems(comparison: TheoremComparison) -> str:
    rows, rounds = comparison.standing, counted(comparison.settings.rounds, "round")
    false = [row.claim for row in comparison.applying if row.status is Status.REFUTED]
    low = [row.claim for row in comparison.applying if not row.consistent and row.claim not in false]
    message = f"REFUTED on its run here: {', '.join(false)}. " if false else ""
    message += f"Below what is measured, though not refuted: {', '.join(low)}. " if low else ""
    if not rows:
        return f"{message}No {'other ' if message else ''}theorem applies to this problem."
    best, alone = rows[0], len(rows) == 1
    if not best.share[0] > 0:
        which = f"{best.claim}, the only theorem" if alone else f"None of the {len(rows)} theorems"
        also = " that applies, certifies no" if alone else " that apply certifies any"
        return f"{message}{which}{also} progress in {rounds}."
    start, bound, mean, _, _ = best.ends
    near = [row.claim for row in rows[1:] if row.share[2] >= best.share[1]]
    tied = f"; {', '.join(near)} cannot be told apart from it" if near else ""
    first = f"Of {len(rows)} theorems that apply, {best.claim} is the tightest by progress"
    if alone:
        first = f"{best.claim} is the only {'other ' if message else ''}theorem that applies"
    closest = min(rows, key=lambda row: row.looseness)
    smallest = ""
    if closest.looseness < best.looseness:
        smallest = f" The smallest ratio is that of {closest.claim}, {times(closest.looseness)}, with its own step."
    return (
        f"{message}{first}: with its step it bounds the {QUANTITIES[best.quantity]} after {rounds} by "
        f"{upward(bound / start, 3)} of the start, where {number(mean / start, 3)} is measured: "
        f"{times(best.looseness)}, or {_percent(best.share[0])} of the progress in logarithms{tied}.{smallest}"
    )


def _algorithms(comparison: TheoremComparison) -> str:
    rows, level = comparison.ranked, f"{comparison.target:g} of the start"
    reached = [row for row in rows if row.reached and row.reached.first is not None]
    if not reached:
        within = counted(comparison.settings.rounds, "round")
        return f"No algorithm stays at {level} within {within}, so that they have no order."
    best = reached[0]
    near = [row.algorithm for row in rows[1:] if _overlap(row, best)]
    tied = f"; {', '.join(near)} may be as fast" if near else ""
    rounds = "round" if str(best.reached) == "1" else "rounds"
    return f"Fastest to {level} is {best.algorithm}, in {best.reached} {rounds}{tied}."


def _overlap(row: AlgorithmRow, other: AlgorithmRow) -> bool:
    assert row.reached is not None and other.reached is not None
    (a, b), (c, d) = row.reached.between, other.reached.between
    return a <= d and c <= b


def theorem_table(comparison: TheoremComparison) -> Table:
    """A row a theorem that applies, in units of the start of its own left side."""
    head = ("theorem", "bound on", "step", "bound", "measured", "ratio", "progress", "rounds (in truth)")
    settings = comparison.settings
    run = f"{counted(settings.rounds, 'round')} of {counted(settings.tau, 'step')}"
    caption = f"Theorems after {run}, in units of the start; "
    caption += f"rounds to {comparison.target:g} of ||w_0 - w*||^2, by the theorem (in truth with its step)"
    return Table.of(head, map(_theorem_row, comparison.applying), caption)


def _theorem_row(row: TheoremRow) -> list[str | None]:
    start, bound, mean, _, upper = row.ends
    name = row.claim + ("" if row.consistent else " REFUTED" if row.status is Status.REFUTED else " (below the run)")
    message = [name, f"{row.quantity} of {row.algorithm}", row.step, upward(bound / start, 3)]
    message += [_within(mean, upper, start), times(row.looseness), _percent(row.share[0])]
    return [*message, f"{_rounds_by_theorem(row.promised)} ({row.reached})"]


def algorithm_table(comparison: TheoremComparison) -> Table:
    """A row an algorithm, the first at the target first."""
    head = ("algorithm", "step", "at the end", "rounds in truth", "by its theorem")
    rows = [*comparison.ranked, *(row for row in comparison.algorithms if row.central and row.curve)]
    caption = f"Algorithms at tau = {comparison.settings.tau}, each with its best constant step; "
    caption += f"rounds to {comparison.target:g} of ||w_0 - w*||^2"
    return Table.of(head, map(_algorithm, rows), caption)


def _algorithm(row: AlgorithmRow) -> list[str | None]:
    assert row.curve is not None
    line = row.curve
    name = f"{row.algorithm} (every step)" if row.central else row.algorithm
    by_theorem = f"{_rounds_by_theorem(row.promised)} ({row.by})" if row.by else None
    end = _within(line.mean[-1], line.upper[-1], line.mean[0])
    return [name, f"{row.step:.3g}/L", end, str(row.reached), by_theorem]


def notes(comparison: TheoremComparison) -> list[str]:
    """What the tables mean, and what they leave out."""
    settings, facts = comparison.settings, comparison.facts
    gradients = "full gradients" if settings.batch is None else f"batches of {settings.batch}"
    silent = [row.algorithm for row in comparison.ranked if not row.by]
    lines = [
        f"{counted(facts.N, 'client')}, d = {facts.d}, L = {number(facts.L.value)}, mu = "
        f"{number(facts.mu.value)}, {gradients}, {counted(settings.replicates, 'replicate')}; limits hold at "
        f"error rate {settings.error_rate:g} a row, at all rounds at once.",
        "progress: log(start/bound) / log(start/measured).",
        "A round is reached from when on the mean stays at the "
        "target. (every step): it communicates after every local step, as a yardstick.",
        "A step that a theorem leaves free is the best for it of the powers of two over L, from 8/L down.",
        "Constants of bounds are those of the points visited, also beyond the rounds run.",
    ]
    return [*lines, *([f"No theorem here is about {', '.join(silent)}."] if silent else [])]


def _within(mean: float, upper: float, start: float) -> str:
    """A measured value over its start, with half the width of its band."""
    half = (upper - mean) / start
    width = f" ± {number(half, 2)}" if np.isfinite(half) else " ± ?"
    return number(mean / start, 3) + (width if half > 0 else "")


def _percent(share: float) -> str:
    return "none" if share <= 0 else f"{100 * share:.3g}%" if share < 1e4 else "all"


def _rounds_by_theorem(rounds: int | None) -> str:
    return f"> {MOST_ROUNDS:.0e}".replace("+0", "") if rounds is None else upward(rounds, 4)


def figure(comparison: TheoremComparison) -> Figure:
    """Two panels: the tightest theorems over their runs, and the algorithms."""
    made = Figure(figsize=(9.2, 4.6), layout="constrained", dpi=DPI)
    left, right = made.subplots(1, 2, sharey=True)
    for k, row in enumerate(comparison.standing[:DRAWN]):
        _draw_theorem(left, row, k)
    styles = [(colour, dash) for dash in DASHES for colour in CLIENTS]
    runs = [row for row in comparison.algorithms if row.curve is not None]
    for k, item in enumerate(sorted(runs, key=lambda row: row.algorithm)):
        assert item.curve is not None
        _line(right, item.curve, item.algorithm, k, *styles[k % len(styles)])
    _finish(left, comparison.target, "Theorems (dashed) and their runs (solid)", 1)
    _finish(right, comparison.target, "Algorithms, each with its best constant step", 3)
    left.set_xscale("log")
    first = next((row.reached.first for row in comparison.ranked if row.reached), None)
    # What falls geometrically is a straight line over rounds, unless it is at the target in the first few of many.
    right.set_xscale("linear" if first is None or EARLY * first > comparison.settings.rounds else "log")
    right.label_outer()
    return made


def _draw_theorem(axes: Axes, row: TheoremRow, k: int) -> None:
    assert row.curve is not None and row.bounds is not None
    colour, start = CLIENTS[k], row.curve.mean[0]
    _line(axes, row.curve, f"{row.claim} ({row.algorithm}, {row.quantity})", k, colour, "-")
    rounds = log_spaced_indices(len(row.bounds) - 1) + 1
    bound = row.bounds[rounds]
    style: dict[str, Any] = {"color": colour, "ls": DASHES[1], "marker": MARKERS[k], "markerfacecolor": colour}
    axes.plot(rounds, np.where(bound > 0, bound / start, np.nan), markevery=(0.05 * k, 0.2), **style)


def _line(axes: Axes, curve: ErrorCurve, label: str, k: int, colour: str, dash: Any) -> None:
    """A measured mean over its start from the first round on, with its band where that has limits."""
    start, rounds = curve.mean[0], log_spaced_indices(len(curve.mean) - 1) + 1
    mean, lower, upper = (line[rounds] / start for line in (curve.mean, curve.lower, curve.upper))
    mean = np.where(mean > 0, mean, np.nan)
    style: dict[str, Any] = {"color": colour, "ls": dash, "marker": MARKERS[k % len(MARKERS)]}
    axes.plot(rounds, mean, label=label, markevery=(0.04 * k, 0.2), markerfacecolor="white", **style)
    bounded = np.isfinite(upper)
    low, high = np.where(bounded, np.maximum(lower, mean / DEEP), mean), np.where(bounded, upper, mean)
    axes.fill_between(rounds, low, high, color=colour, alpha=0.12, lw=0)


def _finish(axes: Axes, target: float, title: str, columns: int) -> None:
    axes.set(title=title, xlabel="rounds", yscale="log")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, BOTTOM * target), min(high, TOP))
    axes.set_ylabel("fraction of the start")
    axes.axhline(target, color=BLACK, lw=0.8, ls=DASHES[2])
    axes.text(0.995, target, "target", transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, handlelength=3.4)
