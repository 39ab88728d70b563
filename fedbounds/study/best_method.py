"""The method with the least worst case over a class: step sizes of clients and server, or the server's weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.errors import reject
from fedbounds.plugins import with_role
from fedbounds.study.result_table import Findings
from fedbounds.study.worst_case import Number, class_of, present_of
from fedbounds.theory.claim import Role

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.multi_round.program import Present, Run
    from fedbounds.model import Progress
    from fedbounds.study.least_worst_case import Found

# Steps of a run in all: beyond this each of the worst cases of a search takes seconds.
LONGEST, LONGEST_RANDOM = 24, 48
# Rows of a table, as many as a screen shows beside the answer.
MOST_ROWS = 12
# Of a search for a step a round: its grid has as many sides.
MOST_ROUNDS = 5


@dataclass(frozen=True)
class BestMethod:
    """The best ``run`` that was found and the best of the ``usual`` ones, with their worst cases, at L = 1.

    The usual ones have eta_s = 1, alpha = p and one step size for all rounds. ``lower``, a number in floating point,
    is what no method of a grid is below, None where there is no grid. ``certified``: both worst cases are proved.
    ``standard`` are the proved worst cases of common choices, None where none was established.
    """

    run: Run
    usual: Run
    worst: float
    usual_worst: float
    lower: float | None
    standard: dict[str, float | None]
    zeta_star: float
    sigma: float
    certified: bool

    @property
    def eta(self) -> float:
        """The first local step."""
        return float(self.run.sizes[0])

    @property
    def random(self) -> bool:
        """Whether what is measured is an expectation."""
        return bool(self.sigma or self.run.present)

    @property
    def participation(self) -> str:
        """K/N where clients are absent."""
        K, N = self.run.present or (0, None)
        return f"{'q=' * self.run.by_coins}{K}/{N or 'any'}" if K else ""

    @property
    def gap(self) -> float | None:
        """The minimax gap, relative to the worst case."""
        return None if self.lower is None else (self.worst - self.lower) / self.worst

    def row(self) -> dict[str, Any]:
        """As plain numbers."""
        run, usual = self.run, self.usual
        return {
            "rounds": run.rounds,
            "tau": run.tau,
            "kappa": float(run.L / run.mu),
            "zeta_star": self.zeta_star,
            "measure": run.measure,
            "sigma": self.sigma,
            "participation": self.participation,
            "p": list(map(float, run.p)),
            "alpha": list(map(float, run.alpha)),
            "etas": list(map(float, run.sizes[:: run.tau])),
            "server": float(run.server),
            "worst": self.worst,
            "lower": self.lower,
            "gap": self.gap,
            "certified": self.certified,
            "usual_eta": float(usual.sizes[0]),
            "usual_worst": self.usual_worst,
            "standard": self.standard,
        }


def best_method(
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
) -> Findings[BestMethod]:
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

    >>> [(round(item.eta, 2), round(item.worst, 4)) for item in best_method(rounds=1, tau=1)]
    [(1.82, 0.6695)]
    """
    from fedbounds.evidence.sdp.multi_round.program import Run
    from fedbounds.evidence.sdp.one_step.coverage import fractions

    if measure not in ("distance", "gap"):
        raise reject("what is measured is distance or gap", measure, "choose one")
    mu, at = class_of(kappa, zeta_star, sigma, Delta_0)
    random, weights = bool(participation or at["sigma_sq"]), fractions(p) if p else ()
    if (random or p) and (measure != "distance" or (random and p)):
        raise reject(
            "noise, absent clients and weights are one of these, for the distance", p or measure, "leave it out"
        )
    if uploads is not None and not (participation and budget_steps is None):
        raise reject("uploads are rounds times the clients of --participation", uploads, "give it, and no budget")
    longest = LONGEST_RANDOM if random else LONGEST
    runs = [
        Run(several, each, mu, Fraction(1), Fraction(1), weights, weights, measure=measure, present=present)
        for present, most in _presents(participation, rounds, uploads)
        for each, several in _rounds(tau, most, budget_steps, longest)
    ]
    longest = max(run.rounds for run in runs)
    if by_round and (random or p or not 2 <= longest <= MOST_ROUNDS):
        what = f"a step for each of 2 to {MOST_ROUNDS} rounds is chosen without weights, noise or absent clients"
        raise reject(what, f"{longest} rounds", "leave out --by-round, or the others")
    result = []
    for k, run in enumerate(runs):
        if progress is not None:
            left = sum(_seconds(item) for item in runs[k:])
            progress("methods", k, len(runs), f"tau = {run.tau}, some {left:.0f} s left")
        result.append(best(run, **at, by_round=by_round))
    return Findings(tuple(result), lambda item: [item.row()])


