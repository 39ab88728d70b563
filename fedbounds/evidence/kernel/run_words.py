"""The words of a run for what a derivation speaks of: quantities at a step, at the end, and in the powers of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, step_statement
from fedbounds.evidence.kernel.number_lines import NumberLine
from fedbounds.evidence.kernel.rocq_terms import rocq
from fedbounds.evidence.symbolic import definitions as of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_objects import weights_of
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Mean, Slack, norm_sq

# A quantity without a symbol: E F(w_{t+1}) - F*.
LOSSES = Mean(of.P, of.loss(of.W_NEXT)) - Mean(of.P, of.loss(of.W_STAR))
GAP_NEXT = measured(
    "gap_next", LOSSES, latex=r"\mathbb{E}[F(w_{t+1})]-F^\star", meaning="suboptimality at t + 1", nonnegative=True
)
# ||grad F||^2 at t, t + 1 and T.
AT_T = norm_sq(Centre(of.P, of.grad(of.W_T)))
NOW_AND_NEXT = [AT_T.xreplace({of.W_T: at}) for at in (of.W, of.W_NEXT)]
SLOPE, SLOPE_NEXT = (
    measured(name, at, latex=r"\|\nabla F\|^2", meaning="squared slope of F")
    for name, at in zip(("slope", "slope_next"), NOW_AND_NEXT, strict=True)
)
SLOPE_T = sp.Symbol("slope_T", nonnegative=True)
# An earlier step s of the round: its size, and s + gamma.
ETA_S, M_S = (sp.Symbol(name, positive=True) for name in ("eta_s", "m_s"))
# The distances of local models at T, t and t + 1.
MODELS_T, MODELS, MODELS_NEXT = (sp.Symbol(f"models_{name}", nonnegative=True) for name in ("T", "now", "next"))
NAMED = {of.MODELS_T: MODELS_T, of.MODELS: MODELS, of.MODELS_NEXT: MODELS_NEXT}
NAMED |= {**dict(zip(NOW_AND_NEXT, (SLOPE, SLOPE_NEXT), strict=True)), AT_T: SLOPE_T}
NAMED |= {of.GAP_NEXT: GAP_NEXT, of.ETA_S: ETA_S, of.M_S: M_S}
# Quantities at time T: at a time, and what they are at 0 and one step later in terms of the time's.
ZERO = sp.Integer(0)
AT_START = "0%nat"
SEQUENCES: Mapping[sp.Symbol, tuple[str, sp.Expr, sp.Expr]] = {
    sy.Delta_T: ("Delta (M {})", sy.Delta_0, sy.Delta_next),
    sy.gap: ("gap_t (M {})", sy.gap_0, GAP_NEXT),
    SLOPE_T: ("slope_sq (M {})", of.SLOPE_0, SLOPE_NEXT),
    MODELS_T: ("models_at M {}", sy.Delta_0, MODELS_NEXT),
    sy.eta_sum: ("sum {} (fun s => eta (M s))", ZERO, of.STEPS + sy.eta),
    sy.gap_sum: ("sum {} (fun s => gap_t (M s))", ZERO, of.GAPS + sy.gap_t),
    **{
        power.last: (f"sum {{}} (fun s => INR (taken (M s)) ^ {j})".replace(" ^ 1", ""), ZERO, power.now + of.n**j)
        for j, power in enumerate(of.POWERS, 1)
    },
}
NOW = {"Delta": "Delta (M {})", "gap_t": "gap_t (M {})", "drift": "drift (M {})", "eta": "eta (M {})"}
NOW |= {"n": "INR (taken (M {}))", "t": "INR {}", "gaps": SEQUENCES[sy.gap_sum][0], "steps": SEQUENCES[sy.eta_sum][0]}
NOW |= {one.now.name: SEQUENCES[one.last][0] for one in of.POWERS}
NOW |= {MODELS.name: "models_at M {}", MODELS_NEXT.name: "models_next (M {})"}
NOW |= {"Delta_next": "Delta (M (Datatypes.S {}))", "gap_next": "gap_t (M (Datatypes.S {}))"}
NOW |= {"slope": "slope_sq (M {})", "slope_next": "slope_sq (M (Datatypes.S {}))"}
FIXED = {"Delta_0": "Delta (M 0%nat)", "gap_0": "gap_t (M 0%nat)", "tau": "INR tau", "T": "INR T", "N": "INR (N P)"}
FIXED |= {
    "slope_0": "slope_sq (M 0%nat)",
    "m": "INR m",
    "p_sq": "mean (N P) (p P) (p P)",
    "Gamma": "Gamma P",
    "average_gap": "gap_of_mean T n odds W",
}


@dataclass
class RunWords:
    """The lines of one derivation; ``lemmas`` are those written so far, ``body`` the assertions that use them."""

    checked: Checked
    claim: Claim
    reading: Reading
    lemmas: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    extra: dict[str, d.Step] = field(default_factory=dict)

    @property
    def convex(self) -> bool:
        return claim_statement.without_minima(self.claim, self.reading)

    @property
    def lines(self) -> dict[str, d.Step]:
        put: dict[sp.Expr, sp.Expr] = {}
        if (meaning := step_statement.at_end(self.claim, self.claim.lhs)) is not None:
            put[self.claim.lhs] = meaning
        # What the claim sums is its own quantity, in lines that have it in points.
        for _, _, term in step_statement.sums(self.claim).values():
            put |= {q.expression: q for q in term.free_symbols if getattr(q, "expression", None) is not None}
        steps = (
            replace(one, lhs=one.lhs.xreplace(put), rhs=one.rhs.xreplace(put))
            for one in self.checked.derivation.steps
        )
        return {**{one.label: one for one in steps}, **self.extra}

    def words(self, time: str) -> dict[str, str]:
        """Terms at a step, and at the end."""
        words = {name: text.replace("{}", time) for name, text in {**NOW, **self.moving}.items()} | self.fixed
        words |= {one.name: text.format("T") for one, (text, *_) in self.sequences.items()}
        return words | {name: name for name in self.constants} | self.shorthands

    @property
    def sequences(self) -> Mapping[sp.Symbol, tuple[str, sp.Expr, sp.Expr]]:
        """Quantities at time T, the sums that the claim defines among them."""
        own = {**step_statement.sums(self.claim)}
        if (weights := weights_of(self.claim.lhs)) is not None:
            gaps = f"sum {{}} (fun s => ({step_statement.weights_in_words(weights)}) * gap_t (M s))"
            own[of.WEIGHTED_T] = (gaps, of.WEIGHTED, weights * sy.gap_t)
        return {**SEQUENCES, **{q: (text, ZERO, now + term) for q, (text, now, term) in own.items()}}

    @property
    def moving(self) -> dict[str, str]:
        """Terms at a time of those sums, and of what they sum."""
        gaps = self.sequences.get(of.WEIGHTED_T)
        result: dict[str, str] = {} if gaps is None else {of.WEIGHTED.name: gaps[0]}
        for text, now, term in step_statement.sums(self.claim).values():
            step = step_statement.words(step_statement.of_step(self.claim, term))
            result |= {name: step_statement.at_time(one, "{}") for name, one in step.items()} | {now.name: text}
        return result

    def now(self, symbol: sp.Symbol) -> sp.Expr:
        """A quantity of time T at t."""
        now = {
            sy.T: sy.t,
            sy.Delta_T: sy.Delta,
            sy.gap: sy.gap_t,
            sy.gap_sum: of.GAPS,
            sy.eta_sum: of.STEPS,
            MODELS_T: MODELS,
            SLOPE_T: SLOPE,
            of.WEIGHTED_T: of.WEIGHTED,
        }
        own = {q: before for q, (_, before, _) in step_statement.sums(self.claim).items()}
        return {**now, **own, **{power.last: power.now for power in of.POWERS}}[symbol]

    @property
    def fixed(self) -> dict[str, str]:
        """Terms that no time is in."""
        return {**FIXED, **step_statement.words(self.claim)}

    @property
    def constants(self) -> list[str]:
        known = {*FIXED, *NOW, *self.moving, *(one.name for one in self.sequences)}
        return [name for name in claim_statement.TIED if name not in known]

    @property
    def shorthands(self) -> dict[str, str]:
        """The claim's own definitions, written out."""
        words = self.fixed | {name: name for name in self.constants}
        given = {**self.claim.definitions, **self.checked.abbreviations}
        return {one.name: rocq(value, words) for one, value in given.items()}

    def text(self, line: d.Step, time: str) -> str:
        words = self.words(time)
        return f"{number(line.lhs, words)} {line.relation} {number(line.rhs, words)}"

    def letters(self) -> dict[sp.Symbol, tuple[sp.Expr, str]]:
        """What each letter stands for, and the line that shows that it is not negative, if one does."""
        shown = {one.symbol: one.shown for one in self.checked.derivation.conditions}
        return {
            named(one.symbol): (one.expression, getattr(shown[one.symbol], "label", ""))
            for one in self.checked.conditions
        }

    def moves(self, line: d.Step) -> bool:
        """Whether a line is about a step, whose time it holds for."""
        if isinstance(line.because, d.Induction):
            return False
        found = named(line.lhs - line.rhs).free_symbols
        return bool({one.name for one in found} & {*NOW, *self.moving})

    def steady(self, line: d.Step) -> d.Step:
        """A line about every time with a step size that does not change as the constant that it is."""
        size = sy.eta if self.claim.eta is None or self.claim.eta.has(sy.t) else self.claim.eta
        return replace(line, lhs=line.lhs.xreplace({sy.eta: size}), rhs=line.rhs.xreplace({sy.eta: size}))


