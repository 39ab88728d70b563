"""Random derivations around what once let false lines through: whatever the checker accepts must be true.

Each derivation is algebraically right, so that only the gate stands between it and its last line: symbols with any
declared sign, in any role, for numbers of one client or of one step, and citations whose assumptions are discharged
with something else. An accepted line is evaluated at random instances; one that is false anywhere is a hole.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp
from sympy.core.assumptions import StdFactKB

from fedbounds.evidence.symbolic import definitions as o
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.vectors import Mean, Slack, Value

PAPER = (a.smooth, a.strongly_convex, a.full_participation)
SIGNS: tuple[Mapping[str, bool], ...] = (
    *3 * ({"real": True}, {"nonnegative": True}, {"positive": True}),
    {"negative": True},
    {"zero": True},
    {"nonpositive": True},
    {"real": True, "nonzero": True},
    {"positive": True, "integer": True},
    {"negative": True, "real": True},
    {},
)
q = sp.Symbol("z", positive=True)
x_i = Value(sp.Symbol("x"), o.I)
CLIENTS = 3
INSTANCES = 12


@dataclass(frozen=True)
class Trial:
    """A derivation with those it cites and the ``kind`` of trick.

    ``sound`` says whether it is, where that is known; else the last line is evaluated with the symbols' ``meanings``.
    """

    kind: str
    derivations: tuple[d.Derivation, ...]
    meanings: Mapping[sp.Basic, sp.Expr]
    sound: bool | None = None


def _symbol(rng: random.Random, name: str) -> sp.Symbol:
    return sp.Symbol(name, **rng.choice(SIGNS))


def _number(rng: random.Random) -> sp.Expr:
    """A number of the run, or one that differs between clients."""
    share = rng.choice((sp.Rational(1, 4), sp.Rational(1, 2), sp.Integer(1)))
    return rng.choice((sy.L, sy.mu, q, share, sy.G_sq, o.SHARE, x_i, sy.rho_bar, sy.N, o.n))


def _factor(rng: random.Random, *more: sp.Expr) -> sp.Expr:
    """A multiplier: 1 or a product of numbers with either sign."""
    factors = rng.sample((sy.G_sq, q, sy.Delta_next, sy.mu, o.SHARE, *more), rng.choice((0, 1, 1, 2)))
    return rng.choice((1, 1, -1)) * sp.Mul(*factors)


def _line(uses: list[d.Written], values: list[sp.Expr], relation: d.Relation = "<=") -> d.Step:
    return d.step("end", 0, relation, sp.expand(sp.Add(*values))).by(*uses)


def of_conditions(rng: random.Random) -> Trial:
    """A symbol of any sign stands for what a definition shows non-negative."""
    c = rng.choice((_symbol(rng, "c"), Slack(sp.Symbol("c"), o.I), _symbol(rng, rng.choice(("L", "Gamma", "n")))))
    fact, value = rng.choice(
        (
            (d.premise("curvatures"), sy.L - sy.mu),
            (d.premise("whole-steps"), sy.tau - 1),
            (d.premise("least-p"), o.SHARE - sy.p_min),
            (d.premise("some-client"), sy.N - 1),
        )
    )
    multiplier = rng.choice((c, -c, c**2, c * sy.G_sq, -c * q, sp.Integer(1)))
    uses, values = [(multiplier, d.ONE)], [multiplier.subs(c, value)]
    if rng.random() < 0.5:
        factor = _factor(rng, c)
        uses, values = [*uses, (factor, fact)], [*values, factor.subs(c, value) * value]
    line = _line(uses, values)
    return Trial("a condition", (_proof(line, conditions=(d.Condition(c, fact),)),), {c: value})


def of_abbreviations(rng: random.Random) -> Trial:
    """A symbol of any sign abbreviates an extreme of anything."""
    c, extreme = _symbol(rng, "c"), rng.choice((sp.Min, sp.Max))
    first, second = _number(rng), _number(rng)
    value = extreme(first, second, evaluate=False)
    multiplier, factor = rng.choice((c, -c, c**2, -c * q)), _factor(rng, c)
    bound = first - c if extreme is sp.Min else c - first
    line = _line([(multiplier, d.ONE), (factor, d.Extreme(c, first))], [multiplier, factor * bound])
    if rng.random() < 0.4:
        line = replace(line, rhs=Mean(o.P, line.rhs), because=((sp.Integer(1), d.averaged(o.P, *line.because)),))
    return Trial("an abbreviation", (_proof(line, abbreviations={c: value}),), {c: value})


def of_cases(rng: random.Random) -> Trial:
    """Two cases of a number, or of what is another number for each client, with symbols of any sign."""
    c, e, r = _symbol(rng, "c"), _symbol(rng, "e"), _symbol(rng, "r")
    hidden = rng.random() < 0.6
    value = sp.Min(o.SHARE, 1, evaluate=False) if rng.random() < 0.7 else sp.Max(q, 1, evaluate=False)
    x = (r if hidden else _number(rng)) - rng.choice((sp.Rational(1, 4), sy.mu, _number(rng)))
    kind = rng.randrange(4)
    if kind == 0:  # x * (mean of x) >= 0: true where x is one number
        inside = sp.expand(x * Mean(o.LAMBDA, x))
        uses = [d.case(s, d.averaged(o.P, (s, d.averaged(o.LAMBDA, (s, d.ONE))))) for s in (c, e)]
        line = d.step("end", 0, "<=", Mean(o.P, inside)).by(d.Cases(x, *uses))
    elif kind == 1:
        line = d.step("end", 0, "<=", x**2).by(d.Cases(x, d.case(c, (c**2, d.ONE)), d.case(e, (e**2, d.ONE))))
    else:
        factor = _factor(rng)
        line = d.step("end", 0, "<=", factor * x).by(
            d.Cases(x, d.case(c, (factor * c, d.ONE)), d.case(e, (-factor * e, d.ONE)))
        )
    more = {"abbreviations": {r: value}} if hidden else {}
    return Trial("a case", (_proof(line, **more),), {r: value})


def of_clients(rng: random.Random) -> Trial:
    """What is said of one client against what is said of their mean."""
    one = rng.choice((sy.excess, sy.grad_sq, x_i, o.SHARE, sy.sigma_p_sq))
    weights = rng.choice((o.P, o.LAMBDA, o.ALPHA))
    left, right = rng.choice(
        ((one, Mean(weights, one)), (Mean(weights, one), one), (one * q, Mean(weights, q * one)))
    )
    line = d.step("end", left, rng.choice(("=", "<=")), right)
    return Trial("a client", (_proof(line),), {}, sound=one == sy.sigma_p_sq)


def of_inductions(rng: random.Random) -> Trial:
    """Delta_{t+1} <= m_t for every t does not bound Delta_T by m_T, where m moves with t."""
    moving = rng.choice((o.n, sy.eta, o.rho, o.average_gap, o.STEPS, sy.t, _symbol(rng, "m"), sy.rho_bar, sy.drift))
    hidden = rng.random() < 0.4
    m = _symbol(rng, "m_0") if hidden else moving
    bounded = Assumption("bounded", "", gives=lambda objects: Part(sp.Integer(0), "<=", moving - sy.Delta_next))
    uses = [d.premise("bounded"), (sy.Delta_0, d.ONE)] + ([d.Extreme(m, moving)] if hidden else [])
    steps = (
        d.step("base", sy.Delta_0, "<=", sy.Delta_0 + m).by((m, d.ONE)),
        d.step("carry", sy.Delta_next, "<=", sy.Delta_0 + m).by(*uses),
        d.step("end", sy.Delta_T, "<=", sy.Delta_0 + m).by(d.Induction("base", "carry")),
    )
    more = {"abbreviations": {m: sp.Max(moving, q, evaluate=False)}} if hidden else {}
    steady = isinstance(moving, sp.Symbol) and moving.name in ("m", "rho_bar")
    return Trial("an induction", (_proof(*steps, assumes=(*PAPER, bounded), **more),), {}, sound=steady)


def of_sequences(rng: random.Random) -> Trial:
    """A result of its own whose sequence's terms have another meaning too."""
    names = ("z_0", "z_t", "z_next", "z_T")
    z_0, z_t, z_next, z_T = (sp.Symbol(name, nonnegative=True) for name in names)
    restricted = rng.choice((z_0, z_t, z_next, z_T))
    by_case = rng.random() < 0.3
    meaning = sp.Min(q, 1, evaluate=False) if restricted != z_next else sp.Min(z_t, q, evaluate=False)
    fact = d.Extreme(restricted, z_t if restricted == z_next else q)
    bound = z_0 if restricted == z_next else z_0 + q
    carry: tuple[d.Written, ...] = (fact, (z_0, d.ONE)) if restricted != z_next else (fact, d.Hypothesis("end"))
    steps = (
        d.step("base", z_0, "<=", bound).by((sp.expand(bound - z_0), d.ONE)),
        d.step("carry", z_next, "<=", bound).by(*carry),
        d.step("end", z_T, "<=", bound).by(d.Induction("base", "carry")),
    )
    more = {"conditions": (d.Condition(restricted, d.premise("curvatures")),)} if by_case else {}
    more |= {"abbreviations": {restricted: meaning}, "sequences": {z_T: (z_0, z_t, z_next)}}
    return Trial("a sequence", (_proof(*steps, **more),), {}, sound=False)


