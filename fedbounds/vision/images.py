"""Image data by name (MNIST from its IDX files, enlarged digits), and who holds which.

The partitions are those of ``fedbounds.problems.data.partition``. ``stratified`` is the paper's IID framework,
``shards:60`` its non-IID and ``shards:100`` its very non-IID one.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices
from fedbounds.plugins import nearest
from fedbounds.problems.data import partition
from fedbounds.problems.data import sources as data
from fedbounds.problems.data.idx import Pixels, read_folder

# ``Images.fingerprint`` of each as it is published.
PUBLISHED = {
    "mnist": "c2701db539e88b19ccb28bf689d499e9886f0ff3c966840a1cadac493c4d1de5",
    "fashion-mnist": "152cab10bce8f6ca8eccc516c68a0fa6173d7051d8aecf35f01b9bdd442c2671",
}
NAMES = (*PUBLISHED, "digits")
SIDE, CLASSES = 28, 10
WHITE = 255
# Of the 1797 digits, one in six; MNIST tests on one in seven.
DIGITS_TEST = 300
DIGITS_SIDE = 8
# The paper deals shards unevenly: so does a partition that does not say ``even``.
PAPER_DEALING = "unbalanced"


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


def load(name: str, data_dir: str | Path | None = None, *, checksum: bool = True) -> Images:
    """The data set ``mnist``, ``fashion-mnist`` or ``digits``.

    The first two are read from the four IDX files (raw or gzip) in ``data_dir``/NAME or ``data_dir``. They must hold
    the published images; ``checksum`` False takes any IDX files of 28 x 28 images with labels 0..9. ``digits`` is
    scikit-learn's, see ``digits()``. Raises InputError for an unknown name, unreadable or other files.
    """
    if name not in NAMES:
        raise nearest("data", name, NAMES)
    if name == "digits":
        if data_dir is not None:
            raise reject("digits come with scikit-learn and need no folder", str(data_dir), "leave --data-dir out")
        return digits()
    if data_dir is None:
        raise reject(f"{name} is read from its four IDX files", "no folder", "give it with --data-dir")
    folder = Path(data_dir).expanduser()
    folder = folder / name if (folder / name).is_dir() else folder
    (train, train_labels), (test, test_labels) = (read_folder(folder, stem) for stem in ("train", "t10k"))
    made = Images(name, train, train_labels, test, test_labels)
    if checksum and made.fingerprint() != PUBLISHED[name]:
        remedy = "download it again, or take your own images with --no-checksum"
        raise reject(f"{folder} must hold the published images of {name} (SHA-256)", "other images", remedy)
    return made


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


def canonical(text: str) -> str:
    """The spelling of a partition that results record: shards always say how they are dealt."""
    return _parse(text).text


def client_indices(
    labels: NDArray, text: str, clients: int, samples: int, rng: np.random.Generator
) -> tuple[Indices, ...]:
    """The training images (sorted int64 indices into ``labels`` (n,)) of every client, disjoint and none empty.

    First clients * samples images are drawn, every label within one of its share, then these are partitioned, so
    that ``samples`` is the mean size. Raises InputError for an unknown partition, more images than there are, and
    more clients than shards.
    """
    spec = _parse(text)
    labels = np.asarray(labels)
    if clients < 1 or samples < 1:
        raise reject("clients and samples per client must be at least 1", f"{clients} and {samples}", "give more")
    total, most = clients * samples, len(labels) // clients
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
    counts = partition.proportional([total, len(labels) - total], available, rng)
    return partition.by_counts(labels, counts[:1], rng)[0]


def _parse(text: str) -> partition.Spec:
    spec = partition.parse(text)
    if spec.kind != "shards":
        return spec
    dealing = spec.dealing or PAPER_DEALING
    return replace(spec, text=f"shards:{int(spec.value)},{dealing}", dealing=dealing)
