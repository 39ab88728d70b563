"""The model of what is assumed against oracles of its own, and two dozen bugs planted in it, all caught."""

import contextlib
import types
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import pepit_oracle
import pytest

import fedbounds.evidence.sdp.one_step.program
import fedbounds.evidence.sdp.program
import fedbounds.evidence.sdp.verification
from fedbounds.evidence.sdp.one_step import program as true_model
from fedbounds.evidence.sdp.one_step.certificate import read
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.program import exact
from fedbounds.evidence.sdp.solver import Solved, worst_case
from validate.model_polynomials import polynomials
from validate.second_checker import differences, judge

ROOT = Path(__file__).resolve().parents[3]
# Two solvers on two formulations.
AGREE = 1e-4
HALF = F(1, 2)
ONE = {"alpha": (F(1), F(0)), "p": (HALF, HALF), "rho_bar": F(3, 2)}
SMALL = {"alpha": (F(0), F(1)), "p": (F(9, 10), F(1, 10)), "rho_bar": F(3)}
SKEWED = {"alpha": (F(9, 10), F(1, 10)), "p": (F(3, 4), F(1, 4)), "rho_bar": F(11, 10)}
THREE = {"alpha": (HALF, F(1, 3), F(1, 6)), "p": (F(1, 5), F(2, 5), F(2, 5)), "rho_bar": F(5, 4)}


def at(weights, tau, **more):
    """kappa = 4 and the falling steps 1/2, 1/3, ..."""
    chosen = round_setting(2, tau, kappa=4, eta=HALF, **weights, **more)
    return replace(chosen, eta=tuple(F(1, 2 + k) for k in range(tau)))


def step_terms(setting):
    eta = setting.eta[-1]
    return {"Delta": 1 - eta * setting.mu, "Gamma": -2 * eta * setting.rho_bar, "Gamma_alpha": 2 * eta}


def bias_terms(setting):
    eta = setting.eta[-1]
    return {"Delta": 1 - eta * setting.mu, "Gamma": 2 * eta * (setting.rho_tilde - setting.rho_bar)}


def noisy(setting, **more):
    return replace(setting, gradients="stochastic", local="any", **more)


# name -> (setting, left side, terms taken from it, form set to 1)
PANEL = {
    "small": (at(SMALL, 2, reading="all-steps"), "Delta_next", step_terms, "G_sq"),
    "sync": (at(ONE, 3, reading="sync"), "Delta_next", step_terms, "G_sq"),
    "drift": (at(SKEWED, 3, reading="all-steps"), "drift", None, "G_sq"),
    "three": (at(THREE, 2, reading="all-steps"), "Delta_next", step_terms, "G_sq"),
    "inside": (at(THREE, 3, step=1, reading="all-steps"), "Delta_next", step_terms, "G_sq"),
    "bias": (at(SMALL, 2, reading="sync", rho_tilde=F(8)), "Delta_next", bias_terms, "G_sq"),
    "noise": (replace(at(THREE, 1), gradients="stochastic"), "Delta_next", None, "sigma_sq"),
    "past noise": (noisy(at(THREE, 3)), "drift", None, "G_sq"),
}


def value(name, build):
    """sup (left - terms) with the panel's form at most 1, in the model of ``build``."""
    setting, left, terms, unit = PANEL[name]
    model = build(setting, float, (unit,))
    rest = {key: float(number) for key, number in terms(setting).items()} if terms else {}
    if name == "noise":
        # What gradients themselves do is taken off: gradient descent contracts by at most (1 - eta mu)^2.
        rest = {"Delta": (1 - float(setting.eta[-1] * setting.mu)) ** 2, "Gamma_alpha": 10.0}
    result = worst_case(model, model[left] - model.sum(rest), [model[unit]])
    return result.value if result.outcome is Solved.OPTIMAL else float("nan")


def expected(name):
    """The same by PEPit; with noise, in closed form."""
    s, left, terms, _ = PANEL[name]
    if name == "noise":
        return float(s.eta[-1] ** 2 * sum(a**2 for a in s.alpha))
    if name == "past noise":
        return float(sum(s.eta[:-1]) ** 2)
    numbers = [tuple(map(float, row)) for row in (s.alpha, s.p, s.eta)]
    rest = {key: float(number) for key, number in terms(s).items()} if terms else {}
    rho_tilde = None if s.rho_tilde is None else float(s.rho_tilde)
    return pepit_oracle.one_round(*numbers, float(s.mu), rest, float(s.rho_bar), rho_tilde, s.reading != "sync", left)


@pytest.fixture(scope="module")
def oracle():
    return {name: expected(name) for name in PANEL}


@pytest.mark.parametrize("name", PANEL)
def test_the_model_agrees_with_an_independent_one(name, oracle):
    assert oracle[name] > 0.01
    assert value(name, true_model.build) == pytest.approx(oracle[name], rel=AGREE)


