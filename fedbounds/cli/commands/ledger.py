"""``fedbounds ledger``: every claim by every kind of evidence."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("out", required=False, metavar="[OUT]", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.option("--verbose", "-v", is_flag=True, help="Also the grounds of every verdict, with what a HOLDS covers.")
def ledger(out: Path | None, form: str, verbose: bool) -> int:
    """Every claim by every kind of evidence, and the paper's remarks.

    OUT is a folder saved by check --out, for the empirical columns. Proofs, counterexamples and certificates are
    verified again, with no solver and no search. Exits with code 3 if two kinds of evidence contradict each other.
    """
    import json

    from fedbounds import plugins
    from fedbounds.cli.alarm import sounded
    from fedbounds.show import summary
    from fedbounds.show.cells import ledger_table, remark_table
    from fedbounds.study import ledger as study
    from fedbounds.study import store

    result = None if out is None else store.read(out)[0]
    lines = study.ledger(plugins.claims(), result.verdicts if result else (), afresh=True)
    table = ledger_table(lines)
    remarks = study.remarked()
    blocks = [*summary.alarm_blocks(lines), table, remark_table(remarks)]
    blocks += summary.grounds_of(lines, len(result.runs) if result else 0) if verbose else []
    if form == "json":
        click.echo(json.dumps([*(line.to_json() for line in lines), *(item.to_json() for item in remarks)], indent=1))
    elif form == "markdown":
        click.echo(summary.to_markdown(blocks), nl=False)
    else:
        click.echo(summary.to_text(blocks), nl=False)
    return sounded(lines)


COMMANDS = [ledger]
