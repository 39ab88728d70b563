"""A trial for people: the verdict in three lines, the details, a page for a browser and an appendix in LaTeX."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as xml

from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.referee.trial import Outcome, Trial
from fedbounds.report import claim_text
from fedbounds.report.html.exact_instances import fields
from fedbounds.report.html.mathml import formula, prose
from fedbounds.report.html.page import render
from fedbounds.report.table import Table
from fedbounds.report.terminal import plain_table
from fedbounds.theory.claim import statement
from fedbounds.theory.labels import word
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

SURE = {
    Outcome.CONTRADICTION: "Trust neither: a bug in fedbounds, or in a check that the claim brings. Report it.",
    Outcome.REFUTED: "The claim is false as stated.",
    Outcome.PROVED: "It holds wherever its assumptions do.",
    Outcome.CERTIFIED: "Nothing is proved beyond these settings; nowhere was it refuted.",
    Outcome.NOT_REFUTED: "That is no proof.",
    Outcome.NOT_TESTED: "Nothing was tested: no experiment tried meets its assumptions, or they cannot be expressed.",
}


# How a test report calls an outcome that is no success.
TAGS = {Outcome.REFUTED: "failure", Outcome.CONTRADICTION: "error", Outcome.NOT_TESTED: "skipped"}


def verdict(trial: Trial) -> list[str]:
    """The verdict in three lines: the word with its grounds, what was covered, and what it is worth."""
    claim, kept = trial.claim, trial.finished
    head = f"{claim.key} [{trial.reading}]: {trial.outcome}"
    shown, proof = trial.refutation, trial.proof
    unfinished = "" if kept else " (interrupted: the same call continues)"
    if trial.outcome is Outcome.CONTRADICTION:
        return [f"{head}.{unfinished}", f"{trial.alarms[0]}.", SURE[trial.outcome]]
    if shown is not None:
        where = f" at t = {shown.data['t']}" if shown.data.get("t") is not None else ""
        meant = "" if trial.reading == "plain" else f" as read: {READINGS[trial.reading].summary}"
        sure = SURE[trial.outcome][:-1] + meant + "."
        return [f"{head}{where}: {shown.detail}.{unfinished}", f"By {_by(trial, shown)}.", sure]
    if proof is not None:
        covers = (
            "" if proof.coverage is None else f" for {proof.coverage.words(claim.coverage(READINGS[trial.reading]))}"
        )
        proved = f"{claim.key} [{trial.reading}]: {word(Status.HOLDS, proof.evidence)}"
        said = f"{proved}: {proof.detail}.{unfinished}"
        return [said, f"Covers what it assumes{covers}.", SURE[trial.outcome]]
    if trial.outcome is Outcome.NOT_TESTED and not trial.finished:
        ended = ", ".join(stage.name for stage in trial.stages)
        return [f"{claim.key} [{trial.reading}]: OPEN.{unfinished}", _so_far(ended), SURE[Outcome.NOT_REFUTED]]
    first = f"{head} at {settings(trial)}" if trial.certified else head
    strength = next(iter(trial.said("strength")), "")
    worth = f"Strength: {strength}." if strength and _in_regimes(trial) else ""
    return [f"{first}.{unfinished}", f"{_covered(trial)}.", f"{SURE[trial.outcome]} {worth}".rstrip()]


def _so_far(ended: str) -> str:
    """What an interrupted trial without a verdict has done."""
    return f"No violation in the stages that ended: {ended}." if ended else "Interrupted before a stage ended."


def _covered(trial: Trial) -> str:
    """What was compared without a violation; nothing that met no assumption is named."""
    found = []
    for one in trial.verdicts:
        if one.evidence is Evidence.EXACT and one.margin is not None:
            # The names of the limits matter most where nothing else was compared.
            told = f"{one.detail.removeprefix('no violation at ')} at limits"
            found.append(f"{one.data['limits']} (search)" if "limits" in one.data else told)
    regimes = [v.detail.removeprefix("not refuted in ") for v in _in_regimes(trial)]
    names = [", ".join(v.data["seen"]) for v in trial.verdicts if "seen" in v.data]  # type: ignore[arg-type]
    if len(found) == len(names) and not regimes:
        found = [f"{one} ({seen})" for one, seen in zip(found, names, strict=True)]
    also = "Also not refuted on" if trial.certified else "Compared only on"
    said = "; ".join([*reversed(found), *regimes])
    return f"{also} {said}" if said else "Nothing further was compared"


def _in_regimes(trial: Trial) -> list[Verdict]:
    """That the claim holds in some regime, if it does: else what regimes notice of its mutants says little."""
    return [v for v in trial.verdicts if v.evidence is Evidence.EMPIRICAL and v.status is Status.HOLDS]


def _by(trial: Trial, shown: Verdict) -> str:
    """Which stage found a refutation, and of what sort it is."""
    stage = next(stage.name for stage in trial.stages if shown in stage.verdicts)
    sort = {
        Evidence.EXACT: "an instance in fractions, to be checked by hand",
        Evidence.SDP: "explicit functions, run in the simulator; no instance in fractions was found",
        Evidence.EMPIRICAL: f"a run, {_surely(shown)}; no instance in fractions was found",
    }
    return f"{sort.get(shown.evidence, shown.evidence)} (stage: {stage})"


def _surely(shown: Verdict) -> str:
    """How sure a run's refutation is: nothing is estimated where its expectation is known exactly."""
    return (
        f"at an error rate of {shown.error_rate:g}" if shown.error_rate else "whose expectations were not estimated"
    )


