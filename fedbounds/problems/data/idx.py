"""Images in the IDX files of MNIST, raw or gzip."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.io import LONGEST_DATA, read_bytes, unpacked
from fedbounds.model.problem import Indices

Pixels = NDArray[np.uint8]
UNSIGNED_BYTE = 0x08  # the only element type of MNIST's files


def read_folder(folder: Path, stem: str = "train") -> tuple[Pixels, Indices]:
    """Images (n, rows, columns) and labels (n,) of one part, train or t10k. Raises InputError."""
    if not folder.is_dir():
        raise reject("the IDX source must be a folder", str(folder), "give the folder with the four IDX files")
    image_path, label_path = (_find(folder, f"{stem}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1"))
    images, labels = read_idx(image_path, 3), read_idx(label_path, 1)
    if len(images) != len(labels):
        what = f"{label_path} must hold one label for each of the {len(images)} images"
        raise reject(what, f"{len(labels)} labels", "take both files from the same data set")
    return images, labels.astype(np.int64)


def _find(folder: Path, name: str) -> Path:
    # Some mirrors write a dot before idx; all are offered both raw and compressed.
    names = [base + suffix for base in (name, name.replace("-idx", ".idx")) for suffix in ("", ".gz")]
    for candidate in names:
        if (folder / candidate).is_file():
            return folder / candidate
    held = ", ".join(sorted(item.name for item in folder.iterdir())[:8]) or "an empty folder"
    raise reject(f"{folder} must contain {name} or {name}.gz", held, "put the four IDX files there")


def read_idx(path: Path, ndim: int) -> Pixels:
    """The array of an IDX file of unsigned bytes with ``ndim`` axes, raw or gzip.

    Layout: two zero bytes, the element type, the number of axes, each length as a big-endian 32-bit
    integer, then the elements. Raises InputError for a wrong magic number and for missing or surplus data.
    """
    content = unpacked(read_bytes(path, LONGEST_DATA), path)
    start, expected = 4 + 4 * ndim, bytes((0, 0, UNSIGNED_BYTE, ndim))
    if content[:4] != expected[: len(content)]:
        raise reject(
            f"{path} must start with the IDX magic number 0x{expected.hex()} (unsigned bytes, {ndim} axes)",
            f"0x{content[:4].hex()}",
            "give the published ubyte file, and check that images and labels are not swapped",
        )
    remedy = "the file is truncated or damaged: download it again"
    if len(content) < start:
        raise reject(f"{path} must hold {start} bytes of header", f"{len(content)} bytes", remedy)
    shape = tuple(int(k) for k in np.frombuffer(content, dtype=">u4", count=ndim, offset=4))
    size = math.prod(shape)  # Python integers: a corrupt header must not overflow
    if len(content) - start != size:
        raise reject(f"{path} must hold {size} elements for shape {shape}", f"{len(content) - start}", remedy)
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
