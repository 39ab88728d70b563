"""The objects that the settings of a study stand for: problem, claims, weightings, step size, experiment."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fedbounds import plugins
from fedbounds.engine import memory
from fedbounds.engine.contracts.problem import admitted
from fedbounds.errors import reject
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Problem
from fedbounds.model.schedule import ConstantStep, Geometric, InverseTime, StepSize
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import claim_named, nearest
from fedbounds.problems.data import partition
from fedbounds.problems.registry import ProblemPlugin, problem_plugin
from fedbounds.study.bounds import gamma_of
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.reading import READINGS

GB = 1e9
# The generators' data: problem they feed and the parameters their text takes.
SYNTHETIC = {"synthetic": 2, "regression": 1, "quadratics": 1}
# What a study may be asked for in place of keys: what the paper states of FedAvg, or every claim about it.
GROUPS = ("paper", "all")
DEFAULT_DATA = {"least-squares": "regression:1", "logistic": "synthetic:1,1", "quadratic": "quadratics:1"}


def default_weightings(N: int) -> tuple[str, ...]:
    """The paper's schemes and their parent, as far as N clients allow."""
    schemes = ("fedavg", "fedmax", "fedmax:2", "fedsoftmax:0.5", f"power-of-choice:{min(N, 4)},{min(N, 2)}")
    return tuple(scheme for scheme in schemes if N > 1 or scheme != "fedmax:2")


def numbers(text: str, count: int, what: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) == count and not np.all(np.isfinite(values)):
        wrong = next(value for value in values if not math.isfinite(value))
        raise reject(f"{what} takes finite numbers", repr(text), f"write a number in place of {wrong}")
    if len(values) != count:
        raise reject(f"{what} takes {count} number{'s' * (count > 1)}", repr(text), "separate them by commas")
    return values


def build_problem(settings: Settings, extra: Sequence[Any] = ()) -> Problem:
    """The problem of a study, from its data, partition and seed; ``extra`` modules may define problems too."""
    plugin = problem_plugin(settings.problem, extra)
    rng = np.random.default_rng(settings.seed)
    default = "regression:1" if plugin.from_clients else "quadratics:1"
    data = settings.data or DEFAULT_DATA.get(settings.problem, default)
    if data.partition(":")[0] in SYNTHETIC:
        memory.require(_parts(settings, data))
    if plugin.from_clients is None:
        return admitted(_build_quadratic(settings, data, rng, plugin.from_quadratics))
    return _of_clients(plugin, _client_data(settings, data, rng), settings)


def _of_clients(plugin: ProblemPlugin, clients: Any, settings: Settings) -> Problem:
    assert plugin.from_clients is not None, "asked before the data are read"
    p = clients.p if settings.p is None else np.array(settings.p)
    return admitted(plugin.from_clients(clients.features, clients.targets, settings.regularisation, p))


def _parts(settings: Settings, data: str) -> dict[str, float]:
    """What a study of generated data holds at once, at least: what for -> bytes."""
    N, d, n = settings.N, settings.dimension, settings.samples
    sizes = {name: getattr(settings, name) for name in ("tau", "rounds", "replicates")}
    stride = max(settings.stride, settings.tau * settings.rounds)  # which `fitting_stride` may come to
    batch = None if data.startswith("quadratics") else settings.batch
    parts = memory.run_parts(N, d, **sizes, stride=stride, batch=batch)
    if data.startswith("regression"):
        parts[f"{n} samples of {N} clients in {d} dimensions"] = 8.0 * N * n * d
    return parts | _matrices(settings, N, d)


def _matrices(settings: Settings, N: int, d: int) -> dict[str, float]:
    """What the Hessians of clients take, of a problem that forms them, and the weights that single each out."""
    formed = settings.problem in ("least-squares", "quadratic")
    taken = {f"the matrices of {N} clients in {d} dimensions": 16.0 * N * d * d} if formed else {}
    return taken | {f"the minimisers of {N} clients": 8.0 * N * N}


def _build_quadratic(
    settings: Settings, data: str, rng: np.random.Generator, build: Callable[[Any], Problem] | None
) -> Problem:
    from fedbounds.problems.data.synthetic import quadratics
    from fedbounds.problems.quadratic import quadratic

    kind, _, text = data.partition(":")
    if kind != "quadratics":
        what, remedy = f"the {settings.problem} problem is generated", "use --data quadratics:HETEROGENEITY"
        raise reject(what, f"data {data!r}", remedy)
    heterogeneity = numbers(text or "1", 1, "quadratics")[0]
    sizes = settings.N, settings.dimension, 1.0, settings.condition, heterogeneity
    p = None if settings.p is None else np.array(settings.p)
    made = quadratics(*sizes, rng, noise_std=settings.noise_std, imbalance=settings.imbalance, p=p)
    if build is not None:
        return build(made)
    # Rotations of their own would make homogeneous clients differ.
    rotate = rng if heterogeneity > 0 else None
    return quadratic(made.spectra, made.minima, made.p, rng=rotate, noise_std=made.noise_std)


