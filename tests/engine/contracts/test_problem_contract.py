"""The battery over problems: true ones are let through, every kind of wrong fact is refused by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import SAMPLED, ZOO

import fedbounds
from fedbounds.engine.contracts.problem import admitted
from fedbounds.errors import InputError
from fedbounds.model.problem import Optimum, Problem
from fedbounds.problems.quadratic import QuadraticProblem, quadratic
from fedbounds.testing import check_problem
from fedbounds.theory.constant import Constant, Provenance

# A foreign problem answers with these, each what a shipped one says unless a test changes it.
MATHS = ("client_losses", "client_excess", "client_grads", "client_variance", "gap", "argmin", "constants")
FACTS = (*MATHS, "noise_lipschitz", "sample_smoothness", "sampling", "convex", "p", "d", "sizes")
FACTS = (*FACTS, "optimum", "client_optima")


class Foreign(Problem):
    """A shipped problem under another class, with some of its facts replaced."""

    kind = "foreign"

    def __init__(self, base, **changed):
        self.base = base
        for name in FACTS:
            object.__setattr__(self, f"_{name}", changed.get(name, getattr(base, name)))


for name in FACTS:
    setattr(Foreign, name, property(lambda self, name=name: getattr(self, f"_{name}")))
Foreign.__abstractmethods__ = frozenset()


def scaled(problem, **factors):
    """The constants with some of them multiplied, declared exact."""
    known = problem.constants()
    return lambda: {k: Constant(float(v) * factors.get(k, 1.0), Provenance.EXACT) for k, v in known.items()}


def lifted(problem, by):
    """The first client's minimum, wrong by ``by`` everywhere it is told."""
    first, *rest = problem.client_optima
    e = np.array([by] + [0.0] * len(rest))
    return {
        "client_optima": (Optimum(first.w, first.value + by, first.excess_bound), *rest),
        "client_excess": lambda x: problem.client_excess(x) - e,
    }


def moved(problem, by):
    """The global minimiser, moved, with the value that it then has."""
    star = problem.w_star + by
    return {"optimum": Optimum(star, float(problem.p @ problem.losses(star)), problem.optimum.excess_bound)}


def bent_gradient(problem, factor, client=1, coordinate=2):
    """One coordinate of one client's gradient, with every kind of draw."""

    def grads(x, draws=None):
        g = problem.client_grads(x, draws).copy()
        g[..., client, coordinate] *= factor
        return g

    return grads


def in_place(problem):
    def losses(x):
        x -= 1.0
        x += 1.0 + 1e-12
        return problem.client_losses(x)

    return losses


