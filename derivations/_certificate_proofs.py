"""Proofs in Rocq of the statements that `fedbounds.evidence.kernel` writes of certificates.

Of functions a proof writes every point of every client as a combination of the certificate's vectors. From these Rocq
computes the rows, which are proved of functions once, in ``Facts.v`` and ``Round.v``, and checks that they add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from fedbounds.evidence.kernel import certified_inequalities as stated
from fedbounds.evidence.kernel.gram_certificates import fraction, listed, numeral, scale
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Point, Vector, exact

from ._gram_proofs import summed

ONE = Fraction(1)
# Coefficient, vector, and the vector in the words of Round.v.
Squared = tuple[Fraction, Vector, str]


@dataclass(frozen=True)
class Numbers:
    """A certificate's model in fractions, and its points by client and label."""

    certificate: Certificate
    model: Model
    points: dict[tuple[int, str], Point]

    @property
    def setting(self) -> Setting:
        return self.model.setting

    @property
    def bounds(self) -> tuple[int, int, int]:
        """(q, m, l) with mu = m/q and L = l/q."""
        q = lcm(self.setting.mu.denominator, self.setting.L.denominator)
        return q, int(self.setting.mu * q), int(self.setting.L * q)

    @cached_property
    def D(self) -> int:
        """A common denominator of all vectors."""
        s = self.setting
        entries = [x for q in self.points.values() for row in self.rows(q) for x in row]
        weights = lcm(*(w.denominator for w in (*s.alpha, *s.p)))
        return lcm(*(x.denominator for x in (*entries, *s.eta))) * weights

    def row(self, vector: Vector) -> list[Fraction]:
        """The coordinates of a vector."""
        return list(map(fraction, self.model.coordinates(vector)))

    def rows(self, point: Point) -> tuple[list[Fraction], ...]:
        """Those of a point's position and gradient, and its value's."""
        return self.row(point.x), self.row(point.g), list(map(fraction, self.model.form(point.f).lin))

    def whole(self, row: list[Fraction]) -> str:
        """Coordinates as the whole numbers D times them."""
        return f"{listed([int(x * self.D) for x in row])}%Z"

    def middle(self, k: int) -> Vector:
        """The mean model after k local steps, of which the last may be the one in question."""
        s, last = self.setting, stated.last(self.setting)
        here = [self.points[i, f"x{min(k, last)}"] for i in range(s.N)]
        places = [q.x if k <= last else q.x - exact(s.eta[-1]) * q.g for q in here]
        return _mean(s.p if stated.weights_at(s, k) == "(p P)" else s.alpha, places)


def numbers_of(certificate: Certificate) -> Numbers:
    model = build(Setting.from_json(certificate.setting), exact)
    return Numbers(certificate, model, {(i, q.label): q for i, mine in enumerate(model.points) for q in mine})


def _mean(weights: tuple[Fraction, ...], vectors: list[Vector]) -> Vector:
    return Vector.mean(map(exact, weights), vectors)


def _product(weight: Fraction, left: tuple[Vector, str], right: tuple[Vector, str]) -> list[Squared]:
    """An inner product, by the squares of the sum and of its two parts."""
    (u, here), (v, there) = left, right
    return [(weight / 2, u + v, f"(add {here} {there})"), (-weight / 2, u, here), (-weight / 2, v, there)]


def squares_of(numbers: Numbers, name: str) -> list[Squared]:
    """The squares of which a form is made: coefficient, vector, and the vector in the words of Round.v."""
    s, k = numbers.setting, stated.last(numbers.setting)
    of = {"Delta": k, "Delta_next": k + 1, "Delta_start": 0}
    places = [(a, stated.local(s, i, k), numbers.points[i, f"x{k}"]) for i, a in enumerate(s.alpha)]
    now, slope = numbers.middle(k), _mean(s.alpha, [q.g for _, _, q in places])
    if name in of:
        words = "(iterate begin eta alpha 0)" if name == "Delta_start" else stated.iterate(s, of[name])
        return [(ONE, numbers.middle(of[name]), f"(sub {words} (w_star P))")]
    if name == "drift":
        return [(a, q.x - now, f"(sub {at} {stated.iterate(s, k)})") for a, at, q in places]
    if name == "grad_sq":
        return [(ONE, places[0][2].g, f"(grad P 0 {places[0][1]})")]
    if name == "mean_slope_sq":
        return [(ONE, slope, "(slope P begin)")]
    if name == "pull":
        return _product(ONE, (now, f"(sub {stated.iterate(s, k)} (w_star P))"), (slope, "(slope P begin)"))
    if name == "local_pull":
        pairs = [
            _product(a, (q.x, f"(sub {at} (w_star P))"), (q.g, f"(grad P {i} {at})"))
            for i, (a, at, q) in enumerate(places)
        ]
        return [square for three in pairs for square in three]
    if name == "star_grad_sq":
        return [(s.p[i], numbers.points[i, "star"].g, f"(grad P {i} (w_star P))") for i in range(s.N)]
    return []


