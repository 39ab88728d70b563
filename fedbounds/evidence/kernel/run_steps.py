"""The words of a run for what a derivation speaks of, and what it says of one step and of the drift, in Rocq."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, rocq_terms, step_script, step_statement
from fedbounds.evidence.kernel.combination import letters_of, no_script
from fedbounds.evidence.kernel.number_lines import (
    GAP_NEXT,
    MODELS,
    MODELS_NEXT,
    MODELS_T,
    SLOPE_NEXT,
    SLOPE_T,
    ZERO,
    named,
    number,
)
from fedbounds.evidence.kernel.rocq_terms import binder_names, of_local_models, rocq
from fedbounds.evidence.prover.inequality import renamed
from fedbounds.evidence.symbolic import definitions as of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_objects import averaging_weights
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

AT_START = "0%nat"
# Quantities at time T: in words at a time.
TIMED = {
    sy.Delta_T: "Delta (M {})",
    sy.gap: "gap_t (M {})",
    SLOPE_T: "slope_sq (M {})",
    MODELS_T: "models_at M {}",
    sy.eta_sum: "sum {} (fun s => eta (M s))",
    sy.gap_sum: "sum {} (fun s => gap_t (M s))",
    of.POWERS[0].last: "sum {} (fun s => INR (taken (M s)))",
    of.POWERS[1].last: "sum {} (fun s => INR (taken (M s)) ^ 2)",
}
# Those of a step t, and what is at no time.
NOW = {"Delta": "Delta (M {})", "gap_t": "gap_t (M {})", "drift": "drift (M {})", "eta": "eta (M {})"}
NOW |= {"n": "INR (taken (M {}))", "t": "INR {}", "gaps": TIMED[sy.gap_sum], "steps": TIMED[sy.eta_sum]}
NOW |= {one.now.name: TIMED[one.last] for one in of.POWERS}
NOW |= {MODELS.name: "models_at M {}", MODELS_NEXT.name: "models_next (M {})"}
NOW |= {"Delta_next": "Delta (M (Datatypes.S {}))", "gap_next": "gap_t (M (Datatypes.S {}))"}
NOW |= {"slope": "slope_sq (M {})", "slope_next": "slope_sq (M (Datatypes.S {}))"}
FIXED = {"Delta_0": "Delta (M 0%nat)", "gap_0": "gap_t (M 0%nat)", "tau": "INR tau", "T": "INR T", "N": "INR (N P)"}
FIXED |= {
    "slope_0": "slope_sq (M 0%nat)",
    "m": "INR m",
    "p_sq": "mean (N P) (p P) (p P)",
    "Gamma": "Gamma P",
    "average_gap": "gap_of_mean T n odds W",
}
# A line without what it takes from others.
ALONE = " alone"
# What is measured after a step, and the lemma that it is what the next step starts from.
AFTER = {sy.Delta_next: "Delta_after", GAP_NEXT: "gap_after", SLOPE_NEXT: "slope_after"}
# What is assumed of losses alone, at any point.
OF_LOSSES = (assumed.smooth, assumed.convex, assumed.strongly_convex, assumed.full_participation)
SOME_TIME = Assumption("some-time", "T >= 1", sp.Ge(sy.t, 1, evaluate=False))
SOME_STEPS = "(0 < T)%nat"
# That all models are of weights p, in every step.
ALONG = """ltac:(assumption) ltac:(assumption) ltac:(assumption) ltac:(weights_p) ltac:(weights_p)"""


@dataclass
class RunSteps:
    """The lines of one derivation; ``lemmas`` are those written so far, ``body`` the assertions that use them."""

    checked: Checked
    claim: Claim
    reading: Reading
    lemmas: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    extra: dict[str, d.Step] = field(default_factory=dict)

    @cached_property
    def convex(self) -> bool:
        return claim_statement.without_minima(self.claim, self.reading)

    @property
    def lines(self) -> dict[str, d.Step]:
        put: dict[sp.Expr, sp.Expr] = {}
        if (meaning := step_statement.at_end(self.claim, self.claim.lhs)) is not None:
            put[self.claim.lhs] = meaning
        # What the claim sums is its own quantity, in lines that have it in points.
        for _, _, term in step_statement.sums(self.claim).values():
            put |= {q.expression: q for q in term.free_symbols if getattr(q, "expression", None) is not None}
        steps = (
            replace(one, lhs=one.lhs.xreplace(put), rhs=one.rhs.xreplace(put))
            for one in self.checked.derivation.steps
        )
        return {**{one.label: one for one in steps}, **self.extra}

    def words(self, time: str) -> dict[str, str]:
        """Terms at a step, and at the end."""
        words = {name: text.replace("{}", time) for name, text in {**NOW, **self.moving}.items()} | self.fixed
        words |= {one.name: text.format("T") for one, (text, *_) in self.sequences.items()}
        return words | {name: name for name in self.constants} | self.shorthands

    @cached_property
    def sequences(self) -> Mapping[sp.Expr, tuple[str, sp.Expr, sp.Expr, sp.Expr]]:
        """Quantities at time T, sums that the claim defines among them: in words, at 0, at t and one step later."""
        known = {named(last): tuple(map(named, three)) for last, three in of.SEQUENCES.items()}
        own = {**step_statement.sums(self.claim)}
        if (weights := averaging_weights(self.claim.lhs)) is not None:
            gaps = f"sum {{}} (fun s => ({step_statement.weights_in_words(weights)}) * gap_t (M s))"
            own[of.WEIGHTED_T] = (gaps, of.WEIGHTED, weights * sy.gap_t)
        shipped = {last: (text, *known[last]) for last, text in TIMED.items()}
        return shipped | {q: (text, ZERO, now, now + term) for q, (text, now, term) in own.items()}

    @cached_property
    def moving(self) -> dict[str, str]:
        """Terms at a time of those sums, and of what they sum."""
        gaps = self.sequences.get(of.WEIGHTED_T)
        result: dict[str, str] = {} if gaps is None else {of.WEIGHTED.name: gaps[0]}
        for text, now, term in step_statement.sums(self.claim).values():
            step = step_statement.words(step_statement.of_step(self.claim, term))
            result |= {name: step_statement.at_time(one, "{}") for name, one in step.items()} | {now.name: text}
        return result

    def now(self, symbol: sp.Expr) -> sp.Expr:
        """A quantity of time T at t."""
        return sy.t if symbol == sy.T else self.sequences[symbol][2]

    @cached_property
    def fixed(self) -> dict[str, str]:
        """Terms that no time is in."""
        return {**FIXED, **step_statement.words(self.claim)}

    @cached_property
    def constants(self) -> list[str]:
        known = {*FIXED, *NOW, *self.moving, *(one.name for one in self.sequences)}
        return [name for name in claim_statement.TIED if name not in known]

    @cached_property
    def shorthands(self) -> dict[str, str]:
        """The claim's own definitions, written out."""
        words = self.fixed | {name: name for name in self.constants}
        given = {**self.claim.definitions, **self.checked.abbreviations}
        return {one.name: rocq(value, words) for one, value in given.items()}

    def text(self, line: d.Step, time: str) -> str:
        words = self.words(time)
        return f"{number(line.lhs, words)} {line.relation} {number(line.rhs, words)}"

    def letters(self) -> dict[sp.Symbol, tuple[sp.Expr, str]]:
        """What each letter stands for, and the line that shows that it is not negative, if one does."""
        shown = {one.symbol: one.shown for one in self.checked.derivation.conditions}
        return {
            named(one.symbol): (one.expression, getattr(shown[one.symbol], "label", ""))
            for one in self.checked.conditions
        }

    def moves(self, line: d.Step) -> bool:
        """Whether a line is about a step, whose time it holds for."""
        if isinstance(line.because, d.Induction):
            return False
        found = named(line.lhs - line.rhs).free_symbols
        return bool({one.name for one in found} & {*NOW, *self.moving})

    def steady(self, line: d.Step) -> d.Step:
        """A line about every time with a step size that does not change as the constant that it is."""
        size = sy.eta if self.claim.eta is None or self.claim.eta.has(sy.t) else self.claim.eta
        return replace(line, lhs=line.lhs.xreplace({sy.eta: size}), rhs=line.rhs.xreplace({sy.eta: size}))

    def at(self, label: str, time: str) -> str:
        """A line where it is used at a step."""
        raise NotImplementedError

    def one_step(self, line: d.Step, last: bool = False) -> None:
        """A line about one step, or about the ``last`` point, whose script is that of a claim about it."""
        k, time, name = len(self.lemmas), "T" if last else "t", self.names[line.label]
        checked, limits = self.about_step(line, last)
        claim = checked.claim
        assert claim is not None
        text = claim_statement.statement(claim, self.reading, beside=step_statement.words(claim))
        stated = text[text.index("Definition statement") :].replace("statement", f"step_{k}", 1)
        goal = f"\nLemma step_{k}_holds : step_{k}.\n"
        self.lemmas.append(f"\n{stated}" + step_script.lemma(checked, self.reading, goal))
        uses = " ".join(f"pose proof {self.at(label, 't')}." for label in limits)
        binders = " ".join(f"(INR {time})" if one == "t" else one for one in binder_names(stated).split())
        holds = f"step_{k}_holds P (M {time}) {binders}"
        if last:
            self.body.append(
                f"  assert ({name} : {self.text(line, '')}).\n"
                f"  {{ pose proof (pos_INR T). {uses} eapply Rle_trans; [apply ({holds}); last_side Ok T|].\n"
                "    right. unfold slope_sq. first [ring | field; apart_from_zero]. }\n"
            )
            return
        left = sp.sympify(claim.lhs)
        after = " ".join(f"rewrite ?({lemma} M T tau reg t Ht)." for one, lemma in AFTER.items() if left.has(one))
        self.body.append(
            f"  assert ({name} : forall t, (t < T)%nat -> {self.text(line, 't')}).\n"
            f"  {{ intros t Ht. at_step M t Ht reg. {uses} {after}\n    apply ({holds}); step_side Ok t Ht. }}\n"
        )

    def about_step(self, line: d.Step, last: bool) -> tuple[Checked, list[str]]:
        """The derivation of a line as that of a claim of its own, and the lines that show its letters' signs."""
        known, conditions, limits = self.known(last), [], list[str]()
        universe = {key: one for key, one in self.checked.universe.items() if not last or key != "no-noise"}
        symbols = set().union(*(letters_of(*use) for use in line.because))  # type: ignore[union-attr]
        put, letters = {sy.eta_0: sy.eta} if self.claim.eta == sy.eta_0 and not last else {}, self.letters()
        for shown in self.checked.conditions:
            expression = sp.sympify(shown.expression).xreplace(put)
            conditions.append(replace(shown, expression=expression))
            label = letters[named(shown.symbol)][1]
            if shown.symbol in symbols and label:
                relation = sp.Le(0, expression, evaluate=False)
                known.append(Assumption(f"limit-{label}", str(expression), relation))
                limits.append(label)
        labels = [one.label for one in self.checked.derivation.steps]
        before = self.checked.derivation.steps[: labels.index(line.label.removesuffix(ALONE))]
        line = self.at_t(line) if last else line
        line = replace(line, lhs=named(line.lhs), rhs=named(line.rhs))
        stated = {"scope": "step", "lhs": line.lhs, "terms": {"bound": line.rhs}, "assumptions": tuple(known)}
        claim = replace(self.claim, **stated, eta=None, definitions={}, repair=None)
        derivation = replace(self.checked.derivation, steps=(*before, line))
        made = replace(self.checked, derivation=derivation, conditions=tuple(conditions), claim=claim)
        return replace(made, universe=universe), limits

    def known(self, last: bool) -> list[Assumption]:
        """What a claim about one of the steps, or about the last point, assumes."""
        every, eta = [one for one in self.claim.assumptions if sy.T.name not in one.symbols()], self.claim.eta
        if last:
            return [one for one in every if one in OF_LOSSES] + [SOME_TIME] * self.begun
        if eta is None or eta.has(sy.t):
            return every
        own = Assumption("own-step", "the step of the claim", sp.Eq(sy.eta, eta, evaluate=False))
        return [own, *(one for one in every if one != assumed.constant_steps)]

    @property
    def begun(self) -> bool:
        """Whether the run has a step."""
        some = SOME_STEPS in getattr(rocq_terms.subject_of(self.claim), "further", ())
        return some or any(Part(sp.Integer(1), "<=", sy.T) in one.parts for one in self.claim.assumptions)

    def at_t(self, line: d.Step) -> d.Step:
        """A line about time T as one about a step that starts there."""
        put: dict[sp.Basic, sp.Expr] = {one: self.now(one) for one in (sy.T, sy.Delta_T, sy.gap, SLOPE_T)}
        put |= {of.W_T: of.W}
        uses = tuple((m.xreplace(put), renamed(fact, put)) for m, fact in line.because)  # type: ignore[union-attr]
        return replace(line, lhs=named(line.lhs).xreplace(put), rhs=named(line.rhs).xreplace(put), because=uses)

    def models(self, line: d.Step) -> None:
        """A step of the local models: of clients that share their minimiser, else with the gradients there."""
        kept, lost = sp.expand(named(line.rhs)).coeff(MODELS), 1 - sy.eta * sy.mu
        noise = sp.expand(line.rhs.xreplace({of.MODELS: sp.Integer(0)}) - sy.eta**2 * sy.sigma_sq)
        lemma, share, why = "common_step", "_", "(pow2_ge_0 (1 - eta (M t) * mu))"
        if sp.expand(kept - lost) == 0:
            lemma, share, why = "minimisers_step", "(1 - eta (M t) * mu)", "ltac:(nra)"
            kept, noise = kept * lost, sp.expand(noise - sy.eta / sy.mu * sy.zeta_star_sq)
        room = [label for value, label in self.letters().values() if sp.expand(value + sy.eta * (sy.L + sy.mu)) == 2]
        silent = "no-noise" in self.checked.universe
        noise = noise.subs(sy.sigma_sq, 0) if silent else noise
        if sp.expand(kept - lost**2) != 0 or not room or noise != 0 or not of_local_models(self.claim):
            raise no_script(f"the line {line.label}")
        name = self.names[line.label]
        self.body.append(
            f"  assert ({name} : forall t, (t < T)%nat -> {self.text(line, 't')}).\n"
            f"  {{ intros t Ht. pose proof (models_now M T tau Ok (proj1 (proj2 reg)) {ALONG} t Ht) as Now.\n"
            f"    at_step M t Ht reg. pose proof {self.at(room[0], 't')} as Room.\n"
            f"    pose proof ({lemma} (M t) L mu sigma_sq (Ok t (Nat.lt_le_incl _ _ Ht)) ltac:(assumption)\n"
            "      ltac:(assumption) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(assumption) ltac:(assumption)) as Step.\n"
            f"    pose proof (Rmult_le_compat_l {share} _ _ {why} Now). nra. }}\n"
        )

    def drift(self, line: d.Step, number: sp.Expr, why: str = "equal_steps M s t Ht") -> None:
        """The drift of gradients that are bounded, of earlier steps at most the root of a number times this one."""
        name, root = self.names[line.label], sp.sqrt(number)
        lemma = "away_weak" if self.convex else "away"
        self.body.append(
            f"  assert ({name} : forall t, (t < T)%nat -> {self.text(line, 't')}).\n"
            "  { intros t Ht.\n"
            f"    assert (Before : steps_within (M t) {root}).\n"
            f"    {{ apply (steps_before M T tau reg t {root} Ht). intros s Hs Hr. {why}. }}\n"
            "    at_step M t Ht reg.\n"
            f"    pose proof ({lemma} (M t) G_sq {root} (Ok t (Nat.lt_le_incl _ _ Ht)) ltac:(assumption) ltac:(lra)"
            " Before) as D.\n    eapply Rle_trans; [exact D|].\n"
            "    pose proof (pos_INR (taken (M t))) as N0.\n"
            "    assert (Q : 0 <= (INR tau - 1) ^ 2 - INR (taken (M t)) ^ 2) by nra.\n"
            "    assert (0 <= G_sq * eta (M t) ^ 2) by (apply Rmult_le_pos; [assumption | apply pow2_ge_0]).\n"
            "    pose proof (Rmult_le_pos (G_sq * eta (M t) ^ 2) _ ltac:(assumption) Q) as QQ. lra. }\n"
        )

    def of_scalars(self, line: d.Step) -> bool:
        """Whether a line follows from an earlier bound on the drift."""
        facts = line.because if isinstance(line.because, tuple) else ()
        return any(
            isinstance(fact, d.Earlier)
            and self.lines.get(fact.label, line).lhs == sy.drift
            and fact.label != "variance"
            for _, fact in facts
        )


def collected(expression: sp.Expr) -> sp.Expr:
    """A combination of what is measured, each with one coefficient: those that cancel are gone."""
    rest, result = sp.expand(named(expression)), sp.Integer(0)
    for symbol in (*TIMED, sy.Delta_0, sy.gap_0, of.SLOPE_0):
        if rest.has(symbol):
            result += sp.expand(sp.cancel(rest.coeff(symbol))) * symbol
            rest = sp.expand(rest - rest.coeff(symbol) * symbol)
    return sp.expand(result + rest)
