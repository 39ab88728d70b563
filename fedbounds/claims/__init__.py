"""A theorem a file: its statement, its source, its assumptions."""

# The files of the paper's own statements, which a study examines unless others are named.
PAPER = ("corollary", "lemma_1", "lemma_2", "theorem_1")
