"""One profile for every property test (no deadline, the same examples), and what cannot run without torch."""

import fcntl
import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest
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


@pytest.fixture(autouse=True)
def no_repairs_at_once(monkeypatch):
    """Under FALSE nothing is looked for, which takes 6 s: tests of that say so."""
    monkeypatch.setattr(importlib.import_module("fedbounds.referee.repair"), "AT_ONCE", (0.0, 0.0))


@pytest.fixture(scope="session")
def rocq_folder(tmp_path_factory):
    """A folder with the compiled files that Rocq's proofs rest on: compiled once, whatever the number of workers."""
    from fedbounds.evidence.kernel import coqc, proof_obligations
    from validate.attacked_proofs import MODULES

    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "rocq-shared"
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in (*MODULES, "Certificate", "Parametric", "Round", "Noise"):
            if not (shared / f"{name}.vo").exists():
                assert coqc.compiled(shared, name, proof_obligations.sources()[name].read_text()) == ("", "")
    return Path(shutil.copytree(shared, tmp_path_factory.mktemp("rocq") / "base"))


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
