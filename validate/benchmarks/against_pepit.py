"""Processor seconds a solve against PEPit on one curve of local descent, a certificate, and a command's seconds.

    python -m validate.benchmarks --only pepit           (two minutes on one core)

Both solve sup ||w+ - w*||^2 over ||w_0 - w*||^2 <= 1 and mean ||grad F_i(w*)||^2 <= 1 (mu = 1/kappa, L = 1,
eta = 1/2, uniform weights) for a run of kappas, with the same solver. The inequality that the solver's multipliers
say, with room of a thousandth, is then proved: a solve, rounding to rationals and verification. Programmes of several
rounds (kappa = 10, eta = 1/2, zeta_* = 1) are solved, rounded and verified with no other to compare them with.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np

from validate.benchmarks.clock import Times, turns
from validate.benchmarks.commands import run

ROOT = Path(__file__).resolve().parent.parent.parent
KAPPAS = tuple(range(3, 23))
SIZES = ((2, 1), (2, 2), (2, 4), (3, 3), (5, 2))
COMMANDS = ("certify --all", "tight theorem-1 --over kappa", "tight theorem-1 --over clients")
ROOM = F(1, 1000)
# (rounds, tau) of the programmes of several rounds: R tau = 20, 50, 100.
ROUNDS = ((5, 4), (10, 5), (25, 4), (10, 10))


def ours(N: int, tau: int) -> tuple[float, list[float]]:
    """(seconds a solve, values) along the curve, what it has in common included."""
    from fedbounds.evidence.sdp.symmetry import coordinates

    coordinates.cache_clear()
    begun = time.process_time()
    values = [solution(N, tau, kappa)[2].value for kappa in KAPPAS]
    return (time.process_time() - begun) / len(KAPPAS), values


def solution(N: int, tau: int, kappa: int) -> tuple[Any, Any, Any]:
    """(setting, model, solution) at one point of the curve."""
    from fedbounds.evidence.sdp.one_step.parameters import round_setting
    from fedbounds.evidence.sdp.one_step.program import build
    from fedbounds.evidence.sdp.solver import worst_case

    setting = round_setting(N, tau, kappa=kappa, eta=F(1, 2))
    model = build(setting, float, bounds=())
    against = [model["Delta_start"], model["star_grad_sq"]]
    return setting, model, worst_case(model, model["Delta_next"], against, "nonneg")


def certificates(N: int, tau: int) -> tuple[float, float]:
    """(seconds a certificate, of which its solve) along the curve."""
    from fedbounds.evidence.sdp.one_step.program import build
    from fedbounds.evidence.sdp.program import exact
    from fedbounds.evidence.sdp.rounding import prove
    from fedbounds.evidence.sdp.solver import interior

    whole = solves = 0.0
    for kappa in KAPPAS:
        setting, model, result = solution(N, tau, kappa)
        rhs = {name: F(float(y)) + ROOM for name, y in zip(("Delta_start", "star_grad_sq"), result.y, strict=True)}
        gap = model.sum(rhs) - model["Delta_next"]
        proved, spent = _timed(functools.partial(prove, model, build(setting, exact, bounds=()), "Delta_next", rhs))
        assert proved, "a curve with room is proved at every point"
        whole, solves = whole + spent, solves + _timed(functools.partial(interior, model, gap))[1]
    return whole / len(KAPPAS), solves / len(KAPPAS)


def _timed(task: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    result = task()
    return result, time.process_time() - begun


def several_rounds(rounds: int, tau: int) -> dict[str, float]:
    """Processor seconds of the certificate of a run's worst case, and of one verification of it."""
    from fedbounds.evidence.sdp.multi_round.bound import upper_bound as worst
    from fedbounds.evidence.sdp.multi_round.bound import verify
    from fedbounds.evidence.sdp.multi_round.program import Run

    begun = time.process_time()
    bound = worst(Run(rounds, tau, F(1, 10), F(1), F(1, 2)))
    solved = time.process_time()
    assert bound is not None and bound.certified and verify(bound), (
        "the worst case of several rounds has a certificate"
    )
    whole, spent = solved - begun, time.process_time() - solved
    return {"rounds": rounds, "tau": tau, "seconds": whole, "verification_seconds": spent, "value": bound.value}


def theirs(N: int, tau: int) -> tuple[float, list[float]]:
    """The same in PEPit."""
    sys.path.insert(0, str(ROOT / "tests"))
    from pepit_oracle import local_descent

    begun = time.process_time()
    values = [local_descent(N, tau, 1 / kappa, 1.0, 0.5) for kappa in KAPPAS]
    return (time.process_time() - begun) / len(KAPPAS), values


def measure(
    sizes: tuple[tuple[int, int], ...] = SIZES,
    commands: tuple[str, ...] = COMMANDS,
    rounds: tuple[tuple[int, int], ...] = ROUNDS,
) -> dict[str, Any]:
    """The least of three turns on every size, after one solve each to warm up; of commands the median of three."""
    ours(2, 1), theirs(2, 1)
    rows = []
    for N, tau in sizes:
        taken = [(ours(N, tau), theirs(N, tau), certificates(N, tau)) for _ in range(3)]
        (a, mine), (b, other), (c, d) = map(min, zip(*taken, strict=True))
        gap = max(abs(x - y) / y for x, y in zip(mine, other, strict=True))
        row = {"N": N, "tau": tau, "seconds": a, "pepit_seconds": b, "largest_difference": gap}
        rows.append({**row, "certificate_seconds": c, "certificate_solve_seconds": d})
    spent: Times = turns({command: functools.partial(run, command, ROOT) for command in commands}, 3, np.median)
    return {"curve": rows, "rounds": [several_rounds(*size) for size in rounds], "commands": spent}


def table(found: dict[str, Any]) -> str:
    """One line a size, a number of rounds and a command."""
    line = (
        "N = {N}, tau = {tau}: {seconds:.4f} s, PEPit {pepit_seconds:.4f} s, values within {largest_difference:.1e}; "
        "a certificate {certificate_seconds:.4f} s, of which its solve {certificate_solve_seconds:.4f} s"
    )
    lines = [line.format(**row) for row in found["curve"]]
    several = "R = {rounds}, tau = {tau}: {seconds:.2f} s of the processor, verification {verification_seconds:.2f} s"
    lines += [several.format(**row) for row in found["rounds"]]
    command = "fedbounds {}: {wall:.2f} s, {processor:.2f} s of the processor"
    return "\n".join([*lines, *(command.format(name, **row) for name, row in found["commands"].items())])
