"""One section a claim: what it states, what it assumes, and what each kind of evidence says of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from markupsafe import Markup

from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.library import verdict_of
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.evidence.symbolic.render import RELATIONS, names, reasons, verdict_line
from fedbounds.report.claim_text import claim_answer
from fedbounds.report.describe import SCOPES, describe
from fedbounds.report.html.mathml import addend, formula, latex, math, mixed, pieces, prose
from fedbounds.report.html.pictures import Picture
from fedbounds.report.number_format import readable
from fedbounds.report.table import Bullets, Cell, Phrase, Table
from fedbounds.study.ledger import ANYWHERE, Line
from fedbounds.study.result import Result, WeightingRun
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence, Status


@dataclass(frozen=True)
class Proof:
    """A derivation with its check, and its formulas as MathML."""

    checked: Checked

    @property
    def derivation(self) -> Derivation:
        return self.checked.derivation

    @property
    def verdict(self) -> str:
        return verdict_line(self.checked, verdict_of(self.checked))

    @property
    def good(self) -> int:
        return sum(outcome.ok for outcome in self.checked.outcomes.values())

    @cached_property
    def _known(self) -> Mapping[str, str]:
        return names(self.checked)

    def line(self, left: sp.Expr, relation: str, right: sp.Expr) -> Markup:
        """One displayed line, which may break between the terms of its right side."""
        return Markup("{} {} {}").format(math(left, self._known), formula(RELATIONS[relation]), self.terms(right))

    def terms(self, expression: sp.Expr) -> Markup:
        return Markup(" ").join(pieces(expression, self._known))

    def conditions(self) -> list[tuple[Markup, str]]:
        """What is taken to be non-negative, and why."""
        signs = {True: ">", False: r"\ge"}
        return [
            (formula(f"{latex(c.expression, self._known)} {signs[c.strict]} 0"), c.why)
            for c in self.checked.conditions
        ]

    def because(self, step: Step) -> list[Markup]:
        data = reasons(step, lambda multiplier: f"\0{latex(multiplier, self._known)}\0")
        return [mixed(reason.replace("\0 x ", "\0 × ")) for reason in data]


SIGNS = {Kind.INEQUALITY: r"\le", Kind.IDENTITY: "="}


@dataclass(frozen=True)
class Section:
    """A claim with the evidence that is about it, as the page shows it."""

    claim: Claim
    runs: Table
    details: Bullets
    assumptions: Table
    picture: Picture | None
    evidence: Markup
    answer: str

    @property
    def scope(self) -> str:
        return f"for {SCOPES[self.claim.scope]}"

    @property
    def left(self) -> Markup:
        relation = SIGNS.get(self.claim.kind, "=")
        return Markup("{} {}").format(math(self.claim.lhs), formula(relation))

    @property
    def terms(self) -> list[tuple[str, Markup]]:
        """Name and formula of each term of the right side; a lone one needs no name to tell it from others."""
        if self.claim.kind is Kind.RATE:
            return [("", formula("O(1/T)"))]
        named = [(name, latex(term)) for name, term in self.claim.terms.items()] or [("", "0")]
        alone = len(named) == 1
        return [("" if alone else name, addend(text, first=k == 0)) for k, (name, text) in enumerate(named)]

    @property
    def where(self) -> Markup:
        step = [] if self.claim.eta is None else [(symbols.eta, self.claim.eta)]
        pairs = [*step, *self.claim.definitions.items()]
        return Markup(", ").join(formula(f"{latex(name)} = {latex(value)}") for name, value in pairs)

    @property
    def becomes(self) -> Markup:
        put = self.claim.repair.substitutions if self.claim.repair else {}
        return Markup(", ").join(formula(rf"{latex(a)} \mapsto {latex(b)}") for a, b in put.items())

    @property
    def symbols(self) -> list[tuple[Markup, str]]:
        claim = self.claim
        parts = (claim.lhs, *claim.terms.values(), *claim.definitions.values(), claim.eta or 0)
        used = {symbol.name for part in parts for symbol in sp.sympify(part).free_symbols}
        quantities = {**QUANTITIES, **{quantity.name: quantity for quantity in claim.computed}}
        return [(formula(quantity.latex), quantity.meaning) for name, quantity in quantities.items() if name in used]

    @property
    def readings(self) -> list[tuple[str, str]]:
        return [(name, READINGS[name].summary) for name in self.claim.readings]


def section(
    claim: Claim, lines: Iterable[Line], result: Result, picture: Picture | None, evidence: Markup
) -> Section:
    own = [line for line in lines if line.claim.key == claim.key]
    return Section(
        claim,
        run_table(claim, own, result),
        details(own),
        assumption_table(claim, result.runs),
        picture,
        evidence,
        claim_answer(own),
    )


def run_table(claim: Claim, lines: Iterable[Line], result: Result) -> Table:
    """What the runs say of a claim: a row a reading and kind of evidence, a status and its looseness a weighting."""
    names = [run.weighting for run in result.runs]
    body: list[list[object]] = []
    for kind in (Evidence.EMPIRICAL, Evidence.EXPECTATION):
        for line in lines:
            values = [next(iter(line.verdicts(kind, name)), None) for name in names]
            if any(values):
                head = Markup('{} <span class="quiet">{}</span>').format(line.reading, kind.label.lower())
                body.append([head, *(None if verdict is None else describe(verdict) for verdict in values)])
    caption = "Status, bound / measured (how loose) and the step where the two come nearest, for each weighting"
    return Table.of(["Reading", *names], body, caption)


def details(lines: Iterable[Line]) -> Bullets:
    """The grounds of the verdicts on a claim, with what each covers; weightings that say the same share an item."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        for where, verdict in line.found:
            key = f"{line.reading}, {verdict.evidence.label.lower()}"
            groups.setdefault((key, line.grounds(verdict)), []).extend([] if where == ANYWHERE else [where])
    items = [
        f"{key}{f', {chr(44).join(dict.fromkeys(names))}' if names else ''}: {readable(message)}"
        for (key, message), names in groups.items()
    ]
    return Bullets("On which grounds", tuple(items))


