"""A theorem on trial: regimes, mutants, search.

``fedbounds.referee(THEOREM)`` is `fedbounds.referee.theorems.referee`: the package that has its name can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    def __call__(self, *args: Any, **named: Any) -> Any:
        from fedbounds.referee.theorems import referee

        return referee(*args, **named)


sys.modules[__name__].__class__ = _Called
