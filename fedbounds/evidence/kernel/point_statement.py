"""A claim about points, gradients and weights as a proposition of Rocq: at any points, for any problem of the class.

Quantities are unfolded to the expressions of points that they stand for. Where the claim speaks of local models, they
are any points, and the virtual iterate is their mean; otherwise the iterate is any point. An assumption that the
statement leaves out makes it stronger: it then holds without that assumption too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.claim_statement import WRITTEN
from fedbounds.evidence.kernel.rocq_terms import rocq
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.definitions import ALPHA, F_MIN, NOISE, OWN, SHARE, W_ALPHA, W_STAR, P, W, X
from fedbounds.evidence.symbolic.permitted_assumptions import granted_by
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.claim_validation import require_own
from fedbounds.theory.points import is_vector, weight_ratio
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Noise, Vec, norm_sq

PARAMETERS = (sy.L, sy.mu, sy.eta, sy.rho_bar)
POINTS = {W_STAR: "(w_star P)", OWN: "(w_i_star P i)", X: "(x i)", W_ALPHA: "w_alpha", W: "w"}
# One local step of full gradients from one point, with any weights.
ONE_STEP: Mapping[sp.Basic, sp.Expr] = {
    definitions.W_NEXT: W - sy.eta * Centre(ALPHA, definitions.grad(W)),
    X: W,
    **dict.fromkeys((NOISE, Centre(ALPHA, NOISE), Centre(P, NOISE)), sp.Integer(0)),
}
ATOMS = (Inner, Mean, Loss)
# A client's gradient less their mean.
AWAY = definitions.grad(W) - Centre(P, definitions.grad(W))
# What is assumed of weights and minimisers, by the names of the hypotheses, and of the class.
OWN_MINIMUM = "Hm"
SETTING = {
    "Hp": "weights (N P) (p P)",
    "Hpos": "(forall i, (i < N P)%nat -> 0 < p P i)",
    OWN_MINIMUM: "(forall i v, (i < N P)%nat -> F P i (w_i_star P i) <= F P i v)",
    "Hopt": "(forall v, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i v))",
}
DOMINATED = (
    "(forall v, 2 * mu * (mean (N P) (p P) (fun i => F P i v) - mean (N P) (p P) (fun i => F P i (w_star P)))\n"
    "    <= norm_sq (centre (N P) (p P) (fun i => grad P i v)))"
)
CLASS = {
    assumed.smooth.key: "smooth P L",
    assumed.strongly_convex.key: "strongly_convex P mu",
    assumed.convex.key: "strongly_convex P 0",
    assumed.polyak_lojasiewicz.key: DOMINATED,
}

# Names of the hypotheses of a statement about points, after its setting.
NAMES = {
    "smooth P L": "Hs",
    **dict.fromkeys(("strongly_convex P mu", "strongly_convex P 0"), "Hc"),
    "mu <= L": "HL",
    DOMINATED: "Hd",
    "weights (N P) alpha": "Ha",
}
BEGINNINGS = {"(forall": "Hw", "rho_bar": "Hr", "(mean": "Hz"}


@dataclass(frozen=True)
class PointClaim:
    """A claim's sides in points and in ``numbers``.

    ``models`` says whether it speaks of local models, ``unbiased`` whether alpha is p, ``stepped`` whether it is
    about a step of full gradients at the iterate.
    """

    claim: Claim
    left: sp.Expr
    right: sp.Expr
    relations: tuple[tuple[sp.Expr, str, sp.Expr], ...]
    keys: frozenset[str]
    letters: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[sp.Symbol, ...] = PARAMETERS
    stepped: bool = False

    @property
    def models(self) -> bool:
        return any(side.has(X) for side in (self.left, self.right))

    @property
    def curved(self) -> bool:
        return assumed.strongly_convex.key in self.keys

    @property
    def without_minima(self) -> bool:
        """Whether nothing is said of clients' own minimisers, which need not exist."""
        return not self.curved and not any(side.has(F_MIN, OWN) for side in (self.left, self.right))

    @property
    def setting(self) -> Mapping[str, str]:
        """What is assumed of weights and minimisers."""
        return {name: text for name, text in SETTING.items() if name != OWN_MINIMUM or not self.without_minima}

    @property
    def unbiased(self) -> bool:
        return {"unbiased", "full-participation"} <= self.keys

    def weights(self, given: sp.Expr) -> str:
        return "(p P)" if given == P or self.unbiased else "alpha"

    def number(self, expression: sp.Expr) -> str:
        """A scalar as a term of Rocq."""
        words = {one.name: one.name for one in self.numbers} | {"N": "(INR (N P))"} | dict(self.letters)
        put: dict[sp.Expr, sp.Expr] = {}
        for k, atom in enumerate(_outermost(sp.sympify(expression))):
            put[atom] = sp.Symbol(f"atom_{k}", real=True)
            words[f"atom_{k}"] = self.atom(atom)
        return rocq(sp.sympify(expression).xreplace(put), words)

    def atom(self, atom: sp.Expr) -> str:
        if atom == F_MIN:
            return "(F P i (w_i_star P i))"
        if atom == SHARE:
            return "(p P i)"
        if atom == weight_ratio:
            return f"({self.weights(ALPHA)} i * / p P i)"
        if isinstance(atom, Loss):
            return f"(F P i {self.point(atom.args[0])})"
        if isinstance(atom, Inner):
            return f"(ip {self.point(atom.args[0])} {self.point(atom.args[1])})"
        return f"(mean (N P) {self.weights(atom.args[0])} (fun i => {self.number(atom.args[1])}))"

    def point(self, vector: sp.Expr) -> str:
        """A vector as a term of Rocq, of additions and multiples alone."""
        parts = []
        for term in sp.Add.make_args(sp.expand(vector)):
            atoms = [factor for factor in sp.Mul.make_args(term) if is_vector(factor)]
            if len(atoms) != 1:
                raise _cannot(self.claim, f"the vector {vector}")
            factor, text = term / atoms[0], self.vector(atoms[0])
            parts.append(text if factor == 1 else f"(scale ({self.number(factor)}) {text})")
        text = parts.pop()
        while parts:
            text = f"(add {parts.pop()} {text})"
        return text

    def vector(self, atom: sp.Expr) -> str:
        if atom == W and self.models:
            return self.vector(Centre(ALPHA, X))
        if atom in POINTS and (atom != X or self.models):
            return POINTS[atom]
        if isinstance(atom, Grad):
            return f"(grad P i {self.point(atom.args[0])})"
        if isinstance(atom, Centre):
            return f"(centre (N P) {self.weights(atom.args[0])} (fun i => {self.point(atom.args[1])}))"
        raise _cannot(self.claim, f"the vector {atom}")


