"""Certificates: proofs of a one-round inequality at given parameters, verified in exact arithmetic, and their files.

A certificate gives rational multipliers lambda_j >= 0 such that, as forms in a Gram matrix and function values,
rhs - lhs = sum_j lambda_j constraint_j + <S, gram> with S positive semidefinite. Constraints are >= 0 on the
class, so lhs <= rhs there. Over an interval of kappa or of eta L the numbers are rational functions of it.

Files are JSON Lines, one certificate a line, one file a family. They may come from anybody: sizes are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fedbounds.errors import InputError, readable, reject
from fedbounds.evidence.sdp.functions_on_interval import Function, Interval, Written, number_of, variable
from fedbounds.evidence.sdp.one_step.coverage import homogeneous, place
from fedbounds.evidence.sdp.one_step.parameters import FUNCTIONS, Setting, at_point, pointwise, written_by
from fedbounds.evidence.sdp.one_step.point_expressions import points_in
from fedbounds.evidence.sdp.one_step.program import build, entries
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.program import exact
from fedbounds.evidence.sdp.verification import verify
from fedbounds.io import convert, parse_json, plain, read_bytes, write_text
from fedbounds.plugins import claims
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, only

# Numbers of the largest model that is checked: some seconds' work, ten times what any shipped certificate needs.
LARGEST = 500_000
# Hundred times the longest certificate that is shipped.
LONGEST_LINE = 1_000_000
# What is written though it may be empty: a drift at most 0 has no right side.
NEEDED = ("claim", "rhs", "multipliers")


@dataclass(frozen=True)
class Certificate:
    """lhs <= sum_k rhs_k form_k at ``setting``; with ``claim``, rhs is the claim's with terms times ``scale``.

    Numbers are rationals as text; over an ``interval`` also rational functions of its parameter.
    ``name`` tells it from its family; ``note`` is for readers and proves nothing.
    """

    lhs: str
    rhs: Mapping[str, Written]
    setting: Mapping[str, object]
    multipliers: Mapping[str, Written]
    claim: str | None = None
    scale: Mapping[str, Written] = field(default_factory=dict)
    note: Mapping[str, object] = field(default_factory=dict)
    name: str = ""
    interval: Interval | None = None

    def numbers(self, given: Mapping[str, Written]) -> dict[str, Any]:
        """Their values, fractions or functions of the parameter."""
        return {name: number_of(value, self.interval) for name, value in given.items()}

    @cached_property
    def parameters(self) -> Setting:
        """The setting, of functions where there is an interval; InputError where it is none."""
        over, data = self.interval, self.setting
        if over is None:
            return Setting.from_json(data)
        given = {name: _each(data[name], lambda value: number_of(value, over)) for name in FUNCTIONS if name in data}
        result = replace(Setting.from_json({**data, **plain(at_point(given, next(over.inside())))}), **given)
        x, sizes = variable(over), result.eta
        pairs = [(x * result.mu, result.L)] if over.parameter == "kappa" else [(eta * result.L, x) for eta in sizes]
        if any(item != other for item, other in pairs) or isinstance(result.L, Function):
            raise reject(f"a setting must have the parameter {over.parameter}", str(pairs[0][0]), "write it again")
        return result


def _each(value: Any, number: Callable[[Any], Any]) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_each(item, number) for item in value)
    return value if value is None else number(value)


def check(certificate: Certificate, claims_by_key: Mapping[str, Claim] | None = None) -> tuple[bool, str]:
    """Whether a certificate proves its inequality, and the first reason why not, with the claims by key."""
    try:
        setting = certificate.parameters
        rhs, multipliers = certificate.numbers(certificate.rhs), certificate.numbers(certificate.multipliers)
        claim = None
        if certificate.claim is not None:
            claim = (claims() if claims_by_key is None else claims_by_key)[certificate.claim]
            scale = certificate.numbers(certificate.scale)
            if str(claim.lhs) != certificate.lhs or coefficients(claim, setting, scale) != rhs:
                return False, f"this is not the inequality of {certificate.claim}"
            of_one_client = all(
                label.startswith("interpolation 0 ") for label, value in multipliers.items() if value != 0
            )
            if pointwise(claim, setting.how) and (setting.step or not of_one_client):
                return False, "a bound at one point of any client rests on its interpolation alone, at local step 0"
        elif certificate.scale:
            return False, "a scale needs the claim that it scales"
        of_points = written_by(claim, setting.how) if claim is not None else {}
        if (count := entries(setting, len(points_in(of_points)))) > LARGEST:
            return False, f"too large: a model of {count} numbers, and {LARGEST} are checked at most"
        model = build(setting, exact, written=of_points)
        return verify(model, model.sum(rhs) - model[certificate.lhs], multipliers)
    except (InputError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        return False, f"malformed: {readable(error)}"


def verified_certificates(
    paths: Iterable[Path], claims_by_key: Mapping[str, Claim] | None = None
) -> Iterator[tuple[Certificate, str]]:
    """(certificate, "" or why it proves nothing) of every certificate in the files, one at a time."""
    claims_by_key = claims() if claims_by_key is None else claims_by_key
    for path in paths:
        for certificate in read(path):
            valid, reason = check(certificate, claims_by_key)
            yield certificate, "" if valid else reason


def read(path: Path) -> Iterator[Certificate]:
    """The certificates of a file, one at a time; InputError, naming the line, where one is none."""
    content = read_bytes(path)
    if path.suffix == ".json":
        yield _read(content, str(path))
        return
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            yield _read(line, f"{path}, line {number}")


def _read(text: bytes, where: str) -> Certificate:
    try:
        if len(text) > LONGEST_LINE:
            raise ValueError(f"more than {LONGEST_LINE} characters")
        data = parse_json(text, "it")
        result: Certificate = convert(data, Certificate)
        names = {field.name for field in fields(Certificate)}
        if data.keys() - names or result.setting.keys() - result.parameters.to_json().keys():
            raise ValueError("fields that no certificate has")
        numbers = [item for name in ("rhs", "multipliers", "scale") for item in data.get(name, {}).values()]
        if any(isinstance(number, dict) and number.keys() != {"num", "den"} for number in numbers):
            raise ValueError("a function with more than num and den")
        if (data.get("interval") or {}).keys() - {"parameter", "low", "high"}:
            raise ValueError("an interval with more than its ends")
        return result
    except ValueError as wrong:
        form = "a certificate must be a JSON object of this format"
        raise reject(form, f"{where} ({wrong})", "regenerate it") from None


def save(path: Path, certificates: Iterable[Certificate]) -> Path:
    """Write a family; certificates that the file holds under other names stay."""
    family = {item.name: item for item in read(path)} if path.is_file() else {}
    family |= {certificate.name: certificate for certificate in certificates}
    lines = (json.dumps(_document(item), allow_nan=False, separators=(",", ":")) for item in family.values())
    return write_text(path, "".join(f"{line}\n" for line in lines))


def _document(certificate: Certificate) -> dict[str, Any]:
    """What is written: the name first, nothing that may be left out where it is empty."""
    data = plain(certificate)
    return {"name": data.pop("name"), **{key: value for key, value in data.items() if value or key in NEEDED}}


def subject(certificate: Certificate) -> tuple[object, ...] | None:
    """What a certificate says of a claim as stated: (claim, reading, setting) in one form, or None.

    Other proofs, orders of the clients, units and ways to write a fraction give the same subject.
    """
    if certificate.claim is None or any(value != 1 for value in certificate.numbers(certificate.scale).values()):
        return None
    s = certificate.parameters
    clients = tuple(sorted(zip(s.alpha, s.p, strict=True)))
    sizes = tuple(eta * s.L for eta in s.eta)
    models = s.local, s.gradients, s.over
    return certificate.claim, s.reading, clients, s.mu / s.L, sizes, s.tau, s.rho_bar, s.rho_tilde, models


def describe(certificate: Certificate, claim: Claim | None = None) -> str:
    """Claim, scale, reading and setting of a certificate in words, with L where the claim depends on its unit."""
    setting, factors = certificate.parameters, certificate.numbers(certificate.scale)
    scaled = ", ".join(f"{term} x {value}" for term, value in factors.items() if value != 1)
    what = f"{certificate.claim} as stated" if not scaled else f"NOT {certificate.claim} itself, but with {scaled}"
    if certificate.claim is None:
        what = "no claim, an inequality of its own"
    free = "" if setting.rho_tilde is not None or setting.N == 1 else ", every rho_tilde"
    axes = place(setting)
    if claim is not None and not homogeneous(claim, setting.how):
        axes["L"] = only(setting.L)
    where = Coverage(axes).words()
    return f"{what}; reading {setting.reading}; local models: {setting.local}; {where}{free}"
