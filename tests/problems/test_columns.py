"""Data of one's own: files with columns, frames, arrays, and what a loader of scikit-learn returns."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import datasets

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.problems.data.dataset import owned
from fedbounds.problems.data.sources import load, of_object
from fedbounds.study.objects_from_settings import build_problem, problem_from
from fedbounds.study.settings import Settings

COLUMNS = {
    "age": [40.0, 50.0, 60.0, 70.0, 80.0, 90.0],
    "dose": [1, 3, 2, 5, 4, 4],
    "cost": [3.5, 6.25, 5.0, 9.0, 8.5, 7.0],
    "at": ["b", "a", "b", "a", "b", "b"],
}
RUN = ("--weighting", "fedavg", "--claim", "lemma-1", "--rounds", "2", "--replicates", "8", "--quiet")


def written(folder, columns=COLUMNS):
    path = folder / "data.csv"
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    return path


def same(first, second):
    assert np.array_equal(first.p, second.p) and first.N == second.N
    assert first.L == second.L and np.array_equal(first.w_star, second.w_star)


def test_a_file_a_frame_and_a_mapping_of_columns_are_one_problem(tmp_path, monkeypatch):
    text = f"csv:{written(tmp_path)},target=cost,client=at"
    monkeypatch.setitem(sys.modules, "pandas", None)  # a CSV file needs no pandas
    filed = build_problem(Settings(data=text))
    monkeypatch.undo()
    same(filed, problem_from(COLUMNS, target="cost", client="at"))
    array = np.column_stack([COLUMNS["age"], COLUMNS["dose"]])
    same(filed, problem_from(array, target=COLUMNS["cost"], client=COLUMNS["at"]))
    assert filed.N == 2 and filed.p.tolist() == [1 / 3, 2 / 3]  # a holds two of six samples, b four
    pandas = pytest.importorskip("pandas")
    same(filed, problem_from(pandas.DataFrame(COLUMNS), target="cost", client="at"))


def test_clients_hold_their_own_rows(tmp_path):
    table = load(f"csv:{written(tmp_path)},target=cost,client=at")
    assert [part.tolist() for part in owned(table)] == [[1, 3], [0, 2, 4, 5]]
    assert table.features.tolist()[1] == [50.0, 3.0] and table.targets.tolist() == COLUMNS["cost"]
    assert owned(load(f"csv:{written(tmp_path)},target=cost,client=at", limit=2))[0].tolist() == [1]


def test_a_parquet_file_is_its_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(COLUMNS).to_parquet(tmp_path / "data.parquet")
    filed = build_problem(Settings(data=f"parquet:{tmp_path / 'data.parquet'},target=cost,client=at"))
    same(filed, problem_from(COLUMNS, target="cost", client="at"))


def test_parquet_without_pandas_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"fedbounds\[frames\]"):
        load(f"parquet:{tmp_path / 'data.parquet'},target=cost")


@pytest.mark.parametrize("loader", ["load_iris", "load_diabetes", "load_linnerud"])
def test_what_a_loader_returns(loader):
    bunch = getattr(datasets, loader)()
    if bunch.target.ndim > 1:
        with pytest.raises(InputError, match="target"):
            problem_from(bunch, clients=3)
        return
    made = problem_from(bunch, clients=3, partition="iid")
    assert (made.N, made.d) == (3, bunch.data.shape[1] + 1)
    assert problem_from(bunch, client=np.arange(len(bunch.target)) % 2).N == 2
    as_frames = getattr(datasets, loader)(as_frame=True) if "pandas" in sys.modules else bunch
    same(made, problem_from(as_frames, clients=3, partition="iid"))


@pytest.mark.parametrize(
    ("changed", "options", "says"),
    [
        ({}, "target=csot,client=at", "did you mean 'cost'"),
        ({}, "target=cost,client=where", "the client column"),
        ({}, "target=cost,sites=at", "the form csv:PATH,target=COLUMN"),
        ({"dose": [1, "", 2, 5, 4, 4]}, "target=cost,client=at", "an empty field in row 2"),
        ({"dose": [1, 3, 2, "five", 4, 4]}, "target=cost,client=at", "five in row 4"),
        ({"cost": ["low", "high", "low", "low", "high", "low"]}, "target=cost,client=at", "the target of data.csv"),
        ({"at": ["a"] * 6}, "target=cost,client=at", "must name two clients"),
        ({"at": ["a", "b,c", "b", "a", "b", "b"]}, "target=cost,client=at", "5 in row 2"),
    ],
)
def test_bad_columns_are_one_sentence_and_exit_code_2(tmp_path, changed, options, says):
    path = written(tmp_path, COLUMNS | changed)
    done = CliRunner().invoke(main, ["check", "--data", f"csv:{path},{options}", *RUN])
    assert done.exit_code == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert says in done.stderr


def test_a_partition_beside_a_client_column_is_refused(tmp_path):
    done = CliRunner().invoke(
        main, ["check", "--data", f"csv:{written(tmp_path)},target=cost,client=at", "--partition", "iid", *RUN]
    )
    assert done.exit_code == 2 and "who holds what" in done.stderr


@pytest.mark.parametrize(
    ("data", "target", "says"),
    [
        ([1.0, 2.0], None, "an array"),
        (COLUMNS, None, "needs a target"),
        (COLUMNS | {"age": [1, None, 3, 4, 5, 6]}, "cost", "None in row 2"),
        (COLUMNS, [1.0, 2.0], "as many rows"),
        ({"cost": [1.0, 2.0]}, "cost", "beside target"),
    ],
)
def test_bad_objects_are_named(data, target, says):
    with pytest.raises(InputError, match=says):
        of_object(data, target, None if "at" not in data else "at")
