"""The strongest form of a proved claim."""

import importlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.plugins import claim_named
from fedbounds.referee import theorems
from fedbounds.referee.implication import SLACK, Shipped, conditions, never_negative
from fedbounds.referee.sharpen import Sharpening
from fedbounds.referee.theorems import sharpen
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.reading import READINGS

LOOSE = Claim(
    "loose", "", "", "step", s.gap_t, {"gradient": mean_slope_sq / s.mu},
    assumptions=(a.strongly_convex, a.small_steps),
)  # fmt: skip


@pytest.fixture
def coarse(monkeypatch):
    """What is left of a term is found to a fiftieth."""
    monkeypatch.setattr(importlib.import_module("fedbounds.referee.sharpen"), "NEAR", sp.Rational(1, 50))


@pytest.fixture(autouse=True)
def without_front(monkeypatch):
    """The front has tests of its own."""
    monkeypatch.setattr(theorems, "front", lambda *_: ())


@pytest.fixture
def inherited_only(monkeypatch):
    """What is sharpened by a few shipped proofs alone, without the prover."""
    few = {key: claim_named(key) for key in ("theorem-1", "sharper-step", "lemma-2", "drift-any-steps")}
    monkeypatch.setattr(automatic, "examine", lambda claim, reading: None)
    monkeypatch.setattr(importlib.import_module("fedbounds.referee.sharpen"), "claims", lambda: few)


def test_what_a_claim_does_not_need_is_left_out_and_a_tight_constant_stays(coarse):
    result = sharpen(LOOSE, seconds=60)
    assert result.finished
    assert result.claim.rhs.equals(mean_slope_sq / (2 * s.mu))
    assert result.claim.assumptions == (a.strongly_convex,)
    assert "a sharper statement is PROVED." in str(result)
    assert result.never_needed[0] == "mean_slope_sq/(2*mu)" and "Never needed: mean_slope_sq/(2*mu)" in str(result)
    said = json.loads(json.dumps(result.to_json()))
    assert said["never needed"] == list(result.never_needed) and said["proved"] and said["finished"]
    assert sp.sympify(said["terms"]["gradient"]).equals(sp.Symbol("mean_slope_sq") / (2 * sp.Symbol("mu")))


def test_of_what_is_not_proved_the_smallest_multiple_of_some_that_is():
    kept = []
    quarter = replace(LOOSE, terms={"gradient": mean_slope_sq / (4 * s.mu)})
    result = Sharpening.within(60.0, quarter, READINGS["plain"], progress=kept.append)
    assert result.begin()
    assert "not proved as stated; this statement is PROVED" in str(result)
    assert result.claim.rhs.equals(mean_slope_sq / (2 * s.mu))
    assert kept == result.changes and kept[0] == "2 times the right side" and not result.never_needed


def test_the_longest_steps_are_found(inherited_only, coarse):
    short = replace(claim_named("theorem-1"), repair=None, readings=("repaired",))
    short = replace(short, assumptions=(*short.assumptions, a.slow_decay, a.quarter_steps))
    terms = {name: short.terms[name] for name in ("contraction", "bias")}
    terms["drift"] = s.eta**2 * (16 * s.tau**2 + 1) * s.G_sq
    result = Sharpening.within(60.0, replace(short, terms=terms), READINGS["repaired"])
    assert result.begin()
    result.longer_steps()
    assert result.changes == ["eta_t <= 1/L in place of eta_t <= 1/(4L)"]  # up to a fiftieth no longer ones


def test_a_limit_on_how_steps_fall_is_put_in_where_it_bounds_the_ratio():
    claim, how = claim_named("lemma-2"), READINGS["repaired"]
    shipped = Shipped([claim, claim_named("drift-any-steps")])
    for number, proved in ((16, True), (15, False)):
        drift = number * s.eta**2 * (s.tau - 1) ** 2 * s.G_sq
        assert (shipped.proof(replace(claim, terms={"drift": drift}), how) is not None) is proved
    free = replace(claim, terms={"drift": drift}, repair=None, assumptions=(a.bounded_gradient,), eta=None)
    assert s.eta_ratio not in conditions(free, how) and shipped.proof(free, how) is None


@pytest.mark.parametrize("name", ["rate", "theorem-9"])
def test_what_is_not_proved_is_refused(name):
    with pytest.raises(InputError):
        sharpen(name)


def test_a_shipped_claim_that_is_sharper_is_named():
    kept = 1 - 2 * s.eta * s.mu * s.L / (s.L + s.mu)
    fedavg = claim_named("fedavg-step")
    terms = {"kept": kept * s.Delta, "noise": s.eta**2 * s.sigma_sq}
    nesterov = replace(fedavg, key="nesterov", terms=terms, assumptions=(*fedavg.assumptions, a.one_local_step))
    shipped = Shipped([fedavg, claim_named("stich-2019-step")])
    (sharper,) = shipped.sharper(nesterov, READINGS["repaired"])
    assert sharper.startswith("fedavg-step is sharper: Delta_next <= ")
    assert not list(shipped.sharper(fedavg, READINGS["repaired"]))


def test_theorem_1_needs_neither_variance_nor_heterogeneity_and_of_the_drift_half(inherited_only):
    claim = claim_named("theorem-1")
    found = sharpen("theorem-1")
    assert found.sharper[0].startswith("sharper-step with lemma-2 is sharper")
    drift = s.eta**2 * (16 * (s.tau - 1) ** 2 + 1) * s.G_sq
    contraction = (1 - s.eta * s.mu * (1 + s.rho_bar)) * s.Delta
    assert found.finished and (found.claim.rhs - drift - contraction - claim.terms["bias"]).equals(0)
    assert a.bounded_variance not in found.claim.assumptions and a.small_steps in found.claim.assumptions
    said = {sp.sympify(term, {str(x): x for x in claim.rhs.free_symbols}) for term in found.never_needed[:4]}
    assert {s.eta**2 * s.sigma_sq, 6 * s.eta**2 * s.L * s.rho_bar * s.Gamma} < {sp.expand(term) for term in said}
    assert any((term + drift - claim.terms["drift"]).equals(0) for term in said)
    page = Path(__file__).resolve().parents[2] / "docs/sdp.md"
    assert "In place of the 32τ² of Theorem 1 it proves 16(τ - 1)² + 1." in page.read_text()


def test_what_may_be_negative_is_not_said_never_to_be():
    assert not never_negative(s.Delta_0 - s.tau, {})
    assert never_negative(s.Delta_0 * (s.L - s.mu), {s.L: s.mu + SLACK[0]})
