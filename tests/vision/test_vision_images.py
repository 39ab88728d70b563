"""Image data: IDX folders by their content, downloads from a server of the test, enlarged digits, and failures."""

import gzip
import hashlib
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import zoom

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


TOYS = {name: made() for name in images.DOWNLOADS}
KNOWN = {
    f"{name}/{file}": hashlib.sha256(idx_bytes(array)).hexdigest()
    for name, toy in TOYS.items()
    for file, array in toy.items()
}
LOCAL = images.Origin(mirrors={}, digests=KNOWN)


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


@pytest.mark.parametrize("name", images.DOWNLOADS)
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_a_folder_of_idx_files(tmp_path, name, compress, nested):
    write(tmp_path / "all" / name if nested else tmp_path / "all", TOYS[name], compress)
    assert_toy(images.load(name, tmp_path / "all", source=LOCAL), name)


def test_another_data_set_under_the_name_is_refused(tmp_path):
    folder = write(tmp_path / "files", TOYS["fashion-mnist"])
    with pytest.raises(
        InputError, match=r"content of mnist .*received the content of fashion-mnist/train-images.*name f"
    ):
        images.load("mnist", folder, source=LOCAL)
    unchecked = images.load("mnist", folder, checksum=False)
    assert len(unchecked.train) == 12


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
        ("t10k-images-idx3-ubyte", gzip.compress(b"x" * 99, mtime=0)[:-8] + b"12345678", "valid gzip"),
        ("t10k-labels-idx1-ubyte", None, "must contain t10k-labels-idx1-ubyte"),
    ],
    ids=["made up", "another file", "truncated", "damaged", "missing"],
)
def test_files_that_are_not_the_published_ones(tmp_path, file, content, message):
    folder = write(tmp_path / "files", TOYS["mnist"], compress=False)
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        images.load("mnist", folder, source=LOCAL)
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
        ({"name": "mnist", "checksum": False}, "never downloaded.*give --data-dir"),
    ],
)
def test_requests_that_make_no_sense(arguments, message):
    with pytest.raises(InputError, match=message):
        images.load(**arguments)


# --- downloads --------------------------------------------------------------------------------------------


# Seconds until the server sees that it should stop.
POLL = 0.01


@pytest.fixture
def server(tmp_path, monkeypatch) -> Iterator[SimpleNamespace]:
    """A server of this machine: ``replies`` maps a path to its content, a status, or a content cut short."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    replies: dict[str, bytes | int | tuple[bytes, int]] = {
        f"/{name}/{file}.gz": gzip.compress(idx_bytes(array))
        for name, toy in TOYS.items()
        for file, array in toy.items()
    }
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            reply = replies.get(self.path, 404)
            if isinstance(reply, int):
                self.send_error(reply)
                return
            content, length = reply if isinstance(reply, tuple) else (reply, len(reply))
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(POLL,))
        thread.start()
        base = f"http://127.0.0.1:{running.server_port}/"
        source = images.Origin({name: (f"{base}{name}/",) for name in images.DOWNLOADS}, KNOWN, tmp_path / "cache")
        yield SimpleNamespace(replies=replies, asked=asked, base=base, source=source, cache=tmp_path / "cache")
        running.shutdown()
        thread.join()


def kept(server: SimpleNamespace) -> list[str]:
    return sorted(path.name for path in server.cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", images.DOWNLOADS)
def test_a_download_is_checked_kept_and_not_repeated(server, name):
    assert_toy(images.load(name, source=server.source), name)
    assert len(server.asked) == 4 and kept(server) == sorted(f"{file}.gz" for file in TOYS[name])
    assert_toy(images.load(name, source=server.source), name)
    assert len(server.asked) == 4


def test_only_what_is_missing_or_damaged_is_fetched_again(server):
    images.load("mnist", source=server.source)
    file = "t10k-images-idx3-ubyte.gz"
    path = server.cache / "mnist" / file
    for damage in (path.unlink, lambda: path.write_bytes(b"x"), lambda: path.write_bytes(path.read_bytes()[:-20])):
        damage()
        server.asked.clear()
        assert_toy(images.load("mnist", source=server.source), "mnist")
        assert server.asked == [f"/mnist/{file}"]


LAST = "/mnist/t10k-labels-idx1-ubyte.gz"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (503, "HTTP status 503 from 127.0.0.1"),
        (404, "HTTP status 404"),
        (
            gzip.compress(idx_bytes(TOYS["fashion-mnist"]["t10k-labels-idx1-ubyte"]), mtime=0),
            "other content than published",
        ),
        (gzip.compress(b"something else", mtime=0), "other content than published"),
        (b"<html>please log in</html>", "other content than published"),
        (gzip.compress(idx_bytes(TOYS["mnist"]["t10k-labels-idx1-ubyte"]), mtime=0)[:-4], "a damaged file"),
        ((b"\x1f\x8b\x08", 1000), "no answer .*from 127.0.0.1"),
    ],
    ids=["busy", "gone", "another set", "other", "a page", "cut gzip", "connection lost"],
)
def test_a_failed_download_is_one_sentence_and_leaves_nothing_half_written(server, reply, message):
    server.replies[LAST] = reply
    with pytest.raises(
        InputError, match=rf"mnist/t10k-labels-idx1-ubyte could not be downloaded.*{message}.*--data-dir"
    ) as c:
        images.load("mnist", source=server.source)
    assert "\n" not in str(c.value)
    assert f"{Path(LAST).name}" not in kept(server) and all(name.endswith("-ubyte.gz") for name in kept(server))


def test_the_next_mirror_is_asked(server):
    mirrors = {"mnist": (f"{server.base}gone/", f"{server.base}mnist/")}
    source = images.Origin(mirrors, KNOWN, server.cache)
    assert_toy(images.load("mnist", source=source), "mnist")
    assert len(server.asked) == 8
    both = images.Origin({"mnist": (f"{server.base}gone/", f"{server.base}lost/")}, KNOWN, server.cache / "other")
    with pytest.raises(InputError, match=r"HTTP status 404 from .* and HTTP status 404 from"):
        images.load("mnist", source=both)


def test_a_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(InputError, match=r"the cache .* cannot be written: .*--data-dir"):
        images.load("mnist", source=server.source)
    assert server.asked == []


def test_no_download_library(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"no download library: pip install 'fedbounds\[vision\]', or .*--data-dir"):
        images.load("mnist", source=images.Origin(cache=tmp_path))


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


def test_every_digit_is_there_once_and_a_corner_stays_a_corner():
    small = np.rint(255 * data.load("digits").features.reshape(-1, 8, 8)).astype(np.uint8)
    result = images.digits()
    large = np.concatenate([result.train, result.test])
    corners = large[:, ::27, ::27].reshape(-1, 4)
    assert sorted(map(bytes, corners)) == sorted(map(bytes, small[:, ::7, ::7].reshape(-1, 4)))
    zoomed = 255 * zoom(data.load("digits").features[:60].reshape(-1, 8, 8), (1, 3.5, 3.5), order=1)
    for image in result.train[:30]:  # sorted, so all are among the first 60
        assert np.abs(zoomed - image).max(axis=(1, 2)).min() < 0.5 + 1e-9  # rounded to whole grey values
    whole = np.full((8, 8), 0.5)
    weights = images._interpolation(8, 28)
    assert np.allclose(weights @ whole @ weights.T, 0.5, rtol=0, atol=1e-15)
    ramp = weights @ np.arange(8.0)
    assert np.allclose(ramp, np.linspace(0, 7, 28), rtol=0, atol=1e-14)
