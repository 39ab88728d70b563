"""``fedbounds statement`` and ``fedbounds kernel``: claims as propositions of Rocq, and their proofs checked."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("claim")
@click.option("--reading", "name", default=None, help="The reading; the one with a proof unless given.")
@click.option(
    "--plugin", type=click.Path(path_type=Path), multiple=True, help="A Python file with claims of your own."
)
def statement(claim: str, name: str | None, plugin: tuple[Path, ...]) -> None:
    """Write CLAIM as a proposition of Rocq (Coq), from its own terms."""
    from fedbounds.evidence.kernel.audit import reading_of
    from fedbounds.evidence.kernel.statement import statement as written
    from fedbounds.plugins import claim_named, load_file, nearest
    from fedbounds.theory.reading import READINGS

    stated = claim_named(claim, [load_file(path) for path in plugin])
    if name is not None and name not in READINGS:
        raise nearest("reading", name, READINGS)
    click.echo(written(stated, READINGS[name] if name else reading_of(stated)), nl=False)


@click.command()
@click.argument("claims", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="JSON file for what was checked.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_context
def kernel(context: click.Context, claims: tuple[str, ...], out: Path | None, quiet: bool) -> None:
    """Compile the proofs of CLAIMS (all, if none is named) with Rocq, and audit what they rest on."""
    from fedbounds.evidence.kernel.audit import store, timed

    tell = None if quiet else lambda module: click.echo(f"  {module}", err=True)
    found, seconds = timed(claims, tell)
    for proof in found:
        words = f"PROVED, statement {proof.statement[:12]}" if not proof.fault else f"NOT PROVED: {proof.fault}"
        click.echo(f"{proof.claim} [{proof.reading}]: {words}")
    proved = [proof for proof in found if not proof.fault]
    axioms = sorted({name for proof in proved for name in proof.axioms})
    click.echo(f"{len(proved)} of {len(found)} proved by Rocq {found[0].rocq} in {seconds:.0f} s; axioms:")
    for name in axioms:
        click.echo(f"  {name}")
    if out is not None:
        store(found, out)
    context.exit(0 if len(proved) == len(found) else 1)


COMMANDS = [statement, kernel]
