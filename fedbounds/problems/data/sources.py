"""Real data by name or path: what scikit-learn ships, LIBSVM files and IDX folders."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import InputError, reject
from fedbounds.plugins import nearest
from fedbounds.problems.data.dataset import (
    ClientData,
    Dataset,
    as_binary,
    as_regression,
    class_codes,
    require_classes,
    split,
    standardise,
    with_intercept,
    with_row_norm,
)
from fedbounds.problems.data.idx import KNOWN_SHA256, read_folder, verify

__all__ = [
    "KNOWN_SHA256",
    "ClientData",
    "Dataset",
    "as_binary",
    "as_regression",
    "class_codes",
    "load",
    "require_classes",
    "split",
    "standardise",
    "verify",
    "with_intercept",
    "with_row_norm",
]

# Beyond this many distinct integer labels a LIBSVM file is read as regression (counts, years, prices).
MAX_CLASSES = 100
# 2 GiB of float64: the solvers need a dense table, and this is what fits beside its working copies.
MAX_DENSE_ENTRIES = 2**28


def load(
    source: str,
    *,
    root: str | Path | None = None,
    limit: int | None = None,
    part: str = "train",
    checksum: bool = False,
    classification: bool | None = None,
) -> Dataset:
    """The data named by ``source``, without centring or scaling (images are scaled to [0, 1]).

    ``source`` is ``digits``, ``breast-cancer`` or ``diabetes`` (shipped with scikit-learn), ``libsvm:PATH``,
    or ``mnist:FOLDER`` / ``idx:FOLDER`` (IDX files, raw or gzip). Relative paths start at ``root``. ``limit``
    keeps the first samples; ``part`` is train, test or all, and ``checksum`` demands the published content
    (IDX only). ``classification`` overrides the guess for LIBSVM: at most MAX_CLASSES distinct integers are
    classes. Raises InputError for an unknown source and for unreadable, malformed or non-finite data.
    """
    if limit is not None and limit < 1:
        raise reject("limit must be at least 1", str(limit), "give the number of samples to keep")
    kind, colon, place = source.partition(":")
    if kind in SHIPPED and not colon:
        dataset = SHIPPED[kind]()
    elif kind in ("libsvm", "mnist", "idx"):
        if not place:
            raise reject(f"data {kind!r} needs a path", repr(source), f"write {kind}:PATH")
        path = Path(root or ".") / Path(place).expanduser()
        if kind != "libsvm":
            return _load_images(path, limit, part, checksum)
        dataset = _load_libsvm(path, classification)
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


def _load_digits() -> Dataset:
    from sklearn.datasets import load_digits

    features, labels = load_digits(return_X_y=True)
    return _labelled(features / 16.0, labels, "digits")  # pixels count 0..16


def _load_breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    return _labelled(features, labels, "breast-cancer")


def _load_diabetes() -> Dataset:
    from sklearn.datasets import load_diabetes

    features, targets = load_diabetes(return_X_y=True)
    return Dataset(np.asarray(features, dtype=float), np.asarray(targets, dtype=float), "diabetes", False)


SHIPPED: dict[str, Callable[[], Dataset]] = {
    "digits": _load_digits,
    "breast-cancer": _load_breast_cancer,
    "diabetes": _load_diabetes,
}


def _load_images(folder: Path, limit: int | None, part: str, checksum: bool) -> Dataset:
    images, labels = read_folder(folder, part, checksum=checksum)
    images, labels = images[:limit], labels[:limit]  # before the table grows eightfold to float64
    _check_dense(images.size, str(folder))
    return _labelled(images.reshape(len(images), -1) / 255.0, labels, folder.resolve().name)


def _check_dense(entries: int, name: str) -> None:
    if entries > MAX_DENSE_ENTRIES:
        raise reject(
            f"{name} must have at most {MAX_DENSE_ENTRIES} entries as a dense table",
            f"{entries}",
            "keep fewer samples or features",
        )


def _load_libsvm(path: Path, classification: bool | None) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    if not path.is_file():
        raise reject("libsvm data must be an existing file", str(path), "check the path after libsvm:")
    try:
        table, targets = load_svmlight_file(str(path), dtype=np.float64)
    except (ValueError, OverflowError, OSError, EOFError, zlib.error) as error:
        raise _libsvm_error(path, str(error)) from error
    if not (np.all(np.isfinite(table.data)) and np.all(np.isfinite(targets))):
        raise _libsvm_error(path, "a value that is not finite")
    if not targets.size:
        raise reject(f"{path} must hold at least one sample", "an empty file", "check the path after libsvm:")
    _check_dense(table.shape[0] * table.shape[1], str(path))
    integers = bool(np.all(targets == np.round(targets)))
    if classification is None:
        classification = integers and len(np.unique(targets)) <= MAX_CLASSES
    if not classification:
        return Dataset(table.toarray(), targets, path.name, False)
    if not integers:
        bad = targets[targets != np.round(targets)][0]
        raise reject(f"labels of {path} must be integers", f"{bad:g}", "load it as regression data")
    return _labelled(table.toarray(), targets, path.name)


def _libsvm_error(path: Path, reason: str) -> InputError:
    """Name the first malformed line; the parser itself reports none."""
    try:
        for number, line in _lines(path):
            problem = _line_problem(line)
            if problem:
                return reject(
                    f"line {number} of {path} must read 'label index:value ...' with finite numbers", problem,
                    "mend or delete the line",
                )  # fmt: skip
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error)
    return reject(f"{path} must be a readable LIBSVM file", reason, "download it again or mend it")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = cast(Any, {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open))
    with closing(cast(BinaryIO, opener(path, "rb"))) as file:
        for number, line in enumerate(file, start=1):
            yield number, line.partition(b"#")[0].decode("utf-8", errors="replace")


def _line_problem(line: str) -> str | None:
    """What is wrong with one LIBSVM line, or None."""
    label, *pairs = line.split() or ["0"]
    if not _finite(label):
        return f"label {label[:40]!r}"
    previous = -1
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if index == "qid" and _integer(value):
            continue
        if not colon or not _integer(index) or not _finite(value):
            return repr(pair[:40])
        if not previous < int(index) < np.iinfo(np.int32).max:
            return f"{pair[:40]!r} (indices must be non-negative, increasing and below 2^31)"
        previous = int(index)
    return None


def _finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
