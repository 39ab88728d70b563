"""What a study is: every choice in one frozen record, defined once.

From the fields of `Settings` (type, bounds, section, help) follow the flags of the command line, the keys of a
sweep's TOML, the JSON of a result and the keywords of `check`, with the same checks for each: `checked`.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal

from fedbounds.errors import quoted, reject
from fedbounds.io import Bounds, Misshapen, convert
from fedbounds.model import Engine
from fedbounds.plugins import nearest
from fedbounds.theory.reading import ERROR_RATE

# Squared distances from farther away leave the range of floating point.
MAX_START = 1e100
DEFAULT_READINGS = ("literal", "sync", "repaired")
FULL = "full"
# The sections in which people are shown the settings.
PROBLEM = (
    *("problem", "data", "partition", "clients", "regularisation", "classes", "standardise", "limit"),
    *("dimension", "samples", "condition", "noise_std", "imbalance", "p"),
)
SECTIONS = {
    "Problem": PROBLEM,
    "Weightings and claims": ("weightings", "claims", "plugins"),
    "Protocol": (
        *("tau", "rounds", "replicates", "batch", "replacement", "participation", "step", "w0_scale", "seed"),
        *("stride", "memory", "engine"),
    ),
    "Readings and constants": ("readings", "error_rate", "sigma_sq", "G_sq"),
}
# The flags that are not the setting's name.
FLAGS = {
    "standardise": "--standardise/--no-standardise",
    "weightings": "--weighting",
    "claims": "--claims",
    "readings": "--reading",
    "replacement": "--with-replacement/--without-replacement",
    "plugins": "--plugin",
}


def _bounded(words: str, **limits: Any) -> Bounds:
    return Bounds(title=words, **limits)


Text = Annotated[str, _bounded("a text of 1 to 10000 characters", min_length=1, max_length=10_000)]
Count = Annotated[int, _bounded("a whole number of at least 1, at most 10^9", ge=1, le=10**9)]
Seed = Annotated[int, _bounded("a non-negative whole number below 2^63", ge=0, le=2**63 - 1)]
Positive = Annotated[float, _bounded("a finite number above 0", gt=0, le=1.7e308)]
NonNegative = Annotated[float, _bounded("a finite number, 0 or more", ge=0, le=1.7e308)]
Start = Annotated[float, _bounded(f"the norm of w_0, a number from 0 to {MAX_START:g}", ge=0, le=MAX_START)]
Share = Annotated[float, _bounded("a number in (0, 1]", gt=0, le=1)]
Rate = Annotated[float, _bounded("an error rate, a number in (0, 0.5)", gt=0, lt=0.5)]
Weights = Annotated[tuple[NonNegative, ...], _bounded("a distribution, a list of non-negative numbers", min_length=1)]
Texts = Annotated[tuple[Text, ...], _bounded("a list of texts")]


@dataclass(frozen=True)
class Settings:
    """Every setting of a study; the JSON of a result holds them all, so a run can be repeated.

    problem: least-squares, logistic or quadratic.
    data: digits, breast-cancer, diabetes, csv:PATH,target=COL,client=COL, parquet:.. or a generator.
    partition: Who holds what: iid, shards:SIZE, dirichlet:ALPHA, ...
    clients: Number of clients N, 10 unless the data name them.
    regularisation: L2 regularisation.
    classes: Classes of logistic regression.
    standardise: Scale the features and numeric targets of real data.
    limit: Use the first LIMIT samples of the data only.
    dimension: Dimension of generated problems.
    samples: Samples a client of generated data.
    condition: L/mu of generated quadratics.
    noise_std: Gradient noise of generated quadratics.
    imbalance: How unequal the p_i of generated quadratics are.
    p: Client weights p_i, instead of n_i/n.
    weightings: fedavg, fedmax[:K], fedsoftmax:T, power-of-choice:D,M, multinomial:M, fixed:A,...
    claims: A claim, or paper (the default) or all; see fedbounds claims.
    readings: plain, literal, sync, all-steps or repaired.
    tau: Local steps a round.
    rounds: Rounds; T = rounds * tau.
    replicates: Independent repetitions of the run.
    batch: Batch size, or full for full gradients.
    replacement: Draw batches with or without replacement.
    participation: Share C of the clients that take part in a round.
    step: theory, constant:ETA, geometric:ETA0,DECAY or inverse:C,GAMMA.
    w0_scale: Norm of w_0, in a random direction; 0 starts at the origin.
    seed: Seed of everything random.
    stride: Record every STRIDE-th step; extremes are over all steps.
    error_rate: Family-wise error rate of a verdict.
    sigma_sq: sigma^2, with --G-sq; else that of the run.
    G_sq: G^2, with --sigma-sq.
    memory: GB that a check takes at most: beyond, fewer steps are recorded. [default: 4, or a quarter of the
    machine's]
    engine: How the run is computed.
    plugins: A Python file with claims, weightings or a problem of your own.
    """

    problem: Text = "least-squares"
    data: Text | None = None
    partition: Text | None = None
    clients: Count | None = None
    regularisation: NonNegative = 0.1
    classes: Literal["all", "binary"] = "all"
    standardise: bool = True
    limit: Count | None = None
    dimension: Count = 8
    samples: Count = 40
    condition: Positive = 10.0
    noise_std: NonNegative = 1.0
    imbalance: NonNegative = 0.0
    p: Weights | None = None
    weightings: Texts = ()
    claims: Texts = ()
    readings: Texts = DEFAULT_READINGS
    tau: Count = 5
    rounds: Count = 200
    replicates: Count = 64
    batch: Count | None = 8
    replacement: bool = True
    participation: Share = 1.0
    step: Text = "theory"
    w0_scale: Start = 0.0
    seed: Seed = 0
    stride: Count = 1
    error_rate: Rate = ERROR_RATE
    sigma_sq: NonNegative | None = None
    G_sq: NonNegative | None = None
    memory: Positive | None = None
    engine: Engine = "auto"
    plugins: Texts = ()

    def __post_init__(self) -> None:
        for name in NAMES:
            object.__setattr__(self, name, checked(name, getattr(self, name)))

    @staticmethod
    def of(values: Mapping[str, Any]) -> Settings:
        """The settings with these values, by name; the others have their defaults."""
        for name in values:
            _setting_named(name)
        return Settings(**values)

    def to_json(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @property
    def N(self) -> int:
        """The clients that are made, or that data are dealt out to."""
        return self.clients or 10

    def to_toml(self) -> str:
        """The settings that are not their defaults, as the lines of a file for ``check --config``."""
        values = {name: value for name, value in self.to_json().items() if getattr(self, name) != DEFAULTS[name]}
        values |= {"batch": FULL} if self.batch is None else {}
        return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())


NAMES = tuple(item.name for item in fields(Settings))
DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Settings)}


@dataclass(frozen=True)
class Setting:
    """One setting: its name and type."""

    name: str
    kind: Any

    @property
    def spelling(self) -> str:
        """Its flag as it is typed: --name, or --on/--off."""
        return FLAGS.get(self.name, f"--{self.name.replace('_', '-')}")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, where it is one of a few."""
        return typing.get_args(self.kind) if typing.get_origin(self.kind) is Literal else ()

    @property
    def several(self) -> bool:
        return self.kind == Texts

    @property
    def scalar(self) -> type:
        """The plain type that it is made of."""
        kind: Any = self.kind
        while parts := [part for part in typing.get_args(kind) if part is not types.NoneType]:
            kind = parts[0]
        return kind if isinstance(kind, type) else str

    def read(self, text: str) -> Any:
        """What ``text`` of a command line means: a number or numbers where the setting takes them."""
        try:
            if self.scalar not in (int, float):
                return text
            return [float(part) for part in text.split(",")] if self.name == "p" else self.scalar(text)
        except ValueError:
            return text


@functools.cache
def settings() -> Mapping[str, Setting]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    return {name: Setting(name, hints[name]) for name in NAMES}


def checked(name: str, value: Any) -> Any:
    """``value`` as the setting ``name`` holds it; InputError where it is of another type or out of bounds."""
    setting = _setting_named(name)
    plain = _plain(value)
    if name == "batch" and plain == FULL:
        return None
    if setting.choices and isinstance(plain, str) and plain not in setting.choices:
        raise nearest(name, plain, setting.choices)
    if setting.several and isinstance(plain, str):
        plain = [plain]
    try:
        result = convert(plain, setting.kind)
    except Misshapen:
        also = f', or "{FULL}"' if name == "batch" else ""
        raise reject(f"{name} must be {_words(setting.kind)}{also}", quoted(value), "change it") from None
    if setting.several and len(set(result)) < len(result):
        raise reject(f"{name} must list each value once", quoted(value), "remove the repetition")
    return result


def _setting_named(name: str) -> Setting:
    if name not in settings():
        raise nearest("setting", name, NAMES)
    return settings()[name]


def _plain(value: Any) -> Any:
    """``value`` without the types of numpy, tuples and paths."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.__fspath__() if hasattr(value, "__fspath__") else value


def _words(kind: Any) -> str:
    if typing.get_origin(kind) is Annotated:
        return str(kind.__metadata__[-1].title)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return " or ".join(_words(part) for part in typing.get_args(kind) if part is not types.NoneType)
    if typing.get_origin(kind) is Literal:
        return f"one of {', '.join(typing.get_args(kind))}"
    return "true or false"
