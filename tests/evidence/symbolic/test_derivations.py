"""Every derivation checks, ends in its claim's own line, and stops checking when any part of it is broken."""

import json
from dataclasses import replace

import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.adapter import click_command
from fedbounds.cli.commands.claims_and_proofs import derive as command
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.derivation import Cited
from fedbounds.evidence.symbolic.render import render_text
from fedbounds.plugins import claims
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from validate import derivations_page
from validate.broken_proofs import accepted, mutants

ALL = symbolic.installed()
PROVED = {
    "fedavg-step": "repaired",
    "cho-2020-step": "repaired",
    "growth-step": "repaired",
    "star-corollary": "repaired",
    "star-step": "repaired",
    "corollary": "repaired",
    "error-free": "repaired",
    "error-free-step": "repaired",
    "error-minimiser": "repaired",
    "final-bound": "repaired",
    "lemma-1": "literal",
    "lemma-2": "repaired",
    "li-2020": "literal",
    "pi-inverse": "literal",
    "pi-max": "literal",
    "pi-ratio": "literal",
    "sharper-corollary": "repaired",
    "sharper-step": "repaired",
    "theorem-1": "repaired",
}


def recheck(derivation):
    """The check of a changed derivation, the ones it cites being as they were."""
    shelf = symbolic.shelf({**ALL, derivation.key: derivation})
    known = symbolic.check_all().items()
    shelf.checked.update({(key, item.reading.name): item for key, item in known if key != derivation.key})
    return symbolic.check(derivation.key, shelf)


def with_step(derivation, position, changed):
    """The derivation up to a step, that step changed."""
    return replace(derivation, steps=(*derivation.steps[:position], changed))


def test_every_step_checks_and_the_claims_are_proved():
    """In one test: two processes would check what is cited twice."""
    for key in sorted(ALL):
        checked = symbolic.checked_named(key)
        assert checked.fault == "" and all(outcome.ok for outcome in checked.outcomes.values()), key
    for key, reading in PROVED.items():
        verdict = symbolic.examine(claims()[key], READINGS[reading])
        assert verdict.status is Status.HOLDS, verdict.detail
        assert verdict.detail.startswith("proved under these assumptions")
        assert_any_changed_term_is_seen(key)


def assert_any_changed_term_is_seen(key):
    """The last line is the claim's own."""
    claim, reading = claims()[key], READINGS[symbolic.derivation_named(key).readings[0]]
    for name, term in claim.terms.items():
        if term != 0:
            changed = replace(claim, terms={**claim.terms, name: sp.sympify(term) * sp.Rational(9, 10)})
            verdict = symbolic.judge(symbolic.checked_named(key), changed, reading)
            assert verdict.status is Status.UNDECIDED and "right side differs" in verdict.detail, (key, name)


@pytest.mark.parametrize("mutant", list(mutants(seed=20, count=20)), ids=lambda m: f"{m.derivation}-{m.kind}")
def test_a_broken_step_is_seen(mutant):
    assert mutant.says_the_same or not accepted(mutant)


@pytest.mark.parametrize("key", ["theorem-1", "pi-ratio"])
def test_a_proof_is_of_its_own_reading(key):
    """A proof relabelled for another reading does not check there, and one of all readings checks in each."""
    derivation = ALL[key]
    for reading in READINGS:
        verdict = symbolic.judge(
            recheck(replace(derivation, readings=(reading,))), claims()[derivation.claim], READINGS[reading]
        )
        assert (verdict.status is Status.HOLDS) == (reading in derivation.readings)


@pytest.mark.parametrize("key", ["theorem-1-from-lemma-2", "lemma-2", "induction", "pi-max"])
def test_a_missing_condition_is_seen(key):
    conditions = ALL[key].conditions
    assert all(
        recheck(replace(ALL[key], conditions=tuple(set(conditions) - {condition}))).fault for condition in conditions
    )


def test_lemma_2_needs_slow_decay_except_on_its_schedule():
    assert "slow-decay" in symbolic.checked_named("lemma-2").assumptions
    schedule = symbolic.checked_named("lemma-2-schedule")
    assert "slow-decay" not in schedule.assumptions
    assert "slow-decay" not in symbolic.checked_named("corollary").assumptions
    assert "slow-decay" in symbolic.checked_named("theorem-1").assumptions


def test_a_citation_without_its_discharge_brings_the_condition():
    derivation = ALL["corollary"]
    position, step = next((k, s) for k, s in enumerate(derivation.steps) if s.label == "recursion")
    uses = tuple((m, replace(f, discharged={}) if isinstance(f, Cited) else f) for m, f in step.because)
    checked = recheck(with_step(derivation, position, replace(step, because=uses)))
    assert {"small-steps", "lemma-2"} <= checked.assumptions


def test_the_misprints_of_the_paper_are_displayed_with_their_differences():
    shown = {(d.key, s.label) for d in ALL.values() for s in d.steps if s.paper is not None}
    assert shown == {
        ("theorem-1-appendix", "A1"),
        ("theorem-1-appendix", "A1-drift"),
        ("fedavg-speed", "corrected"),
        ("error-by-pi-corrected", "conclude"),
    }
    text = render_text(symbolic.checked_named("theorem-1-appendix"))
    assert "the paper has:" in text and "correction: Lemma 2 gives 16" in text


def run(*arguments):
    return CliRunner().invoke(click_command(command), arguments, catch_exceptions=False)


def test_command_prints_a_proof_by_claim_or_derivation():
    assert "✓ 1. [lemma-2]" in run("theorem-1").output
    assert run("lemma-2-schedule").output.startswith("lemma-2-schedule: ")
    data = json.loads(run("theorem-1", "--format", "json").output)
    assert data["verdict"]["status"] == "HOLDS" and all(step["checked"] for step in data["steps"])


def test_command_table():
    lines = run("--all").output.splitlines()
    assert len(lines) == 1 + len(ALL)
    assert len(json.loads(run("--all", "--format", "json").output)) == len(ALL)


def test_the_documented_table_is_current():
    assert derivations_page.PAGE.read_text() == derivations_page.page()
