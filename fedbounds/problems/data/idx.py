"""The IDX files in which MNIST and Fashion-MNIST are published: a small parser and their digests."""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.io import LONGEST_DATA, read_bytes, unpacked

UNSIGNED_BYTE = 0x08  # the only element type of the MNIST family
STEMS = {"train": "train", "test": "t10k"}

# SHA-256 of the *uncompressed* files: the same content may be compressed in many ways.
KNOWN_SHA256: Mapping[str, str] = MappingProxyType(
    {
        "mnist/train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "mnist/train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "mnist/t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "mnist/t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        "fashion-mnist/train-images-idx3-ubyte": ("c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
        "fashion-mnist/train-labels-idx1-ubyte": ("bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        "fashion-mnist/t10k-images-idx3-ubyte": ("5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
        "fashion-mnist/t10k-labels-idx1-ubyte": ("0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    }
)


def verify(path: str | Path) -> str | None:
    """Name of the published file that ``path`` (raw or gzip) holds by SHA-256 of its content, else None."""
    digest = hashlib.sha256(_content(Path(path))).hexdigest()
    return next((name for name, published in KNOWN_SHA256.items() if published == digest), None)


def read_idx(path: str | Path, ndim: int) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes with ``ndim`` axes, raw or gzip.

    Layout: two zero bytes, the element type, the number of axes, each length as a big-endian 32-bit
    integer, then the elements. Raises InputError for a wrong magic number and for missing or surplus data.
    """
    path = Path(path)
    content = _content(path)
    start = 4 + 4 * ndim
    expected = bytes((0, 0, UNSIGNED_BYTE, ndim))
    if content[:4] != expected[: len(content)]:
        raise reject(
            f"{path} must start with the IDX magic number 0x{expected.hex()} (unsigned bytes, {ndim} axes)",
            f"0x{content[:4].hex()}",
            "give the published ubyte file, and check that images and labels are not swapped",
        )
    if len(content) < start:
        raise _damaged(path, f"{start} bytes of header", f"{len(content)} bytes")
    shape = tuple(int(k) for k in np.frombuffer(content, dtype=">u4", count=ndim, offset=4))
    size = math.prod(shape)  # Python integers: a corrupt header must not overflow
    if len(content) - start != size:
        raise _damaged(path, f"{size} elements for shape {shape}", f"{len(content) - start}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_folder(
    folder: str | Path, part: str = "train", *, checksum: str | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, rows, columns) and labels (n,) of the ``train`` or ``test`` files in ``folder``.

    ``checksum`` demands the published content of that data set.
    """
    folder, stem = Path(folder), STEMS[part]
    if not folder.is_dir():
        raise reject("the IDX source must be a folder", str(folder), "give the folder with the four IDX files")
    image_path, label_path = (_find(folder, f"{stem}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1"))
    for path in (image_path, label_path) if checksum else ():
        _check_published(path, f"{checksum}/{path.name.removesuffix('.gz').replace('.idx', '-idx')}")
    images, labels = read_idx(image_path, 3), read_idx(label_path, 1)
    if len(images) != len(labels):
        raise reject(
            f"{label_path} must hold one label for each of the {len(images)} images",
            f"{len(labels)} labels",
            "take both files from the same data set",
        )
    return images, labels


def _find(folder: Path, name: str) -> Path:
    # Some mirrors write a dot before idx; all are offered both raw and compressed.
    names = [base + suffix for base in (name, name.replace("-idx", ".idx")) for suffix in ("", ".gz")]
    for candidate in names:
        if (folder / candidate).is_file():
            return folder / candidate
    held = ", ".join(sorted(item.name for item in folder.iterdir())[:8]) or "an empty folder"
    raise reject(f"{folder} must contain {name} or {name}.gz", held, "put the four IDX files there")


def _check_published(path: Path, wanted: str) -> None:
    published = verify(path)
    if published != wanted:
        set_name, demanded = (published or "").partition("/")[0], wanted.partition("/")[0]
        raise reject(
            f"{path} must have the published content of {demanded} (SHA-256)",
            f"the content of {published}" if published else "unknown content",
            f"give the folder of {demanded}, or name {set_name} as the data"
            if set_name and set_name != demanded
            else "download it again, or load it without the checksum",
        )


def _content(path: Path) -> bytes:
    return unpacked(read_bytes(path, LONGEST_DATA), path)


def _damaged(path: Path, wanted: str, received: str) -> Exception:
    return reject(f"{path} must hold {wanted}", received, "the file is truncated or damaged: download it again")
