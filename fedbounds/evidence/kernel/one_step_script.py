"""A derivation of one step, of one local step a round with the weights p, as a script of Rocq.

Local models are one point then, and alpha = p. Every fact that the derivation uses is a linear form in inner products
of the model, w*, the gradients at both and the mean gradient, and in losses; averaged over the clients it is one in
their means. The forms, times the derivation's multipliers, add up to what is claimed: Rocq checks each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key
from fedbounds.evidence.kernel.one_step_forms import (
    LOSSES,
    OF_A_CLIENT,
    VECTORS,
    Form,
    Parts,
    Vector,
    add,
    cocoercive,
    product,
    says_nothing,
    slope,
)
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, P, W, X, grad
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Grad, Noise, Vec

MEASURED = {
    sy.Delta_next: "given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))",
    sy.Delta: "norm_sq (sub (w M c k) (w_star P))",
    sy.gap_t: "(mean (N P) (p P) (fun i => F P i (w M c k)) - mean (N P) (p P) (fun i => F P i (w_star P)))",
}
HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_{name} Facts Together.
Open Scope R_scope.

Lemma shift a b : a <= b -> 0 <= b - a.
Proof. lra. Qed.
Ltac not_negative := first [lra | apply Rplus_le_le_0_compat; not_negative
  | apply Rmult_le_pos; not_negative | apply pow_le; not_negative].

Theorem proof : statement_{name}.statement.
Proof.
  intros P M; intros.
  match goal with h : setting M |- _ => rename h into ok end.
  match goal with h : smooth P L |- _ => rename h into Hs end.
  match goal with h : strongly_convex P mu |- _ => rename h into Hc end.
  match goal with h : mu <= L |- _ => rename h into HL end.
  assert (least : ratio_at_least M 1) by (replace 1 with pi_min by lra; assumption).
  assert (largest : ratio_at_most M 1) by (replace 1 with pi_max by lra; assumption).
  assert (one : taken M = 0%nat).
  { assert (tau = 1%nat) by (apply INR_eq; simpl; assumption).
    match goal with h : in_round M tau |- _ => unfold in_round in h end. lia. }
  pose proof ok as (Hp & _ & _ & _ & _ & _ & Hm & _ & He).
"""
ENOUGH = """  enough (Goal : expected M (fun c k => {left}) <= expected M (fun c k => {right})).
  {{ revert Goal. rewrite ?(expected_plus M), ?(expected_times M), ?(expected_const M ok).
    unfold Delta_next, Delta, gap_t. lra. }}
  apply (expected_le M ok). intros c k Hck.
"""
CONVEX = """  assert (Hz : strongly_convex P 0).
  { intros i u v Hi. pose proof (Hc i u v Hi). pose proof (ip_pos _ (sub v u)). unfold norm_sq in *. nra. }
"""
MEANS = """  set (G := descent M c k).
  assert (Eg : forall y, mean (N P) (p P) (fun i => ip (grad P i (w M c k)) y) = ip G y)
    by (intros; apply descent_mean).
  assert (Eh : forall y, mean (N P) (p P) (fun i => ip (grad P i (w_star P)) y) = 0)
    by (intros; apply (stationary M ok L y Hs); lra).
"""
NOISY = """  pose proof (noise_bound M ok sigma_sq c k Hck ltac:(assumption)) as Nz.
"""
AVERAGE = "?mean_plus, ?mean_times, ?(mean_const _ _ _ Hp), ?Eg, ?Eh"


def script(checked: Checked) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, derivation = checked.claim, checked.derivation
    last = derivation.steps[-1]
    used = (last.lhs - last.rhs).free_symbols
    if claim is None or claim.scope != "step" or not MEASURED.keys() & used or not isinstance(last.because, tuple):
        raise _no_script(derivation, f"one of {derivation.claim}")
    words = {name: name for name in ("L", "mu", "sigma_sq")} | {"eta": "eta M"}
    letters = {one.symbol.name: f"({rocq(one.expression, words)})" for one in checked.conditions}
    scaled = any(cocoercive(fact) for _, fact in last.because)
    writer = _Writer(derivation, words | letters, scaled)
    head = HEAD.replace("{key}", safe_key(claim.key)).replace("{name}", module_name(claim.key))
    text = head + "".join(f"  assert (0 <= {letter[1:-1]}) by lra.\n" for letter in letters.values())
    text += ENOUGH.format(left=writer.expected(last.lhs), right=writer.expected(last.rhs))
    text += "  rewrite (one_step M ok one least largest c k Hck).\n" if sy.Delta_next in used else ""
    text += (CONVEX if scaled else "") + MEANS + (NOISY if sy.sigma_sq in used else "")
    lines = [line for k, use in enumerate(last.because) for line in writer.use(k, *use)]
    names = " ".join(re.findall(r" as (Z\d+)", line)[0] for line in lines if " as Z" in line)
    text += "".join(lines) + ("  apply (Rmult_le_reg_l L); [lra|].\n" if scaled else "")
    return f"{text}  revert {names}. {_opened()} intros. lra.\nQed.\n"


