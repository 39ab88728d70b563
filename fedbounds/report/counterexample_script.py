"""A counterexample as a script of plain Python that runs Algorithm 1 in fractions and prints both sides."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
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
from fedbounds.theory.path_formulas import heterogeneity
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Signs of noise that are enumerated: 2^12 runs take a second.
MOST_SIGNS = 12
# What the script computes: symbol -> Python, a side's at its step t, a constant's on a line of its own.
ON_PATH = {
    "Delta": "size(w[t], star)",
    "Delta_next": "size(w[t + 1], star)",
    "Delta_0": "size(w[0], star)",
    "Delta_T": "size(w[t], star)",
    "gap": "gap(w[t])",
    "gap_t": "gap(w[t])",
    "drift": "dot(alpha[t // tau], [size(w[t], x) for x in X[t]])",
}
FIXED = {"eta": "eta[t]", "eta_0": "eta[0]", "tau": "tau", "N": "len(p)", "T": "t", "t": "t"}
COMPUTED = {
    "L": "max(map(max, c))",
    "mu": "min(map(min, c))",
    "sigma_sq": "{sigma_sq}",
    "G_sq": "max(dot(g, g) for s in range(T) for i in I for g in [grad(i, X[s][i])])",
    "Gamma": "dot(p, excess(star))",
    "rho_bar": "min(rho(s, w[s]) for s in range(0, T, {every}))",
    "rho_tilde": "max(rho(s, star) for s in range(T))",
    "p_min": "min(p)",
    "pi_min": "min(a[i] / p[i] for a in alpha for i in I)",
    "pi_max": "max(a[i] / p[i] for a in alpha for i in I)",
}
# Constants that share a line, which is longer than others.
TOGETHER = ("L", "mu", "Gamma", "sigma_sq", "p_min"), ("G_sq",), ("rho_bar", "rho_tilde"), ("pi_min", "pi_max")
# What these lines use, in the order in which it is written: name -> (line, what that uses).
HELPERS = {
    "star": ("star = [dot(p, [u * v for u, v in zip(*row)]) / dot(p, row[0]) for row in zip(c, m)]  # w*", ()),
    "size": ("size = lambda a, b: sum((u - v) ** 2 for u, v in zip(a, b))", ()),
    "excess": (
        "excess = lambda v: [sum(c[k][i] * (v[k] - m[k][i]) ** 2 for k in K) / 2 for i in I]  # F_i(v) - F_i*",
        (),
    ),
    "gap": ("gap = lambda v: dot(p, excess(v)) - dot(p, excess(star))", ("excess", "star")),
    "rho": ("rho = lambda s, v: dot(alpha[s // tau], excess(v)) / dot(p, excess(v))", ("excess",)),
}
SCRIPT = """\
# {key} [{reading}] is false. F_i(w) = sum_k c[k][i] (w[k] - m[k][i])^2 / 2; every number is a fraction.
from fractions import Fraction as Q
{noise}c, m = {c}, {m}  # a row a coordinate, a column a client
p, w0, eta, tau = {p}, {w0}, {eta}, {tau}
alpha = {alpha}  # the weights of each round
I, K, T, t = range(len(p)), range(len(w0)), len(eta), {t}
dot = lambda a, b: sum(u * v for u, v in zip(a, b))
grad = lambda i, x: [c[k][i] * (x[k] - m[k][i]) for k in K]
{run}
{lines}
left = {left}
right = {right}
print("left", left, "right", right, left {relation} right)
"""
RUN = """\
w, X = [w0], [[w0 for i in I]]  # w_t, and the local models
for s in range(T):
    X.append([[u - eta[s] * v for u, v in zip(x, {gradient})] for i, x in enumerate(X[s])])
    w.append([dot({weights}, column) for column in zip(*X[-1])])
    if (s + 1) % tau == 0: X[-1] = [w[-1] for i in I]"""
# With noise of +-s_i in the first coordinate every quantity is the mean over all signs.
SIGNS = """\
from itertools import product
noise = {s}  # the noise is s_i or -s_i in the first coordinate
"""
MEAN = """\
def path(signs):
    {body}
    return w, X
