"""``fedbounds ledger``: every claim by every kind of evidence."""

from pathlib import Path

import click

from fedbounds.cli.options import formats, print_json, say, sounded


@click.command()
@click.argument("out", required=False, metavar="[OUT]", type=click.Path(path_type=Path))
@formats("table", "markdown", "json")
@click.option("--verbose", "-v", is_flag=True, help="Also the grounds of every verdict, with what a HOLDS covers.")
def ledger(out: Path | None, form: str, verbose: bool) -> int:
    """Every claim by every kind of evidence, and the paper's remarks.

    OUT is a folder saved by check --out, for the empirical columns. Proofs, counterexamples and certificates are
    verified again, with no solver and no search. Exits with code 3 if two kinds of evidence contradict each other.
    """
    from fedbounds import plugins
    from fedbounds.show import summary
    from fedbounds.study import ledger as study
    from fedbounds.study import store

    result, known = None if out is None else store.read(out)[0], plugins.claims()
    own = sorted({verdict.claim for _, verdict in result.verdicts} - known.keys()) if result else []
    if own:
        say(f"Not shown: {', '.join(own)}, of the study's own; fedbounds report --trust-plugins does.")
    lines = study.ledger(known, result.verdicts if result else (), afresh=True)
    remarks = study.remarked()
    blocks = [*summary.alarm_blocks(lines), summary.ledger_table(lines), summary.remark_table(remarks)]
    blocks += summary.grounds_of(lines, len(result.runs) if result else 0) if verbose else []
    if form == "json":
        print_json([*(line.to_json() for line in lines), *(item.to_json() for item in remarks)])
    elif form == "markdown":
        click.echo(summary.to_markdown(blocks), nl=False)
    else:
        click.echo(summary.to_text(blocks), nl=False)
    return sounded(lines)


COMMANDS = [ledger]