@dataclass(frozen=True)
class Row:
    """A constraint that the certificate uses, as Rocq computes it: ``scale`` times the certificate's own."""

    text: str
    tactic: str
    scale: Fraction


def proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement that ``certificate_statements`` writes."""
    numbers = numbers_of(certificate)
    model, used = numbers.model, stated.used(certificate)
    rhs = certificate.numbers(certificate.rhs)
    claim = model.form(model.sum(rhs) - model[certificate.lhs])
    terms = [(-ONE, certificate.lhs), *((value, name) for name, value in rhs.items())]
    squared = [
        (c * weight, vector, words) for c, name in terms for weight, vector, words in squares_of(numbers, name)
    ]
    also = squares_of(numbers, "drift") if any(label.startswith("drift") for label in used) else []
    linear = list(map(fraction, claim.lin))
    enlarged = lcm(*(x.denominator for x in (*linear, *(c for c, _, _ in squared))))
    rows, rest = [_row(numbers, label) for label in used], claim.quad.copy()
    for label, value in used.items():
        rest = rest - model.quad[model.labels.index(label)] * exact(value)
    weights = [value / row.scale for value, row in zip(used.values(), rows, strict=True)]
    factor, multipliers, of_squares, roots = summed(rest, 1 / Fraction(enlarged * numbers.D**2), weights)
    quads = "; ".join(
        f"({numeral(int(c * enlarged))}, {numbers.whole(numbers.row(vector))})" for c, vector, _ in squared
    )
    return (
        f"Definition D : Z := {numeral(numbers.D)}%Z.\n{_definitions(numbers)}"
        "Definition constraints : list (list Z) := [\n  " + ";\n  ".join(row.text for row in rows) + "]%Z.\n"
        f"Definition claim_squares : list (Z * list Z) := [{quads}]%Z.\n"
        f"Definition claim_values : list Z := {listed([int(x * enlarged * numbers.D**2) for x in linear])}%Z.\n"
        f"Theorem proof : statement.\nProof.\n{_beginning(numbers)}{_located(numbers, [*squared, *also])}"
        "  assert (A : Forall (holds v f) constraints).\n  { unfold constraints.\n"
        + "".join(f"    apply Forall_cons; [{row.tactic}|].\n" for row in rows)
        + "    apply Forall_nil. }\n  assert (Y : 0 <= vals v claim_squares + value claim_values f).\n"
        "  { rewrite <- (value_row v f) by (unfold claim_squares; repeat constructor).\n"
        f"    apply (sound v f {factor}%Z _ {multipliers}%Z constraints\n"
        f"      {of_squares}%Z {roots}%Z); [vm_compute; reflexivity|exact A]. }}\n"
        "  unfold claim_squares, claim_values, f in Y. cbn [vals value] in Y. unfold D in *.\n"
        f"  unfold distance, spread_of, Gamma. {_without_noise(numbers)}{_means(numbers)}. lra.\nQed.\n"
    )


def _row(numbers: Numbers, label: str) -> Row:
    """A constraint and the tactic that proves it of functions."""
    s, D, n = numbers.setting, numbers.D, len(numbers.model.basis)
    kind, *where = label.split()
    lin = list(map(fraction, numbers.model.lin[numbers.model.labels.index(label)]))
    if kind == "interpolation":
        i, (a, b) = where[0], where[1].split("|")
        q, m, high = numbers.bounds
        constants = f"{m} {high} {q}"
        tactic = f"exact (interpolated v f D {constants} {i} _ _ _ _ q0 ml i{i} Ls ms A{i}_{a} A{i}_{b})"
        return Row(f"interpolates {n} D {constants} a{i}_{a} a{i}_{b}", tactic, 2 * (s.L - s.mu) * q**2 * D**2)
    if kind == "gradient":
        i, a = where
        steps = s.local == "steps"
        small = f"exact (HG {i}%nat {a[1:]}%nat ltac:(lia) ltac:(lia))" if steps else f"exact G{i}"
        tactic = f"eapply (bounded v f D); [exact (proj1 (proj2 A{i}_{a}))|{small}|unfold f, D; cbn [value]; lra]"
        row = f"row {n} [(-1, snd (fst a{i}_{a}))] {listed([int(x * D**2) for x in lin])}"
        return Row(row, tactic, Fraction(D**2))
    if kind == "drift":
        by = scale([*lin, *s.alpha])
        parts = "; ".join(
            f"({numeral(-int(a * by))}, {numbers.whole(numbers.row(x))})" for a, x, _ in squares_of(numbers, kind)
        )
        tactic = (
            "unfold holds; rewrite (value_row v f) by (repeat constructor); cbn [vals]; "
            "unfold f, D in *; cbn [value]; lra"
        )
        return Row(f"row {n} [{parts}] {listed([int(x * by * D**2) for x in lin])}", tactic, Fraction(by * D**2))
    row = f"row {n} [] {listed([int(x * scale(lin)) for x in lin])}"
    return Row(row, "apply (lawful v f); unfold f; cbn [value local]; lra", Fraction(scale(lin)))


def _in_use(numbers: Numbers) -> list[tuple[int, str]]:
    """The points that a constraint speaks of: client and label."""
    words = [label.split() for label in stated.used(numbers.certificate) if label[0] in "ig"]
    return sorted({(int(i), a) for _, i, named in words for a in named.split("|")})


def _definitions(numbers: Numbers) -> str:
    points = ((i, a, ", ".join(map(numbers.whole, numbers.rows(numbers.points[i, a])))) for i, a in _in_use(numbers))
    return "".join(f"Definition a{i}_{a} : at_point := ({vectors}).\n" for i, a, vectors in points)


def _means(numbers: Numbers) -> str:
    """The tactic that writes means over the clients out, with the setting's numbers."""
    named = "".join(f", ?E{j}" for j in range(len(_equal(numbers.setting))))
    shares = "".join(f", ?p{i}" for i in range(numbers.setting.N))
    return f"rewrite ?HN; unfold mean; cbn [sum]; rewrite ?HN{named}{shares}"


