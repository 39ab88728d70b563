"""A counterexample for people: its fields, a line each, and a script of plain Python that runs it in fractions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.engine.reference import algorithm_1
from fedbounds.errors import reject
from fedbounds.evidence.exact.counterexamples import Counterexample, reading_named
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.instance_json import fraction, from_json
from fedbounds.referee.search.outcome import by_hand
from fedbounds.report.number_format import SHOWN, with_decimal
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.sample_path import heterogeneity
from fedbounds.theory.verdict import Evidence, Status, Verdict

# So many equal numbers are written once.
MANY = 4
# Signs of noise that are enumerated: 2^12 runs take a second.
MOST_SIGNS = 12
# What a line does with numbers, and with lists of them: most instances have one coordinate.
NUMBERS = {
    "losses": "c[i] (w - m[i])^2 / 2",
    "grad": "c[i] * (x - m[i])",
    "noisy": "grad(i, x) + noise[i] * signs[s * {N} + i]",
    "moved": "x - eta[s] * ({gradient})",
    "average": "dot({weights}, X[-1])",
    "distance": "({} - {}) ** 2",
    "square": "grad(i, X[s][i]) ** 2",
    "star": "dot(p, [u * v for u, v in zip(c, m)]) / dot(p, c)",
    "excess": "[c[i] * (v - m[i]) ** 2 / 2 for i in range({N})]",
    "L": "max(c)",
    "mu": "min(c)",
}
LISTS = {
    "losses": "sum_k c[k][i] (w[k] - m[k][i])^2 / 2",
    "grad": "[a[i] * (u - b[i]) for u, a, b in zip(x, c, m)]",
    "noisy": "[v + (k == 0) * noise[i] * signs[s * {N} + i] for k, v in enumerate(grad(i, x))]",
    "moved": "[u - eta[s] * v for u, v in zip(x, {gradient})]",
    "average": "[dot({weights}, row) for row in zip(*X[-1])]",
    "distance": "sum((u - v) ** 2 for u, v in zip({}, {}))",
    "square": "sum(v * v for v in grad(i, X[s][i]))",
    "star": "[dot(p, [u * v for u, v in zip(*row)]) / dot(p, row[0]) for row in zip(c, m)]",
    "excess": "[sum(a[i] * (u - b[i]) ** 2 for u, a, b in zip(v, c, m)) / 2 for i in range({N})]",
    "L": "max(map(max, c))",
    "mu": "min(map(min, c))",
}
# The symbols that have no line of their own, at the step t.
ON_PATH = {
    **dict.fromkeys(("Delta", "Delta_T"), ("distance", "w[{t}]", "star")),
    "Delta_next": ("distance", "w[{next}]", "star"),
    "Delta_0": ("distance", "w[0]", "star"),
    **dict.fromkeys(("gap", "gap_t"), ("gap(w[{t}])",)),
    "drift": ("dot(alpha[{round}], [{distance} for x in X[{t}]])", "w[{t}]", "x"),
}
FIXED = {"eta": "eta[{t}]", "eta_0": "eta[0]", "tau": "tau", "N": "{N}", "T": "{t}", "t": "{t}"}
COMPUTED = {
    "L": "{L}",
    "mu": "{mu}",
    "Gamma": "dot(p, excess(star))",
    "sigma_sq": "{sigma_sq}",
    "p_min": "min(p)",
    "G_sq": "max({square}{variance} for {paths}s in range({T}) for i in range({N}))",
    "rho_bar": "min(rho(s, w[s]) for {paths}s in range(0, {T}, {every}))",
    "rho_tilde": "max(rho(s, star) for s in range({T}))",
    "pi_min": "min(u / v for row in alpha for u, v in zip(row, p))",
    "pi_max": "max(u / v for row in alpha for u, v in zip(row, p))",
}
# Constants that share a line where it is short enough.
TOGETHER = ("L", "mu", "Gamma", "rho_bar", "rho_tilde", "p_min"), ("sigma_sq", "G_sq"), ("pi_min", "pi_max")
# What these lines use, in the order in which it is written: name -> (line, what that uses).
HELPERS = {
    "star": ("star = {star}  # w*", ()),
    "excess": ("excess = lambda v: {excess}  # F_i(v) - F_i*", ()),
    "gap": ("gap = lambda v: dot(p, excess(v)) - dot(p, excess(star))", ("excess", "star")),
    "rho": ("rho = lambda s, v: dot(alpha[s // tau], excess(v)) / dot(p, excess(v)){or_one}", ("excess",)),
}
SCRIPT = """\
# {key} [{reading}] is false. F_i(w) = {losses}
from fractions import Fraction as Q  # every number is one; p[i] is the weight of client i
c, m, p = {c}, {m}, {p}
eta, tau, alpha = {eta}, {tau}, {alpha}  # alpha: a row a round
dot = lambda a, b: sum(u * v for u, v in zip(a, b))
grad = lambda i, x: {grad}
{run}
{lines}
left = {left}  # {key} says: left {claimed} right, {when}
right = {right}
print("violated:" if left {relation} right else "holds:", "left", left, "right", right)
"""
RUN = """\
w, X = [{w0}], [[{w0}] * {N}]  # w_t, and the local models
for s in range({T}):
    X.append([{moved} for i, x in enumerate(X[s])])
    w.append({average})
    if (s + 1) % tau == 0: X[-1] = [w[-1]] * {N}"""
# With noise of +-s_i in the first coordinate every quantity is the mean over all signs.
NOISY_RUN = """\
from itertools import product
noise = {noise}  # the noise is noise[i] or -noise[i] in the first coordinate
def path(signs):
    {body}
    return w, X
