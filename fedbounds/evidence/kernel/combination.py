"""A line of a derivation as a script of Rocq: its facts, each by a lemma, times its multipliers, add up.

What each fact says is left to Rocq: `Combine.v` has the normal form in which the sum is seen to be what is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.point_statement import PointClaim
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, W_NEXT, W_STAR, P
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.points import I, weight_ratio
from fedbounds.theory.vector_normal_form import depends

ONE = sp.Integer(1)
# Facts that say nothing in the normal form: vectors that vanish, ratios of weights.
VANISH = (
    *("attained", "own-optimum", "optimum", "alpha-optimum", "common-optimum", "weight-ratio", "weight-ratio-mean"),
    *("unbiased", "single-step", "single-step-gradients", "no-noise"),
)
# The facts of assumptions, by what shows them; of a client those that speak of one.
OF_A_CLIENT = {
    "smooth": "Hs i {0} {1} Hi",
    "smooth-below": "Hb i {0} {1} Hi",
    **dict.fromkeys(("strongly-convex", "convex"), "Hc i {0} {1} Hi"),
    "minimum": "Hm i {0} Hi",
    "bounded-variance": "Hv i Hi",
    "growing-variance": "Hg i Hi",
    "bounded-gradient": "HG i Hi",
    "client-variances": "Hvi i Hi",
    "equal-p": "He' i Hi",
}
OF_ALL = {
    **{"curvatures": "HL", "rho-bar": "Hr", "rho-tilde": "Ht", "independent-clients": "Hu"},
    **dict.fromkeys(("dissimilarity", "gradient-spread"), "Hz"),
    "gradient-dominance": "Hd {0}",
    "least-value": "Hopt {0}",
}
# Those that are identities, and those in which the noise is averaged already.
EQUAL = ("independent-clients", "equal-p")
AVERAGED = ("bounded-variance", "growing-variance", "bounded-gradient", "client-variances", "independent-clients")
WEIGHTS = {P: ("(p P)", "Hp")}
# What the bound on the drift of gradients that are bounded has beside a number, and its lemma in Rocq.
DRIFTS = {
    sy.eta**2 * (sy.tau - 1) ** 2 * sy.G_sq: "drift_inside M ok",
    sy.eta**2 * sy.tau**2 * sy.G_sq: "drift_round M ok",
}


@dataclass(frozen=True)
class DriftBound:
    """A line that bounds the drift by ``number`` times what ``lemma`` has."""

    number: sp.Expr
    bound: sp.Expr
    lemma: str


Flat = tuple[sp.Expr, d.Fact | DriftBound]


@dataclass
class Sum:
    """Facts with multipliers, the letters in these, and the lines that facts of two points are about."""

    uses: tuple[Flat, ...] = ()
    letters: dict[sp.Expr, sp.Expr] = field(default_factory=dict)
    steps: dict[str, d.Step] = field(default_factory=dict)

    def of_line(self, checked: Checked, line: d.Step) -> Iterator[Flat]:
        """The facts of a line, with their multipliers."""
        for shown in checked.conditions:
            if self.letters.setdefault(shown.symbol, shown.expression) != shown.expression:
                raise no_script(f"the letter {shown.symbol}, which is two numbers")
        if not isinstance(line.because, tuple):
            raise no_script(f"the line {line.label}")
        for multiplier, fact in line.because:
            yield from ((multiplier * m, one) for m, one in self.of_fact(checked, fact))

    def of_fact(self, checked: Checked, fact: d.Fact) -> Iterable[Flat]:
        """A fact as a sum of facts that refer to no other line, but of two points."""
        if isinstance(fact, d.Averaged):
            inside = [(m * n, one) for m, use in fact.uses for n, one in self.of_fact(checked, use)]
            return ((ONE, d.Averaged(fact.weights, tuple(inside))),)  # type: ignore[arg-type]
        if not isinstance(fact, d.Earlier | d.Cited):
            return ((ONE, fact),)
        if isinstance(fact, d.Cited):
            checked = verified_proofs.checked_named(fact.derivation, checked.reading)
            line = checked.derivation.steps[-1]
        else:
            line = next(one for one in checked.derivation.steps if one.label == fact.label)
        if (drift := _drift(line)) is not None:
            return ((ONE, drift),)
        if isinstance(line.because, d.Cases):
            if self.steps.setdefault(line.label, line) != line:
                raise no_script(f"the line {line.label} of two proofs")
            return ((ONE, d.Earlier(line.label)),)
        return tuple(self.of_line(checked, line))


def _drift(line: d.Step) -> DriftBound | None:
    for bound, lemma in DRIFTS.items() if line.lhs == sy.drift and line.relation == "<=" else ():
        if (number := sp.cancel(line.rhs / bound)).is_Rational:
            return DriftBound(number, bound, lemma)
    return None


def flattened(checked: Checked) -> Sum:
    """What shows the last line, earlier lines and those of cited proofs written out."""
    result = Sum()
    result.uses = tuple(result.of_line(checked, checked.derivation.steps[-1]))
    return result


@dataclass(frozen=True)
class Combination:
    """Facts in the words of ``points``; ``put`` has points that stand for others, ``steps`` lines of two points."""

    points: PointClaim
    steps: Mapping[str, d.Step]
    put: Mapping[sp.Basic, sp.Expr]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(one.key for one in self.points.claim.assumptions)

    def added(self, uses: Iterable[d.Use]) -> str:
        """The tactics that show ``left <= right`` by these facts."""
        text, last = "", ""
        for k, (multiplier, proof, equal) in enumerate(one for m, fact in uses for one in self.shown(m, fact)):
            why = f"V{k}" if equal else f"ltac:(expectations) V{k}"
            text += f"  pose proof ({proof}) as V{k}. weighed V{k}.\n"
            last += f"  apply ({'plus_equal' if equal else 'plus'} _ ({multiplier}) _ {why}).\n"
        return f"{text}  sides.\n{last}  added_up.\n"

    def shown(self, multiplier: sp.Expr, fact: d.Fact) -> Iterator[tuple[str, str, bool]]:
        """(multiplier, proof, whether it is an identity) of what a fact says."""
        if says_nothing(fact, self.put):
            return
        if isinstance(fact, d.Averaged):
            for m, one in fact.uses:
                if not says_nothing(one, self.put):
                    yield from self.averaged(fact.weights, multiplier * m, one)
        elif isinstance(fact, d.MeanCauchySchwarz):
            numbers, vectors = self.points.number(fact.numbers), self.points.point(fact.vectors.xreplace(self.put))
            proof = f"mean_cauchy (N P) (p P) (fun i => {numbers}) (fun i => {vectors}) Hp"
            yield self.points.number(multiplier), proof, False
        else:
            proof, noisy, equal = self.of_one(fact)
            yield self.points.number(multiplier), _over_noise(proof) if noisy else proof, equal

    def averaged(self, weights: sp.Expr, multiplier: sp.Expr, fact: d.Fact) -> Iterator[tuple[str, str, bool]]:
        """The clients' mean of a fact about one, times what differs from client to client."""
        if multiplier.has(weight_ratio) and weights == P:
            weights, multiplier = ALPHA, multiplier / weight_ratio
        varying = sp.Mul(*(one for one in multiplier.atoms(sp.Function) if depends(one, I)))
        fixed = sp.expand(multiplier / varying)
        by = self.points.weights(weights)
        name = "Hp" if by == "(p P)" else "Ha"
        if "smooth" not in self.keys and _from_minimiser(fact):  # whose mean gradient need not vanish
            at = self.points.point(fact.points[1].xreplace(dict(self.put)))  # type: ignore[union-attr]
            yield self.points.number(multiplier), f"grown P _ {at} Hp Hc Hopt", False
            return
        proof, noisy, equal = self.of_one(fact)
        if varying != 1:
            number = self.points.number(varying)
            proof = (
                f"f_equal (Rmult ({number})) ({proof})"
                if equal
                else f"Rmult_le_compat_l ({number}) _ _ ltac:(client_sign) ({proof})"
            )
        lemma = f"mean_ext (N P) {by} _ _" if equal else f"mean_le (N P) {by} _ _ {name}"
        proof = f"{lemma} (fun i Hi => {proof})"
        yield self.points.number(fixed), _over_noise(proof) if noisy else proof, equal
        if isinstance(fact, d.Premise) and fact.key == "client-variances":
            yield self.points.number(fixed), "Hvs", False

    def of_one(self, fact: d.Fact) -> tuple[str, bool, bool]:
        """(proof, whether the noise is still in it, whether it is an identity) of a fact that is no mean."""
        if isinstance(fact, d.Given):
            return "Rle_0_1", False, False
        if isinstance(fact, d.Square):
            of = sp.sympify(fact.of).xreplace(dict(self.put))
            return f"ip_pos _ {self.points.point(of)}", _noisy(of), False
        if isinstance(fact, d.Earlier) and isinstance(cases := self.steps[fact.label].because, d.Cases):
            ends = [at for _, use in cases.first.uses if isinstance(use, d.Premise) for at in use.points[:1]]
            if len(ends) != 2 or len(cases.first.uses) != 2:
                raise no_script(f"the line {fact.label}, which is by other cases than an interpolation")
            at = [sp.sympify(point).xreplace(dict(self.put)) for point in ends]
            x, y = map(self.points.point, at)
            # The lemma has twice the derivation's fact.
            return f"halved _ _ (between P L mu i {y} {x} Hs Hc HL Hi)", any(map(_noisy, at)), False
        if isinstance(fact, d.Premise):
            at = [sp.sympify(point).xreplace(dict(self.put)) for point in fact.points]
            lemma = OF_A_CLIENT.get(fact.key) or OF_ALL.get(fact.key) or ""
            noisy = fact.key not in AVERAGED and any(map(_noisy, at))
            if lemma:
                texts = (self.points.point(one) for one in at) if "{0}" in lemma else ()
                return lemma.format(*texts), noisy, fact.key in EQUAL
        raise no_script(f"the fact {fact}")


