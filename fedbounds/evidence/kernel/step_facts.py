"""What a derivation of one step says: of points, of noise, of losses after the step, and of expectations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.kernel.claim_statement import rocq
from fedbounds.evidence.kernel.draw_facts import HYPOTHESIS, NOISE_OF_DRAWN, REST, SHARE, Draw, draw_of, inside
from fedbounds.evidence.kernel.flat_facts import DriftBound, Flat, Sum, flattened
from fedbounds.evidence.kernel.point_forms import no_script
from fedbounds.evidence.kernel.step_statement import AfterHistory, meaning_of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, W_NEXT, W_STAR, P, W, X, grad
from fedbounds.evidence.symbolic.definitions import SHARE as P_I
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import I
from fedbounds.theory.vectors import Centre, Inner, Loss, Mean, Noise, norm_sq

ZERO, ONE = sp.Integer(0), sp.Integer(1)
# The variance of the mean noise under p where each client's is at most sigma^2.
EQUAL, OF_EQUAL = sy.p_sq * sy.sigma_sq, sy.sigma_sq / sy.N
OF_MEAN = (sy.sigma_p_sq, EQUAL, OF_EQUAL)
NOISY = ("bounded-variance", "client-variances", "independent-clients", "no-noise", NOISE_OF_DRAWN)
NUMBERS = (sy.L, sy.mu, sy.eta, sy.rho_bar, sy.sigma_sq, sy.sigma_p_sq, sy.p_sq, sy.zeta_sq, SHARE)
WORDS = {one.name: one.name for one in (*NUMBERS, sy.G_sq)} | {
    **{"p_sq": "mean (N P) (p P) (p P)", "eta": "eta M", "Gamma": "Gamma P", "N": "INR (N P)", "tau": "INR tau"},
    **{"m": "INR m", REST.name: "(1 - share)"},
}
# What a step is about, after one history.
MEASURED = {
    sy.Delta_next: "given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))",
    sy.Delta: "norm_sq (sub (w M c k) (w_star P))",
    sy.gap_t: "(mean (N P) (p P) (fun i => F P i (w M c k)) - mean (N P) (p P) (fun i => F P i (w_star P)))",
    sy.drift: "mean (N P) (alpha M c) (fun i => norm_sq (sub (w M c k) (x M c k i)))",
}
# What is expected of these, and why it is not negative.
EXPECTED = {
    sy.Delta: ("(Delta M)", "Delta_nonneg M ok"),
    sy.gap_t: ("(gap_t M)", "gap_nonneg M ok"),
    sy.drift: ("(drift M)", "drift_nonneg M ok"),
    sy.Gamma: ("(Gamma P)", "Gamma_nonneg M ok"),
}
# The step without its noise.
NEXT_LOSS = Mean(P, Loss(W_NEXT, I))
AHEAD = W - sy.eta * Centre(ALPHA, grad(X))


@dataclass(frozen=True)
class StepFacts:
    """A claim about a step: its sides and, at points, those less the noise and less ``outer`` terms.

    ``inner`` are the facts about points. ``bends`` is the point (of a client) whose quadratic bound stands for a
    loss after the step, if there is one. ``draw`` says how clients are drawn, ``variance`` what bounds their noise.
    """

    checked: Checked
    flat: Sum
    single: bool
    left: sp.Expr
    right: sp.Expr
    outer: tuple[Flat, ...]
    inner: tuple[d.Use, ...]
    bends: sp.Expr | None
    draw: Draw | None = None
    variance: sp.Expr = ZERO

    @property
    def noisy(self) -> list[sp.Symbol]:
        """The quantities that are measured after the step."""
        return [one for one in symbols_of(self.left) if self.draw is None and self.meaning(one).has(W_NEXT)]

    def meaning(self, side: sp.Expr) -> sp.Expr:
        return meaning_of(self.checked.claim, side)  # type: ignore[arg-type]

    def at_points(self, side: sp.Expr) -> sp.Expr:
        """A side in points, the step without its noise."""
        side = self.meaning(side)
        if self.draw is not None:
            side = side.xreplace({norm_sq(W_NEXT - W_STAR): self.draw.second_moment})
        if self.bends is not None:
            at, way = self.bends, W_NEXT - self.bends
            bound = Loss(at, I) + Inner(grad(at), way) + sy.L / 2 * Inner(way, way)
            side = side.xreplace({Loss(W_NEXT, I): bound})
        side = side.xreplace({W_NEXT: AHEAD})
        return side.xreplace({X: W}) if self.single else side

    @property
    def writer(self) -> AfterHistory:
        """What writes points as they are after a history."""
        claim: Claim = self.checked.claim  # type: ignore[assignment]
        return AfterHistory(claim, self.left, self.right, (), frozenset(), {"eta": "(eta M)"}, NUMBERS)

    def apart(self, symbol: sp.Symbol) -> tuple[str, str]:
        """b and u of a squared norm ||b w_next + u||^2, in words."""
        if sp.expand(self.meaning(symbol) - self.after(symbol)) != 0:
            raise no_script(f"the quantity {symbol}")
        b, u = slope(self.after(symbol))
        return f"({rocq(b, WORDS)})", self.writer.point(u)

    def noise(self) -> sp.Expr:
        """How often eta^2 times the variance of the mean noise is in the left side."""
        return sp.expand(sum(self.left.coeff(one) * self.share(self.after(one)) for one in self.noisy))

    def after(self, symbol: sp.Symbol) -> sp.Expr:
        """The term of a quantity that is measured after the step."""
        terms = [one for one in sp.Add.make_args(sp.expand(self.meaning(symbol))) if one.has(W_NEXT)]
        if len(terms) != 1:
            raise no_script(f"the quantity {symbol}")
        return terms[0]

    def share(self, term: sp.Expr) -> sp.Expr:
        """How often that term has eta^2 times the variance."""
        return term / NEXT_LOSS * sy.L / 2 if term.has(Loss) else slope(term)[0] ** 2


def symbols_of(side: sp.Expr) -> list[sp.Symbol]:
    return sorted(side.free_symbols, key=str)


def slope(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """(b, u) of a squared norm ||b w_next + u||^2."""
    (inner, *others) = term.atoms(Inner) or [None]
    if others or inner is None or inner != term or inner.args[0] != inner.args[1]:
        raise no_script(f"the term {term} after the step")
    vector = sp.expand(inner.args[0])
    b = vector.coeff(W_NEXT)
    return b, sp.expand(vector - b * W_NEXT)


def read(checked: Checked, single: bool) -> StepFacts:
    """The derivation's facts, apart: of expectations, of noise, of losses after the step, and others."""
    flat, last = flattened(checked), checked.derivation.steps[-1]
    draw = draw_of(flat.uses, "equal-p" in checked.universe)
    if draw is not None:
        flat = _in_share(flat, draw)
    outer = [one for one in flat.uses if isinstance(one[1], d.Given | DriftBound)]
    facts = [(m, fact) for m, fact in flat.uses if not isinstance(fact, d.Given | DriftBound)]
    right = sp.expand(last.rhs)
    for multiplier, fact in outer:
        value = fact.number * fact.bound - sy.drift if isinstance(fact, DriftBound) else ONE
        right -= sp.expand((multiplier * value).subs(flat.letters))
    here = {X: W} if single else {}
    bends = {one.points[0].xreplace(here) for _, fact in facts for one in _bounds_after(fact)}
    if len(bends) > 1:
        raise no_script("a loss after the step from two points")
    kept = tuple(
        (m, one) for m, fact in facts if (one := _without_bounds_after(fact)) is not None and not _of_noise(one)
    )
    noise = ZERO if draw is None else draw.noise(facts, "no-noise" in checked.universe)
    if draw is not None:
        right = draw.in_share(sp.expand(right - sy.eta**2 * noise)) + sy.eta**2 * noise
    first = next(iter(bends), None)
    return StepFacts(checked, flat, single, last.lhs, sp.expand(right), tuple(outer), kept, first, draw, noise)