def of_discharges(rng: random.Random) -> Trial:
    """A citation whose assumption is discharged by a step that shows something else."""
    said = iter(rng.choice(([-sy.G_sq], [1, -sy.G_sq], [-sy.G_sq, 1, -sy.G_sq])) + [sp.Integer(1)] * 40)
    sly = rng.choice(
        (
            Assumption("sly", "", gives=lambda s, *at: Part(sp.Integer(0), "<=", -sy.G_sq if at else sp.Integer(1))),
            Assumption("sly", "", gives=lambda s, at=0: Part(sp.Integer(0), "<=", -sy.G_sq if at else sp.Integer(1))),
            Assumption("sly", "", gives=lambda s: Part(sp.Integer(0), "<=", sp.sympify(next(said)))),
            Assumption("sly", "", sp.Le(sy.G_sq, 0, evaluate=False)),
        )
    )
    use = d.step("use", sy.G_sq, "<=", 0).by(d.premise("sly", *rng.choice(((), (o.W,), (sp.Integer(0),)))))
    shown = d.step("shown", 0, "<=", rng.choice((1, q, sy.L))).by((rng.choice((1, q, sy.L)), d.ONE))
    lemma = _proof(use, key="lemma", assumes=(*PAPER, sly))
    end = d.step("end", sy.G_sq, "<=", 0).by(d.Cited("lemma", {"sly": "shown"}))
    return Trial("a discharge", (_proof(shown, end), lemma), {}, sound=False)


