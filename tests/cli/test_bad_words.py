"""Bad inputs, on the command line and in Python: one sentence, exit code 2, nothing written, no traceback."""

import warnings

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import fedbounds
from fedbounds import Claim, Quantity
from fedbounds.cli.app import main
from fedbounds.errors import InputError, whole
from fedbounds.plugins import claim_named, claims, load_file
from fedbounds.study.objects_from_settings import problem_from
from fedbounds.study.sweep import settings_from
from fedbounds.theory import quantity
from fedbounds.theory import symbols as s

COUNTS = "0 -1 x 1.5 1e400 nan"
LEVELS = "-1 x nan inf 1e400"
# Words -> the values that their last option does not take.
SETTINGS = {
    "check --rounds": COUNTS,
    "check --batch": "0 -1 half 1.5",
    "check --memory": "0 nan x 0.01",
    "check --limit": "0 -1 x",
    "check --participation": "0 -0.5 1.5 nan x",
    "check --regularisation": LEVELS,
    "check --w0-scale": "nan inf x",
    "check --data": "digit csv: csv:none.csv,target=y,client=at synthetic:9",
    "check --partition": "iidd dirichlet:-1 dirichlet:x shards:0 shards:x",
    "check --claims": "theorem-9 none Lemma lemma-1,lemma-2",
    "check --plugin": "none.py folder",
    "check --format": "xml yaml",
    "check --nothing": "1",
    "check --G-sq": "1",
    "compare --target": "x",
    "compare --algorithm": "fedproxx fedprox:strength=x fedprox:power=1",
    "compare --tau": "0 x",
    "bounds --L 1 --mu": "x",
    "sweep none.toml --out": "swept",
    "sweep folder --out": "swept",
    "referee": "none.py theorem-9 folder",
    "referee lemma-2 --reading": "litteral repaird",
    "referee lemma-2 --budget": "huge medium",
    "referee lemma-2 --seed": "-1 x",
    "referee lemma-2 --jobs": "-2 x",
    "referee lemma-2 --fail-on": "open",
    "refute": "theorem-9",
    "refute lemma-2 --reading": "litteral",
    "refute lemma-2 --budget": "huge",
    "refute lemma-2 --jobs": "0 -1 x",
    "refute --verify": "lemma-9",
    "explain": "theorem-9",
    "claims": "theorem-9",
    "symbols": "zzzz",
    "derive": "theorem-9",
    "certify star-step --kappa": "0 -1 x 5..1",
    "certify star-step --tau": "0 x",
    "certify star-step --reading": "litteral",
    "certify": "star-sep",
    "tight": "star-sep",
    "worst --kappa": "1/2 x -1",
    "worst --rounds": "0 x",
    "worst --step": "x -1",
    "worst --measure": "norm",
    "worst --weights": "x 1,1 -1,2",
    "worst --over": "time",
    "verify-certificate": "none.jsonl",
    "new claim": "1st a/b",
    "vision": "walk",
}
COMMANDS = [(*words.split(), value) for words, values in SETTINGS.items() for value in values.split()]
# Whole lines: what is missing, or does not go together.
COMMANDS += [
    tuple(line.split())
    for line in (
        "bounds --L 1", "certify", "derive", "derive theorem-1 --all",
        "derive --all --format latex", "tight", "refute", "explain", "verify-certificate", "refute --all lemma-2",
        "certify --all star-step", "refute rate --verify --script", "check --clients 3 --p 0.5,0.5",
        "check --weighting fedmax:5 --clients 3", "check --claims",
        "bounds --L 1 --mu 2 --Gamma 0 --rho-bar 1 --rho-tilde 1 --tau 1 --G-sq 1 --sigma-sq 1",
        "bounds --L 1 --mu 1 --Gamma -1 --rho-bar 1 --rho-tilde 1 --tau 1 --G-sq 1 --sigma-sq 1",
        "bounds --L 1 --mu 1 --Gamma 0 --rho-bar 0 --rho-tilde 1 --tau 0 --G-sq 1 --sigma-sq 1",
    )
]  # fmt: skip


