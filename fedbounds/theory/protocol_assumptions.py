"""Assumptions on how a run is made: its step sizes, who is selected, and which weighting it has.

>>> without_replacement.key, weighting("fedmax:3").key
('selection-without-replacement', 'weighting-fedmax:3')
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory.assumption import Assumption, InstanceLike, RunLike
from fedbounds.theory.symbols import T, T_run, eta, eta_0, m, q

Found = tuple[bool, str]
Values = Mapping[str, Fraction]
WEIGHTING = "weighting-"

constant_steps = Assumption(
    "constant-steps",
    "every step size is eta_0",
    sp.Eq(eta, eta_0),
    observed="eta_{t:g} = {eta:.4g}, eta_0 = {eta_0:.4g}",
)

# Of steps that are tuned to T, which are those of one horizon each.
at_the_end = Assumption("own-horizon", "T is the last step of the run, to which its steps are tuned", sp.Eq(T, T_run))


def _drawn(count: Any, rule: str) -> Found:
    return bool(count > 0 and rule in ("fedavg", "uniform")), f"m = {count}, weighting {rule}"


without_replacement = Assumption(
    "selection-without-replacement",
    "m of N clients, drawn uniformly without replacement each round, share the weight equally",
    sp.Gt(m, 0, evaluate=False),
    on_run=lambda run: _drawn(int(run.constant("m").value), run.weighting),
    exactly=lambda instance, values: _drawn(values["m"], instance.weighting),
)


def _by_p(rule: str) -> Found:
    return rule.startswith("multinomial:"), f"the weighting is {rule}"


with_replacement = Assumption(
    "selection-with-replacement",
    "m clients, drawn with replacement by p_i each round, share the weight equally",
    sp.Gt(m, 0, evaluate=False),
    on_run=lambda run: _by_p(run.weighting),
    exactly=lambda instance, values: _by_p(instance.weighting),
)
independent_selection = Assumption(
    "independent-selection",
    "each client takes part in a round with probability q, whoever else does; where none does the model stays",
    sp.Gt(q, 0, evaluate=False),
    in_class=lambda setting: (False, "in a round of the class somebody takes part"),
)

# Of other algorithms than what is run here, so that no evidence speaks of a claim with one of them.
projection = Assumption("projection", "every global model is projected onto a convex set")
own_local_steps = Assumption("own-local-steps", "client i takes a number tau_i of local steps of its own")
NEVER_RUN = (projection, own_local_steps)


def _of_fedavg(*of_fedavg: Any) -> Found:
    return False, "what is examined here is FedAvg"


def _any(*of_run: Any) -> Found:
    return True, "eta_s is that of the run"


with_server_step = Assumption(
    "server-step",
    "a round ends in w + eta_s (sum_i alpha_i x_i - w)",
    on_run=_any,
    exactly=_any,
    in_class=_of_fedavg,
)


def of_the_algorithm(other: str, server_step: bool) -> tuple[Assumption, ...]:
    """What a claim assumes of the algorithm: another one, unless "", which no evidence on FedAvg meets."""
    if not other:
        return (with_server_step,) * server_step
    text = f"the algorithm is {other}"
    return (Assumption("algorithm", text, on_run=_of_fedavg, exactly=_of_fedavg, in_class=_of_fedavg),)


def assumed_weightings(assumptions: Iterable[Assumption]) -> list[str]:
    """The weightings that are assumed by name."""
    return [item.key.removeprefix(WEIGHTING) for item in assumptions if item.key.startswith(WEIGHTING)]


@cache
def weighting(rule: str) -> Assumption:
    """That a run has one weighting: ``fedmax``, ``fedmax:3``, ``fedsoftmax:0.5`` or ``fixed``; none for any."""
    if not isinstance(rule, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*(:[\w.,-]+)?", rule):
        remedy = "write one that fedbounds check --weighting takes, as fedmax:3"
        raise reject("a weighting must be named", repr(rule), remedy)

    def on_run(run: RunLike) -> Found:
        return run.weighting == rule, f"the weighting is {run.weighting}"

    def exactly(instance: InstanceLike, values: Values) -> Found:
        return instance.weighting == rule, f"the weighting is {instance.weighting}"

    return Assumption(f"{WEIGHTING}{rule}", f"the weighting is {rule}", on_run=on_run, exactly=exactly)
