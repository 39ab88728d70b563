"""fedbounds: is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
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


# Old module -> where its names live now; both work for one version. What lay in an old package moved along with it.
_MOVED = {
    "adversary": "referee.search",
    "algebra": "evidence.symbolic.algebra",
    "assumptions": "theory.assumptions",
    "bands": "evidence.empirical.bands",
    "bound": "study.bound",
    "certificate": "evidence.sdp.certificate",
    "claim": "theory.assumption theory.claim",
    "cli_options": "cli.options",
    "commands": "cli.commands",
    "console": "show.terminal",
    "constants": "evidence.constants evidence.evaluate evidence.run",
    "derivation": "evidence.symbolic.derivation",
    "evidence.counterexamples": "evidence.exact.counterexamples",
    "evidence.exact": "evidence.exact.compare",
    "evidence.sdp": "evidence.sdp.decide",
    "evidence.symbolic": "evidence.symbolic.library",
    "explain": "show.explain",
    "floor": "evidence.empirical.floor",
    "ledger": "show.summary show.report.templates show.numbers",
    "mutants": "referee.mutants",
    "pareto": "study.pareto",
    "plots": "show.plots",
    "power": "referee.power",
    "problem": "model.problem",
    "problems.data": "problems.data.sources problems.data.dataset problems.data.idx",
    "problems.partition": "problems.data.partition",
    "problems.synthetic": "problems.data.synthetic",
    "quantity": "theory.quantity",
    "redundancy": "referee.redundancy",
    "refute": "referee.search.refute",
    "regimes": "referee.regimes",
    "registry": "plugins",
    "report": "show.report",
    "schedule": "model.schedule",
    "sensitivity": "referee.sensitivity",
    "settings": "study.settings",
    "simulate": "model.experiment model.trajectory engine.simulate",
    "skew": "evidence.run",
    "store": "study.store",
    "study": "study.result study.check",
    "survey": "study.ledger",
    "sweep": "study.sweep.run study.sweep.grid study.sweep.table",
    "symbols": "theory.symbols",
    "verdict": "theory.verdict",
    "weighting": "model.weighting",
}
# Packages that bear the name of an old module, and answer for it besides.
_STAYED = {"evidence.exact", "evidence.sdp", "evidence.symbolic", "problems.data", "study"}


def _old_names(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of what was a module: its old names, found where they live now, with a warning."""
    places = _MOVED[package.removeprefix(f"{__name__}.")].split()

    def __getattr__(name: str) -> Any:
        # A part of the package of that name comes first: `from package import part` asks here before it imports.
        own = package.removeprefix(f"{__name__}.") in _STAYED and importlib.util.find_spec(f"{package}.{name}")
        for place in () if own or name.startswith("__") else places:
            found = getattr(importlib.import_module(f"{__name__}.{place}"), name, None)
            if found is not None:
                _warn(f"{package}.{name}", f"{__name__}.{place}.{name}", 3)
                return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__


def _warn(old: str, new: str, level: int) -> None:
    warnings.warn(f"{old} is now {new}; the old name goes with the next version", DeprecationWarning, level)


class _OldNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of ``_MOVED`` that have no successor of the same name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, old = fullname.partition(".")
        head = old.partition(".")[0]
        if root == __name__ and old in _STAYED:
            return self._answering(fullname, path)
        if root != __name__ or not (old in _MOVED or (head in _MOVED and head not in _STAYED)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def _answering(self, fullname: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
        """The package itself, which from then on answers for the names of the old module too."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                module.__getattr__ = _old_names(fullname)  # type: ignore[method-assign]

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """The module itself where it has one new home, so that both names are one object."""
        _, _, old = module.__name__.partition(".")
        head, _, rest = old.partition(".")
        new = _MOVED[old] if old in _MOVED else f"{_MOVED[head]}.{rest}"
        if " " in new:
            module.__getattr__ = _old_names(module.__name__)  # type: ignore[method-assign]
            return
        _warn(module.__name__, f"{__name__}.{new}", 3)
        sys.modules[module.__name__] = importlib.import_module(f"{__name__}.{new}")


sys.meta_path.insert(0, _OldNames())  # before the finder of files, which would load a moved package's parts again
