"""What somebody else wrote runs through its own methods, and is tried before it is simulated."""

from dataclasses import fields, replace

import numpy as np
import pytest
from problem_zoo import ZOO

from fedbounds.engine.expectations import not_applicable
from fedbounds.engine.loop import kernel_arrays
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import foreign
from fedbounds.weightings.fedavg import FedAvg

METHODS = ("client_losses", "client_excess", "client_grads", "client_variance", "gap", "argmin", "constants")
FACTS = ("noise_lipschitz", "sample_smoothness", "client_optima")
STARS = ("w_i_star", "F_i_star")


def extended(base, **changes):
    """The same fields in a class that extends the problem's."""
    changed = object.__new__(type("Mine", (type(base),), changes))
    vars(changed).update({field.name: getattr(base, field.name) for field in fields(base)})
    return changed


def asking(other, name):
    """A method that hands on to another problem's."""
    return lambda self, *args, **options: getattr(other, name)(*args, **options)


def experiment_on(problem, **changes):
    return Experiment(problem, FedAvg(), ConstantStep(0.1 / problem.L), 2, 2, 2, 1).with_(**changes)


@pytest.mark.parametrize("kind", ["quadratic", "binary"])
def test_a_class_is_simulated_as_itself_and_not_as_its_parent(kind):
    """No compiled kernel and no closed form of the parent's serves it."""
    parent, other = ZOO[kind](0), replace(ZOO[kind](1), p=ZOO[kind](0).p)
    told = {name: asking(other, name) for name in METHODS}
    told |= {name: property(lambda self, name=name: getattr(other, name)) for name in FACTS}
    mine = extended(parent, **told)
    vars(mine).update({name: getattr(other, name) for name in STARS})
    result, wanted = (simulate(experiment_on(p, engine=e)) for p, e in ((mine, "auto"), (other, "reference")))
    np.testing.assert_allclose(result.paths["alpha"].gap, wanted.paths["alpha"].gap, rtol=1e-12)
    assert result.engine == "reference" and kernel_arrays(parent) is not None
    assert "do not close" in not_applicable(experiment_on(mine))
    with pytest.raises(InputError, match=r"engine kernels needs .*Mine"):
        simulate(experiment_on(mine, engine="kernels"))


def test_simulate_refuses_what_check_refuses():
    base = ZOO["quadratic"](0)
    wrong = extended(base, client_grads=lambda self, x, draws=None: 1.1 * base.client_grads(x, draws))
    for options in ({}, {"record": "distance"}, {"exact": True}):
        with pytest.raises(InputError, match="losses whose slopes are the gradients"):
            simulate(experiment_on(wrong), **options)
    with pytest.raises(InputError, match=r"must run through its own methods.*leave kernel_data\(\) out"):
        simulate(experiment_on(extended(base, kernel_data=lambda self: base.kernel_data())))
    with pytest.raises(InputError, match="sum 2"):
        simulate(experiment_on(base, weighting=lambda p, e, r, s: 2 * np.broadcast_to(p, e.shape)))


def test_a_class_is_no_shipped_one_by_its_name():
    base = ZOO["quadratic"](0)
    same = type(type(base).__name__, (type(base),), {"__module__": type(base).__module__})
    same.__qualname__ = type(base).__qualname__
    assert foreign(object.__new__(same), "fedbounds.problems")
    assert not foreign(base, "fedbounds.problems")