def settings(trial: Trial) -> str:
    """The certified settings, N, weights, kappa and tau of each, and those that stayed undecided."""
    undecided = [v for v in trial.verdicts if v.evidence is Evidence.SDP and v.status is Status.UNDECIDED]
    held, unsure = _places(trial.certified), _places(undecided)
    said = f"{len(held)} setting{'s' * (len(held) != 1)} {_grouped(held)}"
    return f"{said}; undecided at {len(unsure)} {_grouped(unsure)}" if unsure else said


def _places(verdicts: Iterable[Verdict]) -> list[Setting]:
    return [Setting.from_json(v.data["setting"]) for v in verdicts if "setting" in v.data]  # type: ignore[arg-type]


def _grouped(places: Sequence[Setting]) -> str:
    """Settings in words: weights that share their tau and kappa together, and taus that share their kappas."""
    clients = " or ".join(map(str, sorted({at.N for at in places})))
    noisy = sum(at.gradients == "stochastic" for at in places)
    kinds = "full" if not noisy else "any" if noisy == len(places) else f"full (any at {noisy} of them)"
    by_weights: dict[str, dict[int, list[Fraction]]] = {}
    for at in places:
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
    said = "; ".join(f"{' or '.join(rows)} at {where}" for where, rows in shared.items())
    return f"(N = {clients}, everyone present, {kinds} gradients): {said}"


def certified_map(trial: Trial) -> Table | None:
    """Weights x tau by kappa: bound over worst case where certified, the word where not; a dash was not asked."""
    cells: dict[tuple[str, int], dict[Fraction, str]] = {}
    for found in trial.verdicts:
        if found.evidence is Evidence.SDP and "setting" in found.data:
            setting = Setting.from_json(found.data["setting"])  # type: ignore[arg-type]
            alpha, p = (", ".join(map(str, row)) for row in (setting.alpha, setting.p))
            ratio = "" if found.tightness is None or found.status is not Status.HOLDS else f" {found.tightness:.3g}x"
            row = cells.setdefault((f"alpha = ({alpha}), p = ({p})", setting.tau), {})
            row[setting.L / setting.mu] = word(found.status, found.evidence).lower() + ratio
    kappas = sorted({kappa for row in cells.values() for kappa in row})
    head = ("weights", "tau", *(f"kappa = {kappa}" for kappa in kappas))
    body = [[*key, *(row.get(kappa, "-") for kappa in kappas)] for key, row in cells.items()]
    return Table.of(head, body, "Certified for every problem of the class; bound over worst case") if cells else None


def instance(data: Mapping[str, Any]) -> list[str]:
    """What checks a refutation by hand, from its verdict's ``data``: the instance, the constants, and each term."""
    rows = list(data.get("instance", {}).items())
    if "terms" in data:
        rows += [("alpha", data.get("alpha")), *data.get("constants", {}).items(), *data.get("varying", {}).items()]
        terms = (("term", f"{name} = {value}") for name, value in data["terms"].items())
        rows += [("left", data.get("lhs")), *terms, ("right", data.get("rhs"))]
    return [f"  {key:<10} {_flat(value)}" for key, value in rows]


def _flat(value: Any) -> str:
    return "(" + ", ".join(map(_flat, value)) + ")" if isinstance(value, list) else str(value)