def _client_data(settings: Settings, data: str, rng: np.random.Generator) -> Any:
    """Client datasets of a generator, or of real data through a partition."""
    from fedbounds.problems.data import synthetic
    from fedbounds.problems.data.dataset import require_classes
    from fedbounds.problems.data.sources import load

    kind, _, text = data.partition(":")
    if kind not in SYNTHETIC:
        return _shared_out(settings, load(data, limit=settings.limit), rng)
    if settings.partition is not None:
        what, remedy = f"{kind} generates the data of each client", "leave the partition out, or name real data"
        raise reject(what, f"the partition {settings.partition!r}", remedy)
    if kind == "regression":
        (spread,) = numbers(text or "1", 1, "regression")
        made = synthetic.federated_regression(settings.N, settings.dimension, settings.samples, spread, rng)
    elif kind == "synthetic":
        alpha, beta = numbers(text or "1,1", 2, "synthetic")
        made = synthetic.synthetic(alpha, beta, settings.N, rng, d=settings.dimension, classes=5)
    else:
        raise reject("quadratics feed the quadratic problem only", settings.problem, "use --problem quadratic")
    if settings.problem == "logistic":
        require_classes(made)
    return made


def problem_from(
    data: Any, problem: str = "least-squares", *, target: Any = None, client: Any = None, **settings: Any
) -> Problem:
    """A problem on data of one's own, for ``check`` and experiments.

    ``data``: a frame of pandas or polars, a mapping of columns, an array (n, d), or what a loader of scikit-learn
    returns; ``target`` and ``client``: names of columns, or arrays (n,). Without a client the ``partition`` deals the
    samples out. Unless ``standardise=False``, features and the target of a regression are scaled to mean 0 and
    variance 1: F*, Gamma, sigma^2 and G^2 are then in units of the scaled target. ``settings``: those of a study
    about its problem (regularisation, partition, clients, standardise, classes, p, seed). Raises InputError naming
    the column and the row at fault.

    >>> hospitals = {"age": [40, 50, 60, 70], "dose": [1, 3, 2, 5], "cost": [3.5, 6.1, 5.2, 9.9], "at": list("aabb")}
    >>> made = problem_from(hospitals, target="cost", client="at", regularisation=0.5)
    >>> made.N, made.d, made.p.tolist()
    (2, 3, [0.5, 0.5])
    """
    from fedbounds.problems.data.sources import of_object

    chosen = Settings.of({"problem": problem, **settings})
    plugin = problem_plugin(chosen.problem)
    if plugin.from_clients is None:
        raise reject(
            "data feed a problem that is built from samples", repr(problem), 'use "least-squares" or "logistic"'
        )
    table = of_object(data, target, client)
    return _of_clients(plugin, _shared_out(chosen, table, np.random.default_rng(chosen.seed)), chosen)


def _shared_out(settings: Settings, table: Any, rng: np.random.Generator) -> Any:
    """Real data with the targets that the problem takes, standardised, each client its samples."""
    from fedbounds.problems.data import partition
    from fedbounds.problems.data.dataset import as_binary, as_regression, owned, require_classes, split, standardise

    if table.owners is not None and settings.partition is not None:
        received = f"the partition {settings.partition!r} too"
        raise reject("the data say who holds what", received, "leave one of them out")
    if settings.problem == "logistic":
        require_classes(table)
        if settings.classes == "binary":
            table = as_binary(table)
    else:
        table = as_regression(table, settings.standardise)
    if table.owners is not None:
        parts = owned(table)
        if settings.clients not in (None, len(parts)):
            received = f"{settings.clients} beside a column that names {len(parts)}"
            raise reject("clients deals out data that say not who holds what", received, "leave clients out")
    else:
        parts = partition.apply(partition.parse(settings.partition or "iid"), table, settings.N, rng)
    memory.require(_matrices(settings, len(parts), table.features.shape[1]))
    if settings.standardise:
        table = standardise(table)
    return split(table, parts)


def target_units(settings: Settings) -> str:
    """What to say of the units of F*, Gamma, sigma^2 and G^2; "" where the target is the user's own or a class."""
    kind = (settings.data or "").partition(":")[0]
    if not kind or kind in SYNTHETIC or settings.problem in ("logistic", "quadratic") or not settings.standardise:
        return ""
    return (
        "F*, Gamma, sigma^2 and G^2 are in units of the standardised target (mean 0, variance 1); "
        "--no-standardise keeps its own units."
    )


