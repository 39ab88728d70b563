"""What one vision experiment is: every choice of the paper, and every choice that the paper leaves open."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from fedbounds.errors import reject
from fedbounds.plugins import nearest

# Ends the name of a weighting that saw local losses, in records and tables.
LOCAL = "@local"


def _choice(default: Any, text: str = "", *kinds: str) -> Any:
    """A field with its help, and the words that it may be."""
    return dataclasses.field(default=default, metadata={"help": text, "kinds": kinds})


@dataclass(frozen=True)
class ImageSettings:
    """One experiment. What the paper states: N = 50 clients of 200 samples on average, all present, 50 rounds of
    E = 2 local epochs, batches of 64, steps lr 0.99^r. It leaves open the model, the optimiser, the reduction and the
    normalisation. With local ``losses`` weights are made from F_i(w_r^i), each client's own model after its local
    steps, as the paper's words "the client's local model with the worst performance" can be read, in place of its
    formulas' F_i(w_r); then every client trains whatever its weight.

    The defaults are the reading whose FedAvg comes nearest to the paper's R_90 (validate/vision/search.py). The
    paper prints lr = 1e-4, with which plain SGD on mean losses stays near chance on pixels in [0, 1].
    """

    data: str = _choice("mnist", "mnist, fashion-mnist or digits.")
    partition: str = _choice(
        "shards:60,unbalanced",
        "stratified (the paper's IID), shards:60, shards:100, hand:FILE.json, dirichlet:0.3, ...",
    )
    clients: int = _choice(50, "Number of clients N.")
    samples: int = _choice(200, "Samples a client, on average.")
    model: str = _choice(
        "flatten", "The 1600 units are the flattened maps, or a hidden layer behind them.", "flatten", "hidden"
    )
    optimiser: str = _choice("sgd", "Of the local steps; its state is fresh each round.", "sgd", "momentum", "adam")
    reduction: str = _choice("mean", "A step follows the mean or the sum of a batch's losses.", "mean", "sum")
    lr: float = _choice(0.1, "Step size of the first round.")
    decay: float = _choice(0.99, "The step size of round r is lr decay^r.")
    epochs: int = _choice(2, "Local epochs a round, E in the experiments.")
    steps: int | None = _choice(None, "Local steps a round, instead of epochs.")
    batch: int = _choice(64, "Samples of a local step.")
    rounds: int = _choice(50, "Communication rounds.")
    normalisation: str = _choice(
        "unit", "Pixels in [0, 1], standardised, or raw: 0 to 255.", "unit", "standard", "raw"
    )
    seed: int = _choice(0, "Seed of partitions, initial models and batches.")
    target: float = _choice(0.9, "With --stop-after: the test accuracy to reach.")
    stop_after: int | None = _choice(None, "End a run this many rounds after it first reached the target.")
    precision: str = _choice("float32", "", "float32", "bfloat16")
    client_losses: bool = False
    losses: str = _choice(
        "global", "Weights from F_i(w_r), or from F_i of what each client sends back.", "global", "local"
    )

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
        for name, known in KINDS.items():
            if getattr(self, name) not in known:
                raise nearest(name, getattr(self, name), known)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


CHOICES = dataclasses.fields(ImageSettings)
DEFAULTS = {field.name: field.default for field in CHOICES}
KINDS: dict[str, tuple[str, ...]] = {
    field.name: field.metadata["kinds"] for field in CHOICES if field.metadata.get("kinds")
}


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a record; one that came after it was written has its default, which is what was run then."""
    return {**DEFAULTS, **settings}
