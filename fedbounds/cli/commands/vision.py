"""``fedbounds vision``: the paper's experiments with a convolutional network (needs the extra ``vision``)."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from fedbounds.errors import reject
from fedbounds.vision.settings import LOSSES, MODELS, NORMALISATIONS, OPTIMISERS, PRECISIONS, Settings

DEFAULTS = {field.name: field.default for field in dataclasses.fields(Settings)}
WEIGHTINGS = ("fedavg", "fedsoftmax:0.2")
# About a minute on two cores. FedAvg comes near 90% and FedMax stays far behind, so that every table and picture has
# something to show. With clients this small FedSoftMax at T = 0.2 swings widely, so the demonstration takes T = 0.5.
DEMO = Settings(
    data="digits",
    partition="shards:10,unbalanced",
    clients=16,
    samples=40,
    rounds=10,
    epochs=1,
    batch=16,
    lr=0.15,
    normalisation="standard",
)
DEMO_WEIGHTINGS = ("fedavg", "fedsoftmax:0.5", "fedmax")
# field of Settings -> its type and help; the option is named after the field.
CHOICES: dict[str, tuple[Any, str]] = {
    "data": (str, "mnist, fashion-mnist or digits."),
    "partition": (str, "stratified (the paper's IID), shards:60, shards:100, hand:FILE.json, dirichlet:0.3, ..."),
    "clients": (int, "Number of clients N."),
    "samples": (int, "Samples a client, on average."),
    "model": (click.Choice(MODELS), "The 1600 units are the flattened maps, or a hidden layer behind them."),
    "optimiser": (click.Choice(OPTIMISERS), "Of the local steps; its state is fresh each round."),
    "lr": (float, "Step size of the first round."),
    "decay": (float, "The step size of round r is lr decay^r."),
    "epochs": (int, "Local epochs a round, E in the experiments."),
    "batch": (int, "Samples of a local step."),
    "rounds": (int, "Communication rounds."),
    "normalisation": (click.Choice(NORMALISATIONS), "Pixels in [0, 1], standardised, or raw: 0 to 255."),
    "seed": (int, "Seed of partitions, initial models and batches."),
    "target": (float, "With --stop-after: the test accuracy to reach."),
    "stop_after": (int, "End a run this many rounds after it first reached the target."),
    "losses": (click.Choice(LOSSES), "Weights from F_i(w_r), or from F_i of what each client sends back."),
    "precision": (click.Choice(PRECISIONS), "Of the operands of large products; sums and models are float32."),
}


@click.group()
def vision() -> None:
    """Repeat the paper's experiments: a convolutional network on MNIST, Fashion-MNIST or digits."""


def _choices(command: Any) -> Any:
    """An option for every entry of CHOICES; values not given arrive as None."""
    for name, (kind, text) in reversed(CHOICES.items()):
        default = DEFAULTS[name]
        shown = text if default is None else f"{text} [default: {default}]"
        command = click.option(f"--{name.replace('_', '-')}", name, type=kind, help=shown)(command)
    return command


