"""Discovery of claims, weightings and problems: one file each, found by looking, never listed by hand."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import pkgutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from fedbounds.errors import PLUGIN, InputError, nearest, of_kind, reject

T = TypeVar("T")
# This package's own derivations, as they are installed.
OWN = "fedbounds_derivations"
# What a plug-in file may define.
KINDS = ("CLAIMS", "WEIGHTING", "ALGORITHM", "PROBLEM", "DERIVATIONS", "FAMILY")
# What other distributions may register, as fedbounds.KIND.
REGISTERED = ("claims", "weightings", "problems", "algorithms", "derivations")

if TYPE_CHECKING:
    from fedbounds.model.algorithm import Algorithm
    from fedbounds.model.weighting import Weighting, WeightingPlugin
    from fedbounds.theory.claim import Claim, Role
    from fedbounds.theory.reading import Remark

    Theorem = str | Path | Claim | Iterable[Claim]


@functools.cache
def modules_in(package: str) -> tuple[ModuleType, ...]:
    """The modules of ``package`` itself, listed once."""
    names = sorted(info.name for info in pkgutil.iter_modules(importlib.import_module(package).__path__))
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)


def foreign(item: object, package: str) -> bool:
    """Whether an object's very class, not one that it extends, is none of those in the modules of ``package``."""
    home, name = str(type(item).__module__), type(item).__qualname__
    return not home.startswith(f"{package}.") or getattr(sys.modules.get(home), name, None) is not type(item)


def modules(package: str) -> Iterator[ModuleType]:
    """The modules of ``package``, then those that other distributions register as entry points of that name."""
    yield from modules_in(package)
    for entry in sorted(registered(package), key=lambda item: item.name):
        yield entry.load()


def registered(group: str) -> tuple[importlib.metadata.EntryPoint, ...]:
    """What installed distributions register under ``group``: read once, as it takes milliseconds."""
    return _registered(group, tuple((f, Path(f).stat().st_mtime_ns) for f in sys.path if Path(f).exists()))


@functools.lru_cache(maxsize=32)
def _registered(group: str, folders: tuple[tuple[str, int], ...]) -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group=group))


def read_plugin(path: str | Path) -> str:
    """The source of the plug-in file at ``path``, not run."""
    from fedbounds.io import read_bytes

    content = read_bytes(path, what="a plug-in")
    try:
        return importlib.util.decode_source(content)
    except (SyntaxError, UnicodeDecodeError) as wrong:
        raise reject(f"the plug-in {path} must be Python", f"{wrong}", "mend the file") from None


