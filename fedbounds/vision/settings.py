"""What one vision experiment is: every choice of the paper, and every choice that the paper leaves open."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from fedbounds.errors import reject
from fedbounds.plugins import nearest

# ``flatten``: the 1600 units are the flattened maps, 64 channels of 5 x 5, which feed the output layer directly.
# ``hidden``: a fully connected layer of 1600 units with ReLU stands between the flattened maps and the output.
MODELS = ("flatten", "hidden")
# Setting -> its values. ``losses``: which ones weights see, F_i(w_r) of the model that is sent out, or F_i(w_r^i) of
# what each client sends back. ``reduction``: a step follows the mean or the sum of a batch's losses.
KINDS: dict[str, tuple[str, ...]] = {
    "model": MODELS,
    "optimiser": ("sgd", "momentum", "adam"),
    "reduction": ("mean", "sum"),
    "normalisation": ("unit", "standard", "raw"),
    "precision": ("float32", "bfloat16"),
    "losses": ("global", "local"),
}
# Ends the name of a weighting that saw local losses, in records and tables.
LOCAL = "@local"


@dataclass(frozen=True)
class ImageSettings:
    """One experiment. What the paper states: N = 50 clients of 200 samples on average, all present, 50 rounds of
    E = 2 local epochs, batches of 64, steps lr 0.99^r. What it leaves open: ``model`` (flatten or hidden),
    ``optimiser`` (sgd, momentum 0.9 or adam, with a fresh state each round), ``reduction`` (mean or sum of a batch's
    losses) and ``normalisation`` (unit: pixels in [0, 1]; standard: then mean 0, standard deviation 1 over the
    training images; raw: 0 to 255 as stored). ``steps``: local steps a round instead of epochs.
    ``stop_after``: end a run that many rounds after the test accuracy first reached ``target``. ``losses``: weights
    are made from F_i(w_r), as the paper's formulas say, or (local) from F_i(w_r^i), each client's own model after
    its local steps, as its words "the client's local model with the worst performance" can be read; then every
    client trains whatever its weight.

    The defaults are the reading whose FedAvg comes nearest to the paper's R_90 (validate/vision/search.py). The
    paper prints lr = 1e-4, with which plain SGD on mean losses stays near chance on pixels in [0, 1].
    """

    data: str = "mnist"
    partition: str = "shards:60,unbalanced"
    clients: int = 50
    samples: int = 200
    model: str = "flatten"
    optimiser: str = "sgd"
    reduction: str = "mean"
    lr: float = 0.1
    decay: float = 0.99
    epochs: int = 2
    steps: int | None = None
    batch: int = 64
    rounds: int = 50
    normalisation: str = "unit"
    seed: int = 0
    target: float = 0.9
    stop_after: int | None = None
    precision: str = "float32"
    client_losses: bool = False
    losses: str = "global"

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
        """Every field, for a record."""
        return dataclasses.asdict(self)


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a record; one that came after it was written has its default, which is what was run then."""
    return {**DEFAULTS, **settings}


DEFAULTS = {field.name: field.default for field in dataclasses.fields(ImageSettings)}