def named(expression: sp.Expr) -> sp.Expr:
    """An expression with symbols for the quantities that have none."""
    expression = sp.sympify(expression)
    letters = {one: sp.Symbol(str(one.args[0]), nonnegative=True) for one in expression.atoms(Slack)}
    return expression.xreplace({**NAMED, **letters})


def number(expression: sp.Expr, words: Mapping[str, str]) -> str:
    """An expression of quantities, powers of a time being powers of that power."""
    line = NumberLine("", (ZERO, "<=", ZERO), (), {}, {})
    plain = line.plain(named(expression))
    return rocq(plain, {**words, **{one.name: f"({rocq(b**e, words)})" for (b, e), one in line.powers.items()}})


def signs(symbol: sp.Symbol) -> dict[str, bool]:
    return (
        {"positive": True}
        if symbol.is_positive
        else {"nonnegative": True}
        if symbol.is_nonnegative
        else {"real": True}
    )


def powers_of(sides: tuple[sp.Expr, ...]) -> list[tuple[sp.Expr, sp.Expr]]:
    """Bases, and times in their exponents."""
    found: dict[tuple[sp.Expr, sp.Expr], None] = {}
    for side in sides:
        for power in side.atoms(sp.Pow):
            if not power.exp.is_number:
                found |= dict.fromkeys((power.base, one) for one in power.exp.free_symbols)
    return list(found)


