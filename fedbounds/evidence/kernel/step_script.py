"""A derivation of one step, with noise, as a script of Rocq: from any local models, or from one where tau = 1.

After every history the step is a mean step plus noise whose mean is zero: a lemma about points, written from the
derivation's facts that have no noise, and a bound on the variance of the noise's mean. What is expected follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import sympy as sp

from fedbounds.evidence.kernel import point_script
from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key
from fedbounds.evidence.kernel.point_forms import no_script
from fedbounds.evidence.kernel.point_statement import PointClaim, assumed_of, binders_of
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, SHARE, W_NEXT, W, X, grad
from fedbounds.evidence.symbolic.granted import granted_by
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Noise

ZERO = sp.Integer(0)
TAU_IS_1 = Part(sy.tau, "=", sp.Integer(1))
NOISY = ("bounded-variance", "client-variances", "independent-clients", "no-noise")
# What symbols mean at points, the step without its noise.
MEANINGS = {
    **{key: value for key, value in definitions.meanings(True, True).items() if key not in (W, sy.sigma_p_sq)},
    W_NEXT: W - sy.eta * Centre(ALPHA, grad(X)),
}

# What a step is about, after one history.
MEASURED = {
    sy.Delta_next: "given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))",
    sy.Delta: "norm_sq (sub (w M c k) (w_star P))",
    sy.gap_t: "(mean (N P) (p P) (fun i => F P i (w M c k)) - mean (N P) (p P) (fun i => F P i (w_star P)))",
    sy.drift: "mean (N P) (alpha M c) (fun i => norm_sq (sub (w M c k) (x M c k i)))",
}
NUMBERS = (sy.L, sy.mu, sy.eta, sy.rho_bar, sy.sigma_sq, sy.sigma_p_sq)
# What bounds the variance of the mean noise, by the facts that a derivation names: its lemma in Rocq.
BOUNDS = {sy.sigma_sq: "noise_bound M ok", sy.sigma_p_sq: "mean_noise M"}
HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Together Points Independent statement_{name}.
Open Scope R_scope.

Lemma core : forall (P : Problem){binders},
{hypotheses}  {left} <=
    {right}.
"""
THEOREM = """
Theorem proof : statement_{name}.statement.
Proof.
  intros P M; intros.
  match goal with h : setting M |- _ => rename h into ok end.
  pose proof ok as (Hp & Hpos & _ & Hw & _ & _ & Hm & Hopt & He).
{together}  enough (Goal : expected M (fun c k => {left}) <= expected M (fun c k => {right})).
  {{ revert Goal. rewrite ?(expected_plus M), ?(expected_times M), ?(expected_const M ok).
    unfold Delta_next, Delta, gap_t, drift. lra. }}
  apply (expected_le M ok). intros c k Hck. destruct (Hw c (proj1 Hck)) as [Ha _].
{one}  pose proof (core P {arguments}) as B.
  repeat match type of B with ?A -> _ => specialize (B ltac:(first [assumption | lra
    | match goal with h : skew_at_least M _ |- _ => exact (h c k Hck) end])) end.
"""
TOGETHER = """  assert (least : ratio_at_least M 1) by (replace 1 with pi_min by lra; assumption).
  assert (largest : ratio_at_most M 1) by (replace 1 with pi_max by lra; assumption).
"""
SINGLE = """  assert (one : taken M = 0%nat).
  { assert (tau = 1%nat) by (apply INR_eq; simpl; assumption).
    match goal with h : in_round M tau |- _ => unfold in_round in h end. lia. }
"""
ONE = """  assert (Ex : forall i, (i < N P)%nat -> alpha M c i = p P i)
    by (intros i Hi; pose proof (least c i (proj1 Hck) Hi); pose proof (largest c i (proj1 Hck) Hi); lra).
  rewrite ?(alpha_is_p M least largest c _ (proj1 Hck)).
"""


