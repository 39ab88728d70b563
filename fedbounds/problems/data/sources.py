"""Real data by name or path: what scikit-learn ships, LIBSVM files and IDX folders."""

import bz2
import gzip
import io
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.plugins import nearest
from fedbounds.problems.data.dataset import Dataset
from fedbounds.problems.data.idx import read_folder

# scikit-learn's loader, what its features are divided by (pixels count 0 to 16), and whether targets are classes.
SHIPPED = {
    "digits": ("load_digits", 16.0, True),
    "breast-cancer": ("load_breast_cancer", 1.0, True),
    "diabetes": ("load_diabetes", 1.0, False),
}
# Beyond this many distinct integer labels a LIBSVM file is read as regression (counts, years, prices).
MAX_CLASSES = 100
# 2 GiB of float64: the solvers need a dense table, and this is what fits beside its working copies.
MAX_DENSE_ENTRIES = 2**28


def load(source: str, limit: int | None = None) -> Dataset:
    """The data named by ``source``, without centring or scaling (images are scaled to [0, 1]).

    ``source`` is ``digits``, ``breast-cancer`` or ``diabetes`` (shipped with scikit-learn), ``libsvm:PATH``,
    or ``mnist:FOLDER`` / ``idx:FOLDER`` (the training images of IDX files, raw or gzip). ``limit`` keeps the first
    samples. In LIBSVM files at most MAX_CLASSES distinct integers are classes. Raises InputError for an unknown
    source and for unreadable, malformed or non-finite data.
    """
    if limit is not None and limit < 1:
        raise reject("limit must be at least 1", str(limit), "give the number of samples to keep")
    kind, colon, place = source.partition(":")
    if kind in SHIPPED and not colon:
        dataset = _load_shipped(kind)
    elif kind in ("libsvm", "mnist", "idx"):
        if not place:
            raise reject(f"data {kind!r} needs a path", repr(source), f"write {kind}:PATH")
        path = Path(place).expanduser()
        if kind != "libsvm":
            return _load_images(path, limit)
        dataset = _load_libsvm(path)
    else:
        raise nearest("data", source, [*SHIPPED, "libsvm:PATH", "mnist:FOLDER", "idx:FOLDER"])
    return dataset if limit is None else _first(dataset, limit)


def _first(dataset: Dataset, limit: int) -> Dataset:
    targets = dataset.targets[:limit]
    classes = _classes(targets) if dataset.classification else None
    return replace(dataset, features=dataset.features[:limit], targets=targets, classes=classes)


def _classes(labels: NDArray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unique(labels))


def _labelled(features: NDArray, labels: NDArray, name: str) -> Dataset:
    labels = np.asarray(labels, dtype=np.int64)
    return Dataset(np.asarray(features, dtype=np.float64), labels, name, True, _classes(labels))


def _load_shipped(name: str) -> Dataset:
    from sklearn import datasets

    loader, scale, classes = SHIPPED[name]
    features, targets = getattr(datasets, loader)(return_X_y=True)
    return _labelled(features / scale, targets, name) if classes else Dataset(features, targets, name, False)


def _load_images(folder: Path, limit: int | None) -> Dataset:
    images, labels = (array[:limit] for array in read_folder(folder))  # before the table grows eightfold to float64
    _check_dense(images.size, str(folder))
    return _labelled(images.reshape(len(images), -1) / 255.0, labels, folder.resolve().name)


def _check_dense(entries: int, name: str) -> None:
    if entries > MAX_DENSE_ENTRIES:
        raise reject(
            f"{name} must have at most {MAX_DENSE_ENTRIES} entries as a dense table",
            f"{entries}",
            "keep fewer samples or features",
        )


def _load_libsvm(path: Path) -> Dataset:
    if not path.is_file():
        raise reject("libsvm data must be an existing file", str(path), "check the path after libsvm:")
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    try:
        with opener(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise reject(f"{path} must be a readable LIBSVM file", str(error), "download it again or mend it") from error
    found = _parsed(content)
    if found is None:
        # The parser names no line of its own: the first that it does not take alone.
        bad = ((n, line) for n, line in enumerate(content.splitlines(), 1) if _parsed(line) is None)
        number, line = next(bad, (0, b"lines that are each well formed"))
        raise reject(
            f"line {number} of {path} must read 'label index:value ...' with finite numbers and increasing indices",
            repr(line[:40].decode("utf-8", errors="replace")),
            "mend or delete the line",
        )
    table, targets = found
    if not targets.size:
        raise reject(f"{path} must hold at least one sample", "an empty file", "check the path after libsvm:")
    _check_dense(table.shape[0] * table.shape[1], str(path))
    if np.all(targets == np.round(targets)) and len(np.unique(targets)) <= MAX_CLASSES:
        return _labelled(table.toarray(), targets, path.name)
    return Dataset(table.toarray(), targets, path.name, False)


def _parsed(content: bytes) -> tuple[Any, NDArray] | None:
    """The sparse table and the targets of LIBSVM text, None where it is malformed or not finite."""
    from sklearn.datasets import load_svmlight_file

    try:
        table, targets = load_svmlight_file(io.BytesIO(content), dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return (table, targets) if np.isfinite(table.data).all() and np.isfinite(targets).all() else None
