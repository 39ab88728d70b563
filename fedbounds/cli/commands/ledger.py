"""``fedbounds ledger``: every claim by every kind of evidence."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Literal

from fedbounds.cli.adapter import command, say, show, show_json


@command("The paper")
def ledger(
    out: Path | None = None,
    *,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "markdown", "json"] = "table",
    verbose: bool = False,
) -> int:
    """Show every claim by every kind of evidence, and the paper's remarks.

    OUT is a folder saved by check --out, for the empirical columns. Proofs, counterexamples and certificates are
    verified again, with no solver and no search. Exits with code 3 if two kinds of evidence contradict each other.
    """
    import fedbounds
    from fedbounds.cli.options import contradiction_code
    from fedbounds.plugins import claims
    from fedbounds.report import ledger_text, table, terminal
    from fedbounds.report.terminal import working
    from fedbounds.study import ledger as study
    from fedbounds.study import store

    result = None if out is None else store.read(out)[0]
    own = {verdict.claim for _, verdict in result.verdicts} - claims(plugins).keys() if result else set()
    if own:
        say(f"Not shown: {', '.join(sorted(own))}, of the study's own; --plugin FILE or fedbounds report shows them.")
    with working("proofs, counterexamples and certificates"):
        lines = fedbounds.ledger(result, plugins=plugins).items
        remarks = study.remarked()
    blocks = [*ledger_text.alarm_blocks(lines), ledger_text.ledger_table(lines), ledger_text.remark_table(remarks)]
    blocks += ledger_text.grounds_of(lines, len(result.runs) if result else 0) if verbose else []
    if format == "json":
        show_json([*(line.to_json() for line in lines), *(item.to_json() for item in remarks)])
    elif format == "markdown":
        show(table.to_markdown(blocks))
    else:
        show(terminal.to_text(blocks))
    return contradiction_code(lines)
