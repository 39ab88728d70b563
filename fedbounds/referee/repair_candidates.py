"""Statements near a refuted one.

Each differs from it in one place: an assumption more or another limit on steps, an exponent, a sign or a symbol
changed, a coefficient, a term more. Or it is a shipped theorem about the same, with at most two differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import sympy as sp

from fedbounds.referee.changed_terms import BASES, Part, parts, scaled, scaled_term, slipped
from fedbounds.referee.implication import USUAL, granted
from fedbounds.referee.sharpen import limited
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim, OwnSteps
from fedbounds.theory.path_quantities import optimum_spread, p_sq, spread_of_optima
from fedbounds.theory.reading import READINGS, Reading

# What authors leave out, beside what open claims are tried with.
ASSUMPTIONS = (
    *(*USUAL, a.equal_p, a.steps_up_to_2_over_L_plus_mu, a.small_steps, a.quarter_steps, a.halving, a.slow_decay),
    *(a.strongly_convex, a.smooth, a.bounded_gradient, a.bounded_variance, a.identical),
)
# Terms that bounds on a step usually have, beside those of shipped theorems about the same.
TERMS = (
    *(factor * s.Delta for factor in (1 - s.eta * s.mu, (1 - s.eta * s.mu) ** 2, 1 - s.eta * s.mu * (1 + s.rho_bar))),
    *(s.Delta, s.eta * s.L * s.drift, s.drift, s.eta**2 * s.sigma_p_sq, s.eta**2 * s.sigma_sq),
    *(s.eta**2 * s.L * s.Gamma, s.eta * s.Gamma * (s.rho_tilde - s.rho_bar), s.eta**2 * s.zeta_star_sq),
    *(s.eta**2 * s.G_sq, s.eta**2 * (s.tau - 1) ** 2 * s.G_sq, s.eta**2 * s.tau**2 * s.G_sq),
)
# Such terms of bounds at a point.
AT_POINTS = (s.L * s.gap_t, s.L * s.Gamma, s.zeta_star_sq, s.L**2 * s.Delta, s.sigma_sq, s.G_sq, s.gap_t, s.Delta)
OF_A_CLIENT = (s.L * s.excess, s.excess, s.G_sq)
# Such terms between constants of a problem.
RATIOS = (
    *(1 / s.pi_min, s.pi_max, s.pi_max / s.pi_min, s.rho_tilde, 1 / s.rho_bar, s.rho_tilde / s.rho_bar),
    *(s.N, 1 / s.p_min, s.L / s.mu, s.tau),
)
# Ratios of weights, which are forgotten or turned upside down as a factor.
WEIGHTS = (s.pi_max, s.pi_min, s.rho_bar, s.rho_tilde)
# Symbols that are taken for each other, in a term, in all terms, or on the left side.
EXCHANGES: tuple[Mapping[sp.Symbol, sp.Expr], ...] = (
    {s.rho_bar: s.rho_tilde, s.rho_tilde: s.rho_bar},
    *({old: new} for old, new in ((s.rho_bar, s.rho_tilde), (s.rho_tilde, s.rho_bar))),
    *({s.sigma_sq / s.N: s.sigma_p_sq}, {s.sigma_p_sq: s.sigma_sq}, {1 / s.N: sp.Integer(1)}, {s.N: s.m}),
    *({p_sq: sp.Integer(1)}, {p_sq: 1 / s.N}, {spread_of_optima: optimum_spread}),
    *({s.mu: s.L}, {s.L: s.mu}, {s.pi_min: s.pi_max}, {s.pi_max: s.pi_min}, {s.eta: s.eta_0}),
    *({s.T: s.T - 1}, {s.T: s.T + 1}, {s.tau: s.tau - 1}, {s.tau: s.tau + 1}),
    *({s.Delta_next: s.Delta}, {s.Delta: s.Delta_next}),
)
# Coefficients that theorems have; one that must be larger than these is a sign that none will do.
COEFFICIENTS = sorted(
    {sp.Rational(p, q) for p in range(1, 13) for q in (1, 2, 3, 4, 8)} | {*map(sp.Integer, range(14, 33, 2))}
    | {*map(sp.Integer, (40, 48, 64))} | {1 / sp.Integer(q) for q in (6, 12, 16, 32, 64)}
)  # fmt: skip
POWERS = (1, -1, 2, -2)
# What derivations leave behind where they divide by N, leave the optimum, or sum over steps.
FACTORS = (s.N / (s.N - 1), (s.L + s.mu) ** 2 / (4 * s.L * s.mu), 1 + sp.log(s.tau), 1 + sp.log(s.T))
# A shipped theorem with more differences than these is another theorem.
DIFFERENCES = 2

# A change in words, and what makes the changed claim.
Change = tuple[str, Callable[[], Claim]]


class Ladder(Sequence[Any]):
    """What is made of values, each when it is asked for: most of a ladder never is."""

    def __init__(self, make: Callable[[Any], Any], values: Sequence[Any], several: bool = False) -> None:
        self._make, self._values, self._several = cache(make), values, several or len(values) > 1

    @property
    def fitted(self) -> bool:
        """Whether it begins with one of several numbers that is not 1: that it stands is known from runs alone."""
        values = self._values
        return values.fitted if isinstance(values, Ladder) else self._several and values[0] != 1

    @property
    def plain(self) -> int | None:
        """Where 1 stands among its numbers, if it does: most terms have it."""
        values = self._values
        return values.plain if isinstance(values, Ladder) else next((k for k, x in enumerate(values) if x == 1), None)

    def __len__(self) -> int:
        """So many."""
        return len(self._values)

    def __getitem__(self, k: Any) -> Any:
        """One of them, or a ladder of some."""
        return (
            Ladder(self._make, self._values[k], self.fitted) if isinstance(k, slice) else self._make(self._values[k])
        )


def candidates(
    claim: Claim,
    reading: Reading,
    shipped: Mapping[str, Claim],
    negative: Callable[[sp.Expr], bool] = lambda expression: True,
) -> Iterator[Sequence[Sequence[Change]]]:
    """Groups of ladders of changes, the likely slips first; on a ladder each change makes a weaker claim.

    The sign of a term or addend is in doubt only where the term, or the sum, is ``negative`` in some run.
    """
    nonzero = [part for part in parts(claim) if part.expression != 0]
    near = sorted(_near(claim, reading, shipped), key=lambda item: item[0])
    wrong = (part for part in nonzero if negative(part.whole))
    signs = (_times(claim, part, sp.Integer(-1), "the sign changed") for part in wrong)
    alike = (change for differences, change in near if differences == 1)
    yield [[change] for change in (*alike, *_exchanged(claim), *signs)]
    conditions = (*_assumed(claim, reading), *_other_steps(claim), *_steps_of_others(claim, reading, shipped))
    yield [[change] for change in (*_borrowed(claim, reading, shipped), *conditions)]
    whole = [_all_larger(claim)] * (len(claim.terms) > 1)
    yield [*whole, *_shorter_steps(claim), *filter(len, (_larger(claim, part) for part in nonzero))]
    powers = [[change] for part in nonzero for change in _to_a_power(claim, part)]
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        others = (*slipped(term), *(term * factor for factor in FACTORS))
        powers += [[_in_place(claim, name, other)] for other in others]
    yield powers
    stated = {*claim.terms.values(), claim.lhs}
    yield [_with_more(claim, term) for term in _usual(claim) if term not in stated]
    yield [[change] for differences, change in near if differences > 1]


def _usual(claim: Claim) -> Iterable[sp.Expr]:
    """The terms that bounds on such a left side usually have."""
    if claim.scope == "step" and claim.lhs != s.Delta_next:
        return (*AT_POINTS, *(term for term in TERMS if not term.has(s.Delta)))
    return {"step": TERMS, "constant": RATIOS, "point": OF_A_CLIENT}.get(claim.scope, ())


def _about(claim: Claim, reading: Reading, shipped: Mapping[str, Claim]) -> Iterator[tuple[Claim, Reading]]:
    """Shipped theorems about the same left side, each in a reading of its own."""
    for other in shipped.values():
        how = READINGS[other.readings[-1]]
        same = (other.scope, other.kind) == (claim.scope, claim.kind)
        if same and other.sides(how).lhs == claim.sides(reading).lhs:
            yield other, how


def _borrowed(claim: Claim, reading: Reading, shipped: Mapping[str, Claim]) -> Iterator[Change]:
    """A term of a shipped theorem about the same in place of the one of its name, or added."""
    mine, fair = claim.sides(reading).terms, a.unbiased in claim.assumptions_in(reading)
    for other, how in _about(claim, reading, shipped):
        for name, stated in other.sides(how).terms.items():
            term = _with_fair_weights(stated) if fair else stated
            if name not in mine:
                yield _change(claim, f"{term} added, as in {other.key}", terms={**claim.terms, name: term})
            elif term != mine[name]:
                yield _in_place(claim, name, term)


def _with_fair_weights(term: sp.Expr) -> sp.Expr:
    """A term where alpha = p, so that ratios of weights are 1."""
    even = sp.sympify(term).subs(dict.fromkeys(WEIGHTS, 1))
    return even.replace(sp.Min, lambda *of: sp.Integer(1) if 1 in of else sp.Min(*of))


def _shorter_steps(claim: Claim) -> Iterator[list[Change]]:
    """The limits on steps over larger and larger numbers; where there is none, one in units of 1/L."""
    if claim.scope not in ("step", "horizon") or claim.steps is not None:
        return
    for item in [item for item in claim.assumptions if "eta" in item.symbols() and item.parts] or [a.small_steps]:
        made = (limited(claim, over, item) for over in COEFFICIENTS if over > sp.Rational(1, 4))
        yield [(f"as stated, for {words}", partial(replace, shorter)) for words, shorter in filter(None, made)]


def _other_steps(claim: Claim) -> Iterator[Change]:
    """Steps twice as long or half as long, or up to another limit."""
    if claim.steps is None:
        return
    limits = [item for item in claim.steps.args if isinstance(claim.steps, sp.Min) and item != s.eta_0]
    for limit in limits:
        for other in (limit.subs(s.L, s.L + s.mu), 2 / (s.L + s.mu), 1 / s.L, limit / 2, limit / 4):
            yield _change(claim, f"as stated, for eta <= {other} in place of {limit}", eta=sp.Min(s.eta_0, other))
    if not limits and claim.eta != s.eta_0:
        for factor in (sp.Integer(2), sp.Rational(1, 2)):
            longer = factor * claim.eta
            defined = {symbol: value.subs(s.eta_0, s.eta_0 / factor) for symbol, value in claim.definitions.items()}
            yield _change(claim, f"as stated, for eta_t = {longer}", eta=longer, definitions=defined)


def _steps_of_others(claim: Claim, reading: Reading, shipped: Mapping[str, Claim]) -> Iterator[Change]:
    """The steps of shipped theorems about the same, where a claim about a whole run states none."""
    if claim.steps is not None or claim.scope != "horizon":
        return
    others = (other for other, _ in _about(claim, reading, shipped))
    for other in {other.steps: other for other in others if other.steps is not None}.values():
        defined = {**other.definitions, **claim.definitions}
        yield _change(claim, f"as stated, for eta_t = {other.eta}", eta=other.eta, definitions=defined)


def _near(claim: Claim, reading: Reading, shipped: Mapping[str, Claim]) -> Iterator[tuple[int, Change]]:
    """Shipped theorems about the same left side, with the number of differences."""
    left, _, mine = claim.sides(reading)
    stated = claim.assumptions_in(reading)
    for other, how in _about(claim, reading, shipped):
        terms, assumed = other.sides(how).terms, other.assumptions_in(how)
        more, fewer = ([*map(str, _unlike(these, those))] for these, those in ((terms, mine), (mine, terms)))
        missing = [item.statement for item in assumed if not granted(item, claim, stated)]
        differences = max(len(more), len(fewer)) + len(missing)
        if other.eta is not None and other.steps != claim.steps:
            missing.append(f"eta_t = {other.eta}")
            differences += claim.steps is not None  # it is a slip of its own to state none
        if 0 < differences <= DIFFERENCES:
            changes = [f"{' + '.join(more) or '0'} in place of {' + '.join(fewer) or '0'}"] * bool(more or fewer)
            changes += [f"if also {', '.join(missing)}"] * bool(missing)
            rest = tuple(item for item in assumed if not isinstance(item, OwnSteps))
            named = {"key": f"{claim.key} (as in {other.key})", "readings": (reading.name,), "repair": None}
            read = partial(replace, other, lhs=left, terms=terms, assumptions=rest, **named)
            yield differences, (f"{'; '.join(changes)}, as in {other.key}", read)


def _unlike(terms: Mapping[str, sp.Expr], others: Mapping[str, sp.Expr]) -> list[sp.Expr]:
    """Those terms that are not among the others."""
    expanded = {sp.expand(term) for term in others.values()}
    return [term for term in terms.values() if sp.expand(term) not in expanded and term != 0]


def _assumed(claim: Claim, reading: Reading) -> Iterator[Change]:
    """A shipped assumption more; in place of one about the same, such as another limit on the step size."""
    decaying = claim.steps is not None and claim.steps.has(s.t)
    for item in ASSUMPTIONS:
        if item not in claim.assumptions_in(reading) and not (decaying and item == a.constant_steps):
            about = {part.left for part in item.parts}
            gone = [old for old in claim.assumptions if about and {part.left for part in old.parts} == about]
            rest = tuple(old for old in claim.assumptions if old not in gone)
            change = f"as stated, if also {item.statement}"
            if gone:
                limits = (f"{part.left} {part.sign} {part.right}" for old in gone for part in old.parts)
                change = f"as stated, if {item.statement}, in place of {', '.join(limits)}"
            yield _change(claim, change, assumptions=(*rest, item))


def _change(claim: Claim, words: str, **other: Any) -> Change:
    return words, partial(replace, claim, key=f"{claim.key} ({words})", **other)


def _in_place(claim: Claim, name: str, term: sp.Expr) -> Change:
    words = f"{name}: {term} in place of {sp.sympify(claim.terms[name])}"
    return _change(claim, words, terms={**claim.terms, name: term})


def _times(claim: Claim, part: Part, factor: sp.Expr, words: str = "") -> Change:
    words = words or f"times {factor}"
    return f"{part.label}: {words}", lambda: scaled(claim, part, factor, words)


def _to_a_power(claim: Claim, part: Part) -> Iterator[Change]:
    """A part times or over a power of tau, N, kappa, eta L, T, or the step alone."""
    eta = s.eta if claim.scope == "step" else s.eta_0
    weights = WEIGHTS if {symbol.name for symbol in WEIGHTS} & claim.symbols else ()
    for base in (*BASES, *weights, eta, *(s.L * s.eta_0,) * (eta == s.eta_0)):
        if eta == s.eta or not base.has(s.eta):
            yield from (_times(claim, part, base**power) for power in POWERS)
    yield from (_times(claim, part, (s.tau - 1) ** n) for n in (1, 2))
    if part.path:
        yield _times(claim, part, 1 - eta * s.L)
    expression = part.expression
    for power in expression.atoms(sp.Pow):  # (1 - tau x)^n for (1 - x)^(tau n)
        if power.base.is_Add and (power.base - 1).has(s.tau) and not part.path:
            put = (1 + (power.base - 1) / s.tau) ** (power.exp * s.tau)
            yield _in_place(claim, part.term, expression.xreplace({power: put}))


def _with_more(claim: Claim, usual: sp.Expr) -> Ladder:
    """One of the usual terms more, times a number."""

    def added(factor: sp.Rational) -> Change:
        term = factor * usual
        return _change(claim, f"{term} added", terms={**claim.terms, f"+ {term}": term})

    return Ladder(added, COEFFICIENTS)


def _exchanged(claim: Claim) -> Iterator[Change]:
    """One symbol for another: in one term, in all of them, on the left side."""
    for exchange in EXCHANGES:
        (old, new), *_ = exchange.items()
        terms = {name: sp.sympify(term).subs(exchange, simultaneous=True) for name, term in claim.terms.items()}
        differing = [name for name, term in terms.items() if term != claim.terms[name]]
        yield from (_in_place(claim, name, terms[name]) for name in differing)
        if len(differing) > 1:
            both = ", and the other way round" * (len(exchange) > 1)
            yield _change(claim, f"{new} in place of {old}{both}, in every term", terms=terms)
        left = sp.sympify(claim.lhs).subs(exchange, simultaneous=True)
        if left != claim.lhs and not isinstance(left, sp.Number):
            yield _change(claim, f"{left} in place of {claim.lhs} on the left side", lhs=left)


def _larger(claim: Claim, part: Part) -> Ladder:
    """A part of a term with a larger coefficient; a smaller one where that makes the term larger."""
    coefficient = part.expression.primitive()[0]  # of a sum, that of all its addends
    above = [value for value in COEFFICIENTS if value > coefficient]
    if part.expression.as_coeff_Mul()[0] < 0:
        above = [value for value in (*reversed(COEFFICIENTS), sp.Integer(0)) if value < coefficient]
    return Ladder(lambda value: _in_place(claim, part.term, scaled_term(claim, part, value / coefficient)), above)


def _all_larger(claim: Claim) -> Ladder:
    """The whole right side times a number."""

    def times(factor: sp.Rational) -> Change:
        terms = {name: factor * term for name, term in claim.terms.items()}
        return _change(claim, f"{factor} times the right side", terms=terms)

    return Ladder(times, [factor for factor in COEFFICIENTS if factor > 1])
