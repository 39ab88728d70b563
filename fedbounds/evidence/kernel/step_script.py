"""A derivation of one step, with noise, as a script of Rocq: from any local models, or from one where tau = 1.

After every history the step is a mean step plus noise whose mean is zero: a lemma about points, written from the
derivation's facts that have no noise, and a bound on the variance of the noise's mean. What is expected follows, with
what the derivation says of expectations: bounds on the drift, and terms that are not negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, point_script
from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key, without_minima
from fedbounds.evidence.kernel.draw_facts import SHARE, WAY
from fedbounds.evidence.kernel.flat_facts import DriftBound
from fedbounds.evidence.kernel.point_forms import at_one_point, no_script
from fedbounds.evidence.kernel.point_statement import PointClaim, assumed_of, binders_of
from fedbounds.evidence.kernel.step_facts import (
    EXPECTED,
    MEASURED,
    NEXT_LOSS,
    NUMBERS,
    WORDS,
    StepFacts,
    bound_of,
    read,
    symbols_of,
)
from fedbounds.evidence.kernel.step_noise import after_lines, noise_lines, swaps
from fedbounds.evidence.kernel.step_statement import after_history, words
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, P, W, X, grad
from fedbounds.evidence.symbolic.permitted_assumptions import granted_by
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Loss, Mean, norm_sq

TAU_IS_1 = Part(sy.tau, "=", sp.Integer(1))
HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Together Points Rounds Independent Drift Inside {further}statement_{name}.
{weak}Open Scope R_scope.
"""
CLOSED = """first [ring | open_fact; {fixed}field; apart
    | apply mean_ext; intros i Hi; open_fact; {client}field; apart]."""
OF_GAMMA = """unfold Gamma. rewrite (mean_ext _ _ _ (fun i => F P i (w_star P) + (-1) * F P i (w_i_star P i)))
      by (intros; unfold excess; ring). rewrite mean_plus, mean_times. ring."""
CORE = """
Lemma {name} : forall (P : Problem){binders},
{hypotheses}  {left} <=
    {right}.
"""
THEOREM = """
{goal}
Proof.
  intros P M; intros.
  match goal with h : {setting} M |- _ => rename h into ok end.
  pose proof ok as (Hp & Hpos & _ & Hw & Ho & _ & {minima}Hopt & He).
"""
ENOUGH = """  enough (Goal : expected M (fun c k => {left}) <= expected M (fun c k => {right})).
  {{ revert Goal{names}. do 2 rewrite ?(expected_plus M), ?(expected_times M), ?(expected_const M ok).
    unfold Delta_next, Delta, gap_t, drift. intros. lra. }}
  apply (expected_le M ok). intros c k Hck. destruct (Hw c (proj1 Hck)) as [Ha _].
{one}  pose proof ({core} P {arguments}) as B.
  repeat match type of B with ?A -> _ => specialize (B ltac:(first [within_dissimilar M c k Hck | assumption | lra
    | match goal with h : skew_at_least M _ |- _ => exact (h c k Hck) end])) end.
"""
EQUAL_STEPS = """  assert (equal : steps_within M 1).
  { intros s Hs. match goal with h : forall s, (s < taken M)%nat -> before M s = _ |- _ => rewrite (h s Hs) end.
    lra. }
"""
SHARES = "  pose proof (mean_nonneg (N P) (p P) (p P) Hp (proj1 Hp)).\n"
TOGETHER = """  assert (least : ratio_at_least M 1) by (replace 1 with pi_min by lra; assumption).
  assert (largest : ratio_at_most M 1) by (replace 1 with pi_max by lra; assumption).
"""
SINGLE = """  assert (one : taken M = 0%nat).
  { assert (tau = 1%nat) by (apply INR_eq; simpl; assumption).
    match goal with h : in_round M tau |- _ => unfold in_round in h end. lia. }
"""
ONE_POINT = """  assert (Ex : forall i, (i < N P)%nat -> alpha M c i = p P i)
    by (intros i Hi; pose proof (least c i (proj1 Hck) Hi); pose proof (largest c i (proj1 Hck) Hi); lra).
  rewrite ?(alpha_is_p M least largest c _ (proj1 Hck)).
"""