def on_trial(**changes):
    """A claim is examined when it is used."""
    given = {"key": "mine", "title": "", "source": "", "scope": "step", "lhs": s.Delta_next, "terms": {"a": s.Delta}}
    return fedbounds.refute(Claim(**given | changes))


DATA = {"x": [1.0, 2.0, 3.0, 5.0], "y": [1.5, 2.5, 2.5, 4.5], "at": ["a", "a", "b", "b"]}
CALLS = {
    **{f"refute{args}": (lambda args=args: fedbounds.refute(*args))
       for args in (("lemma-9",), (3,), ("lemma-2", "litteral"), ("lemma-2", None, "huge"))},
    "refute(jobs=0)": lambda: fedbounds.refute("lemma-2", jobs=0),
    "refute(seed=-1)": lambda: fedbounds.refute("lemma-2", seed=-1),
    **{f"referee{args}": (lambda args=args: fedbounds.referee(*args))
       for args in (("lemma-9",), ("none.py",), ("lemma-2", "litteral"), ("lemma-2", None, "huge"))},
    "referee(jobs=-2)": lambda: fedbounds.referee("lemma-2", jobs=-2),
    "referee of nothing": lambda: fedbounds.referee(None),
    "ledger(3)": lambda: fedbounds.ledger(3),
    "derive('theorem-9')": lambda: fedbounds.derive("theorem-9"),
    "certify('star-sep')": lambda: fedbounds.certify("star-sep"),
    "certify(kappa='x')": lambda: fedbounds.certify("star-step", kappa="x"),
    "certify(tau=0)": lambda: fedbounds.certify("star-step", tau=0),
    "worst(kappa='1/2')": lambda: fedbounds.worst(kappa="1/2"),
    "worst(rounds=0)": lambda: fedbounds.worst(rounds=0),
    "worst(measure='norm')": lambda: fedbounds.worst(measure="norm"),
    "sweep('none.toml')": lambda: fedbounds.sweep("none.toml", "swept"),
    "sweep(3)": lambda: fedbounds.sweep(3, "swept"),
    "simulate(3)": lambda: fedbounds.simulate(3),
    "settings_from('none.toml')": lambda: settings_from("none.toml"),
    "a result by a key": lambda: fedbounds.refute("rate")["lemma-9"],
    "a claim by a number": lambda: claim_named(3),
    "a claim without a key": lambda: on_trial(key=""),
    "a term that is infinite": lambda: on_trial(terms={"a": sp.oo}),
    "a quantity called L": lambda: quantity.constant("L", lambda losses: 1),
    "a quantity called sum": lambda: quantity.constant("sum", lambda losses: 1),
    "a quantity called 1st": lambda: Quantity("1st"),
    "a file without a name": lambda: load_file(""),
    "a file that is none": lambda: load_file("none.py"),
    "data without the target": lambda: problem_from(DATA, target="z", client="at"),
    "data without the client": lambda: problem_from(DATA, target="y", client="where"),
    "data that is nan": lambda: problem_from(DATA | {"x": [1.0, np.nan, 3.0, 5.0]}, target="y", client="at"),
    "data of texts": lambda: problem_from(DATA | {"x": list("abcd")}, target="y", client="at"),
    "data of two lengths": lambda: problem_from(DATA | {"x": [1.0]}, target="y", client="at"),
    "data that is a number": lambda: problem_from(3, target="y", client="at"),
    "a whole number that is none": lambda: whole("tau", True),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_written_and_no_warning_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with warnings.catch_warnings(action="error"):
        yield
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_refuses_it_in_one_sentence(words):
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


@pytest.mark.parametrize("name", CALLS)
def test_python_refuses_it_in_one_sentence(name):
    with pytest.raises((InputError, TypeError)) as wrong:
        CALLS[name]()
    assert "\n" not in str(wrong.value)
