"""What a person looks at: terminal, pictures, report.

``fedbounds.report(STUDY)`` is `fedbounds.report.html.study_page.report`: the package that has its name can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    def __call__(self, *args: Any, **named: Any) -> Any:
        from fedbounds.report.html.study_page import report

        return report(*args, **named)


sys.modules[__name__].__class__ = _Called
