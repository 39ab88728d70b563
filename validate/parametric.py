"""Certificates for every kappa, or every step size, at once: multipliers that are rational functions.

    python -m validate.parametric           (about a minute on one core)

Writes derivations/certificates/parametric.jsonl. Claims stand as stated, or with the exact constant of Lemma 2;
``local-descent`` is a bound with no claim, that of one round of ``derivations/proofs/rounds.md`` with its double sum.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from fedbounds.evidence.sdp.one_step.certificate import Certificate, check, save
from fedbounds.evidence.sdp.one_step.coverage import round_settings
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.verdict import certify, certify_form, examination
from fedbounds.plugins import claim_named
from validate.runner import options
from validate.tight_constants import CERTIFICATES, HALF, WEIGHTS

EVERY = "1..inf"
Named = Iterator[tuple[str, Certificate | None]]


def last(claim: str, tau: int, **given: Any) -> Setting:
    """The last local step of the first round."""
    return list(round_settings(claim_named(claim), time=tau - 1, tau=tau, **given))[-1]


def as_stated() -> Named:
    """The claims themselves, on the corollary's steps, with noise where they speak of it."""
    yield "lemma-1", examination(claim_named("lemma-1"), last("lemma-1", 1, kappa=EVERY, reading="literal"))[1]
    for key in ("lemma-2", "drift-on-schedule", "theorem-1", "sharper-step", "star-step", "fedavg-step"):
        for name in WEIGHTS if key != "fedavg-step" else ("fedavg",):
            setting = last(key, 3, kappa=EVERY, **WEIGHTS[name])
            yield f"{key}-{name}-tau3", examination(claim_named(key), setting)[1]


def over_steps() -> Named:
    """The steps without G at every constant step size."""
    for kappa, largest in ((2, "4/3"), (10, "20/11"), (100, "200/101")):
        setting = last("fedavg-step", 1, kappa=kappa, eta=f"0..{largest}")
        yield f"fedavg-step-eta-k{kappa}", examination(claim_named("fedavg-step"), setting)[1]
        for name in WEIGHTS:
            setting = last("star-step", 1, kappa=kappa, eta="0..99/100", **WEIGHTS[name])
            yield f"star-step-eta-{name}-k{kappa}", examination(claim_named("star-step"), setting)[1]


def exact_drift() -> Named:
    """Lemma 2 with what `drift-full` has for its 16, full gradients: equal weights, and one above a half."""
    several: dict[str, tuple[int, dict[str, Any]]] = {f"tau{tau}": (tau, {}) for tau in (2, 3, 4, 6)}
    several |= {"skewed-tau3": (3, WEIGHTS["skewed"]), "5-clients-tau5": (5, {"clients": 5})}
    several["3-clients-tau4"] = 4, {"alpha": "3/5,3/10,1/10"}
    for name, (tau, given) in several.items():
        setting = last("lemma-2", tau, kappa=EVERY, **given)
        exact, stated = (coefficients(claim_named(key), setting)["G_sq"] for key in ("drift-full", "lemma-2"))
        yield f"lemma-2-exact-{name}", certify(claim_named("lemma-2"), setting, {"drift": exact / stated})


def descent(tau: int) -> Certificate | None:
    """A round of gradient descent at eta = 1/(2L): what is added to q^(2 tau) Delta_0 is E_tau zeta_*^2."""
    setting = last("fedavg-step", tau, kappa=EVERY, eta=HALF)
    eta, mu, L = HALF, setting.mu, setting.L
    q, a = 1 - eta * mu, (2 - eta * (L + mu)) / (eta * (L - mu))
    inner = [(i, k) for i in range(1, tau) for k in range(1, tau)]
    E = sum((q ** (i + k) * min(i, k) * (a + tau - max(i, k)) for i, k in inner), F(0))
    known = {
        f"interpolation {i} {way}": eta * q ** (2 * (tau - k) - 1)
        for i in range(2)
        for k in range(tau)
        for way in (f"x{k}|star", f"star|x{k}")
    }
    rhs = {"Delta_start": q ** (2 * tau), "star_grad_sq": E * eta**2 / (a * (a + tau))}
    return certify_form("Delta_next", {k: v for k, v in rhs.items() if v != 0}, setting, known=known)


def every() -> Named:
    yield from as_stated()
    yield from over_steps()
    yield from exact_drift()
    for tau in (1, 2, 3):
        yield f"local-descent-{tau}", descent(tau)


def main() -> None:
    options(__doc__)
    found = []
    for name, certificate in every():
        begun = time.process_time()
        valid, said = (False, "not found") if certificate is None else check(certificate)
        print(f"{name}: {said}, {time.process_time() - begun:.2f} s", flush=True)
        found += [replace(certificate, name=f"parametric-{name}")] if valid else []
    save(CERTIFICATES / "parametric.jsonl", found)


if __name__ == "__main__":
    main()
