"""Algorithm 1 on a small federated problem in exact rational arithmetic: no rounding, no sampling, no solver.

A long run may double the digits of its fractions with every step. It is then taken in ball arithmetic, as rigorously:
every number is enclosed, and a comparison that the enclosures do not decide is asked again in twice as many bits.

Every outcome of the noise and of who takes part is enumerated, so expectations are exact too. Where there are too
many, one round needs few of them, and so does a run that is linear in the noise (`Chance`).
"""

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeVar

import sympy as sp

from fedbounds.engine.reference import Step
from fedbounds.errors import InputError, reject
from fedbounds.evidence.ball_arithmetic import BITS, Ball, Undecided, enclosed, endpoints, in_bits
from fedbounds.evidence.evaluate import Measurement, OnDemand, first_of
from fedbounds.evidence.exact.instance import Instance, Vector, array
from fedbounds.evidence.exact.population_measurement import Measured
from fedbounds.evidence.exact.random_outcomes import grouped_by_outcomes
from fedbounds.evidence.exact.stated_steps import as_number, step_sizes
from fedbounds.evidence.quantity_values import Values
from fedbounds.theory import points as at
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import weights_in_words
from fedbounds.theory.path_quantities import Delta_round, Delta_round_next, gap_round, gap_round_next, gap_sum
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope, in_scope
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

# Outcomes enumerated at most: 2^(N T) grows fast, and a larger tree is a simulation's job.
MAX_OUTCOMES = 2**15
# Long runs may double the digits of their numbers with every step: beyond this many bits they are taken in balls.
MAX_BITS = 2**13
# Points that do not move with the noise; and those of one client's path alone.
FIXED = (at.w_star, at.w_alpha, at.w_i_star, at.w_0, at.v)
OF_ONE = (at.w_i, at.w_i_next)
# Shipped functions of a path that are quadratic in the averaged models, the losses only where F is quadratic.
DISTANCES, LOSSES = (Delta_round, Delta_round_next), (gap_round, gap_round_next, gap_sum)
V = TypeVar("V")


