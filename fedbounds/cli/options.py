"""The flags of ``fedbounds check``: one for every field of `Settings`, in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from fedbounds.errors import reject
from fedbounds.study.settings import Settings

DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Settings)} | {"plugins": ()}


class Batch(click.ParamType):
    """A batch size, or ``full`` for full gradients."""

    name = "INT|full"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The whole number, or the word ``full``."""
        if value == "full":
            return value
        try:
            return int(value)
        except ValueError:
            raise reject("--batch must be a whole number or full", repr(value), "use for example --batch 8") from None


class Numbers(click.ParamType):
    """Comma-separated numbers."""

    name = "LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of floats."""
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            raise reject(
                "--p must be numbers separated by commas", repr(value), "use for example 0.5,0.3,0.2"
            ) from None


@dataclass(frozen=True)
class Flag:
    """One flag: its section of the help, the `Settings` field it sets, its spelling, type and help."""

    section: str
    field: str
    spelling: str
    type: Any
    help: str
    multiple: bool = False
    is_flag: bool = False
    metavar: str | None = None


def _choice(*names: str) -> click.Choice:
    return click.Choice(names)


PROBLEM, SCHEME, PROTOCOL, READING = "Problem", "Weightings and claims", "Protocol", "Readings and constants"
OUTPUT = "Output"
FLAGS = (
    Flag(PROBLEM, "problem", "--problem", str, "least-squares, logistic or quadratic."),
    Flag(PROBLEM, "data", "--data", str, "digits, breast-cancer, diabetes, libsvm:PATH, idx:FOLDER or a generator."),
    Flag(PROBLEM, "partition", "--partition", str, "Who holds what: iid, shards:SIZE, dirichlet:ALPHA, ..."),
    Flag(PROBLEM, "clients", "--clients", int, "Number of clients N."),
    Flag(PROBLEM, "p", "--p", Numbers(), "Client weights p_i, instead of n_i/n."),
    Flag(PROBLEM, "regularisation", "--regularisation", float, "L2 regularisation."),
    Flag(PROBLEM, "classes", "--classes", _choice("all", "binary"), "Classes of logistic regression."),
    Flag(PROBLEM, "limit", "--limit", int, "Use the first LIMIT samples of the data only."),
    Flag(PROBLEM, "standardise", "--standardise/--no-standardise", bool, "Scale the features of real data."),
    Flag(PROBLEM, "dimension", "--dimension", int, "Dimension of generated problems."),
    Flag(PROBLEM, "samples", "--samples", int, "Samples a client of generated data."),
    Flag(PROBLEM, "condition", "--condition", float, "L/mu of generated quadratics."),
    Flag(PROBLEM, "noise_std", "--noise-std", float, "Gradient noise of generated quadratics."),
    Flag(PROBLEM, "imbalance", "--imbalance", float, "How unequal the p_i of generated quadratics are."),
    Flag(
        SCHEME,
        "weightings",
        "--weighting",
        str,
        "fedavg, fedmax[:K], fedsoftmax:T, power-of-choice:D,M, fixed:A,B,...",
        True,
    ),
    Flag(SCHEME, "claims", "--claim", str, "A claim to examine (default: every one; see fedbounds claims).", True),
    Flag(
        SCHEME,
        "plugins",
        "--plugin",
        str,
        "A Python file with claims, weightings or a problem of your own.",
        True,
        metavar="FILE",
    ),
    Flag(PROTOCOL, "tau", "--tau", int, "Local steps a round."),
    Flag(PROTOCOL, "rounds", "--rounds", int, "Rounds; T = rounds * tau."),
    Flag(PROTOCOL, "replicates", "--replicates", int, "Independent repetitions of the run."),
    Flag(PROTOCOL, "batch", "--batch", Batch(), "Batch size, or full for full gradients."),
    Flag(PROTOCOL, "replacement", "--without-replacement", bool, "Draw batches without replacement.", is_flag=True),
    Flag(PROTOCOL, "participation", "--participation", float, "Share C of the clients that take part in a round."),
    Flag(PROTOCOL, "step", "--step", str, "theory, constant:ETA, geometric:ETA0,DECAY or inverse:C,GAMMA."),
    Flag(PROTOCOL, "w0_scale", "--w0-scale", float, "Norm of w_0, in a random direction; 0 starts at the origin."),
    Flag(PROTOCOL, "aggregation", "--aggregation", _choice("algorithm-1", "equation-2"), "When models are averaged."),
    Flag(PROTOCOL, "seed", "--seed", int, "Seed of everything random."),
    Flag(PROTOCOL, "stride", "--stride", int, "Record every STRIDE-th step; extremes are over all steps anyway."),
    Flag(PROTOCOL, "engine", "--engine", _choice("auto", "kernels", "reference"), "How the run is computed."),
    Flag(READING, "readings", "--reading", str, "literal, sync, all-steps or repaired.", True),
    Flag(READING, "error_rate", "--error-rate", float, "Family-wise error rate of a verdict."),
    Flag(READING, "constants", "--constants", _choice("run", "ball", "given"), "Where sigma_sq and G_sq come from."),
    Flag(READING, "moments", "--moments", _choice("conditional", "total"), "Which expectation they bound."),
    Flag(READING, "across", "--across", _choice("worst", "path"), "Skews worst over replicates, or per path."),
    Flag(READING, "radius", "--radius", float, "Radius around w* for --constants ball."),
    Flag(READING, "sigma_sq", "--sigma-sq", float, "sigma^2 for --constants given."),
    Flag(READING, "G_sq", "--G-sq", float, "G^2 for --constants given."),
)


class SectionedCommand(click.Command):
    """A command whose help lists its options under the ``section`` of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one definition list a section, in order of first appearance."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", OUTPUT), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class SectionedOption(click.Option):
    """An option that knows its section."""

    def __init__(self, *args: Any, section: str = OUTPUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def _shown(flag: Flag) -> str:
    """The help with the default, written as one would type it."""
    default = DEFAULTS[flag.field]
    if flag.multiple:
        return f"{flag.help} Repeatable." + (f" [default: {' '.join(default)}]" if default else "")
    if flag.is_flag or default is None or isinstance(default, bool):
        return flag.help
    return f"{flag.help} [default: {default}]"


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a click function with every flag of FLAGS; values not given arrive as None or ()."""
    for flag in reversed(FLAGS):
        options: dict[str, Any] = {"type": flag.type, "multiple": flag.multiple, "metavar": flag.metavar}
        options |= {"is_flag": True, "type": None} if flag.is_flag else {}
        command = click.option(
            flag.spelling,
            flag.field,
            cls=SectionedOption,
            section=flag.section,
            help=_shown(flag),
            default=() if flag.multiple else None,
            **options,
        )(command)
    return command


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of ``check`` for the flags that were given; the rest keep their defaults."""
    chosen = {name: value for name, value in values.items() if value is not None and value != ()}
    if chosen.pop("replacement", False):
        chosen["replacement"] = False
    if chosen.get("batch") == "full":
        chosen["batch"] = None
    return chosen
