"""``fedbounds ledger``: every claim by every kind of evidence."""

from __future__ import annotations

import click


@click.command()
@click.argument("out", required=False, metavar="[OUT]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
def ledger(out: str | None, form: str) -> None:
    """Every claim by every kind of evidence; OUT is a folder saved by check --out, for the empirical columns.

    Proofs, counterexamples and certificates are verified again, with no solver and no search.
    """
    import json

    from fedbounds.files import read_json
    from fedbounds.study import survey
    from fedbounds.study.result import Result

    result = None if out is None else Result.from_json(read_json(f"{out}/result.json")).to_json()
    lines = survey.survey(result)
    if form == "json":
        click.echo(json.dumps([line.to_json() for line in lines], indent=1))
    elif form == "markdown":
        click.echo(survey.to_markdown(lines), nl=False)
    else:
        from fedbounds.show.terminal import plain_table

        head, *body = survey.table(lines)
        click.echo(plain_table(head, body, width=140))


COMMANDS = [ledger]
