"""The shipped counterexamples as regimes, in which the power of a run to tell a mutant is measured."""

from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.model.experiment import Experiment
from fedbounds.model.weighting import Weighting
from fedbounds.referee.regimes import Regime, Table, experiment, plane
from fedbounds.weightings.fedavg import FedAvg
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fixed import Fixed

# A shipped run of more rounds than this is recorded about this many times.
LONG = 10


def of_instance(name: str, instance: Instance) -> Regime | None:
    """A shipped exact instance as a regime; None where an experiment has no such noise, weights, floor or C."""
    constant = len(set(instance.weights)) <= 1
    if (
        not instance.plain
        or any(instance.noise)
        or any(instance.floor)
        or instance.chance.selections > 1
        or not constant
    ):
        return None
    weighting: Weighting = FedAvg()
    if instance.weighting == "fixed":
        weighting = Fixed(tuple(float(a) for a in instance.weights[0]))
    elif instance.weighting != "fedavg":
        weighting = FedMax(int(instance.weighting.partition(":")[2] or 1))

    def build() -> Experiment:
        rows = [[float(x) for x in row] for row in instance.curvatures]
        problem = plane(rows, [[float(x) for x in row] for row in instance.minima], [float(x) for x in instance.p])
        return experiment(
            problem,
            [float(x) for x in instance.w0],
            weighting,
            Table(tuple(float(x) for x in instance.eta)),
            instance.tau,
            instance.rounds,
            stride=_stride(instance.rounds),
        )

    return Regime(f"shipped {name}", build)


def _stride(rounds: int) -> int:
    """Rounds between records: few records of a long run, the last round among them."""
    return next(step for step in range(max(1, rounds // LONG), rounds + 1) if rounds % step == 0)


def shipped_regimes() -> tuple[Regime, ...]:
    """The counterexamples shipped, each as a regime where an experiment can be one."""
    result = []
    for path in all_files():
        example = read(path)
        if "instance" in example.document:
            instance = from_json(example.document["instance"])
            result.append(of_instance(example.name, instance))
    return tuple(regime for regime in result if regime is not None)
