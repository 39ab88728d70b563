"""Contracts that every claim, weighting and problem keeps; plug-ins are discovered, so this file is never edited."""

import json
from functools import cache

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import on_run
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.evaluate import is_affine
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import InverseTime
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import claims, weighting_named, weightings
from fedbounds.problems.registry import problem_plugins
from fedbounds.study.objects_from_settings import build_problem
from fedbounds.study.run_study import check
from fedbounds.study.settings import Settings
from fedbounds.testing import check_problem, check_weighting
from fedbounds.theory import symbols
from fedbounds.theory.claim import Kind, statement
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

CLAIMS = claims()
WEIGHTINGS = weightings()
PROBLEMS = problem_plugins()
SMALL = {"clients": 4, "dimension": 3, "samples": 12, "noise_std": 0.3}


def small_problem(kind):
    return build_problem(Settings(problem=kind, **SMALL))


def small_run(kind="quadratic", weighting="fedavg", **changes):
    problem = small_problem(kind)
    experiment = Experiment(
        problem=problem,
        weighting=weighting_named(weighting),
        eta=InverseTime(problem.mu, 4 * problem.L / problem.mu),
        tau=3,
        rounds=4,
        replicates=8,
        batch_size=2,
        engine="reference",
    )
    return simulate(experiment.with_(**changes))


RUN = small_run()
# Claims about square roots of expectations: their modules show by Jensen that they may be taken so.
ROOTS = ("pepit-sgd-step", "fedavg-two-steps")


@pytest.mark.parametrize("key", sorted(CLAIMS))
class TestClaims:
    def test_it_is_complete(self, key):
        claim = CLAIMS[key]
        assert claim.key == key and claim.title and claim.source
        assert set(claim.readings) <= set(READINGS) and claim.readings
        assert claim.terms and (claim.kind is Kind.RATE or sp.sympify(claim.rhs).free_symbols)
        assert all(a.key and a.statement for a in claim.assumptions)

    def test_every_symbol_has_a_notation(self, key):
        claim = CLAIMS[key]
        for expression in (claim.lhs, *claim.terms.values(), *claim.definitions.values()):
            for symbol in sp.sympify(expression).free_symbols:
                if isinstance(symbol, Quantity):
                    assert symbol.latex and symbol.meaning and symbol.units is not None
                else:
                    assert getattr(symbols, symbol.name) == symbol

    def test_the_statement_is_latex_that_renders(self, key):
        from matplotlib.mathtext import MathTextParser

        text = statement(CLAIMS[key])
        assert text.count("{") == text.count("}")
        MathTextParser("path").parse(f"${text}$".replace(r"\left", "").replace(r"\right", "").replace(r"\star", "*"))

    def test_it_can_be_examined_in_every_reading(self, key):
        claim = CLAIMS[key]
        for name in claim.readings:
            run = examine_run(RUN, READINGS[name])
            verdict = empirical.examine(claim, run)
            assert verdict.claim == key and verdict.reading == name and verdict.detail
            json.dumps(verdict.to_json(), allow_nan=False)
            told = verdict.status is not Status.NOT_APPLICABLE and "cannot express" not in verdict.detail
            if told and claim.kind is not Kind.RATE:
                sides = empirical.compare(claim, run)
                assert sides.lhs.shape == sides.rhs.shape == sides.rounding.shape

    def test_every_assumption_executes(self, key):
        claim = CLAIMS[key]
        for name in claim.readings:
            for assumption in claim.assumptions_in(READINGS[name]):
                holds, result = on_run(assumption, examine_run(RUN, READINGS[name]))
                assert isinstance(bool(holds), bool) and result

    def test_random_quantities_enter_linearly(self, key):
        """An expectation may only be taken through a linear expression: replicates leave any other undecided."""
        if key in ROOTS:
            return
        for name in CLAIMS[key].readings:
            left, right, _ = CLAIMS[key].sides(READINGS[name])
            assert is_affine(left - right)


def text_of(key):
    return WEIGHTINGS[key].example or key


@cache
def built(key):
    return weighting_named(text_of(key)).bind(small_problem("quadratic"))


@pytest.mark.parametrize("key", sorted(WEIGHTINGS))
class TestWeightings:
    def test_it_describes_itself(self, key):
        plugin = WEIGHTINGS[key]
        assert plugin.key == key and plugin.usage.startswith(key) and plugin.summary
        assert built(key).name.startswith(key)

    def test_it_keeps_its_word(self, key):
        """The battery that a study runs on a weighting of somebody else's."""
        check_weighting(weighting_named(text_of(key)), small_problem("quadratic"))

    def test_its_text_and_its_object_are_the_same_rule(self, key):
        plugin, text = WEIGHTINGS[key], text_of(key)
        rule = plugin.build(text.partition(":")[2] or None)
        assert isinstance(rule, Weighting) and weighting_named(rule.to_text()) == rule
        of_text, of_object = (
            check(small_problem("quadratic"), weightings=[w], claims=["theorem-1"], rounds=4, replicates=8, tau=2)
            for w in (text, rule)
        )
        assert [weighting_named(*r.settings.weightings) for r in (of_text, of_object)] == [rule, rule]
        paths = [vars(result.runs[0].trajectory.paths["alpha"]) for result in (of_text, of_object)]
        assert all(paths[0][name].tobytes() == paths[1][name].tobytes() for name in paths[0])
        assert of_text.runs[0].trajectory.alpha.tobytes() == of_object.runs[0].trajectory.alpha.tobytes()

    def test_an_unreadable_argument_is_refused(self, key):
        with pytest.raises(InputError):
            WEIGHTINGS[key].build("not a number")


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
class TestProblems:
    def test_it_keeps_its_word(self, kind):
        """The battery that a study runs on a problem of somebody else's."""
        check_problem(small_problem(kind))


@pytest.mark.parametrize("kind", [kind for kind in sorted(PROBLEMS) if small_problem(kind).kernel_data() is not None])
def test_both_engines_agree(kind):
    a, b = small_run(kind, engine="reference"), small_run(kind, engine="kernels")
    np.testing.assert_allclose(a.paths["alpha"].gap, b.paths["alpha"].gap, rtol=1e-9, atol=1e-13)
