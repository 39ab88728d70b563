"""What a derivation about a run says of one step, and of the drift of gradients that are bounded, in Rocq."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, run_subject, step_script, step_statement
from fedbounds.evidence.kernel.combination import no_script
from fedbounds.evidence.kernel.rocq_terms import binder_names
from fedbounds.evidence.kernel.run_subject import of_local_models
from fedbounds.evidence.kernel.run_words import (
    GAP_NEXT,
    MODELS,
    SLOPE_NEXT,
    SLOPE_T,
    RunWords,
    multipliers,
    named,
)
from fedbounds.evidence.prover.statement import renamed
from fedbounds.evidence.symbolic import definitions as of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part

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


class RunSteps(RunWords):
    """The lines about one step, each with a lemma of its own, and those about the drift."""

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
        symbols = set().union(*(m.free_symbols for m in multipliers(line)))
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
        some = SOME_STEPS in getattr(run_subject.subject_of(self.claim), "further", ())
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
