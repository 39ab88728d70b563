"""A derivation about a step, about points, or about a client, as a script of Rocq.

After every history a step is one from known local models, its noise having mean zero: facts of points, gradients and
noise add up to what is claimed. What is said of expectations alone follows after: bounds on the drift, and terms that
are not negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, point_statement
from fedbounds.evidence.kernel.claim_statement import without_minima
from fedbounds.evidence.kernel.combination import Combination, DriftBound, Flat, Sum, flattened, letters_of, no_script
from fedbounds.evidence.kernel.draw_facts import SHARE, WAY, Draw, draw_of, moment_of, without_draw
from fedbounds.evidence.kernel.point_statement import ONE_STEP, OWN_MINIMUM, binders_of, hypothesis_names
from fedbounds.evidence.kernel.rocq_terms import binder_names, module_name, rocq, safe_key
from fedbounds.evidence.kernel.step_statement import AfterHistory, OfAClient, after_history, meaning_of, words
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_ALPHA, P, W, X
from fedbounds.evidence.symbolic.permitted_assumptions import granted_by
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Mean, norm_sq

TAU_IS_1 = Part(sy.tau, "=", sp.Integer(1))
# Terms of a step, and of the model after one history.
WORDS = {one.name: one.name for one in (sy.L, sy.mu, sy.rho_bar, sy.rho_tilde, sy.zeta_sq, sy.G_sq, SHARE)}
WORDS |= {one.name: one.name for one in (sy.sigma_sq, sy.sigma_p_sq, sy.sigma_0_sq, sy.growth)}
WORDS |= {one.name: one.name for one in (sy.eta_0, sy.t)}
WORDS |= {
    "p_sq": "(mean (N P) (p P) (p P))",
    "eta": "(eta M)",
    "N": "(INR (N P))",
    "tau": "(INR tau)",
    "m": "(INR m)",
}
MEASURED = {
    sy.Delta_next: "given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))",
    sy.Delta: "norm_sq (sub (w M c k) (w_star P))",
    sy.gap_t: "(mean (N P) (p P) (fun i => F P i (w M c k)) - mean (N P) (p P) (fun i => F P i (w_star P)))",
    sy.drift: "mean (N P) (alpha M c) (fun i => norm_sq (sub (w M c k) (x M c k i)))",
    sy.Gamma: "Gamma P",
}
# What is expected of these, and why it is not negative.
EXPECTED = {
    sy.Delta: ("(Delta M)", "Delta_nonneg M ok"),
    sy.gap_t: ("(gap_t M)", "gap_nonneg M ok"),
    sy.drift: ("(drift M)", "drift_nonneg M ok"),
    sy.Gamma: ("(Gamma P)", "Gamma_nonneg M ok"),
}
HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Together Rounds Independent Drift Inside Points Combine {further}statement_{name}.
{weak}Open Scope R_scope.
"""
PROOF = "\nTheorem proof : statement_{name}.statement.\n"
AT_REST = "  pose proof (rest_zero P L Hm Hs ltac:(lra)) as own.\n"
STILL = "  pose proof (still_zero P {} {} L {} {} Hs ltac:(lra)).\n"
CLIENT = """{goal}Proof.
  intros P M; intros. assert (Hi : (i < N P)%nat) by assumption.
  match goal with ok : setting M |- _ => pose proof ok as (_ & _ & _ & _ & _ & _ & Hm & _) end. facts_named P M.
"""
THEOREM = """{goal}Proof.
  intros P M; intros.
  match goal with h : {setting} M |- _ => rename h into ok end.
  pose proof ok as (Hp & Hpos & _ & Hw & Ho & Hq & {minima}Hopt & He). facts_named P M.
"""
ENOUGH = """  enough (Goal : expected M (fun c k => {left}) <= expected M (fun c k => {right})).
  {{ revert Goal{names}. do 2 rewrite ?(expected_plus M), ?(expected_times M), ?(expected_const M ok).
    unfold Delta_next, Delta, gap_t, drift. intros. lra. }}
  apply (expected_le M ok). intros c k Hck. at_history M c k Hck.
{models}"""
EQUAL_STEPS = """  assert (equal : steps_within M 1).
  { intros s Hs'. match goal with h : forall s, (s < taken M)%nat -> before M s = _ |- _ => rewrite (h s Hs') end.
    lra. }
"""
TOGETHER = """  assert (least : ratio_at_least M 1) by (replace 1 with pi_min by lra; assumption).
  assert (largest : ratio_at_most M 1) by (replace 1 with pi_max by lra; assumption).
"""
SINGLE = """  assert (one : taken M = 0%nat).
  { assert (tau = 1%nat) by (apply INR_eq; simpl; assumption).
    match goal with h : in_round M tau |- _ => unfold in_round in h end. lia. }
"""
ONE_MODEL = "  pose proof (fun i => one_model M ok one c k i Hck).\n"
SILENT = "  pose proof (silent M c k _ Ho Hv ltac:(lra)).\n"
BOTH_WAYS = """Proof.
  intros P M {names}; intros. apply Rle_antisym.
  - eapply Rle_trans; [apply (at_most_holds P M {names}); assumption | right; first [ring | field; apart]].
  - eapply Rle_trans; [|eapply Rle_trans; [apply (at_least_holds P M {names}); assumption|]];
      right; first [ring | field; apart].
Qed.
"""
SHARES = "  pose proof (mean_nonneg (N P) (p P) (p P) Hp (proj1 Hp)).\n"


