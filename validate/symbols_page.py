"""Write the tables of docs/symbols.md anew: `python -m validate.symbols_page` (a second)."""

from __future__ import annotations

from operator import itemgetter

import sympy as sp

from fedbounds.theory import assumptions, symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim_validation import NEEDS_VALUE
from validate.markdown import markdown_table as table
from validate.runner import DOCS, Study

# Abbreviations that one shipped claim defines.
OF_ONE_CLAIM = NEEDS_VALUE - {"gamma"}


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


def tables() -> dict[str, str]:
    """The tables of the page as they are now."""
    made = {"symbols": symbol_table(False), "varying": symbol_table(True)}
    return made | {"points": point_table(), "assumptions": assumption_table()}


BLOCKS = {name: itemgetter(name) for name in ("symbols", "varying", "points", "assumptions")}
STUDY = Study(__doc__, "", tables, lambda made: "", page=DOCS / "symbols.md", blocks=BLOCKS)

if __name__ == "__main__":
    STUDY.main()
