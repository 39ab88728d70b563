"""FedSoftMax: alpha_t^i proportional to p_i exp((F_i(w_t) - F_i*) / T)."""

from dataclasses import dataclass

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin, not_in_fractions, number


@dataclass(frozen=True)
class FedSoftMax(Weighting):
    """alpha_i = p_i exp(e_i/T) / sum_j p_j exp(e_j/T), T the temperature.

    T -> infinity gives p, T -> 0 gives p restricted to the argmax; both limits are attained exactly in
    floating point, and no temperature overflows (exponents are shifted by the largest gap).
    """

    temperature: float

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise reject("the temperature of fedsoftmax must be positive", self.temperature, "use a value above 0")

    @property
    def name(self) -> str:
        return f"fedsoftmax:{self.temperature:g}"

    def to_text(self) -> str:
        return f"fedsoftmax:{number(self.temperature)}"

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        if excess.dtype == object:
            raise not_in_fractions(self.name, "exp")
        present = np.where(p > 0, excess, -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = (present - present.max(axis=-1, keepdims=True)) / self.temperature
        # -inf/inf is an absent client at infinite temperature; 0/0 cannot occur as the temperature is positive.
        factor = np.where(np.isnan(exponent), 0.0, np.exp(np.where(np.isnan(exponent), 0.0, exponent)))
        weighted = p * factor
        # Dividing by the same sum that p has makes the limit T -> infinity equal to p to the last bit.
        scale = weighted.sum(axis=-1, keepdims=True) / np.broadcast_to(p, weighted.shape).sum(axis=-1, keepdims=True)
        return weighted / scale


def build(argument: str | None) -> FedSoftMax:
    """``fedsoftmax`` (T = 1) or ``fedsoftmax:T``."""
    try:
        return FedSoftMax(float(argument or "1"))
    except ValueError:
        what = "the temperature of fedsoftmax must be a positive number"
        raise reject(what, repr(argument), "write fedsoftmax:0.5") from None


WEIGHTING = WeightingPlugin(
    "fedsoftmax", build, "fedsoftmax:T", "p_i exp((F_i - F_i*)/T), renormalised", example="fedsoftmax:0.7"
)
