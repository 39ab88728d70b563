"""The true constants of the one-round claims over the class, each backed by a rational certificate, and their curves.

    python -m validate.tight_constants           (about twenty seconds on one core)

Writes derivations/certificates/*.jsonl, validate/results/tight_constants.json (what docs/sdp.md quotes) and
docs/img/tight_*.png. ``--small`` writes nothing but a few numbers, for the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction as F
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.evidence.sdp.one_step.certificate import Certificate, check, save
from fedbounds.evidence.sdp.one_step.fitted_multipliers import on_kernel
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.sampled_program import reduced
from fedbounds.evidence.sdp.one_step.tight_constants import tight, tight_value
from fedbounds.evidence.sdp.one_step.verdict import certify, certify_form, worst_ratio
from fedbounds.evidence.sdp.solver import worst_case
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim
from validate.appendix import certify_appendix
from validate.runner import IMAGES, ROOT, Study

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
StageResult = tuple[Row, Certificate | None]
Rows = Iterator[tuple[str, Row, Certificate | None]]
Cases = dict[str, Setting]


def certified_above(value: float, digits: int, attempt: Callable[[F], Certificate | None]) -> StageResult:
    """The row and the certificate of a solver's value: that of the first constant above it for which one is found."""
    for above in ABOVE:
        constant = F(round((value + float(above)) * 10**digits), 10**digits)
        certificate = attempt(constant)
        if certificate is not None:
            return {"solver": value, "certified": float(constant)}, certificate
    return {"solver": value, "certified": None}, None


def tight_row(claim: Claim, setting: Setting, term: str) -> StageResult:
    """A tight constant."""
    result = tight(claim, setting, term)
    proved = None if result.certified is None else float(result.certified)
    return {"stated": result.stated, "solver": result.solver, "certified": proved}, result.certificate


def tight_rows(claim: str, term: str, cases: Cases) -> Rows:
    """A tight constant in every case."""
    for name, setting in cases.items():
        yield f"tight-{claim}-{term}-{name}", *tight_row(claim_named(claim), setting, term)


def certified_rows(prefix: str, cases: Cases, attempt: Callable[[Setting], Certificate | None]) -> Rows:
    """Whether something is certified, in every case."""
    for name, setting in cases.items():
        certificate = attempt(setting)
        yield f"{prefix}-{name}", {"certified": certificate is not None}, certificate


def ratio_rows(claims: tuple[str, ...], cases: Cases) -> Rows:
    """sup lhs/rhs: how near the worst case of the class comes to the bound."""
    for (name, setting), claim in product(cases.items(), map(claim_named, claims)):

        def scaled(factor: F, claim: Claim = claim, setting: Setting = setting) -> Certificate | None:
            return certify(claim, setting, dict.fromkeys(claim.terms, factor))

        yield f"ratio-{claim.key}-{name}", *certified_above(worst_ratio(claim, setting), 8, scaled)


def without_gradient(setting: Setting, heterogeneity: F = F(1, 3)) -> Certificate | None:
    """Theorem 1 with no G at all, and its 6 rho_bar L Gamma multiplied; for deterministic gradients."""
    return certify(claim_named("theorem-1"), setting, {"drift": F(0), "heterogeneity": heterogeneity})


def bare_rows(cases: Cases) -> Rows:
    """Theorem 1 with no G at all: the largest b for 3/8, and the smallest c for 6, the rest as stated."""
    bare = bare_theorem()
    for name, setting in cases.items():
        yield f"no-gradient-contraction-{name}", *tight_row(bare, setting, "contraction")
        value = tight_value(bare, setting, "heterogeneity")
        row, certificate = certified_above(value, 7, lambda c, at=setting: without_gradient(at, c / 6))
        yield f"no-gradient-heterogeneity-{name}", {"stated": 6.0, **row}, certificate


def bare_theorem() -> Claim:
    """Theorem 1 without its term in G^2."""
    theorem = claim_named("theorem-1")
    return replace(theorem, terms={k: v for k, v in theorem.terms.items() if k != "drift"})


def descent_rows(steps: tuple[int, ...]) -> Rows:
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


def gradient_rows() -> Rows:
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


def at(kappa: int, tau: int, weights: str = "fedavg", **more: Any) -> Setting:
    """A setting of the tables."""
    return round_setting(2, tau, kappa=kappa, **WEIGHTS[weights], **more)


