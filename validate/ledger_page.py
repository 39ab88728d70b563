"""Write the tables of docs/ledger.md anew, every claim on the default study: `python -m validate.ledger_page`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import itemgetter

import fedbounds
from fedbounds.report.number_format import compact, counted
from fedbounds.report.table import Table
from fedbounds.study.ledger import Line, Remarked, remarked
from fedbounds.theory.verdict import Evidence, Status, Verdict
from validate import markdown
from validate.runner import DOCS, Study

PAGE = DOCS / "ledger.md"
HEAD = ("claim", "readings", "answer", "bound / measured", "proved or certified by", "refuted by")
SIDES = re.compile(r"\S+ (?:\([^)]*\) )?(?:>|!=) \S+")


def answer(verdicts: list[Verdict]) -> str:
    """FALSE by an instance anywhere, PROVED by either checker, else OPEN."""
    if any(v.status is Status.REFUTED for v in verdicts):
        return "FALSE"
    proofs = (Evidence.SYMBOLIC, Evidence.KERNEL)
    return "PROVED" if any(v.evidence in proofs and v.status is Status.HOLDS for v in verdicts) else "OPEN"


def measured(verdicts: list[Verdict]) -> str:
    """Where a run refutes the claim, else the smallest bound over measured; a dash where nothing was compared."""
    refuted = sum(v.status is Status.REFUTED for v in verdicts)
    if refuted:
        return f"refuted in {refuted}"
    ratios = [v.tightness for v in verdicts if v.status is Status.HOLDS and v.tightness is not None]
    return compact(min(ratios)) if ratios else "–"


def row(line: Line) -> tuple[str, ...]:
    """The cells of a claim in a reading, after its name and reading."""
    of = {kind: line.verdicts(kind) for kind in Evidence}
    names = {Evidence.SYMBOLIC: "checker", Evidence.KERNEL: "Rocq"}
    proofs = [name for kind, name in names.items() if any(v.status is Status.HOLDS for v in of[kind])]
    certified = sum(v.status is Status.HOLDS for v in of[Evidence.SDP])
    false = [SIDES.search(v.detail.removeprefix("lhs ").replace("> rhs", ">")) for v in of[Evidence.EXACT]]
    sides = "; ".join(re.sub(r" \([^)]*\)", "", result[0]).rstrip(",") for result in false if result)
    if sides and any(v.status is Status.REFUTED for v in of[Evidence.KERNEL]):
        sides += ", Rocq"
    proofs += [counted(certified, "certificate")] if certified else []
    ratios = [measured(of[Evidence.EMPIRICAL]), measured(of[Evidence.EXPECTATION])]
    verdicts = [verdict for result in of.values() for verdict in result]
    return (
        answer(verdicts),
        "; ".join(ratios) if set(ratios) != {"–"} else "–",
        ", ".join(proofs) or "–",
        sides or "–",
    )


def claim_table(lines: Iterable[Line]) -> Table:
    """A row a claim; readings of which the same is known share one."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        rows.setdefault((line.claim.key, *row(line)), []).append(line.reading)
    return Table.of(HEAD, [(key[0], ", ".join(readings), *key[1:]) for key, readings in rows.items()])


def remark_table(items: Iterable[Remarked]) -> Table:
    """What the paper remarks without a formula, how it is read, and the instances that refute it."""
    body = []
    for item in items:
        false = any(verdict.status is Status.REFUTED for verdict in item.verdicts)
        body.append((item.remark.key, item.remark.words, item.remark.reading, "FALSE" if false else "OPEN"))
    return Table.of(("remark", "the paper", "read as", "answer"), body)


def tables() -> dict[str, str]:
    """The tables of the page, of the default study."""
    lines = fedbounds.ledger(fedbounds.check(claims="all"))
    made = {"table": claim_table(lines), "remarks": remark_table(remarked())}
    return {name: markdown.of_table(table) for name, table in made.items()}


BLOCKS = {name: itemgetter(name) for name in ("table", "remarks")}
STUDY = Study(__doc__, "", tables, lambda made: "", page=PAGE, blocks=BLOCKS)

if __name__ == "__main__":
    STUDY.main()
