"""Real data: shapes, transformations, file formats and their failures."""

import bz2
import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import datasets

from fedbounds.errors import InputError
from fedbounds.problems.data import dataset as tables
from fedbounds.problems.data import idx
from fedbounds.problems.data import sources as data

# Means and variances of at most 20 numbers of order 1 after one division: a few dozen roundings.
ROUNDING = 1e-12


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


IMAGES = np.arange(7 * 4 * 3, dtype=np.uint8).reshape(7, 4, 3)
LABELS = np.array([3, 1, 3, 0, 1, 9, 3], dtype=np.uint8)


def write_folder(folder: Path, *, compress: bool = False, dot: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    for stem, rows in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        for name, array in ((f"{stem}-images-idx3-ubyte", IMAGES[rows]), (f"{stem}-labels-idx1-ubyte", LABELS[rows])):
            content = idx_bytes(array)
            path = folder / (name.replace("-idx", ".idx") if dot else name)
            if compress:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
            else:
                path.write_bytes(content)
    return folder


def table(features: np.ndarray, targets: np.ndarray, classes: tuple[int, ...] | None = None) -> tables.Dataset:
    return tables.Dataset(features, targets, "made up", classes is not None, classes)


@pytest.mark.parametrize(
    ("source", "shape", "classes"),
    [("digits", (1797, 64), tuple(range(10))), ("breast-cancer", (569, 30), (0, 1)), ("diabetes", (442, 10), None)],
)
def test_shipped_data(source, shape, classes):
    dataset = data.load(source)
    assert dataset.features.shape == shape and dataset.features.dtype == np.float64
    assert dataset.targets.shape == shape[:1]
    assert dataset.classes == classes and dataset.classification == (classes is not None)
    assert dataset.targets.dtype == (np.int64 if classes else np.float64)


def test_limit_keeps_the_first_samples_and_their_classes():
    whole, few = data.load("digits"), data.load("digits", limit=4)
    assert np.array_equal(few.features, whole.features[:4]) and few.classes == (0, 1, 2, 3)
    with pytest.raises(InputError, match="limit must be at least 1"):
        data.load("digits", limit=0)


def test_unknown_source_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'breast-cancer'"):
        data.load("breast_cancer")
    with pytest.raises(InputError, match="needs a path"):
        data.load("libsvm:")


# --- transformations ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 20), st.integers(1, 4)),
        # All finite numbers, subnormal ones too: neither differences nor squares may leave the range.
        elements=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-1.7e308, 1.7e308, 0.1, 2.0]),
    )
)
def test_standardised_columns(features):
    z = tables.standardise(table(features, np.zeros(len(features)))).features
    constant = np.ptp(features / np.maximum(np.abs(features).max(axis=0), 1e-308), axis=0) == 0
    assert np.array_equal(z[:, -1], np.ones(len(features)))
    z = z[:, :-1]
    assert np.all(z[:, constant] == 0)
    assert np.all(np.abs(z.mean(axis=0)) <= ROUNDING)
    assert np.all(np.abs(z[:, ~constant].var(axis=0) - 1) <= ROUNDING)


def test_logistic_refuses_labels_of_the_wrong_kind():
    with pytest.raises(InputError, match=r"labels of the wrong kind.*choose a least-squares problem"):
        tables.require_classes(data.load("diabetes"))
    with pytest.raises(InputError, match="needs two classes"):
        tables.require_classes(table(np.ones((2, 1)), np.array([4, 4]), (4,)))


# --- IDX -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [True])
@pytest.mark.parametrize("dot", [False, True])
def test_idx_round_trip(tmp_path, compress, dot):
    folder = write_folder(tmp_path / "tiny", compress=compress, dot=dot)
    train = data.load(f"mnist:{folder}")
    assert train.name == "tiny" and train.classes == (0, 1, 3)
    assert np.array_equal(train.features, IMAGES[:5].reshape(5, 12) / 255)
    assert np.array_equal(train.targets, LABELS[:5])
    assert np.array_equal(idx.read_folder(folder, "test")[1], LABELS[5:])
    assert np.array_equal(data.load(f"idx:{folder}", limit=3).features, IMAGES[:3].reshape(3, 12) / 255)


def damaged(content: bytes, how: str) -> bytes:
    whole = idx_bytes(IMAGES[:5])
    return {
        "data": content[:-1],
        "header": content[:9],
        "magic": content[:2],
        "empty": b"",
        "surplus": content + b"x",
        "labels": idx_bytes(LABELS[:5]),
        "type": b"\0\0\x0d" + content[3:],
        "gzip": gzip.compress(content)[:-12],
        "gzip tail": gzip.compress(content) + b"garbage",
        "gzip sum": gzip.compress(content)[:-8] + b"12345678",
        "gzip then short": gzip.compress(content[:-1]),
        "huge": whole[:4] + b"\xff" * 12 + whole[16:],
    }[how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("data", "must hold 60 elements for shape .5, 4, 3., but received 59: the file is truncated"),
        ("header", "16 bytes of header, but received 9 bytes: the file is truncated"),
        ("magic", "the file is truncated"),
        ("empty", "the file is truncated"),
        ("surplus", "must hold 60 elements.*received 61"),
        ("labels", "magic number 0x00000803.*0x00000801.*not swapped"),
        ("type", "magic number"),
        ("gzip", "a valid gzip stream.*truncated"),
        ("gzip tail", "valid gzip"),
        ("gzip sum", "valid gzip"),
        ("gzip then short", "the file is truncated"),
        ("huge", "the file is truncated"),
    ],
)
def test_damaged_idx(tmp_path, how, message):
    folder = write_folder(tmp_path)
    path = folder / "train-images-idx3-ubyte"
    path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(InputError, match=message) as caught:
        data.load(f"idx:{folder}")
    assert "\n" not in str(caught.value) and "train-images-idx3-ubyte" in str(caught.value)


