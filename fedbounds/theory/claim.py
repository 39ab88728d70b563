"""A claim: a statement in sympy terms, the assumptions it is made under, and how it is repaired.

A claim carries no evidence and no opinion on its own truth; evidence carries its claim.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import sympy as sp

from fedbounds.errors import nearest, of_kind, reject
from fedbounds.theory import protocol_assumptions as protocol
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim_validation import check_claim, gamma_from_steps, warn_as_made
from fedbounds.theory.coverage import Coverage, coverage_of_relations
from fedbounds.theory.quantity import Quantity, Scope, quantities_on_paths
from fedbounds.theory.reading import READINGS, Reading

# The key of the assumption that the step size is the claim's, which evaluators look after themselves.
OWN_STEPS = "step-size"
# What a claim is about unless it says otherwise, and what simulated runs and instances in fractions are of.
FEDAVG = "fedavg"
# What a step size of one's own may depend on.
STEP_SYMBOLS = frozenset({"L", "mu", "tau", "N", "eta_0", "eta_s", "t"})
# Step sizes computed in different orders differ by a few units in the last place.
SCHEDULE_TOLERANCE = 1e-9
# How the warning begins of what may be a hypothesis in a LaTeX text and was not read.
NOT_READ = "not read"


class Kind(enum.StrEnum):
    """What sort of statement a claim is: lhs <= rhs, lhs = rhs, or lhs = O(1/T)."""

    INEQUALITY = "inequality"
    IDENTITY = "identity"
    RATE = "rate"


class Role(enum.StrEnum):
    """What a claim may be asked for, so that no picture or study has to know one by its key.

    MAIN is the bound speed/(T + gamma) + error under study: a study reports its two parts, and takes its step size.
    BOUND is what constants alone determine; PICTURED is drawn against a run; YARDSTICK is proved, and what mutants
    of others are compared with. HEADLINE is a statement of the paper that a study examines unless others are named.
    """

    MAIN = "speed-and-error"
    BOUND = "bound-on-the-gap"
    PICTURED = "pictured"
    YARDSTICK = "yardstick"
    HEADLINE = "headline"


class Formula(NamedTuple):
    """Both sides of a claim in a reading, its repair and definitions put in; ``rhs`` is the sum of ``terms``."""

    lhs: sp.Expr
    rhs: sp.Expr
    terms: Mapping[str, sp.Expr]


@dataclass(frozen=True)
class Repair:
    """What the repaired reading adds: further assumptions, and substitutions made at once in the terms."""

    why: str
    assumptions: tuple[Assumption, ...] = ()
    substitutions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.substitutions, Mapping):
            object.__setattr__(self, "substitutions", dict(self.substitutions))


class OwnSteps(Assumption):
    """That a run used the step size its claim is stated for: what evaluators may put in place themselves."""


def _pairs(values: Mapping[sp.Symbol, Any]) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
    """What is put in as sympy's own numbers: 2 and 2.0 are one to Python, and one of them is exact."""
    return tuple((symbol, sp.sympify(value)) for symbol, value in values.items())


@lru_cache(maxsize=4096)
def _put(expression: sp.Expr, values: tuple[tuple[sp.Symbol, sp.Expr], ...], simultaneous: bool = False) -> sp.Expr:
    """The expression with values put in, made once: claims that differ in a term share all others."""
    return expression.subs(dict(values), simultaneous=simultaneous)