def to_text(trial: Trial, verbose: bool = False) -> str:
    """The verdict, warnings and a refutation's instance; if ``verbose`` every stage, the map and the statement."""
    lines = verdict(trial)
    lines += [f"  {line}" for line in trial.said("sanity") if line.startswith("warning")]
    if trial.refutation is not None:
        lines += ["", *instance(trial.refutation.data)]
    if verbose:
        for stage in trial.stages:
            lines += ["", f"{stage.name} ({stage.seconds:.1f} s)", *(f"  {line}" for line in stage.lines)]
        found = certified_map(trial)
        lines += (
            [] if found is None else ["", found.caption, plain_table(found.head, [map(str, r) for r in found.rows])]
        )
        lines += ["", claim_text.to_text(claim_text.explain(trial.claim))]
    return "\n".join(lines).rstrip() + "\n"


def to_html(trials: Sequence[Trial]) -> str:
    parts = [
        {
            "trial": trial,
            "statement": formula(statement(trial.claim)),
            "verdict": [prose(line) for line in verdict(trial)],
            "assumptions": [prose(one.statement) for one in trial.claim.assumptions_in(READINGS[trial.reading])],
            "instance": fields(_parts(trial.refutation)) if trial.refutation is not None else [],
            "map": certified_map(trial),
        }
        for trial in trials
    ]
    return render("trial.html.jinja", title=", ".join(dict.fromkeys(t.claim.key for t in trials)), parts=parts)


def _parts(shown: Verdict) -> Mapping[str, Any]:
    """An instance and what its check needs, one level deep."""
    names = ("instance", "constants", "varying", "terms")
    nested: dict[str, Any] = {key: value for name in names for key, value in dict(shown.data.get(name, {})).items()}  # type: ignore[call-overload]
    return nested | {key: shown.data[key] for key in ("lhs", "rhs") if key in shown.data}


TEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def to_latex(trials: Iterable[Trial]) -> str:
    """An appendix: each statement, what it assumes, the verdict, a refutation's numbers, what every stage found."""
    return "\n\n".join("\n".join(_appendix(trial)) for trial in trials) + "\n"


def _appendix(trial: Trial) -> Iterator[str]:
    yield from (f"\\paragraph{{{_tex(trial.claim.title)}}}", f"\\[ {statement(trial.claim)} \\]")
    assumed = [_tex(item.statement) for item in trial.claim.assumptions_in(READINGS[trial.reading])]
    yield from _items("itemize", [f"\\item {{}}{one}" for one in assumed])
    yield _tex(" ".join(verdict(trial)))
    if trial.refutation is not None and "lhs" in trial.refutation.data:
        yield from ("\\begin{verbatim}", *instance(trial.refutation.data), "\\end{verbatim}")
    told = [f"\\item[{_tex(s.name)}] {_tex('; '.join(map(str.strip, s.lines)))}." for s in trial.stages]
    yield from _items("description", told)
    found = certified_map(trial)
    if found is not None:
        columns = "l" * len(found.head)
        rows = (" & ".join(_tex(str(cell)) for cell in row) + r" \\" for row in (found.head, *found.rows))
        yield from (f"{_tex(found.caption)}.", "", f"\\begin{{tabular}}{{{columns}}}", *rows, "\\end{tabular}")


def _items(kind: str, items: Sequence[str]) -> list[str]:
    return [f"\\begin{{{kind}}}", *items, f"\\end{{{kind}}}"] if items else []


def _tex(text: str) -> str:
    """Plain text with what LaTeX would take for a command escaped."""
    return "".join(TEX.get(sign, sign) for sign in text)


def to_junit(trials: Sequence[Trial]) -> str:
    """Trials as test cases: a refuted one fails, one that nothing tested is skipped."""
    suite = xml.Element("testsuite", name="fedbounds referee", tests=str(len(trials)))
    for trial in trials:
        seconds = f"{sum(stage.seconds for stage in trial.stages):.2f}"
        case = xml.SubElement(suite, "testcase", classname=trial.claim.key, name=trial.reading, time=seconds)
        tag = TAGS.get(trial.outcome)
        if tag is not None:
            xml.SubElement(case, tag, message=verdict(trial)[0]).text = to_text(trial)
    suite.set("failures", str(sum(trial.outcome is Outcome.REFUTED for trial in trials)))
    return xml.tostring(suite, encoding="unicode") + "\n"
