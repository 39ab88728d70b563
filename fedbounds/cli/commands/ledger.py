"""``fedbounds ledger``: every claim by every kind of evidence."""

from pathlib import Path
from types import ModuleType

import click

from fedbounds.cli.options import PLUGIN, Place, formats, print_json, say, sounded


@click.command()
@click.argument("out", required=False, metavar="[OUT]", type=Place())
@PLUGIN
@formats("table", "markdown", "json")
@click.option("--verbose", "-v", is_flag=True, help="Also the grounds of every verdict, with what a HOLDS covers.")
def ledger(out: Path | None, extra: tuple[ModuleType, ...], form: str, verbose: bool) -> int:
    """Every claim by every kind of evidence, and the paper's remarks.

    OUT is a folder saved by check --out, for the empirical columns. Proofs, counterexamples and certificates are
    verified again, with no solver and no search. Exits with code 3 if two kinds of evidence contradict each other.
    """
    import fedbounds
    from fedbounds.plugins import claims
    from fedbounds.report import ledger_text, table, terminal
    from fedbounds.report.terminal import working
    from fedbounds.study import ledger as study
    from fedbounds.study import store

    result = None if out is None else store.read(out)[0]
    own = {verdict.claim for _, verdict in result.verdicts} - claims(extra).keys() if result else set()
    if own:
        say(f"Not shown: {', '.join(sorted(own))}, of the study's own; --plugin FILE or fedbounds report shows them.")
    with working("proofs, counterexamples and certificates"):
        lines = fedbounds.ledger(result, plugins=extra).items
        remarks = study.remarked()
    blocks = [*ledger_text.alarm_blocks(lines), ledger_text.ledger_table(lines), ledger_text.remark_table(remarks)]
    blocks += ledger_text.grounds_of(lines, len(result.runs) if result else 0) if verbose else []
    if form == "json":
        print_json([*(line.to_json() for line in lines), *(item.to_json() for item in remarks)])
    elif form == "markdown":
        click.echo(table.to_markdown(blocks), nl=False)
    else:
        click.echo(terminal.to_text(blocks), nl=False)
    return sounded(lines)


COMMANDS = [ledger]
