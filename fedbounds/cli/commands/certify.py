"""``fedbounds certify``, ``tight`` and ``verify-certificate``: whole classes of problems at once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from fedbounds.cli.options import PLUGIN
from fedbounds.errors import reject

CURVES: dict[str, tuple[int, ...]] = {
    "kappa": (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000),
    "tau": (1, 2, 3, 4, 5, 6),
    "start": (0, 10, 100, 1000, 10000),
    "clients": (2, 3, 4, 5, 6),
}
DIMINISHING = "diminishing"
FAILED = 1


class Rational(click.ParamType):
    """A rational number (3/8, 0.375 or 2) or, of ``several``, a tuple of them; ``word`` stands for something else."""

    def __init__(self, name: str = "RATIONAL", several: bool = False, word: str | None = None) -> None:
        self.name, self.several, self.word = name, several, word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == self.word:
            return value
        return tuple(map(rational, value.split(","))) if self.several else rational(value)


def rational(text: str) -> Fraction:
    """The number as written, without rounding; InputError where it is none."""
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise reject("a rational number was expected", repr(text), "write 3/8 or 0.375") from None


OPTIONS = (
    click.option("--clients", type=int, default=2, show_default=True, help="N, where no weights are given."),
    click.option("--tau", type=int, default=4, show_default=True, help="Local steps a round."),
    click.option("--kappa", type=Rational(), default="10", show_default=True, help="L/mu."),
    click.option("--t", "time", type=int, help="Which step t; every step of the first round unless given."),
    click.option("--start", type=int, default=0, show_default=True, help="t0, the first step of the round."),
    click.option(
        "--eta",
        type=Rational("ETA", word=DIMINISHING),
        help="Not the claim's own step size: a constant in units of 1/L, or diminishing, 1/(mu (t + 4 kappa)).",
    ),
    click.option("--weights", "alpha", type=Rational("LIST", several=True), help="alpha, uniform unless given."),
    click.option("--p", type=Rational("LIST", several=True), help="p, uniform unless given."),
    click.option("--rho-bar", type=Rational(), help="rho_bar; min alpha_i/p_i unless given."),
    click.option("--rho-tilde", type=Rational(), help="rho_tilde; every value at once unless given."),
    click.option(
        "--reading", default="repaired", show_default=True, help="plain, literal, sync, all-steps or repaired."
    ),
    click.option("--local", type=click.Choice(("steps", "any")), default="steps", help="What local models may be."),
)


OUT = click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for the certificates, one a line, in a file a claim."
)


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def settings(claim: Any, time: int | None, start: int, tau: int, eta: Any, **rest: Any) -> Iterator[Any]:
    """The settings asked for: the step t, or every step of the round, with the claim's own step size unless given.

    That is what it states, or the largest that its assumptions allow, or where it has neither 1/(mu (t + 4 kappa)).
    """
    from fedbounds.evidence.sdp.covered import own_setting
    from fedbounds.evidence.sdp.setting import round_setting

    if tau < 1 or start < 0 or (time is not None and time < 0):
        raise reject("tau must be at least 1 and times non-negative", f"tau = {tau}, t = {time}", "mend them")
    if time is not None:
        start = time - time % tau
    for step in range(tau) if time is None else (time % tau,):
        constant = eta if isinstance(eta, Fraction) else None
        setting = round_setting(tau=tau, step=step, start=start, eta=constant, **rest)
        yield own_setting(claim, setting, start) if eta is None else setting


@click.command()
@click.argument("claim", required=False)
@click.option("--all", "every", is_flag=True, help="Every one-round claim, in every reading it has.")
@PLUGIN
@OUT
@setting_options
def certify(claim: str | None, every: bool, extra: tuple[ModuleType, ...], out: Path | None, **flags: Any) -> None:
    """Decide a one-round CLAIM for every L-smooth mu-strongly convex problem at given parameters.

    HOLDS means a rational certificate, verified exactly; REFUTED an explicit instance, run in the simulator.
    """
    from fedbounds.evidence.sdp.covered import pointwise
    from fedbounds.evidence.sdp.decide import examination
    from fedbounds.evidence.sdp.written import save
    from fedbounds.show.terminal import plain_table

    rows: list[tuple[str, ...]] = []
    families: dict[str, list[Any]] = {}
    for chosen, reading in _claims(claim, every, flags["reading"], extra):
        for setting in settings(chosen, **{**flags, "reading": reading}):
            verdict, certificate = examination(chosen, setting)
            ratio = "-" if verdict.tightness is None else f"{verdict.tightness:.4g}"
            rows.append((chosen.key, reading, str(setting.step), str(verdict.status), ratio, verdict.detail))
            if certificate is not None:
                named = replace(certificate, name=f"{chosen.key}-{reading}-{setting.step}")
                families.setdefault(chosen.key, []).append(named)
            if pointwise(chosen):
                break  # a statement about one point, not about a step
    if out is not None:
        for key, certificates in families.items():
            save(out / f"{key}.jsonl", certificates)
    head = ("claim", "reading", "step", "verdict", "bound/worst (solver)", "because")
    click.echo(plain_table(head, rows), nl=False)


def _claims(claim: str | None, every: bool, reading: str, extra: tuple[ModuleType, ...]) -> Iterator[tuple[Any, str]]:
    from fedbounds.evidence.sdp.setting import applies
    from fedbounds.plugins import claim_named, claims
    from fedbounds.theory.reading import READINGS

    if (claim is None) is not every:
        raise reject("certify needs a claim or --all", claim, "name one claim, or give --all alone")
    if reading not in READINGS:
        raise reject("reading must be a known name", repr(reading), f"use one of {', '.join(READINGS)}")
    if claim is not None:
        yield claim_named(claim, extra), reading
        return
    for found in claims(extra).values():
        if applies(found):
            yield from ((found, name) for name in found.readings)


@click.command()
@click.argument("claim")
@click.option("--over", type=click.Choice(tuple(CURVES)), help="Draw the constants along a parameter.")
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
    from fedbounds.evidence.sdp.tight import tight as tight_constant
    from fedbounds.evidence.sdp.written import save
    from fedbounds.plugins import claim_named
    from fedbounds.show.terminal import plain_table

    found = claim_named(claim, extra)
    names = [name for name in found.terms if term in (None, name)]
    if not names:
        raise reject(f"{claim} has no term {term}", term, f"its terms are {', '.join(found.terms)}")
    rows, certificates = [], []
    for value in CURVES[over] if over else (None,):
        chosen = {**flags, **({over: value} if over else {})}
        setting = list(settings(found, **chosen))[-1]
        for name in names:
            constant = tight_constant(found, setting, name)
            proved = "-" if constant.certified is None else f"{float(constant.certified):.6g}"
            rows.append(("-" if value is None else str(value), name, *_shown(constant), proved))
            if constant.certificate is not None:
                title = f"tight-{claim}-{name}-{over or 'at'}-{value or 0}"
                certificates.append(replace(constant.certificate, name=title))
    if out is not None:
        save(out / f"tight-{claim}.jsonl", certificates)
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
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@PLUGIN
def verify_certificate(files: tuple[Path, ...], extra: tuple[ModuleType, ...]) -> int:
    """Verify certificate FILES in exact arithmetic, with no solver and no floating point.

    A certificate proves the inequality that is printed, at the setting that is printed, and nothing else.
    """
    from fedbounds.evidence.sdp.written import describe, subject, verified
    from fedbounds.plugins import claims

    known = claims(extra)
    count, bad, subjects = 0, 0, set()
    for count, (certificate, wrong) in enumerate(verified(files, known), 1):
        name = certificate.name or f"certificate {count}"
        if wrong:
            bad += 1
            click.echo(f"{name}: REJECTED ({wrong})")
            continue
        subjects.add(subject(certificate))
        right = " + ".join(f"({value}) {form}" for form, value in certificate.rhs.items()) or "0"
        click.echo(f"{name}: verified: {describe(certificate)}: {certificate.lhs} <= {right}")
    pairs = len(subjects - {None})
    click.echo(f"{count - bad} verified, {bad} rejected; {pairs} different (claim, setting) pairs proved as stated")
    return FAILED if bad else 0


COMMANDS = [certify, tight, verify_certificate]
