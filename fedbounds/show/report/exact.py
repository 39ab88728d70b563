"""Counterexamples with their exact numbers, and the tight constants that shipped certificates prove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from fedbounds.show.ledger import number
from fedbounds.show.report.cells import readable
from fedbounds.show.report.mathml import formula, fraction, prose, rounded

# What the fields of an instance are, in the paper's notation, in the order in which a reader wants them.
FIELDS = {
    "curvatures": ("c_{ik}", "curvatures of the clients, one a coordinate"),
    "minima": ("m_{ik}", "minimisers of the clients"),
    "floor": (r"F_i^\star", "minima of the clients"),
    "p": ("p_i", "client weights"),
    "w0": ("w_0", "start"),
    "eta": (r"\eta_t", "step sizes"),
    "tau": (r"\tau", "local steps a round"),
    "weighting": (r"\alpha_t", "weighting"),
    "weights": (r"\alpha_t^i", "weights, one row a round"),
    "noise": ("s_i", "size of the gradient noise"),
    "lhs_above": ("", "the left side is above"),
    "rhs_below": ("", "the right side is below"),
}


# A term without which the claim still holds at a setting.
UNNEEDED = "not needed"


@dataclass(frozen=True)
class Example:
    """A counterexample: what it refutes, its two exact sides and the instance that shows it."""

    name: str
    subject: str
    title: Markup
    why: Markup
    reading: Markup
    where: str
    left: Markup
    right: Markup
    relation: str
    left_number: str
    right_number: str
    gap: Markup
    fields: list[tuple[Markup, str, Markup]]


@dataclass(frozen=True)
class Tight:
    """The tight constant of one term at one setting of the class, proved by a shipped certificate."""

    term: str
    stated: str
    certified: Markup
    ratio: float | None
    setting: Markup
    reading: str

    @property
    def loose(self) -> str:
        """By which factor the stated constant could be better."""
        return UNNEEDED if self.ratio is None else factor(self.ratio)


def factor(ratio: float) -> str:
    """A factor to three digits."""
    return f"{readable(number(ratio, 3))}×"


def examples() -> list[Example]:
    """Every shipped counterexample, its two sides computed again in exact arithmetic."""
    from fedbounds.evidence.exact.counterexamples import all_files, read

    found = []
    for path in all_files():
        example = read(path)
        sides, document = example.verify(), example.document
        data = document.get("instance") or document.get("data", {})
        also = ", ".join(document.get("also", ()))
        reading = example.reading if "claim" in document else ""
        found.append(
            Example(
                example.name,
                str(document.get("claim", "")),
                prose(str(document.get("title", example.name))),
                prose(str(document.get("why", ""))),
                prose(f"{reading}; also {also}" if also else reading),
                "" if document.get("t") is None else str(document["t"]),
                fraction(sides.lhs),
                fraction(sides.rhs),
                ">" if sides.lhs > sides.rhs else "≠",
                decimal(sides.lhs),
                decimal(sides.rhs),
                fraction(sides.lhs - sides.rhs),
                fields(data),
            )
        )
    return found


def decimal(value: object) -> str:
    """A rational number to four digits."""
    return readable(number(float(Fraction(str(value)))))


def fields(data: Mapping[str, Any], prefix: str = "") -> list[tuple[Markup, str, Markup]]:
    """(symbol, meaning, value) of the fields of an instance, nested ones flattened."""
    rows: list[tuple[Markup, str, Markup]] = []
    for key in sorted(data, key=lambda name: list(FIELDS).index(name) if name in FIELDS else len(FIELDS)):
        value = data[key]
        if isinstance(value, Mapping) and key != "eta":
            rows += fields(value, prefix if key == "instance" else f"{prefix}{key}: ")
            continue
        symbol, meaning = FIELDS.get(key, ("", key.replace("_", " ")))
        rows.append((formula(symbol) if symbol else Markup(""), prefix + meaning, shown(value)))
    return rows


def shown(value: Any) -> Markup:
    """A number, a word, a row of numbers or a table of them."""
    if isinstance(value, Mapping):
        return Markup(", ").join(Markup("{} = {}").format(prose(k), shown(v)) for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Markup("({})").format(Markup(", ").join(shown(item) for item in value))
    try:
        return fraction(value)
    except ValueError:
        return Markup("{}").format(value)


def tight_constants() -> dict[str, list[Tight]]:
    """Claim -> its tight constants, from the certificates that note one, each verified now without a solver.

    A certificate counts only if what it proves is the claim with this one constant changed, all else as stated.
    """
    from fedbounds.evidence.sdp.family import verified
    from fedbounds.plugins import shipped

    found: dict[str, list[Tight]] = {}
    for certificate, wrong in verified(shipped("certificates/*.json*")):
        if {"claim", "term", "certified"} <= set(certificate.note):
            row = None if wrong else tight_constant(certificate)
            found.setdefault(str(certificate.note["claim"]), []).extend([row] if row else [])
    return {
        claim: sorted(rows, key=lambda row: (row.term, row.reading, row.setting)) for claim, rows in found.items()
    }


def tight_constant(certificate: Any) -> Tight | None:
    """The constant that a verified certificate proves, or None where its inequality is not what its note says.

    The note says which claim and constant to compare with; every number shown is the certificate's own.
    """
    from fedbounds.evidence.sdp.setting import Setting
    from fedbounds.evidence.sdp.tight import split
    from fedbounds.plugins import claim_named

    note, setting = certificate.note, Setting.from_json(certificate.setting)
    try:
        parts = split(claim_named(str(note["claim"])), setting, str(note["term"]))
        stated, certified = parts.stated, Fraction(str(note["certified"]))
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    if not _is_about(certificate, parts, certified):
        return None
    # A contraction is better the larger, any other term the smaller; a term that is not needed has no ratio.
    better = (certified / stated if note["term"] == "contraction" else stated / certified) if certified else 0
    return Tight(
        str(note["term"]),
        readable(number(float(stated))),
        rounded(certified),
        float(better) if better > 0 else None,
        _setting(setting),
        setting.reading,
    )


def _is_about(certificate: Any, parts: Any, constant: Fraction) -> bool:
    """Whether the inequality certified is the claim's with this constant, rather than what the note says of it."""
    forms = {*certificate.rhs, *parts.rest, *parts.direction}
    given = {form: Fraction(str(certificate.rhs.get(form, 0))) for form in forms}
    wanted = {
        form: parts.rest.get(form, Fraction(0)) + parts.sign * constant * parts.direction.get(form, Fraction(0))
        for form in forms
    }
    return given == wanted


def _setting(setting: Any) -> Markup:
    alpha, p = (", ".join(str(value) for value in row) for row in (setting.alpha, setting.p))
    kappa = setting.L / setting.mu if setting.mu else "∞"
    return Markup("L/μ = {}, τ = {}, α = ({}), p = ({})").format(kappa, setting.tau, alpha, p)
