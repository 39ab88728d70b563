"""Files that are read: a small one that unpacks into a large one is refused before it fills the memory."""

import bz2
import gzip
import tracemalloc

import pytest

from fedbounds.errors import InputError
from fedbounds.io import unpacked
from fedbounds.problems.data import idx

MEGABYTE = 2**20


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_what_unpacks_without_end_is_refused_in_little_memory(compress):
    bomb = compress(bytes(MEGABYTE)) * 200
    assert len(bomb) < MEGABYTE
    tracemalloc.start()
    with pytest.raises(InputError, match="at most 2097152 bytes when unpacked"):
        unpacked(bomb, "it", 2 * MEGABYTE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MEGABYTE


def test_every_reader_of_packed_data_has_a_bound(tmp_path, monkeypatch):
    asked = []

    def noted(content, name):
        asked.append(name)
        raise InputError("stop.")

    monkeypatch.setattr(idx, "unpacked", noted)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n"))
    with pytest.raises(InputError, match=r"stop\."):
        idx.read_idx(path, 3)
    assert asked == [path]
