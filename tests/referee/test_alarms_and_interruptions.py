"""A trial of several processes, one that is stopped, and one in which two kinds of evidence contradict each other."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import keyboard
import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.adapter import CONTRADICTION
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.plugins import claim_named, load_file
from fedbounds.referee import implication, stages
from fedbounds.referee.certificate_settings import Grid
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.referee.search import refute as search_for
from fedbounds.referee.search.populations import BUDGETS, Budget
from fedbounds.referee.stage_context import Case, Stage
from fedbounds.referee.trial import Outcome, Trial, try_claim
from fedbounds.report import trial_text as show
from fedbounds.study.parallel import in_order
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import mu
from fedbounds.theory.verdict import Evidence, Status, Verdict

FOLDER = Path(__file__).parent / "theorems"
OWN = """
from fedbounds.theory import quantity
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Gamma, L

def helper(losses):
    return losses.L

TWICE = quantity.constant("twice", lambda losses: 2 * helper(losses), nonnegative=True)
CLAIMS = (Claim("mine", "", "", "constant", TWICE, {"bound": 2 * L}),)
"""


def test_any_number_of_processes_finds_the_same_bits(monkeypatch, tmp_path):
    few = Budget("few", 3, 4, 1, (2,), (1,), 5, 1000, 30, rungs=2, seconds=0.3)
    monkeypatch.setitem(BUDGETS, "few", few)
    monkeypatch.setitem(stages.GRIDS, "few", Grid((2,), (2, 4), (stages.GRIDS["small"].weights[0],)))
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    (mine,) = load_file(path).CLAIMS

    def found(claim, examine, jobs):
        result = examine(Case(claim, READINGS["plain"], "few", 0, Suite(()), each=partial(in_order, jobs=jobs)))
        return result.lines, [verdict.to_json() for verdict in result.verdicts]

    for examined in ((load_file(FOLDER / "true.py").DRIFT, stages.certificates), (mine, stages.search)):
        assert found(*examined, 1) == found(*examined, 2)


def test_a_search_that_was_stopped_goes_on_with_the_arms_that_are_left(monkeypatch, tmp_path):
    few = Budget("few", 3, 4, 1, (2,), (1,), 5, 1000, 30, rungs=2, seconds=0.3)
    monkeypatch.setitem(BUDGETS, "few", few)
    claim, out, searched = claim_named("sharper-step"), tmp_path / "found.json", []
    state = tmp_path / "found.json.state"
    whole = fedbounds.refute(claim, "repaired", "few")[0]
    original = search_for.run_arm

    def counted(search, task):
        if len(searched) == stop:
            raise KeyboardInterrupt
        searched.append(task)
        return original(search, task)

    monkeypatch.setattr(search_for, "run_arm", counted)
    stop = 3
    with pytest.raises(KeyboardInterrupt):
        fedbounds.refute(claim, "repaired", "few", out=out)
    kept, stop = state.read_text(), -1
    assert fedbounds.refute(claim, "repaired", "few", out=out)[0] == whole and not state.exists()
    tasks = len(searched)
    assert len({str(task) for task in searched}) == tasks > 3  # none twice
    for changed, seed in ((kept.replace('"rung": 0', '"rung": 7'), 0), (kept, 1)):  # outcomes of other tasks
        state.write_text(changed)
        searched.clear()
        fedbounds.refute(claim, "repaired", "few", out=out, seed=seed)
        assert len(searched) == tasks
    state.write_text("[1]")
    with pytest.raises(InputError, match="as fedbounds writes it"):
        fedbounds.refute(claim, "repaired", "few", out=out)


# What a process runs that is stopped at its third setting.
WAITING = """
import time
from pathlib import Path
from fedbounds.plugins import load_file
from fedbounds.referee import limit_cases, stages, trial

def waiting(claim, place, certificate=stages._certificate, done=[]):
    done.append(place)
    if len(done) > 2:
        Path(__file__).with_suffix(".waits").touch()
        time.sleep(600)
    return certificate(claim, place)

