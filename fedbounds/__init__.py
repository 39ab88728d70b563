"""fedbounds: is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""

from __future__ import annotations

TYPE_CHECKING = False  # true for type checkers: typing itself would take longer to load than the rest of this file
if TYPE_CHECKING:
    from fedbounds.engine.simulate import simulate as simulate
    from fedbounds.errors import DivergedError as DivergedError
    from fedbounds.errors import InputError as InputError
    from fedbounds.model.algorithm import Algorithm as Algorithm
    from fedbounds.model.experiment import Experiment as Experiment
    from fedbounds.model.problem import Problem as Problem
    from fedbounds.model.trajectory import Trajectory as Trajectory
    from fedbounds.model.weighting import Weighting as Weighting
    from fedbounds.referee.theorems import referee as referee
    from fedbounds.referee.theorems import refute as refute
    from fedbounds.referee.trial import Trial as Trial
    from fedbounds.study.bounds import bounds as bounds
    from fedbounds.study.compare import compare as compare
    from fedbounds.study.ledger import ledger as ledger
    from fedbounds.study.proofs_and_certificates import certify as certify
    from fedbounds.study.proofs_and_certificates import derive as derive
    from fedbounds.study.result import Result as Result
    from fedbounds.study.run_study import check as check
    from fedbounds.study.sweep import sweep as sweep
    from fedbounds.study.worst_case import worst as worst
    from fedbounds.theory.assumption import Assumption as Assumption
    from fedbounds.theory.claim import Claim as Claim
    from fedbounds.theory.quantity import Quantity as Quantity
    from fedbounds.theory.verdict import Evidence as Evidence
    from fedbounds.theory.verdict import Status as Status
    from fedbounds.theory.verdict import Verdict as Verdict

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
    "certify": "study.proofs_and_certificates",
    "check": "study.run_study",
    "compare": "study.compare",
    "derive": "study.proofs_and_certificates",
    "ledger": "study.ledger",
    "referee": "referee.theorems",
    "refute": "referee.theorems",
    "simulate": "engine.simulate",
    "sweep": "study.sweep",
    "worst": "study.worst_case",
}

__all__ = list(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    from importlib import import_module as import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