def signed(multiplier: sp.Expr, letter: sp.Symbol) -> bool:
    top, bottom = sp.fraction(sp.together(multiplier))
    return bottom.has(letter) or any(power % 2 for (power,), _ in sp.Poly(sp.expand(top), letter).terms())


def multipliers(line: d.Step) -> Iterator[sp.Expr]:
    def inside(uses: tuple[d.Use, ...]) -> Iterator[sp.Expr]:
        for m, fact in uses:
            yield m
            if isinstance(fact, d.Averaged):
                yield from inside(fact.uses)

    if isinstance(line.because, tuple):
        yield from inside(line.because)


def bounded_drift_of(line: d.Step) -> sp.Expr | None:
    if line.lhs == sy.drift and line.relation == "<=":
        for count in (of.n, sy.tau - 1):
            number = sp.cancel(line.rhs / (sy.eta**2 * count**2 * sy.G_sq))
            if number in (1, 4):
                return number
    return None


def collected(expression: sp.Expr) -> sp.Expr:
    """A combination of what is measured, each with one coefficient: those that cancel are gone."""
    rest, result = sp.expand(named(expression)), sp.Integer(0)
    for symbol in (*SEQUENCES, sy.Delta_0, sy.gap_0, of.SLOPE_0):
        if rest.has(symbol):
            result += sp.expand(sp.cancel(rest.coeff(symbol))) * symbol
            rest = sp.expand(rest - rest.coeff(symbol) * symbol)
    return sp.expand(result + rest)