def script(checked: Checked, reading: Reading) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim = checked.claim
    if claim is None:
        raise no_script(f"one of {checked.derivation.key}")
    name, convex = module_name(claim.key), without_minima(claim, reading)
    further = "Drawn " * ("m" in claim.symbols) + "Runs " * convex
    head = HEAD.format(key=safe_key(claim.key), name=name, further=further, weak="Import Weak.\n" * convex)
    return head + lemmas(checked, reading, "core", f"Theorem proof : statement_{name}.statement.")


def lemmas(checked: Checked, reading: Reading, core: str, goal: str) -> str:
    """The lemma about points, and what is expected of the step: ``goal``, a claim about one."""
    claim, last = checked.claim, checked.derivation.steps[-1]
    if claim is None or claim.scope != "step" or not isinstance(last.because, tuple):
        raise no_script(f"one of {checked.derivation.claim}")
    known = claim.assumptions_in(reading)
    single = any(part == TAU_IS_1 for one in known for part in one.parts)
    if not single and "single-step" in granted_by(reading, claim):
        raise no_script("one client")
    step = read(checked, single)
    if step.left == step.right:
        return "".join(_alone(step, goal))
    bound = bound_of(step)
    numbers = {part for one in known if one.gives is None for part in one.parts}
    relations = (tuple(part) for part in numbers if (part.left - part.right).free_symbols <= set(NUMBERS))
    points = PointClaim(
        claim,
        step.at_points(step.left),
        step.at_points(step.right - sy.eta**2 * (step.noise() * bound + step.variance)),
        (*sorted(relations, key=str), *((SHARE, "<=", sp.Integer(1)),) * (step.draw is not None)),
        frozenset(one.key for one in known),
        numbers=NUMBERS,
    )
    head = CORE.format(
        name=core,
        binders="".join(f" ({names} : {kind})" for names, kind in binders_of(points)),
        hypotheses="".join(f"  {text} ->\n" for text in (*points.setting.values(), *assumed_of(points))),
        left=points.number(points.left),
        right=points.number(points.right),
    )
    letters = {one for m, fact in step.inner for one in _multipliers(m, fact)}
    shown = tuple(one for one in step.flat.letters.items() if one[0] in letters)
    quiet = [(m, at_one_point(fact) if single else fact) for m, fact in step.inner]
    return (
        head
        + point_script.proof(points, shown, step.flat.steps, quiet)
        + "".join(_theorem(points, step, bound, core, goal))
    )


def _multipliers(multiplier: sp.Expr, fact: d.Fact) -> set[sp.Basic]:
    """The letters of a fact's multipliers."""
    inside = (_multipliers(m, one) for m, one in fact.uses) if isinstance(fact, d.Averaged) else ()
    return set(multiplier.free_symbols).union(*inside)


def _outer(step: StepFacts) -> Iterator[str]:
    """What is said of expectations, times the multipliers."""
    used = {symbol for m, _ in step.outer for symbol in m.free_symbols}
    symbols = {name for one in step.checked.universe.values() for name in one.symbols()}
    for symbol, (_, why) in EXPECTED.items():
        if symbol in used:
            yield f"  pose proof ({why}).\n"
    words = WORDS | {symbol.name: text for symbol, (text, _) in EXPECTED.items()}
    if step.outer and "tau" in {s.name for one in used for s in step.flat.letters.get(one, one).free_symbols}:
        yield "  assert (1 <= INR tau) by (match goal with h : in_round M tau |- _ => unfold in_round in h end;\n"
        yield "    apply (le_INR 1); lia).\n"
    letters = {one.name: f"({rocq(value, words)})" for one, value in step.flat.letters.items() if one in used}
    yield from (f"  assert (0 <= {text}) by lra.\n" for text in letters.values())
    for k, (multiplier, fact) in enumerate(step.outer):
        factor = rocq(sp.expand(multiplier), words | letters)
        if isinstance(fact, DriftBound):
            yield from _drift(k, fact, words, "eta_ratio" in symbols)
            yield f"  pose proof (Rmult_le_pos ({factor}) _ ltac:(not_negative) (shift _ _ D{k})) as Y{k}.\n"
        else:
            yield f"  assert (Y{k} : 0 <= {factor}) by not_negative.\n"