def of_assumptions(rng: random.Random) -> Trial:
    """A definition that is assumed, or an assumption about a symbol that the proof gives another meaning."""
    c = sp.Symbol("c", nonnegative=True)
    if rng.random() < 0.5:
        key = rng.choice(sorted(o.DEFINITIONS))
        return Trial(
            "a definition",
            (_proof(d.step("end", 0, "<=", q).by((q, d.ONE)), assumes=(*PAPER, o.DEFINITIONS[key])),),
            {},
            sound=False,
        )
    high = Assumption("high", "", sp.Ge(c, rng.randrange(1, 9)))
    level = high.relation.rhs
    role = rng.randrange(2)
    value = sp.Max(q, 1, evaluate=False) if role else sy.L - sy.mu
    more = {"abbreviations": {c: value}} if role else {"conditions": (d.Condition(c, d.premise("curvatures")),)}
    line = d.step("end", level, "<=", c if role else sy.L - sy.mu).by(d.premise("high"))
    return Trial("a meaning", (_proof(line, assumes=(*PAPER, high), **more),), {c: value}, sound=False)


def of_tampering(rng: random.Random) -> Trial:
    """An expression that is below zero says of itself that it is not, or has a method that says so."""
    low = rng.choice((-q * sy.G_sq, sy.mu - sy.L - q, sp.Min(sy.G_sq, -q), -q * sy.L)) * rng.choice((1, q, sy.mu))
    made = type(low)(*low.args, evaluate=False)
    if isinstance(made, sp.Min) and rng.random() < 0.5:
        vars(made)["_prop_handler"] = {"nonnegative": lambda one: True}
    made._assumptions = StdFactKB({"nonnegative": True, "negative": False})
    return Trial("a sign written in", (_proof(d.step("end", 0, "<=", low).by((made, d.ONE))),), {}, sound=False)