def test_checksums_look_at_the_uncompressed_content(tmp_path, monkeypatch):
    folder = write_folder(tmp_path, compress=True)
    image_path, label_path = (folder / f"train-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1"))
    assert idx.verify(image_path) is None
    with pytest.raises(InputError, match=r"published content of mnist .*unknown content"):
        idx.read_folder(folder, checksum="mnist")
    digests = [hashlib.sha256(idx_bytes(array)).hexdigest() for array in (IMAGES[:5], LABELS[:5])]
    names = ["toy/train-images-idx3-ubyte", "toy/train-labels-idx1-ubyte"]
    known = dict(zip(names, digests, strict=True))
    monkeypatch.setattr(idx, "KNOWN_SHA256", known)
    assert idx.verify(image_path) == names[0] and idx.verify(label_path) == names[1]
    assert idx.read_folder(folder, checksum="toy")[1].tolist() == LABELS[:5].tolist()
    mixed = dict(zip((names[0], names[1].replace("toy", "tea")), digests, strict=True))
    monkeypatch.setattr(idx, "KNOWN_SHA256", mixed)
    with pytest.raises(InputError, match=r"the content of tea/train-labels.*or name tea as the data"):
        idx.read_folder(folder, checksum="toy")
    swapped = dict(zip(reversed(names), digests, strict=True))
    monkeypatch.setattr(idx, "KNOWN_SHA256", swapped)
    with pytest.raises(InputError, match="the content of toy/train-labels"):
        idx.read_folder(folder, checksum="toy")


# --- LIBSVM ---------------------------------------------------------------------------------------------

GOOD = "+1 1:0.5 3:-2 # a comment\n\n-1 2:1e-1\n+1\n"


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_libsvm_classes(tmp_path, suffix):
    path = tmp_path / f"toy{suffix}"
    raw = GOOD.encode()
    path.write_bytes({"": raw, ".gz": gzip.compress(raw), ".bz2": bz2.compress(raw)}[suffix])
    dataset = data.load(f"libsvm:{path}")
    assert dataset.features.tolist() == [[0.5, 0.0, -2.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.0]]
    assert dataset.targets.tolist() == [1, -1, 1] and dataset.classes == (-1, 1) and dataset.classification


def test_libsvm_regression_by_values_or_by_their_number(tmp_path):
    path = tmp_path / "toy"
    path.write_text("1.5 1:1\n2 1:2\n")
    dataset = data.load(f"libsvm:{path}")
    assert not dataset.classification and dataset.targets.tolist() == [1.5, 2.0]
    path.write_text("".join(f"{k} 1:1\n" for k in range(data.MAX_CLASSES + 1)))
    assert not data.load(f"libsvm:{path}").classification


@pytest.mark.parametrize(
    "line",
    ["cat 1:2", "1,2 1:2", "nan 1:2", "1 1", "1 1:x", "1 x:1", "1 1: 2", "1 1:nan", "1 1:2 2:-inf", "1 2:1 1:1",
     "1 2:1 2:1", "1 -1:1", "1 3000000000:1", "1 99999999999999999999:1"],
)  # fmt: skip
def test_malformed_libsvm_line_is_named_by_number(tmp_path, line):
    path = tmp_path / "toy"
    for rest in ("1 1:1\n", "also bad\n"):  # the first bad line is named, and not only where parsing stops
        path.write_text(f"+1 1:0.5\n\n# comment\n{line}\n{rest}")
        named = f"line 4 of .* 'label index:value ...' .*received '{line}'"
        with pytest.raises(InputError, match=named) as caught:
            data.load(f"libsvm:{path}")
        assert "\n" not in str(caught.value)


def test_unreadable_libsvm_files(tmp_path):
    with pytest.raises(InputError, match="a file to read must exist"):
        data.load(f"libsvm:{tmp_path}/nowhere")
    path = tmp_path / "toy"
    path.write_text("# nothing\n")
    with pytest.raises(InputError, match="at least one sample"):
        data.load(f"libsvm:{path}")
    path.write_text("1 2000000000:1\n")
    with pytest.raises(InputError, match="as a dense table"):
        data.load(f"libsvm:{path}")
    short = tmp_path / "toy.gz"
    short.write_bytes(gzip.compress(GOOD.encode() * 50)[:-9])
    with pytest.raises(InputError, match="valid gzip stream"):
        data.load(f"libsvm:{short}")


@pytest.mark.parametrize(("name", "scale"), [("digits", 16.0), ("breast-cancer", 1.0), ("diabetes", 1.0)])
def test_shipped_tables_are_those_that_scikit_learn_loads(name, scale):
    """They are read without it, so that a file moved or written otherwise must show."""
    features, targets = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    shipped = data.load(name)
    labels = np.unique(targets, return_inverse=True)[1] if shipped.classification else targets
    own = np.unique(shipped.targets, return_inverse=True)[1] if shipped.classification else shipped.targets
    assert np.array_equal(shipped.features, features / scale) and np.array_equal(own, labels)