def _drift(k: int, fact: DriftBound, words: Mapping[str, str], varying: bool) -> Iterator[str]:
    """The drift of bounded gradients, from the lemma and the bound on the ratio of steps."""
    number, ratio = rocq(fact.number, words), "eta_ratio" if varying else "1"
    yield "" if varying else EQUAL_STEPS
    yield f"  pose proof ({fact.lemma} G_sq {ratio} ({number}) tau ltac:(assumption) ltac:(lra) ltac:(nra)\n"
    yield f"    ltac:(assumption) ltac:(assumption) ltac:(assumption)) as D{k}.\n"


def _alone(step: StepFacts, goal: str) -> Iterator[str]:
    """A claim that what is said of expectations proves."""
    yield THEOREM.format(goal=goal, setting="setting", minima="Hm & ")
    yield from _outer(step)
    yield "  lra.\nQed.\n"


def _theorem(points: PointClaim, step: StepFacts, bound: sp.Expr, core: str, goal: str) -> Iterator[str]:
    """From the lemma about points to what is expected of the step."""
    claim, single = points.claim, not points.models
    arguments = {"alpha": "(alpha M c)", "x": "(x M c k)", "w": "(w M c k)"}
    names = [one for group, _ in binders_of(points) for one in group.split()]
    used = [one for one in symbols_of(step.left - step.right) if step.meaning(one) != one]
    terms = {one: MEASURED.get(one) or after_history(claim, one) or "" for one in used if one != sy.Gamma}
    if "" in terms.values():
        raise no_script("a quantity without a word")
    if step.draw is not None:
        square = (_here(points.atom(one)) for one in (Mean(P, norm_sq(WAY)), norm_sq(Centre(P, WAY))))
        terms[sy.Delta_next] = "(share * {} + (1 - share) * {})".format(*square)
    convex = points.without_minima
    setting, minima = ("convex_setting", "") if convex else ("setting", "Hm & ")
    yield THEOREM.format(goal=goal, setting=setting, minima=minima)
    yield from _outer(step)
    yield SHARES * (sy.p_sq in step.right.free_symbols)
    yield "  pose proof (some_clients P Hp).\n" * (sy.N in step.right.free_symbols)
    yield (TOGETHER if points.unbiased else "") + (SINGLE if single else "")
    outer = len(step.outer)
    if step.draw is not None:
        yield from step.draw.lines(_here(points.point(WAY)), step.variance, WORDS, outer)
        known = {one: text for one, text in claim_statement.MEASURED.items() if one not in WORDS}
        whole = rocq(step.right, {**WORDS, **known, **words(claim)})
        yield f"  match goal with |- _ <= ?r => replace r with ({whole}) by (rewrite Eq; field; apart) end.\n"
    yield ENOUGH.format(
        left=expected(step.left, terms),
        right=expected(step.right - sy.eta**2 * step.variance, terms),
        names="".join(f" Y{k}" for k in range(outer + (step.draw is not None))),
        one=ONE_POINT if points.unbiased else "",
        core=core,
        arguments=" ".join(arguments.get(one, f"({WORDS.get(one, one)})") for one in names),
    )
    middle, slope = (_here(points.vector(one)) for one in (W, Centre(ALPHA, grad(W if single else X))))
    if step.noisy:
        yield from noise_lines(step, bound)
        for k, symbol in enumerate(step.noisy):
            yield from after_lines(k, step, symbol, terms[symbol], bound)
    if step.draw is not None:
        yield from _same(points, step, used, terms, middle, "")
        yield "  lra.\nQed.\n"
        return
    same = "apply centre_same; intros i Hi; split; "
    weights = "apply Ex; exact Hi" if points.unbiased else "reflexivity"
    model = "rewrite (one_model M ok one c k i Hck Hi); reflexivity" if single else "reflexivity"
    there = " try rewrite {} in O." if step.bends is not None else ""
    if not single:
        yield f"  assert (Ew : w M c k = {middle}) by ({same}[{weights} | reflexivity]).\n"
        yield f"  rewrite ?Ew.{there.format('Ew')}\n"
    yield f"  assert (Es : slope M c k = {slope}) by ({same}[{weights} | {model}]).\n"
    yield f"  rewrite ?Es.{there.format('Es')}\n"
    yield from _same(points, step, used, terms, middle, slope)
    yield "  lra.\nQed.\n"


