"""`fedbounds vision`: a tiny experiment from IDX files to a table, and bad input in one sentence."""

import gzip
import importlib.util
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from made_runs import plausible

from fedbounds.cli import app as cli
from fedbounds.cli.app import main
from fedbounds.cli.commands import vision
from fedbounds.errors import InputError
from fedbounds.io import write_json
from fedbounds.vision import images, records, training
from fedbounds.vision.settings import ImageSettings

SMALL = (
    *("--partition", "shards:5", "--clients", "4", "--samples", "10", "--rounds", "2", "--epochs", "1"),
    *("--batch", "16", "--threads", "1"),
)
ONE = ("--weighting", "fedavg")


def beside_the_lock(folder):
    """Names in an output folder, without the empty file by which one process at a time has it."""
    return [path.name for path in folder.iterdir() if path.name != ".fedbounds.lock"]


def call(*arguments):
    return CliRunner().invoke(main, ["vision", *map(str, arguments)])


def sentence(result):
    """The one line of an expected failure, after checking that it is one and has exit code 2."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    return line


def idx_bytes(array):
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()


@pytest.fixture(scope="module")
def pixels():
    """Every 25th digit for training, every 15th for the test: IDX files by name."""
    result = images.digits()
    return {
        "train-images-idx3-ubyte": result.train[::25],
        "train-labels-idx1-ubyte": result.train_labels[::25].astype(np.uint8),
        "t10k-images-idx3-ubyte": result.test[::15],
        "t10k-labels-idx1-ubyte": result.test_labels[::15].astype(np.uint8),
    }


@pytest.fixture
def folder(tmp_path, pixels):
    """The files as MNIST's, compressed and not."""
    place = tmp_path / "idx"
    place.mkdir()
    for name, array in pixels.items():
        content = idx_bytes(array)
        path = place / (f"{name}.gz" if "images" in name else name)
        path.write_bytes(gzip.compress(content) if "images" in name else content)
    return place


def mnist(folder):
    return ("run", "--data", "mnist", "--data-dir", folder, "--no-checksum", *SMALL)


# --- what works -------------------------------------------------------------------------------------------


