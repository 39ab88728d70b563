"""``fedbounds derive``: print a proof step by step, as text, LaTeX or JSON, or the table of all of them."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Check every derivation and print the summary table.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "latex", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print; markdown is the table of --all.",
)
def derive(name: str | None, everything: bool, form: str) -> None:
    """Check the proof of claim or derivation NAME and print it."""
    from fedbounds.errors import reject
    from fedbounds.evidence.symbolic import table as proof_table

    if everything == (name is not None):
        raise reject("derive needs a name, or --all", repr(name), "give the key of one claim or derivation, or --all")
    click.echo(proof_table.table(form) if name is None else proof_table.one(name, form))


COMMANDS = [derive]
