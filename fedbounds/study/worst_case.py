"""The worst case of R rounds of FedAvg over a class of problems, with its parameters as numbers or as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.errors import reject
from fedbounds.plugins import Plugins, claim_named, modules_from, weighting_named, with_role
from fedbounds.study.result_table import Findings
from fedbounds.theory.claim import Role
from fedbounds.weightings.fedmax import FedMax

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.multi_round.program import Present
    from fedbounds.model import Progress
    from fedbounds.model.weighting import Weighting
    from fedbounds.study.worst_case_and_theorems import Sandwich
    from fedbounds.theory.claim import Claim

Number = int | float | str | Fraction
# Of a number of clients.
MOST_DIGITS = 10
MEASURES = {"distance": "||w_R - w*||^2", "gap": "F(w_R) - F*", "average": "F - F* at the mean of w_0 .. w_(T-1)"}


def worst(
    *,
    rounds: int = 10,
    tau: int = 4,
    kappa: Number = 10,
    step: Number = "1/2",
    server: Number = 1,
    measure: Literal["distance", "gap", "average"] = "distance",
    zeta_star: Number = 1,
    sigma: Number = 0,
    participation: str = "",
    Delta_0: Number = 1,
    weights: str | Sequence[Number] = (),
    p: str | Sequence[Number] = (),
    over: Literal["rounds", "tau", "kappa", "step"] | None = None,
    values: str | Sequence[Number] = (),
    plugins: Plugins = (),
    progress: Progress | None = None,
) -> Findings[Sandwich]:
    """The worst case of R rounds, between an instance that was run and the smallest bound of a theorem.

    Clients are L-smooth and mu-strongly convex with L = 1. Raises InputError for parameters that no run has.

    rounds: Rounds.
    tau: Local steps a round.
    kappa: L/mu, with L = 1.
    step: A constant in units of 1/L, one for each round with commas, theory, or a claim's.
    server: The server's step size: 1 is FedAvg's.
    measure: The distance ||w_R - w*||^2, the gap F(w_R) - F*, or the gap at the mean of the iterates before w_R.
    zeta_star: Root mean square of ||grad F_i(w*)||.
    sigma: Root of the largest variance of a client's noise.
    participation: K/N where K of N clients take part in a round, or K/any; q=Q/N, each of N with probability Q.
    Delta_0: Largest ||w_0 - w*||^2.
    weights: alpha with commas, any, its ratios to p as 1/2..2, or fedmax (default: equal weights, every N).
    p: p, where it is not the weights.
    over: A curve along this.
    values: Its values, with commas.
    plugins: A Python file with claims of your own.

    >>> [round(item.worst, 3) for item in worst(rounds=1, tau=1, kappa=4)]
    [0.766]
    """
    from fedbounds.evidence.sdp.multi_round.program import Run
    from fedbounds.evidence.sdp.one_step.coverage import fraction, fractions
    from fedbounds.study.worst_case_and_theorems import CURVES, curve

    if measure not in MEASURES:
        raise reject("what is measured is distance, gap or average", measure, "choose one")
    mu, at = class_of(kappa, zeta_star, sigma, Delta_0)
    if values and over is None:
        raise reject("--values are those of a curve", values, "add --over")
    extra = tuple(modules_from(plugins))
    steps = step_claim(step, plugins)
    size = Fraction(1, 2) if steps is not None else _sizes(step, rounds, tau, over)
    run = Run(
        rounds,
        tau,
        mu,
        Fraction(1),
        size,
        measure=measure,
        server=fraction(server),
        present=present_of(participation),
        **_weights(weights, fractions(p) if p else (), plugins),
    )
    along = tuple(fractions(values)) if values else ()
    todo = [""] if over is None else [f"{over} = {value}" for value in along or CURVES.get(over, ())]
    rows: list[Sandwich] = []
    each = curve(run, over, along, steps, extra=extra, **at)
    for k in range(max(len(todo), 1)):
        if progress is not None:
            progress("worst cases", k, len(todo), *todo[k : k + 1])
        rows.append(next(each))
    return Findings(tuple(rows), lambda item: [{"claim": item.theorem or "", **asdict(item)}])


def class_of(
    kappa: Number, zeta_star: Number, sigma: Number, Delta_0: Number
) -> tuple[Fraction, dict[str, Fraction]]:
    """(mu at L = 1, Delta_0 and the squares of zeta_* and sigma); InputError where no class has them."""
    from fedbounds.evidence.sdp.one_step.coverage import fraction

    if fraction(kappa) <= 1:
        raise reject("kappa = L/mu must exceed 1", kappa, "at kappa = 1 every client is the same up to a shift")
    if fraction(Delta_0) <= 0:
        raise reject("Delta_0 must be positive", Delta_0, "start away from w*")
    for name, value in (("zeta_star", zeta_star), ("sigma", sigma)):
        if fraction(value) < 0:
            raise reject(f"{name} is a root of a mean of squares, at least 0", value, "leave out its sign")
    at = {"delta_0": fraction(Delta_0), "zeta_sq": fraction(zeta_star) ** 2, "sigma_sq": fraction(sigma) ** 2}
    return 1 / fraction(kappa), at


def _sizes(step: Number, rounds: int, tau: int, over: str | None) -> Fraction | tuple[Fraction, ...]:
    from fedbounds.evidence.sdp.one_step.coverage import fraction, fractions

    if not (isinstance(step, str) and "," in step):
        return fraction(step)
    if over is not None or step.count(",") != rounds - 1:
        raise reject("step sizes are one, or one for each round without --over", step, f"give 1 or {rounds}")
    return tuple(size for size in fractions(step) for _ in range(tau))


def present_of(participation: str) -> Present | None:
    """(K, N) or (K, None) of K/N or K/any, (q, N) of q=Q/N; None of nothing."""
    if not participation:
        return None
    if participation.startswith("q="):
        from fedbounds.evidence.sdp.one_step.coverage import fraction

        q, _, N = participation[2:].rpartition("/")
        if not (N.isdecimal() and len(N) < 4):
            raise reject("a probability is q=Q/N, as q=0.2/10", participation, "give N below 1,000")
        return fraction(q), int(N)
    K, _, N = (text.strip() for text in participation.partition("/"))
    if not (K.isdecimal() and (N == "any" or N.isdecimal()) and max(len(K), len(N)) < MOST_DIGITS):
        raise reject("participation is K/N, as 2/10 or 2/any", participation, "give two whole numbers")
    return int(K), None if N == "any" else int(N)


def step_claim(step: Number, plugins: Plugins = ()) -> Claim | None:
    """The claim whose step size is asked for; None where it is a number."""
    extra = modules_from(plugins)
    if step == "theory":
        return with_role(Role.MAIN, extra)[0]
    return claim_named(step, extra) if isinstance(step, str) and step[:1].isalpha() else None


def _rule(text: str, plugins: Plugins) -> Weighting:
    result = weighting_named(text, modules_from(plugins))
    if not result.depends_on_w or result.random or result.needs_problem or result.returns_p:
        raise reject("weights are numbers, any, or a rule that depends on the losses alone", text, "take fedmax")
    return result


def _weights(weights: str | Sequence[Number], p: Any, plugins: Plugins) -> dict[str, Any]:
    """Of a `Run`: alpha and p, and where alpha is not fixed its ratios to p and the rule."""
    from fedbounds.evidence.sdp.one_step.coverage import fraction, fractions

    low, dots, high = str(weights).partition("..")
    if dots and not p:
        m, M = fraction(low), fraction(high)
        if not 0 <= m < 1 < M:
            raise reject("ratios alpha_i/p_i lie on both sides of 1, from 0 on", weights, "write 1/2..2")
        # The two clients whose weights are as far from p as the ratios allow.
        p = ((1 - m) / (M - m), (M - 1) / (M - m))
        return {"alpha": (M * p[0], m * p[1]), "p": p, "ratios": (m, M)}
    named = isinstance(weights, str) and weights[:1].isalpha()
    if named and p:
        rule = None if weights == "any" else _rule(str(weights), plugins)
        chosen = min(rule.k, len(p)) if isinstance(rule, FedMax) and len(set(p)) == 1 else 1
        if chosen == len(p):
            raise reject(f"{weights} of {chosen} clients has the weights p", weights, "leave out --weights")
        least = sorted(range(len(p)), key=p.__getitem__)[:chosen]
        alpha = tuple(Fraction(k in least, chosen) for k in range(len(p)))
        return {"alpha": alpha, "p": p, "ratios": (Fraction(0), 1 / (chosen * min(p))), "rule": rule}
    if bool(p) > bool(weights) or named or dots:
        received = weights or ", ".join(map(str, p))
        what = "weights that depend on losses or may be any need p, which needs weights; ratios need none"
        raise reject(what, received, "give both, or ratios as 1/2..2 alone")
    alpha = fractions(weights) if weights else ()
    return {"alpha": alpha, "p": p or alpha}
