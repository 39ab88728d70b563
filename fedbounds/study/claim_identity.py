"""What a saved state belongs to: the whole statement of a claim, code included, and how it is examined.

A key is no identity: who mends a theorem mostly keeps its key, and must not be told what was found of the old one.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import quantities_on_paths

# Where installed modules lie; numpy's folder is another one after ``pip install --user`` or from a distribution.
LIBRARIES = {*map(sysconfig.get_path, ("purelib", "platlib", "stdlib")), str(Path(np.__file__).parents[1])}
# What every class holds besides its own functions and attributes, or where Python keeps what it remembers of it.
MADE_BY_PYTHON = ("__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__", "_abc_impl")
ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def identity(claim: Claim, reading: str, budget: str, seed: int) -> dict[str, Any]:
    """What a state belongs to, as a JSON object."""
    return {
        "claim": claim.key,
        "reading": reading,
        "budget": budget,
        "seed": seed,
        "stated": statement_digest(claim),
        "version": metadata.version("fedbounds"),
    }


def statement_digest(claim: Claim) -> str:
    """SHA-256 of all that a claim says: its terms, assumptions and repair, and the code of their checks."""
    return hashlib.sha256(_text(claim, {}).encode()).hexdigest()


def _text(thing: Any, seen: dict[int, int]) -> str:
    """The same text in every process for things that say the same.

    What was ``seen`` (id -> when) is not gone through again.
    """
    inside = functools.partial(_text, seen=seen)
    if isinstance(thing, sp.Basic):
        functions = [
            f"{symbol.name} {symbol.statistic} {inside(symbol.on_path)}"
            for symbol in quantities_on_paths(*thing.free_symbols)
        ]
        return "".join([sp.srepr(thing), *functions])
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{inside(key)}: {inside(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(inside, thing))})"
    if isinstance(thing, (set, frozenset)):
        # A set has no order, so that none of its elements may be told by what was seen in another.
        return f"{{{', '.join(sorted(_text(item, dict(seen)) for item in thing))}}}"
    if isinstance(thing, ModuleType) or (isinstance(thing, type) and not _theirs(thing.__module__)):
        return thing.__name__
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return f"array {thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    if id(thing) in seen:
        return f"as above, {seen[id(thing)]}"
    parts = _parts(thing)
    if parts is None:
        return ADDRESS.sub("", repr(thing))
    if not isinstance(thing, CodeType):  # equal code is one object in some processes and two in others
        seen[id(thing)] = len(seen)
    return f"{type(thing).__qualname__}{inside(parts)}"


def _parts(thing: Any) -> list[Any] | None:
    """What decides what a function, or an object that Python shows by its address, does; None for anything else."""
    if isinstance(thing, CodeType):
        return [thing.co_code.hex(), thing.co_consts, thing.co_names, thing.co_freevars]
    if isinstance(thing, FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells, _used(thing)]
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, (staticmethod, classmethod)):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset]
    if isinstance(thing, np.ndarray):
        return [thing.shape, thing.ravel().tolist()]
    if isinstance(thing, type):
        attributes = {name: value for name, value in vars(thing).items() if name not in MADE_BY_PYTHON}
        return [thing.__qualname__, thing.__bases__, attributes]
    if is_dataclass(thing):
        return [type(thing), [getattr(thing, field.name) for field in fields(thing)]]
    shown = type(thing).__repr__ is not object.__repr__ and not _theirs(type(thing).__module__)
    if hasattr(thing, "__dict__") and (callable(thing) or not shown):
        return [type(thing), vars(type(thing)).get("__call__"), vars(thing)]
    return None


def _used(function: FunctionType) -> dict[str, Any]:
    """The values that a function names in its module or in others of its author: half of a check may stand there.

    A library's functions are left as names: the package's have its version, and another's are its own.
    """
    return {
        name: value
        for name, value in _reached(_names(function.__code__), function.__globals__).items()
        if not callable(value)
        or isinstance(value, (functools.partial, MethodType, sp.Basic))
        or getattr(value, "__module__", None) == function.__module__
        or _theirs(getattr(value, "__module__", None))
    }


def _reached(names: list[str], space: Mapping[str, Any]) -> dict[str, Any]:
    """What names mean in a space, with what they mean in the modules found there that are no library's."""
    result = {name: space[name] for name in names if name in space}
    for name, value in list(result.items()):
        if isinstance(value, ModuleType) and _theirs(value.__name__):
            inner = _reached([other for other in names if other != name], vars(value))
            result |= {f"{name}.{part}": what for part, what in inner.items()}
    return result


def _theirs(module: str | None) -> bool:
    """Whether a module is of whoever states the claim: neither this package's nor Python's nor an installed one."""
    top = (module or "builtins").partition(".")[0]
    if top == "fedbounds" or top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    return file is None or not any(Path(file).is_relative_to(folder) for folder in LIBRARIES)


def _names(code: CodeType) -> list[str]:
    """The names in a function's code and in that of the functions inside it, in order."""
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return list(dict.fromkeys([*code.co_names, *inner]))