def assumption_table(claim: Claim, runs: Sequence[WeightingRun]) -> Table:
    """Every assumption of a claim, with whether it is met under each weighting as the empirical verdicts say."""
    stated = claim.assumptions_in(READINGS["literal"])
    keys = {assumption.key for assumption in stated}
    added = [item for item in claim.assumptions_in(READINGS["repaired"]) if item.key not in keys]
    body = []
    for item in (*stated, *added):
        note = Markup(' <em class="quiet">repaired reading only</em>') if item in added else ""
        body.append([prose(item.statement) + note, *(_met(claim, item, run) for run in runs)])
    names = (run.weighting for run in runs)
    return Table.of(["Assumption", *names], body, "Is each assumption met on this run?")


def _met(claim: Claim, assumption: Assumption, run: WeightingRun) -> Cell:
    """A claim applies only where every assumption is met, and otherwise names each that is not."""
    met = False
    for verdict in run.verdicts:
        if verdict.claim != claim.key or verdict.evidence is not Evidence.EMPIRICAL:
            continue
        failure = next((item for item in verdict.failed if item.key == assumption.key), None)
        if failure is not None:
            return Cell(
                (
                    Phrase(
                        Markup('<span class="tick no">✗ <span class="word">fails</span></span>'),
                        None,
                        prose(failure.found),
                    ),
                )
            )
        needed = assumption.key in {item.key for item in claim.assumptions_in(READINGS[verdict.reading])}
        met = met or (needed and bool(verdict.failed or verdict.status is not Status.NOT_APPLICABLE))
    if met:
        return Cell((Phrase(Markup('<span class="tick yes">✓ <span class="word">met</span></span>')),))
    return Cell((Phrase(Markup('<span class="quiet">not examined</span>')),))
