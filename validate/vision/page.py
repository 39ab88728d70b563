"""The marked blocks of docs/vision.md, from the stored records."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedbounds.io import write_text
from fedbounds.vision import records
from validate.ledger_page import filled
from validate.ledger_page import markdown_table as table
from validate.runner import DOCS, IMAGES
from validate.vision import estimates, mapped, measures, paper, verdicts
from validate.vision.experiments import BASELINE, MAIN, SOFT, TEMPERATURES, WARMER
from validate.vision.stored import Stored
from validate.vision.verdicts import Outcome

PAGE = DOCS / "vision.md"
PICTURES = IMAGES / "vision"
NOTHING = "Nothing is stored yet."


def shown(found: estimates.Estimate, digits: int, scale: float = 1.0) -> str:
    """``12.4 [11.8, 13.0]``, ``median 12 [11, 14]``."""
    return ("median " if found.kind == "median" else "") + estimates.text(found, digits, scale)


def verdict_table(outcomes: Sequence[Outcome]) -> str:
    """One line a claim of the paper."""
    rows = []
    for statement in paper.STATEMENTS:
        judged = [outcome for outcome in outcomes if outcome.case.claim == statement.key]
        if judged:
            first, last = statement.lines
            reading = "; ".join(dict.fromkeys(outcome.case.reading for outcome in judged if not outcome.case.extra))
            lines = f"{first}" if first == last else f"{first}-{last}"
            rows.append((statement.says, lines, f"**{verdicts.overall(judged)}**", reading))
    return table(("the paper's claim", "lines", "in this reading", "step and T"), rows)


def speed(stored: Stored) -> str:
    """R_90 beside the paper's."""
    rows = []
    for framework, case in stored.cases().items():
        for name in (name for name in (*MAIN, WARMER) if name in case):
            result, printed = measures.speed(case[name]), paper.R_90.get((framework, paper.weighting(name) or ""))
            beside = f"{printed.mean:.1f} [{printed.lower:.1f}, {printed.upper:.1f}]" if printed else ""
            rows.append((framework, name, shown(result.estimate, 1), result.said, beside))
    return table(("framework", "weighting", "R_90", "reached 90%", "the paper's"), rows)


def final(stored: Stored) -> str:
    """Final accuracy."""
    rows = []
    for framework, case in stored.whole().items():
        for name, group in case.items():
            compared = "" if name == BASELINE or BASELINE not in case else _minus(case, name)
            last = measures.final_accuracy(group)
            rows.append((framework, name, len(group), shown(last, 2, 100), compared))
    head = ("framework", "weighting", "runs", "final accuracy, %", "final minus FedAvg's")
    return table(head, rows)


def _minus(case: Mapping[str, list[records.ImageRun]], name: str) -> str:
    return shown(measures.compare(case[name], case[BASELINE], measures.last_accuracy).difference, 2, 100)


def tempered(stored: Stored) -> str:
    """R_90 against 1/T."""
    rows = []
    case = stored.cases().get("NIID", {})
    for name in (name for name in (BASELINE, WARMER, SOFT, *TEMPERATURES) if name in case):
        result, T = measures.speed(case[name]), measures.temperature(name) or 1.0
        others = [
            shown(measures.compare_speed(case[name], case[other]).difference, 1) if other in case else ""
            for other in (BASELINE, SOFT)
        ]
        rows.append((f"{1 / T:.3g}", shown(result.estimate, 1), result.said, *others))
    return table(("1/T (0: FedAvg)", "R_90", "reached 90%", "minus FedAvg's", "minus that of 1/T = 5"), rows)


def the_map(stored: Stored) -> str:
    """Where FedSoftMax is faster, slower or alone, by step/T."""
    return table(*mapped.counts(stored.cells)) if stored.cells else NOTHING


def blocks(stored: Stored, outcomes: Sequence[Outcome], pictures: Path) -> dict[str, str]:
    """Name of a block -> its Markdown."""
    picture = "\n\n![R_90 measured and printed](img/vision/r90.png)" if (pictures / "r90.png").is_file() else ""
    return {
        "verdicts": verdict_table(outcomes),
        "r90": speed(stored) + picture,
        "accuracy": final(stored),
        "temperatures": tempered(stored),
        "map": the_map(stored),
    }


def write(stored: Stored, outcomes: Sequence[Outcome], page: Path = PAGE) -> None:
    """Fill docs/vision.md."""
    text = page.read_text(encoding="utf-8")
    for name, block in blocks(stored, outcomes, PICTURES).items():
        text = filled(text, block, name)
    write_text(page, text)
