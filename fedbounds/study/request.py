"""What a study was asked for, resolved and validated once, before any work: objects in place of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from fedbounds import plugins
from fedbounds.engine.contracts.problem import admitted
from fedbounds.engine.rng import HashedStream
from fedbounds.errors import quoted, reject
from fedbounds.evidence.measured_run import Policy
from fedbounds.model.problem import Problem
from fedbounds.model.weighting import Rule, Weighting, as_weighting
from fedbounds.plugins import claim_named, modules_from, weighting_named
from fedbounds.study.objects_from_settings import (
    GROUPS,
    build_experiment,
    build_problem,
    default_weightings,
    fitting_stride,
    name_checks,
)
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim, Role


@dataclass(frozen=True)
class Request:
    """A study's ``settings`` and the objects that they stand for.

    ``objects`` names what was given as an object of Python.
    """

    settings: Settings
    problem: Problem
    weightings: tuple[Weighting, ...]
    claims: Mapping[str, Claim]
    policy: Policy
    objects: tuple[str, ...]


def resolve(
    problem: str | Problem | None,
    weightings: Sequence[str | Weighting | Rule] | None,
    claims: Sequence[str | Claim] | None,
    settings: Mapping[str, Any],
) -> Request:
    """The request that `fedbounds.check` is given. Raises InputError for whatever cannot be examined."""
    _require_objects(problem, weightings, claims)
    weightings, claims = _listed(weightings), _listed(claims)
    named = {
        "problem": problem if isinstance(problem, str) else None,
        "weightings": [w if isinstance(w, str) else as_weighting(w).to_text() for w in weightings],
        "claims": [c if isinstance(c, str) else c.key for c in claims],
    }
    chosen = Settings.of({name: value for name, value in named.items() if value not in (None, [])} | dict(settings))
    extra = modules_from(chosen.plugins)
    _check_names(chosen, extra, user_problem=isinstance(problem, Problem))
    policy = Policy(chosen.sigma_sq, chosen.G_sq)
    target = admitted(problem) if isinstance(problem, Problem) else build_problem(chosen, extra)
    chosen = replace(chosen, weightings=chosen.weightings or default_weightings(target.N))
    theorems = select_claims(claims or chosen.claims, extra)
    schemes = [weighting_named(w, extra) if isinstance(w, str) else as_weighting(w) for w in weightings]
    schemes = schemes or [weighting_named(text, extra) for text in chosen.weightings]
    for scheme in schemes:
        # Asked once before any long work, so that k > N is refused at once.
        scheme.bind(target)(target.p, np.ones((1, target.N)), 0, HashedStream(0, [0], 0))
        admitted(target, scheme)
    chosen = replace(chosen, stride=fitting_stride(chosen, build_experiment(chosen, target, schemes[0])))
    objects = ["problem"] if isinstance(problem, Problem) else []
    objects += [f"weighting {as_weighting(item).name}" for item in weightings if not isinstance(item, str)]
    # What is named alone is shipped: then not all claims are loaded.
    shipped = plugins.claims(extra) if any(isinstance(item, Claim) for item in claims) else theorems
    objects += [f"claim {key}" for key, claim in theorems.items() if shipped.get(key) != claim]
    return Request(chosen, target, tuple(schemes), theorems, policy, tuple(objects))


def _require_objects(problem: object, weightings: object, claims: object) -> None:
    """Refuse what is neither a name nor an object, before it fails somewhere else (weightings: `as_weighting`)."""
    if not isinstance(problem, str | Problem | None):
        raise reject("a problem must be a name or a Problem", quoted(problem), 'use for example "least-squares"')
    for name, given in (("weightings", weightings), ("claims", claims)):
        if given is not None and not isinstance(given, str | Sequence):
            raise reject(f"{name} must be a list", quoted(given), f'use for example {name}=["..."]')
    for item in _listed(claims):
        if not isinstance(item, str | Claim):
            raise reject("a claim must be a name or a Claim", quoted(item), "use a key that `fedbounds claims` lists")


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else list(given or ())


def _check_names(settings: Settings, extra: Sequence[ModuleType], user_problem: bool) -> None:
    """Refuse a name that names nothing, before any work; those given as objects name themselves."""
    for name, test in name_checks(extra).items():
        value = getattr(settings, name)
        if name in ("weightings", "claims") or (user_problem and name in ("problem", "partition")):
            continue
        for text in value if isinstance(value, tuple) else (value,):
            if text is not None:
                test(text)


def select_claims(wanted: Sequence[str | Claim], extra: Sequence[ModuleType] = ()) -> dict[str, Claim]:
    """The claims named by key, by a group of `GROUPS`, or given; those of "paper" if none is named."""
    chosen: dict[str, Claim] = {}
    for item in wanted or ("paper",):
        if isinstance(item, str) and item in GROUPS:
            chosen |= claims_in(item, extra)
        else:
            claim = claim_named(item, extra) if isinstance(item, str) else item
            chosen[item if isinstance(item, str) else item.key] = claim
    return chosen


def claims_in(group: str, extra: Sequence[ModuleType] = ()) -> dict[str, Claim]:
    """The claims about FedAvg of one of `GROUPS`; "paper" includes the reader's own, those of ``extra`` modules."""
    if group == "paper" and not extra:
        return {claim.key: claim for claim in plugins.with_role(Role.HEADLINE)}
    every = plugins.on_fedavg(plugins.claims(extra))
    user_defined = {claim.key for module in extra for claim in getattr(module, "CLAIMS", ())}
    wanted = (key for key, claim in every.items() if Role.HEADLINE in claim.roles or key in user_defined)
    return every if group == "all" else {key: every[key] for key in wanted}
