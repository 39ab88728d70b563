"""What is read is validated: no change to a valid file gives a traceback, and none is taken for something else."""

import copy
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_study import save, study

import fedbounds
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.io import parse_json
from fedbounds.study import saved_study, study_file
from fedbounds.study.result import Result

SMALL = {"rounds": 2, "tau": 2, "replicates": 2, "engine": "reference", "clients": 2, "dimension": 2, "samples": 4}
COVERED = {
    "failed": [{"key": "a", "statement": "eta <= 1", "found": "2"}],
    "coverage": {"eta_L": {"low": {"rational": "1/3"}, "high": None}, "gradients": ["full"]},
    "data": {"t": [1, None]},
}
VALUE, ARRAYS = study(("a",), R=2, K=9)
VALUE["runs"][0]["verdicts"][0] |= COVERED
FOUND = Result.from_json(VALUE).to_json()
TEXT = json.dumps(FOUND)
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


PLACES = list(places(FOUND))[1:]


def refused_or_read(text):
    """The result that ``text`` describes, or the one sentence that says why there is none."""
    try:
        result = Result.from_json(parse_json(text, "result.json"))
    except InputError as wrong:
        assert "\n" not in str(wrong)
        return str(wrong)
    # What was taken is written, and read, as it was taken.
    again = result.to_json()
    assert Result.from_json(json.loads(json.dumps(again, allow_nan=False))).to_json() == again
    return result


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), JUNK, st.booleans())
def test_no_changed_value_of_a_result_gives_a_traceback(path, junk, removed):
    value = copy.deepcopy(FOUND)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    if removed:
        del inside[path[-1]]
    else:
        inside[path[-1]] = junk
    refused_or_read(json.dumps(value))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 20), st.text(max_size=4) | st.sampled_from(['"', "{", "]", "1e999"]))
def test_no_changed_text_of_a_result_gives_a_traceback(start, length, put):
    refused_or_read(TEXT[:start] + put + TEXT[start + length :])


def changed(**parts):
    return json.dumps(FOUND | parts)


VERDICT = FOUND["runs"][0]["verdicts"][0]


def with_verdict(**parts):
    return changed(runs=[FOUND["runs"][0] | {"verdicts": [VERDICT | parts]}])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "Expected `object`, got `array`"),
        ("null", "Expected `object`, got `null`"),
        ('{"format": 2}', "missing required field `problem`"),
        (changed(runs=[]), "length >= 1"),
        (changed(format=3), "format 3"),
        (changed(runs=None), "$.runs"),
        (with_verdict(status="PROVED"), "'PROVED'"),
        (with_verdict(tightness="1"), "tightness"),
        (with_verdict(reading="inf"), "'inf'"),
        (with_verdict(coverage={"kapa": ["full"]}), "no axis"),
        (with_verdict(coverage={"kappa": [{"rational": "1/0"}]}), "Fraction(1, 0)"),
        (with_verdict(coverage={"kappa": [{"rational": "1e99999999"}]}), "rational"),
        (changed(settings={"tau": 0}), "tau must be"),
        (changed(settings={"rounds": 5, "roundz": 5}), "did you mean 'rounds'"),
        (changed(problem=FOUND["problem"] | {"N": 4}), "as many entries"),
        (changed(plugin_files=[{"path": "a.py", "sha256": "0", "source": "1"}]), "SHA-256"),
        ("[" * 10**6, "recursion depth"),
        ('{"a":' * 10**6, "recursion depth"),
        ('{"format": ' + "1" * 10**5 + "}", "out of range"),
        ('{"format": 2, "format": 2}', "'format' twice"),
        ('{"format": NaN}', "invalid character"),
        ('{"format": 1e400}', "out of range"),
        ("", "JSON"),
    ],
)
def test_what_is_no_result_is_refused_in_one_sentence(text, says):
    said = refused_or_read(text)
    assert isinstance(said, str) and says in said


def test_a_result_of_the_layout_without_a_number_is_read():
    old = {name: value for name, value in VALUE.items() if name not in ("format", "objects", "plugin_files")}
    assert Result.from_json(old).to_json() == FOUND


@pytest.mark.parametrize("command", ["report", "plot", "ledger"])
@pytest.mark.parametrize("text", ["null", "[]", "[" * 10**6, '{"runs": []}'])
def test_every_command_refuses_what_is_no_result(command, text, tmp_path):
    out = save(tmp_path / "study", VALUE, ARRAYS)
    (out / "result.json").write_text(text)
    extra = ["--out", str(tmp_path / "r.html")] if command == "report" else []
    done = CliRunner().invoke(main, [command, str(out), *extra])
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1 and done.stdout == ""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_damage_to_the_arrays_gives_a_traceback(tmp_path, data):
    out = save(tmp_path / "study", VALUE, ARRAYS)
    path = out / saved_study.TRAJECTORIES
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:at])
    else:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    try:
        saved_study.read(out)
    except InputError as wrong:
        assert "\n" not in str(wrong)