def _in_share(flat: Sum, draw: Draw) -> Sum:
    """The facts with what stands for the share of draws as such."""

    def mapped(fact: d.Fact | DriftBound) -> d.Fact | DriftBound:
        if not isinstance(fact, d.Averaged):
            return fact
        return replace(fact, uses=tuple((draw.in_share(m), mapped(one)) for m, one in fact.uses))  # type: ignore[misc]

    letters = {one: draw.in_share(value) for one, value in flat.letters.items() if draw.in_share(one) == one}
    uses = tuple((draw.in_share(m), mapped(fact)) for m, fact in flat.uses)
    return Sum(uses, {**letters, REST: 1 - SHARE}, flat.steps)


def _bounds_after(fact: d.Fact) -> list[d.Premise]:
    """The quadratic upper bounds of a loss after the step in a fact."""
    inside = [one for _, one in fact.uses] if isinstance(fact, d.Averaged) and fact.weights == P else []
    return [one for one in inside if isinstance(one, d.Premise) and one.key == "smooth" and one.points[1] == W_NEXT]


def _without_bounds_after(fact: d.Fact) -> d.Fact | None:
    after = _bounds_after(fact)
    if not after or not isinstance(fact, d.Averaged):
        return fact
    left = tuple(use for use in fact.uses if use[1] not in after)
    return replace(fact, uses=left) if left else None


def _of_noise(fact: d.Fact) -> bool:
    """Whether a fact speaks of the noise alone."""
    if isinstance(fact, d.Averaged):
        keys = {one.key for one in inside(fact) if isinstance(one, d.Premise)}
        return all(_of_noise(one) for _, one in fact.uses) or keys == {"bounded-variance", "equal-p"}
    if isinstance(fact, d.Square):
        return bool(fact.of.has(Noise))
    return isinstance(fact, d.Premise) and fact.key in (*NOISY, *HYPOTHESIS)


def bound_of(step: StepFacts) -> sp.Expr:
    """What bounds the variance of the mean noise: the facts that the derivation names must have as much of it."""
    found: dict[sp.Expr, sp.Expr] = {}
    for multiplier, fact in step.flat.uses if step.draw is None else ():
        for share, one in fact.uses if isinstance(fact, d.Averaged) else ():
            equal = OF_EQUAL if any(getattr(item, "key", "") == "equal-p" for item in inside(fact)) else EQUAL
            key = one.key if isinstance(one, d.Premise) else ""
            symbol = {"bounded-variance": sy.sigma_sq, "client-variances": sy.sigma_p_sq, "no-noise": ZERO}.get(key)
            symbol = equal if symbol == sy.sigma_sq and share == P_I else symbol
            if symbol is not None and (symbol in OF_MEAN) == (share == P_I):
                found[symbol] = found.get(symbol, ZERO) + multiplier * abs(share if share != P_I else 1)
    if not step.noisy or found.keys() == {ZERO}:
        return ZERO
    used = sy.eta**2 * step.noise()
    if [sp.expand(sp.sympify(value).subs(step.flat.letters)) for value in found.values()] != [sp.expand(used)]:
        raise no_script(f"a noise bounded by {', '.join(map(str, found)) or 'nothing'}")
    return next(iter(found))
