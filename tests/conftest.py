"""One profile for every property test (no deadline, the same examples), and what cannot run without torch."""

import importlib.util
import re
from pathlib import Path

from hypothesis import settings

import fedbounds.testing

assert fedbounds.testing
settings.load_profile("fedbounds")

HERE = Path(__file__).parent
NEEDS_TORCH = re.compile(r"^(?:import|from) (?:torch|tiny_vision|fedbounds\.vision|validate\.vision)\b", re.MULTILINE)
LEFT_OUT = [
    path
    for path in sorted(HERE.rglob("test_*.py"))
    if importlib.util.find_spec("torch") is None and NEEDS_TORCH.search(path.read_text())
]
collect_ignore = [str(path) for path in LEFT_OUT]


def pytest_terminal_summary(terminalreporter):
    """The last lines of `make test`: which parts did not run, and why."""
    without: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        why = str(report.longrepr[2]).removeprefix("Skipped: ")
        without.setdefault(why, []).append(report.nodeid)
    if LEFT_OUT:
        why = "torch is not installed (no build for processors alone was offered)"
        without[why] = [str(path.relative_to(HERE)) for path in LEFT_OUT]
    if without:
        terminalreporter.section("not run")
        for why, names in without.items():
            terminalreporter.write_line(f"{why}: {', '.join(names)}")
