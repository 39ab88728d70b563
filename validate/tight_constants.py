"""The true constants of the one-round claims over the class, each backed by a rational certificate, and their curves.

    python -m validate.tight_constants           (about twenty seconds on one core)

Writes derivations/certificates/*.jsonl, validate/results/tight_constants.json (what docs/sdp.md quotes) and
docs/img/tight_*.png. ``--small`` writes nothing but a few numbers, for the tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.evidence.sdp.one_step.certificate import Certificate, check, save
from fedbounds.evidence.sdp.one_step.coefficients import coefficients
from fedbounds.evidence.sdp.one_step.fitted_multipliers import on_kernel
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.one_step.sampled_program import reduced
from fedbounds.evidence.sdp.one_step.tight_constants import tight, tight_value
from fedbounds.evidence.sdp.one_step.verdict import certify, certify_form, worst_ratio
from fedbounds.evidence.sdp.solver import worst_case
from fedbounds.io import write_text
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim
from validate.appendix import certify_appendix
from validate.runner import IMAGES, RESULTS, ROOT, options

CERTIFICATES = ROOT / "derivations" / "certificates"
HALF = F(1, 2)
# Weights of the tables: name -> alpha, p, rho_bar.
WEIGHTS: dict[str, dict[str, Any]] = {
    "fedavg": {"alpha": (HALF, HALF), "p": (HALF, HALF), "rho_bar": F(1)},
    "skewed": {"alpha": (F(9, 10), F(1, 10)), "p": (HALF, HALF), "rho_bar": F(3, 2)},
    "one-client": {"alpha": (F(1), F(0)), "p": (HALF, HALF), "rho_bar": F(3, 2)},
    "small-client": {"alpha": (F(0), F(1)), "p": (F(9, 10), F(1, 10)), "rho_bar": F(3)},
}
# The literal reading at an aggregation step: a p-weighted w_t, an alpha-weighted w_{t+1}, and an undemanding rho_bar.
LITERAL: dict[str, Any] = {**WEIGHTS["skewed"], "rho_bar": F(1), "reading": "literal"}
# How far above the solver a ratio or a bound is certified.
ABOVE = (F(1, 10**6), F(1, 10**5), F(1, 10**4), F(1, 10**3))

# The files of certificates; a name begins with its family's, but for those with local models of any kind.
FAMILIES = ("appendix", "gradient-descent", "local-descent", "no-gradient", "noise", "ratio", "stated", "tight")
ANY = "any-local-models"

Row = dict[str, Any]
StageResult = tuple[str, Row, Certificate | None]


def scaled_theorem(setting: Setting, scale: dict[str, F]) -> Certificate | None:
    """Theorem 1 with named terms multiplied."""
    return certify(claim_named("theorem-1"), setting, scale)


def tight_rows(claim: str, term: str, cases: dict[str, Setting]) -> Iterator[StageResult]:
    """A tight constant in every case."""
    for name, setting in cases.items():
        result = tight(claim_named(claim), setting, term)
        proved = None if result.certified is None else float(result.certified)
        row = {"stated": result.stated, "solver": result.solver, "certified": proved}
        yield f"tight-{claim}-{term}-{name}", row, result.certificate


def ratio_rows(claims: tuple[str, ...], cases: dict[str, Setting]) -> Iterator[StageResult]:
    """sup lhs/rhs: how near the worst case of the class comes to the bound."""
    for name, setting in cases.items():
        for key in claims:
            claim = claim_named(key)
            ratio = worst_ratio(claim, setting)
            certificate, proved = None, None
            for above in ABOVE:
                factor = F(round((ratio + float(above)) * 10**8), 10**8)
                certificate = certify(claim, setting, dict.fromkeys(claim.terms, factor))
                if certificate is not None:
                    proved = float(factor)
                    break
            yield f"ratio-{key}-{name}", {"solver": ratio, "certified": proved}, certificate


def without_gradients(cases: dict[str, Setting]) -> Iterator[StageResult]:
    """Theorem 1 with no G at all and 2 rho_bar L Gamma for 6 rho_bar L Gamma, for deterministic gradients."""
    for name, setting in cases.items():
        certificate = scaled_theorem(setting, {"drift": F(0), "heterogeneity": F(1, 3)})
        yield f"no-gradient-bound-{name}", {"certified": certificate is not None}, certificate


def bare_rows(cases: dict[str, Setting]) -> Iterator[StageResult]:
    """Theorem 1 with no G at all: the largest b for 3/8, and the smallest c for 6, the rest as stated."""
    bare = bare_theorem()
    for name, setting in cases.items():
        result = tight(bare, setting, "contraction")
        proved = None if result.certified is None else float(result.certified)
        row: Row = {"stated": result.stated, "solver": result.solver, "certified": proved}
        yield f"no-gradient-contraction-{name}", row, result.certificate
        row = {"stated": 6.0, "solver": tight_value(bare, setting, "heterogeneity"), "certified": None}
        certificate = None
        for above in ABOVE:
            constant = F(round((row["solver"] + float(above)) * 10**7), 10**7)
            certificate = scaled_theorem(setting, {"drift": F(0), "heterogeneity": constant / 6})
            if certificate is not None:
                row["certified"] = float(constant)
                break
        yield f"no-gradient-heterogeneity-{name}", row, certificate


def bare_theorem() -> Claim:
    """Theorem 1 without its term in G^2."""
    theorem = claim_named("theorem-1")
    return replace(theorem, terms={k: v for k, v in theorem.terms.items() if k != "drift"})


def descent_rows(steps: tuple[int, ...]) -> Iterator[StageResult]:
    """One round of local gradient descent, the case that PEPit is compared on: mu = 0.1, L = 1, eta = 1/2."""
    for tau in steps:
        setting = round_setting(2, tau, kappa=10, eta=HALF)
        model = build(setting, float, bounds=())
        against = [model[name] for name in ("Delta_start", "star_grad_sq")]
        result = worst_case(model, model["Delta_next"], against, "nonneg")
        row: Row = {"solver": result.value, "certified": None}
        for above in ABOVE:
            y = [F(round((v + float(above)) * 10**8), 10**8) for v in result.y]
            certificate = certify_form("Delta_next", {"Delta_start": y[0], "star_grad_sq": y[1]}, setting, note=row)
            if certificate is not None:
                yield f"local-descent-{tau}", {**row, "certified": float(sum(y))}, certificate
                break
        else:
            yield f"local-descent-{tau}", row, None


def worst_function(model: Model) -> tuple[Any, Any]:
    """(active constraints, kernel of S) of the worst case of `gradient-descent` as stated, a function on a line.

    That is L x^2/2, or the function of curvature L up to delta and mu beyond, whose delta is the worst; w_0 = 1.
    """
    mu, L, eta, T = model.setting.mu, model.setting.L, model.setting.eta[0], model.setting.step
    kappa, Q = L / mu, (1 - eta * mu) ** (2 * T)
    curved = (1 - eta * L) ** (2 * T) > Q / (Q + kappa * (1 - Q))
    offset, slope = (F(0), L) if curved else ((L - mu) * Q / (kappa - (kappa - 1) * Q), mu)
    x, g, f = [F(1)], [slope + offset], list[F]()
    for _ in range(T):
        x.append(x[-1] - eta * g[-1])
        g.append(slope * x[-1] + offset)
    # At its kink, where F' = L delta = kappa offset/(kappa - 1), the function is L delta^2/2.
    f = [(g_k**2 - offset**2) / (2 * slope) - offset**2 / (2 * (L - mu)) for g_k in g]
    vector = np.array([1, *g], dtype=float)
    gaps = np.einsum("mij,i,j->m", model.quad, vector, vector) + model.lin @ np.array([*map(float, f), 0])
    return np.abs(gaps) < 1e-9, reduced([[F(1), *g]], len(vector))


def gradient_rows() -> Iterator[StageResult]:
    """The exact rate of gradient descent, as stated: no constant could be smaller."""
    claim = claim_named("gradient-descent")
    for kappa, eta, T in product((2, 10, 100), (HALF, F(1), F(3, 2), F(19, 10)), (1, 2, 3, 5)):
        setting = round_setting(1, T + 1, kappa=kappa, eta=eta, reading="literal")
        rhs = coefficients(claim, setting)
        multipliers = on_kernel("gap", rhs, setting, *worst_function(build(setting, float, ())))
        known = certify_form("gap", rhs, setting, claim.key, known=multipliers) if multipliers else None
        certificate = known or certify(claim, setting)
        name = f"gradient-descent-k{kappa}-eta{float(eta):g}-T{T}"
        yield name, {"certified": float(rhs["Delta_0"])}, certificate


def noise_rows(cases: dict[str, Setting]) -> Iterator[StageResult]:
    """The one-step claims as stated, for stochastic gradients."""
    for key in ("lemma-2", "theorem-1", "sharper-step", "star-step", "fedavg-step"):
        for name, setting in cases.items():
            if key != "fedavg-step" or setting.alpha == setting.p:
                certificate = certify(claim_named(key), replace(setting, gradients="stochastic", local="any"))
                yield f"noise-{key}-{name}", {"certified": certificate is not None}, certificate


def at(kappa: int, tau: int, weights: str = "fedavg", **more: Any) -> Setting:
    """A setting of the tables."""
    return round_setting(2, tau, kappa=kappa, **WEIGHTS[weights], **more)


def table() -> Iterator[StageResult]:
    """Every number of the documentation."""
    yield from tight_rows("lemma-1", "gap", {"k10": round_setting(1, 1, kappa=10)})
    grid = {f"k{kappa}-tau{tau}": at(kappa, tau) for kappa in (2, 10, 100) for tau in (2, 3, 4, 6)}
    yield from tight_rows("lemma-2", "drift", grid)
    cases = {
        f"{w}-k{kappa}-{r}": at(kappa, 3, w, reading=r)
        for w in WEIGHTS
        for kappa in (2, 10)
        for r in ("repaired", "sync")
    }
    for term in ("drift", "heterogeneity", "contraction"):
        yield from tight_rows("theorem-1", term, cases)
    literal = {f"skewed-k{kappa}-literal": round_setting(2, 2, kappa=kappa, **LITERAL) for kappa in (10, 100, 1000)}
    yield from tight_rows("theorem-1", "drift", literal)
    plain = {f"{w}-k{kappa}-tau{tau}": at(kappa, tau, w) for w in WEIGHTS for kappa in (2, 10, 100) for tau in (1, 3)}
    yield from without_gradients(plain)
    yield from bare_rows({name: setting for name, setting in plain.items() if "tau3" in name})
    ten = {name: setting for name, setting in plain.items() if "k10-" in name}
    yield from ratio_rows(("theorem-1", "sharper-step", "star-step"), ten)
    yield from ratio_rows(("fedavg-step",), {name: s for name, s in ten.items() if name.startswith("fedavg")})
    anywhere = {name: replace(setting, local="any") for name, setting in ten.items() if "tau3" in name}
    for key in ("sharper-step", "star-step"):
        for name, setting in anywhere.items():
            certificate = certify(claim_named(key), setting)
            yield f"{key}-any-{name}", {"certified": certificate is not None}, certificate
    yield from noise_rows({name: setting for name, setting in plain.items() if "tau3" in name})
    half = replace(at(10, 3), local="any")
    yield from tight_rows("fedavg-step", "drift", {"any-k10": half})
    yield "fedavg-step-any-k10", {}, certify(claim_named("fedavg-step"), half)
    yield from descent_rows((1, 2, 3))
    yield from gradient_rows()
    for name in ("A_1", "A_3", "A_5"):
        for weights in WEIGHTS:
            certificate = certify_appendix(name, at(10, 3, weights))
            yield f"appendix-{name}-{weights}-k10-tau3", {"certified": certificate is not None}, certificate


def tight_curve(claim: Claim, settings: Iterable[Setting], term: str) -> list[float]:
    """`tight_value` along a curve."""
    return [tight_value(claim, setting, term) for setting in settings]


def curves() -> dict[str, dict[str, list[float]]]:
    """Tight constants along kappa and tau (floating point; the table's numbers are the certified ones)."""
    kappas = [2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]
    lemma, theorem = claim_named("lemma-2"), claim_named("theorem-1")
    bare = bare_theorem()
    names = ("lemma-2", "gradient, literal", "gradient, sync", "contraction, no G", "heterogeneity, no G")
    result: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for tau in (2, 3, 4, 5, 6):
        result["lemma-2"][f"tau = {tau}"] = tight_curve(lemma, [at(k, tau) for k in kappas], "drift")
    for tau in (2, 4):
        along = [round_setting(2, tau, kappa=k, **LITERAL) for k in kappas]
        result["gradient, literal"][f"alpha = (.9, .1), tau = {tau}"] = tight_curve(theorem, along, "drift")
    for name in ("one-client", "small-client"):
        along = [at(k, 3, name, reading="sync") for k in kappas]
        result["gradient, sync"][name] = tight_curve(theorem, along, "drift")
    for name in WEIGHTS:
        along = [at(k, 3, name) for k in kappas]
        result["contraction, no G"][name] = tight_curve(bare, along, "contraction")
        result["heterogeneity, no G"][name] = tight_curve(bare, along, "heterogeneity")
    return {"kappa": {"kappa": [float(k) for k in kappas]}, **result}


def draw(found: dict[str, dict[str, list[float]]], folder: Path) -> None:
    """Two pictures: the constants of G^2, and what is left of Theorem 1 without G."""
    from matplotlib.figure import Figure

    kappas = found["kappa"]["kappa"]
    titles = {
        "lemma-2": "Lemma 2: c in c η²τ²G² (stated: 16)",
        "gradient, literal": "Theorem 1, literal: c in c τ²G² (stated: 32)",
        "gradient, sync": "Theorem 1, sync: c in c τ²G² (stated: 32)",
        "contraction, no G": "Theorem 1 without G: b in 1 - ημ(1 + bρ) (stated: 3/8)",
        "heterogeneity, no G": "Theorem 1 without G: c in c ρLΓ (stated: 6)",
    }
    names = tuple(titles)
    groups = {"tight_gradient": names[:3], "tight_without_gradient": names[3:]}
    for name, keys in groups.items():
        figure = Figure(figsize=(4.4 * len(keys), 3.4), layout="constrained", dpi=110)
        for axes, key in zip(figure.subplots(1, len(keys), squeeze=False)[0], keys, strict=True):
            for marker, (label, values) in zip("os^dv", found[key].items(), strict=False):
                axes.semilogx(kappas, values, marker=marker, markersize=4, label=label)
            if key == "gradient, literal":
                axes.axhline(32, color="black", linewidth=0.8, linestyle="--", label="stated")
                axes.set(yscale="log", ylim=(0.05, 500))
            axes.set_title(titles[key], fontsize=9, loc="left")
            axes.set_xlabel("κ = L/μ")
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        figure.savefig(folder / f"{name}.png")


def family(name: str) -> str:
    """The family that a certificate belongs to."""
    return next((kind for kind in FAMILIES if name.startswith(kind)), ANY)


def main(arguments: list[str] | None = None) -> dict[str, Row]:
    """Recompute the table, verify every certificate exactly, and write everything unless ``--small``."""
    small = options(__doc__, arguments, small=False).small
    rows: dict[str, Row] = {}
    families: dict[str, list[Certificate]] = {}
    entries = tight_rows("lemma-2", "drift", {"k10-tau2": at(10, 2)}) if small else table()
    for name, row, certificate in entries:
        valid = certificate is not None and check(certificate)[0]
        rows[name] = {**row, "certificate": name if valid else None}
        print(f"{name}: {row}{'' if valid else '   NOT CERTIFIED'}", flush=True)
        if valid and certificate is not None:
            families.setdefault(family(name), []).append(replace(certificate, name=name))
    if not small:
        for kind, certificates in families.items():
            save(CERTIFICATES / f"{kind}.jsonl", certificates)
        result = curves()
        draw(result, IMAGES)
        text = json.dumps({"numbers": rows, "curves": result}, indent=1) + "\n"
        write_text(RESULTS / "tight_constants.json", text)
    return rows


if __name__ == "__main__":
    main()