paths = [path(signs) for signs in product((1, -1), repeat=len(p) * T)]
mean = lambda f: sum(f(w, X) for w, X in paths) / len(paths)"""
NOISY_GRADIENT = "[v + (k == 0) * noise[i] * signs[s * len(p) + i] for k, v in enumerate(grad(i, x))]"


def script(claim: Claim, verdict: Verdict) -> str:
    """The script of an exact refutation; InputError where the instance has no such short script."""
    reading = reading_named(verdict.reading)
    instance = from_json(verdict.data["instance"])  # type: ignore[arg-type]
    rows = None if "bits" in verdict.data else _weights(instance)  # too long for fractions
    sides = claim.sides(reading)
    used = {symbol.name for side in (sides.lhs, sides.rhs) for symbol in side.free_symbols}
    data = by_hand(instance, claim, reading)
    typed = data["constants"] | data["varying"]
    if (
        claim.kind is Kind.RATE
        or rows is None
        or not used <= {*typed, *ON_PATH, *FIXED, *COMPUTED}
        or _rounds(sides.lhs, sides.rhs)
    ):
        what = "a script has full gradients or noise of two signs, everyone present, and a formula without roots"
        raise reject(what, f"a counterexample to {claim.key} beyond these", "read its instance with --json or --out")
    noisy = instance.stochastic
    virtual = "" if reading.virtual == "alpha" else " if (s + 1) % tau == 0 else p"
    body = RUN.format(weights=f"alpha[s // tau]{virtual}", gradient=NOISY_GRADIENT if noisy else "grad(i, x)")
    return SCRIPT.format(
        key=claim.key,
        reading=reading.name,
        noise=SIGNS.format(s=_row(instance.noise)) if noisy else "",
        c=_table(zip(*instance.curvatures, strict=True)),
        m=_table(zip(*instance.minima, strict=True)),
        **{name: _row(getattr(instance, name)) for name in ("p", "w0", "eta")},
        tau=instance.tau,
        alpha=_table(rows),
        run=MEAN.format(body=body.replace("\n", "\n    ")) if noisy else body,
        t=instance.total if verdict.worst_t is None else verdict.worst_t,
        lines="\n".join(_lines(instance, used, typed, "1" if reading.skew == "all-steps" else "tau")),
        left=_python(sides.lhs, noisy),
        right=_python(sides.rhs, noisy),
        relation="!=" if claim.kind is Kind.IDENTITY else ">",
    )


def _lines(instance: Instance, used: Collection[str], typed: Mapping[str, str], every: str) -> list[str]:
    """The constants that the sides use and what they are computed with; typed where a rule beyond these sets them."""
    noisy = instance.stochastic
    ruled = {"L": max(instance.spectrum) != instance.L, "mu": instance.mu != min(instance.spectrum)}
    ruled |= dict.fromkeys(("rho_bar", "rho_tilde"), noisy or heterogeneity(instance.losses) == 0)
    ruled |= {"G_sq": noisy}
    choices = {"sigma_sq": "max(v * v for v in noise)" if noisy else "0", "every": every}
    texts = {
        name: COMPUTED[name].format(**choices) if name in COMPUTED and not ruled.get(name) else _number(typed[name])
        for name in sorted(set(used) - ON_PATH.keys() - FIXED.keys())
    }
    grouped = {name for group in TOGETHER for name in group}
    groups = [[name for name in group if name in texts] for group in TOGETHER]
    groups.append([name for name in texts if name not in grouped])
    lines = [f"{', '.join(group)} = {', '.join(map(texts.__getitem__, group))}" for group in groups if group]
    text = " ".join([*lines, *(ON_PATH[name] for name in used if name in ON_PATH)])
    needed = {name for name in HELPERS if re.search(rf"\b{name}\b", text)}
    needed |= {more for name in needed for more in HELPERS[name][1]}
    return [*(line for name, (line, _) in HELPERS.items() if name in needed), *lines]


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
    if not instance.plain or instance.selections > 1:
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


def _python(side: sp.Expr, noisy: bool) -> str:
    """A side of a claim as Python: symbols on the path by their lists, fractions as fractions."""
    side = sp.sympify(side)
    mean = "mean(lambda w, X: {})" if noisy else "{}"
    texts = {name: mean.format(text) for name, text in ON_PATH.items()} | FIXED
    put = {number: sp.Symbol(_number(number)) for number in side.atoms(sp.Rational) if not number.is_integer}
    names = {symbol: sp.Symbol(texts.get(symbol.name, symbol.name)) for symbol in side.free_symbols}
    text = str(sp.sstr(side.xreplace(names | put)))
    return text.replace("Max(", "max(").replace("Min(", "min(")


def _number(value: object) -> str:
    exact = Fraction(str(value))
    return f"Q({exact})" if exact.denominator == 1 else f"Q({exact.numerator}, {exact.denominator})"


def _row(row: Iterable[object]) -> str:
    return f"[{', '.join(map(_number, row))}]"


def _table(rows: Iterable[Iterable[object]]) -> str:
    return f"[{', '.join(map(_row, rows))}]"
