"""A counterexample as a script of plain Python that runs Algorithm 1 in fractions and prints both sides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.engine.reference import algorithm_1
from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.counterexamples import Counterexample, reading_named
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.referee.search.shrink import by_hand
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Signs of noise that are enumerated: 2^12 runs take a second.
MOST_SIGNS = 12
# What the script computes along the run: symbol -> Python.
ON_PATH = {
    "Delta": "distance[t]",
    "Delta_next": "distance[t + 1]",
    "Delta_0": "distance[0]",
    "Delta_T": "distance[t]",
    "gap": "gap[t]",
    "gap_t": "gap[t]",
    "drift": "drift[t]",
    "eta": "eta[t]",
    "eta_0": "eta[0]",
    "tau": "tau",
    "N": "N",
}
SCRIPT = """\
# {key} [{reading}] is false. Coordinate by coordinate F_i(w) = c_i (w - m_i)^2 / 2; every number is a fraction.
from fractions import Fraction as Q
{product}c, m = {c}, {m}  # a row a coordinate, a column a client
p, w0 = {p}, {w0}
eta, tau = {eta}, {tau}
alpha = {alpha}  # the weights of each round
N, T = len(p), len(eta)
dot = lambda a, b: sum(u * v for u, v in zip(a, b))

def path(c, m, w{noise_arguments}):
    best = dot(p, [ci * mi for ci, mi in zip(c, m)]) / dot(p, c)
    for t in range(T + 1):
        x, a = [w] * N if t % tau == 0 else x, alpha[min(t // tau, len(alpha) - 1)]
        yield (w - best) ** 2, dot(p, c) * (w - best) ** 2 / 2, dot(a, [(w - xi) ** 2 for xi in x])
        if t < T:
            x = [x[i] - eta[t] * (c[i] * (x[i] - m[i]){noise}) for i in range(N)]
            w = dot(a{virtual}, x)

{runs}
distance, gap, drift = ([sum(r[t][j] for r in runs){divided} for t in range(T + 1)] for j in range(3))
t = {t}
{given}left = {left}
right = {right}
print("left", left, "right", right)
assert left {relation} right
"""
# Without noise; with noise of +-s_i in the first coordinate the mean over all signs.
EXACT = {
    "product": "",
    "noise_arguments": "",
    "noise": "",
    "runs": "runs = [list(path(*column)) for column in zip(c, m, w0)]",
    "divided": "",
}
NOISY = {
    "product": "from itertools import product\n",
    "noise_arguments": ", s, sign",
    "noise": " + s[i] * sign[t * N + i]",
    "runs": "s, signs = [{s}] + [[0] * N] * (len(w0) - 1), list(product((1, -1), repeat=N * T))\n"
    "runs = [list(path(*column, sign)) for column in zip(c, m, w0, s) for sign in signs]",
    "divided": " / len(signs)",
}


def script(claim: Claim, verdict: Verdict) -> str:
    """The script of an exact refutation; InputError where the instance has no such short script."""
    reading = reading_named(verdict.reading)
    instance = from_json(verdict.data["instance"])  # type: ignore[arg-type]
    rows = None if "bits" in verdict.data else _weights(instance)  # too long for fractions
    data = by_hand(instance, claim, reading)
    numbers = data["constants"] | data["varying"]
    sides = claim.sides(reading)
    used = {symbol.name for side in (sides.lhs, sides.rhs) for symbol in side.free_symbols}
    if claim.kind is Kind.RATE or rows is None or not used <= {*numbers, *ON_PATH} or _rounds(sides.lhs, sides.rhs):
        what = "a script has full gradients or noise of two signs, everyone present, and a formula without roots"
        raise reject(what, f"a counterexample to {claim.key} beyond these", "read its instance with --json or --out")
    t, total = verdict.worst_t, instance.total
    noise = NOISY if instance.stochastic else EXACT
    return SCRIPT.format(
        key=claim.key,
        reading=reading.name,
        c=_table(zip(*instance.curvatures, strict=True)),
        m=_table(zip(*instance.minima, strict=True)),
        **{name: _row(getattr(instance, name)) for name in ("p", "w0", "eta")},
        **{name: text.replace("{s}", _row(instance.noise)) for name, text in noise.items()},
        tau=instance.tau,
        alpha=_table(rows),
        virtual="" if reading.virtual == "alpha" else " if (t + 1) % tau == 0 else p",
        t=total if t is None else t,
        given=_given(numbers, used),
        left=_python(sides.lhs),
        right=_python(sides.rhs),
        relation="!=" if claim.kind is Kind.IDENTITY else ">",
    )


def stored_script(example: Counterexample) -> str:
    """The script of a shipped counterexample; InputError where it has none."""
    document = example.document
    if "claim" not in document:
        raise reject("a script is of a claim's counterexample", example.name, "read its file, or use another")
    t, data = document.get("t"), {"instance": document["instance"]}
    verdict = Verdict(example.subject, document["reading"], Evidence.EXACT, Status.REFUTED, worst_t=t, data=data)
    return script(example.claim(), verdict)


def script_if_short(claim: Claim, verdict: Verdict | None) -> str:
    """The script of a refutation; nothing where it is none in fractions, or has no short script."""
    if verdict is None or verdict.evidence is not Evidence.EXACT or "instance" not in verdict.data:
        return ""
    with contextlib.suppress(InputError):
        return script(claim, verdict)
    return ""


def _weights(instance: Instance) -> list[Any] | None:
    """The weights of each round; None where they differ between outcomes of chance, or losses are no quadratics."""
    if not instance.plain or instance.present < instance.N:
        return None
    fixed = instance.weighting in ("fixed", "fedavg")
    if instance.stochastic and not (fixed and instance.N * instance.total <= MOST_SIGNS):
        return None
    w0, eta = array(instance.w0), array(instance.eta)
    steps = algorithm_1(instance.losses, w0, eta, instance.tau, instance.rule)
    return [step.alpha for step in steps if step.synchronised and step.t < instance.total]


def _rounds(*sides: sp.Expr) -> bool:
    """Whether a side has roots or functions other than sums, products, quotients, powers, max and min."""
    powers = (power for side in sides for power in sp.sympify(side).atoms(sp.Pow))
    functions = (sp.sympify(side).atoms(sp.Function) for side in sides)
    plain = all(isinstance(f, sp.Max | sp.Min) for result in functions for f in result)
    return not plain or any(not (power.exp.is_integer or power.exp.is_symbol) for power in powers)


def _given(numbers: dict[str, str], used: Iterable[str]) -> str:
    """A line of the numbers that the script does not compute."""
    names = sorted(set(used) - ON_PATH.keys())
    return f"{', '.join(names)} = {', '.join(_number(numbers[name]) for name in names)}\n" if names else ""


def _python(side: sp.Expr) -> str:
    """A side of a claim as Python: symbols on the path by their lists, fractions as fractions."""
    side = sp.sympify(side)
    put = {number: sp.Symbol(_number(number)) for number in side.atoms(sp.Rational) if not number.is_integer}
    names = {symbol: sp.Symbol(ON_PATH.get(symbol.name, symbol.name)) for symbol in side.free_symbols}
    text = str(sp.sstr(side.xreplace(names | put)))
    return text.replace("Max(", "max(").replace("Min(", "min(")


def _number(value: object) -> str:
    exact = Fraction(str(value))
    return f"Q({exact})" if exact.denominator == 1 else f"Q({exact.numerator}, {exact.denominator})"


def _row(row: Iterable[object]) -> str:
    return f"[{', '.join(map(_number, row))}]"


def _table(rows: Iterable[Iterable[object]]) -> str:
    return f"[{', '.join(map(_row, rows))}]"
