"""The best federated method over a class: the step sizes, of clients and server, with the least worst case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.errors import reject
from fedbounds.plugins import with_role
from fedbounds.study.result_table import Findings
from fedbounds.study.worst_case import Number, present_of
from fedbounds.theory.claim import Role

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.multi_round.participation import Present
    from fedbounds.evidence.sdp.multi_round.program import Run
    from fedbounds.model.protocol import Progress

# Steps of a run in all: beyond this each of the worst cases of a search takes seconds.
LONGEST, LONGEST_NOISY = 24, 48
# Rows of a table, as many as a screen shows beside the answer.
MOST_TAU = 12
# Of a search for a step a round: its grid has as many sides.
MOST_ROUNDS = 5


@dataclass(frozen=True)
class Design:
    """The best method found, in units of 1/L: ``worst`` is its worst case, no method searched is below ``lower``.

    ``plain_eta`` and ``plain_worst`` are those of the best eta at eta_s = 1, ``standard`` the proved worst cases of
    usual choices, None where none was established. ``certified`` says that both other worst cases are proved;
    ``lower`` is a number in floating point, over a grid. ``solved`` worst cases were computed. Where ``p`` is given
    the server's weights ``alpha`` are chosen at eta_s = 1, without a lower bound, and ``plain_eta`` is for alpha = p.
    Of a run with noise ``sigma`` or ``participation`` K/N only eta is chosen. ``etas`` are those of the rounds where
    each has one, at eta_s = 1.
    """

    rounds: int
    tau: int
    kappa: float
    zeta_star: float
    measure: str
    eta: float
    server: float
    worst: float
    plain_eta: float
    plain_worst: float
    standard: dict[str, float | None] = field(repr=False)
    lower: float | None = None
    certified: bool = True
    solved: int = 0
    p: tuple[float, ...] = ()
    alpha: tuple[float, ...] = ()
    sigma: float = 0.0
    participation: str = ""
    etas: tuple[float, ...] = ()

    @property
    def gap(self) -> float | None:
        """The minimax gap, relative to the worst case."""
        return None if self.lower is None else (self.worst - self.lower) / self.worst


def design(
    *,
    rounds: int = 3,
    tau: int | str = 4,
    kappa: Number = 10,
    zeta_star: Number = 1,
    Delta_0: Number = 1,
    measure: Literal["distance", "gap"] = "distance",
    budget_steps: int | None = None,
    p: str | Sequence[Number] = (),
    sigma: Number = 0,
    participation: str = "",
    uploads: int | None = None,
    by_round: bool = False,
    progress: Progress | None = None,
) -> Findings[Design]:
    """The constant local step eta and server's step eta_s with the least worst case over a class, for every N >= 2.

    Clients are L-smooth and mu-strongly convex with L = 1, and equally weighted or of weights of at most 1/2.
    Raises InputError for parameters that no run has.

    rounds: Rounds.
    tau: Local steps a round, or several as 1..6.
    kappa: L/mu, with L = 1.
    zeta_star: Root mean square of ||grad F_i(w*)||.
    Delta_0: Largest ||w_0 - w*||^2.
    measure: The distance ||w_R - w*||^2, or the gap F(w_R) - F*.
    budget_steps: Gradient steps in all, in place of the rounds.
    p: The clients' weights, with commas: the server's weights are chosen then, at eta_s = 1.
    sigma: Root of the largest variance of a client's noise; eta_s is 1 then.
    participation: K/N where K of N clients take part in a round, or 1..4/N to compare several K; eta_s is 1 then.
    uploads: Rounds times clients a round, in place of the rounds.
    by_round: A local step for each round, of up to 5; eta_s is 1 then.

    >>> [(round(item.eta, 2), round(item.worst, 4)) for item in design(rounds=1, tau=1)]
    [(1.82, 0.6695)]
    """
    from fedbounds.evidence.sdp.one_step.coverage import fraction, fractions

    if measure not in ("distance", "gap"):
        raise reject("what is measured is distance or gap", measure, "choose one")
    if fraction(zeta_star) < 0:
        raise reject("zeta_star is a root of a mean of squares, at least 0", zeta_star, "leave out its sign")
    if fraction(Delta_0) <= 0:
        raise reject("Delta_0 must be positive", Delta_0, "start away from w*")
    if fraction(sigma) < 0:
        raise reject("sigma is a root of a variance, at least 0", sigma, "leave out its sign")
    random, weights = bool(participation or fraction(sigma)), fractions(p) if p else ()
    if random and (p or measure != "distance"):
        raise reject("with noise or absent clients eta is chosen for the distance", p or measure, "leave it out")
    if uploads is not None and not (participation and budget_steps is None):
        raise reject("uploads are rounds times the clients of --participation", uploads, "give it, and no budget")
    runs = [
        replace(run, alpha=weights, p=weights, present=present)
        for present, several in _presents(participation, rounds, uploads)
        for run in _runs(several, tau, fraction(kappa), measure, budget_steps, LONGEST_NOISY if random else LONGEST)
    ]
    several = max(run.rounds for run in runs)
    if by_round and (random or p or not 2 <= several <= MOST_ROUNDS):
        what = (
            f"a step for each round is chosen for 2 to {MOST_ROUNDS} rounds without weights, noise or absent clients"
        )
        raise reject(what, f"{several} rounds", "leave out --by-round, or the others")
    if p and measure != "distance":
        raise reject("the server's weights are chosen for the distance", measure, "leave out --p")
    result = []
    for k, run in enumerate(runs):
        if progress is not None:
            left = sum(1.5 if random else 2 + item.T / 2 for item in runs[k:])  # as it was measured on one core
            progress("methods", k, len(runs), f"tau = {run.tau}, some {left:.0f} s left")
        at = run, fraction(Delta_0), fraction(zeta_star) ** 2
        if random:
            result.append(best_of_random(*at, fraction(sigma)))
        else:
            result.append(best_of_weights(*at) if p else best(*at, by_round))
    return Findings(tuple(result), lambda item: [asdict(item) | {"gap": item.gap}])


def _runs(
    rounds: int,
    tau: int | str,
    kappa: Fraction,
    measure: Literal["distance", "gap"],
    budget: int | None,
    longest: int,
) -> Iterator[Run]:
    from fedbounds.evidence.sdp.multi_round.program import Run

    if kappa <= 1:
        raise reject("kappa = L/mu must exceed 1", kappa, "at kappa = 1 every client is the same up to a shift")
    for each in _several(tau):
        several = rounds if budget is None else budget // each
        if budget is not None and several < 1:
            raise reject("a budget of gradient steps pays for a round or more", budget, f"give {each} or more")
        if several * each > longest:
            what = f"a search is for runs of up to {longest} local steps in all"
            raise reject(what, f"{several} rounds of {each}", "take fewer")
        yield Run(several, each, 1 / kappa, Fraction(1), Fraction(1), measure=measure)


def _presents(participation: str, rounds: int, uploads: int | None) -> Iterator[tuple[Present | None, int]]:
    """(K of N, rounds), for every K."""
    several, dash, N = participation.partition("/")
    for K in _several(several, "clients a round") if ".." in several else (several,):
        present = present_of(f"{K}{dash}{N}")
        if present is not None and uploads is not None:
            if isinstance(present[0], Fraction):
                raise reject("uploads are counted with K/N clients a round", participation, "leave out --uploads")
            if not 0 < present[0] <= uploads:
                raise reject(
                    "uploads pay for a round or more of a client or more", f"{uploads}, {K}/{N}", "mend them"
                )
            rounds = uploads // present[0]
        yield present, rounds


def _several(tau: int | str, what: str = "tau") -> list[int]:
    first, dots, last = str(tau).partition("..")
    if not (first.strip().isdecimal() and (not dots or last.strip().isdecimal())):
        raise reject(f"{what} must be a whole number, or two as 1..6", tau, "mend it")
    low, high = (int(text) if len(text) < 9 else 0 for text in (first, last or first))
    if not 1 <= low <= high < low + MOST_TAU:
        raise reject(f"{what} must be at least 1, and at most {MOST_TAU} values upwards", tau, "mend it")
    return list(range(low, high + 1))


def best(run: Run, delta_0: Fraction, zeta_sq: Fraction, by_round: bool = False) -> Design:
    """The best step sizes found for a run whose own are of no account."""
    from fedbounds.evidence.sdp.multi_round.upper_bounds import worst
    from fedbounds.study.best_steps import best_steps

    plain = best_steps(run, delta_0, zeta_sq, server=False)
    eta, steps = float(plain.run.sizes[0] * run.L), plain
    if by_round:
        steps = best_steps(run, delta_0, zeta_sq, False, (eta,), run.rounds)
    elif run.tau > 1:
        steps = best_steps(run, delta_0, zeta_sq, known=(eta,))
    bounds = [worst(item.run, delta_0, zeta_sq) for item in (steps, plain)]
    values = tuple(item.upper if b is None else b.value for b, item in zip(bounds, (steps, plain), strict=True))
    etas = tuple(float(size * run.L) for size in steps.run.sizes[:: run.tau]) if by_round else ()
    at, lower, count = (delta_0, zeta_sq), min(steps.lower, values[0]), steps.solved + plain.solved
    proved = None not in bounds
    return _design((steps.run, plain.run), values, *at, lower=lower, certified=proved, solved=count, etas=etas)


def best_of_weights(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Design:
    """The best local step and server's weights found for clients of the run's p."""
    from fedbounds.evidence.sdp.multi_round.upper_bounds import worst
    from fedbounds.study.best_found import best_weights

    several = best_weights(run, delta_0, zeta_sq)
    values = tuple(bound.value for item in several if (bound := worst(item, delta_0, zeta_sq)) is not None)
    if len(values) < len(several):
        raise reject("no worst case was proved", f"{run.T} steps", "take fewer rounds, or zeta_* nearer to 1")
    p, alpha = (tuple(map(float, item)) for item in (run.p, several[0].alpha))
    return _design(several, values, delta_0, zeta_sq, p=p, alpha=alpha)


def best_of_random(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma: Fraction) -> Design:
    """The best local step found where gradients have noise or clients are absent."""
    from fedbounds.study.best_found import best_step

    found, worst, lower, solved = best_step(run, delta_0, zeta_sq, sigma**2)
    K, N = run.present or (0, None)
    present = f"{'q=' * run.by_coins}{K}/{N or 'any'}" if K else ""
    at = delta_0, zeta_sq, sigma
    return _design((found, found), (worst, worst), *at, lower=lower, solved=solved, participation=present)


def _design(
    runs: tuple[Run, Run],
    values: tuple[float, ...],
    delta_0: Fraction,
    zeta_sq: Fraction,
    sigma: Fraction = Fraction(0),
    **more: Any,
) -> Design:
    """The design of the best run and of that at the usual choice, with their worst cases."""
    run, plain = runs
    return Design(
        rounds=run.rounds,
        tau=run.tau,
        kappa=float(run.L / run.mu),
        zeta_star=float(zeta_sq) ** 0.5,
        measure=run.measure,
        eta=float(run.sizes[0] * run.L),
        server=float(run.server),
        worst=values[0],
        plain_eta=float(plain.sizes[0] * run.L),
        plain_worst=values[1],
        standard=standard(replace(run, alpha=run.p, server=Fraction(1)), delta_0, zeta_sq, sigma**2),
        sigma=float(sigma),
        **more,
    )


def standard(
    run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction = Fraction(0)
) -> dict[str, float | None]:
    """The certified worst cases of usual choices at eta_s = 1, and of gradient descent once a round."""
    from fedbounds.evidence.sdp.multi_round.upper_bounds import upper_bound
    from fedbounds.study.worst_case_and_theorems import scheduled

    L, mu = run.L, run.mu
    main = with_role(Role.MAIN, ())[0]
    several = {
        "eta = 1/L": replace(run, eta=1 / L),
        "eta = 2/(L + mu)": replace(run, eta=2 / (L + mu)),
        "eta = 1/(tau L)": replace(run, eta=1 / (run.tau * L)),
        f"the steps of {main.key}": scheduled(run, main),
        "one step a round, 2/(L + mu)": replace(run, tau=1, eta=2 / (L + mu)),
    }
    if run.tau == 1:
        del several["eta = 1/(tau L)"], several["one step a round, 2/(L + mu)"]
    result = {}
    for name, other in several.items():
        bound = upper_bound(other, delta_0, zeta_sq, sigma_sq)
        result[name] = None if bound is None else bound.value
    return result