def theory_step(problem: Problem) -> InverseTime:
    """The eta_t = 1/(mu (t + gamma)) of the theory under study."""
    return InverseTime(problem.mu, gamma_of(problem.L, problem.mu))


# Kind of step size -> how many numbers follow it.
STEPS = {"theory": 0, "constant": 1, "geometric": 2, "inverse": 2}


def parse_step(text: str) -> tuple[str, list[float]]:
    """The kind of step size that ``text`` names, and its numbers."""
    kind, colon, rest = text.partition(":")
    if "nan" in rest.lower().split(","):
        raise reject("a step size is a positive number", f"{text!r}, and nan is no step size", "write a number")
    if kind not in STEPS or bool(colon) != bool(STEPS[kind]):
        allowed = "theory, constant:ETA, geometric:ETA0,DECAY or inverse:C,GAMMA"
        raise reject(f"the step size must be {allowed}", repr(text), "choose one")
    return kind, numbers(rest, STEPS[kind], kind) if colon else []


def build_step(settings: Settings, problem: Problem) -> StepSize:
    kind, values = parse_step(settings.step)
    if kind == "constant":
        return ConstantStep(*values)
    if kind == "geometric":
        eta0, decay = values
        return Geometric(eta0, decay, settings.tau)
    if kind == "inverse":
        numerator, gamma = values
        return InverseTime(problem.mu, gamma, numerator)
    return theory_step(problem)


def build_experiment(settings: Settings, problem: Problem, weighting: Weighting) -> Experiment:
    w0 = None  # the origin
    if settings.w0_scale:
        direction = np.random.default_rng([settings.seed, 1]).standard_normal(problem.d)
        w0 = settings.w0_scale * direction / np.linalg.norm(direction)
    same = ("tau", "rounds", "replicates", "replacement", "participation", "seed", "stride", "engine")
    chosen: dict[str, Any] = {name: getattr(settings, name) for name in same}
    eta = build_step(settings, problem)
    return Experiment(problem=problem, weighting=weighting, eta=eta, batch_size=settings.batch, w0=w0, **chosen)


def fitting_stride(settings: Settings, experiment: Experiment) -> int:
    """How many steps apart a run is recorded to stay within ``memory``; InputError where no record does."""
    limit = memory.budget() if settings.memory is None else settings.memory * GB
    stride = memory.fitting_stride(experiment, limit)
    memory.require_run(experiment.with_(stride=stride))
    least = memory.check_peak(experiment.with_(stride=stride))
    if settings.memory is not None and least > limit:
        what = f"memory must be at least the {memory.size(least)} that the first and the last step of this study take"
        raise reject(what, f"{settings.memory:g} GB", "raise it, or make the study smaller")
    return stride


def name_checks(extra: Sequence[ModuleType]) -> Mapping[str, Callable[[str], object]]:
    """Setting -> what raises InputError at a text that names nothing there; ``extra`` are a reader's own modules."""

    def reading(name: str) -> None:
        if name not in READINGS:
            raise nearest("reading", name, READINGS)

    return {
        "problem": lambda name: problem_plugin(name, extra),
        "weightings": lambda name: plugins.weighting_named(name, extra),
        "claims": lambda name: name in GROUPS or claim_named(name, extra),
        "readings": reading,
        "partition": partition.parse,
        "step": parse_step,
    }


def select_claims(wanted: Sequence[str | Claim], extra: Sequence[ModuleType] = ()) -> dict[str, Claim]:
    """The claims named by key, by a group of `GROUPS`, or given; those of "paper" if none is named."""
    chosen: dict[str, Claim] = {}
    for item in wanted or ("paper",):
        if isinstance(item, str) and item in GROUPS:
            chosen |= claims_in(item, extra)
        else:
            claim = claim_named(item, extra) if isinstance(item, str) else item
            chosen[item if isinstance(item, str) else item.key] = claim
    return chosen


def claims_in(group: str, extra: Sequence[ModuleType] = ()) -> dict[str, Claim]:
    """The claims about FedAvg of one of `GROUPS`; "paper" includes the reader's own, those of ``extra`` modules."""
    if group == "paper" and not extra:
        return {claim.key: claim for claim in plugins.with_role(Role.HEADLINE)}
    every = plugins.on_fedavg(plugins.claims(extra))
    user_defined = {claim.key for module in extra for claim in getattr(module, "CLAIMS", ())}
    wanted = (key for key, claim in every.items() if Role.HEADLINE in claim.roles or key in user_defined)
    return every if group == "all" else {key: every[key] for key in wanted}