def script(checked: Checked, reading: Reading, of_points: bool = False) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim = checked.claim
    if claim is None:
        raise no_script(f"one of {checked.derivation.key}")
    name, about = module_name(claim.key), claim.scope != "point" and not of_points
    convex = about and without_minima(claim, reading)
    drawn = "m" in claim.symbols or any(one.key.startswith("selection-") for one in claim.assumptions)
    further = "Drawn " * drawn + "Runs " * convex
    head = HEAD.format(key=safe_key(claim.key), name=name, further=further, weak="Import Weak.\n" * convex)
    goal = PROOF.format(name=name)
    if claim.scope == "point":
        return head + _of_client(checked, goal)
    if claim.kind is Kind.IDENTITY:
        return head + _both_ways(checked, claim, reading, goal)
    return head + (_of_points(checked, reading, goal) if of_points else lemma(checked, reading, goal))


def _both_ways(checked: Checked, claim: Claim, reading: Reading, goal: str) -> str:
    """An identity by two inequalities: a line's facts add up to its left side less its right side."""
    *before, last = checked.derivation.steps
    if not isinstance(last.because, tuple):
        raise no_script(f"the line {last.label}")
    back = tuple((-m, fact) for m, fact in last.because)
    result = stated = ""
    for name, line in (
        ("at_most", replace(last, relation="<=", because=back)),
        ("at_least", replace(last, relation="<=", lhs=last.rhs, rhs=last.lhs)),
    ):
        about = replace(claim, kind=Kind.INEQUALITY, lhs=line.lhs, terms={"all": line.rhs})
        derivation = replace(checked.derivation, steps=(*before, line))
        text = claim_statement.statement(about, reading, beside=words(claim))
        stated = text[text.index("Definition statement") :].replace("statement", name, 1)
        about_it = replace(checked, derivation=derivation, claim=about)
        result += f"\n{stated}{lemma(about_it, reading, f'{chr(10)}Lemma {name}_holds : {name}.{chr(10)}')}"
    return result + goal + BOTH_WAYS.format(names=binder_names(stated))


def _of_client(checked: Checked, goal: str) -> str:
    """A claim about one client at a point of a run."""
    flat, claim = flattened(checked), checked.claim
    assert claim is not None
    letters = {name: name for name in ("L", "mu")}
    letters |= {one.name: f"({rocq(value, letters)})" for one, value in flat.letters.items()}
    keys = frozenset(one.key for one in claim.assumptions)
    points = OfAClient(claim, claim.lhs, checked.derivation.steps[-1].rhs, (), keys, letters)
    rest = AT_REST * ("smooth" in keys)
    return CLIENT.format(goal=goal) + rest + Combination(points, flat.steps, {}).added(_inner(flat.uses)) + "Qed.\n"


def _inner(uses: tuple[Flat, ...]) -> Iterator[d.Use]:
    for m, fact in uses:
        if isinstance(fact, DriftBound):
            raise no_script("the drift")
        yield m, fact


