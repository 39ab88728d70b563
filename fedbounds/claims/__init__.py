"""A theorem a file: its statement, its source, its assumptions."""

# The files of the paper's own statements, which a study examines unless others are named.
PAPER = ("corollary", "lemmas", "theorem_1")