def test_arrays_of_another_study_or_shape_are_refused(tmp_path):
    out = save(tmp_path / "study", VALUE, ARRAYS)
    (out / "result.json").write_text(changed(versions={"fedbounds": "1"}))
    with pytest.raises(InputError, match="another study"):
        saved_study.read(out)
    result, series = Result.from_json(FOUND), saved_study.read(save(out, VALUE, ARRAYS))[1]
    from dataclasses import replace

    saved_study.keep(result, (replace(series[0], rho=series[0].rho[:, 1:]),), out)
    with pytest.raises(InputError, match="differ in length"):
        saved_study.read(out)
    saved_study.keep(result, (replace(series[0], gap=series[0].gap.astype(int)),), out)
    with pytest.raises(InputError, match="int64"):
        saved_study.read(out)
    np.save(out / "a.npy", np.zeros(3))
    (out / saved_study.TRAJECTORIES).write_bytes((out / "a.npy").read_bytes())
    with pytest.raises(InputError, match="arrays of"):
        saved_study.read(out)
    (out / saved_study.TRAJECTORIES).unlink()
    with pytest.raises(InputError, match="must exist"):
        saved_study.read(out)


SWEEP = """
[base]
problem = "quadratic"
rounds = 6
claims = ["theorem-1"]
[grid]
data = ["quadratics:0", "quadratics:1"]
weightings = ["fedavg", ["fedmax", "fedsoftmax:1"]]
p = [[0.5, 0.5], [0.25, 0.75]]
[[exclude]]
data = "quadratics:0"
weightings = "fedavg"
"""


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, len(SWEEP)),
    st.integers(0, 20),
    st.text(max_size=4) | st.sampled_from(["\n", "[", "{", '"', "inf", "1e999", "9" * 5000, "[[exclude]]", "= []"]),
)
def test_no_changed_text_of_a_sweep_gives_a_traceback(start, length, put):
    try:
        study_file.parse_grid(SWEEP[:start] + put + SWEEP[start + length :])
    except InputError as wrong:
        assert "\n" not in str(wrong)


def test_what_was_given_as_an_object_is_named_and_not_described_as_another_problem(tmp_path):
    from fedbounds.problems.quadratic import quadratic
    from fedbounds.weightings.fedmax import FedMax

    def largest(p, excess, round, stream):
        return np.eye(2)[excess.argmax(axis=-1)]

    problem = quadratic(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]]), np.array([0.4, 0.6]))
    result = fedbounds.check(
        problem, weightings=[largest, FedMax(1)], claims=["sharper-step"], rounds=2, replicates=1
    )
    assert result.objects == ("problem", "weighting largest")
    told = result.to_json()
    assert not {"problem", "data", "clients", "noise_std"} & set(told["settings"]) and told["settings"]["rounds"] == 2
    assert Result.from_json(told).objects == result.objects
    assert fedbounds.check("quadratic", weightings=["fedmax"], claims="lemma-1", **SMALL).objects == ()


PLUGIN = """
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import rho_bar, rho_tilde
CLAIMS = (Claim('mine', 'Mine', 'me', 'constant', rho_bar, {'skew': rho_tilde}, readings=('literal',)),)
"""


def test_a_study_with_a_plugin_outlives_its_file_and_runs_it_only_when_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # which stores what the next line puts in its place
    monkeypatch.setattr("fedbounds.report.html.exact_instances._checked", lambda: {"": ""})  # to verify it takes long
    path, out, page = tmp_path / "mine.py", tmp_path / "study", tmp_path / "report.html"
    marker = tmp_path / "ran"
    path.write_text(PLUGIN + f"with open({str(marker)!r}, 'a') as ran:\n    ran.write('x')\n")
    result = fedbounds.check("quadratic", weightings=["fedavg"], claims=["mine"], plugins=[str(path)], **SMALL)
    saved_study.save(result, out)
    assert result.plugin_files[0].source == path.read_text()
    path.unlink()
    ran = marker.read_text()
    done = CliRunner().invoke(main, ["plot", str(out)])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["report", str(out), "--out", str(page)])
    assert done.exit_code == 0 and result.plugin_files[0].sha256 in done.stderr
    assert marker.read_text() == ran
    done = CliRunner().invoke(main, ["report", str(out), "--out", str(page), "--trust-plugins"])
    assert done.exit_code == 0 and "Mine" in page.read_text()
    assert f"Running the plug-in {path}, SHA-256 {result.plugin_files[0].sha256}." in done.stderr
    assert marker.read_text() == ran + "x"


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
        (offering(scope="'steps'"), "did you mean 'step'"),
        (offering(readings="('litteral',)"), "did you mean 'literal'"),
        (offering(readings="()"), "needs a reading"),
        (offering(assumptions="('L >= mu',)"), "must be an Assumption"),
        (offering(assumptions="'smooth'"), "must be an Assumption"),
        (offering(key="3"), "the key of claim 3"),
        (offering().replace("{'skew': rho_tilde}", "(rho_tilde,)"), "the terms of claim mine"),
        (offering().replace("rho_bar, {", "'rho_bar', {"), "made of sympy expressions"),
        (offering().replace("readings=", "kind='sameness', readings="), "the kind of claim mine"),
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
