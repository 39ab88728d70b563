"""Twenty true one-step theorems of a stranger, as LaTeX: those that are proved in seconds stay proved."""

from pathlib import Path

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.latex import reader
from fedbounds.theory.reading import READINGS

FILE = Path(__file__).with_name("one_step.tex")
# Proved too, in more seconds: pl, contraction, one-step-fedavg.
QUICK = (
    *("nesterov", "descent", "variance", "averaged-gradients", "gamma-dissimilarity", "expected-smoothness"),
    *("cocoercive", "drift-bounded-gradients", "descent-noise", "perturbed-convexity", "one-step-local-sgd"),
)


@pytest.fixture(scope="module")
def theorems():
    return {item.key: item for item in reader.claims_in_order(FILE) if not isinstance(item, InputError)}


def test_all_are_read(theorems):
    assert len(theorems) == 20


@pytest.mark.parametrize("name", QUICK)
def test_it_is_proved(theorems, name):
    assert automatic.examine(theorems[f"true:{name}"], READINGS["plain"]) is not None
