"""What a corpus of displays is asked: each reads as meant, at once or with the lines asked for, or is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.marked_theorems import Line, theorems
from fedbounds.latex.reader import claims_of
from fedbounds.latex.statement import claim_of
from fedbounds.theory import points as at
from fedbounds.theory.symbols import eta, eta_0

HERE = Path(__file__).parent


def labelled(name):
    """Label -> marked theorem of a file beside this one."""
    return {theorem.label: theorem for theorem in theorems(HERE / name)}


def with_line(theorem, line):
    verb, _, text = line.partition(" ")
    return replace(theorem, lines=(*theorem.lines, Line(verb, text, 1, 1)))


def with_asked(theorem, lines, asked=None):
    """The theorem with these lines, each of which an error asks for (in the words ``asked``) as long as it lacks."""
    for line, words in zip(lines, asked or lines, strict=True):
        with pytest.raises(InputError) as wrong:
            claims_of(theorem)
        assert words in str(wrong.value)
        theorem = with_line(theorem, line)
    return theorem


def spelled_out(expression):
    """With quantities that the table does not name by what they measure."""
    unnamed = [q for q in expression.free_symbols if getattr(q, "name", "").startswith(("expected_", "gap_next"))]
    return expression.xreplace({q: q.expression for q in unnamed})


def assert_says(theorem, *sides):
    """Both sides of each relation are these; a constant step is that of every step, None is not compared."""
    claims = claims_of(theorem)
    assert len(claims) == len(sides)
    for claim, (left, right) in zip(claims, sides, strict=True):
        constant = {eta: eta_0} if claim.eta == eta_0 else {}
        for ours, theirs in ((claim.lhs, left), (claim.rhs, right)):
            difference = 0 if theirs is None else (spelled_out(ours) - theirs).subs(constant)
            assert sp.expand(at.normal(sp.expand(difference))) == 0 or sp.simplify(difference) == 0


def assert_refused(theorem, why, read=claim_of):
    with pytest.raises(InputError, match="line ") as wrong:
        read(theorem)
    assert why in str(wrong.value)
