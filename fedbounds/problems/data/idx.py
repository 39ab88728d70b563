"""The IDX files in which MNIST and Fashion-MNIST are published: a small parser and their checksums."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08  # the only element type of the MNIST family
PARTS = ("train", "test", "all")
_STEMS = {"train": "train", "test": "t10k"}

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


def verify(path: str | Path, known: Mapping[str, str] | None = None) -> str | None:
    """Name of the published file that ``path`` (raw or gzip) holds by SHA-256 of its content, else None.

    ``known`` maps names as ``mnist/train-images-idx3-ubyte`` to digests; KNOWN_SHA256 unless given.
    """
    return identify(_content(Path(path)), known)


def identify(content: bytes, known: Mapping[str, str] | None = None) -> str | None:
    """As ``verify``, of uncompressed bytes."""
    digest = hashlib.sha256(content).hexdigest()
    table = KNOWN_SHA256 if known is None else known
    return next((name for name, published in table.items() if published == digest), None)


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
        raise _truncated(path, f"{start} bytes of header", f"{len(content)} bytes")
    shape = tuple(int(k) for k in np.frombuffer(content, dtype=">u4", count=ndim, offset=4))
    size = math.prod(shape)  # Python integers: a corrupt header must not overflow
    if len(content) - start < size:
        raise _truncated(path, f"{size} elements for shape {shape}", f"{len(content) - start}")
    if len(content) - start > size:
        raise reject(
            f"{path} must hold {size} elements for shape {shape}",
            f"{len(content) - start}",
            "the file is corrupt: download it again",
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_folder(
    folder: str | Path,
    part: str = "train",
    *,
    checksum: bool | str = False,
    known: Mapping[str, str] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, rows, columns) and labels (n,) of the ``train``, ``test`` or ``all`` files in ``folder``.

    ``checksum`` demands the content of a data set in ``known`` (KNOWN_SHA256 unless given), or that of the named one.
    """
    if part not in PARTS:
        raise reject(f"part must be one of {', '.join(PARTS)}", repr(part), "choose one of these")
    folder = Path(folder)
    if not folder.is_dir():
        raise reject("the IDX source must be a folder", str(folder), "give the folder with the four IDX files")
    stems = ("train", "t10k") if part == "all" else (_STEMS[part],)
    pairs = [_read_pair(folder, stem, checksum, known) for stem in stems]
    shapes = {images.shape[1:] for images, _ in pairs}
    if len(shapes) > 1:
        raise reject("training and test images must have one size", str(sorted(shapes)), "do not mix data sets")
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])


def _read_pair(
    folder: Path, stem: str, checksum: bool | str, known: Mapping[str, str] | None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    image_path, label_path = _find(folder, f"{stem}-images-idx3-ubyte"), _find(folder, f"{stem}-labels-idx1-ubyte")
    if checksum:
        _check_published(image_path, label_path, checksum if isinstance(checksum, str) else "", known)
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
    found = ", ".join(sorted(item.name for item in folder.iterdir())[:8]) or "an empty folder"
    raise reject(f"{folder} must contain {name} or {name}.gz", found, "put the four IDX files there")


def _check_published(images: Path, labels: Path, dataset: str, known: Mapping[str, str] | None) -> None:
    found = verify(images, known), verify(labels, known)
    for path, name in zip((images, labels), found, strict=True):
        stem = path.name.removesuffix(".gz").replace(".idx", "-idx")
        own, _, published = (name or "").partition("/")
        if published != stem or (dataset and own != dataset):
            another = own and own != (dataset or own)
            raise reject(
                f"{path} must have the published content of {dataset or 'MNIST or Fashion-MNIST'} (SHA-256)",
                f"the content of {name}" if name else "unknown content",
                f"give the folder of {dataset}, or name {own} as the data"
                if another
                else "download it again, or load it without the checksum",
            )
    if len({str(name).split("/")[0] for name in found}) > 1:
        raise reject("images and labels must belong to one data set", f"{found[0]} with {found[1]}", "sort the files")


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise reject(
            f"{path} must be a readable file", error.strerror or "an input error", "check the path"
        ) from error
    return unpack(content, path)


def unpack(content: bytes, path: Path) -> bytes:
    """``content`` without its gzip wrapper, if it has one; ``path`` is what an error names."""
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise _truncated(path, "a whole gzip stream", "one that stops early") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise reject(
            f"{path} must be a valid gzip file", str(error), "the file is corrupt: download it again"
        ) from error


def _truncated(path: Path, wanted: str, received: str) -> Exception:
    return reject(f"{path} must hold {wanted}", received, "the file is truncated: download it again")
