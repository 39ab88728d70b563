"""What a claim may not say, since evaluators would read it differently."""

from dataclasses import replace
from functools import partial

import pytest
import sympy as sp

from fedbounds import certify, check, derive, plugins, referee, refute
from fedbounds.errors import InputError
from fedbounds.plugins import load_file
from fedbounds.referee.implication import follows
from fedbounds.referee.trial import try_claim
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

KNOWN = plugins.claims()
STEP = KNOWN["fedavg-step"]
STEPS = {"scope": "step", "lhs": s.Delta_next}


def test_what_a_run_measures_cannot_be_defined():
    for symbol in (getattr(s, name) for name, item in s.RECORDED.items() if item.recorded):
        with pytest.raises(InputError, match="constants only"):
            replace(STEP, key="mine", definitions={symbol: 2 * symbol})


def test_the_step_size_of_a_claim_is_the_only_assumption_of_its_name():
    taken = Assumption(OWN_STEPS, "eta_t >= 2.1/L", sp.Ge(s.eta * s.L, sp.Rational(21, 10)))
    with pytest.raises(InputError, match="another key"):
        replace(STEP, assumptions=(*STEP.assumptions, taken))
    stated = replace(STEP, eta=1 / s.L)
    assert replace(stated, assumptions=stated.assumptions_in(READINGS["plain"])).assumptions[-1].key == OWN_STEPS


def test_numbers_of_a_claim_are_exact(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import replace\nfrom fedbounds import plugins\n"
        "base = plugins.claims()['fedavg-step']\n"
        "CLAIMS = (replace(base, key='mine', terms={'x': 1.5 * base.rhs}),)\n"
    )
    with pytest.raises(InputError, match="Rational"):
        load_file(path)


def test_a_claim_about_another_algorithm_is_kept_from_the_runs_of_fedavg():
    (other,) = (claim for claim in KNOWN.values() if claim.algorithm == "scaffnew")
    assert other.key not in plugins.on_fedavg(KNOWN) and STEP.key in plugins.on_fedavg(KNOWN)
    result = check("quadratic", claims=other.key, weightings="fedavg", clients=2, rounds=2, replicates=8)
    assert [str(v.failed[0]) for _, v in result.verdicts] == [
        "the algorithm is scaffnew: what is examined here is FedAvg"
    ]
    for search in (partial(refute, other.key), partial(try_claim, other.key)):
        with pytest.raises(InputError, match="must be about FedAvg to be examined here, but received scaffnew"):
            search()
    with pytest.raises(InputError, match="fedbounds compare --claim"):
        referee(other.key)
    with pytest.raises(InputError, match="which has none"):
        derive(other.key)
    with pytest.raises(InputError, match="which speaks of Delta_0, Delta_T, T, eta_0, zeta_star_sq"):
        certify(other.key)
    assert not follows(
        replace(STEP, key="mine"), READINGS["plain"], replace(STEP, algorithm="scaffold"), READINGS["plain"]
    )


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"definitions": {sp.Symbol("g"): 2.0}}, "made of exact numbers, but received 2.0"),
        ({"scope": "steps"}, "did you mean 'step'"),
        ({"lhs": 3, "terms": {"all": 4}}, "needs a quantity on a side, but received 3"),
        ({"lhs": "L"}, "made of sympy expressions"),
        ({"terms": {}}, "needs a term on its right side"),
        ({"terms": (s.L,)}, "the terms of claim k"),
        ({"kind": "equality"}, "the kind of claim k"),
        ({"lhs": s.Delta_next}, "varies over step, but received scope='constant': give scope=\"step\""),
        ({"terms": {"a": sp.Symbol("zeta") * s.mu}}, "must declare its symbols, but received zeta"),
        ({"terms": s.mu + s.eta}, 'write terms={"name": expression'),
        ({"scope": "step", "lhs": s.Delta_next, "terms": {"start": s.gap}}, 'give scope="horizon"'),
        ({**STEPS, "terms": {"a": s.Delta, "b": s.gap_t}, "units": "checked"}, "Delta_next and gap_t have different"),
    ],
)
def test_what_is_no_claim_is_refused_as_it_is_written(parts, says):
    with pytest.raises(InputError) as wrong:
        Claim(
            **{"key": "k", "title": "t", "source": "s", "scope": "constant", "lhs": s.L, "terms": {"a": s.mu}} | parts
        )
    assert says in str(wrong.value) and "\n" not in str(wrong.value)


def test_numbers_that_json_has_no_word_for_are_left_out_of_a_verdict():
    data = {"seen": [1.5, float("inf"), "words", [float("nan"), 2]], "one": 0.25}
    verdict = Verdict("k", "literal", Evidence.EXACT, Status.HOLDS, data=data)
    assert verdict.to_json()["data"] == {"seen": [1.5, None, "words", [None, 2]], "one": 0.25}