def _machine(command: Any) -> Any:
    """The options of the device; they change the time, and at most the rounding, of a result."""
    options: Sequence[Callable[[Any], Any]] = (
        click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:1."),
        click.option("--threads", type=int, help="Calls made at once on a processor. [default: one a core]"),
        click.option("--client-batch", type=int, help="Clients in one call. [default: 1 on a processor, else all]"),
        click.option("--compile", "compiled", is_flag=True, help="Compile the step first; worth it for long runs."),
        click.option("--quiet", is_flag=True, help="No progress and no remarks on standard error."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@vision.command(short_help="Train with every weighting and tabulate R_90 and stability.")
@_choices
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of IDX files; else they are downloaded.")
@click.option("--no-checksum", is_flag=True, help="Take IDX files of your own from --data-dir.")
@click.option("--weighting", "weightings", multiple=True, help=f"Repeatable. [default: {' '.join(WEIGHTINGS)}]")
@click.option("--repetitions", type=click.IntRange(1), default=1, show_default=True, help="Partitions and models.")
@click.option("--first-repetition", type=click.IntRange(0), default=0, show_default=True, help="Number of the first.")
@click.option("--client-losses", is_flag=True, help="Record F_i(w_r) also where the weighting does not need it.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of records and pictures.")
@_machine
def run(
    data_dir: Path | None,
    no_checksum: bool,
    weightings: tuple[str, ...],
    repetitions: int,
    first_repetition: int,
    out: Path,
    **flags: Any,
) -> None:
    """Train with every weighting on the same partitions and initial models, and tabulate R_90 and stability.

    The same command goes on where it stopped, however it was stopped. --out gets one JSON record a run.
    """
    machine = _machine_flags(flags)
    given = {name: value for name, value in flags.items() if value is not None}
    numbers = range(first_repetition, first_repetition + repetitions)
    _experiment(Settings(**given), weightings or WEIGHTINGS, numbers, out, data_dir, not no_checksum, **machine)


@vision.command(short_help="Three weightings on enlarged digits: a minute, no data needed.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("vision-demo"), show_default=True, help="Folder to write."
)
@_machine
def demo(out: Path, **flags: Any) -> None:
    """Three weightings on scikit-learn's digits, enlarged to 28x28: about a minute, no data needed."""
    _experiment(DEMO, DEMO_WEIGHTINGS, range(2), out, None, True, **_machine_flags(flags))


@vision.command(short_help="R_90 and stability of runs, beside the paper's.")
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(("table", "json")), default="table", help="How to print.")
def table(results: tuple[Path, ...], form: str) -> None:
    """R_90, accuracy and stability with intervals, beside the paper's, of the runs in RESULTS (folders or files)."""
    from fedbounds.vision import runs
    from fedbounds.vision import table as tables

    found = [record for place in results for record in runs.read(place)]
    keys = [(record.experiment, record.weighting, record.seed, record.repetition) for record in found]
    for record, key in zip(found, keys, strict=True):
        if keys.count(key) > 1:
            raise reject("RESULTS must hold every run once", f"{record.source} twice", "name each folder once")
    click.echo(tables.to_json(found) if form == "json" else tables.text(found), nl=form == "json")


def _machine_flags(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: flags.pop(name) for name in ("device", "threads", "client_batch", "compiled", "quiet")}


def _experiment(
    settings: Settings,
    weightings: Sequence[str],
    repetitions: Sequence[int],
    out: Path,
    data_dir: Path | None,
    checksum: bool,
    *,
    device: str,
    threads: int | None,
    client_batch: int | None,
    compiled: bool,
    quiet: bool,
) -> None:
    """Run, draw and print. What can be refused is refused before the folder is made."""
    _require_torch()
    from fedbounds import plugins
    from fedbounds.engine.threads import default_threads
    from fedbounds.files import require_writable
    from fedbounds.show import terminal as console
    from fedbounds.vision import federated, images, split, training

    settings = dataclasses.replace(settings, partition=split.canonical(settings.partition))
    named = [plugins.weighting_named(name) for name in weightings]
    rules = list({rule.name: rule for rule in named}.values())  # fedmax is fedmax:1
    for rule in rules:
        if rule.needs_problem:
            why = "a weighting of networks must not need L, mu and w* of a strongly convex problem"
            raise reject(why, rule.name, "use fedavg, fedmax:K, fedsoftmax:T or weights of your own")
    where = training.machine(device, client_batch, default_threads() if threads is None else threads, compiled)
    live = not quiet and sys.stderr.isatty()
    with console.progress(live) as download:
        pixels = images.load(settings.data, data_dir, checksum=checksum, progress=download)
    federated.deal(settings, pixels.train_labels, repetitions[0])
    require_writable(out)
    try:
        with console.runs(len(rules) * len(repetitions), live) as bar:
            federated.run_all(settings, pixels, rules, repetitions, out, where, _reporter(bar, quiet))
    except KeyboardInterrupt:
        click.echo("Every finished round is kept: the same command goes on from there.", err=True)
        raise
    _show(out, quiet)


def _show(out: Path, quiet: bool) -> None:
    """Print the table of all records in ``out`` and draw its pictures there."""
    from fedbounds.vision import pictures, runs
    from fedbounds.vision import table as tables

    found = runs.read(out)
    click.echo(tables.text(found), nl=False)
    paths = pictures.draw(found, out)
    if not quiet:
        click.echo(f"Saved {len(found)} records and {len(paths)} pictures in {out}.", err=True)


def _reporter(
    bar: Callable[[str, int, int, str], None] | None, quiet: bool
) -> Callable[[str, int, int, float], None] | None:
    """The bar with the accuracy; without a terminal a line a run."""
    if quiet:
        return None
    if bar is not None:
        return lambda name, done, total, accuracy: bar(name, done, total, f"accuracy {accuracy:.3f}")

    def line(name: str, done: int, total: int, accuracy: float) -> None:
        if done == total:
            click.echo(f"{name}: accuracy {accuracy:.4f} after {total} rounds", err=True)

    return line


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise reject(
            "the vision experiments need PyTorch", "an installation without it", "pip install 'fedbounds[vision]'"
        )


COMMANDS = [vision]
