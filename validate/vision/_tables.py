"""The blocks of docs/vision.md that no single study fills: verdicts, settings, the search, F_i*, Fashion-MNIST."""

from __future__ import annotations

from collections.abc import Iterable

from fedbounds.vision.settings import LOCAL
from validate.vision._common import PERCENT, Data
from validate.vision._markdown import NOTHING, Results, cell, rows_of, shown, table
from validate.vision._verdict import FEWEST, RULES
from validate.vision.experiments import BASELINE, FASHION, MNIST
from validate.vision.search import KEYS

STUDIES = ("r90", "accuracy", "temperatures", "alpha", "participation", "stability")


def verdicts(results: Results) -> str:
    """One line a claim, and the rules."""
    claims = [claim for name in STUDIES if name in results for claim in results[name]["claims"] if claim["cases"]]
    if not claims:
        return NOTHING
    rows = [(claim["says"], _lines(claim), f"**{claim['verdict']}**", _by_case(claim)) for claim in claims]
    head = "| the paper's claim | lines | verdict | by case |\n|---|---|---|---|"
    body = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    used = sorted({rule for claim in claims for rule in claim["rules"]})
    rules = [f"- *{name}*: {RULES[name]}".replace("F_i*", "F_i\\*") for name in used]
    said = (
        "A claim about several cases has its worst verdict; cases in brackets are not the paper's and do not count. "
        "FedSoftMax without a number is FedSoftMax(0.2), 1/T = 5: the paper prints no T for its tables. "
        f"{FEWEST}"
    )
    return "\n".join([head, *body, "", said, "The rules:", "", *rules])


def _lines(claim: Data) -> str:
    first, last = claim["lines"]
    return f"{first}" if first == last else f"{first}-{last}"


def _by_case(claim: Data) -> str:
    return "; ".join(
        f"({case['case']}: {case['verdict']})" if case["extra"] else f"{case['case']}: {case['verdict']}"
        for case in claim["cases"]
    )


def reading(results: Results) -> str:
    """What was run: settings and repetitions of every case."""
    if "accuracy" not in results and "r90" not in results:
        return NOTHING
    settings = next(
        case["settings"]
        for name in ("r90", "accuracy")
        if name in results
        for cases in results[name]["data"].values()
        for case in cases.values()
    )
    words = ", ".join(
        f"{key} {value}" for key, value in settings.items() if key not in ("data", "partition", "samples", "rounds")
    )
    rows: dict[tuple[str, str, str], tuple[str, int, int, int, int, str]] = {}
    for name in ("accuracy", "r90", "temperatures"):
        for data, framework, case in _cases(results.get(name)):
            for weighting, runs in case["runs"].items():
                own = case["settings"]
                key = (data, framework, weighting)
                if key not in rows or len(runs["repetitions"]) >= rows[key][3]:
                    seeds = ", ".join(map(str, runs["seeds"]))
                    counts = (len(runs["repetitions"]), len(runs["whole"]))
                    rows[key] = (own["partition"], own["samples"], own["rounds"], *counts, seeds)
    head = ("data", "framework", "weighting", "partition", "samples a client", "rounds", "runs", "whole", "seed")
    return f"Settings: {words}.\n\n" + table(head, [(*key, *row) for key, row in rows.items()])


def _cases(result: Data | None) -> Iterable[tuple[str, str, Data]]:
    if result is None:
        return
    if "points" in result:
        yield MNIST, result["framework"], result
        if "local" in result:
            marked = {f"{name}{LOCAL}": runs for name, runs in result["local"]["runs"].items() if name != BASELINE}
            yield MNIST, result["framework"], {**result["local"], "runs": marked}
        return
    for data, cases in result["data"].items():
        for framework, case in cases.items():
            yield data, framework, case


