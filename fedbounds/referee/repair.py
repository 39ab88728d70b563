"""What would be true instead: the nearest statements to a refuted claim that stand.

A candidate differs from the claim in one place: an assumption more, an exponent or a symbol changed, a part of a term
or the right side times a number. One that a counterexample seen so far violates is dropped, and each that falls adds
its own. What is left is proved, or goes through a trial of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sympy as sp

from fedbounds import plugins
from fedbounds.errors import Interrupted
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.prover import automatic
from fedbounds.referee.case import INTERRUPTED, Case, TimeSpent, Watch, at_most
from fedbounds.referee.implication import follows, inherited
from fedbounds.referee.mutants import BASES, Part, parts, scaled, scaled_term, slipped
from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.sanity import sanity
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict

# What authors leave out, the mildest first.
ASSUMPTIONS = (
    *(a.unbiased, a.full_participation, a.small_steps, a.constant_steps, a.equal_p),
    *(a.quarter_steps, a.halving, a.slow_decay, a.full_gradients, a.one_local_step, a.homogeneous),
    *(a.strongly_convex, a.smooth, a.bounded_gradient, a.bounded_variance),
)
# Terms that bounds on a step usually have.
USUAL = (
    *(s.drift, s.eta**2 * s.sigma_p_sq, s.eta**2 * s.L * s.Gamma, s.eta * s.Gamma * (s.rho_tilde - s.rho_bar)),
    s.eta**2 * s.tau**2 * s.G_sq,
)
# Symbols that are taken for each other.
EXCHANGES = (
    (s.sigma_sq / s.N, s.sigma_p_sq),
    (s.sigma_p_sq, s.sigma_sq),
    (s.mu, s.L),
    (s.L, s.mu),
    (s.rho_bar, s.rho_tilde),
    (s.rho_tilde, s.rho_bar),
    (s.eta, s.eta_0),
    (s.T, s.T + 1),
    (s.Delta_next, s.Delta),
)
# What a part is multiplied by, the nearest to 1 first; so many of them are tried before anything else.
FACTORS = tuple(map(sp.Rational, ("5/4", "4/3", "3/2", "2", "3", "4", "6", "8", "16", "32", "64", "100", "1000")))
NEAR = 6
# How many are looked for, in so many processor seconds, of which a share is for trials of what was not proved.
COUNT, SECONDS, SHARE_OF_TRIALS = 3, 45.0, 0.4
POWERS = (1, -1, 2, -2)
# Processor seconds for the limits of one candidate, and for a trial at least and at most.
LIMITS, LEAST, MOST = 3.0, 5.0, 15.0


def alternatives(trial: Trial, count: int = COUNT, seconds: float = SECONDS) -> tuple[Alternative, ...]:
    """At most ``count`` statements near a refuted claim: those proved first, then some that a trial leaves open.

    Takes at most so many processor ``seconds``. None for an identity, a rate, and a claim that is not refuted.
    A candidate that fails is passed over. Raises Interrupted, with those that were found, on a KeyboardInterrupt.
    """
    claim, refutation = trial.claim, trial.refutation
    if claim.kind is not Kind.INEQUALITY or refutation is None:
        return ()
    reading, end = READINGS[trial.reading], time.process_time() + seconds
    search = Search(reading, instances_of(refutation.data), end - seconds * SHARE_OF_TRIALS)
    proved: list[Alternative] = []
    open_: list[Alternative] = []
    try:
        with contextlib.suppress(TimeSpent), at_most(seconds):
            ladders = [list(ladder) for ladder in candidates(claim, reading)]
            # What shipped proofs say takes no time.
            for ladder in ladders:
                search.first(ladder, count, proved, _inherited)
            unproved = [search.first(ladder, count, proved, automatic.examine) for ladder in ladders]
            open_.extend(_open(unproved, trial, count - len(proved), end))
    except KeyboardInterrupt:
        raise Interrupted((*proved, *open_)) from None
    return (*proved, *open_)


def _open(ladders: Iterable[Changes], trial: Trial, count: int, end: float) -> Iterator[Alternative]:
    """Of each ladder the strongest that a trial of its own does not refute, while there is time for one."""
    for ladder in ladders:
        for change, changed in ladder:
            left = end - time.process_time()
            if count == 0 or left < LEAST:
                return
            own = try_claim(changed, trial.reading, seed=trial.seed, seconds=min(left, MOST))
            if not own.finished and not own.fault:
                raise KeyboardInterrupt  # which a trial takes for its own end
            if own.outcome in (Outcome.OPEN, Outcome.PROVED) and own.violation_in_floats is None:
                grounds = f"certified at {len(own.certified)} settings" if own.certified else "no violation was found"
                yield Alternative(change, changed, own.outcome, grounds)
                count -= 1
                break


# A change in words, and what makes the changed claim; changed claims.
Change = tuple[str, Callable[[], Claim]]
Changes = list[tuple[str, Claim]]
Prover = Callable[[Claim, Reading], Verdict | None]


@dataclass
class Search:
    """Counterexamples seen so far, which refute later candidates too, and when to stop."""

    reading: Reading
    known: list[Instance]
    end: float
    suite: Suite = field(default_factory=lambda: Suite(REGIMES))
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def first(self, ladder: Iterable[Change], count: int, proved: list[Alternative], prove: Prover) -> Changes:
        """Add the first claim of a ladder that is proved; return those before it that nothing decides."""
        undecided: Changes = []
        for change, make in ladder:
            if len(proved) == count or self.late:
                break
            with contextlib.suppress(Exception):  # such as a change that makes no claim, by its units or its scope
                changed = make()
                if any(follows(changed, self.reading, other.claim, self.reading) for other in proved):
                    break
                if not self._is_new(changed, prove) or self._falls(changed, prove):
                    continue
                proof = prove(changed, self.reading)
                if proof is not None:
                    proved.append(Alternative(change, changed, Outcome.PROVED, proof.detail))
                    break
                undecided.append((change, changed))
        return undecided

    def _is_new(self, claim: Claim, prove: Prover) -> bool:
        """Whether a statement was not put to this prover before; it counts as put to it from then on."""
        statement = prove, claim.assumptions, sp.Add(*claim.terms.values())
        new = statement not in self.seen
        self.seen.add(statement)
        return new

    def _falls(self, claim: Claim, prove: Prover) -> bool:
        """Whether an instance violates a claim: a known one, before what takes no time to prove, else any."""
        return self.violated(claim) if prove is _inherited else self.refuted(claim)

    @property
    def late(self) -> bool:
        return time.process_time() > self.end

    def violated(self, claim: Claim) -> bool:
        """Whether a known instance violates a claim."""
        return any(examine(instance, claim, self.reading).status is Status.REFUTED for instance in self.known)

    def refuted(self, claim: Claim) -> bool:
        """Whether a known instance violates a claim, or one at the limits, which is known from then on."""
        if self.violated(claim):
            return True
        result, cut = Watch(LIMITS).carry_out(sanity, Case(claim, self.reading, "small", 0, self.suite))
        if cut == INTERRUPTED:
            raise KeyboardInterrupt
        refuting = [verdict for verdict in result.verdicts if verdict.status is Status.REFUTED]
        self.known += [instance for verdict in refuting for instance in instances_of(verdict.data)]
        return bool(refuting)


def instances_of(data: Mapping[str, Any]) -> list[Instance]:
    """The instance in a verdict's data, if it has one."""
    return [from_json(data["instance"])] if "instance" in data else []