def script(checked: Checked, reading: Reading) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, last = checked.claim, checked.derivation.steps[-1]
    if claim is None or claim.scope != "step" or not isinstance(last.because, tuple):
        raise no_script(f"one of {checked.derivation.claim}")
    bound = _bound(checked, last.because)
    known = claim.assumptions_in(reading)
    single = any(part == TAU_IS_1 for one in known for part in one.parts)
    if not single and "single-step" in granted_by(reading, claim):
        raise no_script("one client")
    numbers = {part for one in known if one.gives is None for part in one.parts}
    relations = (tuple(part) for part in numbers if (part.left - part.right).free_symbols <= set(NUMBERS))
    points = PointClaim(
        claim,
        _at_points(last.lhs, single),
        _at_points(last.rhs - sy.eta**2 * bound, single),
        tuple(sorted(relations, key=str)),
        frozenset(one.key for one in known),
        numbers=NUMBERS,
    )
    name = module_name(claim.key)
    head = HEAD.format(
        key=safe_key(claim.key),
        name=name,
        binders="".join(f" ({names} : {kind})" for names, kind in binders_of(points)),
        hypotheses="".join(f"  {text} ->\n" for text in (*points.setting.values(), *assumed_of(points))),
        left=points.number(points.left),
        right=points.number(points.right),
    )
    quiet = [(m, fact) for m, fact in last.because if not _of_noise(fact)]
    if single:
        quiet = [(m, point_script.at_one_point(fact)) for m, fact in quiet]
    return head + point_script.proof(points, checked, quiet) + "".join(_theorem(name, points, last, bound))


def _at_points(side: sp.Expr, single: bool) -> sp.Expr:
    """A side in points, the step without its noise."""
    for _ in range(3):
        side = sp.sympify(side).xreplace(MEANINGS)
    return side.xreplace({X: W}) if single else side


def _of_noise(fact: d.Fact) -> bool:
    """Whether a fact speaks of the noise alone."""
    if isinstance(fact, d.Averaged):
        return all(_of_noise(one) for _, one in fact.uses)
    if isinstance(fact, d.Square):
        return bool(fact.of.has(Noise))
    return isinstance(fact, d.Premise) and fact.key in NOISY


def _bound(checked: Checked, uses: tuple[d.Use, ...]) -> sp.Expr:
    """What bounds the variance of the mean noise, of which the step has eta^2."""
    letters = {one.symbol: one.expression for one in checked.conditions}
    found: dict[sp.Expr, sp.Expr] = {}
    for multiplier, fact in uses:
        for share, one in fact.uses if isinstance(fact, d.Averaged) else ():
            key = one.key if isinstance(one, d.Premise) else ""
            symbol = {"bounded-variance": sy.sigma_sq, "client-variances": sy.sigma_p_sq, "no-noise": ZERO}.get(key)
            if symbol is not None and (key == "client-variances") == (share == SHARE):
                found[symbol] = found.get(symbol, ZERO) + multiplier * abs(share if symbol != sy.sigma_p_sq else 1)
    last = checked.derivation.steps[-1]
    if not (last.lhs - last.rhs).has(sy.Delta_next):
        return ZERO
    if [sp.expand(value.subs(letters)) for value in found.values()] != [sy.eta**2]:
        raise no_script(f"a noise bounded by {', '.join(map(str, found)) or 'nothing'}")
    return next(iter(found))


