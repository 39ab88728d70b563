"""Clients drawn for each step, in Rocq: what they make of the step in the mean, by a lemma of `Drawn.v`.

Of ``share`` s the mean square of a step is s times the clients' mean square and 1 - s times the square of their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.kernel.combination import DriftBound, Flat, Sum
from fedbounds.evidence.kernel.point_statement import PointClaim
from fedbounds.evidence.kernel.rocq_terms import rocq
from fedbounds.evidence.prover.draws import BEYOND_ONE, LEFT_SHARE, LOST_SHARE
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, W, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Noise

SHARE, REST = sp.Symbol("share", nonnegative=True), sp.Symbol("rest", nonnegative=True)
WAY = W - sy.eta * grad(W) - W_STAR
# The facts on which such a proof rests, and the hypothesis of the statement that has them.
EXACT, AT_MOST, BY_P = "drawn-clients", "drawn-at-most", "drawn-by-p"
HYPOTHESIS = {EXACT: "drawn_apart", AT_MOST: "drawn_apart", BY_P: "drawn_by_p"}
NOISE_OF_DRAWN = "drawn-noises"
# The mean square of a mean of vectors at w_t under alpha: how clients are drawn, how often it is the fact, and what
# their share of mean squares is.
AT_STEP = {
    "drawn-weights-at-step": (
        "drawn_apart",
        sy.m * (sy.N - 1),
        "((INR (N P) - INR m) * / (INR m * (INR (N P) - 1)))",
    ),
    "drawn-by-p-at-step": ("drawn_by_p", sy.m, "(/ INR m)"),
}
OF_WAY = {
    "drawn_by_p": "destruct h as (Few & D) end.\n",
    "drawn_apart": "destruct h as (Few & share & Es & _ & _ & D) end.\n"
    "  rewrite (apart_share (INR m) (INR (N P)) _ ltac:(lra) ltac:(lra) Es) in D.\n",
}
START = "  destruct (letter (/ INR m)) as [share Eq].\n"


@dataclass(frozen=True)
class Draw:
    """How clients are drawn, by the ``key`` of the fact; ``equal`` where all have the same weight."""

    key: str
    equal: bool

    def in_share(self, expression: sp.Expr) -> sp.Expr:
        """A number made of N and m in the share."""
        put = {sy.N: sy.m * (1 - SHARE) / (1 - sy.m * SHARE)} if self.key == EXACT else {sy.m: 1 / SHARE}
        letters = {LEFT_SHARE: SHARE, LOST_SHARE: REST, BEYOND_ONE: REST / SHARE}
        result = sp.sympify(expression).xreplace(letters)
        if result.has(BEYOND_ONE) or expression.has(BEYOND_ONE):
            result = sp.factor(sp.cancel(result)).xreplace({SHARE + REST: sp.Integer(1)})
        return sp.expand(sp.cancel(result.xreplace(put))) if result.has(sy.N, sy.m) else result

    def of_sum(self, flat: Sum) -> Sum:
        """The facts with what stands for the share of draws as such."""

        def mapped(fact: d.Fact | DriftBound) -> d.Fact | DriftBound:
            if not isinstance(fact, d.Averaged):
                return fact
            return replace(fact, uses=tuple((self.in_share(m), mapped(one)) for m, one in fact.uses))  # type: ignore[misc]

        letters = {one: self.in_share(value) for one, value in flat.letters.items() if self.in_share(one) == one}
        uses = tuple((self.in_share(m), mapped(fact)) for m, fact in flat.uses)
        return Sum(uses, {**letters, REST: 1 - SHARE}, flat.steps)

    def noise(self, facts: Sequence[Flat], silent: bool) -> sp.Expr:
        """What bounds the variance of the mean noise."""
        if silent:
            return sp.Integer(0)
        if self.key != BY_P:
            return sy.sigma_sq / sy.m
        keys = {one.key for _, fact in facts for one in inside(fact) if isinstance(one, d.Premise)}
        mean = 1 / sy.N if self.equal else sy.p_sq
        return sy.sigma_sq * (SHARE + (1 - SHARE) * mean) if NOISE_OF_DRAWN in keys else sy.sigma_sq

    def lines(self, points: PointClaim, noise: sp.Expr, words: Mapping[str, str]) -> Iterator[str]:
        """The step's second moment, by the lemma."""
        yield f"  match goal with h : {HYPOTHESIS[self.key]} M m |- _ => "
        if self.key == BY_P:
            yield "destruct h as (Few & D) end.\n  destruct (letter (/ INR m)) as [share Eq]. rewrite <- Eq in D.\n"
        else:
            name = "share" if self.key == EXACT else "least"
            yield f"destruct h as (Few & {name} & Es & S0 & S1 & D) end.\n"
            yield "  pose proof (apart_noise _ _ _ (proj1 Few) (proj2 Few) Es) as En.\n"
            exact = "apart_share (INR m) (INR (N P)) _ ltac:(lra) ltac:(lra) Es"
            yield f"  pose proof ({exact}) as Eq.\n" if self.key == EXACT else START
        least = "least" if self.key == AT_MOST else "share"
        yield "  pose proof (at_most_one (INR m) ltac:(lra)). pose proof (some_clients P Hp).\n"
        equal = "try (match goal with h : INR (N P) * ?q = 1 |- _ => "
        equal += "rewrite (equal_shares P q Hp ltac:(assumption) h) end); "
        apart = "rewrite ?En; " * (self.key != BY_P)
        bound = f"({rocq(noise, words)})"
        yield f"  assert (Nz : expected M (variance M) <= {bound}).\n"
        yield "  { first [apply noise_most; [exact ok | assumption]\n"
        yield "    | eapply Rle_trans; [apply (noise_most M ok sigma_sq); assumption | lra]\n"
        yield f"    | eapply Rle_trans; [apply (drawn_noise M ok {least} sigma_sq D); assumption | {equal}{apart}"
        yield "right; field; apart]]. }\n"
        yield f"  pose proof (drawn_after M ok {least} share {bound} (fun c k i => {points.point(WAY)})\n"
        yield "    ltac:(intros; open_fact; field) D ltac:(lra) one Nz) as Yd. cbv beta in Yd.\n"


