"""The marked blocks of docs/vision.md, from the stored records (and local_minima.json, sensitivity.json)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fedbounds.io import read_json, write_text
from fedbounds.vision import records
from fedbounds.vision.settings import LOCAL
from validate.ledger_page import filled
from validate.vision import estimates, mapped, measures, paper, search, verdicts, weights
from validate.vision.experiments import (
    BASELINE,
    LEVELS,
    MAIN,
    MAP_ROUNDS,
    RESULTS,
    ROOT,
    SOFT,
    SOFT_LOCAL,
    TEMPERATURES,
    WARMER,
)
from validate.vision.stored import Stored
from validate.vision.verdicts import Outcome

PAGE = ROOT / "docs" / "vision.md"
PICTURES = ROOT / "docs" / "img" / "vision"
NOTHING = "Nothing is stored yet."
# Settings that make a line of their own in the table of what was run, or none.
APART = ("data", "partition", "samples", "rounds", "seed", "client_losses", "stop_after", "losses")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(
        [*lines, *("| " + " | ".join(str(value).replace("|", "\\|") for value in row) + " |" for row in rows)]
    )


def shown(found: estimates.Estimate, digits: int, scale: float = 1.0) -> str:
    """``12.4 [11.8, 13.0]``, ``median 12 [11, 14]``."""
    return ("median " if found.kind == "median" else "") + estimates.text(found, digits, scale)


def verdict_table(outcomes: Sequence[Outcome]) -> str:
    """One line a claim, and the rules."""
    rows = []
    for statement in paper.STATEMENTS:
        own = [one for one in outcomes if one.case.claim == statement.key]
        if not own:
            continue
        first, last = statement.lines
        at = "; ".join(dict.fromkeys(one.case.reading for one in own if not one.case.extra))
        lines = f"{first}" if first == last else f"{first}-{last}"
        rows.append((statement.says, lines, f"**{verdicts.overall(own)}**", at))
    tests = sum(one.p_value is not None for one in outcomes)
    needed = estimates.pairs_needed(tests, verdicts.LEVEL)
    best = 2.0 ** (1 - verdicts.MIN_PAIRS)
    said = (
        "A claim about several cases has its worst verdict; those marked (ours) do not count. "
        f"The {tests} tests are corrected together by Holm's method. Six pairs give at best p = {best:.3f} alone and "
        f"{min(1.0, best * tests):.2f} corrected, so that no comparison of six can be {verdicts.REPRODUCED} or "
        f"{verdicts.OPPOSITE}, however clear: that takes {needed} pairs that all agree. Intervals in verdicts are at "
        f"{verdicts.INTERVAL}, which keeps 95% over the {len(paper.STATEMENTS)} claims; those shown are at 95%."
    )
    rules = [f"- *{name}*: {text}".replace("F_i*", "F_i\\*") for name, text in verdicts.RULES.items()]
    head = ("the paper's claim", "lines", "in this reading", "step and T")
    return "\n".join([table(head, rows), "", said, "The rules:", "", *rules])


def sentences(outcomes: Sequence[Outcome], *keys: str) -> str:
    """Every case of some claims with its numbers."""
    lines = []
    for statement in (found for found in paper.STATEMENTS if found.key in keys):
        own = [one for one in outcomes if one.case.claim == statement.key]
        lines += ["", f"*{statement.says}*", ""] if own else []
        for one in own:
            test = one.case.test
            p = f", p = {test.p_value:.2g}, Holm's {one.p_value:.2g}" if test and one.p_value is not None else ""
            ours = " (ours)" if one.case.extra else ""
            lines.append(f"- {one.case.where}{ours}: **{one.verdict}**. {one.case.sentence}{p}")
    return "\n".join(lines).replace("|", "\\|").strip()


def what_ran(stored: Stored) -> str:
    """Settings and repetitions of every case."""
    found = [run for group in stored.runs.values() for run in group]
    if not found:
        return NOTHING
    words = ", ".join(f"{key} {value}" for key, value in found[0].settings.items() if key not in APART)
    rows = []
    for own in records.experiments(found).values():
        first, whole = own[0], sum(run.whole for run in own)
        framework = paper.framework(first.data, first.partition)
        given = (first.settings["samples"], first.settings["rounds"], len(own), whole)
        rows.append((first.data, framework, first.weighting, first.partition, *given))
    head = ("data", "framework", "weighting", "partition", "samples a client", "rounds", "runs", "whole")
    return f"Settings: {words}. Seed 0.\n\n{table(head, rows)}"


def speed(stored: Stored) -> str:
    """R_90 beside the paper's."""
    rows = []
    for framework, case in stored.cases().items():
        for name in (name for name in (*MAIN, SOFT_LOCAL, WARMER) if name in case):
            found, printed = measures.speed(case[name]), paper.R_90.get((framework, paper.weighting(name) or ""))
            beside = f"{printed.mean:.1f} [{printed.lower:.1f}, {printed.upper:.1f}]" if printed else ""
            rows.append((framework, name, shown(found.estimate, 1), found.said, beside))
    return table(("framework", "weighting", "R_90", "reached 90%", "the paper's"), rows)


