"""A page of trials: each statement, its verdict, a proof or a counterexample in full, and what every stage found."""

from __future__ import annotations

from collections.abc import Sequence

from fedbounds.errors import InputError
from fedbounds.referee.trial import Trial
from fedbounds.report import trial_text
from fedbounds.report.counterexample_script import script
from fedbounds.report.html.templates import blocks_page
from fedbounds.report.table import Block, Bullets, Code, Formula, Heading
from fedbounds.theory.claim import statement
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence


def to_html(trials: Sequence[Trial]) -> str:
    """The page in HTML; a counterexample in fractions has its script of plain Python where there is a short one."""
    parts: list[Block] = []
    for trial in trials:
        parts += _blocks(trial)
    keys = dict.fromkeys(trial.claim.key for trial in trials)
    title = f"{', '.join(keys)}: {trials[0].outcome}" if len(trials) == 1 else f"{len(trials)} theorems on trial"
    return blocks_page(title, parts)


def _blocks(trial: Trial) -> list[Block]:
    assumed = tuple(item.statement for item in trial.claim.assumptions_in(READINGS[trial.reading]))
    result: list[Block] = [
        Heading(f"{trial.claim.title} [{trial.reading}]"),
        Formula(statement(trial.claim)),
        Bullets("Assumed", assumed),
        "\n".join(trial_text.verdict(trial)),
    ]
    if lines := trial_text.refuting_instance(trial):
        result += ["The instance, to be checked by hand:", Code("\n".join(lines))]
    result += trial_text.details(trial)
    code = _short_script(trial)
    return [*result, "The same as a script of plain Python:", Code(code)] if code else result


def _short_script(trial: Trial) -> str:
    """The script of a refutation; nothing where it is none in fractions, or has no short script."""
    shown = trial.refutation
    if shown is None or shown.evidence is not Evidence.EXACT or "instance" not in shown.data:
        return ""
    try:
        return script(trial.claim, shown)
    except InputError:
        return ""
