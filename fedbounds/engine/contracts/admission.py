"""A problem, weighting or compiled kernel from outside the package is tried before it is run, each once."""

import numpy as np

from fedbounds.engine.contracts.battery import Probe, examine, worst
from fedbounds.engine.contracts.problem import check_problem
from fedbounds.engine.contracts.weighting import check_weighting
from fedbounds.engine.numpy_engine import NumpyEngine
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem, kernel_arrays
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.weighting import Rule, Weighting
from fedbounds.plugins import foreign

# Two orders of additions agree to about 1e-13 of the largest term; what a sum of such terms keeps is a little less.
AGREEMENT = 1e-9
ROUNDING = 1e-12


class _Admitted(list[object]):
    """What has been tried on a problem, the problem itself first; a pickle of the problem does not carry it."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Admitted, ()


def admitted(problem: Problem, weighting: Weighting | Rule | None = None) -> Problem:
    """The problem; where a class of it, or of the weighting, is not the package's, that one is tried once.

    InputError names the point, or the gaps, where it fails.
    """
    seen = vars(problem).setdefault("_admitted", _Admitted())
    for plugin in (problem, weighting):
        if plugin is None or not foreign(plugin, "fedbounds") or any(plugin is other for other in seen):
            continue
        if plugin is problem:
            check_problem(problem)
            examine(f"problem {problem.kind}", {"compiled kernels": check_kernels}, problem)
        else:
            check_weighting(plugin, problem)  # type: ignore[arg-type]
        seen.append(plugin)
    return problem


def check_kernels(problem: Problem) -> None:
    """The compiled kernels compute what the problem's methods do: gaps, gradients, variances and steps."""
    data = kernel_arrays(problem)
    if data is None:
        return
    from fedbounds.engine.kernels.select import compiled_engine

    smallest = int(problem.sizes.min()) if problem.sampling == "indices" else 2
    x, remedy = Probe(problem).x, "mend kernel_data(), or leave it out"
    for batch, replacement in ((None, True), (2, True), (min(smallest, 2), False)):
        step = ConstantStep(1 / problem.L)
        experiment = Experiment(problem, lambda p, e, r, s: p, step, 1, 1, len(x), batch, replacement)
        compiled, plain = (
            _measured(engine, x) for engine in (compiled_engine(experiment, data), NumpyEngine(experiment))
        )
        for name, wanted in plain.items():
            off = np.abs(compiled[name] - wanted) - AGREEMENT * np.abs(wanted) - ROUNDING * np.abs(wanted).max()
            fact = f"compiled kernels with the {name} of its methods"
            worst(fact, off, x, remedy, "{:.9g} for {:.9g}", compiled[name], wanted)


def _measured(engine: NumpyEngine, x: Array) -> dict[str, Array]:
    """What the engine computes at points x (P, N, d): (P, N) each, vectors by their product with one direction."""
    W, u = np.ascontiguousarray(x[:, 0]), np.sqrt(np.arange(1.0, x.shape[-1] + 1))
    with engine.session():
        models, moments = np.stack([x, x]), engine.moments(x)
        engine.walk(models, np.array([1.0]) / engine.experiment.problem.L, 0, range(len(x)))
        return {
            "gaps F_i - F_i*": engine.excess(W),
            "gaps F - F*": np.repeat(engine.gap(W)[:, None], x.shape[1], axis=1),
            "local gaps": moments.excess,
            "gradients": moments.grads @ u,
            "squared gradients": moments.grad_sq,
            "variances": moments.variance,
            "steps": models[1] @ u,
        }