def _theorem(name: str, points: PointClaim, last: d.Step, bound: sp.Expr) -> Iterator[str]:
    """From the lemma about points to what is expected of the step."""
    words = {one.name: one.name for one in NUMBERS} | {"eta": "eta M", "Gamma": "Gamma P", "N": "INR (N P)"}
    arguments = {"alpha": "(alpha M c)", "x": "(x M c k)", "w": "(w M c k)"}
    names = [one for group, _ in binders_of(points) for one in group.split()]
    yield THEOREM.format(
        name=name,
        left=expected(last.lhs, words),
        right=expected(last.rhs, words),
        together=TOGETHER * points.unbiased + SINGLE * (not points.models),
        one=ONE * points.unbiased,
        arguments=" ".join(arguments.get(one, f"({words.get(one, one)})") for one in names),
    )
    used = [symbol for symbol in (*MEASURED, sy.Gamma) if (last.lhs - last.rhs).has(symbol)]
    if sy.Delta_next in used:
        yield from _noise(rocq(bound, words), bound)
    single = not points.models
    middle, slope = (_here(points.vector(one)) for one in (W, Centre(ALPHA, grad(W if single else X))))
    same = "apply centre_same; intros i Hi; split; "
    weights = "apply Ex; exact Hi" if points.unbiased else "reflexivity"
    model = "rewrite (one_model M ok one c k i Hck Hi); reflexivity" if single else "reflexivity"
    if not single:
        yield f"  assert (Ew : w M c k = {middle}) by ({same}[{weights} | reflexivity]).\n  rewrite ?Ew.\n"
    yield f"  assert (Es : slope M c k = {slope}) by ({same}[{weights} | {model}]).\n  rewrite ?Es.\n"
    vectors = [middle, slope, "(x M c k i)", "(w_star P)"]
    fixed, each = (
        ", ".join(f"?(ip_sym _ {b} {a})" for k, b in enumerate(of) for a in of[:k])
        for of in ([*vectors[:2], vectors[3]], vectors)
    )
    by = points.weights(ALPHA).replace("alpha", "(alpha M c)")
    here = {
        sy.Delta_next: f"norm_sq (sub (sub {middle} (w_star P)) (scale (eta M) {slope}))",
        sy.drift: f"mean (N P) {by} (fun i => norm_sq (sub {middle} (x M c k i)))",
        sy.Gamma: "Gamma P",
    }
    proofs = {
        sy.drift: f"apply mean_ext. intros i Hi. open_fact. rewrite {each}. ring.",
        sy.gap_t: "ring.",
        sy.Gamma: "unfold Gamma. rewrite (mean_ext _ _ _ (fun i => F P i (w_star P) + (-1) * F P i (w_i_star P i)))\n"
        "      by (intros; unfold excess; ring). rewrite mean_plus, mean_times. ring.",
    }
    for k, symbol in enumerate(used):
        left = here.get(symbol) or MEASURED[symbol].replace("(w M c k)", middle)
        yield f"  assert (Q{k} : {left} = {_here(points.number(_at_points(symbol, single)))}).\n"
        yield f"  {{ {proofs.get(symbol, f'open_fact. rewrite {fixed}. ring.')} }}\n  rewrite Q{k}.\n"
    yield "  lra.\nQed.\n"


def _noise(text: str, bound: sp.Expr) -> Iterator[str]:
    """The step as a mean step and its noise, with what bounds that."""
    there = "(centre (N P) (alpha M c) (xi M c k s))"
    yield f"  assert (Nz : given_past M c k (fun s => norm_sq {there}) <= {text}).\n  {{ "
    if bound == sy.sigma_p_sq:
        yield f"unfold given_past. rewrite (mean_ext _ _ _ (fun s => norm_sq {there.replace('alpha M c', 'p P')}))\n"
        yield "      by (intros; rewrite (centre_same _ _ (p P) _ _ (fun i Hi => conj (Ex i Hi) eq_refl)); "
        yield "reflexivity).\n"
        yield "    apply (mean_noise M); assumption. }\n"
    else:
        yield "pose proof (noise_bound M ok sigma_sq c k Hck ltac:(assumption)). lra. }\n"
    yield "  rewrite (expand_noise M ok c k Hck).\n"
    yield "  pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (Rmult_lt_0_compat _ _ He He)) Nz) as Nt.\n"


def expected(side: sp.Expr, words: Mapping[str, str]) -> str:
    """A side of a claim about a step after one history."""
    rest, terms = sp.expand(side), []
    for symbol, term in MEASURED.items():
        factor = rest.coeff(symbol)
        if factor != 0:
            terms.append(f"({rocq(factor, words)}) * {term}")
            rest = sp.expand(rest - factor * symbol)
    return " + (".join([*terms, rocq(rest, words)]) + ")" * len(terms)


def _here(text: str) -> str:
    """A text about points as one about the model's after a history."""
    for name, here in (("alpha", "(alpha M c)"), ("x", "x M c k"), ("w", "(w M c k)"), ("eta", "(eta M)")):
        text = re.sub(rf"(?<![\w'])({name})(?![\w'])", here, text)
    return text
