import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sweep_cells
from click.testing import CliRunner

from fedbounds import io
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.study import sweep
from fedbounds.study.run_study import check
from fedbounds.study.settings import Settings
from fedbounds.study.sweep import CELLS, Summary, parse_grid, read_grid, read_table

ROOT = Path(__file__).resolve().parents[2]
TINY = {"problem": "quadratic", "clients": 3, "dimension": 2, "rounds": 6, "tau": 2, "replicates": 8}
# Bytes of the largest file, where a disk is full.
LARGEST = 11_000
BASE = """
[base]
problem = "quadratic"
clients = 3
dimension = 2
rounds = 6
tau = 2
replicates = 8
claims = ["theorem-1", "corollary"]
engine = "reference"
"""
STUDY = (
    BASE
    + """
[grid]
data = ["quadratics:0", "quadratics:1"]
weightings = ["fedavg", ["fedmax", "fedsoftmax:1"], "fedmax:9"]
"""
)
CELLS_IN_ALL, FAILING = 6, 2


def made(log, seeds=40):
    """A study whose cells cost nothing; ``log`` is where `sweep_cells` notes who computed them."""
    log.mkdir(exist_ok=True)
    return parse_grid(f"[base]\ndata = {json.dumps(str(log))}\n[grid]\nseed = {list(range(seeds))}")


def stored(out):
    """File -> text of every finished cell."""
    return {path.name: path.read_text() for path in (out / CELLS).glob("*.json")}


def computed(out):
    """How many cells of the table did not fail."""
    return sum(cell.message is None for cell in read_table(out).cells.values())


def exported(study, out):
    return read_table(out, [cell.key for cell in study]).save(out / "sweep.csv").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(study, folder) of STUDY computed in this very process, without interruption."""
    out, study = tmp_path_factory.mktemp("finished"), parse_grid(STUDY)
    assert sweep.sweep(study, out, jobs=1).summary == Summary(CELLS_IN_ALL, CELLS_IN_ALL, FAILING)
    return study, out


def test_cells_are_the_product_of_the_axes_in_order():
    study = parse_grid("[grid]\ntau = [1, 2]\ncondition = [1, 10.5]")
    result = [(cell.settings["tau"], cell.settings["condition"]) for cell in study]
    assert result == [(1, 1.0), (1, 10.5), (2, 1.0), (2, 10.5)]
    assert [cell.settings["problem"] for cell in study] == [Settings().problem] * 4


def test_key_names_the_settings_whatever_their_notation():
    def keys(text):
        return [cell.key for cell in parse_grid(text)]

    assert keys("[base]\ncondition = 10\nrounds = 7") == keys("base = {rounds = 7, condition = 10.0}")
    assert keys("[base]\nseed = 0") == keys("")
    assert keys('[base]\nweightings = "fedavg"') == keys('[grid]\nweightings = ["fedavg"]')
    assert keys('[base]\nbatch = "full"') != keys("")
    assert len(set(keys("[grid]\nseed = [0, 1, 2]\nreplacement = [true, false]"))) == 6


def test_key_changes_with_the_text_of_a_plugin(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text("CLAIMS = ()")
    text = f"[base]\nplugins = {json.dumps(str(plugin))}"
    before = parse_grid(text)
    assert parse_grid(text) == before
    plugin.write_text("CLAIMS = []")
    assert parse_grid(text)[0].key != before[0].key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[base]\nroundz = 5", "did you mean 'rounds'"),
        ("[bas]\nrounds = 1", "did you mean 'base'"),
        ("[base]\nrounds = 5\n[grid]\nseed = [\n  0,\n]\ntau = [1, 'a']", "tau must be a whole number"),
        ("[base]\nweightings = ['fedavg',\n 'fedavg']", "weightings must list each value once"),
        ("grid.tau = [1]\ngrid.weightings = ['fedavg', 'fedmx']", "did you mean 'fedmax'"),
        ("[base]\nplugins = 'none.py'", "plug-in"),
        ("[grid]\ntau = 1", "tau in [grid] needs a list of values"),
        ("[grid]\ntau = [1, 1]", "tau must list each value once"),
        ("[base]\ntau = 1\n[grid]\ntau = [1]", "tau must be fixed or vary"),
        ("[base]\nrounds =\n", "Invalid value (at line 2"),
        ("grid = 3", "grid must be a table"),
        ("", "must hold a study, but received none"),
        ("[base]\n[grid]", "must hold a study, but received none"),
        (f"[{'a.' * 10**6}b]", "at most 32768 characters"),
        (f"[grid]\nseed = {list(range(1001))}\nclients = {list(range(1, 1001))}", "at most 1000000 cells"),
    ],
    ids=range(15),
)
def test_an_error_in_the_file_names_the_file_and_the_setting(text, says, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError) as wrong:
        read_grid(tmp_path / "mine.toml")
    assert str(wrong.value).startswith("mine.toml: ")
    assert says in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_rows_are_what_check_says(finished):
    _, out = finished
    rows = read_table(out).rows()
    mine = [row for row in rows if row["data"] == "quadratics:1" and row["weighting"] == "fedmax"]
    settings = {**TINY, "data": "quadratics:1", "engine": "reference"}
    result = check(**settings, weightings=("fedmax", "fedsoftmax:1"), claims=("theorem-1", "corollary"))
    run = result.runs[0]
    assert len(mine) == len(run.verdicts) >= 6
    for row, verdict in zip(mine, run.verdicts, strict=True):
        for name in ("claim", "reading", "evidence", "status", "worst_t", "detail"):
            assert row[name] == verdict.to_json()[name]
        np.testing.assert_allclose([row["margin"], row["tightness"]], [verdict.margin, verdict.tightness], rtol=1e-9)
        assert row["rho_bar"] == pytest.approx(run.rho_bar, rel=1e-12)
        assert row["Gamma"] == pytest.approx(result.problem.Gamma.value, rel=1e-12)
        assert row["kappa"] == pytest.approx(10)
        assert row["gap_last"] == pytest.approx(run.trajectory.paths["alpha"].gap[:, -1].mean(), rel=1e-9)
        assert (row["tau"], row["rounds"], row["weightings"]) == (2, 6, '["fedmax","fedsoftmax:1"]')
    assert len({(row["cell"], row["weighting"]) for row in rows}) == 2 * 3 + FAILING


def test_a_failed_cell_is_kept_with_its_error(finished):
    _, out = finished
    ((message, count),) = read_table(out).failures
    assert count == FAILING
    assert "k = 9" in message
    rows = [row for row in read_table(out).rows() if row["message"]]
    assert [row["weightings"] for row in rows] == ['["fedmax:9"]'] * FAILING
    assert all(row["claim"] is None and row["tightness"] is None for row in rows)


def test_failed_cells_are_computed_again_by_the_same_call(tmp_path):
    study = parse_grid(BASE.replace("clients = 3", "clients = 1") + '[grid]\nweightings = ["fedavg", "fedmax:2"]')
    assert sweep.sweep(study, tmp_path, jobs=1).summary == Summary(2, 2, 1)
    first = exported(study, tmp_path)
    assert sweep.sweep(study, tmp_path, jobs=1).summary == Summary(2, 1, 1)
    assert exported(study, tmp_path) == first


def command(study, out, *flags):
    return [sys.executable, "-m", "fedbounds.cli.app", "sweep", str(study), "--out", str(out), *flags]


def wait_for(out, count, seconds=300):
    """Wait until ``count`` cells are finished."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(stored(out)) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the sweep did not advance")


