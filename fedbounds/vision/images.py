"""Image data by name (MNIST and Fashion-MNIST from IDX files or the network, enlarged digits), and who holds which.

The SHA-256 of the uncompressed content is compared with the published one; mirrors may compress it in other ways.
The partitions are those of ``fedbounds.problems.data.partition``. ``stratified`` is the paper's IID framework,
``shards:60`` its non-IID and ``shards:100`` its very non-IID one. This is the only importer of pooch.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fedbounds import io
from fedbounds.errors import InputError, reject
from fedbounds.model.problem import Array, Indices
from fedbounds.plugins import nearest
from fedbounds.problems.data import idx, partition
from fedbounds.problems.data import sources as data
from fedbounds.problems.data.shares import proportional

Pixels = NDArray[np.uint8]

DOWNLOADS = ("mnist", "fashion-mnist")
NAMES = (*DOWNLOADS, "digits")
SIDE, CLASSES = 28, 10
WHITE = 255
# Of the 1797 digits, one in six; MNIST tests on one in seven.
DIGITS_TEST = 300
DIGITS_SIDE = 8
# The paper deals shards unevenly: so does a partition that does not say ``even``.
PAPER_DEALING = "unbalanced"
# Tried in this order: MNIST at PyTorch's and the CVDF's mirrors, Fashion-MNIST at its authors' bucket and repository.
MIRRORS: Mapping[str, tuple[str, ...]] = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion-mnist": (
        "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
}


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images (n, 28, 28) uint8 with labels (n,) int64 in 0..9."""

    name: str
    train: Pixels
    train_labels: Indices
    test: Pixels
    test_labels: Indices

    def __post_init__(self) -> None:
        for part, labels in ((self.train, self.train_labels), (self.test, self.test_labels)):
            if part.shape[1:] != (SIDE, SIDE) or not len(part) or labels.shape != (len(part),):
                raise reject(
                    f"{self.name} must hold images of {SIDE} x {SIDE} pixels, with one label each",
                    f"images {part.shape} and labels {labels.shape}",
                    f"give {SIDE} x {SIDE} images",
                )
            if labels.min() < 0 or labels.max() >= CLASSES:
                raise reject(
                    f"labels of {self.name} must lie in 0..{CLASSES - 1}",
                    f"{labels.min()}..{labels.max()}",
                    "keep ten classes",
                )

    def fingerprint(self) -> str:
        """SHA-256 of the four arrays, so that a resumed run can tell whether its data are still the same."""
        digest = hashlib.sha256()
        for array in (self.train, self.train_labels, self.test, self.test_labels):
            digest.update(repr((array.shape, array.dtype.str)).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Origin:
    """Where data sets come from: base addresses, digests of the uncompressed files, folder of what was fetched.

    ``cache`` None is the user's cache folder of this operating system.
    """

    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MIRRORS)
    digests: Mapping[str, str] = field(default_factory=lambda: idx.KNOWN_SHA256)
    cache: Path | None = None


PUBLISHED = Origin()


def load(
    name: str,
    data_dir: str | Path | None = None,
    *,
    checksum: bool = True,
    source: Origin = PUBLISHED,
) -> Images:
    """The data set ``mnist``, ``fashion-mnist`` or ``digits``.

    The first two are read from the four IDX files (raw or gzip) in ``data_dir``/``name`` or ``data_dir``, or with
    no ``data_dir`` downloaded once into the cache. Their content must be the published one; ``checksum`` False
    takes any IDX files of 28 x 28 images with labels 0..9 from ``data_dir``. ``digits`` is scikit-learn's, see
    ``digits()``. Raises InputError for an unknown name, unreadable or other files, and a failed download.
    """
    if name not in NAMES:
        raise nearest("data", name, NAMES)
    if name == "digits":
        if data_dir is not None:
            raise reject("digits come with scikit-learn and need no folder", str(data_dir), "leave --data-dir out")
        return digits()
    if data_dir is not None:
        folder = Path(data_dir).expanduser()
        folder = folder / name if (folder / name).is_dir() else folder
    elif not checksum:
        raise reject("files without a known checksum are never downloaded", "no folder", "give --data-dir")
    else:
        folder = fetch(name, source)
    demanded = name if checksum and data_dir is not None else None  # what was fetched has just been checked
    parts = [idx.read_folder(folder, part, checksum=demanded, digests=source.digests) for part in ("train", "test")]
    (train, train_labels), (test, test_labels) = ((images, labels.astype(np.int64)) for images, labels in parts)
    return Images(name, train, train_labels, test, test_labels)


def digits() -> Images:
    """scikit-learn's 1797 digits of 8 x 8 pixels, enlarged to 28 x 28: 1497 for training, 300 for testing.

    Enlarged by bilinear interpolation between the corner pixels, X -> A X A^T with A (28, 8). Every label gives the
    test set its share to within one image: the images sorted by label (in their published order within one),
    and of these every 1797/300-th. No random number takes part, so the split is the same everywhere.
    """
    table = data.load("digits")
    small = table.features.reshape(-1, DIGITS_SIDE, DIGITS_SIDE)
    enlarge = _interpolation(DIGITS_SIDE, SIDE)
    pixels = np.rint(WHITE * (enlarge @ small @ enlarge.T)).astype(np.uint8)
    order = np.argsort(table.targets, kind="stable")
    steps = (np.arange(DIGITS_TEST) + 0.5) * len(order) / DIGITS_TEST
    test = np.sort(order[steps.astype(np.int64)])
    train = np.setdiff1d(order, test)
    return Images("digits", pixels[train], table.targets[train], pixels[test], table.targets[test])


