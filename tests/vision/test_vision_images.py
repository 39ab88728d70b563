"""Image data: IDX folders by their content, enlarged digits, who holds which image, and failures."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
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


TOY = made()


def write(folder: Path, arrays: dict[str, np.ndarray], compress: bool = True, dot: bool = False) -> Path:
    folder.mkdir(parents=True)
    for file, array in arrays.items():
        content, name = idx_bytes(array), file.replace("-idx", ".idx") if dot else file
        path = folder / (f"{name}.gz" if compress else name)
        path.write_bytes(gzip.compress(content) if compress else content)
    return folder


# --- folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("compress", "dot"), [(False, False), (True, True)])
def test_a_folder_of_idx_files(tmp_path, monkeypatch, compress, dot):
    write(tmp_path / "all" / "mnist", TOY, compress, dot)
    with pytest.raises(InputError, match="must hold the published images of mnist"):
        images.load("mnist", tmp_path / "all")
    found = images.load("mnist", tmp_path / "all", checksum=False)
    monkeypatch.setitem(images.PUBLISHED, "mnist", found.fingerprint())
    assert images.load("mnist", tmp_path / "all").fingerprint() == found.fingerprint()
    for part, stem in (("train", "train"), ("test", "t10k")):
        pixels, labels = getattr(found, part), getattr(found, f"{part}_labels")
        assert np.array_equal(pixels, TOY[f"{stem}-images-idx3-ubyte"]) and pixels.dtype == np.uint8
        assert np.array_equal(labels, TOY[f"{stem}-labels-idx1-ubyte"]) and labels.dtype == np.int64


def damaged(content: bytes, how: str) -> bytes:
    return {
        "data": content[:-1],
        "header": content[:9],
        "empty": b"",
        "surplus": content + b"x",
        "labels": idx_bytes(TOY["train-labels-idx1-ubyte"]),
        "type": b"\0\0\x0d" + content[3:],
        "gzip": gzip.compress(content)[:-12],
        "gzip sum": gzip.compress(content)[:-8] + b"12345678",
        "huge": content[:4] + b"\xff" * 12 + content[16:],
    }[how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("data", "must hold 9408 elements for shape .12, 28, 28., but received 9407: the file is truncated"),
        ("header", "16 bytes of header, but received 9 bytes: the file is truncated"),
        ("empty", "the file is truncated"),
        ("surplus", "must hold 9408 elements.*received 9409"),
        ("labels", "magic number 0x00000803.*0x00000801.*not swapped"),
        ("type", "magic number"),
        ("gzip", "a valid gzip stream.*truncated"),
        ("gzip sum", "valid gzip"),
        ("huge", "the file is truncated"),
    ],
)
def test_damaged_files(tmp_path, how, message):
    path = write(tmp_path / "files", TOY, compress=False) / "train-images-idx3-ubyte"
    path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(InputError, match=message) as caught:
        images.load("mnist", path.parent)
    assert "\n" not in str(caught.value) and "train-images-idx3-ubyte" in str(caught.value)
    path.unlink()
    with pytest.raises(InputError, match="must contain train-images-idx3-ubyte"):
        images.load("mnist", path.parent)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (made(side=20), r"images of 28 x 28 pixels.*\(12, 20, 20\)"),
        (
            {**TOY, "train-labels-idx1-ubyte": np.arange(12, dtype=np.uint8)},
            r"must lie in 0\.\.9, but received 0\.\.11",
        ),
        ({file: array[:0] for file, array in TOY.items()}, r"one label each, but received images \(0, 28, 28\)"),
        ({**TOY, "t10k-labels-idx1-ubyte": np.zeros(4, dtype=np.uint8)}, "one label for each of the 5 images"),
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


# Ten labels in unequal amounts, shuffled: 1255 images.
LABELS = np.random.default_rng(7).permutation(
    np.repeat(np.arange(10), [80, 95, 110, 125, 140, 155, 170, 185, 100, 95])
)
SHARES = np.bincount(LABELS) / len(LABELS)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def counts(parts) -> np.ndarray:
    return np.array([np.bincount(LABELS[part], minlength=10) for part in parts])


@settings(max_examples=25)
@given(
    clients=st.integers(1, 30),
    samples=st.integers(8, 40),
    text=st.sampled_from(["iid", "stratified", "shards:8", "shards:8,even", "dirichlet:0.5", "quantity:1"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_split_has_the_mean_size_and_the_shares_of_the_whole(clients, samples, text, seed):
    parts = images.client_indices(LABELS, text, clients, samples, rng(seed))
    together = np.concatenate(parts)
    assert len(parts) == clients and all(len(part) and part.dtype == np.int64 for part in parts)
    assert len(together) == clients * samples == len(np.unique(together))
    assert np.all(np.abs(counts(parts).sum(axis=0) - clients * samples * SHARES) < 1)
    again = images.client_indices(LABELS, text, clients, samples, rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_plain_shards_are_the_papers_unbalanced_ones():
    plain, dealt, even = (
        images.client_indices(LABELS, text, 4, 180, rng(3))
        for text in ("shards:60", "shards:60,unbalanced", "shards:60,even")
    )
    assert all(np.array_equal(a, b) for a, b in zip(plain, dealt, strict=True))
    assert [len(part) for part in even] == [180] * 4
    assert [len(part) for part in plain] != [180] * 4 and all(len(part) % 60 == 0 for part in plain)
    # Labels have 46 to 106 images here, so 60 in a row touch three at most.
    assert np.all((counts(plain) > 0).sum(axis=1) <= 3 * np.array([len(part) // 60 for part in plain]))


def test_results_record_how_shards_were_dealt():
    spelled = {"shards:060": "shards:60,unbalanced", "shards:60,even": "shards:60,even", "iid": "iid"}
    for text, spelling in (spelled | {"shards:60,unbalanced": "shards:60,unbalanced"}).items():
        assert images.canonical(text) == spelling


@pytest.mark.parametrize(
    ("text", "clients", "samples", "message"),
    [
        ("iid", 50, 200, "50 clients of 200 images on average need 10000 training images, but received a training "
         "set of 1255: use at most 25 samples a client"),
        ("iid", 2000, 1, "but received a training set of 1255: use at most 1255 clients"),
        ("shards:60", 30, 40, "1200 samples make 20 shards of 60, but received 30 clients: use at most 20"),
        ("iid", 0, 5, "at least 1, but received 0 and 5"),
        ("shards:0", 5, 10, "shard size must be at least 1"),
    ],
)  # fmt: skip
def test_splits_that_cannot_be(text, clients, samples, message):
    with pytest.raises(InputError, match=message) as caught:
        images.client_indices(LABELS, text, clients, samples, rng())
    assert "\n" not in str(caught.value)
