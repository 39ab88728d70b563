"""Bad input, on the command line and in Python: one sentence that names the value and the remedy, and exit code 2."""

import warnings

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import fedbounds
from fedbounds import Claim, Quantity
from fedbounds.cli.app import main
from fedbounds.errors import InputError, whole
from fedbounds.plugins import claims, load_file
from fedbounds.problems.data.dataset import as_regression
from fedbounds.problems.data.sources import load
from fedbounds.report.counterexample_text import instance
from fedbounds.report.verdict_tables import constants_table, units_sentence
from fedbounds.study.objects_from_settings import build_problem, problem_from
from fedbounds.study.result import Result, facts_of
from fedbounds.study.settings import Settings
from fedbounds.study.sweep import settings_from, sweep
from fedbounds.theory import quantity
from fedbounds.theory import symbols as s
from validate.robustness import inputs

SMALL = ("--weighting", "fedavg", "--claim", "lemma-1", "--rounds", "2", "--replicates", "8", "--quiet")
GOOD = "age,cost,at\n40,3.5,a\n50,6.25,b\n60,5.5,a\n70,9,b\n80,7,c\n90,8,c\n"
QUICK = {"claims": "lemma-1", "weightings": "fedavg", "clients": 2, "rounds": 2, "replicates": 8}
QUICK |= {"engine": "reference"}
BOUNDS = "bounds --mu 0.1 --Gamma 0 --rho-bar 1 --rho-tilde 1 --tau 1 --G-sq 1 --sigma-sq 1 --L"


def data(content=GOOD, *more):
    """The words of a check on a CSV file with this content."""
    return content, ("check", "--data", "csv:data.csv,target=cost,client=at", *more, *SMALL)


def words(text):
    """A command without data."""
    return None, tuple(text.split())


