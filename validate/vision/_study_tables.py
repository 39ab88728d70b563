"""The block of each study in docs/vision.md: its table, every case of its claims, its pictures."""

from __future__ import annotations

from collections.abc import Callable

from fedbounds.vision import measures
from fedbounds.vision.settings import LOCAL
from validate.vision._common import PERCENT
from validate.vision._markdown import NOTHING, Results, rows_of, sentences, shown, table
from validate.vision.experiments import BASELINE, MAIN, MNIST
from validate.vision.readings import said
from validate.vision.temperatures import OTHERS

# The pictures of a study, each with its caption. Only those that exist are shown.
PICTURES: dict[str, dict[str, str]] = {
    "r90": {"r90": "R_90 measured and printed"},
    "accuracy": {
        "accuracy": "MNIST: accuracy and loss along rounds; diamonds at 90% are the paper's R_90 in the same colour",
        "accuracy-fedmax": "MNIST with FedMax and FedMax(10)",
        "accuracy-fashion": "Fashion-MNIST: accuracy and loss along rounds",
    },
    "temperatures": {"temperatures": "FedSoftMax(T) at several T"},
    "alpha": {"alpha": "Weights against shares along rounds"},
    "participation": {
        "participation": "The ten highest weights of each round under FedSoftMax",
        "top-losses": "The ten largest losses of each round",
        "participation-fedmax": "Whom FedMax uses",
    },
    "stability": {"stability": "Stability measured and printed"},
    "readings": {"readings": "Other readings on NIID data"},
    "precision": {"precision": "The same repetitions in both precisions"},
}


def r90(results: Results) -> str:
    """R_90 of MNIST beside the paper's."""
    data = results["r90"]
    rows = []
    for framework, weighting, row in rows_of(data["data"].get(MNIST, {})):
        found, printed = row["levels"]["0.9"], row["paper"]
        beside = f"{printed['mean']:.1f} [{printed['lower']:.1f}, {printed['upper']:.1f}]" if printed else ""
        rows.append((framework, weighting, shown(found, 1), f"{found['reached']} of {len(found['values'])}", beside))
    body = table(("framework", "weighting", "R_90", "reached 90%", "the paper's"), rows)
    return f"{body}\n\n{sentences(data)}"


def accuracy(results: Results) -> str:
    """Final accuracy of MNIST."""
    data = results["accuracy"]
    rows = []
    for framework, weighting, row in rows_of(data["data"].get(MNIST, {})):
        other = row.get("minus_fedavg")
        difference = shown(other["difference"], 2, PERCENT) if other else ""
        final, best = (shown(row[key], 2, PERCENT) for key in ("final_accuracy", "best_accuracy"))
        rows.append((framework, weighting, row["best_accuracy"]["count"], final, best, difference))
    head = ("framework", "weighting", "runs", "final accuracy, %", "best of the rounds, %", "final minus FedAvg's")
    return f"{table(head, rows)}\n\n{sentences(data)}"


def temperatures(results: Results) -> str:
    """R_90 against 1/T."""
    data = results["temperatures"]
    points = [("", point) for point in data["points"]]
    local = data["local"]["points"] if "local" in data else []
    points += [(f" {LOCAL}", point) for point in local if point["weighting"] != BASELINE]
    rows = [
        (
            f"{point['inverse_temperature']:.3g}{mark}",
            shown(point["R_90"], 1),
            f"{point['R_90']['reached']} of {len(point['R_90']['values'])}",
            *(shown(point[key]["difference"], 1) if key in point else "" for key in OTHERS),
        )
        for mark, point in points
    ]
    head = ("1/T (0: FedAvg)", "R_90", "reached 90%", "minus FedAvg's", "minus that of 1/T = 5")
    return f"{table(head, rows)}\n\n{sentences(data)}"