@dataclass(frozen=True)
class ExactRun:
    """What the claims need of a run, every number a fraction, computed when it is first looked up.

    The outcomes were not all taken unless ``enumerable``. With ``bits`` the numbers are balls of so many bits.
    """

    instance: Instance
    measured: Measured = field(repr=False)
    enumerable: bool = True
    bits: int = 0
    # Of the claims that were evaluated on this run, their quantities by identity and virtual iterate.
    evaluated: dict[tuple[int, str], tuple[Claim, Values]] = field(default_factory=dict, repr=False)

    def precisely(self, compute: Callable[[], V]) -> V:
        """What is computed, in the bits of this run."""
        with in_bits(self.bits) if self.bits else nullcontext():
            return compute()

    @cached_property
    def values(self) -> Mapping[str, Fraction]:
        """The constant symbols but rho_bar, which is ``rho_sync`` or ``rho_all``."""
        return self._given(self.measured.constants)

    def constants(self, skew: str) -> Mapping[str, Fraction]:
        """Symbol name -> value, with rho_bar over synchronisation times (``sync``) or every step."""
        return self._given(self.measured.constants_in(skew), {"rho_bar"} if skew != "sync" else set())

    def _given(self, rows: Mapping[str, Any], beyond: Collection[str] = ()) -> Mapping[str, Fraction]:
        """The numbers of the one member, but those that the outcomes taken do not give."""
        few = not self.enumerable and self.instance.weighting != "fedavg"
        without = {"q"} - self.instance.selection.keys() | ({"rho_pairs", *beyond} if few else set())
        names = [name for name in rows if name not in without]
        return OnDemand({name: partial(self._number, rows, name) for name in names})

    def _number(self, rows: Mapping[str, Any], name: str) -> Fraction:
        return self.precisely(lambda: as_number(rows[name][0]))

    @cached_property
    def rho_sync(self) -> Fraction:
        """The smallest rho at the starts of rounds."""
        return self.precisely(lambda: as_number(self.measured.rho_sync[0]))

    @cached_property
    def rho_all(self) -> Fraction:
        """The smallest rho at any step."""
        return self.precisely(lambda: as_number(self.measured.rho_all[0]))

    @cached_property
    def paths(self) -> Mapping[str, Mapping[str, Vector]]:
        """``paths[virtual]`` maps ``distance_sq``, ``gap`` and ``drift`` to expectations at t = 0 ... T."""
        every = self.measured.paths.items()
        return {name: OnDemand({field: partial(self._path, name, field) for field in part}) for name, part in every}

    def _path(self, virtual: str, name: str) -> Vector:
        return self.precisely(lambda: tuple(self.measured.paths[virtual][name][0]))

    @cached_property
    def points(self) -> tuple[tuple[int, int, Fraction, Fraction], ...]:
        """(t, client, ||grad F_i||^2, e_i) at the local models visited, where outcomes were enumerated."""
        if not self.enumerable:
            return ()
        seen = self.measured
        grad_sq, excess = self.precisely(lambda: (seen.grad_sq[0], seen.excess[0]))
        return tuple(zip(seen.times.tolist(), seen.clients.tolist(), grad_sq, excess, strict=True))

    @cached_property
    def alphas(self) -> frozenset[Vector]:
        """The weights visited."""
        return frozenset(map(tuple, self.measured.alphas[:, 0]))

    @cached_property
    def ratios(self) -> frozenset[Fraction]:
        """alpha_i/p_i over the clients present, of the weights visited."""
        return frozenset(Fraction(x) for x in self.measured.ratios.flat if x >= 0)

    def place(self, reading: Reading, step: int | None = None) -> dict[str, object]:
        """The experiment on every axis of a `Coverage` that is known; given a ``step``, it alone, in its round."""
        instance, sizes = self.instance, tuple(size * self.instance.L for size in self.instance.eta)
        axes: dict[str, object] = {
            "problem": "the quadratic in fractions of this counterexample",
            "kappa": instance.L / instance.mu,
            "tau": instance.tau,
            "local_step": tuple(range(instance.tau)),
            "eta_L": sizes,
            "gradients": "stochastic" if instance.stochastic else "full",
            "participation": self.values["C"],
            "N": instance.N,
            "weights": instance.weighting,
            "weight_ratio": tuple(sorted(self.ratios)),
            "L": instance.L,
            "T": instance.total,
        }
        with contextlib.suppress(Undecided):  # a gap that is 0, or a ball around 0
            axes["rho_tilde"] = self.values["rho_tilde"]
            axes["rho_bar"] = endpoints(self.rho_sync if reading.skew == "sync" else self.rho_all)
        if step is None:
            return axes
        start = step - step % instance.tau
        seen = sizes[start : step + 1]
        axes["weights"] = tuple(weights_in_words(alpha, instance.p) for alpha in sorted(self.alphas))
        axes |= {"local_step": step - start, "eta_L": seen[0] if len(set(seen)) == 1 else seen}
        return axes

    def beyond(self, claim: Claim, reading: Reading) -> tuple[str, ...]:
        """The symbols of a claim that the outcomes taken do not give."""
        if self.enumerable:
            return ()
        bent, biased = bool(self.instance.kinks), self.instance.weighting != "fedavg"
        return needs_every_outcome(claim, reading, bent, biased)

    def computed(self, claim: Claim, reading: Reading) -> Values:
        """The values of the claim's quantities in a reading; none where they need paths that were not enumerated."""
        if not claim.computed:
            return Values()
        key = (id(claim), reading.virtual)
        if key not in self.evaluated:
            beyond = self.beyond(claim, reading)
            unknown = [symbol for symbol in claim.computed if symbol.name in beyond]
            result = self.precisely(lambda: self.measured.member(claim, reading.virtual, 0, unknown))
            result.lacking.update({symbol.name: "too many paths of chance" for symbol in unknown})
            self.evaluated[key] = (claim, result)
        return self.evaluated[key][1]

    def measurement(self, claim: Claim, reading: Reading) -> Measurement[Any]:
        """The run as a claim sees it in a reading; a place of the scope ``point`` is an entry of ``points``."""
        computed = self.computed(claim, reading)
        whole = self.measured.measurement(reading, Values())

        def times(scope: Scope) -> Sequence[int]:
            return [point[0] for point in self.points] if scope == "point" else [*map(int, whole.times(scope))]

        def field(scope: Scope, name: str) -> Sequence[Any]:
            few = scope == "point" and not self.enumerable
            return () if few else self.precisely(lambda: tuple(whole.field(scope, name)[0]))

        constants: Any = first_of(computed.constants, self.constants(reading.skew))
        return Measurement(constants, times, field, computed.fields)


class TooLong(InputError):
    """The fractions of a run have too many digits."""


