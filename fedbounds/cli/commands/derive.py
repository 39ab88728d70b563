"""``fedbounds derive``, ``statement`` and ``kernel``: proofs, step by step and as Rocq checks them."""

import time
from pathlib import Path
from types import ModuleType

import click

from fedbounds.cli.options import PLUGIN, QUIET, formats, say


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Check every derivation and print the summary table.")
@PLUGIN
@formats("text", "latex", "json", "markdown")
def derive(name: str | None, everything: bool, extra: tuple[ModuleType, ...], form: str) -> None:
    """Check the proof of claim or derivation NAME and print it; markdown is the table of --all."""
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.evidence.symbolic import render

    if everything == (name is not None):
        raise reject("derive needs a name, or --all", repr(name), "give the key of one claim or derivation, or --all")
    found = [(proof.checked, proof.verdict) for proof in fedbounds.derive(name, plugins=extra)]
    click.echo(render.table(found, form) if name is None else render.one(found[0], form))


@click.command()
@click.argument("claim")
@click.option("--reading", "name", default=None, help="The reading; the one with a proof unless given.")
@PLUGIN
def statement(claim: str, name: str | None, extra: tuple[ModuleType, ...]) -> None:
    """Write CLAIM as a proposition of Rocq (Coq), from its own terms."""
    from fedbounds.evidence.kernel.audit import reading_of
    from fedbounds.evidence.kernel.statement import statement as written
    from fedbounds.plugins import claim_named, nearest
    from fedbounds.theory.reading import READINGS

    stated = claim_named(claim, extra)
    if name is not None and name not in READINGS:
        raise nearest("reading", name, READINGS)
    click.echo(written(stated, READINGS[name] if name else reading_of(stated)), nl=False)


@click.command()
@click.argument("claims", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="JSON file for what was checked.")
@QUIET
def kernel(claims: tuple[str, ...], out: Path | None, quiet: bool) -> int:
    """Compile the proofs of CLAIMS (all, if none is named) with Rocq, and audit what they rest on."""
    from fedbounds.evidence.kernel.audit import check, store

    start = time.perf_counter()
    found = check(claims, None if quiet else lambda module: say(f"  {module}"))
    seconds = time.perf_counter() - start
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
    return 0 if len(proved) == len(found) else 1


COMMANDS = [derive, statement, kernel]