# What is wrong -> what to change, and a word of the sentence.
ATTACKS = {
    "L/3": (lambda q: {"constants": scaled(q, L=1 / 3)}, "keep L"),
    "mu * 3": (lambda q: {"constants": scaled(q, mu=3.0)}, "keep mu"),
    "mu > L": (lambda q: {"constants": scaled(q, mu=1e9)}, "mu <= L"),
    "one coordinate": (lambda q: {"client_grads": bent_gradient(q, 1.5)}, "slopes"),
    "gradient off by 1e-3": (
        lambda q: {"client_grads": lambda x, draws=None: q.client_grads(x, draws) * (1 + 1e-3)},
        "slopes",
    ),
    "sign of the gradient": (
        lambda q: {"client_grads": lambda x, draws=None: -q.client_grads(x, draws)},
        "slopes",
    ),
    "F_i* too high": (lambda q: lifted(q, 1e-3), "minimisers"),
    "F_i* too low": (lambda q: lifted(q, -1e-3), "minimisers"),
    "wrong minimiser": (lambda q: moved(q, 1e-3), "minimisers"),
    "excess of another minimum": (lambda q: {"client_excess": lambda x: q.client_excess(x) + 1e-3}, "F_i - F_i*"),
    "cancelled excess": (
        lambda q: {"client_excess": lambda x: q.client_losses(x) - q.F_i_star},
        "keep F_i - F_i*",
    ),
    "cancelled gap": (lambda q: {"gap": lambda w: q.losses(w) @ q.p - q.F_star}, "keep F - F*"),
    "batch forgotten": (
        lambda q: {"client_variance": lambda x, b, r=True: q.client_variance(x, b and 1, r)},
        "batch of 2",
    ),
    "variance halved": (
        lambda q: {"client_variance": lambda x, b, r=True: q.client_variance(x, b, r) / 2},
        "the variance of the stochastic gradient",
    ),
    "variance of full gradients": (
        lambda q: {"client_variance": lambda x, b, r=True: q.client_variance(x, b or 1, r)},
        "full gradients",
    ),
    "p of sum 1.1": (lambda q: {"p": q.p * 1.1}, "sum 1.1"),
    "a negative p": (lambda q: {"p": np.array([0.7, -0.1, 0.2, 0.2])}, "non-negative"),
    "edits its input": (lambda q: {"client_losses": in_place(q)}, "changes its argument"),
    "not a number": (lambda q: {"client_excess": lambda x: q.client_excess(x) * np.nan}, "finite"),
    "raises": (lambda q: {"client_grads": lambda x, draws=None: 1 / 0}, "ZeroDivisionError"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_wrong_fact_is_refused_in_one_sentence(attack):
    base = ZOO["least-squares"](0)
    change, word = ATTACKS[attack]
    with pytest.raises(InputError, match="problem foreign must keep") as refused:
        check_problem(Foreign(base, **change(base)))
    assert word in str(refused.value) and "\n" not in str(refused.value)


def test_gradients_that_round_in_another_way_are_let_through():
    """On some processors a sample's gradient at its minimum is 1e-16 where the client's is 0."""
    base = ZOO["least-squares"](1)
    tiny = 1e-16 * base.L * np.linalg.norm(base.w_star)

    def rounded(x, draws=None):
        return base.client_grads(x, draws) + (tiny if draws is not None else 0.0)

    assert base.client_variance(base.w_i_star, 1).min() == 0
    check_problem(Foreign(base, client_grads=rounded))


@pytest.mark.parametrize("kind", ZOO)
def test_a_true_problem_is_let_through(kind):
    base = ZOO[kind](1)
    assert {"L and mu", "minimisers", "the noise"} <= set(check_problem(Foreign(base)))


@pytest.mark.parametrize("kind", SAMPLED)
def test_samples_that_are_biased_or_rougher_than_told_are_found(kind):
    base = ZOO[kind](1)
    biased = Foreign(
        base, client_grads=lambda x, draws=None: base.client_grads(x, draws) * (1 + 1e-3 * (draws is None))
    )
    with pytest.raises(InputError):
        check_problem(biased)
    for name, smaller in (("noise_lipschitz", base.noise_lipschitz / 20), ("sample_smoothness", base.mu / 2)):
        with pytest.raises(InputError, match=rf"must keep {name}, but received .* of client \d at \("):
            check_problem(Foreign(base, **{name: smaller}))


def test_an_extreme_curvature_among_many_is_found():
    """One direction of 200 has the curvature 1.05 L, and one 0.95 mu: random pairs would not see either."""
    spectra = np.linspace(2.0, 3.0, 200)
    spectra[0], spectra[-1] = 0.95, 10.5
    base = quadratic(spectra, np.ones((2, 200)), rng=np.random.default_rng(0))
    for constants, name in (({"L": 10 / 10.5}, "L"), ({"mu": 1 / 0.95}, "mu")):
        with pytest.raises(InputError, match=f"keep {name},"):
            check_problem(Foreign(base, constants=scaled(base, **constants)))


@settings(max_examples=20)
@given(st.floats(-3, 1), st.sampled_from(["L", "mu"]), st.integers(0, 5))
def test_a_constant_of_a_quadratic_is_refused_if_and_only_if_it_is_false(exponent, name, seed):
    base, by = ZOO["quadratic"](seed), 1 + 10**exponent
    false, true = (by, 1 / by) if name == "mu" else (1 / by, by)
    with pytest.raises(InputError):
        check_problem(Foreign(base, constants=scaled(base, **{name: false})))
    check_problem(Foreign(base, constants=scaled(base, **{name: true})))


class Third(QuadraticProblem):
    """A class of one's own that extends a shipped one: L/3, declared exact."""

    def constants(self):
        return super().constants() | {"L": Constant(float(super().constants()["L"]) / 3, Provenance.EXACT)}


def test_a_study_refuses_a_foreign_problem_that_is_wrong_and_trusts_its_own():
    shipped = ZOO["quadratic"](0)
    assert admitted(shipped) is shipped
    wrong = Third(shipped.H, shipped.w_i_star, shipped.F_i_star, shipped.p)
    with pytest.raises(InputError, match="keep L, but received a gradient that changes"):
        fedbounds.check(wrong, claims=["lemma-1"], weightings=["fedavg"], rounds=2, replicates=2)