def _equal(setting: Setting) -> dict[str, Fraction]:
    sizes = {f"eta {k}": x for k, x in enumerate(setting.eta)}
    return sizes | {f"alpha {i}": x for i, x in enumerate(setting.alpha)}


def _beginning(numbers: Numbers) -> str:
    """The start of a proof: the vectors v and values f, the setting's numbers, and where gradients vanish."""
    s, used = numbers.setting, stated.used(numbers.certificate)
    q, m, high = numbers.bounds
    skews = [f"K{j}" for j, _ in enumerate(stated.skewed(numbers.certificate))]
    names = [*(f"p{i}" for i in range(s.N)), "Hs Hc Hm"]
    names += ["HU"] if s.gradients == "stochastic" else []
    bounds = {word: f"H{word[0].upper()}" for word in ("gradient", "variance", "drift")}
    names += [name for word, name in bounds.items() if any(label.startswith(word) for label in used)]
    binders = "begin" if s.local == "steps" else "x"
    binders += " outcomes odds xi sigma_sq" if s.gradients == "stochastic" else ""
    equal = "".join(
        f"  assert (E{j} : {left} = {stated.real(x)}) by reflexivity.\n"
        for j, (left, x) in enumerate(_equal(s).items())
    )
    own = "".join(
        f"  assert (i{i} : ({i} < N P)%nat) by (rewrite HN; lia).\n"
        f"  assert (O{i} : forall y, ip (grad P {i} (w_i_star P {i})) y = 0)\n"
        f"    by (intros; apply (own_slope P {stated.real(s.L)}); auto; lra).\n"
        for i in range(s.N)
    )
    star = " + ".join(f"{stated.real(w)} * ip (grad P {i} (w_star P)) y" for i, w in enumerate(s.p))
    return (
        f"  unfold statement. intros P {binders} G_sq HN Hw {' '.join([*names, *skews])}.\n"
        f"  pose (v := [{'; '.join(stated.basis(s, name) for name in numbers.model.basis)}] : list (V P)).\n"
        f"  pose (f := [{'; '.join(stated.basis(s, name) for name in numbers.model.scalars)}]).\n{equal}{own}"
        f"  assert (Ls : smooth P (IZR {high} / IZR {q}))\n"
        f"    by (replace (IZR {high} / IZR {q}) with {stated.real(s.L)} by lra; exact Hs).\n"
        f"  assert (ms : strongly_convex P (IZR {m} / IZR {q}))\n"
        f"    by (replace (IZR {m} / IZR {q}) with {stated.real(s.mu)} by lra; exact Hc).\n"
        f"  assert (q0 : (0 < {q})%Z) by reflexivity. assert (ml : ({m} <= {high})%Z) by (intro; discriminate).\n"
        f"  assert (Z : forall y, {star} = 0).\n"
        f"  {{ intros y. rewrite <- (stationary_at P {stated.real(s.L)} y Hw (proj2 Hm) Hs ltac:(lra)).\n"
        f"    {_means(numbers)}; lra. }}\n"
        + "".join(f"  unfold skewed in {name}; revert {name}; {_means(numbers)}; intros {name}.\n" for name in skews)
        + _bounds(numbers, names)
    )


