"""What a trial covered, in words: certified settings, what was tried, and what the claim speaks of beyond both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.referee.search.family import COINS, MAX_SERVER_STEP
from fedbounds.referee.trial import Trial
from fedbounds.theory import symbols
from fedbounds.theory.coverage import Coverage, Region, Span, only
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Scopes of claims that a longer run does not make stronger.
WITHOUT_TIME = ("point", "constant")
# Scopes of claims about what a run does next from any state: a longer run only comes to other states.
ONE_STEP = ("step",)


def not_covered(trial: Trial) -> str:
    """What the claim speaks of and the search did not try; everything, where the search compared nothing."""
    searched = [Coverage.from_json(part) for v in trial.verdicts for part in v.data.get("searched", ())]  # type: ignore[attr-defined]
    if not searched:
        return "anything beyond the settings, instances and runs named below; the search compared nothing"
    claimed = trial.claim.coverage(READINGS[trial.reading])
    one_step = trial.claim.scope in ONE_STEP and not sp.sympify(trial.claim.steps or 0).has(symbols.t)
    alone = claimed.axes.get("N") == Span(1, 1)
    gaps = [_other_than("N", _values(searched, "N"), claimed.axes.get("N"))]
    if not (alone and one_step):
        gaps.append(_other_than("tau", _values(searched, "tau"), claimed.axes.get("tau")))
    if trial.claim.scope not in WITHOUT_TIME and not one_step:
        gaps.append(_above("T", searched, claimed))
    if claimed.axes.get("gradients") != only("full"):
        noisy = [part for part in searched if "stochastic" in part.axes["gradients"]]  # type: ignore[operator]
        gaps.append(_of_chance("noise", noisy, one_step))
    if not (alone or _only_value_is_1(claimed.axes.get("participation"))):
        absent = [part for part in searched if part.axes["participation"] != only(1)]
        gaps.append(_of_chance("absent clients", absent, one_step))
    gaps += [_above("kappa", searched, claimed), _above("eta_L", searched, claimed)]
    if trial.claim.has_server_step:
        gaps.append(f"eta_s < 1/{MAX_SERVER_STEP:g} or > {MAX_SERVER_STEP:g}")
    if trial.claim.by_coins:
        gaps.append(f"q other than {', '.join(COINS)} and 1")
    if not (alone or _only_value_is_1(claimed.axes.get("weight_ratio"))):
        gaps.append(f"weights other than {' and '.join(sorted(map(str, _values(searched, 'weights'))))}")
    gaps.append("losses of any other form, or in more coordinates, than those tried")
    return ", ".join(filter(None, gaps))


def _values(parts: Iterable[Coverage], axis: str) -> set[object]:
    """The single values of an axis in any of the sets."""
    regions = (part.axes.get(axis) for part in parts)
    return {value for region in regions if isinstance(region, frozenset) for value in region}


def _only_value_is_1(region: Region | None) -> bool:
    return region == only(1) or (isinstance(region, Span) and region.low == region.high == 1)


def _other_than(name: str, tried: Collection[object], wanted: Region | None) -> str:
    """The whole numbers of an axis that were tried, if a claim speaks of others too, as "N other than 2 and 25"."""
    numbers = sorted({int(value) for value in tried if isinstance(value, int | Fraction)})
    if not numbers:
        return ""
    # The first number beyond the largest stands for all of them.
    near = range(1, numbers[-1] + 2)
    if isinstance(wanted, Span | frozenset) and all(k in numbers for k in near if k in wanted):
        return ""
    return f"{name} other than {' and '.join(map(str, numbers))}"


def _above(axis: str, parts: Iterable[Coverage], claimed: Coverage) -> str:
    """What lies above the largest value that was tried, if the claim speaks of it."""
    highs = [region.high for part in parts if isinstance(region := part.axes.get(axis), Span)]
    wanted = claimed.axes.get(axis)
    if not highs or (isinstance(wanted, Span) and wanted.high <= max(highs)) or isinstance(wanted, frozenset):
        return ""
    return f"{'eta L' if axis == 'eta_L' else axis} > {_written(max(highs))}"


def _written(number: Any) -> str:
    """A large power of ten as one, and no needless decimals."""
    power = len(str(number)) - 1
    return f"10^{power}" if power > 3 and number == 10**power else f"{float(number):g}"


def _of_chance(what: str, parts: Sequence[Coverage], one_step: bool) -> str:
    """How long runs with noise, or with absent clients, were at most; nothing where one step of them is enough."""
    if one_step and parts:
        return ""
    highs = [region.high for part in parts if isinstance(region := part.axes.get("T"), Span)]
    steps = max(highs, default=0)
    return f"{what} over more than {steps} step{'s' * (steps != 1)}" if steps else what


def tried(trial: Trial) -> str:
    """What was compared without a violation; nothing that met no assumption is named."""
    result = []
    for verdict in trial.verdicts:
        if verdict.evidence is Evidence.EXACT and verdict.margin is not None:
            if "searched" in verdict.data:
                result.append(_of_search([Coverage.from_json(part) for part in verdict.data["searched"]]))  # type: ignore[attr-defined]
            else:
                names = f" ({', '.join(verdict.data['seen'])})" if "seen" in verdict.data else ""  # type: ignore[arg-type]
                result.append(f"{verdict.detail.removeprefix('no violation at ')} at limits{names}")
    regimes = [
        v.detail.removeprefix("not refuted in ")
        for v in trial.verdicts
        if v.evidence is Evidence.EMPIRICAL and v.status is Status.HOLDS
    ]
    if len(result) > 1 or regimes:  # the limits by name matter most where nothing else was compared
        result = [words.partition(" at limits")[0] + " at limits" * (" at limits" in words) for words in result]
    return "; ".join([*reversed(result), *regimes])


def _of_search(parts: Sequence[Coverage]) -> str:
    """How many forms of problems were searched, and up to which sizes."""

    def highest(some: Iterable[Coverage]) -> int:
        return max((int(span.high) for part in some if isinstance(span := part.axes.get("T"), Span)), default=0)

    forms = {words.partition(" in at most")[0] for words in map(str, _values(parts, "problem"))}
    sizes = [f"N <= {max(n for n in _values(parts, 'N') if isinstance(n, int | Fraction))}", f"T <= {highest(parts)}"]
    for words, axis, plain in (("with noise", "gradients", "full"), ("with absent clients", "participation", 1)):
        some = [part for part in parts if part.axes.get(axis) != only(plain)]
        sizes += [f"{words} T <= {highest(some)}"] * bool(some)
    what = " and ".join(sorted(forms)) if len(forms) < 3 else f"{len(forms)} forms of losses"
    return f"a search over {what} ({', '.join(sizes)})"


def certified_settings(trial: Trial) -> str:
    """The certified settings, N, weights, kappa and tau of each, and those that stayed undecided."""
    undecided = [v for v in trial.verdicts if v.evidence is Evidence.SDP and v.status is Status.UNDECIDED]
    certified, open_ = _settings(trial.certified), _settings(undecided)
    runs = [v for v in trial.certified if "run" in v.data]
    if runs:
        left = sum("run" in v.data for v in undecided)
        settings: list[Any] = [v.data["run"] for v in runs]
        shares = dict.fromkeys(place.get("participation", "") for place in settings)
        who = " and ".join(share.replace("/", " of ") + " clients" if share else "everybody" for share in shares)
        words = f"{len(runs)} setting{'s' * (len(runs) != 1)} (whole runs of {who}, every start): {_runs(runs)}"
        return f"{words}; undecided at {left}" if left else words
    words = f"{len(certified)} setting{'s' * (len(certified) != 1)} {_grouped(certified)}"
    return f"{words}; undecided at {len(open_)} {_grouped(open_)}" if open_ else words


def _runs(verdicts: Iterable[Verdict]) -> str:
    """The local steps, kappas and lengths of whole runs."""
    by_tau: dict[int, dict[str, set[int]]] = {}
    for verdict in verdicts:
        at: Any = verdict.data["run"]
        by_tau.setdefault(at["tau"], {}).setdefault(at["kappa"], set()).add(at["tau"] * at["rounds"])
    rows = ((tau, kappa, sorted(times)) for tau, kappas in by_tau.items() for kappa, times in kappas.items())
    return "; ".join(f"tau = {tau}, kappa = {kappa}, T = {', '.join(map(str, times))}" for tau, kappa, times in rows)


def _settings(verdicts: Iterable[Verdict]) -> list[Setting]:
    return [Setting.from_json(v.data["setting"]) for v in verdicts if "setting" in v.data]  # type: ignore[arg-type]


def _grouped(settings: Sequence[Setting]) -> str:
    """Settings in words: weights that share their tau and kappa together, and taus that share their kappas."""
    clients = " or ".join(map(str, sorted({at.N for at in settings})))
    noisy = sum(at.gradients == "stochastic" for at in settings)
    kinds = "full" if not noisy else "any" if noisy == len(settings) else f"full (any at {noisy} of them)"
    by_weights: dict[str, dict[int, list[Fraction]]] = {}
    for at in settings:
        alpha, p = (f"({', '.join(map(str, row))})" for row in (at.alpha, at.p))
        weights = f"alpha = p = {p}" if alpha == p else f"alpha = {alpha}, p = {p}"
        by_weights.setdefault(weights, {}).setdefault(at.tau, []).append(at.L / at.mu)
    shared: dict[str, list[str]] = {}
    for weights, by_tau in by_weights.items():
        taus: dict[str, list[str]] = {}
        for tau, kappas in by_tau.items():
            taus.setdefault(", ".join(map(str, kappas)), []).append(str(tau))
        where = " and ".join(f"tau = {', '.join(row)} with kappa = {kappas}" for kappas, row in taus.items())
        shared.setdefault(where, []).append(weights)
    rows = "; ".join(f"{' or '.join(weights)} at {where}" for where, weights in shared.items())
    return f"(N = {clients}, everyone present, {kinds} gradients): {rows}"
