"""Real data by name, path or object: what scikit-learn ships, files (CSV, Parquet, IDX), frames, arrays.

The only importer of pandas, which is optional.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.io import read_bytes
from fedbounds.plugins import nearest
from fedbounds.problems.data.dataset import Dataset
from fedbounds.problems.data.idx import read_folder

# Data that comes with scikit-learn: its table and the lines before it, targets last, and what features are divided by
# (pixels count 0 to 16). To import scikit-learn takes longer than to read them.
SHIPPED = {"digits": ("digits.csv.gz", 0, 16.0), "breast-cancer": ("breast_cancer.csv", 1, 1.0), "diabetes": None}
# Beyond this many distinct integer targets they are read as numbers (counts, years, prices).
MAX_CLASSES = 100
# How files and frames write that a value is missing, in small letters.
MISSING = ("", "nan", "na", "n/a", "none", "null", "nat", "<na>")
# 2 GiB of float64: the solvers need a dense table, and this is what fits beside its working copies.
MAX_DENSE_ENTRIES = 2**28


def load(source: str, limit: int | None = None) -> Dataset:
    """The data named by ``source``, without centring or scaling (images are scaled to [0, 1]).

    ``source`` is ``digits``, ``breast-cancer`` or ``diabetes`` (shipped with scikit-learn),
    ``csv:PATH,target=COLUMN,client=COLUMN`` or ``parquet:...`` (the client is optional), or ``mnist:FOLDER``, the
    training images of the IDX files of MNIST, Fashion-MNIST or one's own. ``limit`` keeps the first samples. At most
    MAX_CLASSES distinct integers are classes. Raises InputError for an unknown source and for unreadable, malformed
    or non-finite data.
    """
    if limit is not None and limit < 1:
        raise reject("limit must be at least 1", str(limit), "give the number of samples to keep")
    kind, colon, place = source.partition(":")
    if kind in SHIPPED and not colon:
        dataset = _load_shipped(kind)
    elif kind in ("csv", "parquet"):
        dataset = _load_table(kind, place)
    elif kind == "mnist" and place:
        dataset = _load_images(Path(place).expanduser(), limit)
    else:
        raise nearest("data", source, [*SHIPPED, "csv:PATH", "parquet:PATH", "mnist:FOLDER"])
    return dataset if limit is None else _first(dataset, limit)


def _first(dataset: Dataset, limit: int) -> Dataset:
    targets = dataset.targets[:limit]
    classes = _classes(targets) if dataset.classes is not None else None
    owners = None if dataset.owners is None else dataset.owners[:limit]
    return replace(dataset, features=dataset.features[:limit], targets=targets, classes=classes, owners=owners)


def _classes(labels: NDArray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unique(labels))


def _labelled(features: NDArray, labels: NDArray, name: str) -> Dataset:
    labels = np.asarray(labels, dtype=np.int64)
    return Dataset(np.asarray(features, dtype=np.float64), labels, name, _classes(labels))


def _typed(features: NDArray, targets: NDArray, name: str) -> Dataset:
    """The data with their targets as classes where they are few whole numbers, else as values."""
    whole = np.all(targets == np.round(targets)) and np.abs(targets).max() < 2**53  # beyond it labels run together
    if whole and len(np.unique(targets)) <= MAX_CLASSES:
        return _labelled(features, targets, name)
    return Dataset(features, targets.astype(float), name)


def of_object(data: Any, target: Any = None, client: Any = None) -> Dataset:
    """The data in a frame, a mapping of columns, an array (n, d), or what a loader of scikit-learn returns.

    ``target`` and ``client`` are names of columns or arrays (n,). Raises InputError that names the column and the
    row.
    """
    if target is None and isinstance(data, Mapping) and {"data", "target"} <= set(data):
        data, target = data["data"], data["target"]
    if hasattr(data, "toarray"):
        _require_dense(math.prod(data.shape), "the sparse array")
        data = data.toarray()
    if hasattr(data, "columns") or isinstance(data, Mapping):
        names = data.columns if hasattr(data, "columns") else data
        columns = {str(name): data[name] for name in names}
    else:
        array = np.asarray(data)
        if array.ndim != 2:
            raise reject(
                "data must be a frame, columns or an array (n, d)", f"{type(data).__name__}", "give one of them"
            )
        columns = {str(k): column for k, column in enumerate(array.T)}
    return _from_columns(columns, target, client, "the data")


def _require_dense(entries: int, name: str) -> None:
    if entries > MAX_DENSE_ENTRIES:
        what = f"{name} must have at most {MAX_DENSE_ENTRIES} entries as a dense table"
        raise reject(what, f"{entries}", "keep fewer samples (--limit) or features")


def _load_images(folder: Path, limit: int | None) -> Dataset:
    images, labels = (array[:limit] for array in read_folder(folder))  # before the table grows eightfold to float64
    _require_dense(images.size, str(folder))
    return _labelled(images.reshape(len(images), -1) / 255.0, labels, folder.resolve().name)


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a ``pandas.DataFrame``, or as they are, a list, where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return list(rows)
    return pandas.DataFrame(rows)


def _load_table(kind: str, place: str) -> Dataset:
    path, *options = place.split(",")
    chosen = dict(option.partition("=")[::2] for option in options)
    form = f"{kind}:PATH,target=COLUMN,client=COLUMN"
    if not path or "target" not in chosen or chosen.keys() - {"target", "client"}:
        raise reject(f"data {kind!r} has the form {form}, the client optional", f"{kind}:{place}", "write it so")
    file = Path(path).expanduser()
    columns = _read_parquet(file) if kind == "parquet" else _read_csv(file)
    return _from_columns(columns, chosen["target"], chosen.get("client"), file.name)


def _read_parquet(path: Path) -> dict[str, Any]:
    """Name -> values (n,) of each column; InputError where the file or a library is missing, or it is no Parquet."""
    remedy = 'pip install "fedbounds[frames]"'
    try:
        import pandas

        table = pandas.read_parquet(path)
    except ImportError:
        raise reject("a Parquet file needs pandas and pyarrow", "an installation without them", remedy) from None
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise reject(f"{path} must be a readable Parquet file", f"{error}", "check the path") from None
    return {str(name): table[name].to_numpy() for name in table.columns}


def _read_csv(path: Path) -> dict[str, list[str]]:
    content = read_bytes(path)
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
    except (ValueError, csv.Error) as wrong:
        raise reject(f"{path.name} must be a CSV file with a head, in UTF-8", f"{wrong}", "write it so") from None
    rows = [row for row in rows if row]
    if not rows:
        remedy = "write the names of the columns, then the rows"
        raise reject(f"{path.name} must be a CSV file with a head and rows", "an empty file", remedy)
    head, *rows = rows
    ragged = next((k for k, row in enumerate(rows, 1) if len(row) != len(head)), None)
    if ragged or len(set(head)) < len(head) or not rows:
        received = (
            f"{len(rows[ragged - 1])} in row {ragged}" if ragged else f"{len(rows)} rows under {', '.join(head)}"
        )
        raise reject(
            f"{path.name} must have rows of {len(head)} fields, each column a name", received, "mend the file"
        )
    return {name: [row[k] for row in rows] for k, name in enumerate(head)}


def _from_columns(columns: Mapping[str, Any], target: Any, client: Any, name: str) -> Dataset:
    chosen: dict[str, Any] = {}
    left = dict(columns)
    for role, given in (("target", target), ("client", client)):
        if isinstance(given, str) and given not in left:
            raise nearest(f"the {role} column of {name}", given, left)
        if role == "target" and given is None:
            raise reject(f"{name} needs a target", "none", "name the column to predict, or give its values")
        chosen[role] = left.pop(given) if isinstance(given, str) else given
    if not left:
        raise reject(f"{name} needs a column beside target and client", ", ".join(columns), "add a feature")
    targets = _numbers(chosen["target"], "the target", name)
    features = [_numbers(column, f"column {key!r}", name) for key, column in left.items()]
    owners = None if chosen["client"] is None else _owners(chosen["client"], name)
    lengths = {len(item) for item in (targets, *features, *(() if owners is None else (owners,)))}
    if len(lengths) > 1:
        raise reject(f"every column of {name} must have as many rows", f"{sorted(lengths)}", "make them equal")
    return replace(_typed(np.column_stack(features), targets, name), owners=owners)


def _owners(column: Any, name: str) -> NDArray:
    """The clients' names; InputError counts the rows that name none, which would be a client of their own."""
    names = np.array([str(client).strip() for client in column])
    missing = np.flatnonzero(np.isin(np.char.lower(names), MISSING)) if names.size else names
    if len(missing):
        rows = f"none in {len(missing)} of {len(names)} rows, the first is row {missing[0] + 1}"
        raise reject(
            f"the client column of {name} must name a client in each row", rows, "fill these in or delete the rows"
        )
    return names


def _numbers(column: Any, what: str, name: str) -> NDArray:
    """The column as floats; InputError names the first row that is no finite number."""
    values = np.asarray(column)
    if values.dtype.kind not in "biuf":
        values = np.array([_number(value) for value in values], dtype=float)
    values = values.astype(float)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        remedy = "write classes as whole numbers and leave out rows with gaps and columns of text"
        received = f"{np.asarray(column)[bad[0]]!s:.40}" or "an empty field"
        raise reject(
            f"{what} of {name} must hold a finite number in each row", f"{received} in row {bad[0] + 1}", remedy
        )
    return values


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _load_shipped(name: str) -> Dataset:
    table = SHIPPED[name]
    if table is None:  # scikit-learn centres and scales it
        from sklearn.datasets import load_diabetes

        features, targets = load_diabetes(return_X_y=True)
        return Dataset(features, targets, name)
    file, skipped, scale = table
    data = np.loadtxt(_of_scikit_learn() / file, delimiter=",", skiprows=skipped)
    return _labelled(data[:, :-1] / scale, data[:, -1].astype(int), name)


def _of_scikit_learn() -> Path:
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("sklearn")
    return Path(spec.origin).parent / "datasets" / "data"
