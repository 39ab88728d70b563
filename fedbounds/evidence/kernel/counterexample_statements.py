"""Counterexamples as propositions about fractions that Rocq computes (`derivations/rocq/Fractions.v`).

Of a claim: the instance is of the class, meets the claim's relations, and its two sides, made of the claim's own
terms, are the stored ones and in the wrong order. Of a remark: the same of the two numbers it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.exact.counterexamples import Counterexample, reading_named
from fedbounds.evidence.exact.instance import Instance, Rows, Vector
from fedbounds.evidence.exact.instance_json import fraction, from_json, rows, vector
from fedbounds.evidence.kernel.claim_statement import OWNED
from fedbounds.evidence.kernel.rocq_terms import rocq
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import in_scope

RELATIONS = {"<": "<", "<=": "<=", "=": "=="}
GAMMA_0 = "Gamma {instance} == 0"
RIVAL, GREEDY = "(under {instance} (Fixed {weights}))", "(under {instance} (FedMax 1))"


@dataclass(frozen=True)
class Remark:
    """The two numbers of a remark, what it asks of its data, and its relation; braces hold the data."""

    lhs: str
    rhs: str
    needs: tuple[str, ...] = ()
    relation: str = "<="


STEP = "(fun s Delta => (1 - {beta} / s * {mu} * {B}) * Delta + ({beta} / s) ^ 2 * {C} + {beta} / s * {D})"
LIMIT = "(({beta} ^ 2 * {C} + {D} * {beta} * (number {t} + {gamma})) / ({beta} * {mu} * {B} - 1))"
REMARKS: Mapping[str, Remark] = {
    "induction": Remark(
        f"inductive {STEP} {{Delta_0}} {{gamma}} {{t}}",
        f"Qmax ({{gamma}} * {{Delta_0}}) {LIMIT} / (number {{t}} + {{gamma}})",
        ("1 < {beta} * {mu} * {B}", "0 < {gamma}", "0 <= {C}", "0 <= {Delta_0}"),
    ),
    "fedmax-skew": Remark(f"rho_bar {RIVAL}", f"rho_bar {GREEDY}", (GAMMA_0,)),
    "fedmax-gap": Remark(
        f"gap {GREEDY} by_alpha (horizon {{instance}})", f"gap {RIVAL} by_alpha (horizon {{instance}})", (GAMMA_0,)
    ),
    "error-free-iid": Remark("nth 0 (losses {instance} {w}) 0", "nth 1 (losses {instance} {w}) 0", (GAMMA_0,), "="),
    "fedmax-k-poc": Remark(
        "nth {client} (largest {k} (excess {instance} {w})) 0",
        "nth {client} (largest {k} (losses {instance} {w})) 0",
        relation="=",
    ),
    "fedmax-tie": Remark(
        "most (map (fun m => chosen (alpha m)) (seen {instance}))",
        "1",
        ("chosen (alpha (at_time {instance} 0)) == 1",),
    ),
    "equation-2": Remark("first_of (late {instance}) 0", "first_of (late {instance}) 1", relation="="),
    "seen-noise": Remark("A_2 {instance} {noise}", "0", relation="="),
    "softmax-limits": Remark(
        "Qmin (last (softmax {p} {e} {x}) 0) (hd 0 (softmax {p} {e} {x}) - 1 / number {k})",
        "0",
        ("1 < {x}", "whole {e}"),
    ),
}


def proposition(example: Counterexample) -> str:
    """A Rocq file with ``statement : Prop`` of a counterexample; InputError where it is not about fractions alone."""
    named, wanted = _about_remark(example) if "check" in example.document else _about_claim(example)
    definitions = "".join(f"Definition {name} : Instance := {_instance(value)}.\n" for name, value in named.items())
    body = " /\\\n  ".join(wanted)
    return (
        "(* Written from the file of a counterexample; do not edit. *)\n"
        f"Require Import Fractions.\n\n{definitions}Definition statement : Prop :=\n  {body}.\n"
    )


def _about_claim(example: Counterexample) -> tuple[Mapping[str, Instance], list[str]]:
    claim, instance = example.claim(), from_json(example.document["instance"])
    _supported(instance, example)
    wanted = ["in_class I"]
    if claim.kind is Kind.RATE:
        # Every client's weight stays, the step is zero whatever its size, and the gap is not.
        wanted += ["norm_sq (centre (alpha (at_time I 0)) (slopes I (w0 I))) == 0", "0 < gap I by_alpha 0"]
        return {"I": instance}, wanted
    for reading in map(reading_named, (example.document["reading"], *example.document.get("also", ()))):
        wanted += _refuted(claim, reading, instance, example)
        if "substitution" in example.document:  # the claim as it stands fails too, not only when half repaired
            formula, words = claim_named(claim.key).sides(reading), _words("I", reading, example.document["t"])
            wanted.append(f"{_term(formula.rhs, words)} < {_term(formula.lhs, words)}")
    return {"I": instance}, wanted


def _refuted(claim: Claim, reading: Reading, instance: Instance, example: Counterexample) -> Iterator[str]:
    """The relations that the claim assumes, at every step that they speak of, and its two sides."""
    yield from _assumed(claim, reading, instance, example.document["t"])
    words, formula = _words("I", reading, example.document["t"]), claim.sides(reading)
    yield from _wrong(
        _term(formula.lhs, words), _term(formula.rhs, words), "=" if claim.kind is Kind.IDENTITY else "<=", example
    )


def _assumed(claim: Claim, reading: Reading, instance: Instance, end: int | None, name: str = "I") -> Iterator[str]:
    """The relations assumed, at every step or at the ``end``; what is no relation must be of the class."""
    assumptions = claim.assumptions_in(reading)
    for one in assumptions:
        if not one.parts and not any(one is built_in for built_in in OWNED.values()):
            raise reject("Rocq must check all that a refuted claim assumes", one.key, "give it as a relation")
    for part in (part for assumption in assumptions for part in assumption.parts):
        symbols = {symbol.name for symbol in (part.left - part.right).free_symbols}
        once = ((end or 0),) if symbols & in_scope("horizon").keys() else (0,)
        for t in range(instance.total) if symbols & in_scope("step").keys() else once:
            words = _words(name, reading, t)
            yield f"{_term(part.left, words)} {RELATIONS[part.sign]} {_term(part.right, words)}"


def _wrong(lhs: str, rhs: str, relation: str, example: Counterexample) -> Iterator[str]:
    """The stored sides are those computed, and the relation fails between them."""
    for side, text in (("lhs", lhs), ("rhs", rhs)):
        yield f"{text} == {_number(fraction(example.document[side]))}"
    yield f"{rhs} < {lhs}" if relation == "<=" else f"~ {lhs} == {rhs}"


def _about_remark(example: Counterexample) -> tuple[Mapping[str, Instance], list[str]]:
    check, data = example.document["check"], dict(example.document["data"])
    named = {key: from_json(data[key]) for key in ("instance", "first", "second") if key in data}
    for instance in named.values():
        _supported(instance, example, noise=check == "seen-noise")
    if check in REMARKS:
        remark, words = REMARKS[check], _data(data) | {name: name for name in named}
        words |= {"noise": _list(named["instance"].noise)} if check == "seen-noise" else {}
        lhs, rhs, *needs = (text.format(**words) for text in (remark.lhs, remark.rhs, *remark.needs))
        return named, [*needs, *_wrong(lhs, rhs, remark.relation, example)]
    if check not in OF_A_BOUND or "terms" in data:
        raise reject("a counterexample in Rocq must be rational", f"{check} of {example.name}", "use our intervals")
    claim = claim_named(data["claim"])
    return named, list(OF_A_BOUND[check](example, claim, named))


def _depends(example: Counterexample, claim: Claim, named: Mapping[str, Instance]) -> Iterator[str]:
    """A term differs between two instances that agree in the symbols it is said to depend on."""
    data, reading = example.document["data"], reading_named(claim.readings[0])
    first, second = (_words(name, reading, 0) for name in named)
    yield from (f"{first[name]} == {second[name]}" for name in data["same"])
    term = claim.terms[data["term"]]
    yield from _wrong(_term(term, first), _term(term, second), "=", example)


def _at_the_end(example: Counterexample, claim: Claim, named: Mapping[str, Instance]) -> Iterator[str]:
    """A bound at the end of a run against that of a second run, or against ``factor`` times what it bounds."""
    reading = reading_named(claim.readings[0])
    sides = []
    for name, instance in named.items():
        yield f"in_class {name}"
        yield from _assumed(claim, reading, instance, instance.total, name)
        words, formula = _words(name, reading, instance.total), claim.sides(reading)
        sides += [
            _term(formula.rhs, words),
            f"{_number(fraction(example.document['data'].get('factor', 1)))} * ({_term(formula.lhs, words)})",
        ]
    yield from _wrong(sides[0], sides[2 if len(sides) > 2 else 1], "<=", example)


def _negative(example: Counterexample, claim: Claim, named: Mapping[str, Instance]) -> Iterator[str]:
    """A one-step inequality over the first step, with weights of sum 1 and any sign."""
    alpha, e = _list(vector(example.document["data"]["alpha"])), "(excess instance (w0 instance))"
    words = _words("instance", reading_named(claim.readings[0]), 0)
    words |= {"rho_bar": f"dot {alpha} {e} / dot (p instance) {e}"}
    moved = f"descend instance ({words['eta']}) (everywhere instance (w0 instance))"
    yield from ("in_class instance", f"total {alpha} == 1", GAMMA_0.format(instance="instance"))
    left = f"norm_sq (minus (centre {alpha} ({moved})) (w_star instance))"
    yield from _wrong(left, _term(claim.rhs, words), "<=", example)


OF_A_BOUND = {
    "pi-alone": _depends,
    "without-loss": _at_the_end,
    "fedmax-speed": _at_the_end,
    "tight": _at_the_end,
    "negative-alpha": _negative,
}


def _term(expression: sp.Expr, words: Mapping[str, str]) -> str:
    return rocq(expression, words, "Q")


def _words(name: str, reading: Reading, t: int | None) -> dict[str, str]:
    """Symbol -> its term over fractions, of the instance of this name at time t."""
    time, how = t or 0, f"by_{reading.virtual}"
    constants = {s: f"{s} {name}" for s in ("L", "mu", "Gamma", "G_sq", "rho_tilde", "pi_min", "pi_max", "eta_ratio")}
    return constants | {
        "rho_bar": f"rho_bar{'_sync' if reading.skew == 'sync' else ''} {name}",
        "sigma_sq": "0",
        "C": "1",
        "tau": f"number (tau {name})",
        "N": f"number (length (p {name}))",
        "p_min": f"least (p {name})",
        "Delta_0": f"Delta {name} {how} 0",
        "eta": f"size (at_time {name} {time})",
        "Delta": f"Delta {name} {how} {time}",
        "Delta_next": f"Delta {name} {how} {time + 1}",
        "drift": f"drift {name} {how} {time}",
        "gap": f"gap {name} {how} {time}",
        "t": f"number {time}",
        "T": f"number {time}",
    }


def _supported(instance: Instance, example: Counterexample, noise: bool = False) -> None:
    if (any(instance.noise) and not noise) or instance.present < instance.N or instance.q or not instance.plain:
        what = f"{example.name} has noise, absent clients, a server step, or losses that are no diagonal quadratics"
        raise reject("a counterexample in Rocq must have full gradients and every client", what, "use our checker")


def _instance(instance: Instance) -> str:
    key, _, k = instance.weighting.partition(":")
    how = {"fedavg": "FedAvg", "fedmax": f"FedMax {int(k or 1)}", "fixed": f"Fixed {_table(instance.weights)}"}[key]
    lists = {name: _table(getattr(instance, name)) for name in ("curvatures", "minima")}
    lists |= {name: _list(getattr(instance, name)) for name in ("p", "floor", "w0", "eta")}
    numbers = {"tau": f"{instance.tau}", "weighting": how, "L": _number(instance.L), "mu": _number(instance.mu)}
    return "{| " + "; ".join(f"{name} := {text}" for name, text in (lists | numbers).items()) + " |}"


def _data(data: Mapping[str, Any]) -> dict[str, str]:
    """The data of a remark as terms: whole numbers where JSON has them, else fractions and lists of these."""
    terms: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, int):
            terms[name] = str(value)
        elif isinstance(value, str):
            terms[name] = _number(fraction(value))
        elif isinstance(value, list):
            terms[name] = _table(rows(value)) if isinstance(value[0], list) else _list(vector(value))
    return terms


def _number(x: Fraction) -> str:
    return f"({x.numerator} # {x.denominator})" if x.denominator > 1 else str(x) if x >= 0 else f"({x})"


def _list(numbers: Vector) -> str:
    return "[" + "; ".join(map(_number, numbers)) + "]"


def _table(numbers: Rows) -> str:
    return "[" + "; ".join(map(_list, numbers)) + "]"
