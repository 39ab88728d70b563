"""A derivation about points, gradients and weights as a script of Rocq: its facts, times its multipliers, add up.

Every fact is a linear form in inner products of few vectors and in losses; averaged over the clients it is one in
their means. Rocq checks each form, and that the forms, times the multipliers, are what is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import sympy as sp

from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key
from fedbounds.evidence.kernel.point_forms import Vectors, add, at_one_point, means_in, no_script, says_nothing
from fedbounds.evidence.kernel.point_statement import (
    AWAY,
    OWN_MINIMUM,
    PointClaim,
    assumed_of,
    binders_of,
    read,
)
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, F_MIN, P, W, X, grad
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy
from fedbounds.theory.normal_form import depends
from fedbounds.theory.points import I
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Inner, Loss, norm_sq

NAMES = {
    "smooth P L": "Hs",
    **dict.fromkeys(("strongly_convex P mu", "strongly_convex P 0"), "Hc"),
    "mu <= L": "HL",
    "weights (N P) alpha": "Ha",
}
# The quadratic bounds: below or above, how they bend, and their hypothesis.
BOUNDS = {"smooth": (-1, sy.L, "Hs"), "strongly-convex": (1, sy.mu, "Hc"), "convex": (1, sp.Integer(0), "Hc")}
BEGINNINGS = {"(forall": "Hw", "rho_bar": "Hr", "(mean": "Hz"}
HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Points statement_{name}.
Open Scope R_scope.

Theorem proof : statement_{name}.statement.
"""
START = """Proof.
  intros P {names}.
"""
AT_REST = """  assert (own : forall i, (i < N P)%nat -> forall y, ip (grad P i (w_i_star P i)) y = 0)
    by (intros j Hj; apply (rest P L j Hm Hs); [lra | assumption]).
  assert (own' : forall i, (i < N P)%nat -> forall y, ip y (grad P i (w_i_star P i)) = 0)
    by (intros j Hj y; rewrite ip_sym; apply own; assumption).
"""


def script(checked: Checked, reading: Reading) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, last = checked.claim, checked.derivation.steps[-1]
    if claim is None or not isinstance(last.because, tuple):
        raise no_script(f"one of {checked.derivation.claim}")
    points = read(claim, reading)
    uses = [(m, at_one_point(fact) if points.stepped else fact) for m, fact in last.because]
    letters = [(one.symbol, one.expression) for one in checked.conditions]
    steps = {one.label: one for one in checked.derivation.steps}
    return HEAD.format(key=safe_key(claim.key), name=module_name(claim.key)) + proof(points, letters, steps, uses)


def proof(
    points: PointClaim,
    letters: Iterable[tuple[sp.Expr, sp.Expr]],
    steps: Mapping[str, d.Step],
    uses: Iterable[d.Use],
) -> str:
    """The proof in Rocq that these facts, times their multipliers with these letters, show a claim about points."""
    numbers = {one.name: f"({points.number(value)})" for one, value in letters}
    writer = Writer(replace(points, letters=numbers), steps=steps)
    body = "".join(f"  assert (0 <= {text}) by lra.\n" for text in numbers.values())
    body += "".join(writer.use(k, m, fact) for k, (m, fact) in enumerate(uses))
    sides = "".join(writer.side(side) for side in (points.left, points.right))
    names = " ".join([*(name for group, _ in binders_of(points) for name in group.split()), *writer.names])
    text = (
        START.format(names=names) + AT_REST * (OWN_MINIMUM in points.setting) + writer.preliminaries() + body + sides
    )
    for k, multiplier in writer.used:
        text += f"  apply (less _ _ ({multiplier}) _ _ ltac:(not_negative) V{k}).\n"
    rewrites = "".join(f"?Q{k}, " for k in range(len(writer.means)))
    text += f"  apply Req_le. rewrite {rewrites}{writer.averaging('Hp').removeprefix('rewrite ')}. open_fact.\n"
    text += f"  {writer.averaging('Ha')}. " if " alpha" in names else ""
    return writer.finished(f"{text}  {writer.rewriting(False)} field; apart.\nQed.\n")


