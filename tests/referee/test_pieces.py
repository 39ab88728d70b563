"""A trial of several processes, one that is killed, and one in which two kinds of evidence contradict each other."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import keyboard
import pytest
from click.testing import CliRunner

from fedbounds.cli.adapter import CONTRADICTION
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.plugins import claim_named, load_file
from fedbounds.referee import implication, limit_cases, stages, trial
from fedbounds.referee.certificate_settings import Grid, settings
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.referee.search.populations import BUDGETS, Budget
from fedbounds.referee.stage_context import WorkItems
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.report import trial_text as show
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


def found_with(claim, **pieces):
    case = stages.Case(claim, READINGS["plain"], "small", 0, Suite(()), work=WorkItems(**pieces))
    result = [stages.certificates(replace(case, budget="few")), stages.search(replace(case, budget="few"))]
    return [(item.lines, [verdict.to_json() for verdict in item.verdicts]) for item in result]


def test_any_number_of_processes_finds_the_same_bits(monkeypatch, tmp_path):
    few = Budget("few", 3, 4, 1, (2,), (1,), 5, 1000, 30, rungs=2, seconds=0.3)
    monkeypatch.setitem(BUDGETS, "few", few)
    monkeypatch.setitem(stages.GRIDS, "few", Grid((2, 10), (2,), (stages.GRIDS["small"].weights[0],)))
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    tried = (load_file(FOLDER / "true.py").DRIFT, *load_file(path).CLAIMS)
    here = [found_with(claim) for claim in tried]
    # One after the other, so that processes are started once.
    assert [found_with(claim, jobs=2) for claim in tried] == here


def test_pieces_are_kept_for_this_trial_and_stage_alone(tmp_path):
    file, asked = tmp_path / "pieces.json", []

    def square(x):
        asked.append(x)
        if x == 2 and asked.count(2) == 1:
            raise KeyboardInterrupt
        return x * x

    mine = WorkItems({"claim": "a"}, file)
    with pytest.raises(KeyboardInterrupt):
        list(mine.each("s", square, range(4)))
    assert list(mine.each("s", square, range(4))) == [0, 1, 4, 9] and asked == [0, 1, 2, 2, 3]
    for other, stage in ((WorkItems({"claim": "b"}, file), "s"), (mine, "another")):
        assert list(other.each(stage, square, range(1))) == [0]
    assert asked[5:] == [0, 0]


def test_a_piece_stands_only_where_it_leaves_this_claim_open(monkeypatch, tmp_path):
    monkeypatch.setitem(stages.GRIDS, "few", Grid((2, 10), (2,), (stages.GRIDS["small"].weights[0],)))
    claim, file, computed = load_file(FOLDER / "true.py").DRIFT, tmp_path / "pieces.json", []
    case = stages.Case(claim, READINGS["plain"], "few", 0, Suite(()), work=WorkItems({"claim": "a"}, file))
    places = [setting.to_json() for setting in settings(claim, case.reading, stages.GRIDS["few"])]
    keys = [case.work.key("certificates", place) for place in places]
    fresh = case.verdict(Evidence.SDP, Status.UNDECIDED, "computed")

    def compute(claim, place):
        computed.append(place)
        return fresh.to_json()

    monkeypatch.setattr(stages, "_certificate", compute)
    open_ = replace(fresh, detail="of the file", data={"setting": places[1]})
    for kept, again in (
        (open_, 1),
        (replace(open_, evidence=Evidence.KERNEL), 2),
        (replace(open_, status=Status.HOLDS), 2),
        (replace(open_, status=Status.REFUTED), 2),
        (replace(open_, claim="other"), 2),
        (replace(open_, reading="sync"), 2),
        (replace(open_, data={"setting": places[0]}), 2),
    ):
        result = [item.to_json() for item in (replace(fresh, evidence=Evidence.KERNEL), kept)]
        file.write_text(json.dumps(dict(zip(keys, result, strict=True))))
        computed.clear()
        said = stages.certificates(case)
        assert len(computed) == again and {v.evidence for v in said.verdicts} == {Evidence.SDP}
    file.write_text(json.dumps(dict.fromkeys(keys, 1)))
    with pytest.raises(InputError, match="as fedbounds writes it"):
        stages.certificates(case)


# Few instances and settings; the process that is to be stopped waits before its third setting.
FEW_PIECES = """
import os, time
from fedbounds.plugins import load_file
from fedbounds.referee import certificate_settings, limit_cases, stages, trial