def read(claim: Claim, reading: Reading) -> PointClaim:
    """The claim in points; InputError where it speaks of more: of steps, noise, or products of means.

    A product of two quantities that vary along a run is not the expectation of the product at points; weights vary
    too, from round to round.
    """
    require_own(claim)
    if claim.kind is not Kind.INEQUALITY or claim.scope not in ("step", "constant") or reading.virtual == "p":
        raise _cannot(claim, f"a claim of scope {claim.scope} in the reading {reading.name}")
    states = {key: value for key, value in definitions.meanings(True, False, claim).items() if key != W}
    known = claim.assumptions_in(reading)
    known_keys = {one.key for one in known}
    sides = [sp.sympify(claim.lhs), sp.Add(*claim.stated(reading.repaired).values())]
    for side in sides:
        _check_linear(claim, side, states)
    for _ in range(3):
        sides = [side.xreplace(states) for side in sides]
    stepped = any(side.has(definitions.W_NEXT) for side in sides)
    if {"single-step", "no-noise"} <= granted_by(reading, claim).keys() and definitions.ALL_PRESENT in known_keys:
        sides = [side.xreplace(dict(ONE_STEP)) if side.has(definitions.W_NEXT) else side for side in sides]
    strange = set().union(*(side.free_symbols for side in sides)) - _letters(sides) - {*PARAMETERS, sy.N}
    if strange or any(side.has(Noise, definitions.W_NEXT) for side in sides):
        raise _cannot(claim, f"{', '.join(map(str, strange)) or 'a step'}")
    result = PointClaim(claim, sides[0], sides[1], _relations(known), frozenset(known_keys), stepped=stepped)
    if not result.curved and assumed.convex in known and any(side.has(F_MIN, OWN, sy.mu) for side in sides):
        raise _cannot(claim, "the minimum of a client, which a convex function need not have")
    if reading.skew != "all-steps" and any(side.has(sy.rho_bar) for side in sides):
        raise _cannot(claim, "rho_bar at the starts of rounds only")
    return result


def _relations(known: Iterable[Assumption]) -> tuple[tuple[sp.Expr, str, sp.Expr], ...]:
    """The relations between parameters that are assumed."""
    return tuple(
        (part.left, part.sign, part.right)
        for one in known
        if one.gives is None
        for part in one.parts
        if (part.left - part.right).free_symbols <= set(PARAMETERS)
    )


