"""What is said: symbols, assumptions, claims as terms, readings, verdicts and what they cover.

>>> from fedbounds.theory import Claim, assumptions as a, symbols as s
>>> Claim("mine", "", "", "step", s.Delta_next, {"start": s.Delta}, assumptions=(a.smooth,)).scope
'step'
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbounds.theory.claim import Claim as Claim


def __getattr__(name: str) -> object:
    """``Claim``, loaded when it is asked for: sympy takes half a second, and a command's help needs none of it."""
    if name == "Claim":
        from fedbounds.theory.claim import Claim

        return Claim
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
