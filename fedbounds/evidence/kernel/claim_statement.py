"""A claim as a proposition of Rocq (Coq), from the sympy terms that everything else evaluates.

The statement speaks of one local step of Algorithm 1 (`derivations/rocq/Model.v`, which a reader must read):
N clients in a real inner product space, weights fixed in a round, noise of finite support with conditional mean
zero. Constants are universally quantified; the skews and ratios are *bounds* on products: nothing is divided by 0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as Collected
from types import MappingProxyType

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.rocq_terms import FOLLOW, Subject, rocq, subject_of
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.permitted_assumptions import given, granted_by
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.claim_validation import require_own
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import norm_sq

# Quantities of the model: their Rocq terms.
MEASURED: Mapping[str, str] = {
    "eta": "eta M",
    "Delta": "Delta M",
    "Delta_next": "Delta_next M",
    "drift": "drift M",
    "gap_t": "gap_t M",
    "Gamma": "Gamma P",
    "grad_sq": "norm_sq (grad P i (x M c k i))",
    "excess": "excess P i (x M c k i)",
    "C": "1",
    "N": "INR (N P)",
    "p_sq": "mean (N P) (p P) (p P)",
}
# Constants: what ties them to the model, beside their sign.
TIED: Mapping[str, tuple[str, ...]] = {
    "L": ("smooth P L",),
    "mu": ("strongly_convex P mu",),
    "sigma_sq": ("bounded_variance M sigma_sq",),
    "sigma_p_sq": ("variance_of_mean M sigma_p_sq",),
    "G_sq": ("bounded_gradient M G_sq",),
    "rho_bar": ("skew_at_least M rho_bar",),
    "rho_tilde": ("star_skew_at_most M rho_tilde",),
    "pi_min": ("ratio_at_least M pi_min",),
    "pi_max": ("ratio_at_most M pi_max",),
    "eta_ratio": ("steps_within M eta_ratio",),
    "tau": ("in_round M tau",),
    "m": (),
    "zeta_sq": ("dissimilar M zeta_sq",),
    "p_min": ("(forall i, (i < N P)%nat -> p_min <= p P i)",),
    "eta_0": (),
    "t": (),
    "sigma_0_sq": (),
    "growth": ("growing_variance M sigma_0_sq growth",),
}
# What each constant is of the numbers that are so tied.
EXTREMES: Mapping[str, str] = {
    **dict.fromkeys(("L", "sigma_sq", "G_sq", "rho_tilde", "pi_max"), "least"),
    **dict.fromkeys(("mu", "rho_bar", "pi_min", "p_min"), "greatest"),
}
# What readings change: rho_bar at the starts of rounds, and the iterate that is weighted by p inside a round.
AT_STARTS: Mapping[str, tuple[str, ...]] = {"rho_bar": ("skew_at_start M rho_bar",)}
BY_P = {"Delta": "Delta_p M", "Delta_next": "Delta_next_p M tau", "drift": "drift_p M"}
# The theory's assumptions that are the tie of a constant; relations are printed, and others cannot be expressed.
OWNED: Mapping[str, Assumption] = {
    "L": assumed.smooth,
    "mu": assumed.strongly_convex,
    "sigma_sq": assumed.bounded_variance,
    "sigma_p_sq": assumed.bounded_variance,
    "G_sq": assumed.bounded_gradient,
}
# Assumptions under which the bound above tangents says all of smoothness; what `Rounds.v` has the words of.
CURVED = {assumed.strongly_convex, assumed.convex}
OF_ROUNDS = ("dissimilar", "smooth_below", "dominated", "growing_variance")
GROWING = Part(
    norm_sq(definitions.NOISE), "<=", symbols.sigma_0_sq + symbols.growth * norm_sq(definitions.grad(definitions.X))
)
NATURAL = ("tau", "m")
# What a claim about one point of a client may speak of, whoever takes part.
OF_A_CLIENT = {"grad_sq", "excess", "L", "mu"}
WRITTEN = "(* Written from the claim; do not edit. *)\n"
HEADER = "From Coq Require Import Reals.\nRequire Import Space Model{}.\nOpen Scope R_scope.\n"


def statement(
    claim: Claim, reading: Reading, attained: bool = False, beside: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The text of a Rocq file with the definition ``statement : Prop`` of a claim in a reading.

    With ``attained`` every constant is the extreme that the paper defines it to be, and the step one that Algorithm 1
    takes in its first round: what a negation must be of, since a claim may be false for bounds and true for extremes.
    ``beside`` are terms of further quantities.
    Raises InputError where the model has no word for the claim: another scope, kind, reading or assumption.
    """
    require_own(claim)
    run, by_p = subject_of(claim), reading.virtual == "p"
    along = run is not None
    equal = claim.kind is Kind.IDENTITY and claim.scope == "step" and not attained
    if claim.scope == "constant" or not (equal or claim.kind is Kind.INEQUALITY) or (along and by_p):
        what = f"a claim of scope {claim.scope} and kind {claim.kind} in the reading {reading.name}"
        raise _cannot(claim, what, "what is said of a step, and inequalities of a horizon weighted by alpha, can be")
    measured = {**MEASURED, **beside, **(BY_P if by_p else {}), **(run.words if run else {})}
    tied = {**TIED, **(AT_STARTS if reading.skew == "sync" else {}), **({"tau": ()} if along else {})}
    stated = claim.sides(reading)
    left, right = stated.lhs, list(stated.terms.values())
    draws = _draws(claim, reading)
    # Of drawn clients it is the draw that is unbiased: alpha = p in every round would contradict it.
    assumptions = [one for one in claim.assumptions_in(reading) if not (draws and one is assumed.unbiased)]
    used = {s.name for e in (left, *right) for s in sp.sympify(e).free_symbols}
    dominated = assumed.polyak_lojasiewicz in assumptions and assumed.strongly_convex not in assumptions
    owned = {**OWNED, **({"mu": assumed.polyak_lojasiewicz} if dominated else {})}
    tied |= {"mu": ("dominated P mu",)} if dominated else {}
    growing = next((one for one in assumptions if _grows(one)), None)
    owned |= {} if growing is None else dict.fromkeys(("sigma_0_sq", "growth"), growing)
    used |= {name for name, tie in owned.items() if tie in assumptions and name != "sigma_p_sq"}
    used |= {name for a in assumptions for name in a.symbols()}
    _check_assumed(claim, assumptions, used, owned, bool(draws))
    weak = without_minima(claim, reading)
    used |= {"tau"} if along or (by_p and used & BY_P.keys()) else set()
    constants = sorted(used - measured.keys())
    unknown = [name for name in constants if name not in tied] + sorted(used & {"gap_t"} if by_p else ())
    if unknown:
        raise _cannot(claim, f"the symbol {unknown[0]}", f"known are {', '.join([*measured, *tied])}")
    reals = [name for name in constants if name not in NATURAL]
    naturals = [name for name in constants if name in NATURAL]
    words = measured | {name: name for name in reals} | {name: f"INR {name}" for name in naturals}
    signs = [f"0 {'<' if getattr(symbols, name).is_positive else '<='} {name}" for name in reals]
    ordered = ["mu <= L"] if {"L", "mu"} <= set(constants) else []
    ties_of_constants = (*owned.values(), assumed.convex, assumed.polyak_lojasiewicz)
    related = [one for one in assumptions if not any(one is tie for tie in ties_of_constants)]
    relations = [line for one in related for line in _relations(claim, one, words)]
    ties = [tie for name in constants for tie in tied[name]]
    steady = assumed.constant_steps in assumptions and not along and "G_sq" in used
    ties += ["(forall s, (s < taken M)%nat -> before M s = eta M)"] * steady
    two_sided = assumed.smooth in assumptions and not {*assumptions} & CURVED and claim.scope != "point"
    ties += ["smooth_below P L"] * two_sided
    merely_convex = assumed.convex in assumptions and assumed.strongly_convex not in assumptions
    shares = {"p_sq", "m"} | ({"N"} if assumed.equal_p in assumptions else set())
    apart = "sigma_sq" in used and bool(shares & used)
    divides = 1 / (symbols.N - 1) in set().union(*(sp.sympify(side).atoms(sp.Pow) for side in (left, *right)))
    ties += (
        ["uncorrelated M"] * apart + ["strongly_convex P 0"] * merely_convex + [*draws] + ["1 < INR (N P)"] * divides
    )
    if attained:
        ties = list(_attained(claim, reading, constants, tied))
    conditions = [*signs, *ordered, *relations, *ties]
    if run:
        conditions = [*run.further, *(_at_every_step(text, run) for text in conditions)]
    binders = "".join(f" ({' '.join(names)} : {kind})" for names, kind in ((reals, "R"), (naturals, "nat")) if names)
    place = "forall c k i, seen M c k -> (i < N P)%nat ->\n  " if claim.scope == "point" else ""
    subject = run.binders if run else "(M : Step P)"
    setting = f"run M {run.last} tau" if run else "setting M"
    hypotheses = "".join(f"  {text} ->\n" for text in ("convex_" * weak + setting, *conditions))
    files = {
        " Horizon": along,
        " Rounds": weak
        or any(one in text for one in OF_ROUNDS for text in ties)
        or (run is not None and any("M" in one for one in run.further)),
        " Attained": attained,
    }
    files |= {" Independent": "sigma_p_sq" in constants or apart, " Drawn": bool(draws)}
    files |= {" Models": run is not None and any(FOLLOW in one for one in run.further)}
    further = "".join(name for name, needed in files.items() if needed)
    if run:  # at no step of its own
        words = {name: text for name, text in words.items() if name not in ("t", "eta")}
        right = [
            sp.sympify(term).xreplace({symbols.eta: claim.eta} if claim.eta == symbols.eta_0 else {})
            for term in right
        ]
    total = " +\n     ".join(f"({rocq(term, words)})" for term in right) or "0"
    return (
        f"{WRITTEN}{HEADER.format(further)}\n"
        f"Definition statement : Prop := forall (P : Problem) {subject}{binders},\n{hypotheses}"
        f"  {place}{rocq(left, words)} {'=' if equal else '<='}\n     {total}.\n"
    )


