"""Tests of a lemma of one's own on random federated problems, of plug-ins, and of implementations of algorithms.

`check_problem` and `check_weighting` try what a problem or a weighting of one's own states about itself, as a study
does before it starts.
`conforms` tells whether a round of an implementation of one's own is the algorithm that it is meant to be.
"""

from fedbounds.engine.contracts.problem import check_problem
from fedbounds.engine.contracts.weighting import check_weighting
from fedbounds.testing.round_conformance import Conformance, conforms
from fedbounds.testing.small_rounds import Task
from fedbounds.testing.strategies import (
    assert_claim,
    problems,
    property_test,
    runs,
    verdict_on,
)

__all__ = [
    "Conformance",
    "Task",
    "assert_claim",
    "check_problem",
    "check_weighting",
    "conforms",
    "problems",
    "property_test",
    "runs",
    "verdict_on",
]
