"""``fedbounds vision``: the paper's experiments with a convolutional network (needs the extra ``vision``)."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from fedbounds.cli.adapter import command
from fedbounds.cli.commands import say, show, show_json
from fedbounds.errors import reject
from fedbounds.vision.settings import ImageSettings

WEIGHTINGS = ("fedavg", "fedsoftmax:0.2")
# About a minute on two cores. FedAvg comes near 90% and FedMax stays far behind, so that the table has
# something to show. With clients this small FedSoftMax at T = 0.2 swings widely, so the demonstration takes T = 0.5.
DEMO = ImageSettings(
    data="digits",
    partition="shards:10,unbalanced",
    clients=16,
    samples=40,
    rounds=20,
    epochs=1,
    batch=16,
    lr=0.15,
)
DEMO_WEIGHTINGS = ("fedavg", "fedsoftmax:0.5", "fedmax")


@command("The paper", "vision run", more=ImageSettings, weightings="--weighting")
def run(
    *,
    out: Path,
    data_dir: Path | None = None,
    no_checksum: bool = False,
    weightings: tuple[str, ...] = WEIGHTINGS,
    repetitions: Annotated[int, click.IntRange(1)] = 1,
    threads: Annotated[int | None, click.IntRange(1)] = None,
    quiet: bool = False,
    **settings: Any,
) -> None:
    """Train with every weighting on the same partitions and initial models, and tabulate what came out.

    The same command keeps what is finished. --out receives one JSON record for each run.

    out: Folder of the records.
    data_dir: Folder of the IDX files of mnist or fashion-mnist.
    no_checksum: Take IDX files of your own from --data-dir.
    weightings: Repeatable. [default: fedavg fedsoftmax:0.2]
    repetitions: Partitions and models.
    threads: Clients that train side by side. [default: one a core]
    """
    runs = range(repetitions)
    _experiment(ImageSettings(**settings), weightings, runs, out, data_dir, not no_checksum, threads, quiet)


@command("The paper", "vision demo")
def demo(
    *,
    out: Path = Path("vision-demo"),
    threads: Annotated[int | None, click.IntRange(1)] = None,
    quiet: bool = False,
) -> None:
    """Train with three weightings on scikit-learn's digits, enlarged to 28x28: about a minute, no data needed.

    out: Folder to write.
    threads: Clients that train side by side. [default: one a core]
    """
    _experiment(DEMO, DEMO_WEIGHTINGS, range(2), out, None, True, threads, quiet)


@command("The paper", "vision table")
def table(results: tuple[Path, ...], *, format: Literal["table", "json"] = "table") -> None:
    """Print the rounds to the target accuracy and the final accuracy of every run in RESULTS (folders or files).

    The comparison with the paper, with intervals and tests, is a study: python -m validate.vision.
    """
    from fedbounds.vision import records

    result = [run for place in results for run in records.read(place)]
    records.require_once(result)
    rows = records.table(result)
    show_json(rows) if format == "json" else show(_text(rows))


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table, each under its settings, which are named as far as they differ between rows."""
    from fedbounds.report.terminal import plain_table

    differing = [key for key in rows[0]["settings"] if len({str(row["settings"].get(key)) for row in rows}) > 1]
    body: list[tuple[str, ...]] = []
    message = ""
    for row in rows:
        chosen = row["settings"]
        others = [f"{key} {chosen[key]}" for key in differing if key not in ("data", "partition")]
        where = ", ".join([f"{chosen['data']} {chosen['partition']}", *others])
        if where != message:
            body.append((where, "", ""))
            message = where
        runs = zip(row["rounds_to_target"], row["rounds"], strict=True)
        reached = ", ".join(f">{last}" if r is None else str(r) for r, last in runs)
        last = [100 * value for value in row["final_accuracy"] if value is not None]
        spread = f" ({min(last):.2f} to {max(last):.2f})" if len(last) > 1 else ""
        mean = f"{sum(last) / len(last):.2f}{spread}" if last else "-"
        body.append((f"  {row['weighting']}", reached, mean))
    targets = " and ".join(f"{100 * target:g}%" for target in dict.fromkeys(row["target"] for row in rows))
    return plain_table(("weighting", f"rounds to {targets}", "final accuracy, %"), body)


def _experiment(
    settings: ImageSettings,
    weightings: Sequence[str],
    repetitions: Sequence[int],
    out: Path,
    data_dir: Path | None,
    checksum: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Run and print. What can be refused is refused before the folder is made."""
    if importlib.util.find_spec("torch") is None:
        remedy = "pip install 'fedbounds[vision]'"
        raise reject("the vision experiments need PyTorch", "an installation without it", remedy)
    from fedbounds import plugins
    from fedbounds.engine.parallel import default_threads
    from fedbounds.io import locked
    from fedbounds.report import terminal as console
    from fedbounds.vision import images, records
    from fedbounds.vision import run as experiment

    named = [plugins.weighting_named(name) for name in weightings]
    rules = list({rule.name: rule for rule in named}.values())  # fedmax is fedmax:1
    for rule in rules:
        if rule.needs_problem:
            why = "a weighting of networks must not need L, mu and w* of a strongly convex problem"
            raise reject(why, rule.name, "use fedavg, fedmax:K, fedsoftmax:T or weights of your own")
    settings = dataclasses.replace(settings, partition=images.canonical(settings.partition))
    with console.working("images", not quiet):
        pixels = images.load(settings.data, data_dir, checksum=checksum)
    experiment.deal(settings, pixels.train_labels, repetitions[0])
    try:
        with locked(out), console.progress(not quiet, lines=True) as bar:
            experiment.run_all(settings, pixels, rules, repetitions, out, threads or default_threads(), bar)
    except KeyboardInterrupt:
        say("Every finished run is kept: the same command goes on from there.")
        raise
    result = records.read(out)
    show(_text(records.table(result)))
    if not quiet:
        say(f"Saved {len(result)} records in {out}.")