def test_an_experiment_from_idx_files_to_table(folder, tmp_path):
    out = tmp_path / "deep" / "out"
    command = (*mnist(folder), "--repetitions", "2", "--out", out)
    command = (*command, "--weighting", "fedavg", "--weighting", "fedmax", "--weighting", "fedmax:1")
    result = call(*command)
    assert result.exit_code == 0, result.output
    found = records.read(out)
    assert [(run.weighting, run.repetition) for run in found] == [
        (weighting, k) for weighting in ("fedavg", "fedmax") for k in (0, 1)
    ]
    assert all(run.settings["partition"] == "shards:5,unbalanced" and run.data == "mnist" for run in found)
    for text in ("fedavg", "fedmax", "rounds to 90%", "final accuracy"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= cli.WIDTH and "\x1b" not in result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("fedavg, repetition 0: 2/2, accuracy ")
    assert len(lines) == 5 and "Saved 4 records" in lines[4] and str(out) in lines[4]
    again = call(*command, "--quiet")
    assert (again.exit_code, again.stdout, again.stderr) == (0, result.stdout, "")
    assert call("table", out).stdout == result.stdout


@pytest.fixture
def results(tmp_path):
    """A folder of made-up records, of two weightings and repetitions."""
    for name in ("fedavg", "fedsoftmax:0.5"):
        for k in (0, 1):
            path = tmp_path / "results" / records.file_name(name, k)
            write_json(path, plausible(name, k))
    return tmp_path / "results"


def test_table_of_records_as_text_and_json(results):
    told = call("table", results)
    assert told.exit_code == 0 and told.stderr == "" and "fedsoftmax:0.5" in told.stdout
    one = results / "run-fedavg-000.json"
    assert call("table", one).stdout != told.stdout
    value = json.loads(call("table", results, "--format", "json").stdout)
    assert [row["weighting"] for row in value] == ["fedavg", "fedsoftmax:0.5"]
    final = [run.accuracy[-1] for run in records.read(results) if run.weighting == "fedavg"]
    assert value[0]["final_accuracy"] == final
    assert "run-fedavg-000.json and run-fedavg-000.json, the same" in sentence(call("table", results, one))


def test_demo_needs_nothing_and_shows_three_weightings(tmp_path, monkeypatch):
    tiny = ImageSettings(data="digits", partition="shards:10", clients=4, samples=10, rounds=1, epochs=1, batch=16)
    monkeypatch.setattr(vision, "DEMO", tiny)
    result = call("demo", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert [run.repetition for run in records.read(tmp_path / "out")] == [0, 1] * len(vision.DEMO_WEIGHTINGS)
    assert all(name in result.stdout for name in vision.DEMO_WEIGHTINGS)


def test_help_is_quick_and_loads_nothing_heavy():
    heavy = ("torch", "numpy", "scipy", "sklearn", "matplotlib", "rich", "sympy")
    code = (
        "import sys\nfrom fedbounds.cli.app import main\n"
        "for words in (['--help'], ['run', '--help'], ['demo', '--help'], ['table', '--help']):\n"
        "    main(['vision', *words], standalone_mode=False)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for text in ("demo", "table", "--partition", "--precision", "[default: 0.99]", "RESULTS"):
        assert text in done.stdout


# --- progress and interruption ----------------------------------------------------------------------------


def test_an_interrupted_experiment_says_that_finished_runs_are_kept(folder, tmp_path, monkeypatch):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "average", interrupted)
    result = call(*mnist(folder), *ONE, "--out", tmp_path / "out")
    assert result.exit_code == cli.INTERRUPTED and result.stdout == ""
    assert "Every finished run is kept: the same command goes on from there." in result.stderr
    assert beside_the_lock(tmp_path / "out") == []


# --- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--weighting", "fedmx"), "did you mean 'fedmax'"),
        (("--weighting", "fedmax:9"), "k = 9"),
        (("--partition", "shards:60"), "40 samples make 1 shards of 60, but received 4 clients"),
        (("--data", "mnits"), "did you mean 'mnist'"),
        (("--data-dir", "nowhere"), "nowhere"),
        (("--samples", "99"), "need 396 training images"),
        (("--rounds", "many"), "--rounds"),
        (("--lr", "1e9"), "lower the learning rate"),
        (("--repetitions", "0"), "--repetitions"),
        (("--precision", "float64"), "--precision"),
    ],
)
def test_bad_settings_are_one_sentence_and_exit_code_2(folder, tmp_path, arguments, says):
    out = tmp_path / "out"
    assert says in sentence(
        call(*mnist(folder), *(() if "--weighting" in arguments else ONE), "--out", out, *arguments)
    )
    assert not out.exists() or beside_the_lock(out) == []


def test_settings_that_make_no_sense_are_refused_by_name():
    wrong = {"clients": 0, "samples": -1, "rounds": 0, "epochs": 0, "batch": 0, "seed": -1}
    wrong |= {"decay": 1.5, "stop_after": -1, "precision": "float64"}
    names = {"stop_after": "stop-after"}
    for name, value in (*wrong.items(), ("lr", 0.0), ("lr", math.nan), ("target", 90.0)):
        with pytest.raises(InputError, match={"lr": "learning rate"}.get(name, names.get(name, name))):
            ImageSettings(**{name: value})


def test_content_that_is_not_the_published_one_is_refused(folder, tmp_path):
    checked = [word for word in mnist(folder) if word != "--no-checksum"]
    line = sentence(call(*checked, *ONE, "--out", tmp_path / "out"))
    assert "SHA-256" in line and not (tmp_path / "out").exists()
    line = sentence(call("run", "--data", "mnist", "--no-checksum", *SMALL, "--out", tmp_path / "out"))
    assert "give it with --data-dir" in line


def test_without_torch_the_extra_is_named(tmp_path, monkeypatch):
    inner = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else inner(name, *rest)
    )
    for command in (("demo",), ("run", *SMALL)):
        assert "pip install 'fedbounds[vision]'" in sentence(call(*command, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [(), ("results",), ("--format", "yaml", "x")])
def test_a_table_of_nothing_is_an_input_error(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    result = call("table", *words)
    assert result.exit_code == 2 and result.stdout == "" and "Traceback" not in result.stderr