def started(log, out, compute, **how):
    """A sweep of cells that cost nothing by two processes, in a process of its own."""
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/study']\n"
        "import pathlib, sweep_cells, test_sweep; from fedbounds.study import sweep\n"
        f"sweep.sweep(test_sweep.made(pathlib.Path(sys.argv[2])), sys.argv[3], jobs=2, compute=sweep_cells.{compute})"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(ROOT / "tests"), str(log), str(out)], cwd=ROOT, **how)


def test_killed_in_mid_run_and_continued_gives_the_same_bytes_and_its_workers_end(tmp_path):
    """And so does any number of processes."""
    log, out, seen, workers = tmp_path / "log", tmp_path / "out", [], set()
    process = started(log, out, "slow")
    end = time.monotonic() + 300
    try:
        while len(workers) < 2 and time.monotonic() < end:  # on a busy machine one begins long after the other
            wait_for(out, 2)
            workers = {int(pid) for who in sweep_cells.logged(log).values() for pid in who}
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    assert len(workers) == 2
    study, before = made(log), stored(out)
    done = computed(out)
    assert 2 <= done < len(study)
    result = sweep.sweep(study, out, jobs=1, compute=sweep_cells.quick, progress=lambda *now: seen.append(now))
    assert result.summary.computed == len(study) - done
    assert seen == [("cells", k, len(study)) for k in range(done, len(study) + 1)]
    assert before.items() <= stored(out).items()
    sweep.sweep(study, tmp_path / "whole", jobs=1, compute=sweep_cells.quick)
    assert exported(study, out) == exported(study, tmp_path / "whole")
    end = time.monotonic() + 120
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_interrupted_at_the_keyboard_keeps_what_is_done(tmp_path, monkeypatch):
    (file, out), keep = (tmp_path / "study.toml", tmp_path / "out"), sweep.keep
    file.write_text(STUDY)

    def kept_once(*cell):
        if stored(out):
            raise KeyboardInterrupt
        keep(*cell)

    monkeypatch.setattr(sweep, "keep", kept_once)
    done = CliRunner().invoke(main, ["sweep", str(file), "--out", str(out), "--jobs", "1"])
    assert (done.exit_code, len(stored(out))) == (130, 1)
    assert "Every finished cell is kept" in done.stderr