# What is wrong -> (module, as it is, as it would be).
BUGS = {
    "gradient bound everywhere": ("model", 'for q in mine if q.label.startswith("x")]', "for q in mine]"),
    "gradient bound at w*": ("model", 'q.label.startswith("x")', 'q.label.startswith(("x", "star"))'),
    "gradient bound at w_t": ("model", 'q.label.startswith("x")', 'q.label.startswith(("x", "w"))'),
    "rho_bar at w*": ("model", 'else ["x0", *times]', 'else ["x0", "star", *times]'),
    "rho_bar at every step, when synchronised": ("model", 'if setting.how.skew == "all-steps" else ()', ""),
    "rho_bar the wrong way round": ("model", "a - self.rho_bar * p", "self.rho_bar * p - a"),
    "rho_bar of p over alpha": ("model", "a - self.rho_bar * p", "p - a * (1 / self.rho_bar)"),
    "rho_tilde the wrong way round": ("model", "setting.rho_tilde * p - a", "a - setting.rho_tilde * p"),
    "w* of the unweighted mean": ("forms", "self.number(weight / weights[pivot])", "self.unit"),
    "one step size for the round": ("model", "self.eta[k] * mine", "self.eta[0] * mine"),
    "the last step with the first size": ("model", "self.eta[-1], iterates[-1]", "self.eta[0], iterates[-1]"),
    "the mean by p": ("model", 'self.p if self.setting.how.virtual == "p" and k > 0', "self.p if k > 0"),
    "aggregation by p": ("model", "after = alpha if self.any", "after = p if self.any"),
    "drift from the round's start": ("model", "at.w: iterates[-1:]", "at.w: iterates[:1]"),
    "drift by p": ("model", "at.ALPHA: self.alpha", "at.ALPHA: self.p"),
    "Gamma by alpha": ("model", "at.P: self.p", "at.P: self.alpha"),
    "minima above zero": ("model", "minimiser, Vector(), Expression())", "minimiser, Vector(), -self.G_sq)"),
    "curvature of L for L - mu": ("forms", "1 / (2 * (L - mu))", "1 / (2 * L)"),
    "interpolation without its factor 2": ("forms", "1 / (2 * (L - mu))", "1 / (L - mu)"),
    "the mixed term forgotten": ("forms", " - dg @ dx * (2 * mu)", ""),
    "noise by alpha, not its square": ("model", "eta**2 * a**2 for", "eta**2 * a for"),
    "noise of the mean client": ("model", "eta**2 * a**2 for", "eta**2 * a**2 / setting.N for"),
    "the round's last move without noise": ("model", "sum(self.setting.eta[:-1]", "sum(self.setting.eta[:-2]"),
    "rho_bar at the start only, at every step": ("model", "tuple(range(1, setting.step + 1))", "()"),
    "each pair of points once": (
        "model",
        "permutations(mine, 2)",
        "[c for c in permutations(mine, 2) if c[0].label < c[1].label]",
    ),
}
# These leave something out: what is still proved is true, so that the second checker need not mind.
WEAKER = list(BUGS)[-2:]


def planted(module, before, after):
    """``build`` with one piece of the model's source replaced."""
    modules = {"forms": fedbounds.evidence.sdp.program, "model": fedbounds.evidence.sdp.one_step.program}
    texts = {name: Path(item.__file__).read_text() for name, item in modules.items()}
    assert texts[module].count(before) >= 1, "the bug no longer fits the source"
    made = {}
    for name, item in modules.items():
        new = types.ModuleType(item.__name__)
        text = texts[name].replace(before, after) if name == module else texts[name]
        # A dataclass looks its module up; the true one will do.
        exec(compile(text, item.__file__, "exec"), new.__dict__)
        made[name] = new
    vars(made["model"])["_Writer"].__bases__ = (made["forms"].Draft,)
    return made["model"].build


STORED = {item.name: item for item in read(ROOT / "derivations" / "certificates" / "tight.jsonl")}
HONEST = STORED["tight-lemma-2-drift-k10-tau2"]


def tampered(how):
    multipliers, rhs = dict(HONEST.multipliers), dict(HONEST.rhs)
    label = max(multipliers, key=lambda name: F(multipliers[name]))
    if how == "negative":
        multipliers[label] = str(-F(multipliers[label]))
    elif how == "values":
        multipliers[label] = str(2 * F(multipliers[label]))
    else:
        rhs["G_sq"] = str(F(rhs["G_sq"]) / 2)
    return replace(HONEST, multipliers=multipliers, rhs=rhs, claim=None, scale={}, note={})


CHECKS = {
    "if value < 0": "if False",
    "if any(len(key) == 1 for key in rest.terms)": "if False",
    "if not (positive or is_psd)": "if not (lambda S: True)",
}


@pytest.mark.parametrize("how", ["negative", "values", "remainder"])
def test_what_a_lax_first_checker_lets_through_the_second_does_not(how):
    source = Path(fedbounds.evidence.sdp.verification.__file__).read_text()
    for condition, constant in CHECKS.items():
        assert condition in source
        source = source.replace(condition, constant)
    lax = types.ModuleType("lax")
    exec(compile(source, "verification", "exec"), lax.__dict__)
    wrong = tampered(how)
    model = true_model.build(Setting.from_json(wrong.setting), exact)
    gap = model.sum(wrong.numbers(wrong.rhs)) - model[wrong.lhs]
    assert lax.verify(model, gap, wrong.numbers(wrong.multipliers))[0]
    assert judge({"lhs": wrong.lhs, "rhs": wrong.rhs, "setting": wrong.setting, "multipliers": wrong.multipliers}, {})


def test_the_second_checker_has_the_model_of_the_first():
    for setting, *_ in PANEL.values():
        assert not list(differences(setting.to_json(), polynomials(setting, true_model.build)))


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_model_is_caught_by_values_and_by_the_second_checker(bug, oracle):
    build = planted(*BUGS[bug])

    def wrong(name):
        return value(name, build) != pytest.approx(oracle[name], rel=10 * AGREE, abs=1e-6)

    def different(name):
        return list(differences(PANEL[name][0].to_json(), polynomials(PANEL[name][0], build)))

    for notices in (wrong, different)[: 2 - (bug in WEAKER)]:
        # A model that does not even build is noticed, too.
        with contextlib.suppress(KeyError, ValueError, IndexError, StopIteration):
            assert any(map(notices, PANEL)), f"{bug}: {notices.__name__} is True nowhere in the panel"
