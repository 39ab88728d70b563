"""How much stronger a proved claim can be: assumptions that it does not need, smaller terms, longer steps.

One change after the other is kept if the claim with it is proved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.plugins import Plugins
from fedbounds.referee.implication import Shipped, Source, conditions, follows
from fedbounds.referee.pareto_front import Constants, front
from fedbounds.referee.sharper import WIDENED, Sharpening, with_repair
from fedbounds.referee.stage_context import TimeSpent, at_most
from fedbounds.referee.theorems import theorem_of, theorems
from fedbounds.referee.trial import checked
from fedbounds.theory.claim import Claim, Kind, in_words
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem

TOGETHER = "Its constants together, each line certified for two clients with p = (1/2, 1/2) and full gradients:"
TRIED = "parts of terms made smaller by a number or in tau, assumptions left out, wider step limits"
# Processor seconds that are spent unless others are given; a share for the front.
SECONDS, SHARE_OF_FRONT = 45.0, 0.15


@dataclass(frozen=True)
class Sharpened:
    """The strongest claim found, its ``proof`` (None: no form is proved), the ``changes`` that lead to it.

    ``longer`` are steps for which it is proved as stated, ``shipped`` proved claims that are sharper than the given
    one; ``front`` how small its constants are together at settings.
    """

    of: Claim
    claim: Claim
    proof: Verdict | None
    changes: tuple[str, ...]
    longer: tuple[str, ...]
    shipped: tuple[str, ...]
    finished: bool
    front: tuple[Constants, ...] = ()

    @property
    def never_needed(self) -> tuple[str, ...]:
        """What of the right side as stated is too much, and the assumptions that are not used."""
        if self.proof is None or any(WIDENED in change for change in self.changes):
            return ()
        stated = with_repair(self.of, READINGS[self.proof.reading]).assumptions
        wider = any("eta" in item.symbols() for item in self.claim.assumptions if item not in stated)
        unused = (item for item in stated if item not in self.claim.assumptions)
        less = (sp.factor_terms(sp.expand(self.of.terms[name] - term)) for name, term in self.claim.terms.items())
        needless = [str(term) for term in less if term != 0]
        return (*needless, *(item.statement for item in unused if not (wider and "eta" in item.symbols())))

    def __str__(self) -> str:
        """The answer in a few lines."""
        ended = "" if self.finished else " (ended early: not every change was tried)"
        lines = [f"{self.of.key}: no {'sharper ' * (self.proof is not None)}form was proved{ended}."]
        if self.changes:
            widened = "not proved as stated; this statement is"
            about = widened if WIDENED in self.changes[0] else "a sharper statement is"
            lines = [f"{self.of.key}: {about} PROVED{ended}.", f"  {in_words(left_of(self.claim))}"]
            lines += [f"  assuming: {'; '.join(item.statement for item in self.claim.assumptions)}"]
            lines += [f"  {change}" for change in self.changes]
        lines += [f"Never needed: {', '.join(self.never_needed)}."] * bool(self.never_needed)
        lines += [f"Its terms as they are: PROVED for {change}" for change in self.longer]
        lines += [f"{sharper}." for sharper in self.shipped]
        lines += [TOGETHER] * bool(self.front) + [f"  {point}" for point in self.front]
        return "\n".join([*lines, f"Of the forms tried ({TRIED}) this is the strongest; others may be stronger."])

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        lists = {"changes": self.changes, "never needed": self.never_needed, "as stated for": self.longer}
        lists |= {"sharper": self.shipped}
        return {
            "claim": self.of.key,
            "proved": self.proof is not None,
            "statement": in_words(left_of(self.claim)),
            "assumptions": [item.statement for item in self.claim.assumptions],
            "terms": {name: str(term) for name, term in self.claim.terms.items()},
            **{name: list(items) for name, items in lists.items()},
            "constants together": [point.to_json() for point in self.front],
            "finished": self.finished,
        }


def sharpen(
    theorem: Theorem,
    reading: str | None = None,
    *,
    label: str | None = None,
    seconds: float = SECONDS,
    plugins: Plugins = (),
    progress: Callable[[str], None] = lambda change: None,
) -> Sharpened:
    """The strongest statement of a claim's form that is proved, after about so many processor seconds.

    Of a claim without proof, of the smallest of some multiples of its right side that has one. ``label`` names the
    one claim of a file that has several; ``progress`` is told each change when it is kept. Raises InputError where
    the claim is no inequality.

    >>> sharpen("ratio-bound", seconds=1).of.key
    'ratio-bound'
    """
    claim, how = chosen(theorem, reading, label, seconds, plugins)
    best = Sharpening.of(claim, how, seconds, progress=progress)
    sharper, longer = tuple[str, ...](), tuple[str, ...]()
    finished, points = False, list[Constants]()
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds * SHARE_OF_FRONT):
        points.extend(front(claim, how))
    with contextlib.suppress(TimeSpent, KeyboardInterrupt), at_most(seconds):
        sharper = tuple(sharper_shipped(claim, how, best.shipped))
        if best.begin():
            as_stated = replace(best, changes=[], progress=lambda change: None)
            best.improve()
            as_stated.longer_steps()
            longer = tuple(as_stated.changes)
        finished = not best.late
    return Sharpened(claim, best.claim, best.proof, tuple(best.changes), longer, sharper, finished, tuple(points))


def chosen(
    theorem: Theorem, reading: str | None, label: str | None, seconds: float, plugins: Plugins
) -> tuple[Claim, Reading]:
    """The one claim to sharpen, and its reading. Raises InputError where the claim is no inequality.

    >>> chosen("ratio-bound", None, None, 1.0, ())[1].name
    'repaired'
    """
    every = theorems(theorem, plugins) if label is None else {label: theorem_of(theorem, label, plugins)}
    if len(every) > 1:
        raise reject("one claim is sharpened at a time", ", ".join(every), "name it with --theorem")
    (claim,) = every.values()
    claim, reading = checked(claim, reading, "small", 0, seconds)
    if claim.kind is not Kind.INEQUALITY:
        raise reject("only an inequality is sharpened", claim.key, "fedbounds referee judges it")
    return claim, READINGS[reading]


def left_of(claim: Claim) -> Claim:
    """The claim without terms that are 0."""
    return replace(claim, terms={name: term for name, term in claim.terms.items() if term != 0})


def sharper_shipped(claim: Claim, reading: Reading, shipped: Shipped) -> Iterator[str]:
    """The proved claims of the package, or else pairs of them, that imply a claim and are not implied by it."""
    implying = dict[str, Source]()
    for source in shipped.sources(claim.lhs, claim.scope):
        keys = [item.key for item in source.of]
        if claim.key in keys or (len(keys) > 1 and implying) or source.proof(claim, reading) is None:
            continue
        if not follows(source.claim, source.reading, claim, reading, conditions(claim, reading)):
            implying.setdefault(" with ".join(keys), source)
    for key, source in implying.items():
        others = [item for item in implying.values() if item is not source]
        put = conditions(claim, reading)
        if not any(follows(source.claim, source.reading, item.claim, item.reading, put) for item in others):
            yield f"{key} is sharper: {in_words(source.claim)}"