def _same(
    points: PointClaim,
    step: StepFacts,
    used: Sequence[sp.Symbol],
    terms: Mapping[sp.Symbol, str],
    middle: str,
    slope: str,
) -> Iterator[str]:
    """Each quantity after the history as the lemma about points has it."""
    ahead = f"(sub {middle} (scale (eta M) {slope}))"
    at = "" if step.bends is None else step.writer.vector(step.bends).replace("(w M c k)", middle)
    one_for_all = [one for one in (middle, slope, "(w_star P)") if one]
    fixed = swaps(one_for_all)
    client = swaps([*one_for_all, "(x M c k i)", f"(grad P i {at or '(x M c k i)'})"])
    by = points.weights(ALPHA).replace("alpha", "(alpha M c)")
    for k, symbol in enumerate(used):
        meaning, there = symbol, ""
        left = terms.get(symbol, "Gamma P").replace("(w M c k)", middle)
        proof = CLOSED.format(fixed=fixed, client=client)
        if symbol in step.noisy and step.after(symbol).has(Loss):
            meaning, there = NEXT_LOSS, " in O"
            left = f"mean (N P) (p P) (fun i => F P i {at} + ip (grad P i {at}) (sub {ahead} {at})\n"
            left += f"    + L / 2 * norm_sq (sub {ahead} {at}))"
        elif symbol in step.noisy:
            scale, to = step.apart(symbol)
            left = f"norm_sq (add (scale {scale} {ahead}) {to})".replace("(w M c k)", middle)
        elif symbol == sy.drift:
            left = f"mean (N P) {by} (fun i => norm_sq (sub {middle} (x M c k i)))"
        elif symbol == sy.Gamma:
            proof = OF_GAMMA
        right = _here(points.number(step.at_points(meaning)))
        if left != right:
            yield f"  assert (Q{k} : {left} =\n    {right}).\n  {{ {proof} }}\n  rewrite Q{k}{there}.\n"


def expected(side: sp.Expr, terms: Mapping[sp.Symbol, str]) -> str:
    """A side of a claim about a step after one history."""
    rest, parts = sp.expand(side), []
    for symbol, term in terms.items():
        factor = rest.coeff(symbol)
        if factor != 0:
            parts.append(f"({rocq(factor, WORDS)}) * ({term})")
            rest = sp.expand(rest - factor * symbol)
    return " + (".join([*parts, rocq(rest, WORDS)]) + ")" * len(parts)


def _here(text: str) -> str:
    """A text about points as one about the model's after a history."""
    for name, here in (("alpha", "(alpha M c)"), ("x", "x M c k"), ("w", "(w M c k)"), ("eta", "(eta M)")):
        text = re.sub(rf"(?<![\w'])({name})(?![\w'])", here, text)
    return text
