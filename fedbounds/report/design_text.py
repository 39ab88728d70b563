"""A designed method in words: the answer, its tables, and the commands that prove and run it."""

from __future__ import annotations

from collections.abc import Sequence

from fedbounds.report.number_format import downward, number, upward
from fedbounds.report.terminal import plain_table
from fedbounds.study.design import Design


def answer(item: Design) -> str:
    """The best method in one sentence."""
    what = "||w_R - w*||^2" if item.measure == "distance" else "F(w_R) - F*"
    what = f"E{what}" if item.sigma or item.participation else what
    proved = "proved for" if item.certified else "by the solver, without proof, for"
    start = f"{item.rounds} x {item.tau} local steps at kappa = {item.kappa:g}, zeta_* = {item.zeta_star:g}"
    start += f", {item.participation} clients a round" if item.participation else ""
    start += f", sigma = {item.sigma:g}" if item.sigma else ""
    if item.alpha:
        alpha, p = (", ".join(f"{value:.6g}" for value in weights) for weights in (item.alpha, item.p))
        gain = f"alpha = p with its own best step has {upward(item.plain_worst)}"
        weights = f"alpha = ({alpha}) for p = ({p}) and eta = {item.eta:.4g}/L"
        return f"Best found for {start}: {weights} has {what} <= {upward(item.worst)}, {proved} this class; {gain}."
    method = f"eta = {item.eta:.4g}/L with eta_s = {item.server:.4g}"
    if item.etas:
        method = f"eta L = {_by_round(item)} in its rounds"
    return (
        f"Best found for {start}: {method} has {what} <= {upward(item.worst)}, {proved} every problem of the class; "
        f"no method of the search is below {downward(item.lower or 0.0)}."
    )


def commands(item: Design) -> list[str]:
    """What proves the worst case and runs an instance of it, and what runs the best method at eta_s = 1."""
    shared = f"--rounds {item.rounds} --tau {item.tau}"
    steps = f"--step {item.eta:.8g} --server {item.server:.8g}"
    if item.etas:
        steps = "--step " + ",".join(f"{eta:.8g}" for eta in item.etas)
    at = f"--kappa {item.kappa:.12g} --zeta-star {item.zeta_star:.12g} --measure {item.measure}"
    if item.sigma or item.participation:
        at += f" --participation {item.participation}" if item.participation else ""
        return [f"fedbounds worst {shared} --step {item.eta:.8g} --sigma {item.sigma:.12g} {at}"]
    if item.alpha:
        alpha, p = (",".join(f"{value:.6g}" for value in weights) for weights in (item.alpha, item.p))
        return [f"fedbounds worst {shared} --step {item.eta:.8g} {at} --weights {alpha} --p {p}"]
    runs = f"--step constant:{item.plain_eta / item.kappa:.8g} --batch full --replicates 1 --claim fedavg-rounds"
    problem = "--problem quadratic --clients 2 --weighting fedavg --condition"
    return [
        f"fedbounds worst {shared} {steps} {at}",
        f"fedbounds check {problem} {item.kappa:.12g} {shared} {runs}",
    ]


def choices(item: Design) -> str:
    rows = [(f"best found: eta L = {item.eta:.4g}, eta_s = {item.server:.4g}", item.worst)]
    if item.alpha:
        alpha = ", ".join(f"{value:.4g}" for value in item.alpha)
        rows = [(f"best found: alpha = {alpha}, eta L = {item.eta:.4g}", item.worst)]
        rows.append((f"best at alpha = p: eta L = {item.plain_eta:.4g}", item.plain_worst))
    elif item.etas:
        rows = [(f"best found: eta L = {_by_round(item)}", item.worst)]
        rows.append((f"best with one step: eta L = {item.plain_eta:.4g}", item.plain_worst))
    elif item.tau > 1 and not (item.sigma or item.participation):
        rows.append((f"best at eta_s = 1: eta L = {item.plain_eta:.4g}", item.plain_worst))
    body = [
        [name, "not established" if value is None else upward(value), "-" if value is None else _over(value, item)]
        for name, value in (*rows, *item.standard.items())
    ]
    if item.lower is not None:
        body.append(["no method below", downward(item.lower), number(item.lower / item.worst)])
    return plain_table(["method", "worst case", "over the best"], body)


def _over(value: float, item: Design) -> str:
    return f"{value / item.worst:.4g}"


def _by_round(item: Design) -> str:
    return ", ".join(f"{eta:.4g}" for eta in item.etas)


def over_tau(result: Sequence[Design]) -> str:
    usual = "alpha = p" if result[0].alpha else "one step" if result[0].etas else "eta_s = 1"
    head = ["tau", "rounds", "eta L", "eta_s", "worst case", "no method below", f"eta L at {usual}", "worst case"]
    rows, random = [], bool(result[0].sigma or result[0].participation)
    for item in result:
        lower = None if item.lower is None else downward(item.lower)
        row = [
            item.tau,
            item.rounds,
            _by_round(item) or f"{item.eta:.4g}",
            f"{item.server:.4g}",
            upward(item.worst),
            lower,
        ]
        row += [f"{item.plain_eta:.4g}", upward(item.plain_worst)]
        rows.append([item.participation or "all", *row[:3], *row[4:6]] if random else row)
    return plain_table(["clients", *head[:3], *head[4:6]] if random else head, rows)
