"""Which expressions a claim may be made of: exact, finite, and of the claims' own symbols."""

from __future__ import annotations

import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory import symbols


def check_expression(key: str, part: object) -> None:
    """Refuse what is not exact and finite, and a symbol with the name of one of the claims' that is another."""
    if not isinstance(part, sp.Expr | int | float):
        raise reject(f"claim {key} is made of sympy expressions", repr(part), "use fedbounds.theory.symbols")
    if isinstance(part, float) or (isinstance(part, sp.Expr) and part.atoms(sp.Float)):
        raise reject(f"claim {key} is made of exact numbers", part, "write 1.5 as sympy.Rational(3, 2)")
    if isinstance(part, sp.Expr) and part.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise reject(f"claim {key} is made of numbers", part, "leave out what divides by 0 or is no number")
    for symbol in part.free_symbols if isinstance(part, sp.Expr) else ():
        if symbols.RECORDED.get(symbol.name, symbol) != symbol:
            remedy = f"import {symbol.name} from fedbounds.theory.symbols"
            raise reject(f"{symbol.name} of claim {key} must be the claims' own", "another symbol", remedy)


def check_relations(key: str, relation: object) -> None:
    """The same of both sides of an assumption's relation, or relations."""
    for one in relation if isinstance(relation, tuple) else (relation,):
        for side in getattr(one, "args", ()):
            check_expression(key, side)
