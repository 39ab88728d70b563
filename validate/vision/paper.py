"""The experiments of the paper as data: its tables and claims, each with its place in the source.

Places are lines of the LaTeX source of "Tackling Computational Heterogeneity in FL: A Few Theoretical Insights".
The paper does not say how its intervals for R_90 were made, nor from how many runs. Their ends answer both:
with the divisor n, mean -/+ 1.96 s/sqrt(n) of n whole numbers gives every one of the six rows to all printed
digits for n = 100 (TNIID), 38 (NIID) and 18 (IID), that is, n mean and n (s^2 + mean^2) are then whole. These
are the smallest such counts, inferred here and not printed there; for IID some multiples of 18 would do as well.
"""

from typing import NamedTuple

# The accuracy that R_90 waits for (line 320).
LEVEL = 0.9


class Interval(NamedTuple):
    """A row of the R_90 table: the ends as printed."""

    lower: float
    upper: float

    @property
    def mean(self) -> float:
        return (self.lower + self.upper) / 2


# Table "Results concerning convergence speed", lines 372-386.
R_90 = {
    ("TNIID", "FedAvg"): Interval(14.877887807248147, 15.842112192751852),
    ("TNIID", "FedSoftMax"): Interval(7.855914695373678, 8.704085304626322),
    ("NIID", "FedAvg"): Interval(12.726276322973177, 13.957934203342614),
    ("NIID", "FedSoftMax"): Interval(9.996249956446318, 11.31953951723789),
    ("IID", "FedAvg"): Interval(21.527442685457743, 24.58366842565337),
    ("IID", "FedSoftMax"): Interval(21.607110478485172, 24.504000632625942),
}

# The claims of the experiments: a key, what it says in neutral words, and the lines where it is made.
STATEMENTS = (
    ("final", "FedSoftMax and FedAvg end at nearly the same accuracy in every framework", "347"),
    ("faster", "FedSoftMax reaches 90% in fewer rounds than FedAvg when the data are not IID", "347-349"),
    ("same-iid", "with IID data the two need about as many rounds", "382-383"),
    ("more-skew", "the fewer rounds of FedSoftMax are more, the farther the data are from IID", "349"),
    ("temperature", "for 1/T from 5 to 30, a higher 1/T reaches 90% in fewer rounds", "352"),
    ("fedmax-final", "FedMax(k) is fast at first and ends at a poorer accuracy", "399"),
)


def weighting(name: str) -> str:
    """The paper's name of a weighting that its tables have: "FedAvg" or "FedSoftMax" (of unstated T), or nothing."""
    return {"fedavg": "FedAvg", "fedsoftmax": "FedSoftMax"}.get(name.partition(":")[0], "")
