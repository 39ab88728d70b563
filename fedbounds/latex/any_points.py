"""Letters of a display that are any points, and \\bar w as the text defines it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

from fedbounds.errors import InputError
from fedbounds.latex.marked_theorems import Theorem
from fedbounds.latex.surrounding_text import defines
from fedbounds.latex.tokens import Token, flat, spelled

# What stars a point.
STARRED = {r"^{\star}", r"_{\star}"}
# Letters that are any points where they have no index and no line declares them, and how the first are then read.
ANY = ("v", "u", "x", "y", "z", r"\tilde{w}", r"\hat{w}", r"\bar{w}")
ANY_POINTS = ("w", "v", "u")


def bar(theorem: Theorem) -> Mapping[str, tuple[tuple[Token, ...], tuple[Token, ...]]]:
    """\\bar w without an index as the text defines it, such as the mean of the clients' models."""
    result = dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]()
    try:
        texts = list(map(str, flat(theorem.spelled(theorem.display))))
    except InputError:  # raised again where the display is read
        return result
    if any(a == r"\bar{w}" and b[:1] in ("_", "^") for a, b in pairwise(texts)):
        return result
    for line in theorem.inline:
        with contextlib.suppress(InputError):
            tokens = theorem.spelled(line.tokens())
            averaged = r"\sum" in {token.text for token in tokens} and defines(theorem.words, line.text)
            if averaged and [token.text for token in tokens[:2]] == [r"\bar{w}", "="]:
                result[r"\bar{w}"] = (), tuple(tokens[2:])
    return result


def any_points(
    theorem: Theorem, names: Mapping[str, Sequence[Any]], numbers: Set[str]
) -> dict[tuple[str, ...], Sequence[Token]]:
    """How the display writes any points, as w', x or \\tilde w, and that each is v or u, or w where there is none.

    A letter that the author declares is none of them, and stands for none of them.
    """
    with contextlib.suppress(InputError):
        texts = list(map(str, flat(theorem.spelled(theorem.display))))
        pairs = set(pairwise([*texts, ""]))
        iterate = any("w" in (a, spelled(names.get(a, ()))) and b not in ("'", *STARRED) for a, b in pairs)
        two = [(a, f"_{{{k}}}") for a, b in pairs if b == "_{2}" and (a, "_{1}") in pairs for k in (1, 2)]
        alone = {a for a, b in pairs if b[:1] != "_" and b not in STARRED}
        if len(two) == 2 and two[0][0] in ("w", *ANY):
            return _put(two, ANY_POINTS, {*names, *alone})
        taken = {*names, *numbers}
        taken |= {a for a, b in pairs if b[:1] in ("_", "^", "(")}
        written = dict.fromkeys(
            (a, b) if b == "'" else (a,)
            for a, b in pairwise([*texts, ""])
            if a in ANY or (b == "'" and "w" in (a, spelled(names.get(a, ()))))
        )
        free = [name for name in written if name[0] not in taken or len(name) == 2]
        others = {a for a, b in pairs if b not in STARRED and (a,) not in free}
        return _put(free, ANY_POINTS[iterate:], {*names, *numbers, *others})
    return {}


def _put(
    written: Sequence[tuple[str, ...]], points: Sequence[str], declared: Collection[str]
) -> dict[tuple[str, ...], Sequence[Token]]:
    """Each letter of the author's with the point it is read as, as nothing else is; none where these are few."""
    free = [point for point in points if point not in declared]
    if len(free) < len(written):
        return {}
    return {name: [Token(point, 1, 1)] for name, point in zip(written, free, strict=False)}