def _attained(
    claim: Claim, reading: Reading, constants: Sequence[str], tied: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """The ties of constants as extremes, over a step that Algorithm 1 takes in its first round."""
    if claim.scope == "horizon" or not set(constants) <= {*EXTREMES, *NATURAL}:
        what = f"its negation, with {', '.join(constants)} as they are attained"
        raise _cannot(claim, what, "negations are of one step, without eta_ratio")
    yield from ("first_round M", "possible M")
    for name in constants:
        for tie in tied[name]:
            if name in NATURAL:
                yield tie
            else:
                yield f"{EXTREMES[name]} (fun {name} => {tie}) {name}"
    if "rho_tilde" in constants:
        yield "0 < Gamma P"
    if "rho_bar" in constants:
        # Where all gaps vanish a skew is 1 by convention; over every step of a round, its first step is all of it.
        yield from ("gaps_at_start M",) if reading.skew == "sync" else ("gaps_now M", "taken M = 0%nat")


def without_minima(claim: Claim, reading: Reading) -> bool:
    """Whether clients need have no minimisers: they are merely convex, or smooth and nothing is said of these."""
    assumptions = claim.assumptions_in(reading)
    speaks = bool(claim.symbols & {"Gamma", "excess", "rho_bar", "rho_tilde"})
    if assumed.strongly_convex in assumptions:
        return False
    if assumed.convex in assumptions and speaks:
        raise _cannot(claim, "the minimum of a client, which a convex function need not have", "leave it out")
    return assumed.convex in assumptions or (assumed.smooth in assumptions and not speaks)


def _at_every_step(text: str, run: Subject) -> str:
    """A condition on one step M, or on its time t, as one on every step of a run."""
    along = re.sub(r"\bM\b(?! t\))", "(M t)", text)
    return (
        along if along == text and "(M t)" not in text else f"(forall t, (t < {run.last} \\/ t = 0)%nat -> {along})"
    )


def _draws(claim: Claim, reading: Reading) -> tuple[str, ...]:
    """What is said of the clients drawn, if some are."""
    by = granted_by(reading, claim)
    words = {"drawn-weights": "drawn_apart M m", "drawn-weights-mean": "drawn_by_p M m"}
    return tuple(text for key, text in words.items() if key in by)[:1]


def digest(text: str) -> str:
    """SHA-256 of a statement, what ties a checked proof to the claim."""
    return hashlib.sha256(text.encode()).hexdigest()


def _relations(claim: Claim, assumption: Assumption, words: Mapping[str, str]) -> Iterator[str]:
    """The hypotheses that an assumption adds which is no constant's tie."""
    if not assumption.parts:
        raise _cannot(claim, f"the assumption {assumption.key}", "give it as a relation between the model's symbols")
    for part in assumption.parts:
        if {str(part.left), str(part.right)} != {"C", "1"} or part.sign != "=":  # C = 1 is the model's
            yield f"{rocq(part.left, words)} {part.sign} {rocq(part.right, words)}"


def _grows(assumption: Assumption) -> bool:
    """Whether an assumption is that of noise that grows with a client's gradient."""
    try:
        return assumption.gives is not None and given(assumption, (definitions.X,)) == GROWING
    except Unproved:  # it is about other points
        return False


def _check_assumed(
    claim: Claim,
    assumptions: Sequence[Assumption],
    used: Collected[str],
    owned: Mapping[str, Assumption],
    draws: bool,
) -> None:
    """The model ties each constant to the losses and has everyone take part: the claim must assume as much."""
    silent = any(part == (symbols.sigma_sq, "=", 0) for one in assumptions for part in one.parts)
    needed = [owned[name] for name in sorted(used & owned.keys()) if name != "sigma_sq" or not silent]
    if {"sigma_0_sq", "growth"} & used and "growth" not in owned:
        raise _cannot(claim, "noise that grows with the gradient, which it does not assume", "assume it")
    if not draws and (claim.scope != "point" or not used <= OF_A_CLIENT):
        needed.append(assumed.full_participation)
    for one in needed:
        if one not in assumptions:
            raise _cannot(claim, f"that it does not assume {one.key}", f"add {one.key} to its assumptions")
    if draws and "C" in used:
        raise _cannot(claim, "the share C of clients, where some are drawn", "write m and N")


def _cannot(claim: Claim, what: str, remedy: str) -> Exception:
    return reject(f"the kernel's model must express all that {claim.key} says", f"{what}, which it has not", remedy)