@dataclass(frozen=True)
class Claim:
    """One lemma, theorem, corollary or remark.

    ``scope`` says what it ranges over: every visited ``point`` and client, every ``step`` t -> t+1, every ``horizon``
    T, or the run's ``constant`` quantities alone. The right side is the sum of the named ``terms``; ``definitions``
    are symbols the statement itself defines and ``eta`` is the step size it requires, in t. ``readings`` are those in
    which it says different things, ``roles`` what it may be asked for, ``short`` its name in a legend, and ``floor``
    what a rate is compared with. ``algorithm`` is as `fedbounds.plugins.algorithm_named` takes it. With ``units``
    "checked" terms of different units are refused, with "as written" not, else warned of.
    ``unread`` warns of what was not read of a LaTeX file, ``from_text`` are assumptions that its text alone states.
    """

    key: str
    title: str
    source: str
    scope: Scope
    lhs: sp.Expr
    terms: Mapping[str, sp.Expr]
    kind: Kind = Kind.INEQUALITY
    assumptions: tuple[Assumption, ...] = ()
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    eta: sp.Expr | None = None
    readings: tuple[str, ...] = ("plain",)
    repair: Repair | None = None
    remark: str = ""
    roles: tuple[Role, ...] = ()
    short: str = ""
    floor: sp.Expr | None = None
    algorithm: str = FEDAVG
    unread: tuple[str, ...] | None = None
    from_text: tuple[str, ...] = ()
    units: str = ""

    def __post_init__(self) -> None:
        for name in ("terms", "definitions"):
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, dict(given))
        if self.kind not in tuple(Kind):
            raise nearest(f"the kind of claim {self.key}", self.kind, [*map(str, Kind)])
        object.__setattr__(self, "kind", Kind(self.kind))
        if isinstance(self.definitions, dict):
            object.__setattr__(self, "definitions", self.definitions | gamma_from_steps(self.eta, self.definitions))
        check_claim(self)
        for item in self._ever_assumed:
            if item.key == OWN_STEPS and not isinstance(item, OwnSteps):
                raise reject(f"{self.key} may have no assumption {OWN_STEPS}", item.statement, "choose another key")
        warn_as_made(self)
        object.__setattr__(self, "units", self.units or "as written")

    @property
    def on_fedavg(self) -> bool:
        """Whether it is about FedAvg, as all evidence but `run_algorithm`'s is."""
        return self.examined and not (self.has_server_step or self.by_coins)

    @property
    def examined(self) -> bool:
        """Whether runs and instances of FedAvg may meet it."""
        return self.algorithm == FEDAVG and not set(protocol.NEVER_RUN) & set(self.assumptions)

    @property
    def by_coins(self) -> bool:
        """Whether each client takes part with a probability, and perhaps nobody: of instances in fractions alone."""
        return protocol.independent_selection in self.assumptions

    @cached_property
    def has_server_step(self) -> bool:
        """Whether it speaks of FedAvg with a server step eta_s, which runs and instances in fractions may have."""
        sides = (*self.expressions, *(q.expression for q in self.computed if q.expression is not None))
        spoken = {s.name for side in sides for s in side.free_symbols}
        spoken |= {name for item in self._ever_assumed for name in item.symbols()}
        return self.algorithm == FEDAVG and symbols.eta_s.name in spoken

    @cached_property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """Every expression that it is stated with, repaired or not, its assumptions apart."""
        put = self.repair.substitutions.values() if self.repair else ()
        sides = (self.lhs, *self.terms.values(), *self.definitions.values(), *put)
        return tuple(map(sp.sympify, (*sides, *(() if self.eta is None else (self.eta,)))))

    @property
    def _ever_assumed(self) -> tuple[Assumption, ...]:
        return (*self.assumptions, *(self.repair.assumptions if self.repair else ()))

    def require_fedavg(self) -> None:
        """Refuse a claim about another algorithm, before a search on FedAvg's runs that could find nothing."""
        for item in set(protocol.NEVER_RUN) & set(self.assumptions):
            what = f"claim {self.key} assumes that {item.statement}, as in no run here: not expressible"
            raise reject(what, item.key, "state what holds without it")
        if not self.examined:
            remedy = f"fedbounds compare --claim {self.key} tries it on a run of its own algorithm"
            raise reject(f"claim {self.key} must be about FedAvg to be examined here", self.algorithm, remedy)

    @cached_property
    def tuned(self) -> tuple[str, ...]:
        """What its step size is tuned to, such as T or sigma_sq: runs and exact instances alone speak of it."""
        used = {symbol.name for symbol in (self.steps or sp.Integer(0)).free_symbols} - STEP_SYMBOLS - {"L_sample"}
        return tuple(sorted(name.removesuffix("_run") for name in used))

    @property
    def rhs(self) -> sp.Expr:
        """The right-hand side, as stated."""
        return sp.Add(*self.terms.values())

    @cached_property
    def _formulas(self) -> dict[bool, Formula]:
        return {}

    def sides(self, reading: Reading) -> Formula:
        """(lhs, rhs, terms) as evaluated in a reading: the repair's substitutions, then the definitions."""
        repaired = reading.repaired and self.repair is not None
        if repaired not in self._formulas:
            definitions = _pairs(self.definitions)
            terms = {name: _put(term, definitions) for name, term in self.stated(reading.repaired).items()}
            left = _put(sp.sympify(self.lhs), definitions)
            self._formulas[repaired] = Formula(left, sp.Add(*terms.values()), terms)
        return self._formulas[repaired]

    def stated(self, repaired: bool) -> dict[str, sp.Expr]:
        """The terms in the statement's own symbols, with the repair's substitutions where ``repaired``."""
        put = _pairs(self.repair.substitutions) if repaired and self.repair else ()
        return {name: _put(sp.sympify(term), put, simultaneous=True) for name, term in self.terms.items()}

    def __repr__(self) -> str:
        return f"Claim {self.key}: {in_words(self)}"

    def _repr_latex_(self) -> str:
        return f"${statement(self)}$"

    @property
    def lacks_hypotheses(self) -> bool:
        """Whether something in its LaTeX text that may be a hypothesis was not read."""
        return any(warning.startswith(NOT_READ) for warning in self.unread or ())

    @cached_property
    def steps(self) -> sp.Expr | None:
        """The step size it is stated for, in constants and t, T the run's own; None for any."""
        return None if self.eta is None else sp.S(self.eta).subs(self.definitions).subs(symbols.T, symbols.T_run)

    def assumptions_in(self, reading: Reading) -> tuple[Assumption, ...]:
        """The assumptions that must hold on a run for the claim to apply in a reading."""
        extra = self.repair.assumptions if reading.repaired and self.repair else ()
        other = protocol.of_the_algorithm("" if self.examined else self.algorithm, self.has_server_step)
        on_steps = () if self.eta is None else (self._own_steps, *(protocol.at_the_end,) * ("T" in self.tuned))
        return (*other, *self._assumed, *on_steps, *extra)

    @cached_property
    def _assumed(self) -> tuple[Assumption, ...]:
        """Its assumptions, with the definitions put in."""
        return tuple(assumption.with_values(self.definitions) for assumption in self.assumptions)

    @cached_property
    def _own_steps(self) -> Assumption:
        """The assumption that the run used the step size the claim is stated for."""
        where = ", ".join(f"{name} = {value}" for name, value in self.definitions.items())
        return OwnSteps(
            OWN_STEPS,
            f"eta_t = {self.eta}" + (f" with {where}" if where else ""),
            sp.Eq(symbols.eta, self.steps, evaluate=False),
            observed="the run used eta_{t:g} = {eta:.4g}, the claim asks {right:.4g}",
            tolerance=SCHEDULE_TOLERANCE,
        )

    def coverage(self, reading: Reading) -> Coverage:
        """A set of experiments that holds all that the claim speaks of, from the relations it assumes."""
        return coverage_of_relations(tuple(part for item in self.assumptions_in(reading) for part in item.parts))

    @cached_property
    def computed(self) -> tuple[Quantity, ...]:
        """The symbols of one's own in either side, repaired or not, the definitions, and the assumptions."""
        related = (side for item in self._ever_assumed for part in item.parts for side in (part.left, part.right))
        return quantities_on_paths(*self.expressions, *related)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Names of the symbols that either side uses, the definitions not put in."""
        return frozenset(s.name for side in (self.lhs, *self.terms.values()) for s in sp.sympify(side).free_symbols)


def in_words(claim: Claim) -> str:
    """The statement on one line, in the names of the symbols.

    >>> in_words(claim_named("rate"))
    'gap = O(1/T)'
    """
    if claim.kind is Kind.RATE:
        return f"{claim.lhs} = O(1/T)"
    relation = "=" if claim.kind is Kind.IDENTITY else "<="
    right = " + ".join(str(sp.sympify(term)) for term in claim.terms.values()) or "0"
    return f"{claim.lhs} {relation} {right}".replace("+ -", "- ")


def statement(claim: Claim) -> str:
    """LaTeX of the claim, from the same sympy terms that are evaluated.

    >>> statement(claim_named("lemma-1")).count("leq")
    1
    """
    if of_kind("what is stated", claim, Claim, "a Claim").kind is Kind.RATE:
        return f"{symbols.latex(claim.lhs)} = O(1/T)"
    relation = "=" if claim.kind is Kind.IDENTITY else r"\leq"
    right = " + ".join(symbols.latex(sp.sympify(term)) for term in claim.terms.values()) or "0"
    right = right.replace("+ -", "- ")
    where = [f"{symbols.latex(name)} = {symbols.latex(value)}" for name, value in claim.definitions.items()]
    if claim.eta is not None:
        where.insert(0, f"{symbols.latex(symbols.eta)} = {symbols.latex(claim.eta)}")
    tail = r",\quad " + ",\\ ".join(where) if where else ""
    return f"{symbols.latex(sp.sympify(claim.lhs))} {relation} {right}{tail}"


def in_readings(claims: Mapping[str, Claim], reading: str | None = None) -> Iterator[tuple[Claim, str]]:
    """Every claim in each of its readings, or in one.

    >>> claim = claim_named("theorem-1")
    >>> [reading for _, reading in in_readings({claim.key: claim})]
    ['literal', 'sync', 'repaired']
    """
    if reading is not None and reading not in READINGS:
        raise reject("a reading must be known", reading, f"use one of {', '.join(READINGS)}")
    for claim in claims.values():
        for name in claim.readings if reading is None else (reading,):
            yield claim, name