def load_file(path: str | Path) -> ModuleType:
    """Run the plug-in file at ``path`` and return its module, which defines one of KINDS."""
    source, module = read_plugin(path), ModuleType(f"{PLUGIN}{Path(path).stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # a dataclass looks its module up there
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except InputError:
        raise
    except (Exception, SystemExit) as wrong:  # whatever a file of somebody's own may raise
        text = f"{type(wrong).__name__}: {wrong}"
        raise reject(f"the plug-in {path} must run", text, "mend the file") from wrong
    _check_plugin(module, str(path))
    return module


def loaded() -> list[ModuleType]:
    """The plug-in files that this process has run, the last of each name."""
    return [module for name, module in list(sys.modules.items()) if name.startswith(PLUGIN)]


def _check_plugin(module: ModuleType, path: str) -> None:
    """Refuse a module without a plug-in, and claims that divide by 0."""
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.claim_validation import check_written

    if not any(hasattr(module, name) for name in KINDS):
        raise reject(f"the plug-in {path} must define one of {', '.join(KINDS)}", "none of them", "define one")
    offered = getattr(module, "CLAIMS", ())
    if not isinstance(offered, tuple | list) or not all(isinstance(item, Claim) for item in offered):
        raise reject(
            f"CLAIMS of {path} must be a tuple of claims", type(offered).__name__, "write CLAIMS = (MY_CLAIM,)"
        )
    for claim in offered:
        check_written(claim)


def shipped(pattern: str, own: bool = False) -> Iterator[Path]:
    """Files matching ``pattern`` in every installed package of derivations, or in our ``own``, in order of name."""
    for entry in registered("fedbounds.derivations"):
        if own and entry.module != OWN:
            continue
        yield from sorted(Path(str(importlib.resources.files(entry.load()))).glob(pattern))


def installed() -> Iterator[Path]:
    """All files of every package that registers something here: a module may import the one beside it."""
    ours = (entry for kind in REGISTERED for entry in registered(f"fedbounds.{kind}"))
    for name in sorted({entry.module.partition(".")[0] for entry in ours}):
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from sorted(Path(folder).rglob("*.*"))
        if spec and spec.submodule_search_locations is None and spec.origin:
            yield Path(spec.origin)


def claims(extra: Iterable[ModuleType] = ()) -> dict[str, Claim]:
    """Key -> claim: this package's, those of installed plug-ins, and those of ``extra`` modules."""
    result: dict[str, Claim] = {}
    for module in (*modules("fedbounds.claims"), *extra):
        for claim in getattr(module, "CLAIMS", ()):
            add(result, "claim", claim, module)
    return result


@functools.cache
def papers_claims() -> dict[str, Claim]:
    """Key -> claim of the paper's own files, for which no other is loaded; all where other packages register some."""
    if registered("fedbounds.claims"):
        return claims()
    package = importlib.import_module("fedbounds.claims")
    files = [importlib.import_module(f"{package.__name__}.{name}") for name in package.PAPER]
    return {claim.key: claim for module in files for claim in module.CLAIMS}


def shipped_beside(keys: Collection[str]) -> Mapping[str, Claim]:
    """All shipped claims, or the paper's alone where nothing else has one of the ``keys``."""
    papers = papers_claims()
    return papers if papers.keys() >= set(keys) else claims()


def on_fedavg(every: Mapping[str, Claim]) -> dict[str, Claim]:
    """Those of the claims that FedAvg's runs may be examined for."""
    return {key: claim for key, claim in every.items() if claim.on_fedavg}


def remarks() -> list[Remark]:
    """The remarks of this package's papers that no claim states."""
    return [remark for module in modules_in("fedbounds.claims") for remark in getattr(module, "REMARKS", ())]


def with_role(role: Role, extra: Iterable[ModuleType] = ()) -> list[Claim]:
    """The claims that declare a role, in order of discovery; those of the paper alone declare MAIN and HEADLINE."""
    from fedbounds.theory.claim import Role

    every = papers_claims() if role in (Role.MAIN, Role.HEADLINE) and not extra else claims(extra)
    return [claim for claim in every.values() if role in claim.roles]


def weightings(extra: Iterable[ModuleType] = ()) -> dict[str, WeightingPlugin]:
    from fedbounds.model.weighting import WeightingPlugin

    return plugged("fedbounds.weightings", "WEIGHTING", WeightingPlugin, extra)


def plugged(package: str, name: str, kind: type[T], extra: Iterable[ModuleType]) -> dict[str, T]:
    """Key -> what the modules of a package, of other distributions and of ``extra`` define as ``name``."""
    result: dict[str, T] = {}
    for module in (*modules(package), *extra):
        found = getattr(module, name, ())
        for item in found if isinstance(found, tuple) else (found,):
            if not isinstance(item, kind):
                what = f"{name} of {_of(module)} must be a {kind.__name__}"
                raise reject(what, repr(item), f"build it with {kind.__name__}")
            add(result, name.lower(), item, module)
    return result


def add(registered_items: dict[str, Any], kind: str, item: Any, module: ModuleType) -> None:
    """Enter an item under its key, which nothing else may have: nobody could tell which of the two is meant."""
    if registered_items.setdefault(item.key, item) is not item:
        raise reject(
            f"the {kind} of {_of(module)} needs a key of its own", f"{item.key!r}, which exists", "rename it"
        )


def _of(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def claim_named(key: str, extra: Iterable[ModuleType] = ()) -> Claim:
    available = claims(extra) if extra else shipped_beside({key})
    if key not in available:
        raise nearest("claim", key, available)
    return available[key]


Plugins = Iterable[str | Path | ModuleType]


def modules_from(plugins: Plugins) -> list[ModuleType]:
    """The modules of plug-in files, and modules as they are."""
    return [item if isinstance(item, ModuleType) else load_file(item) for item in plugins]


def claims_from(wanted: Theorem | None, extra: Sequence[ModuleType]) -> dict[str, Claim]:
    """Key -> claim: all known ones about FedAvg, the one named, or those given."""
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.claim_validation import check_written

    if wanted is None:
        return on_fedavg(claims(extra))
    if isinstance(wanted, str | Path):
        return {str(wanted): claim_named(str(wanted), extra)}
    given = wanted if isinstance(wanted, Iterable) else (wanted,)
    words = "a Claim, the key of one, or several"
    result = {claim.key: claim for claim in given if of_kind("a theorem", claim, Claim, words)}
    for claim in result.values():
        check_written(claim)
    return result


def user_weightings(extra: Iterable[ModuleType]) -> list[str]:
    """A text for each weighting of another distribution or of ``extra`` modules, which builds it for four clients."""
    ours = {module.WEIGHTING.key for module in modules_in("fedbounds.weightings")}
    return [plugin.example or key for key, plugin in weightings(extra).items() if key not in ours]


def weighting_named(text: str, extra: Iterable[ModuleType] = ()) -> Weighting:
    """Build a weighting from the command line's ``key`` or ``key:argument``.

    An instance or a saved result names its weighting, which may come from a file that this process has run.
    """
    from fedbounds.model.weighting import WeightingPlugin, as_weighting

    key, _, argument = text.partition(":")
    available = weightings(extra)
    if key not in available:
        ran = (getattr(item, "WEIGHTING", None) for item in loaded())
        available |= {
            plugin.key: plugin for plugin in ran if isinstance(plugin, WeightingPlugin) and plugin.key == key
        }
    if key not in available:
        raise nearest("weighting", key, available)
    return as_weighting(available[key].build(argument or None))


def algorithms(extra: Iterable[ModuleType] = ()) -> dict[str, type[Algorithm]]:
    """Key -> algorithm: this package's, those of installed plug-ins, and those of ``extra`` modules."""
    return plugged("fedbounds.algorithms", "ALGORITHM", type, extra)


def algorithm_named(text: str, extra: Iterable[ModuleType] = ()) -> Algorithm:
    """Build an algorithm from the command line's ``key`` or ``key:name=number,...``."""
    key, _, given = text.partition(":")
    available = algorithms(extra)
    if key not in available:
        raise nearest("algorithm", key, available)
    kind: Any = available[key]
    fields: dict[str, Any] = {field.name: type(field.default) for field in dataclasses.fields(kind)}
    parts = dict(part.partition("=")[::2] for part in given.split(",") if part)
    try:
        return kind(**{name: fields[name](float(value)) for name, value in parts.items()})
    except InputError:  # its own sentence says more
        raise
    except (KeyError, ValueError):
        usage = ",".join(f"{name}=..." for name in fields) or "nothing"
        remedy = f"write {key}, or after a colon {usage}"
        raise reject(f"algorithm {key} takes numbers", repr(given), remedy) from None
