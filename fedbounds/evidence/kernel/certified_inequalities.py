"""Certificates as statements about functions: one round of local steps with full gradients (``Round.v``), or one step
from local models that are any points, with noise too (``Noise.v``).

The statement names the setting, what is assumed of the gradients, the noise and the skew where the certificate uses
it, and the inequality; `derivations/_certificate_proofs.py` writes its proof.
"""

from __future__ import annotations

from fractions import Fraction

from fedbounds.evidence.kernel.claim_statement import digest
from fedbounds.evidence.sdp.functions_on_interval import Interval
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import FREE_BIAS, Setting

HEAD = (
    "From Coq Require Import Reals Lra Lia ZArith List.\nRequire Import Space Model Facts Certificate Round{}.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)
# Each form in the words of Round.v: {k} the step, {now} and {after} the weights of its iterates.
OF_CLIENTS = {
    "G_sq": "G_sq",
    "sigma_sq": "sigma_sq",
    "Gamma": "Gamma P",
    FREE_BIAS: "mean (N P) alpha (fun i => excess P i (w_star P))",
    "star_grad_sq": "mean (N P) (p P) (fun i => norm_sq (grad P i (w_star P)))",
}
STEPS = OF_CLIENTS | {
    "zero": "0",
    "Delta": "distance begin eta {now} {k}",
    "Delta_next": "distance begin eta {after} {next}",
    "Delta_start": "distance begin eta alpha 0",
    "drift": "spread_of begin eta alpha {now} {k}",
    "grad_sq": "norm_sq (grad P 0 (local begin eta 0 {k}))",
    "excess": "excess P 0 (local begin eta 0 {k})",
    "local_excess": "mean (N P) alpha (fun i => excess P i (local begin eta i {k}))",
    "local_gap": "mean (N P) alpha (fun i => excess P i (local begin eta i {k}) - excess P i (w_star P))",
    "local_pull": "mean (N P) alpha (fun i => "
    "ip (sub (local begin eta i {k}) (w_star P)) (grad P i (local begin eta i {k})))",
    "pull": "ip (sub (iterate begin eta {now} {k}) (w_star P)) (slope P begin)",
    "mean_slope_sq": "norm_sq (slope P begin)",
}
# The same in those of Noise.v.
ANY = OF_CLIENTS | {
    "Delta": "norm_sq (sub (middle P x) (w_star P))",
    "Delta_next": "norm_sq (sub (moved P x) (w_star P))",
    "drift": "mean (N P) alpha (fun i => norm_sq (sub (x i) (middle P x)))",
}
NOISY = ANY | {"Delta_next": "expected_distance outcomes odds xi alpha {eta} x"}


def expressible(certificate: Certificate) -> bool:
    """Whether a certificate's quantities have words here; a single client has none, nor has an interval."""
    setting = certificate.parameters
    return (
        certificate.interval is None
        and setting.N > 1
        and {certificate.lhs, *certificate.rhs} <= _forms(setting).keys()
    )


def _forms(setting: Setting) -> dict[str, str]:
    return STEPS if setting.local == "steps" else NOISY if setting.gradients == "stochastic" else ANY


def last(setting: Setting) -> int:
    """The local steps that the model follows before the one in question."""
    return 0 if setting.local == "any" else setting.step


def weights_at(setting: Setting, k: int) -> str:
    """The weights of the iterate after k local steps."""
    inside = setting.how.virtual == "p" and 0 < k < setting.tau
    return "(p P)" if inside else "alpha"


def local(setting: Setting, i: int, k: int) -> str:
    """Client i's model after k local steps."""
    return f"(x {i}%nat)" if setting.local == "any" else f"(local begin eta {i} {k})"


def iterate(setting: Setting, k: int) -> str:
    """The mean model after k local steps."""
    if setting.local == "any":
        return "(moved P x)" if k else "(middle P x)"
    return f"(iterate begin eta {weights_at(setting, k)} {k})"


def head(certificate: Certificate) -> str:
    """What a file begins with."""
    return HEAD.format(" Noise" if Setting.from_json(certificate.setting).local == "any" else "")


def _words(setting: Setting) -> dict[str, str]:
    k = setting.step
    named = {"k": str(k), "next": str(k + 1), "now": weights_at(setting, k), "after": weights_at(setting, k + 1)}
    return {name: text.format(**named, eta=real(setting.eta[-1])) for name, text in _forms(setting).items()}


def used(certificate: Certificate) -> dict[str, Fraction]:
    return {label: value for label, value in certificate.numbers(certificate.multipliers).items() if value != 0}


def skewed(certificate: Certificate) -> list[tuple[str, str]]:
    """(label, place) of the points at which the certificate uses the skew."""
    setting = Setting.from_json(certificate.setting)
    points = [(label, label.split()[1]) for label in used(certificate) if label.startswith("rho_bar")]
    return [(label, "begin" if at == "x0" else iterate(setting, int(at[1:]))) for label, at in points]


def header(certificate: Certificate) -> str:
    """The comment that a statement opens with, bound to the multipliers; no word of the certificate stands in it."""
    multipliers = digest(str(sorted(certificate.multipliers.items())))[:16]
    return f"(* Written from a certificate, whose multipliers have SHA-256 {multipliers}; do not edit. *)\n"


def statement(certificate: Certificate) -> str:
    """The proposition ``statement`` about the clients' functions."""
    setting, words = Setting.from_json(certificate.setting), _words(Setting.from_json(certificate.setting))
    rhs = certificate.numbers(certificate.rhs)
    right = " + ".join(f"{real(value)} * {words[name]}" for name, value in rhs.items()) or "0"
    assumed = [f"N P = {setting.N}%nat", "weights (N P) (p P)"]
    assumed += [f"p P {i} = {real(value)}" for i, value in enumerate(setting.p)]
    assumed += [f"smooth P {real(setting.L)}", f"strongly_convex P {real(setting.mu)}", "minimal (P := P)"]
    assumed += ["unbiased (P := P) outcomes odds xi"] if setting.gradients == "stochastic" else []
    assumed += [
        text for word, text in _bounds(setting).items() if any(one.startswith(word) for one in used(certificate))
    ]
    assumed += [f"skewed {real(setting.rho_bar)} alpha {place}" for _, place in skewed(certificate)]
    binders, definitions = "(begin : V P)", ""
    if setting.local == "any":
        step = f"step_from alpha {real(setting.eta[-1])} x (fun i => grad P i (x i))"
        binders = "(x : nat -> V P)"
        definitions = (
            "Definition middle (P : Problem) (x : nat -> V P) : V P := centre (N P) alpha x.\n"
            f"Definition moved (P : Problem) (x : nat -> V P) : V P := {step}.\n"
        )
    elif {"pull", "mean_slope_sq"} & certificate.rhs.keys():
        slopes = f"fun i => grad P i (local begin eta i {setting.step})"
        definitions = f"Definition slope (P : Problem) (begin : V P) : V P := centre (N P) alpha ({slopes}).\n"
    if setting.gradients == "stochastic":
        binders += " (outcomes : nat) (odds : nat -> R) (xi : nat -> nat -> V P) (sigma_sq : R)"
    return (
        f"{header(certificate)}Definition alpha (i : nat) : R := nth i [{'; '.join(map(real, setting.alpha))}] 0.\n"
        f"Definition eta (k : nat) : R := nth k [{'; '.join(map(real, setting.eta))}] 0.\n{definitions}"
        f"Definition statement : Prop := forall (P : Problem) {binders} (G_sq : R),\n  "
        + " ->\n  ".join(assumed)
        + f" ->\n  {words[certificate.lhs]} <= {right}.\n"
    )


def _bounds(setting: Setting) -> dict[str, str]:
    """What is assumed where a label of this beginning is used; the drift's is what gradients within G^2 can make."""
    if setting.local == "steps":
        bound = "norm_sq (grad P i (local begin eta i k)) <= G_sq"
        return {"gradient": f"(forall i k, (i < {setting.N})%nat -> (k < {setting.step + 1})%nat -> {bound})"}
    noise = "noise_sq outcomes odds xi i"
    within = f" + {noise}" if setting.gradients == "stochastic" else ""
    reach = real(sum(setting.eta[:-1], Fraction(0)) ** 2)
    return {
        "gradient": f"(forall i, (i < N P)%nat -> norm_sq (grad P i (x i)){within} <= G_sq)",
        "variance": f"(forall i, (i < N P)%nat -> {noise} <= sigma_sq)",
        "drift": f"{ANY['drift']} <= {reach} * G_sq",
    }


def within(over: Interval) -> str:
    """The hypotheses that a parameter lies in an interval."""
    above = f"{real(over.low)} < {over.parameter} -> "
    return above if over.high is None else f"{above}{over.parameter} <= {real(over.high)} -> "


def real(value: Fraction) -> str:
    text = str(abs(value.numerator)) + ("" if value.denominator == 1 else f" / {value.denominator}")
    return f"(- ({text}))" if value < 0 else f"({text})"


def place(setting: Setting, i: int, label: str) -> str:
    """A point's position in the words of Round.v."""
    if label[0] in "xw":
        return local(setting, i, int(label[1:])) if label[0] == "x" else iterate(setting, int(label[1:]))
    return "(w_star P)" if label == "star" else f"(w_i_star P {i})"


def basis(setting: Setting, name: str) -> str:
    """A vector or a value of the model in the words of Round.v."""
    if name in ("w0", "G_sq", "sigma_sq"):
        start = "begin" if setting.local == "steps" else "(middle P x)"
        return name if name != "w0" else f"sub {start} (w_star P)"
    i, _, k = name[1:].partition(".")
    kind = {"g": f"x{k}", "f": f"x{k}", "h": f"w{k}", "v": f"w{k}", "s": "star", "e": "star"}.get(name[0], "own")
    where = place(setting, int(i), kind)
    if name[0] in "ny":
        return f"noise_sq outcomes odds xi {i}" if name[0] == "n" else f"sub (x {i}%nat) (middle P x)"
    if name[0] == "u":
        return f"sub {where} (w_star P)"
    return f"grad P {i} {where}" if name[0] in "ghs" else f"excess P {i} {where}"