def _opened() -> str:
    """All in inner products of two vectors, in one order."""
    names = list(VECTORS.values())
    swaps = ", ".join(f"?(ip_sym _ {a} {b})" for k, a in enumerate(names) for b in names[:k] if " i " not in a + b)
    return f"open_fact. rewrite {swaps}."


@dataclass(frozen=True)
class _Writer:
    """``scaled``: both sides are multiplied by L, as some facts have a factor 1/(2 L)."""

    derivation: d.Derivation
    words: Mapping[str, str]
    scaled: bool = False

    def expected(self, side: sp.Expr) -> str:
        """A side of the claim after one history."""
        rest, terms = sp.expand(side), []
        for symbol, term in MEASURED.items():
            factor = rest.coeff(symbol)
            if factor != 0:
                terms.append(f"({rocq(factor, self.words)}) * {term}")
                rest = sp.expand(rest - factor * symbol)
        return " + (".join([*terms, rocq(rest, self.words)]) + ")" * len(terms)

    def use(self, k: int, multiplier: sp.Expr, fact: d.Fact) -> Iterator[str]:
        """The lines that bring a fact times its multiplier; none for one that says nothing here."""
        share = sp.Rational(1, 2) if cocoercive(fact) else sy.L if self.scaled else sp.Integer(1)
        factor = rocq(sp.expand(multiplier * share), self.words)
        if says_nothing(fact):
            return
        if isinstance(fact, d.Given):
            yield f"  assert (0 <= {factor}) as Z{k} by not_negative.\n"
            return
        if isinstance(fact, d.Averaged) and [getattr(one, "key", "") for _, one in fact.uses] == ["bounded-variance"]:
            yield f"  pose proof (Rmult_le_pos ({factor}) _ ltac:(not_negative) (shift _ _ Nz)) as Z{k}.\n"
            return
        form = self.form(fact)
        if not form.parts:  # as of two points that are one here
            return
        if form.of_a_client:
            yield f"  assert (U{k} : forall i, (i < N P)%nat -> 0 <= {self.written(form.parts)}).\n"
            yield "  { intros i Hi.\n"
            for j, (share, proof) in enumerate(form.proofs):
                times = f"Rmult_le_pos ({rocq(share, self.words)}) _ ltac:(not_negative)"
                yield f"    pose proof ({times} {proof}) as B{j}.\n"
            names = " ".join(f"B{j}" for j in range(len(form.proofs)))
            yield f"    revert {names}. open_fact. rewrite {_swaps()}. intros. lra. }}\n"
            yield f"  pose proof (mean_nonneg (N P) (p P) _ Hp U{k}) as V{k}. rewrite {AVERAGE} in V{k}.\n"
        else:
            yield f"  pose proof {form.proofs[0][1]} as V{k}.\n"
        yield f"  pose proof (Rmult_le_pos ({factor}) _ ltac:(not_negative) V{k}) as Z{k}.\n"

    def form(self, fact: d.Fact) -> Form:
        """A fact, or the mean over the clients of several."""
        if isinstance(fact, d.Averaged) and cocoercive(fact):
            x, y = fact.uses[0][1].points[0], fact.uses[1][1].points[0]  # type: ignore[union-attr]
            return self.between(self.vector(x), self.vector(y), sp.Integer(0), "Hz ltac:(lra)", sp.Integer(1))
        if isinstance(fact, d.Averaged) and fact.weights == P:
            several = [(m, self.form(one)) for m, one in fact.uses if not says_nothing(one)]
            several = [(m, one) for m, one in several if one.parts]
            parts: Parts = {}
            for m, one in several:
                add(parts, one.parts, m)
            return Form(parts, tuple((m * share, text) for m, one in several for share, text in one.proofs), True)
        if isinstance(fact, d.Square):
            vector = self.vector(fact.of)
            if not vector:
                return Form({}, (), True)
            proof = f"(ip_pos _ {self.point(vector)})"
            return Form(product(vector, vector), ((sp.Integer(1), proof),), bool(OF_A_CLIENT & vector.keys()))
        if isinstance(fact, d.Premise) and fact.key in ("smooth", "strongly-convex") and len(fact.points) == 2:
            return self.bound(fact.key == "smooth", *fact.points)
        if isinstance(fact, d.Earlier) and fact.label.startswith("interpolation-"):
            return self.interpolation(fact.label)
        raise _no_script(self.derivation, f"the fact {fact}")

    def bound(self, upper: bool, at: sp.Expr, to: sp.Expr) -> Form:
        """F_i(to) less its tangent at a point and the quadratic, of either sign."""
        start, end = self.vector(at), self.vector(to)
        parts, sign = _tangent(self, start, end), sp.Integer(-1 if upper else 1)
        way = dict(end)
        add(way, start, sp.Integer(-1))
        total: Parts = {}
        add(total, parts, sign)
        add(total, product(way, way), -sign * (sy.L if upper else sy.mu) / 2)
        proof = f"(shift _ _ ({'Hs' if upper else 'Hc'} i {self.point(start)} {self.point(end)} Hi))"
        return Form(total, ((sp.Integer(1), proof),), True)

    def interpolation(self, label: str) -> Form:
        """Half of what `between` says of the points in the label."""
        names = {"x": X, "w": W, "w_star": W_STAR}
        x, y = (self.vector(names[name]) for name in label.removeprefix("interpolation-").split("-"))
        return self.between(x, y, sy.mu, "Hc HL", sp.Rational(1, 2))

    def between(self, x: Vector, y: Vector, mu: sp.Expr, why: str, share: sp.Expr) -> Form:
        """share (2 (L - mu)(F_i(x) - tangent at y - mu ||x - y||^2/2) - ||gradients apart - mu (x - y)||^2)."""
        way, away = dict(x), dict(slope(x))
        add(way, y, sp.Integer(-1))
        add(away, slope(y), sp.Integer(-1))
        add(away, way, -mu)
        total: Parts = {}
        add(total, _tangent(self, y, x), 2 * share * (sy.L - mu))
        add(total, product(way, way), -share * (sy.L - mu) * mu)
        add(total, product(away, away), -share)
        points = f"{self.point(y)} {self.point(x)}"
        proof = f"(shift _ _ (interpolation L {mu} (w_star P) i {points} Hs {why} Hi))"
        return Form(total, ((share, proof),), True)

    def vector(self, expression: sp.Expr) -> Vector:
        """A vector in the model, w*, the gradients there and the mean gradient."""
        total: Vector = {}
        for term in sp.Add.make_args(sp.expand(expression)):
            atoms = [one for one in sp.Mul.make_args(term) if isinstance(one, Vec | Grad | Noise | Centre)]
            if term == 0:
                continue
            if len(atoms) != 1:
                raise _no_script(self.derivation, f"the vector {expression}")
            add(total, self.atom(atoms[0]), term / atoms[0])
        return total

    def atom(self, atom: sp.Expr) -> Vector:
        one = sp.Integer(1)
        if isinstance(atom, Centre):
            inside = self.vector(atom.args[1])
            return {{"g": "G"}.get(name, name): value for name, value in inside.items() if name != "h"}
        known = {X: {"w": one}, W: {"w": one}, W_STAR: {"o": one}, grad(X): {"g": one}, grad(W): {"g": one}}
        known[grad(W_STAR)] = {"h": one}
        if atom not in known:
            raise _no_script(self.derivation, f"the vector {atom}")
        return known[atom]

    def point(self, vector: Vector) -> str:
        """A vector as a term of Rocq."""
        terms = [
            VECTORS[name] if value == 1 else f"(scale ({rocq(value, self.words)}) {VECTORS[name]})"
            for name, value in vector.items()
        ]
        text = terms.pop()
        while terms:
            text = f"(add {terms.pop()} {text})"
        return text

    def written(self, parts: Parts) -> str:
        """A form of one client: factors times what is the client's, and a number."""
        terms: list[str] = []
        number: list[str] = []
        for key, value in parts.items():
            factor = rocq(sp.expand(value), self.words)
            text = LOSSES[key[1]] if key[0] == "loss" else f"ip {VECTORS[key[1]]} {VECTORS[key[2]]}"
            own = key[0] == "loss" or bool(OF_A_CLIENT & set(key))
            (terms if own else number).append(f"({factor}) * ({text})")
        return " + (".join([*terms, f"({' + '.join(number) or '0'}) * 1"]) + ")" * len(terms)


def _swaps() -> str:
    names = list(VECTORS.values())
    return ", ".join(f"?(ip_sym _ {a} {b})" for k, a in enumerate(names) for b in names[:k])


def _tangent(writer: _Writer, start: Vector, end: Vector) -> Parts:
    """F_i(end) - F_i(start) - <grad F_i(start), end - start>."""
    if any(list(point.values()) != [1] or not {"w", "o"} & point.keys() for point in (start, end)):
        raise _no_script(writer.derivation, "a bound between other points than the model and w*")
    way = dict(end)
    add(way, start, sp.Integer(-1))
    total: Parts = {}
    for point, sign in ((end, 1), (start, -1)):
        add(total, {("loss", "f" if "w" in point else "fo"): sp.Integer(1)}, sp.Integer(sign))
    add(total, product(slope(start), way), sp.Integer(-1))
    return total


def _no_script(derivation: d.Derivation, what: str) -> Exception:
    needs = f"a script of {derivation.key} must be of one step with one local step a round and the weights p"
    return reject(needs, what, "prove it by hand in derivations/rocq")
