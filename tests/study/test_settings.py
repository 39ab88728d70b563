"""Settings are one thing: Python, JSON, flags and a sweep's file give the same record, and refuse the same values."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbounds
from fedbounds.cli import adapter as options
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.io import as_fraction
from fedbounds.study import settings as module
from fedbounds.study import sweep
from fedbounds.study.settings import NAMES, Settings

COUNTS, POSITIVE = st.integers(1, 10**9), st.floats(1e-300, 1e300)
TEXTS = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
# Names are looked up in a sweep's file, so that these take real ones.
NAMED = {
    "problem": st.sampled_from(["least-squares", "logistic", "quadratic"]),
    "partition": st.none() | st.sampled_from(["iid", "shards:3", "dirichlet:0.5"]),
    "weightings": st.lists(st.sampled_from(["fedavg", "fedmax:2", "fedsoftmax:0.5"]), unique=True),
    "claims": st.lists(st.sampled_from(["theorem-1", "lemma-2"]), unique=True),
    "readings": st.lists(st.sampled_from(["literal", "sync"]), min_size=1, unique=True),
    "step": st.sampled_from(["theory", "constant:0.1", "geometric:0.1,0.9"]),
    "plugins": st.just([]),
    "data": st.none() | TEXTS.filter(lambda text: not text.startswith("-")),
}
NUMBERS = {
    "error_rate": st.floats(1e-12, 0.49),
    "participation": st.floats(1e-9, 1),
    "w0_scale": st.floats(0, 1e100),
    "seed": st.integers(0, 2**63 - 1),
    "p": st.none() | st.lists(st.floats(0, 1), min_size=1, max_size=4),
}


def strategy(name):
    """Values of one setting, derived from its definition where it is not a name."""
    setting, default = module.settings()[name], getattr(Settings(), name)
    if name in NAMED | NUMBERS:
        return (NAMED | NUMBERS)[name]
    if setting.choices:
        return st.sampled_from(setting.choices)
    if isinstance(default, bool):
        return st.booleans()
    number = COUNTS if isinstance(setting.read("1"), int) else POSITIVE
    return number if default is not None and name != "batch" else st.none() | number


VALUES = st.fixed_dictionaries({}, optional={name: strategy(name) for name in NAMES})


def flags(name, value):
    """The words of a command line that give a setting this value."""
    setting = module.settings()[name]
    if isinstance(value, bool):
        on, _, off = setting.spelling.partition("/")
        return [on if value else off]
    if setting.several:
        return [word for item in value for word in (setting.spelling, item)]
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return [setting.spelling, module.FULL if (name, value) == ("batch", None) else text]


def by_flags(record):
    given = {name: value for name, value in vars(record).items() if value != module.DEFAULTS[name]}
    words = [word for name, value in given.items() for word in flags(name, value)]
    with main.get_command(None, "check").make_context("check", words) as context:
        return Settings.of(options.given_settings({name: context.params[name] for name in NAMES}))


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_every_way_in_gives_the_same_settings(values):
    record = Settings(**values)
    assert Settings.of(json.loads(json.dumps(record.to_json()))) == record
    assert by_flags(record) == record
    grid = sweep.parse_grid(f"[base]\n{record.to_toml()}")
    assert Settings.of(grid[0].settings) == record


BAD = [
    ("engine", "fast", "Known: auto"),
    ("standardise", "no", "true or false"),
    ("data", "", "text of 1 to"),
    ("step", "theory:1", "step size"),
    ("step", "constant:inf", "constant takes finite numbers"),
    ("tau", True, "whole number"),
    ("replicates", 10**11, "at most 10"),
    ("clients", 10**400, "whole number"),
    ("seed", -1, "non-negative"),
    ("batch", "fll", '"full"'),
    ("condition", "10", "finite number"),
    ("p", [0.5, "a"], "distribution"),
    ("weightings", ["fedavg", "fedavg"], "once"),
    ("readings", ["literal", 3], "list of texts"),
    ("w0_scale", 1e101, "norm of w_0"),
    ("error_rate", 0.5, "error rate"),
    ("roundz", 5, "did you mean 'rounds'"),
]


@pytest.mark.parametrize(("name", "value", "says"), BAD)
def test_what_one_way_in_refuses_every_way_refuses(name, value, says):
    with pytest.raises(InputError) as wrong:
        fedbounds.check(**{name: value})
    assert says in str(wrong.value) and "\n" not in str(wrong.value)
    written = "1" + "0" * 400 if value == 10**400 else json.dumps(value)
    with pytest.raises(InputError) as wrong:
        sweep.parse_grid(f"[base]\n{name} = {written}")
    assert says in str(wrong.value) and "\n" not in str(wrong.value)
    if isinstance(value, str) and name != "condition":
        flag = module.settings()[name]
        if "/" not in flag.spelling:
            done = CliRunner().invoke(main, ["check", flag.spelling, value])
            assert done.exit_code == 2 and says in done.stderr


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_setting_is_infinite_or_nan(value):
    numbers = [name for name, setting in module.settings().items() if isinstance(setting.read("0.5"), float)]
    assert {"regularisation", "sigma_sq", "w0_scale", "error_rate"} <= set(numbers)
    for name in numbers:
        with pytest.raises(InputError):
            Settings(**{name: value})


def test_a_number_too_long_to_be_written_is_refused_in_words():
    with pytest.raises(InputError, match="received a number of thousands of digits"):
        fedbounds.check(clients=10**5000)
    with pytest.raises(InputError, match=r"clients must be .* received a number of thousands of digits"):
        sweep.parse_grid(f"[base]\nclients = 0x{'f' * 30_000}")
    with pytest.raises(InputError, match="received a number of thousands of digits"):
        as_fraction(10**5000)


def test_numbers_of_numpy_and_paths_are_what_they_say(tmp_path):
    made = Settings(tau=np.int64(3), condition=np.float64(2), p=np.array([0.5, 0.5]), plugins=[tmp_path], clients=2)
    assert made == Settings(tau=3, condition=2.0, p=(0.5, 0.5), plugins=(str(tmp_path),), clients=2)
    assert [type(made.tau), type(made.condition), type(made.p)] == [int, float, tuple]