def table() -> Rows:
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
    yield from certified_rows("no-gradient-bound", plain, without_gradient)
    yield from bare_rows({name: setting for name, setting in plain.items() if "tau3" in name})
    ten = {name: setting for name, setting in plain.items() if "k10-" in name}
    yield from ratio_rows(("theorem-1", "sharper-step", "star-step"), ten)
    yield from ratio_rows(("fedavg-step",), {name: s for name, s in ten.items() if name.startswith("fedavg")})
    anywhere = {name: replace(setting, local="any") for name, setting in ten.items() if "tau3" in name}
    for claim in map(claim_named, ("sharper-step", "star-step")):
        yield from certified_rows(f"{claim.key}-any", anywhere, partial(certify, claim))
    three = {name: replace(s, gradients="stochastic", local="any") for name, s in plain.items() if "tau3" in name}
    for claim in map(claim_named, ("lemma-2", "theorem-1", "sharper-step", "star-step")):
        yield from certified_rows(f"noise-{claim.key}", three, partial(certify, claim))
    unbiased = {name: setting for name, setting in three.items() if setting.alpha == setting.p}
    yield from certified_rows("noise-fedavg-step", unbiased, partial(certify, claim_named("fedavg-step")))
    half = replace(at(10, 3), local="any")
    yield from tight_rows("fedavg-step", "drift", {"any-k10": half})
    yield "fedavg-step-any-k10", {}, certify(claim_named("fedavg-step"), half)
    yield from descent_rows((1, 2, 3))
    yield from gradient_rows()
    weighted = {f"{weights}-k10-tau3": at(10, 3, weights) for weights in WEIGHTS}
    for name in ("A_1", "A_3", "A_5"):
        yield from certified_rows(f"appendix-{name}", weighted, partial(certify_appendix, name))


def curves() -> dict[str, dict[str, list[float]]]:
    """Tight constants along kappa and tau (floating point; the table's numbers are the certified ones)."""
    kappas = [2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]
    lemma, theorem = claim_named("lemma-2"), claim_named("theorem-1")
    bare = bare_theorem()
    names = ("lemma-2", "gradient, literal", "gradient, sync", "contraction, no G", "heterogeneity, no G")
    result: dict[str, dict[str, list[float]]] = {name: {} for name in names}

    def along(claim: Claim, term: str, settings: Callable[[int], Setting]) -> list[float]:
        return [tight_value(claim, settings(kappa), term) for kappa in kappas]

    for tau in (2, 3, 4, 5, 6):
        result["lemma-2"][f"tau = {tau}"] = along(lemma, "drift", lambda k, tau=tau: at(k, tau))
    for tau in (2, 4):
        literal = partial(round_setting, 2, tau, **LITERAL)
        values = along(theorem, "drift", lambda k, setting=literal: setting(kappa=k))
        result["gradient, literal"][f"alpha = (.9, .1), tau = {tau}"] = values
    for name in ("one-client", "small-client"):
        result["gradient, sync"][name] = along(theorem, "drift", lambda k, w=name: at(k, 3, w, reading="sync"))
    for name in WEIGHTS:
        for term in ("contraction", "heterogeneity"):
            result[f"{term}, no G"][name] = along(bare, term, lambda k, w=name: at(k, 3, w))
    return {"kappa": {"kappa": [float(k) for k in kappas]}, **result}


def draw(record: dict[str, Any], path: Path) -> None:
    """Two pictures in a folder: the constants of G^2, and what is left of Theorem 1 without G."""
    from matplotlib.figure import Figure

    folder = path if path.is_dir() else path.parent
    found = record["curves"]
    kappas = found["kappa"]["kappa"]
    titles = {
        "lemma-2": "Lemma 2: c in c η²τ²G² (stated: 16)",
        "gradient, literal": "Theorem 1, literal: c in c τ²G² (stated: 32)",
        "gradient, sync": "Theorem 1, sync: c in c τ²G² (stated: 32)",
        "contraction, no G": "Theorem 1 without G: b in 1 - ημ(1 + bρ) (stated: 3/8)",
        "heterogeneity, no G": "Theorem 1 without G: c in c ρLΓ (stated: 6)",
    }
    groups = {"tight_gradient": [*titles][:3], "tight_without_gradient": [*titles][3:]}
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


def compute(small: bool = False) -> dict[str, Any]:
    """The table, every certificate verified exactly and written, and the curves; ``small`` is one number."""
    rows: dict[str, Row] = {}
    families: dict[str, list[Certificate]] = {}
    entries = tight_rows("lemma-2", "drift", {"k10-tau2": at(10, 2)}) if small else table()
    for name, row, certificate in entries:
        valid = certificate is not None and check(certificate)[0]
        rows[name] = {**row, "certificate": name if valid else None}
        print(f"{name}: {row}{'' if valid else '   NOT CERTIFIED'}", flush=True)
        if valid:
            families.setdefault(family(name), []).append(replace(certificate, name=name))
    for kind, certificates in {} if small else families.items():
        save(CERTIFICATES / f"{kind}.jsonl", certificates)
    return {"numbers": rows} if small else {"numbers": rows, "curves": curves()}


STUDY = Study(__doc__, "tight_constants", compute, lambda record: "", draw, IMAGES)

if __name__ == "__main__":
    STUDY.main()