@dataclass
class Writer(Vectors):
    """``steps`` are the derivation's, ``means`` those of the claim's sides, ``used`` facts with their multipliers."""

    steps: Mapping[str, d.Step] = field(default_factory=dict)
    means: dict[str, str] = field(default_factory=dict)
    used: list[tuple[int, str]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the statement's hypotheses."""
        rest = [
            NAMES.get(text, BEGINNINGS.get(text.split()[0], f"A{k}"))
            for k, text in enumerate(assumed_of(replace(self.points, letters={})))
        ]
        return [*self.points.setting, *rest]

    def written(self, parts: dict[tuple[str, bool], sp.Expr], weights: str) -> str:
        """A form of one client: a sum of factors times what is the client's."""
        terms = [self._term(value, ratio, f"({text})") for (text, ratio), value in parts.items()]
        return " + (".join([*terms, "0 * 1"]) + ")" * len(terms)

    def _term(self, value: sp.Expr, ratio: bool, text: str) -> str:
        times = f"({self.points.weights(ALPHA)} i * / p P i * {text})" if ratio else text
        return f"({self.number(value)}) * {times}"

    def number(self, value: sp.Expr) -> str:
        words = {"N": "(INR (N P))", **{one.name: one.name for one in self.points.numbers}}
        return rocq(sp.expand(value), {**words, **self.points.letters})

    def side(self, side: sp.Expr) -> str:
        """Each mean in a side of the claim in the means of single terms."""
        text = ""
        for atom in sorted(means_in(side), key=sp.default_sort_key):
            raw = self.points.atom(atom)
            if raw not in self.means:
                text += self.mean(atom, raw)
        for inner in side.atoms(Inner):
            if not depends(inner, I):
                self.of_atom(inner)
        return text

    def mean(self, atom: sp.Expr, raw: str) -> str:
        if not atom.args[1].atoms(Inner, Loss) and F_MIN not in atom.atoms(type(F_MIN)):
            return ""  # of weights alone: an atom
        by = self.points.weights(atom.args[0])
        parts = self.of_client(atom.args[1])
        k = len(self.means)
        self.means[raw] = by
        return (
            f"  pose proof (mean_ext (N P) {by} (fun i => {self.points.number(atom.args[1])})\n"
            f"    (fun i => {self.written(parts, by)})\n    ltac:({self.client_rewriting()})) as Q{k}.\n"
        )

    def client_rewriting(self) -> str:
        return f"intros i Hi; pose proof (Hpos i Hi); open_fact; {self.rewriting(True)} field; apart"

    def averaging(self, name: str) -> str:
        return f"rewrite ?mean_plus, ?mean_times, ?(by_ratio P _ _ Hpos), ?(mean_const _ _ _ {name})@{name}@"

    def rewriting(self, client: bool) -> str:
        """A mark for what puts inner products in their order, filled in once all vectors are known."""
        return "@CLIENT@" if client else "@FIXED@"

    def finished(self, text: str) -> str:
        """The script with its marks filled in."""
        centres = "".join(f", ?E{k}" for k in range(len(self.centres)))
        zeros = "".join(f", ?Z{k}" for k in range(len(self.zeros())))
        both = "".join(f", ?D{k}, ?D'{k}" for k in range(len(self.composed)))
        both += "".join(f", ?Z{k}, ?Z'{k}" for k in range(len(self.zeros())))
        ordered = sorted(self.vectors, key=self.order)
        pairs = [(b, a) for k, b in enumerate(ordered) for a in ordered[:k]]
        swaps = "".join(f", ?(ip_sym _ {b} {a})" for b, a in pairs)
        fixed = "".join(f", ?(ip_sym _ {b} {a})" for b, a in pairs if not self.vectors[a] and not self.vectors[b])
        still = "?(own i Hi), ?(own' i Hi), " * (OWN_MINIMUM in self.points.setting)
        rewrites = f"{still}{(both + swaps)[2:]}"
        text = text.replace("@CLIENT@", f"rewrite {rewrites};" if rewrites else "")
        text = text.replace("@FIXED@", f"rewrite {(both + fixed)[2:]}." if both + fixed else "")
        for name in ("Hp", "Ha"):
            text = text.replace(f"@{name}@", centres + zeros)
        return text

    def preliminaries(self) -> str:
        """Mean gradients that vanish, and means of sums in means of single vectors; a mark where they come."""
        for weights, vector in self.averaged:
            if weights == P or "alpha" in dict(binders_of(self.points)):
                self.mean_of(weights, vector)
        text = ""
        for k, (name, why) in enumerate(self.zeros().items()):
            text += f"  pose proof {why} as Z{k}.\n"
            text += f"  assert (Z'{k} : forall y, ip y {name} = 0) by (intros y; rewrite ip_sym; apply Z{k}).\n"
        for k, ((by, vector), name) in enumerate(self.centres.items()):
            text += f"  assert (E{k} : forall y, mean (N P) {by} (fun i => ip {vector} y) = ip {name} y)\n"
            text += "    by (intros y; rewrite ip_centre; reflexivity).\n"
        for k, (name, (by, raw, parts)) in enumerate(self.composed.items()):
            inside = [self._term(value, ratio != 1, f"(ip {vector} y)") for ratio, value, vector in raw]
            known = ["?(own i Hi)"] * (OWN_MINIMUM in self.points.setting) + [f"?D{j}" for j in range(k)]
            before = f"rewrite {', '.join(known)}; " if known else ""
            right, turned = (
                " + ".join(f"({self.number(c)}) * ip {pair.format(vector)}" for vector, c in parts.items()) or "0"
                for pair in ("{} y", "y {}")
            )
            swaps = "".join(f", ?(ip_sym _ {vector} y)" for vector in parts)
            text += (
                f"  assert (D{k} : forall y, ip {name} y = {right}).\n"
                f"  {{ intros y. rewrite ip_centre, (mean_ext (N P) {by} _\n"
                f"      (fun i => {' + ('.join([*inside, '0 * 1']) + ')' * len(inside)}))\n"
                f"      by (intros i Hi; pose proof (Hpos i Hi); open_fact;\n"
                f"        {before}field; apart).\n"
                f"    {self.averaging({'(p P)': 'Hp', 'alpha': 'Ha'}[by])}; field; apart. }}\n"
                f"  assert (D'{k} : forall y, ip y {name} = {turned})\n"
                f"    by (intros y; rewrite ip_sym, D{k}{swaps}; reflexivity).\n"
            )
        return text

    def use(self, k: int, multiplier: sp.Expr, fact: d.Fact) -> str:
        """The lines that bring a fact; none for one that says nothing here."""
        if says_nothing(fact):
            return ""
        self.used.append((k, self.number(multiplier)))
        if isinstance(fact, d.Given):
            return f"  assert (V{k} : 0 <= 1) by lra.\n"
        if isinstance(fact, d.Square):
            self.vector(fact.of)
            self.of_atom(Inner(fact.of, fact.of))
            return f"  pose proof (ip_pos _ {self.points.point(fact.of)}) as V{k}.\n"
        if isinstance(fact, d.MeanCauchySchwarz):
            return self.cauchy(k, fact)
        if isinstance(fact, d.Averaged):
            return self.average(k, fact)
        if isinstance(fact, d.Premise) and fact.key == "curvatures":
            return f"  pose proof HL as V{k}.\n"
        if isinstance(fact, d.Premise) and fact.key == "rho-bar":
            return self.skew(k)
        if isinstance(fact, d.Premise) and fact.key == "dissimilarity":
            return self.apart(k)
        raise no_script(f"the fact {fact}")

    def skew(self, k: int) -> str:
        """The hypothesis on rho_bar, in the means of losses."""
        each, there = self.written(self.of_client(Loss(W, I) - F_MIN), ""), self.points.vector(W)
        sides = [(name, self.points.weights(by)) for name, by in (("Hp", P), ("Ha", ALPHA))]
        low, high = (f"mean (N P) {by} (fun i => {each})" for _, by in sides)
        text = f"  assert (V{k} : rho_bar * {low} <= {high}).\n  {{ rewrite "
        text += ", ".join(f"(mean_ext (N P) {by} (fun i => {each}) (fun i => excess P i {there}))" for _, by in sides)
        text += " by (intros; unfold excess; ring). exact Hr. }\n"
        return text + "".join(f"  {self.averaging(name)} in V{k}.\n" for name, _ in sides)

    def apart(self, k: int) -> str:
        """The hypothesis on zeta^2, in the means of products."""
        square = norm_sq(AWAY)
        each = self.written(self.of_client(square), "")
        return (
            f"  assert (V{k} : mean (N P) (p P) (fun i => {each}) <= zeta_sq).\n"
            f"  {{ rewrite (mean_ext (N P) (p P) _ (fun i => {self.points.number(square)})); [exact Hz|].\n"
            f"    {self.client_rewriting()}. }}\n  {self.averaging('Hp')} in V{k}.\n"
        )

    def cauchy(self, k: int, fact: d.MeanCauchySchwarz) -> str:
        numbers, vectors = self.points.number(fact.numbers), self.points.point(fact.vectors)
        self.centre(Centre(P, fact.numbers * fact.vectors))
        scaled = f"(centre (N P) (p P) (fun i => (scale ({numbers}) {vectors})))"
        whole = self.points.vector(Centre(P, fact.numbers * fact.vectors))
        if whole in self.composed:
            self.composed[scaled] = self.composed.pop(whole)
        return (
            f"  pose proof (mean_cauchy (N P) (p P) (fun i => {numbers}) (fun i => {vectors}) Hp) as V{k}.\n"
            f"  cbv beta in V{k}.\n"
        )

    def average(self, k: int, fact: d.Averaged) -> str:
        """The mean over the clients of facts about one."""
        uses = [(m, one) for m, one in fact.uses if not says_nothing(one)]
        values: dict[tuple[str, bool], sp.Expr] = {}
        lines = ""
        for m, one in uses:
            value, proof, share = self.client_fact(one)
            add(values, self.of_client(value), m * share)
            lines += f"    apply (less 0 _ ({self.number(m * share)}) _ _ ltac:(not_negative) {proof}).\n"
        if not values:
            self.used.pop()
            return ""
        by = self.points.weights(fact.weights)
        name = {"(p P)": "Hp", "alpha": "Ha"}[by]
        return (
            f"  assert (U{k} : forall i, (i < N P)%nat -> 0 <= {self.written(values, by)}).\n"
            f"  {{ intros i Hi. pose proof (Hpos i Hi).\n{lines}"
            f"    apply Req_le. open_fact. {self.rewriting(True)} field; apart. }}\n"
            f"  pose proof (mean_nonneg (N P) {by} _ {name} U{k}) as V{k}.\n  {self.averaging(name)} in V{k}.\n"
        )

    def client_fact(self, fact: d.Fact) -> tuple[sp.Expr, str, sp.Expr]:
        """(what is not negative, its proof in Rocq, its share in the derivation's fact)."""
        one = sp.Integer(1)
        if isinstance(fact, d.Square):
            return Inner(fact.of, fact.of), f"(ip_pos _ {self.points.point(fact.of)})", one
        if isinstance(fact, d.Earlier) and isinstance(cases := self.steps[fact.label].because, d.Cases):
            here = {} if self.points.models else {X: W}
            x, y = (use.points[0].xreplace(here) for _, use in cases.first.uses)  # type: ignore[union-attr]
            line = self.steps[fact.label]
            at = f"{self.points.point(y)} {self.points.point(x)}"
            return 2 * (line.rhs - line.lhs).xreplace(here), f"(between P L mu i {at} Hs Hc HL Hi)", one / 2
        if not isinstance(fact, d.Premise):
            raise no_script(f"the fact {fact}")
        if fact.key == "minimum":
            return Loss(fact.points[0], I) - F_MIN, f"(Hm i {self.points.point(fact.points[0])} Hi)", one
        if fact.key not in BOUNDS:
            raise no_script(f"the fact {fact.key}")
        at, to = fact.points
        sign, bend, name = BOUNDS[fact.key]
        tangent = Loss(to, I) - Loss(at, I) - Inner(grad(at), to - at) - bend / 2 * Inner(to - at, to - at)
        return sign * tangent, f"({name} i {self.points.point(at)} {self.points.point(to)} Hi)", one
