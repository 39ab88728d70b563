"""What one vision experiment is: every choice of the paper, and every choice that the paper leaves open."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fedbounds.errors import reject
from fedbounds.plugins import nearest

# Ends the name of a weighting that saw local losses, in records and tables.
LOCAL = "@local"


@dataclass(frozen=True)
class ImageSettings:
    """One experiment. What the paper states: N = 50 clients of 200 samples on average, all present, 50 rounds of
    E = 2 local epochs, batches of 64, steps lr 0.99^r. It leaves open the model, the optimiser, the reduction and the
    normalisation. With local ``losses`` weights are made from F_i(w_r^i), each client's own model after its local
    steps, in place of F_i(w_r); then every client trains whatever its weight. The defaults are the reading whose
    FedAvg comes nearest to the paper's R_90. The paper prints lr = 1e-4, with which plain SGD stays near chance.

    data: mnist, fashion-mnist or digits.
    partition: stratified (the paper's IID), shards:60, shards:100, hand:FILE.json, dirichlet:0.3, ...
    clients: Number of clients N.
    samples: Samples a client, on average.
    model: The 1600 units are the flattened maps, or a hidden layer behind them.
    optimiser: Of the local steps; its state is fresh each round.
    reduction: A step follows the mean or the sum of a batch's losses.
    lr: Step size of the first round.
    decay: The step size of round r is lr decay^r.
    epochs: Local epochs a round, E in the experiments.
    steps: Local steps a round, instead of epochs.
    batch: Samples of a local step.
    rounds: Communication rounds.
    normalisation: Pixels in [0, 1], standardised, or raw: 0 to 255.
    seed: Seed of partitions, initial models and batches.
    target: With --stop-after: the test accuracy to reach.
    stop_after: End a run this many rounds after it first reached the target.
    precision: Precision of products.
    client_losses: Record F_i(w_r) also where the weighting does not need it.
    losses: Weights from F_i(w_r), or from F_i of what each client sends back.
    """

    data: str = "mnist"
    partition: str = "shards:60,unbalanced"
    clients: int = 50
    samples: int = 200
    model: Literal["flatten", "hidden"] = "flatten"
    optimiser: Literal["sgd", "momentum", "adam"] = "sgd"
    reduction: Literal["mean", "sum"] = "mean"
    lr: float = 0.1
    decay: float = 0.99
    epochs: int = 2
    steps: int | None = None
    batch: int = 64
    rounds: int = 50
    normalisation: Literal["unit", "standard", "raw"] = "unit"
    seed: int = 0
    target: float = 0.9
    stop_after: int | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    client_losses: bool = False
    losses: Literal["global", "local"] = "global"

    def __post_init__(self) -> None:
        for name in ("clients", "samples", "epochs", "steps", "batch", "rounds"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise reject(f"{name} must be at least 1", str(value), "give a positive whole number")
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
        for name, choices in KINDS.items():
            if getattr(self, name) not in choices:
                raise nearest(name, getattr(self, name), choices)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


DEFAULTS = {field.name: field.default for field in dataclasses.fields(ImageSettings)}
KINDS: dict[str, tuple[str, ...]] = {
    name: get_args(kind) for name, kind in get_type_hints(ImageSettings).items() if get_origin(kind) is Literal
}


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a record; one that came after it was written has its default, which is what was run then."""
    return {**DEFAULTS, **settings}
