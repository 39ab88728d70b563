"""Image data: IDX folders by their content, enlarged digits, and failures."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.problems.data import idx
from fedbounds.problems.data import sources as data
from fedbounds.vision import images

RNG = np.random.default_rng(11)
SHAPES = {"train": 12, "t10k": 5}


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()


def made(side: int = 28) -> dict[str, np.ndarray]:
    """The four arrays of a small data set, by file name."""
    arrays = {}
    for stem, n in SHAPES.items():
        arrays[f"{stem}-images-idx3-ubyte"] = RNG.integers(256, size=(n, side, side), dtype=np.uint8)
        arrays[f"{stem}-labels-idx1-ubyte"] = RNG.integers(10, size=n, dtype=np.uint8)
    return arrays


TOYS = {name: made() for name in images.PUBLISHED}
KNOWN = {
    f"{name}/{file}": hashlib.sha256(idx_bytes(array)).hexdigest()
    for name, toy in TOYS.items()
    for file, array in toy.items()
}


def write(folder: Path, arrays: dict[str, np.ndarray], compress: bool = True) -> Path:
    folder.mkdir(parents=True)
    for file, array in arrays.items():
        content = idx_bytes(array)
        path = folder / (f"{file}.gz" if compress else file)
        path.write_bytes(gzip.compress(content) if compress else content)
    return folder


def assert_toy(found: images.Images, name: str) -> None:
    toy = TOYS[name]
    assert found.name == name
    assert np.array_equal(found.train, toy["train-images-idx3-ubyte"]) and found.train.dtype == np.uint8
    assert np.array_equal(found.test, toy["t10k-images-idx3-ubyte"])
    assert np.array_equal(found.train_labels, toy["train-labels-idx1-ubyte"]) and found.train_labels.dtype == np.int64
    assert np.array_equal(found.test_labels, toy["t10k-labels-idx1-ubyte"])


# --- folders ----------------------------------------------------------------------------------------------


@pytest.fixture
def published(monkeypatch):
    """The made files count as the published ones."""
    monkeypatch.setattr(idx, "KNOWN_SHA256", KNOWN)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("name", images.PUBLISHED)
@pytest.mark.parametrize("compress", [False, True])
def test_a_folder_of_idx_files(tmp_path, name, compress):
    write(tmp_path / "all" / name, TOYS[name], compress)
    assert_toy(images.load(name, tmp_path / "all"), name)


@pytest.mark.usefixtures("published")
def test_another_data_set_under_the_name_is_refused(tmp_path):
    folder = write(tmp_path / "files", TOYS["fashion-mnist"])
    with pytest.raises(
        InputError, match=r"content of mnist .*received the content of fashion-mnist/train-images.*name f"
    ):
        images.load("mnist", folder)
    unchecked = images.load("mnist", folder, checksum=False)
    assert len(unchecked.train) == 12


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "train-images-idx3-ubyte",
            idx_bytes(made()["train-images-idx3-ubyte"]),
            "content of mnist .*unknown content",
        ),
        (
            "t10k-labels-idx1-ubyte",
            idx_bytes(TOYS["mnist"]["train-labels-idx1-ubyte"]),
            "content of mnist/train-labels",
        ),
        ("t10k-images-idx3-ubyte", gzip.compress(b"x" * 99, mtime=0)[:-9], "gzip stream.*truncated"),
        ("t10k-labels-idx1-ubyte", None, "must contain t10k-labels-idx1-ubyte"),
    ],
    ids=["made up", "another file", "truncated", "missing"],
)
def test_files_that_are_not_the_published_ones(tmp_path, file, content, message):
    folder = write(tmp_path / "files", TOYS["mnist"], compress=False)
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        images.load("mnist", folder)
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (made(side=20), r"images of 28 x 28 pixels.*\(12, 20, 20\)"),
        (
            {**made(), "train-labels-idx1-ubyte": np.arange(12, dtype=np.uint8)},
            r"must lie in 0\.\.9, but received 0\.\.11",
        ),
        ({file: array[:0] for file, array in made().items()}, r"one label each, but received images \(0, 28, 28\)"),
        ({**made(), "t10k-labels-idx1-ubyte": np.zeros(4, dtype=np.uint8)}, "one label for each of the 5 images"),
    ],
)
def test_a_users_own_files_must_fit_the_network(tmp_path, arrays, message):
    with pytest.raises(InputError, match=message):
        images.load("mnist", write(tmp_path / "own", arrays), checksum=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mnits"}, "did you mean 'mnist'.*digits, fashion-mnist, mnist"),
        ({"name": "mnist", "data_dir": "nowhere"}, "must be a folder, but received nowhere"),
        ({"name": "digits", "data_dir": "."}, "need no folder"),
        ({"name": "mnist"}, "give it with --data-dir"),
    ],
)
def test_requests_that_make_no_sense(arguments, message):
    with pytest.raises(InputError, match=message):
        images.load(**arguments)


# --- digits -----------------------------------------------------------------------------------------------


def test_digits_are_enlarged_and_split_by_label():
    result, again = images.load("digits"), images.digits()
    assert (
        result.train.shape == (1497, 28, 28) and result.test.shape == (300, 28, 28) and result.train.dtype == np.uint8
    )
    assert result.fingerprint() == again.fingerprint()
    labels = data.load("digits").targets
    wanted = np.bincount(labels) * 300 / len(labels)
    assert np.all(np.abs(np.bincount(result.test_labels) - wanted) < 1)
    assert np.array_equal(np.bincount(result.test_labels) + np.bincount(result.train_labels), np.bincount(labels))
