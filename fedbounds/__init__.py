"""fedbounds: is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbounds.engine.simulate import simulate
    from fedbounds.errors import DivergedError, InputError
    from fedbounds.model.algorithm import Algorithm
    from fedbounds.model.experiment import Experiment
    from fedbounds.model.problem import Problem
    from fedbounds.model.trajectory import Trajectory
    from fedbounds.model.weighting import Weighting
    from fedbounds.referee.counterexamples import refute
    from fedbounds.referee.theorems import referee
    from fedbounds.referee.trial import Trial
    from fedbounds.study.bounds import bounds
    from fedbounds.study.certify import certify
    from fedbounds.study.check import check
    from fedbounds.study.compare import compare
    from fedbounds.study.derive import derive
    from fedbounds.study.ledger import ledger
    from fedbounds.study.result import Result
    from fedbounds.study.sweep.run import sweep
    from fedbounds.study.worst import worst
    from fedbounds.theory.assumption import Assumption
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.quantity import Quantity
    from fedbounds.theory.verdict import Evidence, Status, Verdict

# Name -> the module it is loaded from on first use, so that importing the package stays quick.
_HOME = {
    "Algorithm": "model.algorithm",
    "Assumption": "theory.assumption",
    "Claim": "theory.claim",
    "DivergedError": "errors",
    "Evidence": "theory.verdict",
    "Experiment": "model.experiment",
    "InputError": "errors",
    "Problem": "model.problem",
    "Quantity": "theory.quantity",
    "Result": "study.result",
    "Status": "theory.verdict",
    "Trajectory": "model.trajectory",
    "Trial": "referee.trial",
    "Verdict": "theory.verdict",
    "Weighting": "model.weighting",
    "bounds": "study.bounds",
    "certify": "study.certify",
    "check": "study.check",
    "compare": "study.compare",
    "derive": "study.derive",
    "ledger": "study.ledger",
    "referee": "referee.theorems",
    "refute": "referee.counterexamples",
    "simulate": "engine.simulate",
    "sweep": "study.sweep.run",
    "worst": "study.worst",
}

__all__ = [
    "Algorithm",
    "Assumption",
    "Claim",
    "DivergedError",
    "Evidence",
    "Experiment",
    "InputError",
    "Problem",
    "Quantity",
    "Result",
    "Status",
    "Trajectory",
    "Trial",
    "Verdict",
    "Weighting",
    "bounds",
    "certify",
    "check",
    "compare",
    "derive",
    "ledger",
    "referee",
    "refute",
    "simulate",
    "sweep",
    "worst",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
