"""The best method in words: the answer, its tables, a picture, and the commands that prove and run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fedbounds.report.number_format import downward, number, upward
from fedbounds.report.terminal import plain_table
from fedbounds.study.best_method import BestMethod

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.multi_round.program import Run

# A minimax gap that is worth a remark.
LARGE = 1e-3


def method(run: Run) -> str:
    """Step sizes, and weights where the server's are chosen."""
    etas = run.sizes[:: run.tau] if isinstance(run.eta, tuple) else run.sizes[:1]
    text = "eta L = " + ", ".join(f"{float(eta):.4g}" for eta in etas)
    if run.p:
        return f"{text}, alpha = " + ", ".join(f"{float(weight):.4g}" for weight in run.alpha)
    return text if len(etas) > 1 or run.present else f"{text}, eta_s = {float(run.server):.4g}"


def measured(item: BestMethod) -> str:
    what = "||w_R - w*||^2" if item.run.measure == "distance" else "F(w_R) - F*"
    return f"E{what}" if item.random else what


def answer(item: BestMethod) -> str:
    """The best method in one sentence."""
    run = item.run
    proved = "proved for" if item.certified else "by the solver, without proof, for"
    start = f"{run.rounds} x {run.tau} local steps at kappa = {float(run.L / run.mu):g}"
    start += f", zeta_* = {item.zeta_star:g}"
    start += f", {item.participation} clients a round" if item.participation else ""
    start += f", sigma = {item.sigma:g}" if item.sigma else ""
    start += ", p = " + ", ".join(f"{float(weight):g}" for weight in run.p) if run.p else ""
    end = "" if item.lower is None else f"; no method of the search is below {downward(item.lower)}"
    result = f"{measured(item)} <= {upward(item.worst)}, {proved} every problem of the class{end}"
    return f"Best found for {start}: {method(run)} has {result}."


def commands(item: BestMethod) -> list[str]:
    """What proves the worst case, and what runs the best method at eta_s = 1 on an instance."""
    run, kappa = item.run, f"{float(item.run.L / item.run.mu):.12g}"
    shared = f"--rounds {run.rounds} --tau {run.tau}"
    etas = run.sizes[:: run.tau] if isinstance(run.eta, tuple) else run.sizes[:1]
    worst = f"fedbounds worst {shared} --step {','.join(f'{float(eta):.8g}' for eta in etas)}"
    several = {"kappa": kappa, "zeta-star": f"{item.zeta_star:.12g}", "measure": run.measure}
    several |= {"server": f"{float(run.server):.8g}"} if run.server != 1 else {}
    several |= {"participation": item.participation} if run.present else {}
    several |= {"sigma": f"{item.sigma:.12g}"} if item.sigma else {}
    weights = {"weights": run.alpha, "p": run.p} if run.p else {}
    several |= {name: ",".join(f"{float(item):.6g}" for item in given) for name, given in weights.items()}
    worst += "".join(f" --{name} {value}" for name, value in several.items())
    if item.random or run.p:
        return [worst]
    step = f"--step constant:{float(item.usual.sizes[0] * run.mu):.8g}"
    check = f"fedbounds check --problem quadratic --clients 2 --weighting fedavg --condition {kappa} {shared}"
    return [worst, f"{check} {step} --batch full --replicates 1 --claim fedavg-rounds"]


def table(result: Sequence[BestMethod]) -> str:
    """The best method beside common ones, or the best of several runs."""
    return _beside_common_ones(result[0]) if len(result) == 1 else _over_runs(result)


def _beside_common_ones(item: BestMethod) -> str:
    rows: list[tuple[str, float | None]] = [(f"best found: {method(item.run)}", item.worst)]
    if item.usual != item.run:
        rows.append((f"best of the usual: {method(item.usual)}", item.usual_worst))
    rows += item.standard.items()
    body = [
        [name, "not established" if value is None else upward(value), number(value and value / item.worst)]
        for name, value in rows
    ]
    if item.lower is not None:
        body.append(["no method below", downward(item.lower), number(item.lower / item.worst)])
    return plain_table(["method", "worst case", "over the best"], body)


def _over_runs(result: Sequence[BestMethod]) -> str:
    rows = []
    for item in result:
        row = {"clients": item.participation, "tau": str(item.run.tau), "rounds": str(item.run.rounds)}
        row |= {
            "best eta L" if item.run.present else "best eta L, eta_s": _short(item.run),
            "worst case": upward(item.worst),
        }
        row |= {"no method below": downward(item.lower)} if item.lower is not None else {}
        if not item.random:
            row |= {"usual eta L, eta_s": _short(item.usual), "its worst case": upward(item.usual_worst)}
        rows.append({name: value for name, value in row.items() if value})
    return plain_table(list(rows[0]), [list(row.values()) for row in rows])


def _short(run: Run) -> str:
    return method(run).replace("eta L = ", "").replace("eta_s = ", "")


def remarks(result: Sequence[BestMethod]) -> list[str]:
    """What limits the answer, and the commands."""
    first, taus = min(result, key=lambda item: item.worst), [item.run.tau for item in result]
    lines = []
    if first.lower is None:
        lines.append("Weights are searched for near p and near equal ones: there is no lower bound.")
    elif first.random:
        lines.append('Of a random run the worst case is a bound: a method may have less, down to "no method below".')
    elif first.gap is not None and first.gap > LARGE:
        lines.append(f"A better method may have {100 * first.gap:.2g}% less: long runs do not use every inequality.")
    if not all(item.certified for item in result):
        lines.append("A worst case without a verified proof is the solver's number.")
    if first.run.tau == max(taus) > min(taus):
        lines.append(
            f"The best has the most local steps that were tried: more than {first.run.tau} may be better still."
        )
    proof, *run = commands(first)
    lines += ["To prove it:" if first.certified else "To look for a proof (none was found):", f"  {proof}"]
    if run:
        lines += [
            "To run the best of the usual on a problem with mu = 1 and L = kappa:",
            *(f"  {line}" for line in run),
        ]
    return lines


def figure(result: Sequence[BestMethod]) -> Figure:
    """The worst case of the best method over tau, or over clients a round, beside the best of the usual ones."""
    made = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes, at, first = made.add_subplot(), range(len(result)), result[0]
    over_clients = len({item.run.tau for item in result}) == 1 and bool(first.participation)
    mark = ", certified" if all(item.certified for item in result) else ""
    axes.plot(at, [item.usual_worst for item in result], "s--", label=f"best of the usual{mark}")
    if not first.random:
        axes.plot(at, [item.worst for item in result], "o-", label=f"best found{mark}")
    lower = [item.lower for item in result if item.lower is not None]
    if lower:
        axes.plot(at, lower, "_", markersize=14, label="no method searched is below")
    axes.set_xticks(at, [item.participation if over_clients else str(item.run.tau) for item in result])
    axes.set(yscale="log", ylabel=f"worst {measured(first)}")
    axes.set_xlabel("clients a round (K/N)" if over_clients else "local steps a round (tau)")
    axes.legend()
    return made
