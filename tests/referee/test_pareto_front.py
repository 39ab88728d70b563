"""How small a claim's constants can be together."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from fedbounds.evidence.sdp.one_step.coverage import setting_with_stated_steps
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.evidence.sdp.one_step.verdict import examine
from fedbounds.plugins import claim_named
from fedbounds.referee import certificate_settings
from fedbounds.referee.certificate_settings import KAPPA, TAU, WEIGHTS, front, in_kappa, kappa
from fedbounds.referee.sharpen import TOGETHER, Sharpening
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

HOW = READINGS["repaired"]
EVEN, SKEWED = (Fraction(1, 2),) * 2, (Fraction(9, 10), Fraction(1, 10))


@pytest.fixture(scope="module")
def points():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(certificate_settings, "WEIGHTS", WEIGHTS[1:])
        patched.setattr(certificate_settings, "in_kappa", lambda *_: ())
        return list(front(claim_named("sharper-step"), HOW))


def with_constants(constants, stated):
    claim = claim_named("sharper-step")
    terms = {
        name: term * sp.Rational(*constants[name].as_integer_ratio()) / int(stated[name])
        for name, term in claim.terms.items()
        if name in constants
    }
    return replace(claim, key="lowered", terms={**claim.terms, **terms})


def test_every_point_is_certified_and_no_constant_can_be_a_hundredth_smaller(points):
    where = round_setting(tau=TAU, kappa=KAPPA, alpha=SKEWED, p=EVEN, reading=HOW.name)
    setting = setting_with_stated_steps(claim_named("sharper-step"), where)
    assert len(points) == 3 and all(point.where.endswith("(9/10, 1/10)") for point in points)
    for point in points:
        assert examine(with_constants(point.certified, point.stated), setting).status is Status.HOLDS
        for name, value in point.certified.items():
            if 0 < value < point.stated[name]:
                less = {**point.certified, name: value * 99 / 100}
                assert examine(with_constants(less, point.stated), setting).status is not Status.HOLDS


def test_the_table_is_printed_and_nothing_where_there_are_no_certificates(points):
    claim = claim_named("sharper-step")
    text = str(Sharpening(claim, HOW, 0.0, front=points))
    said = json.loads(json.dumps([point.to_json() for point in points]))
    assert {"stated": "1", "certified": "0"} in [point["constants"]["drift"] for point in said]
    assert TOGETHER in text and "gradient as stated, drift 0 (of 1), bias 1.78" in text
    assert not list(front(claim_named("corollary"), HOW))
    assert TOGETHER not in str(Sharpening(claim, HOW, 0.0))


def test_a_constant_is_given_as_a_function_of_kappa_and_none_smaller_is_certified():
    claim = claim_named("lemma-2")
    (curve,) = in_kappa(claim, HOW, WEIGHTS[0])
    assert curve.stated == {"drift": 16}
    constant = curve.certified["drift"]
    assert constant.equals(sp.Rational(4, 9) * ((2 * kappa + 1) / (2 * kappa + sp.Rational(1, 2))) ** 2)
    assert str(curve).endswith("drift 16*(2*kappa + 1)**2/(9*(4*kappa + 1)**2) (of 16)")
    where = setting_with_stated_steps(claim, round_setting(tau=TAU, kappa=7, alpha=EVEN, p=EVEN, reading=HOW.name))
    for share, status in ((1, Status.HOLDS), (sp.Rational(999, 1000), Status.REFUTED)):
        drift = share * constant.subs(kappa, 7) / 16 * claim.terms["drift"]
        assert examine(replace(claim, key="lowered", terms={"drift": drift}), where).status is status