def alpha(results: Results) -> str:
    """Slopes of the distance from p."""
    data = results["alpha"]
    rows = []
    for framework, case in data["data"].items():
        found = case["largest"]
        first, last = found["rounds"]
        cells = [shown(found[key], 2) for key in ("slope", "tail")] + [shown(case["mean"]["tail"], 2)]
        remaining = shown(found["remaining"], 0, PERCENT)
        rows.append((framework, *cells, f"{first}-{last}", remaining, shown(found["persistence"], 2)))
    head = (
        *("framework", "slope from round 5 on", "slope, last half", "the same of the mean over i", "rounds"),
        *("left of the largest, %", "order kept"),
    )
    return f"{table(head, rows)}\n\n{sentences(data)}"


def participation(results: Results) -> str:
    """Who is marked and who is used."""
    data = results["participation"]
    keys = ("ever-used", "effective-all", "ever", "overlap", "largest_data_sets", "losses-ever", "losses-overlap")
    rows = []
    for framework, weighting, row in rows_of(data["data"]):
        cells = [shown(row[key], 1 if key.endswith(COUNTS) else 2) if row[key] else "" for key in keys]
        rows.append((framework, weighting, row["clients"], *cells))
    head = (
        *(
            "framework",
            "weighting",
            "clients",
            "ever used",
            "effectively",
            "ever among the ten highest weights",
            "overlap of rounds",
        ),
        *("marks on the ten largest data sets", "ever among the ten largest losses", "overlap of rounds"),
    )
    return f"{table(head, rows)}\n\n{sentences(data)}"


def stability(results: Results) -> str:
    """Stability beside the paper's."""
    rows = []
    for framework, weighting, row in rows_of(results["stability"]["data"]):
        printed = f"{row['paper']:.2f}" if row["paper"] is not None else ""
        variants = [shown(row[key], 2) for key in ("all", "trained", measures.UNTIL)]
        rows.append((framework, weighting, row["all"]["count"], *variants, printed))
    head = ("framework", "weighting", "runs", "all rounds", "without the first", "until 90%", "the paper's")
    return f"{table(head, rows)}\n\n{sentences(results['stability'])}"


def readings(results: Results) -> str:
    """R_90 under other readings."""
    data = results["readings"]["data"]
    rows = []
    for case in data.values():
        for level, found in case["levels"].items():
            pair = found["difference"]
            values = found["weightings"].values()
            cells = [f"{shown(row, 1)} ({row['reached']} of {len(row['values'])})" for row in values]
            counts = f"{pair['smaller']} faster, {pair['larger']} slower, {pair['equal'] + pair['unknown']} neither"
            title = said(case["change"])
            rows.append((title, f"{PERCENT * float(level):g}%", *cells, shown(pair["difference"], 1), counts))
    head = ("reading", "rounds to", *MAIN, "difference", "of the pairs")
    return table(head, rows) if rows else NOTHING


def precision(results: Results) -> str:
    """The same repetitions in two precisions."""
    data = results["precision"]
    usual, other = data["precisions"]
    rows = []
    for weighting, row in data["weightings"].items():
        both = [
            ", ".join("-" if found is None else str(found) for found in column)
            for column in zip(*row["R_90"], strict=True)
        ]
        difference = shown(row["difference"]["difference"], 1)
        apart = (PERCENT * row["largest_distance"], PERCENT * row["mean_difference"])
        rows.append((weighting, *both, difference, f"{apart[0]:.1f}", f"{apart[1]:+.2f}"))
    head = (
        *("weighting", f"R_90, {usual}", f"R_90, {other}", "difference"),
        *("largest distance of accuracies, points", "mean difference, points"),
    )
    return table(head, rows) if rows else NOTHING


# Rows of numbers of clients; the others are shares.
COUNTS = ("ever", "ever-used", "effective-all")

OF_STUDY: dict[str, Callable[[Results], str]] = {
    "r90": r90,
    "accuracy": accuracy,
    "temperatures": temperatures,
    "alpha": alpha,
    "participation": participation,
    "stability": stability,
    "readings": readings,
    "precision": precision,
}
