"""Write the tables of docs/symbols.md anew: `python -m validate.symbols_page` (a second)."""

from __future__ import annotations

import functools

import sympy as sp

from fedbounds.io import write_text
from fedbounds.theory import assumptions, symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.expressions import NEEDS_VALUE
from validate.markdown import filled
from validate.markdown import markdown_table as table
from validate.runner import DOCS

# Abbreviations that one shipped claim defines.
OF_ONE_CLAIM = NEEDS_VALUE - {"gamma"}
PAGE = DOCS / "symbols.md"


# Those that are written as expressions of points, and have no letter of their own.
OF_POINTS = sorted(
    name
    for name, q in symbols.QUANTITIES.items()
    if q.computed and q.expression is not None and name != "zeta_star_sq"
)


def formula(expression: sp.Basic) -> str:
    return f"${symbols.latex(expression)}$"


def symbol_table(varying: bool) -> str:
    """Shipped symbols that vary, or those that do not: name, formula, meaning."""
    hidden = OF_ONE_CLAIM | set(OF_POINTS)
    known = ((name, q) for name, q in symbols.QUANTITIES.items() if name not in hidden)
    shown = [(name, q) for name, q in known if bool(q.scopes) is varying]
    return table(("name", "symbol", "meaning"), [(f"`{name}`", formula(q), prose(q.meaning)) for name, q in shown])


def point_table() -> str:
    """The expressions of points that have a name, in words."""
    shown = [(name, symbols.QUANTITIES[name]) for name in OF_POINTS]
    return table(("name", "meaning"), [(f"`{name}`", prose(q.meaning)) for name, q in shown])


def prose(text: str) -> str:
    """Words as they stand: what looks like markup is none."""
    return text.replace("*", r"\*").replace("_", r"\_").replace("<", r"\<")


def relation(one: Assumption) -> str:
    """The relation that the checks follow from, where the assumption is one."""
    result = one.relation if isinstance(one.relation, tuple) else () if one.relation is None else (one.relation,)
    return ", ".join(map(formula, result)) or "in words"


def shipped() -> dict[str, Assumption]:
    return {f"a.{name}": item for name, item in vars(assumptions).items() if isinstance(item, Assumption)}


def assumption_table() -> str:
    """Every shipped assumption: name, key, statement and relation."""
    rows = [(f"`{name}`", f"`{item.key}`", prose(item.statement), relation(item)) for name, item in shipped().items()]
    return table(("name", "key", "says", "relation"), rows)


def page(text: str) -> str:
    """The page with its tables as they are now."""
    made = {"symbols": symbol_table(False), "varying": symbol_table(True)}
    made |= {"points": point_table(), "assumptions": assumption_table()}
    return functools.reduce(lambda found, name: filled(found, made[name], name), made, text)


if __name__ == "__main__":
    write_text(PAGE, page(PAGE.read_text(encoding="utf-8")))
