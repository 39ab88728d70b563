"""What a study is: every choice in one frozen record, and the objects it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Problem
from fedbounds.model.schedule import ConstantStep, Geometric, InverseTime, StepSize

# Squared distances from farther away leave the range of floating point.
MAX_START = 1e100
DEFAULT_READINGS = ("literal", "sync", "repaired")
# The generators' data: problem they feed and the parameters their text takes.
SYNTHETIC = {"synthetic": 2, "regression": 1, "quadratics": 1}
DEFAULT_DATA = {"least-squares": "regression:1", "logistic": "synthetic:1,1", "quadratic": "quadratics:1"}


@dataclass(frozen=True)
class Settings:
    """Every setting of a study; the JSON of a result holds them all, so a run can be repeated."""

    problem: str = "least-squares"
    data: str | None = None
    partition: str | None = None
    clients: int = 10
    regularisation: float = 0.1
    classes: str = "all"
    standardise: bool = True
    limit: int | None = None
    dimension: int = 8
    samples: int = 40
    condition: float = 10.0
    noise_std: float = 1.0
    imbalance: float = 0.0
    p: tuple[float, ...] | None = None
    weightings: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    readings: tuple[str, ...] = DEFAULT_READINGS
    tau: int = 5
    rounds: int = 200
    replicates: int = 64
    batch: int | None = 8
    replacement: bool = True
    participation: float = 1.0
    step: str = "theory"
    w0_scale: float = 0.0
    seed: int = 0
    stride: int = 1
    error_rate: float = 1e-3
    constants: str = "run"
    moments: str = "conditional"
    across: str = "worst"
    radius: float | None = None
    sigma_sq: float | None = None
    G_sq: float | None = None
    aggregation: str = "algorithm-1"
    engine: str = "auto"
    plugins: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not 0 < self.error_rate < 0.5:
            raise reject("the error rate must lie in (0, 0.5)", self.error_rate, "use for example 1e-3")
        if self.seed < 0:
            raise reject("the seed must be non-negative", self.seed, "use 0 or a positive whole number")
        if self.clients < 1:
            raise reject("a federated problem needs at least one client", self.clients, "use --clients 2 or more")
        if not (np.isfinite(self.w0_scale) and 0 <= self.w0_scale <= MAX_START):
            raise reject(f"the norm of w_0 must lie in [0, {MAX_START:g}]", self.w0_scale, "use for example 10")
        if self.regularisation < 0 or not np.isfinite(self.regularisation):
            raise reject("the regularisation must be non-negative", self.regularisation, "use 0.1")

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` wrote."""
        return Settings(**value)


def default_weightings(N: int) -> tuple[str, ...]:
    """The paper's schemes and their parent, as far as N clients allow."""
    schemes = ("fedavg", "fedmax", "fedmax:2", "fedsoftmax:0.5", f"power-of-choice:{min(N, 4)},{min(N, 2)}")
    return tuple(scheme for scheme in schemes if N > 1 or scheme != "fedmax:2")