def waiting(claim, place, certificate=stages._certificate, done=[]):
    done.append(place)
    time.sleep(600 * (len(done) > 2))
    return certificate(claim, place)

limit_cases.STEPS = limit_cases.STEPS[:2]
stages.GRIDS["small"] = certificate_settings.Grid((2, 10), (2, 4), (stages.GRIDS["small"].weights[0],))
if os.environ.get("WAITS"):
    stages._certificate = waiting
"""
KEPT = ("read back", "known", "sanity", "certificates")
STOP = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1", "WAITS": "yes"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_trial_that_is_stopped_keeps_what_it_found(tmp_path, monkeypatch, how):
    theorem = tmp_path / "one.py"
    shipped = f"load_file({str(FOLDER / 'true.py')!r}).DRIFT"
    for module, name in ((limit_cases, "STEPS"), (trial, "STAGES")):  # put back what the file changes here
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setitem(stages.GRIDS, "small", stages.GRIDS["small"])
    theorem.write_text(
        FEW_PIECES + f"trial.STAGES = tuple(s for s in trial.STAGES if s.name in {KEPT})\nCLAIMS = ({shipped},)\n"
    )
    out, state = tmp_path / "out", tmp_path / "out" / "drift-tight-plain.json"
    command = [sys.executable, "-m", "fedbounds.cli", "referee", str(theorem), "--out", str(out)]
    with keyboard.heeded():
        running = subprocess.Popen(
            command, env=os.environ | STOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    pieces = state.with_suffix(".pieces.json")
    for _ in range(6000):
        if pieces.exists() and len(json.loads(pieces.read_text())) > 1:
            break
        time.sleep(0.02)
    running.send_signal(how)
    said, _ = running.communicate(timeout=60)
    done, kept = json.loads(state.read_text()), json.loads(pieces.read_text())
    assert [item["name"] for item in done["stages"]][:3] == ["read back", "known", "sanity"]
    if how is signal.SIGINT:
        assert running.returncode == 130 and "the same call continues" in said
    asked = []

    def counted(claim, place):
        asked.append(place)
        return original(claim, place)

    original, claim = stages._certificate, load_file(theorem).CLAIMS[0]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stages, "_certificate", counted)
        again = try_claim(claim, "plain", state=state, suite=Suite(REGIMES[:1]))
    assert again.finished and all(key.startswith("certificates/") for key in kept)
    proved = [item for item in kept.values() if item["status"] == "HOLDS"]
    assert len(asked) == 4 - len(kept) + len(proved)  # a proof in a file is found again
    assert set(kept) < set(json.loads(pieces.read_text()))


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
    state = tmp_path / "state.json"
    try_claim(false, suite=Suite(REGIMES[:1]), state=state)
    assert try_claim(false, suite=Suite(REGIMES[:1]), state=state).outcome is Outcome.CONTRADICTION
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


def test_a_slip_that_still_followed_from_a_proved_claim_would_be_an_alarm(monkeypatch):
    known = claim_named("lemma-1")
    tighter = replace(known, key="mine", terms={name: term * mu / (2 * mu) for name, term in known.terms.items()})
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.FALSE
    monkeypatch.setattr(implication, "never_negative", lambda *ignored: True)
    assert try_claim(tighter, suite=Suite(REGIMES[:1])).outcome is Outcome.CONTRADICTION