paths = [path(signs) for signs in product((1, -1), repeat={draws})]
mean = lambda f: sum(f(w, X) for w, X in paths) / len(paths)"""


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
        raise reject(what, f"a counterexample to {claim.key} beyond these", "read its instance with --out")
    t = instance.total if verdict.worst_t is None else verdict.worst_t
    words = _words(instance, t, "1" if reading.skew == "all-steps" else "tau", reading.virtual)
    return SCRIPT.format_map(
        words
        | {
            "key": claim.key,
            "claimed": "=" if claim.kind is Kind.IDENTITY else "<=",
            "when": f"here at {'T' if claim.scope == 'horizon' else 't'} = {t}",
            "reading": reading.name,
            "alpha": _table(rows),
            "lines": "\n".join(_lines(instance, words, used, typed)),
            "left": _python(sides.lhs, words),
            "right": _python(sides.rhs, words),
            "relation": "!=" if claim.kind is Kind.IDENTITY else ">",
        }
    )


def _words(instance: Instance, t: int, every: str, virtual: str) -> dict[str, str]:
    """What the templates are filled with: those of one coordinate or several, and the numbers of the instance."""
    single, N, T = len(instance.w0) == 1, instance.N, instance.total
    words: dict[str, str] = NUMBERS if single else LISTS
    data = {"c": zip(*instance.curvatures, strict=True), "m": zip(*instance.minima, strict=True)}
    words = words | {name: _table(rows)[1:-1] if single else _table(rows) for name, rows in data.items()}
    words |= {name: _row(getattr(instance, name)) for name in ("p", "eta", "noise")}
    words |= {"w0": _row(instance.w0)[1:-1] if single else _row(instance.w0), "tau": str(instance.tau)}
    words |= {"N": str(N), "T": str(T), "t": str(t), "next": str(t + 1), "round": str(t // instance.tau)}
    words |= {"draws": str(N * T), "every": every, "paths": "", "variance": ""}
    words["weights"] = "alpha[s // tau]" + " if (s + 1) % tau == 0 else p" * (virtual != "alpha")
    words |= {"gradient": "grad(i, x)", "sigma_sq": "0"}
    if instance.stochastic:
        words |= {"gradient": words["noisy"], "paths": "w, X in paths for ", "variance": " + noise[i] ** 2"}
        words |= {"sigma_sq": "max(v * v for v in noise)"}
    else:
        words["moved"] = words["moved"].replace("({gradient})", "{gradient}")
    words["or_one"] = " if any(excess(v)) else 1" if heterogeneity(instance.losses) == 0 else ""
    run = _filled(RUN, words)
    words["run"] = NOISY_RUN.format_map(words | {"body": run.replace("\n", "\n    ")}) if instance.stochastic else run
    return words


def _filled(template: str, words: Mapping[str, str]) -> str:
    """The template with its words in place, which may have further words in them."""
    while "{" in template:
        template = template.format_map(words)
    return template


def _lines(
    instance: Instance, words: Mapping[str, str], used: Collection[str], typed: Mapping[str, str]
) -> list[str]:
    """The constants that the sides use and what they are computed with; typed where a claim sets them itself."""
    ruled = {"L": max(instance.spectrum) != instance.L, "mu": instance.mu != min(instance.spectrum)}
    texts = {
        name: _filled(COMPUTED[name], words) if name in COMPUTED and not ruled.get(name) else _number(typed[name])
        for name in sorted(set(used) - ON_PATH.keys() - FIXED.keys())
    }
    alone = texts.keys() - {name for group in TOGETHER for name in group}
    groups = [[name for name in group if name in texts] for group in (*TOGETHER, sorted(alone))]
    lines = [f"{', '.join(group)} = {', '.join(map(texts.__getitem__, group))}" for group in groups if group]
    text = " ".join([*lines, *(_on_path(name, words) for name in used if name in ON_PATH)])
    needed = {name for name in HELPERS if re.search(rf"\b{name}\b", text)}
    needed |= {more for name in needed for more in HELPERS[name][1]}
    return [*(_filled(line, words) for name, (line, _) in HELPERS.items() if name in needed), *lines]


def _on_path(name: str, words: Mapping[str, str]) -> str:
    """The Python of a symbol that is measured on the path."""
    kind, *points = ON_PATH[name]
    distance = words["distance"].format(*points) if points else ""
    return _filled(distance if kind == "distance" else kind, {**words, "distance": distance})


def stored_script(example: Counterexample) -> str:
    """The script of a shipped counterexample; InputError where it has none."""
    document = example.document
    if "claim" not in document:
        raise reject("a script is of a claim's counterexample", example.name, "read its file, or use another")
    t, data = document.get("t"), {"instance": document["instance"]}
    verdict = Verdict(example.subject, document["reading"], Evidence.EXACT, Status.REFUTED, worst_t=t, data=data)
    return script(example.claim(), verdict)


def _weights(instance: Instance) -> list[Any] | None:
    """The weights of each round; None where they differ between outcomes of chance, or losses are no quadratics."""
    if not instance.plain or instance.chance.selections > 1:
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


def _python(side: sp.Expr, words: Mapping[str, str]) -> str:
    """A side of a claim as Python: symbols on the path by their lists, fractions as fractions."""
    side = sp.sympify(side)
    mean = "mean(lambda w, X: {})" if words["paths"] else "{}"
    texts = {name: mean.format(_on_path(name, words)) for name in ON_PATH}
    texts |= {name: _filled(text, words) for name, text in FIXED.items()}
    put = {number: sp.Symbol(_number(number)) for number in side.atoms(sp.Rational) if not number.is_integer}
    powers = {power.base for power in side.atoms(sp.Pow)}
    for symbol in side.free_symbols:
        text = texts.get(symbol.name, symbol.name)
        put[symbol] = sp.Symbol(f"({text})" if symbol in powers and " " in text else text)
    text = str(sp.sstr(side.xreplace(put)))
    return text.replace("Max(", "max(").replace("Min(", "min(")


def _number(value: object) -> str:
    exact = Fraction(str(value))
    return f"Q({exact})" if exact.denominator == 1 else f"Q({exact.numerator}, {exact.denominator})"


def _row(row: Iterable[object]) -> str:
    return f"[{', '.join(map(_number, row))}]"


def _table(rows: Iterable[Iterable[object]]) -> str:
    return f"[{', '.join(map(_row, rows))}]"


def instance(data: Mapping[str, Any], letters: Mapping[str, str] | None = None) -> list[str]:
    """The instance of a verdict's ``data``, the constants (some in ``letters`` for their names), and each term.

    >>> instance({"terms": {}, "constants": {"gap": "1/2"}, "lhs": "1/2", "rhs": "1"}, {"gap": "F(w)-F*"})[1]
    '  F(w)-F*    1/2'
    """
    given = data.get("instance", {})
    lines = fields(_in_words(given) | given)
    if "terms" in data:
        left, right = (with_decimal(data.get(side)) for side in ("lhs", "rhs"))
        if "bits" in data:  # two numbers between the sides
            above = fraction(data["lhs"]) > fraction(data["rhs"])
            left, right = (">= ", "<= ")[not above] + left, ("<= ", ">= ")[not above] + right
        named = letters or {}
        # Numbers that follow from the instance are decimals where their fractions are long.
        short = {k: with_decimal(x) if len(str(x)) > SHOWN else x for k, x in data.get("constants", {}).items()}
        constants = {named.get(k, k): x for k, x in short.items() if k not in given}
        alpha = data.get("alpha")
        lines += fields({"alpha": alpha} if alpha != [given.get("p")] else {}) + fields(constants)
        lines += [*fields({named.get(k, k): x for k, x in data.get("varying", {}).items()}), *fields({"left": left})]
        lines += [*fields(data["terms"], "term"), *fields({"right": right})]
    return lines


def _in_words(given: Mapping[str, Any]) -> dict[str, str]:
    """What the losses and stochastic gradients of an instance are, in its own fields."""
    if "curvatures" not in given:
        return {}
    loss = "curvature (w - minimum)^2/2"
    if "widths" in given:
        loss += " + 4 (upper - curvature) width^2 (log(1 + exp((w - kink)/width)) less its tangent at the minimum)"
    elif "kinks" in given:
        loss += " + (upper - curvature) max(w - kink, 0)^2/2"
    elif "turns" in given:
        loss += " of each coordinate of the turned w"
    words = {"F_i(w)": loss}
    if "q" in given:
        words["a round"] = "each client takes part with probability q; of nobody no model moves"
    if "noise" in given or "growth" in given:
        xi = "u = rare with probability 1/(1 + u^2), else -1/u" if "rare" in given else "1 or -1"
        first = "(1 + xi growth) grad F_i(w)" if "growth" in given else "grad F_i(w)"
        words["g_i(w)"] = f"{first}{' + xi noise' * ('noise' in given)}, xi = {xi}"
    return words


def fields(data: Mapping[str, Any], kind: str = "") -> list[str]:
    """Name and value of each field, behind its ``kind`` if it has one."""
    if kind:
        return [f"  {kind:<10} {name} = {with_decimal(value)}" for name, value in data.items()]
    return [f"  {name:<10} {_flat(value)}" for name, value in data.items()]


def _flat(value: Any) -> str:
    if isinstance(value, list) and len(value) >= MANY and value.count(value[0]) == len(value):
        return f"({len(value)} times {_flat(value[0])})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_flat(part)}" for key, part in value.items())
    return "(" + ", ".join(map(_flat, value)) + ")" if isinstance(value, list) else str(value)
