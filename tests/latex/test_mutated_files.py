"""Files that were damaged: each is read, or refused in a sentence for each error."""

import random
import re

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from validate.robustness.damage import latex
from validate.robustness.formats import theorem_files

COUNT = 300
# Names of tokens in the grammar.
INTERNAL = re.compile(r"<norm|norm>|quantity [a-z]+_|\b_?(LPAR|RPAR|EXPECT|MRON)\b")


def test_a_damaged_file_is_read_or_refused_in_sentences():
    rng, files = random.Random(36), theorem_files()
    read = 0
    for _ in range(COUNT):
        try:
            read += len(read_text(latex(rng, rng.choice(files))))
        except InputError as wrong:
            lines = str(wrong).splitlines()
            assert all(line.endswith(".") and "but received" in line for line in lines)
            assert not INTERNAL.search(str(wrong))
    assert 0 < read < COUNT