@dataclass(frozen=True)
class Moment:
    """A mean square under alpha as that of the draw: ``drawn`` and ``under`` stand for these, of one vector."""

    key: str
    vector: sp.Expr
    drawn: sp.Symbol
    under: sp.Symbol
    name: str

    @property
    def often(self) -> sp.Expr:
        """How often their difference is what the fact says is 0."""
        return AT_STEP[self.key][1]

    def terms(self, points: PointClaim) -> dict[sp.Symbol, str]:
        """The two after one history."""
        y, share = points.point(self.vector), AT_STEP[self.key][2]
        means = (f"centre (N P) {by} (fun i => {y})" for by in ("(p P)", "(alpha M c)"))
        squares = [f"ip ({mean}) ({mean})" for mean in means]
        whole = f"({share} * mean (N P) (p P) (fun i => ip {y} {y}) + (1 - {share}) * {squares[0]})"
        return {self.drawn: whole, self.under: f"({squares[1]})"}

    def line(self, points: PointClaim) -> str:
        """That they are equal in the mean."""
        way, _, share = AT_STEP[self.key]
        y = points.point(self.vector).replace("(w M c k)", "v")
        return (
            f"  match goal with h : {way} M m |- _ => {OF_WAY[way]}"
            f"  pose proof (drawn_at_step M ok {share} (fun v i => {y}) D one) as {self.name}.\n"
            f"  cbv beta in {self.name}.\n"
        )


def moment_of(fact: d.Fact | DriftBound, k: int) -> Moment | None:
    """The k-th fact as one about the moments of a draw, where it is that."""
    if not isinstance(fact, d.Premise) or fact.key not in AT_STEP:
        return None
    return Moment(fact.key, fact.points[0], sp.Symbol(f"drawn_{k}"), sp.Symbol(f"under_{k}"), f"Ym{k}")


def inside(fact: d.Fact | DriftBound) -> Iterator[d.Fact | DriftBound]:
    """A fact, or those of which it is the mean."""
    if isinstance(fact, d.Averaged):
        for _, one in fact.uses:
            yield from inside(one)
    else:
        yield fact


def draw_of(facts: Sequence[Flat], equal: bool) -> Draw | None:
    """How clients are drawn where a fact says so."""
    keys = {one.key for _, fact in facts for one in inside(fact) if isinstance(one, d.Premise)}
    return next((Draw(key, equal) for key in HYPOTHESIS if key in keys), None)


def without_draw(facts: Iterable[d.Use]) -> Iterator[d.Use]:
    """The facts that speak of neither the draw nor the noise, which the lemma has."""

    def said(fact: d.Fact) -> bool:
        if isinstance(fact, d.Averaged):
            return all(said(one) for _, one in fact.uses) or "bounded-variance" in {
                getattr(one, "key", "") for one in inside(fact)
            }
        if isinstance(fact, d.Square):
            return bool(fact.of.has(Noise))
        return isinstance(fact, d.Premise) and fact.key in (*HYPOTHESIS, NOISE_OF_DRAWN, "no-noise")

    yield from (use for use in facts if not said(use[1]))
