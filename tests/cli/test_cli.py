import json
import math
import re
import typing

import numpy as np
import pytest
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli import app as cli
from fedbounds.cli.adapter import Group
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.study import bounds
from fedbounds.study.objects_from_settings import build_problem
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import statement

TINY = ("--clients", "2", "--dimension", "2", "--rounds", "4", "--tau", "2", "--replicates", "8")
QUICK = ("check", "--problem", "quadratic", *TINY, "--weighting", "fedavg", "--weighting", "fedmax")
CONSTANTS = {
    "L": 10.0,
    "mu": 1.0,
    "Gamma": 0.5,
    "rho_bar": 1.2,
    "rho_tilde": 1.5,
    "tau": 5,
    "G_sq": 4.0,
    "sigma_sq": 1.0,
    "rounds": 200,
}
BOUND = (
    *("bounds", "--L", "10", "--mu", "1", "--Gamma", "0.5", "--rho-bar", "1.2", "--rho-tilde", "1.5"),
    *("--tau", "5", "--G-sq", "4", "--sigma-sq", "1", "--rounds", "200"),
)


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def sentence(result):
    """The one line an expected failure prints, after checking that it is one and has exit code 2."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    return line


def test_flags_win_over_a_study_file(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('problem = "quadratic"\nclients = 2\nrounds = 4\nreplicates = 8\nseed = 3\nbatch = "full"\n')
    for flags, seed in ((), 3), (("--seed", "4"), 4):
        done = call("check", "--config", str(file), *flags, "--claim", "lemma-1", "--format", "json", "--quiet")
        settings = json.loads(done.stdout)["settings"]
        assert (settings["seed"], settings["rounds"], settings["batch"]) == (seed, 4, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rounds = 4\ntau = 0", "study.toml: tau must be"),
        ("tau = 1\nround = 4", "setting must be a known name, but received 'round': did you mean 'rounds'"),
        ("rounds = ", "must be valid TOML, but received Invalid value"),
        ("", "must hold settings"),
    ],
)
def test_a_study_file_s_mistakes_name_the_setting(tmp_path, text, says):
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert says in sentence(call("check", "--config", str(file)))


def test_a_table_fits_forty_columns_and_says_what_was_not_saved(monkeypatch):
    """And without a terminal it is said how long it takes, and what is done."""
    monkeypatch.setenv("COLUMNS", "40")
    result = call(*QUICK, "--claim", "lemma-1")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 40
    assert "\x1b" not in result.stdout
    assert "Lemma 1" in result.stdout
    assert "--out" in result.stdout
    lines = result.stderr.splitlines()
    assert re.search(r"\d weightings?, \d+ runs of \d+ steps each: about \d+ s, longer", lines[0])
    assert any(line.startswith("fedavg: ") for line in lines[1:])
    assert call(*QUICK, "--claim", "lemma-1", "--quiet").stderr == ""


def test_out_receives_the_study_and_the_pictures_and_report_the_page(tmp_path):
    out, page = tmp_path / "deep" / "out", tmp_path / "page.html"
    result = call(*QUICK, "--claim", "theorem-1", "--format", "json", "--out", str(out), "--report", str(page))
    assert result.exit_code == 0, result.output
    assert json.loads((out / "result.json").read_text()) == json.loads(result.stdout)
    assert str(out) in result.stderr
    with np.load(out / "trajectories.npz", allow_pickle=False) as arrays:
        assert "1.gap" in arrays
    assert (out / "bounds.svg").is_file() and page.read_text().startswith("<!DOCTYPE html>")


def test_fail_on_refuted_sets_the_exit_code():
    refuted = (*QUICK, "--claim", "speed-floor")
    done = call(*refuted)
    assert "REFUTED" in done.stdout and done.exit_code == 0
    assert call(*refuted, "--fail-on", "refuted").exit_code == 1
    assert call(*QUICK, "--claim", "lemma-1", "--fail-on", "refuted").exit_code == 0


def test_an_unwritable_output_is_said_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "fedbounds.study.run_study.run_condensed", lambda *_, **__: pytest.fail("the run started"), raising=False
    )
    file = tmp_path / "file"
    file.write_text("")
    assert "could not be written" in sentence(call("check", "--out", str(file / "out")))
    assert "could not be written" in sentence(call("check", "--out", str(file)))


@pytest.mark.parametrize("key", ["theorem-1", "rate"])
def test_a_claim_is_shown_in_full(key):
    claim = plugins.claim_named(key)
    text = call("claims", key).stdout
    assert statement(claim) in text
    assert claim.source in text
    for assumption in claim.assumptions:
        assert assumption.statement in text
    for name in (*claim.terms, *claim.readings):
        assert f"{name}:" in text or claim.kind == "rate"
    if claim.repair:
        assert claim.repair.why in text
    assert claim.remark in text


def test_bound_agrees_with_the_corollary_by_hand():
    result = {(v.claim, v.reading): v for v in bounds.bounds(**CONSTANTS, Delta_0=2.0).values}
    value = result["corollary", "literal"]
    speed = 4 * 10 * (32 * 25 * 4 + 1) / (3 * 1.2) + 8 * 100 * 0.5 + 10 * 40 * 2 / 2
    error = 8 * 10 * 0.5 / 3 * (1.5 / 1.2 - 1)
    assert value.speed == pytest.approx(speed, rel=1e-12)
    assert value.error == pytest.approx(error, rel=1e-12)
    assert value.bound == pytest.approx(speed / 1040 + error, rel=1e-12)
    assert value.gamma == 40


def test_rounds_to_epsilon_is_the_first_that_reaches_it():
    speed, error, gamma, tau = 123.4, 1e-4, 40.0, 5
    for epsilon in (0.37, 1e9):
        r = bounds.rounds_to(epsilon, speed, error, gamma, tau)
        reached = [speed / (k * tau + gamma) + error <= epsilon for k in (r, r - 1)]
        assert reached == [True, r == 0]


def test_bound_prints_a_table_and_json():
    table = call(*BOUND, "--epsilon", "2")
    assert table.exit_code == 0 and "never: the error term alone is" in " ".join(table.stdout.split())
    value = json.loads(call(*BOUND, "--epsilon", "2", "--format", "json").stdout)
    assert value["T"] == 1000 and value["constants"]["Delta_0"] == 4.0
    assert {b["claim"] for b in value["bounds"]} == {"corollary", "sharper-corollary"}


def test_data_fill_in_the_constants_that_are_not_given():
    line = "bounds --data diabetes --clients 3 --tau 2 --rho-bar 1 --rho-tilde 1 --G-sq 4 --sigma-sq 1 --format json"
    problem = build_problem(Settings(data="diabetes", clients=3))
    for more, L, keys in (("--L 50", 50.0, set()), ("--pi 0.5", problem.L, {"final-bound"})):
        result = call(*line.split(), *more.split())
        constants = json.loads(result.stdout)["constants"]
        assert constants["L"] == L and constants["Delta_0"] == pytest.approx((problem.w_star**2).sum())
        assert {b["claim"] for b in json.loads(result.stdout)["bounds"]} >= keys
        assert result.stderr.startswith("From the problem, with w_0 = 0: ")


def test_bound_adds_what_more_constants_determine():
    keys = {v.claim for v in bounds.bounds(**CONSTANTS | {"rho_bar": 1, "rho_tilde": 1}).values}
    assert "li-2020" in keys
    result = bounds.bounds(**CONSTANTS, pi_min=0.5, p_min=0.1, N=10)
    (final,) = (v for v in result.values if v.claim == "final-bound")
    assert final.error == pytest.approx(8 * 10 * 0.5 / 3 * (1 / 0.05 - 10))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rho_bar": 200.0, "rho_tilde": 300.0}, "rho_bar = 200, where the repaired corollary puts 104"),
        ({"rho_tilde": 0.5}, "rho_tilde = 0.5, where"),
        ({"L": 1.0, "tau": 50}, "slow-decay"),
        ({"sigma_sq": 5.0}, "variance"),
    ],
)
def test_bound_warns_where_a_condition_fails(changes, says):
    assert any(says in warning for warning in bounds.bounds(**CONSTANTS | changes).warnings)
    assert bounds.bounds(**CONSTANTS).warnings == ()


WRONG = {
    "mu": (0.0, 20.0),
    "rho_bar": (0.0,),
    "tau": (0,),
    "rounds": (0,),
    "Gamma": (-1.0,),
    "G_sq": (math.nan, 1e308),
}
WRONG |= {"sigma_sq": (math.inf,), "epsilon": (0.0,), "Delta_0": (-1.0,), "pi_min": (0.5,)}


def test_bound_rejects_constants_no_problem_has():
    for changes in [
        *({name: value} for name, values in WRONG.items() for value in values),
        {"pi_min": 0.5, "p_min": 0.2, "N": 10},
    ]:
        with pytest.raises(InputError):
            bounds.bounds(**CONSTANTS | changes)


def test_commands_are_functions_found_by_looking():
    shown = call("--help").stdout
    for name, function in cli.functions().items():
        assert (function.__doc__ or "").strip() and f"  {name.partition(' ')[0]} " in shown
    assert "..." not in shown.partition("Judge")[2] and all(f"{title}:" in shown for title in typing.get_args(Group))


PLUGIN = """
from fedbounds.claims.sharper_one_step import SHARPER_STEP
from fedbounds.model.weighting import WeightingPlugin
print("printed by the plug-in")
CLAIMS = (SHARPER_STEP,)
class Mine:
    name = "mine"
    def __call__(self, p, excess, r, stream):
        {body}
WEIGHTING = WeightingPlugin("mine", lambda text: Mine(), "mine", "Mine.")
"""


@pytest.mark.parametrize(
    ("body", "says"), [("raise KeyError(3)", "KeyError: 3"), ("import sys; sys.exit(0)", "SystemExit: 0")]
)
def test_a_fault_in_a_plug_in_is_a_sentence_with_its_line(tmp_path, body, says):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.format(body=body))
    result = call(*QUICK[:-4], "--plugin", str(file), "--weighting", "mine", "--fail-on", "refuted", "--quiet")
    assert (result.exit_code, result.stdout) == (2, "") and "Traceback" not in result.stderr
    assert f"{file}, line 9, failed with {says}" in result.stderr.splitlines()[-1]


def test_what_a_plug_in_prints_does_not_spoil_json(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.format(body="print('weights'); return p + 0 * excess"))
    result = call(*QUICK[:-4], "--plugin", str(file), "--weighting", "mine", "--claim", "lemma-1", "--format", "json")
    assert result.exit_code == 0 and json.loads(result.stdout)["runs"][0]["weighting"] == "mine"
    assert "printed by the plug-in" in result.stderr and "weights" in result.stderr
