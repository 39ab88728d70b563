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
from fedbounds.model.protocol import Aggregation, Engine
from fedbounds.plugins import nearest
from fedbounds.theory.reading import ERROR_RATE

# Squared distances from farther away leave the range of floating point.
MAX_START = 1e100
DEFAULT_READINGS = ("literal", "sync", "repaired")
PROBLEM, SCHEME, PROTOCOL, READING = "Problem", "Weightings and claims", "Protocol", "Readings and constants"
FULL = "full"


@dataclass(frozen=True)
class About:
    """How people meet a setting: the section and the text of the help, and its flag where that is not its name."""

    section: str
    help: str
    flag: str = ""
    metavar: str | None = None


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
    """Every setting of a study; the JSON of a result holds them all, so a run can be repeated."""

    problem: Annotated[Text, About(PROBLEM, "least-squares, logistic or quadratic.")] = "least-squares"
    data: Annotated[
        Text | None,
        About(
            PROBLEM,
            "digits, breast-cancer, diabetes, csv:PATH,target=COL,client=COL, parquet:.., libsvm:PATH, idx:FOLDER or "
            "a generator.",
        ),
    ] = None
    partition: Annotated[Text | None, About(PROBLEM, "Who holds what: iid, shards:SIZE, dirichlet:ALPHA, ...")] = None
    clients: Annotated[Count | None, About(PROBLEM, "Number of clients N, 10 unless the data name them.")] = None
    regularisation: Annotated[NonNegative, About(PROBLEM, "L2 regularisation.")] = 0.1
    classes: Annotated[Literal["all", "binary"], About(PROBLEM, "Classes of logistic regression.")] = "all"
    standardise: Annotated[
        bool, About(PROBLEM, "Scale the features and numeric targets of real data.", "--standardise/--no-standardise")
    ] = True
    limit: Annotated[Count | None, About(PROBLEM, "Use the first LIMIT samples of the data only.")] = None
    dimension: Annotated[Count, About(PROBLEM, "Dimension of generated problems.")] = 8
    samples: Annotated[Count, About(PROBLEM, "Samples a client of generated data.")] = 40
    condition: Annotated[Positive, About(PROBLEM, "L/mu of generated quadratics.")] = 10.0
    noise_std: Annotated[NonNegative, About(PROBLEM, "Gradient noise of generated quadratics.")] = 1.0
    imbalance: Annotated[NonNegative, About(PROBLEM, "How unequal the p_i of generated quadratics are.")] = 0.0
    p: Annotated[Weights | None, About(PROBLEM, "Client weights p_i, instead of n_i/n.", metavar="LIST")] = None
    weightings: Annotated[
        Texts,
        About(
            SCHEME,
            "fedavg, fedmax[:K], fedsoftmax:T, power-of-choice:D,M, multinomial:M, fixed:A,...",
            "--weighting",
        ),
    ] = ()
    claims: Annotated[
        Texts, About(SCHEME, "A claim, or paper (the default), field, ours, all; see fedbounds claims.", "--claims")
    ] = ()
    readings: Annotated[Texts, About(READING, "plain, literal, sync, all-steps or repaired.", "--reading")] = (
        DEFAULT_READINGS
    )
    tau: Annotated[Count, About(PROTOCOL, "Local steps a round.")] = 5
    rounds: Annotated[Count, About(PROTOCOL, "Rounds; T = rounds * tau.")] = 200
    replicates: Annotated[Count, About(PROTOCOL, "Independent repetitions of the run.")] = 64
    batch: Annotated[
        Count | None, About(PROTOCOL, f"Batch size, or {FULL} for full gradients.", metavar=f"INT|{FULL}")
    ] = 8
    replacement: Annotated[
        bool, About(PROTOCOL, "Draw batches with or without replacement.", "--with-replacement/--without-replacement")
    ] = True
    participation: Annotated[Share, About(PROTOCOL, "Share C of the clients that take part in a round.")] = 1.0
    step: Annotated[Text, About(PROTOCOL, "theory, constant:ETA, geometric:ETA0,DECAY or inverse:C,GAMMA.")] = (
        "theory"
    )
    w0_scale: Annotated[Start, About(PROTOCOL, "Norm of w_0, in a random direction; 0 starts at the origin.")] = 0.0
    seed: Annotated[Seed, About(PROTOCOL, "Seed of everything random.")] = 0
    stride: Annotated[Count, About(PROTOCOL, "Record every STRIDE-th step; extremes are over all steps.")] = 1
    error_rate: Annotated[Rate, About(READING, "Family-wise error rate of a verdict.")] = ERROR_RATE
    sigma_sq: Annotated[NonNegative | None, About(READING, "sigma^2, with --G-sq; else that of the run.")] = None
    G_sq: Annotated[NonNegative | None, About(READING, "G^2, with --sigma-sq.")] = None
    memory: Annotated[
        Positive | None,
        About(
            PROTOCOL,
            "GB that a check takes at most: beyond, fewer steps are recorded. [default: 4, or a quarter of the "
            "machine's]",
        ),
    ] = None
    aggregation: Annotated[Aggregation, About(PROTOCOL, "When models are averaged.")] = "algorithm-1"
    engine: Annotated[Engine, About(PROTOCOL, "How the run is computed.")] = "auto"
    plugins: Annotated[
        Texts, About(SCHEME, "A Python file with claims, weightings or a problem of your own.", "--plugin", "FILE")
    ] = ()

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

    def words(self) -> list[list[str]]:
        """The flags that give these settings, with their values."""
        return [pair for setting in settings().values() for pair in setting.words(getattr(self, setting.name))]

    def to_toml(self) -> str:
        """A study file that gives these settings again: `fedbounds.study.study_file.settings_from`."""
        data = {name: FULL if name == "batch" and value is None else value for name, value in self.to_json().items()}
        # What JSON writes of texts, numbers and lists is TOML too, but for the one character that it does not escape.
        lines = (
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in data.items() if value is not None
        )
        return "".join(lines).replace("\x7f", "\\u007f")


