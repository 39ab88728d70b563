"""fedbounds: is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbounds.engine.simulate import simulate
    from fedbounds.errors import DivergedError, InputError
    from fedbounds.model.experiment import Experiment
    from fedbounds.model.problem import Optimum, Problem
    from fedbounds.model.trajectory import Trajectory
    from fedbounds.referee.trial import Trial, try_claim
    from fedbounds.show.report.templates import to_html
    from fedbounds.study.check import check
    from fedbounds.study.result import Result
    from fedbounds.study.store import save
    from fedbounds.theory.assumption import Assumption
    from fedbounds.theory.claim import Claim, Kind, Repair, statement
    from fedbounds.theory.verdict import Evidence, Status, Verdict

# Loaded on first use, so that importing the package (and asking for help) stays quick.
_HOME = {
    "Assumption": "theory.assumption",
    "Claim": "theory.claim",
    "Kind": "theory.claim",
    "Repair": "theory.claim",
    "statement": "theory.claim",
    "DivergedError": "errors",
    "InputError": "errors",
    "Optimum": "model.problem",
    "Problem": "model.problem",
    "Experiment": "model.experiment",
    "Trajectory": "model.trajectory",
    "simulate": "engine.simulate",
    "save": "study.store",
    "Result": "study.result",
    "check": "study.check",
    "to_html": "show.report.templates",
    "Trial": "referee.trial",
    "try_claim": "referee.trial",
    "Evidence": "theory.verdict",
    "Status": "theory.verdict",
    "Verdict": "theory.verdict",
}

__all__ = [
    "Assumption",
    "Claim",
    "DivergedError",
    "Evidence",
    "Experiment",
    "InputError",
    "Kind",
    "Optimum",
    "Problem",
    "Repair",
    "Result",
    "Status",
    "Trajectory",
    "Trial",
    "Verdict",
    "check",
    "save",
    "simulate",
    "statement",
    "to_html",
    "try_claim",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
