"""An exact instance as a regime: a run of the counterexample itself."""

from fedbounds.evidence.exact.instance import Instance
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import weighting_named
from fedbounds.referee.regimes import Regime, Table, experiment, quadratics
from fedbounds.weightings.fixed import Fixed

# A run of more rounds than this is recorded about this many times.
LONG = 10


def of_instance(name: str, instance: Instance) -> Regime | None:
    """An exact instance as a regime; None where an experiment has no such noise, weights, floor or C."""
    noisy = any(instance.noise) or any(instance.floor) or instance.chance.selections > 1
    if not instance.plain or noisy or len(set(instance.weights)) > 1:
        return None
    fixed = instance.weighting == "fixed"
    weighting = Fixed(tuple(map(float, instance.weights[0]))) if fixed else weighting_named(instance.weighting)

    def build() -> Experiment:
        problem = quadratics(instance.curvatures, instance.minima, instance.p)
        steps, tau, rounds = Table(tuple(map(float, instance.eta))), instance.tau, instance.rounds
        return experiment(problem, instance.w0, weighting, steps, tau, rounds, stride=_stride(rounds))

    return Regime(name, build)


def _stride(rounds: int) -> int:
    """Rounds between records: few records of a long run, the last round among them."""
    return next(step for step in range(max(1, rounds // LONG), rounds + 1) if rounds % step == 0)