def _of_points(checked: Checked, reading: Reading, goal: str) -> str:
    """A claim about any points, with what it assumes of them."""
    claim, flat = checked.claim, flattened(checked)
    assert claim is not None
    points = point_statement.read(claim, reading)
    letters = {one.name: f"({points.number(value)})" for one, value in flat.letters.items()}
    names = " ".join(
        [*(name for group, _ in binders_of(points) for name in group.split()), *hypothesis_names(points)]
    )
    text = f"{goal}Proof.\n  intros P {names}.\n" + AT_REST * (OWN_MINIMUM in points.setting)
    text += STILL.format("(p P)", "(w_star P)", "Hp", "Hopt")
    if any(side.has(W_ALPHA) for side in (points.left, points.right)):
        by = "(p P)" if points.unbiased else "alpha"
        text += STILL.format(by, "w_alpha", "Hp" if points.unbiased else "Ha", "Hw")
    text += "".join(f"  assert (0 <= {one}) by lra.\n" for one in letters.values())
    put = dict(ONE_STEP) if points.stepped else {}
    combination = Combination(replace(points, letters=letters), flat.steps, put)
    return f"{text}{combination.added(_inner(flat.uses))}Qed.\n"


def lemma(checked: Checked, reading: Reading, goal: str) -> str:
    """``goal``, a claim about one step, with its proof."""
    claim, last = checked.claim, checked.derivation.steps[-1]
    if claim is None or claim.scope != "step" or not isinstance(last.because, tuple):
        raise no_script(f"one of {checked.derivation.claim}")
    known = claim.assumptions_in(reading)
    single = any(part == TAU_IS_1 for one in known for part in one.parts)
    if not single and "single-step" in granted_by(reading, claim):
        raise no_script("one client")
    flat = flattened(checked)
    draw = draw_of(flat.uses, "equal-p" in checked.universe)
    text = _named(claim, reading, goal) + SINGLE * single + SHARES * (sy.p_sq in last.rhs.free_symbols)
    text += "  pose proof (some_clients P Hp).\n" * (sy.N in last.rhs.free_symbols)
    noise = sp.Integer(0)
    if draw is not None:
        noise = draw.noise(flat.uses, "no-noise" in checked.universe)
        flat = draw.of_sum(flat)
    outer = [use for use in flat.uses if isinstance(use[1], d.Given | DriftBound)]
    moments = [(m, one) for k, (m, fact) in enumerate(flat.uses) if (one := moment_of(fact, k)) is not None]
    inner: list[d.Use] = [use for use in flat.uses if use not in outer and moment_of(use[1], 0) is None]  # type: ignore[misc]
    used = set().union(*(letters_of(m, fact) for m, fact in flat.uses))
    flat.letters = {one: value for one, value in flat.letters.items() if one in used}
    points = AfterHistory(claim, last.lhs, last.rhs, (), frozenset(), WORDS, ())
    if draw is not None:
        text += "".join(draw.lines(points, noise, WORDS))
    text += "".join(one.line(points) for _, one in moments)
    text += "".join(_outer(checked, flat, outer))
    right = sp.expand(last.rhs)
    for multiplier, fact in outer:
        value = fact.number * fact.bound - sy.drift if isinstance(fact, DriftBound) else 1
        right -= sp.expand((multiplier * value).subs(flat.letters))
    right -= sum(sp.cancel(m * one.often) * (one.drawn - one.under) for m, one in moments)
    if sp.expand(last.lhs - right) == 0:
        return f"{text}  lra.\nQed.\n"
    facts = [f"Y{k}" for k in range(len(outer))] + ["Yd"] * (draw is not None) + [one.name for _, one in moments]
    beside = {symbol: text for _, one in moments for symbol, text in one.terms(points).items()}
    said = (right, noise, " ".join(["", *facts]), beside)
    return text + "".join(_after_history(checked, replace(flat, uses=tuple(inner)), said, single, draw))


def _named(claim: Claim, reading: Reading, goal: str) -> str:
    """What a proof begins with: the statement's hypotheses by their names, and what they say at once."""
    convex, keys = without_minima(claim, reading), {one.key for one in claim.assumptions_in(reading)}
    setting, minima = ("convex_setting", "") if convex else ("setting", "Hm & ")
    text = THEOREM.format(goal=goal, setting=setting, minima=minima)
    if "smooth" in keys:
        text += STILL.format("(p P)", "(w_star P)", "Hp", "Hopt") + ("" if convex else AT_REST)
    if {"unbiased", "full-participation"} <= keys:
        text += TOGETHER + "  rewrite ?(drift_by_p M least largest).\n" * (reading.virtual == "p")
    return text


