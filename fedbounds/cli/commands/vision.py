"""``fedbounds vision``: the paper's experiments with a convolutional network (needs the extra ``vision``)."""

import dataclasses
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from fedbounds.cli.options import QUIET, Place, formats, print_json, say
from fedbounds.errors import reject
from fedbounds.vision.settings import CHOICES, KINDS, ImageSettings

WEIGHTINGS = ("fedavg", "fedsoftmax:0.2")
# About a minute on two cores. FedAvg comes near 90% and FedMax stays far behind, so that the table has
# something to show. With clients this small FedSoftMax at T = 0.2 swings widely, so the demonstration takes T = 0.5.
DEMO = ImageSettings(
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
# Set by the machine's options, or by an option of their own.
ELSEWHERE = ("precision", "client_losses")


@click.group()
def vision() -> None:
    """Repeat the paper's experiments: a convolutional network on MNIST, Fashion-MNIST or digits."""


def _choices(command: Any) -> Any:
    """An option for every choice of `ImageSettings`; values not given arrive as None."""
    for field in reversed([field for field in CHOICES if field.name not in ELSEWHERE]):
        kind = next((kind for kind in (int, float) if kind in (field.type, *get_args(field.type))), str)
        kinds, text = field.metadata["kinds"], field.metadata["help"]
        text += "" if field.default is None else f" [default: {field.default}]"
        name = f"--{field.name.replace('_', '-')}"
        command = click.option(name, field.name, type=click.Choice(kinds) if kinds else kind, help=text)(command)
    return command


def _machine(command: Any) -> Any:
    """The options of the device; they change the time, and at most the rounding, of a result."""
    options: Sequence[Callable[[Any], Any]] = (
        click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:1."),
        click.option("--threads", type=int, help="Clients that train side by side. [default: one a core]"),
        click.option(
            "--precision",
            type=click.Choice(("auto", *KINDS["precision"])),
            default="auto",
            show_default=True,
            help="Of the operands of products; auto is bfloat16 where the device has it, else float32.",
        ),
        QUIET,
    )
    for option in reversed(options):
        command = option(command)
    return command


@vision.command(short_help="Train with every weighting and tabulate rounds and accuracy.")
@_choices
@click.option("--data-dir", type=Place(), help="Folder of IDX files; else they are downloaded.")
@click.option("--no-checksum", is_flag=True, help="Take IDX files of your own from --data-dir.")
@click.option("--weighting", "weightings", multiple=True, help=f"Repeatable. [default: {' '.join(WEIGHTINGS)}]")
@click.option("--repetitions", type=click.IntRange(1), default=1, show_default=True, help="Partitions and models.")
@click.option("--first-repetition", type=click.IntRange(0), default=0, show_default=True, help="Number of the first.")
@click.option("--client-losses", is_flag=True, help="Record F_i(w_r) also where the weighting does not need it.")
@click.option("--out", type=Place(), required=True, help="Folder of the records.")
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
    """Train with every weighting on the same partitions and initial models, and tabulate what came out.

    The same command goes on where it stopped, however it was stopped. --out gets one JSON record a run.
    """
    machine = _machine_flags(flags)
    given = {name: value for name, value in flags.items() if value is not None}
    numbers = range(first_repetition, first_repetition + repetitions)
    _experiment(ImageSettings(**given), weightings or WEIGHTINGS, numbers, out, data_dir, not no_checksum, **machine)


@vision.command(short_help="Three weightings on enlarged digits: a minute, no data needed.")
@click.option("--out", type=Place(), default=Path("vision-demo"), show_default=True, help="Folder to write.")
@_machine
def demo(out: Path, **flags: Any) -> None:
    """Three weightings on scikit-learn's digits, enlarged to 28x28: about a minute, no data needed."""
    _experiment(DEMO, DEMO_WEIGHTINGS, range(2), out, None, True, **_machine_flags(flags))


@vision.command(short_help="Rounds to the target and final accuracy of finished runs.")
@click.argument("results", type=Place(), nargs=-1, required=True)
@formats("table", "json")
def table(results: tuple[Path, ...], form: str) -> None:
    """Rounds to the target accuracy and the final accuracy of every run in RESULTS (folders or files).

    The comparison with the paper, with intervals and tests, is a study: python -m validate.vision.
    """
    from fedbounds.vision import records

    found = [run for place in results for run in records.read(place)]
    records.require_once(found)
    rows = records.table(found)
    print_json(rows) if form == "json" else click.echo(_text(rows), nl=False)


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table, each under its settings, which are named as far as they differ between rows."""
    from fedbounds.report.terminal import plain_table

    differing = [key for key in rows[0]["settings"] if len({str(row["settings"].get(key)) for row in rows}) > 1]
    body: list[tuple[str, ...]] = []
    said = ""
    for row in rows:
        chosen = row["settings"]
        others = [f"{key} {chosen[key]}" for key in differing if key not in ("data", "partition")]
        where = ", ".join([f"{chosen['data']} {chosen['partition']}", *others])
        if where != said:
            body.append((where, "", "", ""))
            said = where
        runs = zip(row["rounds_to_target"], row["rounds"], strict=True)
        reached = ", ".join(f">{last}" if r is None else str(r) for r, last in runs)
        last = [100 * value for value in row["final_accuracy"] if value is not None]
        spread = f" ({min(last):.2f} to {max(last):.2f})" if len(last) > 1 else ""
        mean = f"{sum(last) / len(last):.2f}{spread}" if last else "-"
        pairs = row["before_fedavg"]
        counts = f"{pairs['fewer']}/{pairs['equal']}/{pairs['more']} of {pairs['pairs']}" if pairs else ""
        body.append((f"  {row['weighting']}", reached, mean, counts))
    targets = " and ".join(f"{100 * target:g}%" for target in dict.fromkeys(row["target"] for row in rows))
    head = ("weighting", f"rounds to {targets}", "final accuracy, %", "fewer/equal/more rounds than FedAvg")
    return plain_table(head, body)


def _machine_flags(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: flags.pop(name) for name in ("device", "threads", "precision", "quiet")}


def _experiment(
    settings: ImageSettings,
    weightings: Sequence[str],
    repetitions: Sequence[int],
    out: Path,
    data_dir: Path | None,
    checksum: bool,
    *,
    device: str,
    threads: int | None,
    precision: str,
    quiet: bool,
) -> None:
    """Run and print. What can be refused is refused before the folder is made."""
    _require_torch()
    from fedbounds import plugins
    from fedbounds.engine.threads import default_threads
    from fedbounds.io import locked
    from fedbounds.report import terminal as console
    from fedbounds.vision import federated, images, records, split, training

    named = [plugins.weighting_named(name) for name in weightings]
    rules = list({rule.name: rule for rule in named}.values())  # fedmax is fedmax:1
    for rule in rules:
        if rule.needs_problem:
            why = "a weighting of networks must not need L, mu and w* of a strongly convex problem"
            raise reject(why, rule.name, "use fedavg, fedmax:K, fedsoftmax:T or weights of your own")
    where = training.machine(device, default_threads() if threads is None else threads)
    settings = dataclasses.replace(
        settings,
        partition=split.canonical(settings.partition),
        precision=where.precision if precision == "auto" else precision,
    )
    with console.progress(not quiet) as download:
        pixels = images.load(settings.data, data_dir, checksum=checksum, progress=download)
    federated.deal(settings, pixels.train_labels, repetitions[0])
    try:
        with locked(out), console.progress(not quiet, len(rules) * len(repetitions), lines=True) as bar:
            federated.run_all(settings, pixels, rules, repetitions, out, where, bar)
    except KeyboardInterrupt:
        say("Every finished round is kept: the same command goes on from there.")
        raise
    found = records.read(out)
    click.echo(_text(records.table(found)), nl=False)
    if not quiet:
        say(f"Saved {len(found)} records in {out}.")


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise reject(
            "the vision experiments need PyTorch", "an installation without it", "pip install 'fedbounds[vision]'"
        )


COMMANDS = [vision]