def _interpolation(old: int, new: int) -> Array:
    """(new, old): row i takes the old grid at i (old - 1) / (new - 1), linearly between its neighbours."""
    place = np.linspace(0, old - 1, new)
    return np.maximum(0.0, 1 - np.abs(place[:, None] - np.arange(old)))


def fetch(name: str, source: Origin = PUBLISHED) -> Path:
    """The folder with the four files of ``name``; those that are missing or damaged are downloaded first.

    A file is written once its content has the known digest, so that an interrupted or wrong download leaves nothing
    behind. Raises InputError, with --data-dir as the remedy.
    """
    try:
        import pooch
    except ImportError:
        raise _undelivered(name, "no download library", "pip install 'fedbounds[vision]', or ") from None
    folder = (source.cache or Path(pooch.os_cache("fedbounds"))) / name
    for file in (file for file in source.digests if file.startswith(f"{name}/")):
        path = folder / f"{file.partition('/')[2]}.gz"
        with contextlib.suppress(InputError):  # missing or damaged: fetched anew
            if idx.verify(path, source.digests) == file:
                continue
        try:
            io.require_writable(folder)
        except InputError:
            raise _undelivered(name, f"the cache {folder}, which cannot be written") from None
        io.write_bytes(path, _received(file, source))
    return folder


def _received(file: str, source: Origin) -> bytes:
    """The gzip file ``file`` from the first mirror that has its content."""
    from pooch import HTTPDownloader

    wrong = []
    for base in source.mirrors[file.partition("/")[0]]:
        address, buffer = f"{base}{file.partition('/')[2]}.gz", BytesIO()
        try:
            HTTPDownloader()(address, buffer, None)
            if idx.identify(io.unpacked(buffer.getvalue(), address), source.digests) == file:
                return buffer.getvalue()
            reason = "other content than published"
        except InputError:
            reason = "a damaged file"
        except OSError as error:  # every error of the network is one
            status = getattr(getattr(error, "response", None), "status_code", None)
            reason = f"HTTP status {status}" if status else f"no answer ({type(error).__name__})"
        wrong.append(f"{reason} from {urlsplit(base).netloc}")
    raise _undelivered(file, " and ".join(wrong), "try again with a network, or ")


def _undelivered(what: str, received: str, remedy: str = "") -> InputError:
    remedy += "give the folder of the IDX files with --data-dir"
    return reject(f"{what} could not be downloaded", received, remedy)


def canonical(text: str) -> str:
    """The spelling of a partition that results record: shards always say how they are dealt."""
    return _parse(text).text


def client_indices(
    labels: NDArray, text: str, clients: int, samples: int, rng: np.random.Generator
) -> tuple[Indices, ...]:
    """The training images (sorted int64 indices into ``labels`` (n,)) of every client, disjoint and none empty.

    First clients * samples images are drawn, every label within one of its share, then these are partitioned, so
    that ``samples`` is the mean size. ``identical`` draws ``samples`` images, which all clients hold; ``hand``
    takes what its table says from all n, whatever ``samples`` is. Raises InputError for an unknown partition,
    more images than there are, and more clients than shards.
    """
    spec = _parse(text)
    labels = np.asarray(labels)
    if clients < 1 or samples < 1:
        raise reject("clients and samples per client must be at least 1", f"{clients} and {samples}", "give more")
    if spec.kind == "hand":
        return partition.deal(spec, labels, clients, rng)
    holders = 1 if spec.kind == "identical" else clients
    total, most = holders * samples, len(labels) // holders
    if total > len(labels):
        raise reject(
            f"{clients} clients of {samples} images on average need {total} training images",
            f"a training set of {len(labels)}",
            f"use at most {most} samples a client" if most else f"use at most {len(labels)} clients",
        )
    chosen = subsample(labels, total, rng)
    return tuple(chosen[part] for part in partition.deal(spec, labels[chosen], clients, rng))


def subsample(labels: NDArray, total: int, rng: np.random.Generator) -> Indices:
    """``total`` of the n samples at random, sorted, each label's count within 1 of total m_k / n."""
    labels = np.asarray(labels)
    if total == len(labels):
        return np.arange(total)
    available = np.unique(labels, return_counts=True)[1]
    counts = proportional([total, len(labels) - total], available, rng)
    return partition.by_hand(labels, counts[:1], rng)[0]


def _parse(text: str) -> partition.Spec:
    spec = partition.parse(text)
    if spec.kind != "shards":
        return spec
    dealing = spec.dealing or PAPER_DEALING
    return replace(spec, text=f"shards:{int(spec.value)},{dealing}", dealing=dealing)