limit_cases.STEPS = limit_cases.STEPS[:1]
stages._certificate = waiting
trial.STAGES = tuple(step for step in trial.STAGES if step.name in ("read back", "sanity", "certificates"))
"""


def test_a_trial_that_is_stopped_keeps_what_it_found(tmp_path):
    theorem, out = tmp_path / "one.py", tmp_path / "out"
    theorem.write_text(f"{WAITING}CLAIMS = (load_file({str(FOLDER / 'true.py')!r}).DRIFT,)\n")
    command = [sys.executable, "-m", "fedbounds.cli", "referee", str(theorem), "--out", str(out)]
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with keyboard.heeded():
        running = subprocess.Popen(command, env=os.environ | path, stdout=subprocess.PIPE, text=True)
    while not theorem.with_suffix(".waits").exists():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and "(interrupted in certificates)" in said
    done = json.loads((out / "drift-tight-plain.json").read_text())
    assert [item["name"] for item in done["stages"]] == ["read back", "sanity"] and not done["finished"]


def planted(monkeypatch):
    """A proof of everything."""

    def proves(claim, reading):
        return Verdict(
            claim.key, reading.name, Evidence.SYMBOLIC, Status.HOLDS, detail="planted", coverage=Coverage()
        )

    monkeypatch.setattr(stages, "PROVERS", (proves,))


def test_a_refutation_of_what_is_proved_is_an_alarm(monkeypatch, tmp_path):
    planted(monkeypatch)
    false = load_file(FOLDER / "false.py").GRADIENT
    results = try_claim(false, suite=Suite(REGIMES[:1]))
    assert results.outcome is Outcome.CONTRADICTION and len(results.alarms) == 1
    first, second, third = show.verdict(results)
    assert first == "2/L [plain]: CONTRADICTION."
    assert "PROVED (own checker)" in second and "REFUTED there by exact evidence" in second
    assert third.startswith("Trust neither") and "one of them is wrong" in second
    path = tmp_path / "one.py"
    path.write_text(
        f"from fedbounds.plugins import load_file\nCLAIMS = (load_file({str(FOLDER / 'false.py')!r}).GRADIENT,)\n"
    )
    result = CliRunner().invoke(main, ["referee", str(path), "--quiet"])
    assert result.exit_code == CONTRADICTION and "CONTRADICTION" in result.stdout


def test_a_proof_elsewhere_is_no_contradiction():
    false = load_file(FOLDER / "false.py").GRADIENT
    result = try_claim(false, suite=Suite(REGIMES[:1]))
    elsewhere = replace(
        Verdict(false.key, "plain", Evidence.SYMBOLIC, Status.HOLDS), coverage=Coverage({"kappa": frozenset({7})})
    )
    both = replace(result, stages=(*result.stages, replace(result.stages[0], verdicts=(elsewhere,))))
    assert both.outcome is Outcome.FALSE


def test_a_part_in_rocq_does_not_hide_a_whole_proof_of_ours():
    claim = load_file(FOLDER / "true.py").DRIFT
    ours = Verdict(claim.key, "plain", Evidence.SYMBOLIC, Status.HOLDS, coverage=Coverage())
    part = replace(ours, evidence=Evidence.KERNEL, coverage=Coverage({"kappa": frozenset({7})}))
    trial = Trial(claim, "plain", "small", 0, (Stage("proof", 0.0, (), (part, ours)),), finished=True)
    assert trial.outcome is Outcome.PROVED and trial.whole_proof is ours and trial.proof is part
    assert replace(trial, stages=(Stage("proof", 0.0, (), (part,)),)).outcome is Outcome.OPEN


def test_a_slip_that_still_followed_from_a_proved_claim_would_be_an_alarm(monkeypatch):
    known = claim_named("lemma-1")
    tighter = replace(known, key="mine", terms={name: term * mu / (2 * mu) for name, term in known.terms.items()})
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.FALSE
    monkeypatch.setattr(implication, "never_negative", lambda *ignored: True)
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.CONTRADICTION