def _check_linear(claim: Claim, side: sp.Expr, states: Mapping[sp.Basic, sp.Expr]) -> None:
    varying = [s for s in side.free_symbols if s in states and getattr(s, "statistic", "") == "measured"]
    for term in sp.Add.make_args(sp.expand(side)):
        if sum(int(sp.degree(term, s)) if term.is_polynomial(s) else 2 for s in varying if term.has(s)) > 1:
            raise _cannot(claim, f"the product {term}")


def _letters(sides: list[sp.Expr]) -> set[sp.Basic]:
    """The symbols that name points and weights."""
    atoms = {
        atom for side in sides for atom in side.atoms(Vec, *{type(a) for a in (ALPHA, SHARE, weight_ratio, F_MIN)})
    }
    return {symbol for atom in atoms for symbol in atom.free_symbols} | {definitions.I}


def statement(claim: Claim, reading: Reading) -> str:
    """The text of a Rocq file with the definition ``statement : Prop`` of a claim about points."""
    points = read(claim, reading)
    hypotheses = "".join(f"  {text} ->\n" for text in (*points.setting.values(), *assumed_of(points)))
    left, right = points.number(points.left), points.number(points.right)
    binders = "".join(f" ({name} : {kind})" for name, kind in binders_of(points))
    return (
        f"{WRITTEN}From Coq Require Import Reals.\nRequire Import Space Model.\nOpen Scope R_scope.\n\n"
        f"Definition statement : Prop := forall (P : Problem){binders},\n{hypotheses}  {left} <=\n     {right}.\n"
    )


def binders_of(points: PointClaim) -> Iterator[tuple[str, str]]:
    """What the statement quantifies over beside the problem, and of what kind."""
    sides = (points.left, points.right)
    text = " ".join(map(points.number, sides))
    used = set[sp.Basic]().union(*(s.free_symbols for s in sides))
    used |= {s for left, _, right in points.relations for s in (left - right).free_symbols}
    used |= {sy.L, sy.mu} if points.curved else {sy.L}
    yield " ".join(s.name for s in points.numbers if s in used), "R"
    if "alpha" in text:
        yield "alpha", "nat -> R"
    if any(side.has(W_ALPHA) for side in sides):
        yield "w_alpha", "V P"
    if points.models:
        yield "x", "nat -> V P"
    elif any(side.has(W) for side in sides):
        yield "w", "V P"


def assumed_of(points: PointClaim) -> Iterator[str]:
    """The hypotheses after those of the setting."""
    names = dict(binders_of(points))
    signs = {one.name: "<" if one.is_positive else "<=" for one in (*points.numbers, sy.L, sy.mu)}
    for name in next(iter(names)).split():
        yield f"0 {signs[name]} {name}"
    if "mu" in next(iter(names)).split():
        yield "mu <= L"
    if assumed.smooth.key not in points.keys:
        raise _cannot(points.claim, "that it does not assume smooth")
    yield CLASS[assumed.smooth.key]
    if points.curved or assumed.convex.key in points.keys:
        yield CLASS[(assumed.strongly_convex if points.curved else assumed.convex).key]
    if assumed.polyak_lojasiewicz.key in points.keys and "mu" in next(iter(names)).split():
        yield CLASS[assumed.polyak_lojasiewicz.key]
    for left, sign, right in points.relations:
        yield f"{points.number(left)} {sign} {points.number(right)}"
    if "alpha" in names:
        yield "weights (N P) alpha"
    if "rho_bar" in next(iter(names)):
        low, high = (
            f"mean (N P) {by} (fun i => excess P i {points.vector(W)})" for by in ("(p P)", points.weights(ALPHA))
        )
        yield f"rho_bar * {low} <= {high}"
    if "zeta_sq" in next(iter(names)).split():
        yield f"{points.atom(Mean(P, norm_sq(AWAY)))} <= zeta_sq"
    if "w_alpha" in names:
        mean = f"mean (N P) {points.weights(ALPHA)}"
        yield f"(forall v, {mean} (fun i => F P i w_alpha) <= {mean} (fun i => F P i v))"


def _outermost(expression: sp.Expr) -> list[sp.Expr]:
    if isinstance(expression, ATOMS) or expression in (F_MIN, SHARE, weight_ratio):
        return [expression]
    return list(dict.fromkeys(atom for one in expression.args for atom in _outermost(one)))


def _cannot(claim: Claim, what: str) -> Exception:
    needs = f"{claim.key} must be about points, gradients and weights of a smooth and strongly convex class"
    return reject(needs, what, "prove it by hand in derivations/rocq")


def hypothesis_names(points: PointClaim) -> list[str]:
    """Names of the statement's hypotheses."""
    rest = (NAMES.get(text, BEGINNINGS.get(text.split()[0], f"A{k}")) for k, text in enumerate(assumed_of(points)))
    return [*points.setting, *rest]