def final(stored: Stored) -> str:
    """Final accuracy."""
    rows = []
    for framework, case in stored.whole().items():
        for name, group in case.items():
            compared = "" if name == BASELINE or BASELINE not in case else _minus(case, name)
            best = estimates.mean([float(run.accuracy.max()) for run in group], within=estimates.SHARE)
            last = measures.final_accuracy(group)
            rows.append((framework, name, len(group), shown(last, 2, 100), shown(best, 2, 100), compared))
    head = ("framework", "weighting", "runs", "final accuracy, %", "best of the rounds, %", "final minus FedAvg's")
    return table(head, rows)


def _minus(case: Mapping[str, list[records.ImageRun]], name: str) -> str:
    return shown(measures.compare(case[name], case[BASELINE], measures.last_accuracy).difference, 2, 100)


def tempered(stored: Stored) -> str:
    """R_90 against 1/T."""
    rows = []
    case = stored.cases().get("NIID", {})
    for name in (name for name in (BASELINE, WARMER, SOFT, *TEMPERATURES) if name in case):
        found, T = measures.speed(case[name]), measures.temperature(name) or 1.0
        others = [
            shown(measures.compare_speed(case[name], case[other]).difference, 1) if other in case else ""
            for other in (BASELINE, SOFT)
        ]
        rows.append((f"{1 / T:.3g}", shown(found.estimate, 1), found.said, *others))
    return table(("1/T (0: FedAvg)", "R_90", "reached 90%", "minus FedAvg's", "minus that of 1/T = 5"), rows)


def slopes(stored: Stored) -> str:
    """Slopes of the distance from p."""
    rows = []
    for framework, case in stored.whole().items():
        if SOFT in case:
            found = weights.decline(case[SOFT])
            cells = [shown(value, 2) for value in (found.slope, found.tail, found.mean_tail)]
            left = shown(found.remaining, 0, 100)
            rows.append((framework, *cells, "-".join(map(str, found.rounds)), left, shown(found.persistence, 2)))
    head = ("framework", "slope from round 5 on", "slope, last half", "the same of the mean over i", "rounds")
    return table((*head, "left of the largest, %", "order kept"), rows)


def stable(stored: Stored) -> str:
    """Stability beside the paper's."""
    rows = []
    for framework, case in stored.whole().items():
        for name in (name for name in (*MAIN, SOFT_LOCAL) if name in case):
            found, printed = measures.stabilities(case[name]), paper.STABILITY.get((framework, _name(name)))
            cells = [shown(found[key], 2) for key in ("all", "trained", "until")]
            rows.append((framework, name, len(case[name]), *cells, f"{printed.value:.2f}" if printed else ""))
    return table(
        ("framework", "weighting", "runs", "all rounds", "without the first", "until 90%", "the paper's"), rows
    )


def _name(weighting: str) -> str:
    return paper.weighting(weighting.removesuffix(LOCAL)) or ""


def searched(results: Path) -> str:
    """Candidates, the choice, the samples of IID data, the literal reading."""
    if not any((results / "search").rglob(records.PATTERN)):
        return NOTHING
    found = search.choose(records.read(results / "search"))
    rows = [
        (*one.key, *(one.said(f) for f in search.NON_IID), f"{'' if one.exact else '>= '}{one.total:.2f}")
        for one in found.table
    ]
    means = {f: f"{paper.R_90[f, 'FedAvg'].mean:.1f}" for f in ("IID", *search.NON_IID)}
    head = (*search.KEYS, *(f"R_90 {f} ({means[f]})" for f in search.NON_IID), "distance")
    samples = []
    for one in found.iid:
        far, exact = one.distance("IID")
        samples.append((one.key[-1], one.said("IID"), f"{'' if exact else '>= '}{far:.2f}"))
    chosen = ", ".join(f"{key} {value}" for key, value in zip(search.KEYS, found.best.key, strict=True))
    unsure = "; ".join(str(one.key) for one in found.not_excluded)
    said = [f"Nearest: {chosen}; {found.iid[0].key[-1]} samples a client for IID data."]
    said.append(f"Not excluded by what was run: {unsure}." if unsure else "Every other candidate is farther.")
    if not found.used:
        said.append("The experiments use another reading.")
    for one in search.literal(found.table):
        words = [
            f"{f}: at most {100 * max(run.accuracy.max() for run in own):.1f}%, R_90 {one.said(f)}"
            for f, own in one.runs.items()
        ]
        said.append(f"The printed step with pixels {one.key[2]}: {'; '.join(words)}.")
    samples_table = table(("samples, IID", f"R_90 IID ({means['IID']})", "distance"), samples)
    return "\n\n".join([table(head, rows), samples_table, " ".join(said)])


