"""The shipped counterexamples as regimes, in which the power of a run to tell a mutant is measured."""

from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import weighting_named
from fedbounds.referee.regimes import Regime, Table, clients, experiment
from fedbounds.weightings.fixed import Fixed

# A shipped run of more rounds than this is recorded about this many times.
LONG = 10


def of_instance(name: str, instance: Instance) -> Regime | None:
    """A shipped exact instance as a regime; None where an experiment has no such noise, weights, floor or C."""
    noisy = any(instance.noise) or any(instance.floor) or instance.chance.selections > 1
    if not instance.plain or noisy or len(set(instance.weights)) > 1:
        return None
    fixed = instance.weighting == "fixed"
    weighting = Fixed(tuple(map(float, instance.weights[0]))) if fixed else weighting_named(instance.weighting)

    def build() -> Experiment:
        curvatures, minima = (
            [list(map(float, row)) for row in rows] for rows in (instance.curvatures, instance.minima)
        )
        problem = clients(curvatures, minima, list(map(float, instance.p)))
        w0, steps = list(map(float, instance.w0)), Table(tuple(map(float, instance.eta)))
        tau, rounds = instance.tau, instance.rounds
        return experiment(problem, w0, weighting, steps, tau, rounds, stride=_stride(rounds))

    return Regime(f"shipped {name}", build)


def _stride(rounds: int) -> int:
    """Rounds between records: few records of a long run, the last round among them."""
    return next(step for step in range(max(1, rounds // LONG), rounds + 1) if rounds % step == 0)


def shipped_regimes() -> tuple[Regime, ...]:
    """The counterexamples shipped, each as a regime where an experiment can be one."""
    known = ((item.name, item.document.get("instance")) for item in map(read, all_files()))
    regimes = (of_instance(name, from_json(instance)) for name, instance in known if instance is not None)
    return tuple(regime for regime in regimes if regime is not None)
