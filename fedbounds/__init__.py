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
    from fedbounds.referee.counterexamples import refute
    from fedbounds.referee.theorems import referee
    from fedbounds.referee.trial import Trial, try_claim
    from fedbounds.report.html.study_page import report
    from fedbounds.report.outputs import plot, to_html, to_latex
    from fedbounds.study.certify import certify, tight
    from fedbounds.study.check import check
    from fedbounds.study.derive import derive
    from fedbounds.study.ledger import ledger
    from fedbounds.study.resolve import problem_from
    from fedbounds.study.result import Result
    from fedbounds.study.store import save
    from fedbounds.study.sweep.grid import settings_from
    from fedbounds.study.sweep.run import sweep
    from fedbounds.study.tabular import Findings
    from fedbounds.theory.assumption import Assumption
    from fedbounds.theory.claim import Claim, Kind, Repair, statement
    from fedbounds.theory.verdict import Evidence, Status, Verdict

# Loaded on first use, so that importing the package (and asking for help) stays quick.
_HOME = {
    name: home
    for home, names in {
        "referee.counterexamples": "refute",
        "study.certify": "certify tight",
        "study.derive": "derive",
        "study.ledger": "ledger",
        "engine.simulate": "simulate",
        "errors": "DivergedError InputError",
        "model.experiment": "Experiment",
        "model.problem": "Optimum Problem",
        "model.trajectory": "Trajectory",
        "referee.theorems": "referee",
        "referee.trial": "Trial try_claim",
        "report.html.study_page": "report",
        "report.outputs": "plot to_html to_latex",
        "study.resolve": "problem_from",
        "study.check": "check",
        "study.result": "Result",
        "study.store": "save",
        "study.sweep.grid": "settings_from",
        "study.sweep.run": "sweep",
        "study.tabular": "Findings",
        "theory.assumption": "Assumption",
        "theory.claim": "Claim Kind Repair statement",
        "theory.verdict": "Evidence Status Verdict",
    }.items()
    for name in names.split()
}

__all__ = [
    "Assumption",
    "Claim",
    "DivergedError",
    "Evidence",
    "Experiment",
    "Findings",
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
    "certify",
    "check",
    "derive",
    "ledger",
    "plot",
    "problem_from",
    "referee",
    "refute",
    "report",
    "save",
    "settings_from",
    "simulate",
    "statement",
    "sweep",
    "tight",
    "to_html",
    "to_latex",
    "try_claim",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