NAMES = tuple(item.name for item in fields(Settings))
DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Settings)}


@dataclass(frozen=True)
class Setting:
    """One setting: its name, its type without what people are told, and what they are told."""

    name: str
    kind: Any
    about: About

    @property
    def spelling(self) -> str:
        """Its flag as it is typed: --name, or --on/--off."""
        return self.about.flag or f"--{self.name.replace('_', '-')}"

    def words(self, value: Any) -> list[list[str]]:
        """The flags that give it this value, none where that is the default."""
        if value == DEFAULTS[self.name]:
            return []
        if isinstance(value, bool):
            on, _, off = self.spelling.partition("/")
            return [[on if value else off]]
        if self.several:
            return [[self.spelling, item] for item in value]
        if self.name == "batch" and value is None:
            return [[self.spelling, FULL]]
        return [[self.spelling, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]]

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, where it is one of a few."""
        return typing.get_args(self.kind) if typing.get_origin(self.kind) is Literal else ()

    @property
    def several(self) -> bool:
        return self.kind == Texts

    def read(self, text: str) -> Any:
        """What ``text`` of a command line means: a number or numbers where the setting takes them."""
        scalar = next((kind for kind in (int, float) if kind in _scalars(self.kind)), None)
        try:
            if scalar is None:
                return text
            return [float(part) for part in text.split(",")] if _is_list(self.kind) else scalar(text)
        except ValueError:
            return text


@functools.cache
def settings() -> Mapping[str, Setting]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    return {name: Setting(name, _without_about(hints[name]), hints[name].__metadata__[-1]) for name in NAMES}


def section_of(name: str) -> str:
    return settings()[name].about.section


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


def _without_about(hint: Any) -> Any:
    rest = tuple(item for item in hint.__metadata__ if not isinstance(item, About))
    return Annotated[(hint.__origin__, *rest)] if rest else hint.__origin__


def _words(kind: Any) -> str:
    if typing.get_origin(kind) is Annotated:
        return str(kind.__metadata__[-1].title)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return " or ".join(_words(part) for part in typing.get_args(kind) if part is not types.NoneType)
    if typing.get_origin(kind) is Literal:
        return f"one of {', '.join(typing.get_args(kind))}"
    return "true or false"


def _scalars(kind: Any) -> set[Any]:
    """The plain types that a type is made of."""
    parts = [part for part in typing.get_args(kind) if part is not Ellipsis]
    if typing.get_origin(kind) is Annotated:
        parts = [kind.__origin__]
    elif typing.get_origin(kind) is Literal:
        return {str}
    return set().union(*map(_scalars, parts)) if parts else {kind}


def _is_list(kind: Any) -> bool:
    if typing.get_origin(kind) is Annotated:
        return _is_list(kind.__origin__)
    return typing.get_origin(kind) is tuple or any(_is_list(part) for part in typing.get_args(kind) if part)
