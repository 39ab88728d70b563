"""What a saved state belongs to: the whole statement of a claim, code included, and how it is examined.

A key is no identity: who mends a theorem mostly keeps its key, and must not be told what was found of the old one.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import sympy as sp

from fedbounds.theory.claim import Claim
from fedbounds.theory.own import own_symbols


def identity(claim: Claim, reading: str, budget: str, seed: int) -> dict[str, Any]:
    """What a state belongs to, as a JSON object."""
    return {
        "claim": claim.key,
        "reading": reading,
        "budget": budget,
        "seed": seed,
        "stated": stated(claim),
        "version": metadata.version("fedbounds"),
    }


def stated(claim: Claim) -> str:
    """SHA-256 of all that a claim says: its terms, assumptions and repair, and the code of their checks."""
    return hashlib.sha256(_text(claim, set()).encode()).hexdigest()


def tell_anew(file: Path, key: str) -> None:
    """Say on standard error that a state is of an older claim."""
    print(f"{file} belongs to another statement of {key!r}: it is started anew.", file=sys.stderr, flush=True)


def _text(thing: Any, seen: set[int]) -> str:
    """The same text in every process for things that say the same; what was ``seen`` is not gone through again."""
    inside = functools.partial(_text, seen=seen)
    if isinstance(thing, sp.Basic):
        own = [f"{symbol.kind} {inside(symbol.of)}" for symbol in own_symbols(*thing.free_symbols)]
        return "".join([sp.srepr(thing), *own])
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{inside(key)}: {inside(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(inside, thing))})"
    if isinstance(thing, (set, frozenset)):
        return f"{{{', '.join(sorted(map(inside, thing)))}}}"
    if isinstance(thing, (type, ModuleType)):
        return thing.__name__
    if is_dataclass(thing):
        return f"{type(thing).__qualname__}{inside([getattr(thing, field.name) for field in fields(thing)])}"
    parts = _parts(thing)
    if parts is None:
        return repr(thing)
    if id(thing) in seen:
        return "as above"
    seen |= {id(thing)} if isinstance(thing, FunctionType) else set()
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
    if hasattr(thing, "__dict__") and (callable(thing) or type(thing).__repr__ is object.__repr__):
        return [type(thing), vars(type(thing)).get("__call__"), vars(thing)]
    return None


def _used(function: FunctionType) -> dict[str, Any]:
    """The values that a function names in its module: half of a check may stand there.

    Functions of other modules are left as names: the package's have its version, and a library's are its own.
    """
    found = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    return {
        name: value
        for name, value in found.items()
        if getattr(value, "__module__", function.__module__) == function.__module__ or isinstance(value, sp.Basic)
    }


def _names(code: CodeType) -> list[str]:
    """The names in a function's code and in that of the functions inside it, in order."""
    inner = [name for one in code.co_consts if isinstance(one, CodeType) for name in _names(one)]
    return list(dict.fromkeys([*code.co_names, *inner]))
