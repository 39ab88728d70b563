"""What is read is validated: no change to a valid file gives a traceback, and none is taken for something else."""

import copy
import json

import made_study
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbounds
from fedbounds.errors import InputError
from fedbounds.io import parse_json
from fedbounds.study import sweep
from fedbounds.study.result import verdicts_from

SMALL = {"rounds": 2, "tau": 2, "replicates": 2, "engine": "reference", "clients": 2, "dimension": 2, "samples": 4}
VERDICTS = [
    made_study.verdict("corollary", "UNDECIDED", tightness=-3.0)
    | {
        "failed": [{"key": "a", "statement": "eta <= 1", "found": "2"}],
        "coverage": {"eta_L": {"low": {"rational": "1/3"}, "high": None}, "gradients": ["full"]},
        "data": {"t": [1, None]},
    }
]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.just(-1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.just("<script>"),
    st.just([]),
    st.just({}),
    st.recursive(st.none(), st.lists, max_leaves=4),
)


def places(value, path=()):
    """The path to every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


PLACES = list(places(VERDICTS))[1:]


def refused_or_read(text):
    """The verdicts that ``text`` describes, or the one sentence that says why there are none."""
    try:
        result = verdicts_from(parse_json(text, "verdicts.json"))
    except InputError as wrong:
        assert "\n" not in str(wrong)
        return str(wrong)
    # What was taken is written, and read, as it was taken.
    again = [verdict.to_json() for verdict in result]
    assert [verdict.to_json() for verdict in verdicts_from(json.loads(json.dumps(again, allow_nan=False)))] == again
    return result


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(PLACES), JUNK, st.booleans())
def test_no_changed_value_of_stored_verdicts_gives_a_traceback(path, junk, removed):
    value = copy.deepcopy(VERDICTS)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    if removed:
        del inside[path[-1]]
    else:
        inside[path[-1]] = junk
    refused_or_read(json.dumps(value))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "Expected `array`, got `object`"),
        ("[{}]", "missing required field `claim`"),
        (json.dumps([VERDICTS[0] | {"status": "PROVED"}]), "'PROVED'"),
        (json.dumps([VERDICTS[0] | {"tightness": "1"}]), "tightness"),
        (json.dumps([VERDICTS[0] | {"coverage": {"kapa": ["full"]}}]), "no axis"),
        (json.dumps([VERDICTS[0] | {"coverage": {"kappa": [{"rational": "1/0"}]}}]), "Fraction(1, 0)"),
        (json.dumps([VERDICTS[0] | {"coverage": {"kappa": [{"rational": "1e99999999"}]}}]), "rational"),
        ("[" * 10**6, "recursion depth"),
        ('{"a":' * 10**6, "recursion depth"),
        ('[{"claim": ' + "1" * 10**5 + "}]", "out of range"),
        ('[{"claim": "a", "claim": "a"}]', "'claim' twice"),
        ('[{"margin": NaN}]', "invalid character"),
        ('[{"margin": 1e400}]', "out of range"),
        ("", "JSON"),
    ],
)
def test_what_is_no_list_of_verdicts_is_refused_in_one_sentence(text, says):
    said = refused_or_read(text)
    assert isinstance(said, str) and says in said


SWEEP = """
[base]
problem = "quadratic"
rounds = 6
claims = ["theorem-1"]
[grid]
data = ["quadratics:0", "quadratics:1"]
weightings = ["fedavg", ["fedmax", "fedsoftmax:1"]]
p = [[0.5, 0.5], [0.25, 0.75]]
"""


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, len(SWEEP)),
    st.integers(0, 20),
    st.text(max_size=4) | st.sampled_from(["\n", "[", "{", '"', "inf", "1e999", "9" * 5000, "[[grid]]", "= []"]),
)
def test_no_changed_text_of_a_sweep_gives_a_traceback(start, length, put):
    try:
        sweep.parse_grid(SWEEP[:start] + put + SWEEP[start + length :])
    except InputError as wrong:
        assert "\n" not in str(wrong)


def test_what_was_given_as_an_object_is_named_and_not_described_as_another_problem():
    from fedbounds.problems.quadratic import quadratic
    from fedbounds.weightings.fedmax import FedMax

    def largest(p, excess, round, stream):
        return np.eye(2)[excess.argmax(axis=-1)]

    problem = quadratic(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]]), np.array([0.4, 0.6]))
    result = fedbounds.check(
        problem, weightings=[largest, FedMax(1)], claims=["sharper-step"], rounds=2, replicates=1
    )
    assert result.objects == ("problem", "weighting largest", "weighting fedmax")
    told = result.to_json()
    assert not {"problem", "data", "clients", "noise_std"} & set(told["settings"]) and told["settings"]["rounds"] == 2
    assert fedbounds.check("quadratic", weightings=["fedmax"], claims="lemma-1", **SMALL).objects == ()


def offering(**parts):
    names = {"key": "'mine'", "scope": "'constant'", "readings": "('literal',)", "assumptions": "()"} | parts
    return (
        "from fedbounds.theory.claim import Claim\nfrom fedbounds.theory.symbols import rho_bar, rho_tilde\n"
        "CLAIMS = (Claim({key}, 'Mine', 'me', {scope}, rho_bar, {{'skew': rho_tilde}}, readings={readings}, "
        "assumptions={assumptions}),)\n".format(**names)
    )


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1", "must define one of CLAIMS, WEIGHTING, ALGORITHM, PROBLEM, DERIVATIONS"),
        ("CLAIMS = 3", "tuple of claims"),
        ("CLAIMS = ('theorem-1',)", "tuple of claims"),
        ("WEIGHTING = 'fedavg'", "must be a WeightingPlugin"),
        ("PROBLEM = 'quadratic'", "must be a ProblemPlugin"),
        (offering(key="'theorem-1'"), "'theorem-1', which exists"),
        (offering(readings="('litteral',)"), "did you mean 'literal'"),
        (offering(readings="()"), "needs a reading"),
        (offering(assumptions="('L >= mu',)"), "must be an Assumption"),
        (offering(key="3"), "the key of claim 3"),
        ("import sympy as sp\n" + offering().replace("'skew': rho_tilde", "'skew': sp.Symbol('rho_tilde')"),
         "must be the claims' own"),
        ("from fedbounds.weightings.fedavg import WEIGHTING as W\nfrom dataclasses import replace\n"
         "WEIGHTING = replace(W)", "'fedavg', which exists"),
        ("from fedbounds.problems.quadratic import PROBLEM as P\nfrom dataclasses import replace\n"
         "PROBLEM = replace(P, key='pl')\nPROBLEM = replace(P)", "'quadratic', which exists"),
        ("def", "SyntaxError"),
        ("\x00", "plug-in"),
    ],
)  # fmt: skip
def test_a_plugin_that_could_be_misunderstood_is_refused_in_one_sentence(source, says, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(InputError) as wrong:
        fedbounds.check(plugins=[str(path)], **SMALL)
    assert says in str(wrong.value) and "\n" not in str(wrong.value)
