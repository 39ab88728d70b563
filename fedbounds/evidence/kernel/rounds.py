"""Certificates as statements about functions: one round of local steps with full gradients (``Round.v``).

The statement names the setting, what is assumed of the gradients and of the skew where the certificate uses it, and
the inequality; `scripts` proves it.
"""

from __future__ import annotations

from fractions import Fraction

from fedbounds.evidence.sdp.certificate import Certificate
from fedbounds.evidence.sdp.setting import FREE_BIAS, Setting

HEAD = (
    "From Coq Require Import Reals Lra Lia ZArith List.\nRequire Import Space Model Facts Certificate Round.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)
ROWS = {"interpolation", "gradient", "rho_bar"}
# Each form in the words of Round.v: {k} the step, {now} and {after} the weights of its iterates.
FORMS = {
    "Delta": "distance begin eta {now} {k}",
    "Delta_next": "distance begin eta {after} {next}",
    "Delta_start": "distance begin eta alpha 0",
    "drift": "spread_of begin eta alpha {now} {k}",
    "grad_sq": "norm_sq (grad P 0 (local begin eta 0 {k}))",
    "excess": "excess P 0 (local begin eta 0 {k})",
    "G_sq": "G_sq",
    "Gamma": "Gamma P",
    FREE_BIAS: "mean (N P) alpha (fun i => excess P i (w_star P))",
    "star_grad_sq": "mean (N P) (p P) (fun i => norm_sq (grad P i (w_star P)))",
}


def expressible(certificate: Certificate) -> bool:
    """Whether a certificate's setting and quantities have words here."""
    setting = Setting.from_json(certificate.setting)
    return (
        setting.local == "steps"
        and setting.gradients == "full"
        and setting.N > 1
        and {certificate.lhs, *certificate.rhs} <= FORMS.keys()
        and {label.split()[0] for label in certificate.multipliers} <= ROWS
    )


def weights_at(setting: Setting, k: int) -> str:
    """The weights of the iterate after k local steps."""
    inside = setting.how.virtual == "p" and 0 < k < setting.tau
    return "(p P)" if inside else "alpha"


def _words(setting: Setting) -> dict[str, str]:
    k = setting.step
    named = {"k": str(k), "next": str(k + 1), "now": weights_at(setting, k), "after": weights_at(setting, k + 1)}
    return {name: text.format(**named) for name, text in FORMS.items()}


def used(certificate: Certificate) -> dict[str, Fraction]:
    return {label: Fraction(value) for label, value in certificate.multipliers.items() if Fraction(value)}


def skewed(certificate: Certificate) -> list[tuple[str, str]]:
    """(label, place) of the points at which the certificate uses the skew."""
    setting = Setting.from_json(certificate.setting)
    labels = [label for label in used(certificate) if label.startswith("rho_bar")]
    places = []
    for label in labels:
        point = label.split()[1]
        k = point[1:]
        place = "begin" if point == "x0" else f"(iterate begin eta {weights_at(setting, int(k))} {k})"
        places.append((label, place))
    return places


def statement(certificate: Certificate) -> str:
    """The proposition ``statement`` about the clients' functions."""
    setting, words = Setting.from_json(certificate.setting), _words(Setting.from_json(certificate.setting))
    right = " + ".join(f"{real(Fraction(value))} * {words[name]}" for name, value in certificate.rhs.items()) or "0"
    assumed = [f"N P = {setting.N}%nat", "weights (N P) (p P)"]
    assumed += [f"p P {i} = {real(value)}" for i, value in enumerate(setting.p)]
    assumed += [f"smooth P {real(setting.L)}", f"strongly_convex P {real(setting.mu)}", "minimal (P := P)"]
    if any(label.startswith("gradient") for label in used(certificate)):
        bound = "norm_sq (grad P i (local begin eta i k)) <= G_sq"
        assumed.append(f"(forall i k, (i < {setting.N})%nat -> (k < {setting.step + 1})%nat -> {bound})")
    assumed += [f"skewed {real(setting.rho_bar)} alpha {place}" for _, place in skewed(certificate)]
    return (
        f"(* {certificate.name or certificate.claim}: {certificate.lhs} <= {dict(certificate.rhs)}\n"
        f"   at {dict(certificate.setting)}. Written from the certificate; do not edit. *)\n"
        f"Definition alpha (i : nat) : R := nth i [{'; '.join(map(real, setting.alpha))}] 0.\n"
        f"Definition eta (k : nat) : R := nth k [{'; '.join(map(real, setting.eta))}] 0.\n"
        "Definition statement : Prop := forall (P : Problem) (begin : V P) (G_sq : R),\n  "
        + " ->\n  ".join(assumed)
        + f" ->\n  {words[certificate.lhs]} <= {right}.\n"
    )


def real(value: Fraction) -> str:
    text = str(abs(value.numerator)) + ("" if value.denominator == 1 else f" / {value.denominator}")
    return f"(- ({text}))" if value < 0 else f"({text})"


def place(setting: Setting, i: int, label: str) -> str:
    """A point's position in the words of Round.v."""
    if label[0] in "xw":
        k = int(label[1:])
        return (
            f"(local begin eta {i} {k})" if label[0] == "x" else f"(iterate begin eta {weights_at(setting, k)} {k})"
        )
    return "(w_star P)" if label == "star" else f"(w_i_star P {i})"


def basis(setting: Setting, name: str) -> str:
    """A vector or a value of the model in the words of Round.v."""
    if name in ("w0", "G_sq"):
        return {"w0": "sub begin (w_star P)", "G_sq": "G_sq"}[name]
    i, _, k = name[1:].partition(".")
    kind = {"g": f"x{k}", "f": f"x{k}", "h": f"w{k}", "v": f"w{k}", "s": "star", "e": "star"}.get(name[0], "own")
    where = place(setting, int(i), kind)
    if name[0] == "u":
        return f"sub {where} (w_star P)"
    return f"grad P {i} {where}" if name[0] in "ghs" else f"excess P {i} {where}"