KINDS: tuple[Callable[[random.Random], Trial], ...] = (
    of_conditions,
    of_abbreviations,
    of_cases,
    of_clients,
    of_inductions,
    of_sequences,
    of_discharges,
    of_assumptions,
    of_tampering,
)


def _proof(*steps: d.Step, key: str = "proof", **more: object) -> d.Derivation:
    return d.Derivation(key, "", steps, **{"assumes": PAPER, **more})  # type: ignore[arg-type]


def trials(seed: int, count: int) -> Iterator[Trial]:
    """So many random derivations."""
    rng = random.Random(seed)
    for _ in range(count):
        yield rng.choice(KINDS)(rng)


def accepted(trial: Trial) -> bool:
    """Whether the checker takes the derivation."""
    return not verified_proofs.check_all(trial.derivations)[trial.derivations[0].key].fault


def is_hole(trial: Trial, rng: random.Random) -> bool:
    """Whether the last line of an accepted derivation is false, as known or at one of some random instances."""
    if trial.sound is not None:
        return not trial.sound
    line = trial.derivations[0].steps[-1]
    difference = sp.sympify(line.rhs - line.lhs).xreplace(dict(trial.meanings)).xreplace(dict(trial.meanings))
    return any(_false_at(difference, line.relation, rng) for _ in range(INSTANCES))


def _false_at(difference: sp.Expr, relation: str, rng: random.Random) -> bool:
    """Whether ``difference relation 0`` fails for some client of a random instance."""
    draw = lambda: sp.Rational(rng.randrange(1, 40), 10)  # noqa: E731
    mu = draw()
    cuts = sorted(rng.sample(range(1, 20), CLIENTS - 1))
    shares = [sp.Rational(y - x, 20) for x, y in zip((0, *cuts), (*cuts, 20), strict=True)]
    weights = {o.P: shares, o.LAMBDA: rng.sample(shares, CLIENTS), o.ALPHA: rng.sample(shares, CLIENTS)}
    values = {sy.mu: mu, sy.L: mu + draw() * rng.choice((0, 1)), sy.tau: sp.Integer(3), sy.N: sp.Integer(CLIENTS)}
    values |= {sy.p_min: min(shares), sy.rho_bar: draw() * rng.choice((0, 1)), o.n: sp.Integer(rng.randrange(3))}
    values |= {sy.G_sq: draw() * rng.choice((0, 1)), sy.Delta_next: draw() * rng.choice((0, 1))}
    per_client = {x_i: [draw() - 2 for _ in shares], o.SHARE: shares}

    def at(expression: sp.Expr, i: int) -> sp.Expr:
        means = {m: _mean(m, at, weights) for m in expression.atoms(Mean)}
        known = {**values, **{symbol: numbers[i] for symbol, numbers in per_client.items()}}
        result = expression.xreplace(means).xreplace(known)
        left = {s: draw() if s.is_positive or s.is_nonnegative else draw() - 2 for s in result.free_symbols}
        values.update(left)
        return result.xreplace(left).doit()

    results = [at(difference, i) for i in range(CLIENTS)]
    fails = {"<=": lambda v: v < 0, "=": lambda v: v != 0, "<": lambda v: v <= 0}[relation]
    return any(bool(fails(sp.nsimplify(value))) for value in results if value.is_number)


def _mean(mean: sp.Expr, at: Callable[[sp.Expr, int], sp.Expr], weights: Mapping[sp.Expr, list[sp.Expr]]) -> sp.Expr:
    return sp.Add(*(w * at(mean.args[1], i) for i, w in enumerate(weights[mean.args[0]])))
