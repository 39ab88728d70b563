"""The lines of a derivation about a run in Rocq: about numbers, about one step, and what follows by induction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.kernel import step_statement
from fedbounds.evidence.kernel.combination import no_script
from fedbounds.evidence.kernel.number_lines import (
    AT_T,
    ETA_S,
    MODELS_T,
    Fact,
    NumberLine,
    bottoms_of,
    named,
    number,
    powers_of,
    signed,
)
from fedbounds.evidence.kernel.run_steps import (
    AFTER,
    ALONE,
    ALONG,
    AT_START,
    RunSteps,
    collected,
)
from fedbounds.evidence.symbolic import definitions as of
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.permitted_assumptions import given
from fedbounds.evidence.symbolic.proof_objects import WEIGHTED_AVERAGE, averaging_weights
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Mean

# What a claim may say of the last point.
OF_END = (sy.Delta_T, sy.gap, AT_T)
# Why a fact holds that a run is asked for.
FIRST_ROUND = "rewrite (first_round M T tau t ltac:(assumption) ltac:(apply INR_le; assumption) Ht); ring"


class RunLines(RunSteps):
    """Every line that a line needs, before it."""

    def write(self, label: str) -> None:
        """The lines that a line needs, and the line itself."""
        if label in self.names:
            return
        line = self.lines[label]
        self.names[label] = f"line_{len(self.names)}"
        if isinstance(line.because, d.Induction) and not line.because.local:
            self.induction(line, line.because)
        elif not isinstance(line.because, tuple):
            raise no_script(f"the line {label}")
        elif line.lhs == of.MODELS_NEXT:
            self.models(line)
        elif (ratio := self.bounded_drift(line)) is not None:
            self.drift(line, ratio)
        elif (line.lhs == sy.drift or named(line.lhs).has(*AFTER)) and not self.of_numbers(line):
            if bounds := [use for use in line.because if self.of_drift(use[1])]:
                self.of_one_time(self.parted(line, bounds))
            else:
                self.one_step(line)
        elif line.lhs == sy.gap and sp.expand(line.rhs - sy.L * sy.Delta_T / 2) == 0:
            self.body.append(
                f"  assert ({self.names[label]} : {self.text(line, '')}).\n"
                "  { eapply Rle_trans; [apply (gap_at (M T) L (Ok T (le_n T))); assumption|]. lra. }\n"
            )
        elif line.lhs in OF_END and not self.of_numbers(line):
            known = [use for use in line.because if isinstance(use[1], d.Earlier | d.Given)]
            self.of_one_time(self.parted(line, known, last=True))
        else:
            self.of_one_time(line)

    def of_numbers(self, line: d.Step) -> bool:
        return isinstance(line.because, tuple) and all(
            not isinstance(fact, d.Averaged | d.Square | d.MeanCauchySchwarz | d.Young) for _, fact in line.because
        )

    def at(self, label: str, time: str) -> str:
        """A line where it is used at a step."""
        self.write(label)
        name = self.names[label]
        return f"({name} {time} Ht)" if self.moves(self.lines[label]) else name

    def of_one_time(self, line: d.Step) -> None:
        """A line about numbers, at a step or at none."""
        name, moves = self.names[line.label], self.moves(line)
        time = "t" if moves else ""
        made = self.number_line(name, (named(line.lhs), line.relation, named(line.rhs)), line, time)
        self.lemmas.append(made.text())
        quantified = "forall t, (t < T)%nat -> " if moves else ""
        self.body.append(
            f"  assert ({name} : {quantified}{self.text(line, time)}).\n  {{ "
            + ("intros t Ht. at_step M t Ht reg. " if moves else "at_start M. ")
            + f"\n    {made.instance(self.words(time or AT_START), 'sign')}. }}\n"
        )

    def number_line(self, name: str, sides: tuple[sp.Expr, str, sp.Expr], line: d.Step, time: str) -> NumberLine:
        """A line as a lemma about numbers."""
        facts = []
        if not isinstance(line.because, tuple):
            raise no_script(f"the line {line.label}")
        for multiplier, fact in line.because:
            if multiplier != 0:
                facts.append(self.fact(named(multiplier), fact, time))
        used = set().union(*(one.multiplier.free_symbols for one in facts))
        divisors = self.divisors((*sides[::2], *(one.multiplier for one in facts)))
        letters: dict[sp.Symbol, tuple[sp.Expr, str]] = {}
        for one, (value, label) in self.letters().items():
            divides = not label and value.free_symbols <= divisors
            if one in used or divides:
                why = f"pose proof {self.at(label, 't')} as U; lra" if label else "first [lra | nra]"
                even = label or divides or any(signed(fact.multiplier, one) for fact in facts)
                letters[one] = (named(value), why if even else "")
        positive = (sy.eta_sum, *[sy.T] * self.begun)
        return NumberLine(f"{name}_numbers", sides, facts, letters, self.defined(), positive)

    def divisors(self, numbers: Iterable[sp.Expr]) -> set[sp.Basic]:
        """The symbols of divisors from which something is taken: a letter must show that they are positive."""
        put = {one: value for one, (value, _) in self.defined().items()}
        bottoms = (sp.expand(one.xreplace(put)) for number in numbers for one in bottoms_of(named(number)))
        lessened = (one for one in bottoms if any(x.could_extract_minus_sign() for x in sp.Add.make_args(one)))
        return set().union(*(one.free_symbols for one in lessened))

    def defined(self) -> dict[sp.Symbol, tuple[sp.Expr, str]]:
        """Step sizes that the claim prescribes, and the symbols that it defines."""
        result: dict[sp.Symbol, tuple[sp.Expr, str]] = {}
        if self.claim.eta is not None:
            result[sy.eta] = (sp.sympify(self.claim.eta), "step_size")
        for symbol, value in self.claim.definitions.items():
            if symbol not in self.checked.abbreviations:
                result[symbol] = (sp.sympify(value), "reflexivity")
        return result

    def fact(self, multiplier: sp.Expr, fact: d.Fact, time: str) -> Fact:
        """A fact of numbers, and why it holds at the time."""
        one = sp.Integer(1)
        if isinstance(fact, d.Given):
            return Fact(multiplier, (sp.Integer(0), "<", one), "")
        if isinstance(fact, d.Earlier):
            line = self.lines[fact.label]
            if isinstance(line.because, d.Induction):
                self.write(fact.label)
                line = self.steady(line)
                why = f"exact ({self.names[fact.label]} T (le_n T))"
            else:
                why = f"exact {self.at(fact.label, time or 't')}"
            return Fact(multiplier, (named(line.lhs), line.relation, named(line.rhs)), why)
        if isinstance(fact, d.Hypothesis):
            line = self.steady(self.lines[fact.label])
            return Fact(multiplier, (named(line.lhs), "<=", named(line.rhs)), "exact IH")
        if isinstance(fact, d.Extreme):
            value = self.checked.abbreviations[fact.symbol]
            low, high = (fact.argument, fact.symbol) if isinstance(value, sp.Max) else (fact.symbol, fact.argument)
            return Fact(multiplier, (low, "<=", high), "extreme")
        if isinstance(fact, d.Cited):
            line = verified_proofs.checked_named(fact.derivation, self.checked.reading).derivation.steps[-1]
            ratio = _bounded_drift_of(line)
            if ratio is None or len(fact.discharged) > 1:
                raise no_script(f"the proof {fact.derivation}")
            label = f"cited {fact.derivation}"
            if label not in self.names:
                self.names[label] = f"line_{len(self.names)}"
                halved = [self.halving(self.lines[one]) for one in fact.discharged.values()]
                self.drift(replace(line, label=label), ratio, *halved)
            return Fact(multiplier, (named(line.lhs), "<=", named(line.rhs)), f"exact ({self.names[label]} t Ht)")
        if isinstance(fact, d.Premise):
            return self.premise(multiplier, fact, time)
        raise no_script(f"the fact {fact}")

    def premise(self, multiplier: sp.Expr, fact: d.Premise, time: str) -> Fact:
        part = given(self.checked.universe[fact.key], fact.points)
        if fact.key == "mean-model":
            self.body.append(f"  pose proof (models_end M T tau Ok (proj1 (proj2 reg)) {ALONG}) as End.\n")
            return Fact(multiplier, (sy.Delta_T, "<=", MODELS_T), "exact End")
        if fact.key in ("average", WEIGHTED_AVERAGE):
            return Fact(multiplier, self.mean_of_iterates(sp.expand(part.right - part.left)), "exact Average")
        if fact.key == "round-sums":
            j = int(fact.points[0])
            power = of.POWERS[j - 1]
            sides = (power.last, "<=", power.most(sy.T))
            return Fact(multiplier, sides, f"pose proof (round_sums_{j} M T tau ltac:(assumption) Whole) as U; lra")
        if named(part.right - part.left).atoms(Mean) or not named(part.right - part.left).free_symbols:
            raise no_script(f"the fact {fact.key}")
        why = FIRST_ROUND if fact.key == "first-round" else "first [assumption | lra | nra]"
        return Fact(multiplier, (named(part.left), part.sign, named(part.right)), why)

    def mean_of_iterates(self, convexity: sp.Expr) -> tuple[sp.Expr, str, sp.Expr]:
        """F at the claim's mean of the iterates, times the total weight, against the sum of weighted gaps."""
        mean = sp.sympify(self.claim.lhs)
        total, words, weights = -convexity.coeff(mean), self.words("T"), averaging_weights(mean)
        sides = (mean * total, "<=", sp.expand(convexity + mean * total))
        left, right = f"({number(total, words)}) * {words[str(mean)]}", number(sides[2], words)
        convex = "assumption" if self.convex else "apply (strong_is_convex P mu); [lra | assumption]"
        lemma, why, by = "mean_gap M T n odds W", "assumption", ""
        if weights is not None:
            weight = f"(fun s => {step_statement.weights_in_words(weights)})"
            lemma, positive = f"weighted_gap M T n odds W {weight}", "intros s Hs; step_weight reg s"
            why = f"intros s Hs; apply Rlt_le; step_weight reg s | apply sum_positive; [assumption | {positive}]"
            if weights != sy.eta:
                closed = f"(fun m => {number(total, {**words, 'T': 'INR m'})})"
                by = f"    rewrite <- (total_of {weight} {closed} ltac:(simpl; field)\n"
                by += "      ltac:(intros m; rewrite S_INR; field) T).\n"
        shown = (
            f"  assert (Average : {number(sides[0], words)} <= {right}).\n"
            f"  {{ cut ({left} <= {right}); [intros A; first [exact A | rewrite Rmult_comm; exact A] |].\n{by}"
            f"    apply ({lemma}); [apply ok0 | {convex} | {why} | assumption |].\n"
            "    intros s Hs. apply (expected_const (M s) (Ok s (Nat.lt_le_incl _ _ Hs))). }\n"
        )
        if shown not in self.body:
            self.body.append(shown)
        return sides

    def induction(self, line: d.Step, rule: d.Induction) -> None:
        """The line at 0, and from each time to the next."""
        name, line = self.names[line.label], self.steady(line)
        spoken = [one for one in (sy.T, *self.sequences) if named(line.lhs - line.rhs).has(one)]
        later = {one: sp.Symbol(f"{one}_after", **{_sign(one): True}) for one in spoken}
        timed = {one: "INR {}" if one == sy.T else self.sequences[one][0] for one in spoken}
        sides = tuple(named(side).xreplace(later) for side in (line.lhs, line.rhs))
        base, carry = (self.lines[label] for label in (rule.base, rule.step))
        texts = []
        for k, (part, time) in enumerate(((base, ""), (carry, "t"))):
            made = self.number_line(f"{name}_{k}", (sides[0], "<=", sides[1]), part, time)
            words = self.words("t" if k else AT_START)
            for symbol, there in later.items():
                words[there.name] = timed[symbol].format("(Datatypes.S t)" if k else "0%nat")
                made.defined[there] = self._value(symbol, k)
            if k:  # the line at t, in the symbols of time T
                words |= {symbol.name: text.format("t") for symbol, text in timed.items()}
                made.defined |= {symbol: (self.now(symbol), "reflexivity") for symbol in later}
            for base_of, exponent in powers_of(sides):
                here = made.powers.setdefault((base_of, exponent), sp.Symbol(f"power_{len(made.powers)}", real=True))
                if k:
                    fresh = sp.Symbol(f"power_{len(made.powers)}", real=True)
                    before = made.powers.setdefault((base_of, sy.T), fresh)
                    made.defined[here] = (before * base_of, "simpl; ring")
                else:
                    made.defined[here] = (sp.Integer(1), "reflexivity")
            self.lemmas.append(made.text())
            texts.append(f"{made.instance(words, 'sign')}.")
        words = self.words("t") | {"T": "INR t"}
        words |= {one.name: text.format("t") for one, (text, *_) in self.sequences.items()}
        whole = f"{number(line.lhs, words)} <= {number(line.rhs, words)}"
        self.body.append(
            f"  assert ({name} : forall t, (t <= T)%nat -> {whole}).\n"
            f"  {{ induction t as [|t IH]; intros Ht'.\n    - at_start M. {texts[0]}\n"
            f"    - assert (Ht : (t < T)%nat) by lia. specialize (IH (Nat.lt_le_incl _ _ Ht)). at_step M t Ht reg.\n"
            f"      {texts[1]} }}\n"
        )

    def _value(self, symbol: sp.Expr, place: int) -> tuple[sp.Expr, str]:
        """What a quantity at time T is at 0, and at t + 1."""
        if symbol == sy.T:
            return (sy.t + 1, "apply S_INR") if place else (sp.Integer(0), "reflexivity")
        _, start, _, following = self.sequences[symbol]
        return (following, "simpl; ring") if place else (start, "reflexivity")

    def parted(self, line: d.Step, known: Sequence[d.Use], last: bool = False) -> d.Step:
        """A line about one step, or the last point, as what one without ``known`` facts shows with them."""
        letters = {symbol: value for symbol, (value, _) in self.letters().items()}
        value = sum((m * self.difference(fact) for m, fact in known), sp.Integer(0)).xreplace(letters)
        rest = tuple(use for use in line.because if use not in known)  # type: ignore[union-attr]
        step = replace(line, label=f"{line.label}{ALONE}", because=rest, rhs=collected(line.rhs - value))
        self.names[step.label] = f"line_{len(self.names)}"
        self.extra[step.label] = step
        self.one_step(step, last)
        return replace(line, because=((sp.Integer(1), d.Earlier(step.label)), *known))

    def difference(self, fact: d.Fact) -> sp.Expr:
        """What a fact says is not negative."""
        line = self.of_drift(fact) or (self.lines[fact.label] if isinstance(fact, d.Earlier) else None)
        return sp.Integer(1) if line is None else line.rhs - line.lhs

    def of_drift(self, fact: d.Fact) -> d.Step | None:
        """The line that bounds the drift which a fact is."""
        line = None
        if isinstance(fact, d.Earlier):
            line = self.lines[fact.label]
        if isinstance(fact, d.Cited):
            line = verified_proofs.checked_named(fact.derivation, self.checked.reading).derivation.steps[-1]
        return line if line is not None and line.lhs == sy.drift else None

    def bounded_drift(self, line: d.Step) -> sp.Expr | None:
        """The square of the ratio of steps, where a line bounds the drift by that of gradients within G."""
        return None if self.of_scalars(line) else _bounded_drift_of(line)

    def halving(self, line: d.Step) -> str:
        """That an earlier step of the round is at most a multiple of this one."""
        self.names[line.label] = name = f"line_{len(self.names)}"
        made = self.number_line(name, (named(line.lhs), line.relation, named(line.rhs)), line, "t")
        made.defined[ETA_S] = (named(self.checked.schedule[of.ETA_S]), "step_size")
        self.lemmas.append(made.text())
        words = self.words("t") | {"eta_s": "eta (M s)", "m_s": f"INR s + ({self.shorthands['gamma']})"}
        self.body.append(
            f"  assert ({name} : forall s t, (t < T)%nat -> (s <= t)%nat -> (t < s + tau)%nat -> "
            f"{number(line.lhs, words)} <= {number(line.rhs, words)}).\n"
            "  { intros s t Ht Hs Hr. pose proof (pos_INR s). pose proof (pos_INR t). pose proof (pos_INR tau).\n"
            "    assert (INR t + 1 <= INR s + INR tau) by (rewrite <- S_INR, <- plus_INR; apply le_INR; lia).\n"
            f"    {made.instance(words, 'sign')}. }}\n"
        )
        return f"apply ({name} s t Ht Hs Hr)"


def _sign(symbol: sp.Symbol) -> str:
    return "positive" if symbol.is_positive else "nonnegative" if symbol.is_nonnegative else "real"


def _bounded_drift_of(line: d.Step) -> sp.Expr | None:
    if line.lhs == sy.drift and line.relation == "<=":
        for count in (of.n, sy.tau - 1):
            number = sp.cancel(line.rhs / (sy.eta**2 * count**2 * sy.G_sq))
            if number in (1, 4):
                return number
    return None