def _bounds(numbers: Numbers, names: list[str]) -> str:
    """The bounds on noise, gradients and drift, of each client, where local models are any points."""
    s, noise = numbers.setting, "noise_sq outcomes odds xi"
    if s.local == "steps":
        return ""
    text = f"  revert HD; {_means(numbers)}; intros HD.\n" if "HD" in names else ""
    for i in range(s.N):
        within = f" - {noise} {i}" if "HU" in names else ""
        text += f"  pose proof (noise_nonneg outcomes odds xi {i} HU).\n" if "HU" in names else ""
        text += f"  pose proof (HV {i}%nat i{i}).\n" if "HV" in names else ""
        small = f"norm_sq (grad P {i} (x {i}%nat)) <= G_sq{within}"
        text += f"  assert (G{i} : {small}) by (pose proof (HG {i}%nat i{i}); lra).\n" if "HG" in names else ""
    return text


def _without_noise(numbers: Numbers) -> str:
    """The tactic that parts the expected distance after a step into that of full gradients and the noise."""
    if numbers.setting.gradients == "full":
        return ""
    eta = stated.real(numbers.setting.eta[-1])
    noise = f"{eta} * {eta} * sum (N P) (fun i => alpha i * alpha i * noise_sq outcomes odds xi i)"
    moved = f"expected_distance outcomes odds xi alpha {eta} x = norm_sq (sub (moved P x) (w_star P)) + {noise}"
    return f"rewrite ?(noise_adds outcomes odds xi alpha {eta} x HU : {moved}). "


def _located(numbers: Numbers, squared: list[Squared]) -> str:
    """Every point and every vector of the claim as a combination of v."""
    s = numbers.setting
    sizes = "".join(f", ?E{k}" for k in range(len(s.eta)))
    own = "".join(f", ?O{i}" for i in range(s.N))
    unfolded, inside = "iterate", ""
    if s.local == "any":  # where a mean is of sums
        unfolded, inside = "middle, moved, step_from", "repeat (rewrite ip_add || rewrite ip_scale); "
    unfolded += ", slope" if any("slope" in words for _, _, words in squared) else ""
    find = (
        "split; [reflexivity|]; intros y; rewrite ip_combination; unfold v, D; cbn [map value]; "
        f"unfold {unfolded}, sub; "
        f"repeat (rewrite ip_add || rewrite ip_scale || rewrite ip_centre); {_means(numbers)}; {inside}"
        f"repeat rewrite local_step; rewrite ?local_start{sizes}{own}; pose proof (Z y); lra"
    )
    points = "".join(
        f"  assert (A{i}_{a} : located_point v f D {i} a{i}_{a} {stated.place(s, i, a)}).\n"
        f"  {{ unfold a{i}_{a}, located_point. split; [{find}|split; [{find}|]].\n"
        "    unfold f, D, excess; cbn [value]; ring. }\n"
        for i, a in _in_use(numbers)
    )
    vectors = "".join(
        f"  assert (C{j} : located v D {numbers.whole(numbers.row(vector))} {words}) by ({find}).\n"
        f"  pose proof (located_norm v D _ _ C{j}).\n"
        for j, (_, vector, words) in enumerate(squared)
    )
    for j, (_, _, words) in enumerate(squared):
        if words.startswith("(add "):  # of two vectors, whose own squares follow
            here, there = squared[j + 1][2], squared[j + 2][2]
            polar = f"ip {here} {there} = (norm_sq {words} - norm_sq {here} - norm_sq {there}) / 2"
            tactic = f"unfold norm_sq; rewrite ip_add, !ip_add_r, (ip_sym _ {there} {here}); lra"
            vectors += f"  assert (Q{j} : {polar}) by ({tactic}).\n"
    return points + vectors
