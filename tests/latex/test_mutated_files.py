"""Files that were damaged: each is read, or refused in one sentence."""

import random

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from validate.robustness.theorem_files import mutated, valid

COUNT = 300


def test_a_damaged_file_is_read_or_refused_in_one_sentence():
    rng, files = random.Random(36), valid()
    read = 0
    for _ in range(COUNT):
        try:
            read += len(read_text(mutated(rng, rng.choice(files))))
        except InputError as wrong:
            assert len(str(wrong).splitlines()) == 1
    assert 0 < read < COUNT
