"""Counterexamples with their exact numbers, and the tight constants that shipped certificates prove."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import Sides
from fedbounds.evidence.exact.counterexamples import Counterexample
from fedbounds.evidence.symbolic import library
from fedbounds.io import shaped
from fedbounds.report.claim_text import length_note_of
from fedbounds.report.counterexample_script import stored_script
from fedbounds.report.html.claim_section import Proof
from fedbounds.report.html.mathml import formula, fraction, prose, rounded
from fedbounds.report.html.templates import template
from fedbounds.report.number_format import number, readable
from fedbounds.report.table import Table
from fedbounds.study.cache import cached
from fedbounds.study.ledger import certificates, counterexample

if TYPE_CHECKING:
    from fedbounds.evidence.sdp.one_step.tight_constants import TightConstant

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
    "present": ("", "clients that take part in a round"),
    "lhs_above": ("", "the left side is above"),
    "rhs_below": ("", "the right side is below"),
}
# A term without which the claim still holds at a setting.
UNNEEDED = "not needed"
PROVED = Markup('{} <span class="tick yes">✓ <span class="word">verified</span></span>')


@dataclass(frozen=True)
class Example:
    """A counterexample and its two sides, computed again in exact arithmetic."""

    file: Counterexample
    sides: Sides

    @property
    def subject(self) -> str:
        """The claim that it refutes, or nothing where it is about a remark."""
        return str(self.file.document.get("claim", ""))

    def text(self, key: str) -> str:
        return str(self.file.document.get(key) or "")

    @property
    def reading(self) -> str:
        """The readings that it refutes."""
        also = ", ".join(self.file.document.get("also", ()))
        return (
            f"{self.file.reading}; also {also}" if also and self.subject else self.file.reading * bool(self.subject)
        )

    @property
    def relation(self) -> str:
        return ">" if self.sides.lhs > self.sides.rhs else "≠"

    @property
    def script(self) -> str:
        """The script of plain Python that finds both sides; nothing where there is no short one."""
        with contextlib.suppress(InputError):
            return stored_script(self.file)
        return ""

    @property
    def note(self) -> str:
        return length_note_of(self.file)

    @property
    def fields(self) -> list[tuple[Markup, str, Markup]]:
        """(symbol, meaning, value) of what the instance is made of."""
        return fields(self.file.document.get("instance") or self.file.document.get("data", {}))


def examples() -> list[Example]:
    """Every shipped counterexample, its two sides computed again in exact arithmetic."""
    from fedbounds.evidence.exact.counterexamples import all_files

    return [Example(*counterexample(path)) for path in all_files()]


def fields(data: Mapping[str, Any], prefix: str = "") -> list[tuple[Markup, str, Markup]]:
    """(symbol, meaning, value) of the fields of an instance, nested ones flattened."""
    rows: list[tuple[Markup, str, Markup]] = []
    for key in sorted(data, key=lambda name: list(FIELDS).index(name) if name in FIELDS else len(FIELDS)):
        value = data[key]
        if isinstance(value, Mapping) and key != "eta":
            rows += fields(value, prefix if key == "instance" else f"{prefix}{key}: ")
            continue
        symbol, meaning = FIELDS.get(key, ("", key.replace("_", " ")))
        rows.append((formula(symbol) if symbol else Markup(""), prefix + meaning, _value(value)))
    return rows


def _value(value: Any) -> Markup:
    """A number, a word, a row of numbers or a table of them."""
    if isinstance(value, Mapping):
        return Markup(", ").join(Markup("{} = {}").format(prose(k), _value(v)) for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Markup("({})").format(Markup(", ").join(map(_value, value)))
    try:
        return fraction(value)
    except ValueError:
        return Markup("{}").format(value)


def factor(ratio: float | None) -> str:
    return UNNEEDED if ratio is None else f"{readable(number(ratio, 3))}×"


def tight_constants() -> dict[str, list[TightConstant]]:
    """Claim -> its tight constants, from the certificates that note one, each verified now without a solver."""
    from fedbounds.evidence.sdp.one_step.tight_constants import noted

    result: dict[str, list[TightConstant]] = {}
    for certificate in certificates():
        constant = noted(certificate) if "certified" in certificate.note else None
        if constant is not None:
            result.setdefault(constant.claim, []).append(constant)
    return result


def tight_table(claim: str, tight: Iterable[TightConstant]) -> Table:
    from fedbounds.evidence.sdp.one_step.parameters import Setting

    body = []
    for row in tight:
        if row.certificate is not None and row.certified is not None:
            setting = Setting.from_json(row.certificate.setting)
            stated, proved = readable(number(row.stated)), PROVED.format(rounded(row.certified))
            body.append([row.term, _setting(setting), setting.reading, stated, proved, factor(row.ratio)])
    head = ("Term", "Setting", "Reading", "Stated", "Certified", "Loose by")
    return Table.of(head, sorted(body), f"Tight constants of {claim}, verified again without a solver")


def tight_words(tight: Sequence[TightConstant]) -> str:
    """For each term the claim's constant and the range of the tight ones."""
    lines = []
    for term in sorted({row.term for row in tight}):
        own = [row for row in tight if row.term == term]
        ratios = [row.ratio for row in own if row.ratio is not None]
        loose = f"loose by {factor(min(ratios))} to {factor(max(ratios))}" if ratios else UNNEEDED
        lines.append(f"{term}: {readable(number(own[0].stated))} stated, {loose} at {len(own)} settings")
    return "; ".join(lines)


def _setting(setting: Any) -> str:
    alpha, p = (", ".join(map(str, row)) for row in (setting.alpha, setting.p))
    kappa = setting.L / setting.mu if setting.mu else "∞"
    return f"L/μ = {kappa}, τ = {setting.tau}, α = ({alpha}), p = ({p})"


# The evidence that is about no claim: steps of proofs, and counterexamples to remarks.
OTHERS = ""


def evidence() -> Mapping[str, Markup]:
    """Claim -> its proofs, counterexamples and tight constants as HTML; OTHERS -> those that are about none.

    Each is checked here or was on this machine, with these very sources.
    """

    def read(result: object) -> dict[str, str]:
        return shaped(result, dict[str, str], "the stored evidence")

    # Unlike verdicts, it follows from how things are shown too.
    result = cached("evidence", _checked, read, dict, {"referee", "cli", "vision"})
    return {key: Markup(html) for key, html in result.items()}


def _checked() -> dict[str, str]:
    proofs = [Proof(checked) for checked in library.check_all().values()]
    shown, tight = examples(), tight_constants()
    part = template("shipped.html.jinja").module
    keys = {*(proof.derivation.claim for proof in proofs), *(example.subject for example in shown), *tight}
    result = {OTHERS: part.others(*_about("", proofs, shown))}  # type: ignore[attr-defined]
    for key in sorted(keys - {"", None}):
        own = tight.get(key, ())
        tables = tight_table(key, own), tight_words(own)
        result[key] = part.about(*_about(key, proofs, shown), *tables)  # type: ignore[attr-defined]
    return {key: str(html) for key, html in result.items()}


def _about(key: str, proofs: list[Proof], shown: list[Example]) -> tuple[list[object], list[object]]:
    return (
        [proof for proof in proofs if (proof.derivation.claim or "") == key],
        [example for example in shown if example.subject == key],
    )