def _from_minimiser(fact: d.Fact) -> bool:
    return isinstance(fact, d.Premise) and fact.key in ("strongly-convex", "convex") and fact.points[0] == W_STAR


def _noisy(expression: sp.Expr) -> bool:
    return bool(expression.has(NOISE, W_NEXT))


def _over_noise(proof: str) -> str:
    return f"mean_le _ _ _ _ Ho (fun s Hs' => {proof})"


def letters_of(multiplier: sp.Expr, fact: d.Fact | DriftBound) -> set[sp.Basic]:
    """The letters of a fact's multipliers."""
    inside = (letters_of(m, one) for m, one in fact.uses) if isinstance(fact, d.Averaged) else ()
    return set(multiplier.free_symbols).union(*inside)


def says_nothing(fact: d.Fact | DriftBound, put: Mapping[sp.Basic, sp.Expr]) -> bool:
    """Whether a fact is an identity of the normal form."""
    if isinstance(fact, d.Averaged):
        return all(says_nothing(one, put) for _, one in fact.uses)
    if isinstance(fact, d.Square):
        return bool(sp.expand(sp.sympify(fact.of).xreplace(dict(put))) == 0)
    if not isinstance(fact, d.Premise):
        return False
    at = {sp.sympify(point).xreplace(dict(put)) for point in fact.points}
    return fact.key in VANISH or len(at) < len(fact.points)


def no_script(what: str) -> Exception:
    needs = "a script must be of facts about points, gradients and weights, times their multipliers"
    return reject(needs, what, "prove it by hand in derivations/rocq")