def test_a_process_that_dies_costs_only_its_cell(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    assert sweep.sweep(made(log, 8), out, jobs=2, compute=sweep_cells.deadly).summary == Summary(8, 8, 1)
    ((message, count),) = read_table(out).failures
    assert count == 1
    assert "killed" in message
    assert [cell.settings["seed"] for cell in read_table(out).cells.values() if cell.message] == [3]


def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(finished, tmp_path):
    """As a limit on the size of a file, which the table alone is above here."""
    out = finished[1]
    (tmp_path / "study.toml").write_text(STUDY)
    before, most = stored(out), resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, most[1]))
        done = CliRunner().invoke(
            main, ["sweep", str(tmp_path / "study.toml"), "--out", str(out), "--jobs", "1", "--quiet"]
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert "could not be written, but received File too large" in line
    assert stored(out) == before


def test_a_folder_that_cannot_hold_the_table_is_refused_in_one_sentence(tmp_path):
    study = made(tmp_path / "log", 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="could not be written"):
        sweep.sweep(study, tmp_path / "file" / "out", jobs=1)
    (tmp_path / "out" / CELLS).mkdir(parents=True)
    (tmp_path / "out" / CELLS / "a.json").write_text("no cell" * 100)
    with pytest.raises(InputError, match="must be readable JSON"):
        sweep.sweep(study, tmp_path / "out", jobs=1)
    with pytest.raises(InputError, match="must hold a sweep"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="must not be 0"):
        sweep.sweep(study, tmp_path / "zero", jobs=0)


def test_one_sweep_at_a_time_in_a_folder_and_one_version(tmp_path):
    study = made(tmp_path / "log", 2)
    with io.locked(tmp_path / "out"), pytest.raises(InputError, match="one process at a time"):
        sweep.sweep(study, tmp_path / "out", jobs=1)
    sweep.sweep(study, tmp_path / "out", jobs=1, compute=sweep_cells.quick)
    for name, text in stored(tmp_path / "out").items():
        changed = json.loads(text) | {"version": "0.0.1"}
        (tmp_path / "out" / CELLS / name).write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"computed by fedbounds 0\.0\.1"):
        sweep.sweep(study, tmp_path / "out", jobs=1)


def test_command_prints_counts_and_writes_the_table(finished, tmp_path):
    study, out = finished
    (tmp_path / "study.toml").write_text(STUDY)
    done = CliRunner().invoke(main, ["sweep", str(tmp_path / "study.toml"), "--out", str(out), "--jobs", "1"])
    assert done.exit_code == 2  # cells failed
    printed = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert {tuple(words[:2]) for words in printed} == {
        (claim, name) for claim in ("theorem-1", "corollary") for name in ("literal", "sync", "repaired")
    }
    rows = read_table(out).rows()
    for words in printed:
        kind = dict(zip(("claim", "reading", "evidence"), words, strict=False))
        assert sum(int(word) for word in words[3:] if word.isdigit()) == sum(
            kind.items() <= row.items() for row in rows
        )
    assert "6 cells, 2 computed now, 2 failed" in done.stdout
    assert "2 x fedmax:k" in done.stderr
    assert (out / "sweep.csv").read_bytes() == exported(study, out)
    wrong = CliRunner().invoke(main, ["sweep", str(tmp_path / "none.toml"), "--out", str(out)])
    assert (wrong.exit_code, len(wrong.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"rounds": 7', '"rounds": -7'), ("corollary", "a\\u001b[2J"), ("{", ""), ('"status"', '"state"')],
)
def test_a_cell_that_no_sweep_wrote_is_refused_in_one_sentence(tmp_path, old, new):
    study = parse_grid(f"[base]\nrounds = 7\ndata = {json.dumps(str(tmp_path))}")
    sweep.sweep(study, tmp_path, jobs=1, compute=sweep_cells.quick)
    ((name, text),) = stored(tmp_path).items()
    (tmp_path / CELLS / name).write_text(text.replace(old, new))
    with pytest.raises(InputError) as wrong:
        read_table(tmp_path)
    assert "\n" not in str(wrong.value)