def runs(instance: Instance, most: int = MAX_OUTCOMES) -> Iterator[ExactRun]:
    """The run in fractions; where these grow too long, the runs in balls of each of BITS.

    Raises InputError if there are too many outcomes, or too many digits for balls too.
    """
    too_long = reject("logistic losses and roots are taken in balls", "a run of fractions", "shorten it")
    try:
        if not (instance.widths or instance.radius):
            yield run(instance, most)
            return
    except TooLong as error:
        too_long = error
    result = False
    for bits in BITS:
        record = None
        with contextlib.suppress(Undecided, InputError):  # a weighting may have values in fractions alone
            record = run(instance, most, bits)
        if record is not None:
            result = True
            yield record
    if not result:
        raise too_long


def run(instance: Instance, most: int = MAX_OUTCOMES, bits: int = 0) -> ExactRun:
    """Run Algorithm 1 exactly: over every outcome, or beyond ``most`` of them over the few that are enough.

    In balls of so many ``bits``, unless 0. Raises InputError if there are too many outcomes, or too many digits, and
    Undecided where balls do not tell which client's loss is the largest.
    """
    bits = bits or (BITS[0] if instance.widths or instance.radius else 0)
    chance = instance.chance
    if chance.too_many(most):
        raise reject(
            "an exact run enumerates every outcome of the noise and of who takes part",
            f"{chance.count} outcomes: {instance.total} steps, {chance.selections} sets of clients a round",
            f"keep 2^(clients * steps) * sets^rounds at most {most}",
        )
    how = chance.taken(most)
    losses, w0 = replace(instance.population), array([instance.w0])  # what it caches is of these bits
    with in_bits(bits) if bits else nullcontext():
        sizes = array([step_sizes(instance)])
        run_with = array([[Ball(enclosed(size)) for size in sizes[0]]]) if bits else sizes
        server_step = None if instance.server_step == 1 else array([instance.server_step])
        steps, odds = chance.steps(losses, w0, run_with, instance.rule, how, _short, server_step)
        parts = tuple(grouped_by_outcomes(steps, odds))
        drawn = instance.draws, instance.q
        measured = Measured(losses, parts, sizes, instance.tau, steps, odds, *drawn, server_step)
    return ExactRun(instance, measured, how == "all", bits)


def _short(step: Step) -> None:
    """Raise TooLong where a global model in fractions has too many digits."""
    models = step.x[..., 0, :].flat if step.synchronised else ()
    if any(isinstance(x, Fraction) and x.denominator.bit_length() > MAX_BITS for x in models):
        what = f"an exact run has numbers of at most {MAX_BITS} bits"
        raise TooLong(str(reject(what, f"more at t = {step.t}", "shorten it")))


def needs_every_outcome(claim: Claim, reading: Reading, bent: bool = False, biased: bool = False) -> tuple[str, ...]:
    """The symbols of a claim that runs along few paths do not give; of losses that are ``bent``, no quadratics.

    ``biased`` where weights are not p.
    """
    sides = {s for side in claim.sides(reading)[:2] for s in sp.sympify(side).free_symbols}
    assumed = {name for item in claim.assumptions_in(reading) for name in item.symbols()}
    not_given = {
        q.name for q in claim.computed if q.statistic not in ("constant", "scheduled") and not _given(q, bent)
    }
    sources = in_scope(claim.scope)
    lacking = {"rho_pairs", *(("rho_bar",) if reading.skew != "sync" else ())} if biased else set()
    lacking |= {name for name, source in sources.items() if bent and source == "gap"}
    lacking |= not_given | (set(sources) if claim.scope == "point" else set())
    return tuple(sorted(lacking & (assumed | {s.name for s in sides})))


def _given(quantity: Any, bent: bool) -> bool:
    """Whether a quantity's expectation is that of a quadratic expression of points."""
    if any(quantity.on_path is shipped.on_path for shipped in (*DISTANCES, *(() if bent else LOSSES))):
        return True
    expression = quantity.expression
    return quantity.statistic == "measured" and expression is not None and degree(expression, bent) <= 2


def degree(expression: sp.Expr, bent: bool = False) -> float:
    """The degree of an expression in the local models, functions of one client's model being of degree 1."""
    if isinstance(expression, Vec):
        return int(expression not in FIXED)
    if isinstance(expression, Grad | Loss):
        inside = degree(expression.args[0], bent)
        if bent and inside:
            return 1 if expression.args[0] in OF_ONE else math.inf
        return inside * (1 if isinstance(expression, Grad) else 2)
    if isinstance(expression, Mean | Centre):
        return degree(expression.args[1], bent)
    parts = [degree(part, bent) for part in expression.args]
    if isinstance(expression, sp.Pow):
        power = expression.exp
        return 0 if not parts[0] else parts[0] * int(power) if power.is_Integer and power > 0 else math.inf
    return (sum if isinstance(expression, sp.Mul | Inner) else max)([0, *parts])