def minima(results: Path) -> str:
    """Upper bounds of F_i*."""
    if not (results / "local_minima.json").is_file():
        return NOTHING
    data = read_json(results / "local_minima.json")
    rows = [
        (framework, row["client"], row["samples"], f"{row['smallest']:.2g}")
        for framework, case in data["data"].items()
        for row in case["clients"]
    ]
    factors = ", ".join(f"{name} {value:.3g}" for name, value in data["factors"].items())
    said = f"So 0 <= F_i\\* <= {data['largest']:.2g} for these clients, and taking 0 changes a ratio of two weights "
    head = ("framework", "client", "samples", f"smallest loss in {data['epochs']} epochs alone")
    return f"{table(head, rows)}\n\n{said}by a factor of at most: {factors}."


def sensitive(results: Path) -> str:
    """A run beside its twin from the next float32, and beside its stored record."""
    if not (results / "sensitivity.json").is_file():
        return NOTHING
    data = read_json(results / "sensitivity.json")
    names = list(data["weightings"])
    rows = [
        (
            r,
            *(
                f"{100 * row[key][r]:.2f}"
                for row in data["weightings"].values()
                for key in ("run", "nudged", "stored")
            ),
        )
        for r in range(len(data["weightings"][names[0]]["run"]))
    ]
    keys = ("accuracy, %", "w_0 moved to the next float32", "stored record")
    return table(("round", *(f"{name}: {key}" for name in names for key in keys)), rows)


FRESH = (
    "Fresh repetitions where step/T lies between the two bands: in how many FedSoftMax reached the level before "
    "FedAvg, in the same round (or neither did), and after it."
)


def the_map(stored: Stored) -> str:
    """Where FedSoftMax is faster, slower or alone by step/T, and the rounds behind it."""
    if not stored.cells:
        return NOTHING
    (words, told), (head, rows) = mapped.counts(stored.cells), mapped.table(stored.cells)
    levels = ", ".join(f"{level:.0%}" for level in LEVELS)
    said = (
        f"Rounds to {levels}, means over the runs; {mapped.NEVER}: not reached by all of them in {MAP_ROUNDS} rounds."
    )
    found = [table(words, told), said, table(head, rows)]
    if stored.fresh:
        found += [FRESH, table(*mapped.boundary(stored.fresh))]
    return "\n\n".join(found)


def blocks(stored: Stored, outcomes: Sequence[Outcome], results: Path, pictures: Path) -> dict[str, str]:
    """Name of a block -> its Markdown."""

    def study(body: str, keys: Sequence[str] = (), stem: str = "", text: str = "") -> str:
        picture = [f"![{text}](img/vision/{stem}.png)"] if stem and (pictures / f"{stem}.png").is_file() else []
        return "\n\n".join(part for part in (body, sentences(outcomes, *keys), *picture) if part)

    return {
        "verdicts": verdict_table(outcomes),
        "reading": what_ran(stored),
        "search": searched(results),
        "minima": minima(results),
        "sensitivity": sensitive(results),
        "r90": study(speed(stored), ("faster", "same-iid", "more-skew"), "r90", "R_90 measured and printed"),
        "accuracy": study(final(stored), ("final", "fedmax-final")),
        "temperatures": study(tempered(stored), ("temperature",)),
        "alpha": study(slopes(stored), ("to-p", "other-limit")),
        "participation": study("", ("small-group",)),
        "map": study(the_map(stored), (), "map", "Rounds of FedSoftMax(T) over those of FedAvg"),
        "stability": study(stable(stored), ("stability",)),
    }


def write(stored: Stored, outcomes: Sequence[Outcome], results: Path = RESULTS, page: Path = PAGE) -> None:
    """Fill docs/vision.md."""
    text = page.read_text(encoding="utf-8")
    for name, block in blocks(stored, outcomes, results, PICTURES).items():
        text = filled(text, block, name)
    write_text(page, text)
