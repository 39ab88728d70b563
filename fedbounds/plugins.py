"""Discovery of claims, weightings and problems: one file each, found by looking, never listed by hand."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.model.weighting import Weighting, WeightingPlugin
    from fedbounds.theory.claim import Claim


def modules(package: str, group: str) -> Iterator[ModuleType]:
    """The modules of ``package``, then those that other distributions register under entry point ``group``."""
    parent = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(parent.__path__), key=lambda item: item.name):
        yield importlib.import_module(f"{package}.{info.name}")
    for entry in sorted(importlib.metadata.entry_points(group=group), key=lambda item: item.name):
        yield entry.load()


def load_file(path: str | Path) -> ModuleType:
    """Import a user's own plug-in file; it may define CLAIMS, WEIGHTING or PROBLEM."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"fedbounds_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise reject("a plug-in must be a Python file", str(path), "give the path of an existing .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up there
    try:
        spec.loader.exec_module(module)
    except Exception as wrong:  # whatever a file of somebody's own may raise
        raise reject(f"the plug-in {path} must run", f"{type(wrong).__name__}: {wrong}", "mend the file") from wrong
    if not isinstance(getattr(module, "CLAIMS", ()), (tuple, list)):
        raise reject(f"CLAIMS of {path} must be a tuple of claims", repr(module.CLAIMS), "write CLAIMS = (MY_CLAIM,)")
    return module


def nearest(kind: str, name: str, known: Iterable[str]) -> Exception:
    """The input error for an unknown name, with the nearest known one."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    remedy = f"did you mean {close[0]!r}? " if close else ""
    return reject(f"{kind} must be a known name", repr(name), f"{remedy}known: {', '.join(names)}")


def shipped(pattern: str) -> Iterator[Path]:
    """Files matching ``pattern`` in every installed package of derivations, in order of name."""
    for entry in importlib.metadata.entry_points(group="fedbounds.derivations"):
        yield from sorted(Path(str(importlib.resources.files(entry.load()))).glob(pattern))


def claims(extra: Iterable[ModuleType] = ()) -> dict[str, Claim]:
    """Key -> claim: this package's, those of installed plug-ins, and those of ``extra`` modules."""
    found: dict[str, Claim] = {}
    for module in (*modules("fedbounds.claims", "fedbounds.claims"), *extra):
        for claim in getattr(module, "CLAIMS", ()):
            found[claim.key] = claim
    return found


def weightings(extra: Iterable[ModuleType] = ()) -> dict[str, WeightingPlugin]:
    """Key -> weighting plug-in."""
    found: dict[str, WeightingPlugin] = {}
    for module in (*modules("fedbounds.weightings", "fedbounds.weightings"), *extra):
        plugin = getattr(module, "WEIGHTING", None)
        if plugin is not None:
            found[plugin.key] = plugin
    return found


def claim_named(key: str, extra: Iterable[ModuleType] = ()) -> Claim:
    """The claim of that key, or an input error with the nearest known one."""
    known = claims(extra)
    if key not in known:
        raise nearest("claim", key, known)
    return known[key]


def weighting_named(text: str, extra: Iterable[ModuleType] = ()) -> Weighting:
    """Build a weighting from the command line's ``key`` or ``key:argument``."""
    from fedbounds.model.weighting import as_weighting

    key, _, argument = text.partition(":")
    known = weightings(extra)
    if key not in known:
        raise nearest("weighting", key, known)
    return as_weighting(known[key].build(argument or None))
