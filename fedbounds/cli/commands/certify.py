"""``fedbounds certify``, ``tight`` and ``verify-certificate``: whole classes of problems at once."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from fedbounds.cli.options import PLUGIN, Place
from fedbounds.errors import reject

FAILED = 1
RATIONAL = "RATIONAL"


OPTIONS = (
    click.option("--clients", type=int, default=2, show_default=True, help="N, where no weights are given."),
    click.option("--tau", type=int, default=4, show_default=True, help="Local steps a round."),
    click.option("--kappa", metavar=RATIONAL, default="10", show_default=True, help="L/mu, or 1..1000, 1..inf."),
    click.option("--t", "time", type=int, help="Which step t; every step of the first round unless given."),
    click.option("--start", type=int, default=0, show_default=True, help="t0, the first step of the round."),
    click.option(
        "--eta",
        metavar="ETA",
        help="Not the claim's own step size: a constant in units of 1/L, 0..1, or diminishing, 1/(mu (t + 4 kappa)).",
    ),
    click.option("--weights", "alpha", metavar="LIST", help="alpha, uniform unless given."),
    click.option("--p", metavar="LIST", help="p, uniform unless given."),
    click.option("--rho-bar", metavar=RATIONAL, help="rho_bar; min alpha_i/p_i unless given."),
    click.option("--rho-tilde", metavar=RATIONAL, help="rho_tilde; every value at once unless given."),
    click.option(
        "--reading", default="repaired", show_default=True, help="plain, literal, sync, all-steps or repaired."
    ),
    click.option("--local", type=click.Choice(("steps", "any")), default="steps", help="What local models may be."),
)


OUT = click.option("--out", type=Place(), help="Folder for the certificates, one a line, in a file a claim.")


ROCQ = click.option("--rocq", type=Place(), help="File for the certificates that `coqc` alone checks.")


def written_for_rocq(path: Path, certificates: list[Any]) -> None:
    """Write certificates for Rocq, which proves them about vectors and numbers that meet their constraints."""
    from fedbounds.evidence.kernel.gram_certificates import standalone
    from fedbounds.io import write_text

    if not certificates:
        raise reject("a file for Rocq needs a certificate", "none", "ask where the claim holds")
    if any(one.interval for one in certificates):
        raise reject("a file for Rocq has certificates at numbers", "one over an interval", "leave it out")
    write_text(path, standalone(certificates))


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("claim", required=False)
@click.option("--all", "every", is_flag=True, help="Every one-round claim, in every reading it has.")
@PLUGIN
@OUT
@ROCQ
@setting_options
def certify(
    claim: str | None, every: bool, extra: tuple[ModuleType, ...], out: Path | None, rocq: Path | None, **flags: Any
) -> None:
    """Decide a one-round CLAIM for every L-smooth mu-strongly convex problem at given parameters.

    HOLDS means a rational certificate, verified exactly; REFUTED an explicit instance, run in the simulator. Over an
    interval of kappa or of --eta, its lower end left out, HOLDS means every value there, by one certificate.
    """
    import fedbounds
    from fedbounds.report.terminal import plain_table, progress

    if (claim is None) is not every:
        raise reject("certify needs a claim or --all", claim, "name one claim, or give --all alone")
    if every:
        flags["reading"] = None
    rows = []
    with progress() as bar:
        decided = fedbounds.certify(claim, out=out, plugins=extra, progress=bar, **flags)
    if rocq is not None:
        written_for_rocq(rocq, [found.certificate for found in decided if found.certificate is not None])
    for found in decided:
        told = found.verdict
        ratio = "-" if told.tightness is None else f"{told.tightness:.4g}"
        rows.append((told.claim, told.reading, str(found.setting.step), str(told.status), ratio, told.detail))
    head = ("claim", "reading", "step", "verdict", "bound/worst (solver)", "because")
    click.echo(plain_table(head, rows), nl=False)


@click.command()
@click.argument("claim")
@click.option("--over", metavar="kappa|tau|start|clients", help="Find them along a parameter.")
@click.option("--term", help="One term only; every term unless given.")
@PLUGIN
@OUT
@setting_options
def tight(
    claim: str, over: str | None, term: str | None, extra: tuple[ModuleType, ...], out: Path | None, **flags: Any
) -> None:
    """The smallest constants that make a one-round CLAIM true, term by term, the others as stated.

    "contraction" is the largest b in 1 - eta mu (1 + b rho_bar). At the last local step unless --t is given.
    """
    from fedbounds.report.terminal import plain_table, progress
    from fedbounds.study.certify import tight as tight_constants

    rows = []
    with progress() as bar:
        constants = tight_constants(claim, term, over=over, out=out, plugins=extra, progress=bar, **flags)
    for found in constants:
        one = found.constant
        proved = "-" if one.certified is None else f"{float(one.certified):.6g}"
        rows.append(("-" if found.value is None else str(found.value), one.term, *_shown(one), proved))
    head = (over or "", "term", "stated", "tight (solver)", "certified")
    click.echo(plain_table(head, rows), nl=False)


def _shown(constant: Any) -> tuple[str, str]:
    if constant.term == "contraction":
        return f"{constant.stated:.6g}", f"{constant.solver:.6g}"
    if constant.solver != constant.solver:
        return f"{constant.stated:.6g}", "undecided or zero term"
    needed = f"{constant.solver:.6g}" if constant.needed else f"not needed ({min(constant.solver, 0.0):.3g})"
    return f"{constant.stated:.6g}", needed


@click.command("verify-certificate")
@click.argument("files", nargs=-1, required=True, type=Place())
@PLUGIN
@ROCQ
def verify_certificate(files: tuple[Path, ...], extra: tuple[ModuleType, ...], rocq: Path | None) -> int:
    """Verify certificate FILES in exact arithmetic, with no solver and no floating point.

    A certificate proves the inequality that is printed, at the setting that is printed, and nothing else.
    """
    from fedbounds.evidence.sdp.one_step.certificate_files import describe, subject, verified
    from fedbounds.plugins import claims

    known = claims(extra)
    count, bad, subjects, valid = 0, 0, set(), []
    for count, (certificate, wrong) in enumerate(verified(files, known), 1):
        name = certificate.name or f"certificate {count}"
        if wrong:
            bad += 1
            click.echo(f"{name}: REJECTED ({wrong})")
            continue
        subjects.add(subject(certificate))
        valid.append(certificate)
        right = " + ".join(f"({value}) {form}" for form, value in certificate.numbers(certificate.rhs).items()) or "0"
        click.echo(f"{name}: verified: {describe(certificate)}: {certificate.lhs} <= {right}")
    pairs = len(subjects - {None})
    click.echo(f"{count - bad} verified, {bad} rejected; {pairs} different (claim, setting) pairs proved as stated")
    if rocq is not None:
        written_for_rocq(rocq, valid)
    return FAILED if bad else 0


COMMANDS = [certify, tight, verify_certificate]