def search(results: Results) -> str:
    """Candidates, the choice, the samples of IID data, the literal reading."""
    if "search" not in results:
        return NOTHING
    data = results["search"]
    rows = [
        (
            *(one[key] for key in KEYS),
            *(_term(one, framework) for framework in ("NIID", "TNIID")),
            f"{'' if one['exact'] else '>= '}{one['sum']:.2f}",
        )
        for one in data["candidates"]
    ]
    target = data["paper"]
    head = (*KEYS, f"R_90 NIID ({target['NIID']:.1f})", f"R_90 TNIID ({target['TNIID']:.1f})", "distance")
    parts = [
        f"Rule: {cell(data['rule'])}. Seed {data['seed']}; in brackets the paper's mean.",
        "",
        table(head, rows),
    ]
    samples = [(one["samples"], _term(one, "IID"), _distance(one["frameworks"]["IID"])) for one in data["iid"]]
    parts += ["", table(("samples, IID", f"R_90 IID ({target['IID']:.1f})", "distance"), samples), ""]
    chosen = data["chosen"]
    if chosen:
        words = ", ".join(f"{key} {value}" for key, value in chosen.items())
        parts.append(f"Nearest: {words}; {data['iid_samples']} samples a client for IID data.")
    open_ones = ["(" + ", ".join(str(one[key]) for key in KEYS) + ")" for one in data["not_excluded"]]
    parts.append(
        f"Not excluded by what was run: {'; '.join(open_ones)}." if open_ones else "Every other candidate is farther."
    )
    parts += ["", *[_literal(one) for one in data["literal"]]]
    return "\n".join(parts).rstrip()


def _term(one: Data, framework: str) -> str:
    row = one["frameworks"].get(framework)
    if row is None:
        return "not run"
    return ", ".join(f"> {row['rounds']}" if value is None else str(value) for value in row["values"])


def _distance(row: Data) -> str:
    return f"{'>= ' if row['lower_bound'] else ''}{row['distance']:.2f}"


def _literal(one: Data) -> str:
    words = [
        f"{f}: at most {PERCENT * row['last_accuracy']:.1f}% after {row['rounds']} rounds, R_90 {_term(one, f)}"
        for f, row in one["frameworks"].items()
    ]
    name = ", ".join(f"{key} {one[key]}" for key in KEYS)
    return f"The literal reading ({name}): {'; '.join(words)}."


def minima(results: Results) -> str:
    """Upper bounds of F_i*."""
    if "local_minima" not in results:
        return NOTHING
    data = results["local_minima"]
    rows = [
        (framework, row["client"], row["samples"], f"{row['smallest']:.2g}")
        for framework, case in data["data"].items()
        for row in case["clients"]
    ]
    factors = ", ".join(f"{name} {value:.3g}" for name, value in data["factors"].items())
    head = ("framework", "client", "samples", f"smallest loss in {data['epochs']} epochs alone")
    said = f"So 0 <= F_i\\* <= {data['largest']:.2g} for these clients, and taking 0 changes a ratio of two weights "
    return f"{table(head, rows)}\n\n{said}by a factor of at most: {factors}."


def fashion(results: Results) -> str:
    """Final accuracy and R at lower levels on Fashion-MNIST."""
    if "r90" not in results or FASHION not in results["r90"]["data"]:
        return NOTHING
    cases = results["r90"]["data"][FASHION]
    levels = next(row["levels"] for _, _, row in rows_of(cases))
    last = results.get("accuracy", {"data": {}})["data"].get(FASHION, {})
    rows = []
    for framework, weighting, row in rows_of(cases):
        final = last.get(framework, {}).get("weightings", {}).get(weighting)
        reached = [f"{shown(one, 1)} ({one['reached']} of {len(one['values'])})" for one in row["levels"].values()]
        rows.append((framework, weighting, shown(final["final_accuracy"], 2, PERCENT) if final else "", *reached))
    head = ("framework", "weighting", "final accuracy, %", *(f"R at {PERCENT * float(x):g}%" for x in levels))
    runs = [value for _, _, row in rows_of(cases) for value in row["levels"]["0.9"]["values"]]
    count = sum(value is not None for value in runs)
    return f"{table(head, rows)}\n\n90% was reached in {count} of {len(runs)} runs."
