"""What a claim is known by: a key is no identity, as who mends a theorem mostly keeps it; and versions."""

from __future__ import annotations

import functools
import hashlib
import platform
import re
import sys
import sysconfig
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import quantities_on_paths

# Where installed modules lie; numpy's folder is another one after ``pip install --user`` or from a distribution.
LIBRARIES = {*map(sysconfig.get_path, ("purelib", "platlib", "stdlib")), str(Path(np.__file__).parents[1])}
OURS = ("fedbounds", "fedbounds_derivations")
ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def identity(claim: Claim, reading: str, budget: str, seed: int, extra: Iterable[ModuleType] = ()) -> dict[str, Any]:
    """What a state belongs to, as a JSON object; ``extra`` modules bring weightings and families."""
    brought = [hashlib.sha256(_source(module)).hexdigest() for module in extra]
    return {
        "claim": claim.key,
        "reading": reading,
        "budget": budget,
        "seed": seed,
        "stated": statement_digest(claim),
        "version": metadata.version("fedbounds"),
        **({"plugins": brought} if brought else {}),
    }


def statement_digest(claim: Claim) -> str:
    """SHA-256 of all that a claim says: its terms, assumptions and repair, and the files of its functions."""
    return hashlib.sha256(_text(claim).encode()).hexdigest()


def _files(name: str, seen: set[str]) -> list[str]:
    """Digests of the files of a module of the author's, and of those that it takes anything from."""
    module, top = sys.modules.get(name), name.partition(".")[0]
    seen.add(name)
    if module is None or top in OURS or top in sys.stdlib_module_names or not (source := _source(module)):
        return []
    others = [
        getattr(v, "__name__" if isinstance(v, ModuleType) else "__module__", None) for v in vars(module).values()
    ]
    due = sorted({other for other in others if isinstance(other, str)})
    return [
        hashlib.sha256(source).hexdigest(),
        *(file for other in due if other not in seen for file in _files(other, seen)),
    ]


@functools.cache
def _source(module: ModuleType) -> bytes:
    """The file of a module as it was first seen, nothing of an installed one."""
    file = str(getattr(module, "__file__", None))
    installed = any(Path(file).is_relative_to(folder) for folder in LIBRARIES)
    return b"" if installed or not file.endswith(".py") else Path(file).read_bytes()


def _text(thing: Any, above: tuple[object, ...] = ()) -> str:
    """The same text in every process for things that say the same; ``above`` are the functions that it stands in."""
    inside = functools.partial(_text, above=above)
    if isinstance(thing, sp.Basic):
        functions = [f"{s.name} {s.statistic} {inside(s.on_path)}" for s in quantities_on_paths(*thing.free_symbols)]
        return "".join([sp.srepr(thing), *functions])
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{inside(key)}: {inside(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(inside, thing))})"
    if isinstance(thing, (set, frozenset)):
        return f"{{{', '.join(sorted(map(inside, thing)))}}}"
    if isinstance(thing, CodeType):
        return inside([thing.co_code.hex(), thing.co_consts, thing.co_names])
    if isinstance(thing, FunctionType):
        if thing in above:
            return thing.__qualname__
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        parts = [thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells]
        return f"{_home(thing)} {_text(parts, (*above, thing))}"
    if isinstance(thing, functools.partial):
        return inside([thing.func, thing.args, thing.keywords])
    if is_dataclass(thing) and not isinstance(thing, type):
        return f"{type(thing).__qualname__}{inside([getattr(thing, field.name) for field in fields(thing)])}"
    return ADDRESS.sub("", repr(thing))


def _home(function: FunctionType) -> str:
    """Where a function is from; one that no file holds, as in a notebook, is another one each time."""
    if not Path(function.__code__.co_filename).is_file():
        return uuid.uuid4().hex
    return f"{function.__qualname__} {_files(function.__module__, set())}"


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers come from."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}
