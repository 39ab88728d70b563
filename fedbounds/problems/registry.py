"""The problems a study may name: one module each, found by its attribute ``PROBLEM``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fedbounds.model.problem import Problem
from fedbounds.plugins import nearest, plugged

if TYPE_CHECKING:
    from fedbounds.problems.data.synthetic import QuadraticIngredients

FromClients = Callable[[Sequence[NDArray], Sequence[NDArray], float, Any], Problem]  # the last is p (N,), or None


@dataclass(frozen=True)
class ProblemPlugin:
    """One entry of the registry; ``from_clients(features, targets, regularisation, p)`` builds it from data.

    ``from_clients`` is None for a problem that is not built from client datasets; ``from_quadratics`` builds such
    a one from generated curvatures and minima (the quadratic problem where it is None too).
    """

    key: str
    summary: str
    from_clients: FromClients | None = None
    from_quadratics: Callable[[QuadraticIngredients], Problem] | None = None


def problem_plugins(extra: Iterable[ModuleType] = ()) -> dict[str, ProblemPlugin]:
    """Every registered problem by key, the package's own first, those of ``extra`` modules last.

    >>> sorted(problem_plugins())
    ['least-squares', 'logistic', 'quadratic']
    """
    return plugged("fedbounds.problems", "PROBLEM", ProblemPlugin, extra)


def problem_plugin(key: str, extra: Iterable[ModuleType] = ()) -> ProblemPlugin:
    """The problem registered as ``key``, else an input error with the nearest known name.

    >>> problem_plugin("quadratic").key
    'quadratic'
    """
    plugins = problem_plugins(extra)
    if key not in plugins:
        raise nearest("problem", key, plugins)
    return plugins[key]