COMMANDS = {
    "one row without a client": (*data(GOOD.replace("50,6.25,b", "50,6.25,")), "in 1 of 6 rows, the first is row 2"),
    "clients called nan": (*data(GOOD.replace(",c\n", ",NaN\n")), "in 2 of 6 rows, the first is row 5"),
    "an empty file": (*data(""), "must be a CSV file with a head and rows, but received an empty file"),
    "a file of empty lines": (*data("\n\n"), "an empty file"),
    "clients beside a column": (*data(GOOD, "--clients", "7"), "7 beside a column that names 3"),
    "a step of nan": (*words("check --step constant:nan"), "nan is no step size"),
    "an infinite step": (*words("check --step constant:inf"), "in place of inf"),
    "bounds without constants": (*words("bounds"), "Missing --L, --mu, --Gamma, --rho-bar, --rho-tilde, --tau"),
    "bounds at a huge smoothness": (*words(f"{BOUNDS} 1e200"), "rescale the losses"),
    "a final bound without N": (*words(f"{BOUNDS} 1 --pi 0.5 --p-min 0.1"), "give all three"),
    "a negative zeta_*": (*words("worst --zeta-star -1"), "zeta_star is a root of a mean of squares"),
    "a new claim without a name": (*words("new claim"), "Missing 'NAME'"),
    "a command that is none": (*words("chek"), "did you mean 'check'"),
    "a sweep of nothing": (*words("sweep"), "Missing 'STUDY', '--out'."),
    "a proximal step of negative strength": (*words("compare --algorithm fedprox:strength=-1"), "at least 0"),
    "features whose squares overflow": (*data(GOOD.replace("90", "1e200"), "--no-standardise"), "divide the"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_in_one_sentence(name, tmp_path, monkeypatch):
    content, words, says = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1 and says in done.stderr


# Words -> the values that their last option does not take; nothing is written, and no warning is shown.
WORDS = {
    "check --batch": "0 half",
    "check --memory": "0 0.01",
    "check --w0-scale": "inf",
    "check --report": "",
    "check --data": "digit csv: csv:none.csv,target=y,client=at synthetic:9",
    "check --partition": "iidd dirichlet:-1 dirichlet:x shards:0 shards:x",
    "check --claims": "theorem-9 lemma-1,lemma-2",
    "check --plugin": "none.py folder",
    "check --nothing": "1",
    "check --clients 3 --p": "0.5,0.5",
    "check --clients 3 --weighting": "fedmax:5",
    "check --G-sq": "1",
    "compare --target": "x",
    "compare --algorithm": "fedproxx fedprox:strength=x fedprox:power=1",
    "sweep none.toml --out": "swept",
    "sweep folder --out": "swept",
    "referee": "none.py theorem-9 folder",
    "referee lemma-2 --reading": "litteral",
    "referee lemma-2 --budget": "medium",
    "referee lemma-2 --jobs": "-2",
    "refute lemma-2 --reading": "litteral",
    "refute --verify": "lemma-9",
    "refute rate --verify": "--script",
    "refute --all": "lemma-2",
    "derive": "theorem-9",
    "derive theorem-1": "--all",
    "derive --all --format": "latex",
    "certify --all": "star-step",
    "certify star-step --tau 1 --kappa 4": "--eta=1e400 --p=-1 --rho-tilde=1e400 --kappa=1e-300 --kappa=5..1 --tau=0",
    "worst --kappa": "1/2 x",
    "worst --step": "x -1",
    "worst --measure": "norm",
    "worst --weights": "x 1,1 -1,2",
    "worst --over": "time",
    "verify-certificate": "none.jsonl",
    "new claim": "1st a/b",
    "vision": "walk",
    BOUNDS.replace("--rho-bar 1", "--rho-bar 0"): "1",
    BOUNDS.replace("--mu 0.1", "--mu 2"): "1",
}
LINES = [(*words.split(), value) for words, values in WORDS.items() for value in values.split() or [""]]
LINES += [("certify",), ("tight",), ("refute",), ("explain",), ("verify-certificate",), ("check", "--claims")]
LINES += [("check", "--clients=\udce9"), ("claims", f"--plugin={'9' * 5000}"), ("claims", f"--format={'é' * 10000}")]


@pytest.fixture
def nothing_is_written_and_no_warning_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with warnings.catch_warnings(action="error"):
        yield
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.usefixtures("nothing_is_written_and_no_warning_is_shown")
@pytest.mark.parametrize("words", LINES, ids=lambda words: ascii(" ".join(words))[:60])
def test_a_word_is_refused_in_one_sentence(words):
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1


def test_several_names_in_one_are_to_be_given_once_for_each():
    done = CliRunner().invoke(main, ["check", "--claims", "lemma-1,lemma-2"])
    assert done.stderr.strip().endswith("give one name at a time, and the option once for each.")


def test_known_names_are_listed_whole_and_the_rest_counted():
    names = CliRunner().invoke(main, ["explain", "zonk"]).stderr.partition("choose one of ")[2]
    shown, more = names.rstrip().split(" and ")
    assert set(shown.split(", ")) < set(claims())
    assert more == f"{len(claims()) - len(shown.split(', '))} more."


def test_every_parameter_of_a_command_that_needs_no_run(tmp_path):
    """As `validate.robustness.inputs` tries all of them."""
    row = inputs.tried("bounds", main.get_command(None, "bounds"), inputs.files(tmp_path))
    assert row["tried"] == row["refused"] > 40


def test_an_error_of_the_system_is_a_sentence(monkeypatch):
    def refused(*_):
        raise OSError(24, "Too many open files", "result.json")

    monkeypatch.setattr("fedbounds.plugins.claims", refused)
    result = CliRunner().invoke(main, ["explain", "li-2020"])
    said = "The system refused: [Errno 24] Too many open files: 'result.json'.\n"
    assert (result.exit_code, result.stderr) == (2, said)


THEOREM = """
import sympy as sp
from fedbounds import Assumption, Claim
from fedbounds.theory import assumptions as a, symbols as s
CLAIMS = (Claim("mine", "", "a draft", "step", s.Delta_next, {TERMS}, assumptions=(a.smooth, {MORE})),)
"""
THEOREMS = {
    "a term that is None": ('{"noise": None}', "", "sympy expressions, but received None"),
    "a term that is nan": ('{"noise": float("nan") * s.mu}', "", "made of numbers, but received nan"),
    "no term": ("{}", "", "needs a term on its right side"),
    "a foreign symbol in an assumption": (
        '{"start": s.Delta}', 'Assumption("one", "", sp.Eq(sp.Symbol("tau"), 1))', "tau of claim mine must be",
    ),
    "no value": ('{"start": s.gamma * s.Delta}', "", "must define gamma, which no run has a value for"),
}  # fmt: skip


@pytest.mark.parametrize("name", THEOREMS)
def test_a_theorem_that_is_none_is_refused_in_one_sentence(name, tmp_path):
    terms, more, says = THEOREMS[name]
    (tmp_path / "mine.py").write_text(THEOREM.replace("{TERMS}", terms).replace("{MORE}", more))
    done = CliRunner().invoke(main, ("referee", str(tmp_path / "mine.py")))
    assert (done.exit_code, done.stdout) == (2, "") and says in done.stderr


SEVERAL = """
from fedbounds import Claim
from fedbounds.theory import assumptions as a, symbols as s
CLAIMS = (
    Claim("elsewhere", "", "", "step", s.Delta_next, {"start": s.Delta}, algorithm="fedprox"),
    Claim("false", "", "", "constant", s.zeta_star_sq, {"bias": s.L * s.Gamma / 2}, assumptions=(a.smooth,)),
)
"""


def test_an_input_error_of_one_claim_is_reported_and_the_others_are_examined(tmp_path):
    (tmp_path / "several.py").write_text(SEVERAL)
    done = CliRunner().invoke(main, ("referee", str(tmp_path / "several.py"), "--quiet"))
    first, second, *_ = done.stdout.splitlines()
    assert done.exit_code == 2 and done.stderr == ""
    assert first.startswith("elsewhere [plain]: NOT TESTED. claim elsewhere must be about FedAvg")
    assert second.startswith("false [plain]: FALSE")


CLIENTS = {"x": [1.0, 2.0, 3.0, 5.0], "y": [1.5, 2.5, 2.5, 4.5]}
COLUMNS = {
    "None": ["a", None, "b", "a"],
    "nan": ["a", np.nan, "b", "a"],
    "a float": [1.0, np.nan, 2.0, 1.0],
    "an empty text": ["a", "", "b", "a"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_missing_client_is_no_client(name):
    with pytest.raises(InputError, match=r"in 1 of 4 rows, the first is row 2: fill these in"):
        problem_from(CLIENTS | {"at": COLUMNS[name]}, target="y", client="at")


def test_a_missing_client_of_a_frame_or_parquet_is_no_client(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(CLIENTS | {"at": pandas.array(["a", None, "b", "a"], dtype="string")})
    with pytest.raises(InputError, match="1 of 4 rows"):
        problem_from(frame, target="y", client="at")
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(InputError, match="1 of 4 rows"):
        load(f"parquet:{tmp_path / 'data.parquet'},target=y,client=at")


@pytest.fixture(scope="module")
def result():
    return fedbounds.check("quadratic", **QUICK)


CALLS = {
    "a part by number": (lambda result: result[0], r'received 0: write result\["lemma-1"\]'),
    "a part of three words": (lambda result: result["a", "b", "c"], "a part of a result"),
    "a part of no word": (lambda result: result[()], "a part of a result"),
    "iterates of a plain record": (lambda result: result.runs[0].trajectory.w, 'record="iterates"'),
    "the gap at None": (lambda result: result.problem.gap(None), r"w must have shape \(..., 8\), but received None"),
    "the gap in other dimensions": (lambda result: result.problem.gap(np.zeros(3)), r"received shape \(3,\)"),
    "the gap of a word": (lambda result: result.problem.gap("origin"), "received 'origin'"),
    "a sweep to nowhere": (lambda _: sweep("grid.toml"), "the output of a sweep must be the path of a folder"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_answers_in_one_sentence(name, result):
    call, says = CALLS[name]
    with pytest.raises(InputError, match=says) as caught:
        call(result)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def on_trial(**changes):
    """A claim is examined when it is used."""
    given = {"key": "mine", "title": "", "source": "", "scope": "step", "lhs": s.Delta_next, "terms": {"a": s.Delta}}
    return fedbounds.refute(Claim(**given | changes))


PYTHON = {
    **{f"refute{args}": (lambda args=args: fedbounds.refute(*args))
       for args in ((3,), ("lemma-2", None, "huge"))},
    "refute(jobs=0)": lambda: fedbounds.refute("lemma-2", jobs=0),
    **{f"referee{args}": (lambda args=args: fedbounds.referee(*args))
       for args in (("none.py",), ("lemma-2", None, "huge"))},
    "referee(jobs=-2)": lambda: fedbounds.referee("lemma-2", jobs=-2),
    "referee of nothing": lambda: fedbounds.referee(None),
    "ledger(3)": lambda: fedbounds.ledger(3),
    "certify(kappa='x')": lambda: fedbounds.certify("star-step", kappa="x"),
    "worst(kappa='1/2')": lambda: fedbounds.worst(kappa="1/2"),
    "worst(measure='norm')": lambda: fedbounds.worst(measure="norm"),
    "settings_from('none.toml')": lambda: settings_from("none.toml"),
    "a result by a key": lambda: fedbounds.refute("rate")["lemma-9"],
    "a claim without a key": lambda: on_trial(key=""),
    "a term that is infinite": lambda: on_trial(terms={"a": sp.oo}),
    "a quantity called L": lambda: quantity.constant("L", lambda losses: 1),
    "a quantity called sum": lambda: quantity.constant("sum", lambda losses: 1),
    "a quantity called 1st": lambda: Quantity("1st"),
    "a file that is none": lambda: load_file("none.py"),
    "a whole number that is none": lambda: whole("tau", True),
}  # fmt: skip


@pytest.mark.usefixtures("nothing_is_written_and_no_warning_is_shown")
@pytest.mark.parametrize("name", PYTHON)
def test_python_refuses_it_in_one_sentence(name):
    with pytest.raises((InputError, TypeError)) as wrong:
        PYTHON[name]()
    assert "\n" not in str(wrong.value)


def test_a_long_name_stands_apart_from_its_value():
    assert instance({"instance": {"Delta_round_next": "3554/7"}}) == ["  Delta_round_next 3554/7"]
    long = {"instance": {"eta": ["1/4"] * 92}, "constants": {"average_gap": "1" * 50 + "/" + "7" * 51}, "terms": {}}
    assert instance({**long, "lhs": "1", "rhs": "1/2"})[:3] == [
        "  eta        (92 times 1/4)",
        "  alpha      None",
        "  average_gap 0.01429",
    ]


def test_the_target_keeps_its_units_where_nothing_is_standardised():
    diabetes = load("diabetes")
    assert np.array_equal(as_regression(diabetes, scaled=False).targets, diabetes.targets)
    assert as_regression(diabetes).targets.std() == pytest.approx(1)
    table = CLIENTS | {"at": list("abab")}
    plain = problem_from(table, target="y", client="at", standardise=False)
    assert sorted(np.concatenate(plain.targets)) == sorted(CLIENTS["y"])


def test_the_answer_says_in_which_units_it_is():
    def about(**settings):
        chosen = Settings(**settings)
        problem = build_problem(chosen)
        return Result(facts_of(problem), chosen, (), {}, problem, {})

    scaled = about(data="diabetes", limit=40)
    assert "units of the standardised target" in units_sentence(scaled)
    assert "units of the standardised target" in constants_table(scaled).caption
    for other in ({"problem": "quadratic"}, {"data": "diabetes", "limit": 40, "standardise": False}):
        assert units_sentence(about(**other)) == ""