def numbers(text: str, count: int, what: str) -> list[float]:
    """The ``count`` comma-separated numbers of ``text``."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not np.all(np.isfinite(values)):
        raise reject(f"{what} takes {count} number{'s' * (count > 1)}", repr(text), "separate them by commas")
    return values


def build_problem(settings: Settings, extra: Sequence[Any] = ()) -> Problem:
    """The problem of a study, from its data, partition and seed; ``extra`` modules may define problems too."""
    from fedbounds.problems.registry import problem_plugin

    plugin = problem_plugin(settings.problem, extra)
    rng = np.random.default_rng(settings.seed)
    default = "regression:1" if plugin.from_clients else "quadratics:1"
    data = settings.data or DEFAULT_DATA.get(settings.problem, default)
    if plugin.from_clients is None:
        return _build_quadratic(settings, data, rng, plugin.from_quadratics)
    clients = _client_data(settings, data, rng)
    p = clients.p if settings.p is None else np.array(settings.p)
    return plugin.from_clients(clients.features, clients.targets, settings.regularisation, p)


def _build_quadratic(
    settings: Settings, data: str, rng: np.random.Generator, build: Callable[[Any], Problem] | None
) -> Problem:
    from fedbounds.problems.data.synthetic import quadratics
    from fedbounds.problems.quadratic import quadratic

    kind, _, text = data.partition(":")
    if kind != "quadratics":
        raise reject(
            f"the {settings.problem} problem is generated", f"data {data!r}", "use --data quadratics:HETEROGENEITY"
        )
    heterogeneity = numbers(text or "1", 1, "quadratics")[0]
    made = quadratics(
        settings.clients,
        settings.dimension,
        1.0,
        settings.condition,
        heterogeneity,
        rng,
        noise_std=settings.noise_std,
        imbalance=settings.imbalance,
        p=None if settings.p is None else np.array(settings.p),
    )
    if build is not None:
        return build(made)
    # Rotations of their own would make homogeneous clients differ.
    rotate = rng if heterogeneity > 0 else None
    return quadratic(made.spectra, made.minima, made.p, rng=rotate, noise_std=made.noise_std)


def _client_data(settings: Settings, data: str, rng: np.random.Generator) -> Any:
    """Client datasets of a generator, or of real data through a partition."""
    from fedbounds.problems.data import synthetic
    from fedbounds.problems.data.sources import require_classes

    kind, _, text = data.partition(":")
    logistic = settings.problem == "logistic"
    if kind not in SYNTHETIC:
        return _real_data(settings, data, rng)
    if settings.partition is not None:
        raise reject(
            f"{kind} generates one data set a client, so it takes no partition",
            repr(settings.partition),
            "leave the partition out, or name real data",
        )
    if kind == "regression":
        made = synthetic.federated_regression(
            settings.clients, settings.dimension, settings.samples, numbers(text or "1", 1, "regression")[0], rng
        )
    elif kind == "synthetic":
        alpha, beta = numbers(text or "1,1", 2, "synthetic")
        made = synthetic.synthetic(alpha, beta, settings.clients, rng, d=settings.dimension, classes=5)
    else:
        raise reject("quadratics feed the quadratic problem only", settings.problem, "use --problem quadratic")
    if logistic:
        require_classes(made)
    return made


def _real_data(settings: Settings, data: str, rng: np.random.Generator) -> Any:
    from fedbounds.problems.data import partition
    from fedbounds.problems.data import sources as real

    table = real.load(data, limit=settings.limit)
    if settings.problem == "logistic":
        real.require_classes(table)
        if settings.classes == "binary":
            table = real.as_binary(table)
    else:
        table = real.as_regression(table)
    parts = partition.apply(partition.parse(settings.partition or "iid"), table, settings.clients, rng)
    if settings.standardise:
        table = real.standardise(table)
    return real.split(table, parts)


def theory_step(problem: Problem) -> InverseTime:
    """The corollary's eta_t = 1/(mu (t + gamma)), gamma = 4 L/mu."""
    return InverseTime(problem.mu, 4 * problem.L / problem.mu)


def build_step(settings: Settings, problem: Problem) -> StepSize:
    """The step size named by ``theory``, ``constant:ETA``, ``geometric:ETA0,DECAY`` or ``inverse:C,GAMMA``."""
    kind, _, text = settings.step.partition(":")
    if kind == "theory":
        return theory_step(problem)
    if kind == "constant":
        return ConstantStep(numbers(text, 1, "constant")[0])
    if kind == "geometric":
        eta0, decay = numbers(text, 2, "geometric")
        return Geometric(eta0, decay, settings.tau)
    if kind == "inverse":
        numerator, gamma = numbers(text, 2, "inverse")
        return InverseTime(problem.mu, gamma, numerator)
    raise reject(
        "the step size must be theory, constant:ETA, geometric:ETA0,DECAY or inverse:C,GAMMA",
        repr(settings.step),
        "choose one",
    )
