"""Every public function has an example in its docstring, and each example shows what it says."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import hypothesis
import numpy as np
import pytest

import fedbounds
from fedbounds import testing
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import quadratic

GRID = """base = {problem = "quadratic", claims = "lemma-1", weightings = "fedavg", rounds = 2, replicates = 8}
grid = {tau = [1, 2]}
"""
# The modules that docs/api.md calls stable, beside what two of them list as theirs.
API = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| to (?:state a theorem|write a plug-in) \| ([^;|]*)", API, re.MULTILINE)
STABLE = [importlib.import_module(name) for name in re.findall(r"fedbounds[\w.]+", " ".join(ROWS))]
FUNCTIONS = {
    f"{home.__name__}.{name}": getattr(home, name)
    for home in (fedbounds, testing)
    for name in home.__all__
    if inspect.isfunction(getattr(home, name))
} | {
    f"{home.__name__}.{name}": function
    for home in STABLE
    for name, function in vars(home).items()
    if inspect.isfunction(function) and function.__module__ == home.__name__ and not name.startswith("_")
}


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the examples take as given, as docs/api.md says, in an empty folder with one study file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    public = {name: getattr(home, name) for home in (fedbounds, testing) for name in home.__all__}
    shown = "find", "given", "settings"
    problem = quadratic(np.array([[1.0], [4.0]]), np.array([[-1.0], [1.0]]))
    step = importlib.import_module("fedbounds.model.schedule").ConstantStep(0.1)
    average = importlib.import_module("fedbounds.weightings.fedavg").FedAvg()
    experiment = fedbounds.Experiment(problem, average, step, tau=2, rounds=3, replicates=1, batch_size=None)
    given = {"claim_named": claim_named, "problem": problem, "experiment": experiment}
    # To verify all that is shipped takes twenty seconds, which the ledger's own tests spend.
    for part in ("_proof_verdicts", "_certificates"):
        monkeypatch.setattr(f"fedbounds.study.ledger.{part}", lambda *_: [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = hypothesis.settings.get_current_profile_name()
    # A search that does not shrink: an example shows how a strategy is used, not the smallest instance.
    hypothesis.settings.register_profile(
        "examples", deadline=None, max_examples=20, phases=[hypothesis.Phase.generate]
    )
    hypothesis.settings.load_profile("examples")
    yield public | {name: getattr(hypothesis, name) for name in shown} | given
    hypothesis.settings.load_profile(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_shows_what_it_says(name, names, capsys):
    function = FUNCTIONS[name]
    scope = vars(inspect.getmodule(function)) | names
    (example,) = doctest.DocTestFinder(recurse=False).find(function, function.__name__, globs=scope)
    assert example.examples, f"{name} has no example"
    assert not any(item.options.get(doctest.SKIP) for item in example.examples)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example).failed == 0, capsys.readouterr().out


def test_the_modules_that_are_stable_are_found():
    assert len(STABLE) == 11 and {"fedbounds.theory.quantity.constant", "fedbounds.errors.reject"} <= FUNCTIONS.keys()