def _seconds(run: Run) -> float:
    """About how long a search takes, as it was measured on one core."""
    return run.T * run.tau if run.present else (2 + run.T / 2) * (2 if run.measure == "gap" else 1)


def _rounds(tau: int | str, rounds: int, budget: int | None, longest: int) -> Iterator[tuple[int, int]]:
    """(local steps, rounds), for every tau."""
    for each in _several(tau, "tau"):
        several = rounds if budget is None else budget // each
        if budget is not None and several < 1:
            raise reject("a budget of gradient steps pays for a round or more", budget, f"give {each} or more")
        if several * each > longest:
            what = f"a search is for runs of up to {longest} local steps in all"
            raise reject(what, f"{several} rounds of {each}", "take fewer")
        yield each, several


def _presents(participation: str, rounds: int, uploads: int | None) -> Iterator[tuple[Present | None, int]]:
    """(K of N, rounds), for every K."""
    several, slash, N = participation.partition("/")
    for K in _several(several, "clients a round") if ".." in several else (several,):
        present = present_of(f"{K}{slash}{N}")
        clients = present[0] if present else 0
        if uploads is not None and not (isinstance(clients, int) and 0 < clients <= uploads):
            raise reject("uploads pay for a round or more of K/N clients", f"{uploads}, {K}/{N}", "mend them")
        yield present, rounds if uploads is None else int(uploads // clients)


def _several(values: int | str, what: str) -> range:
    first, dots, last = str(values).partition("..")
    if not (first.strip().isdecimal() and (not dots or last.strip().isdecimal())):
        raise reject(f"{what} must be a whole number, or two as 1..6", values, "mend it")
    low, high = (int(text) if len(text) < 9 else 0 for text in (first, last or first))
    if not 1 <= low <= high < low + MOST_ROWS:
        raise reject(f"{what} must be at least 1, and at most {MOST_ROWS} values upwards", values, "mend it")
    return range(low, high + 1)


def best(
    run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction = Fraction(0), by_round: bool = False
) -> BestMethod:
    """The best method found for a run whose own step sizes are of no account."""
    from fedbounds.evidence.sdp.multi_round.bound import upper_bound

    found, usual = _searched(run, delta_0, zeta_sq, sigma_sq, by_round)
    bounds = [upper_bound(item.run, delta_0, zeta_sq, sigma_sq) for item in (found, usual)]
    worst, usual_worst = (
        item.worst if bound is None else bound.value for bound, item in zip(bounds, (found, usual), strict=True)
    )
    return BestMethod(
        found.run,
        usual.run,
        worst,
        usual_worst,
        None if found.lower is None else min(found.lower, worst),
        standard(replace(run, alpha=run.p), delta_0, zeta_sq, sigma_sq),
        float(zeta_sq) ** 0.5,
        float(sigma_sq) ** 0.5,
        None not in bounds,
    )


def _searched(
    run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction, by_round: bool
) -> tuple[Found, Found]:
    """(the best found, the best of the usual methods found)."""
    from fedbounds.study.least_worst_case import best_step, best_steps, best_weights

    if run.p:
        return best_weights(run, delta_0, zeta_sq)
    if run.present or sigma_sq:
        found = best_step(run, delta_0, zeta_sq, sigma_sq)
        return found, found
    usual = best_steps(run, delta_0, zeta_sq, server=False)
    known = (float(usual.run.sizes[0]),)
    if by_round:
        return best_steps(run, delta_0, zeta_sq, False, known, run.rounds), usual
    return best_steps(run, delta_0, zeta_sq, known=known) if run.tau > 1 else usual, usual


def standard(run: Run, delta_0: Fraction, zeta_sq: Fraction, sigma_sq: Fraction) -> dict[str, float | None]:
    """The certified worst cases of common choices at eta_s = 1, and of gradient descent once a round."""
    from fedbounds.evidence.sdp.multi_round.bound import upper_bound
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
    bounds = {name: upper_bound(other, delta_0, zeta_sq, sigma_sq) for name, other in several.items()}
    return {name: None if bound is None else bound.value for name, bound in bounds.items()}
