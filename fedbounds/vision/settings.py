"""What one vision experiment is: every choice of the paper, and every choice that the paper leaves open."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fedbounds.errors import reject
from fedbounds.plugins import nearest

# What older records say of choices that there is one of now.
FIXED = {
    **{"model": "flatten", "optimiser": "sgd", "reduction": "mean", "normalisation": "unit", "steps": None},
    **{"losses": "global", "client_losses": False},
}


Precision = Literal["float32", "bfloat16"]
PRECISIONS = get_args(Precision)


@dataclass(frozen=True)
class ImageSettings:
    """One experiment. What the paper states: N = 50 clients of 200 samples on average, all present, 50 rounds of
    E = 2 local epochs, batches of 64, steps lr 0.99^r. The defaults are the reading whose FedAvg comes nearest to the
    paper's R_90. The paper prints lr = 1e-4, with which plain SGD stays near chance.

    data: mnist, fashion-mnist or digits.
    partition: stratified (the paper's IID), shards:60, shards:100, dirichlet:0.3, ...
    clients: Number of clients N.
    samples: Samples a client, on average.
    lr: Step size of the first round.
    decay: The step size of round r is lr decay^r.
    epochs: Local epochs a round, E in the experiments.
    batch: Samples of a local step.
    rounds: Communication rounds.
    seed: Seed of partitions, initial models and batches.
    target: With --stop-after: the test accuracy to reach.
    stop_after: End a run this many rounds after it first reached the target.
    precision: Precision of products.
    """

    data: str = "mnist"
    partition: str = "shards:60,unbalanced"
    clients: int = 50
    samples: int = 200
    lr: float = 0.1
    decay: float = 0.99
    epochs: int = 2
    batch: int = 64
    rounds: int = 50
    seed: int = 0
    target: float = 0.9
    stop_after: int | None = None
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name in ("clients", "samples", "epochs", "batch", "rounds"):
            if getattr(self, name) < 1:
                raise reject(f"{name} must be at least 1", str(getattr(self, name)), "give a positive whole number")
        if self.seed < 0:
            raise reject("the seed must be a whole number of at least 0", str(self.seed), "give for example 0")
        if not 0 < self.lr < math.inf:
            raise reject("the learning rate must be a positive number", str(self.lr), "give for example 1e-4")
        if not 0 < self.decay <= 1:
            raise reject("the decay must lie in (0, 1]", str(self.decay), "the paper uses 0.99")
        if not 0 < self.target <= 1:
            raise reject("the target accuracy must lie in (0, 1]", str(self.target), "the paper uses 0.9")
        if self.stop_after is not None and self.stop_after < 0:
            raise reject("stop-after must be at least 0 rounds", str(self.stop_after), "leave it out to run them all")
        if self.precision not in PRECISIONS:
            raise nearest("precision", self.precision, PRECISIONS)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


DEFAULTS = {field.name: field.default for field in dataclasses.fields(ImageSettings)}


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a record: one that is not there has its default, and one of `FIXED` is left out."""
    return DEFAULTS | {name: value for name, value in settings.items() if FIXED.get(name, ...) != value}
