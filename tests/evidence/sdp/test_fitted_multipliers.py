"""Multipliers over an interval that are found: of shipped certificates, of a claim of one's own, and tampered."""

import random
from fractions import Fraction as F
from pathlib import Path

import pytest

from fedbounds.evidence.sdp.one_step.certificate import Certificate, check, read
from fedbounds.evidence.sdp.one_step.coverage import round_settings
from fedbounds.evidence.sdp.one_step.fitted_multipliers import fitted
from fedbounds.evidence.sdp.one_step.verdict import examination
from fedbounds.evidence.sdp.rational_functions import rational
from fedbounds.io import convert, plain
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Delta, Delta_next, drift, eta, mu, sigma_sq
from fedbounds.theory.symbols import L as smoothness
from fedbounds.theory.verdict import Status

FILE = Path(__file__).resolve().parents[3] / "derivations" / "certificates" / "parametric.jsonl"
SHIPPED = {item.name.removeprefix("parametric-"): item for item in read(FILE)}
FOUND = (
    *("lemma-1", "lemma-2-skewed-tau3", "sharper-step-skewed-tau3", "star-step-one-client-tau3"),
    *("fedavg-step-fedavg-tau3", "fedavg-step-eta-k10", "star-step-eta-skewed-k10", "lemma-2-exact-tau6"),
    *("local-descent-2", "theorem-1-fedavg-tau3", "theorem-1-small-client-tau3"),
)


def again(certificate):
    """The certificate with multipliers that are found."""
    multipliers = fitted(certificate.lhs, certificate.numbers(certificate.rhs), certificate.parameters)
    return convert({**plain(certificate), "multipliers": plain(multipliers)}, Certificate)


@pytest.mark.parametrize("name", FOUND)
def test_shipped_certificates_are_found_again(name):
    result = again(SHIPPED[name])
    assert check(result) == (True, "verified")
    assert len(result.multipliers) <= len(SHIPPED[name].multipliers)


def test_nothing_is_found_for_what_is_false():
    one = SHIPPED["star-step-eta-skewed-k10"]
    less = {name: value * F(9, 10) for name, value in one.numbers(one.rhs).items()}
    assert fitted(one.lhs, less, one.parameters) is None


def test_a_claim_without_known_multipliers_is_certified_over_an_interval():
    """One step towards w* with half of the gap to spare, in no derivation's multipliers."""
    bound = (1 - eta * mu) ** 2 * Delta + 2 * (1 - eta * mu) * eta * smoothness * drift + 2 * eta**2 * sigma_sq
    terms = dict(zip(("contraction", "drift", "noise"), bound.args, strict=True))
    own = Claim("own", "", "", "step", Delta_next, terms, assumptions=claim_named("fedavg-step").assumptions)
    (setting,) = round_settings(own, time=1, tau=2, kappa="1..inf", eta="1/2")
    verdict, certificate = examination(own, setting)
    assert verdict.status is Status.HOLDS and certificate is not None
    assert check(certificate, {"own": own}) == (True, "verified")


def test_tampered_ones_are_refused():
    """A multiplier changed or left out, a constant changed, an end moved beyond where it holds."""
    rng, count = random.Random(5), 0
    for name in ("star-step-eta-skewed-k10", "local-descent-2"):
        result = plain(again(SHIPPED[name]))
        for _ in range(50):
            changed = tampered(result, rng)
            count += 1
            assert not check(convert(changed, Certificate))[0], changed
    assert count == 100


def tampered(data, rng):
    """The document with one number changed, or a multiplier left out."""
    field = rng.choice(("multipliers", "multipliers", "rhs"))
    label = rng.choice(sorted(data[field]))
    number = data[field][label]
    if field == "multipliers" and rng.random() < 0.2:
        return {**data, field: {key: value for key, value in data[field].items() if key != label}}
    if not isinstance(number, dict):
        number = {"num": [number], "den": ["1"]}
    k = rng.randrange(len(number["num"]))
    by = -F(1, rng.choice((10, 1000, 10**9)))
    num = [str(F(value) + by * (j == k)) for j, value in enumerate(number["num"])]
    return {**data, field: {**data[field], label: {**number, "num": num}}}


@pytest.mark.parametrize("high", ["1819/1000"])
def test_an_interval_beyond_the_step_size_is_refused(high):
    data = plain(again(SHIPPED["fedavg-step-eta-k10"]))
    assert not check(convert({**data, "interval": {**data["interval"], "high": high}}, Certificate))[0]


def value(f, point):
    """A function at a point, as flint's."""

    return rational(f.at(point))