def _after_history(
    checked: Checked,
    flat: Sum,
    said: tuple[sp.Expr, sp.Expr, str, Mapping[sp.Symbol, str]],
    single: bool,
    draw: Draw | None,
) -> Iterator[str]:
    """What is claimed after each history, less what is said of expectations: it follows in expectation."""
    claim, last, (right, noise, names, beside) = checked.claim, checked.derivation.steps[-1], said
    assert claim is not None
    letters = {one.name: f"({rocq(value, WORDS)})" for one, value in flat.letters.items() if _constant(value)}
    points = AfterHistory(claim, last.lhs, right, (), frozenset(), WORDS | letters, ())
    spoken = last.lhs.free_symbols | right.free_symbols
    used = sorted((one for one in spoken if meaning_of(claim, one) != one), key=str)
    terms = {one: MEASURED.get(one) or after_history(claim, one) or "" for one in used}
    if "" in terms.values():
        raise no_script("a quantity without a word")
    terms |= beside
    inner: Iterable[d.Use] = flat.uses  # type: ignore[assignment]
    if draw is not None:
        right = draw.in_share(sp.expand(right - sy.eta**2 * noise))
        square = (points.number(one) for one in (Mean(P, norm_sq(WAY)), norm_sq(Centre(P, WAY))))
        terms[sy.Delta_next] = "(share * {} + (1 - share) * {})".format(*square)
        inner = without_draw(inner)
        known = {one: text for one, text in claim_statement.MEASURED.items() if one not in WORDS}
        whole = rocq(right + sy.eta**2 * noise, {**WORDS, **known, **words(claim)})
        yield f"  match goal with |- _ <= ?r => replace r with ({whole}) by (rewrite Eq; field; apart) end.\n"
    models = SILENT * ("no-noise" in checked.universe) + (ONE_MODEL if single else "  model_named M c k.\n")
    yield ENOUGH.format(left=expected(last.lhs, terms), right=expected(right, terms), names=names, models=models)
    yield Combination(points, flat.steps, {X: W} if single else {}).added(inner)
    yield "Qed.\n"


def _constant(value: sp.Expr) -> bool:
    return {one.name for one in value.free_symbols} <= WORDS.keys()


def _outer(checked: Checked, flat: Sum, outer: list[Flat]) -> Iterator[str]:
    """What is said of expectations, times the multipliers."""
    used = {symbol for m, _ in outer for symbol in m.free_symbols}
    symbols = {name for one in checked.universe.values() for name in one.symbols()}
    for symbol, (_, why) in EXPECTED.items():
        if symbol in used:
            yield f"  pose proof ({why}).\n"
    named = WORDS | {symbol.name: text for symbol, (text, _) in EXPECTED.items()}
    if outer and "tau" in {s.name for one in used for s in flat.letters.get(one, one).free_symbols}:
        yield "  assert (1 <= INR tau) by (match goal with h : in_round M tau |- _ => unfold in_round in h end;\n"
        yield "    apply (le_INR 1); lia).\n"
    letters = {one.name: f"({rocq(value, named)})" for one, value in flat.letters.items()}
    yield from (f"  assert (0 <= {text}) by lra.\n" for text in letters.values())
    for k, (multiplier, fact) in enumerate(outer):
        factor = rocq(sp.expand(multiplier), named | letters)
        if isinstance(fact, DriftBound):
            yield from _drift(k, fact, named, "eta_ratio" in symbols)
            yield f"  pose proof (Rmult_le_pos ({factor}) _ ltac:(not_negative) (shift _ _ D{k})) as Y{k}.\n"
        else:
            yield f"  assert (Y{k} : 0 <= {factor}) by not_negative.\n"


def _drift(k: int, fact: DriftBound, named: Mapping[str, str], varying: bool) -> Iterator[str]:
    """The drift of bounded gradients, from the lemma and the bound on the ratio of steps."""
    number, ratio = rocq(fact.number, named), "eta_ratio" if varying else "1"
    yield "" if varying else EQUAL_STEPS
    yield f"  pose proof ({fact.lemma} G_sq {ratio} ({number}) tau ltac:(assumption) ltac:(lra) ltac:(nra)\n"
    yield f"    ltac:(assumption) ltac:(assumption) ltac:(assumption)) as D{k}.\n"


def expected(side: sp.Expr, terms: Mapping[sp.Symbol, str]) -> str:
    """A side of a claim about a step after one history."""
    rest, parts = sp.expand(side), []
    for symbol, term in terms.items():
        factor = rest.coeff(symbol)
        if factor != 0:
            written = sp.factor(factor) if factor.has(sy.N) else factor  # as (N - m)/(m (N - 1)) stands in a claim
            parts.append(f"({rocq(written, WORDS)}) * ({term})")
            rest = sp.expand(rest - factor * symbol)
    return " + (".join([*parts, rocq(rest, WORDS)]) + ")" * len(parts)