def candidates(claim: Claim, reading: Reading) -> Iterator[Iterable[Change]]:
    """Ladders of changes; on a ladder each makes a weaker claim than the one before."""
    pieces = [part for part in parts(claim) if part.expression != 0]
    yield from ([change] for change in _exchanged(claim))
    yield from (_larger(claim, part, FACTORS[:NEAR]) for part in pieces)
    if len(claim.terms) > 1:
        yield _all_larger(claim)
    yield from ([_times(claim, part, sp.Integer(-1), "the sign changed")] for part in pieces)
    assumed = claim.assumptions_in(reading)
    for item in ASSUMPTIONS:
        if item not in assumed:
            more = (*claim.assumptions, item)
            yield [(f"as stated, if also {item.statement}", partial(_changed, claim, item.key, assumptions=more))]
    for name, stated in claim.terms.items():
        yield from ([_in_place(claim, name, wrong)] for _, wrong in slipped(sp.sympify(stated)))
    yield from (_to_a_power(claim, part) for part in pieces)
    yield from (_larger(claim, part, FACTORS[NEAR:]) for part in pieces)
    if claim.scope == "step":
        yield from (_with_more(claim, term) for term in USUAL if term not in claim.terms.values())


def _changed(claim: Claim, change: str, **parts: Any) -> Claim:
    return replace(claim, key=f"{claim.key} ({change})", **parts)


def _in_place(claim: Claim, name: str, term: sp.Expr) -> Change:
    change = f"{name}: {term} in place of {sp.sympify(claim.terms[name])}"
    return change, partial(_changed, claim, change, terms={**claim.terms, name: term})


def _times(claim: Claim, part: Part, factor: sp.Expr, words: str) -> Change:
    return f"{part.label}: {words}", lambda: scaled(claim, part, factor, words).claim


def _to_a_power(claim: Claim, part: Part) -> Iterator[Change]:
    """A part times or over a power of tau, N, kappa, eta L or T; not in any order of strength."""
    for base in BASES.values():
        yield from (_times(claim, part, base**power, f"times {base**power}") for power in POWERS)


def _with_more(claim: Claim, usual: sp.Expr) -> Iterator[Change]:
    """One of the usual terms more, times a number."""
    for factor in (sp.Integer(1), *FACTORS[3:]):
        term = factor * usual
        yield f"{term} added", partial(_changed, claim, f"+ {term}", terms={**claim.terms, f"+ {term}": term})


def _exchanged(claim: Claim) -> Iterator[Change]:
    """One symbol for another, in one term."""
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        changed = (term.subs(old, new) for old, new in EXCHANGES)
        yield from (_in_place(claim, name, other) for other in changed if other != term)


def _larger(claim: Claim, part: Part, factors: Iterable[sp.Rational]) -> Iterator[Change]:
    """A part of a term times a number; divided by it where that makes the term larger."""
    shrink = part.path and part.expression.could_extract_minus_sign()
    for factor in factors:
        yield _in_place(claim, part.term, scaled_term(claim, part, 1 / factor if shrink else factor))


def _all_larger(claim: Claim) -> Iterator[Change]:
    """The whole right side times a number."""
    for factor in FACTORS:
        terms = {name: factor * term for name, term in claim.terms.items()}
        yield f"{factor} times the right side", partial(_changed, claim, f"{factor} times", terms=terms)


def _inherited(claim: Claim, reading: Reading) -> Verdict | None:
    """The proof of the whole statement by a shipped claim that implies it on sight."""
    for other in plugins.claims().values():
        for verdict in inherited(claim, reading, other):
            if verdict.coverage is None or verdict.coverage.includes(claim.coverage(reading)):
                return verdict
    return None


def whole_proof(claim: Claim, reading: Reading) -> Verdict | None:
    """The proof of the whole statement: of a shipped claim that implies it, or one that the prover finds."""
    return _inherited(claim, reading) or automatic.examine(claim, reading)
