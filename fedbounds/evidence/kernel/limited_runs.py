"""Rocq on one script for so many seconds at most: a process of its own, which is ended with all that it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from fedbounds.evidence.kernel.proof_obligations import Obligation
from fedbounds.evidence.kernel.rocq_runs import Audited, check_script
from fedbounds.io import shaped
from fedbounds.theory.verdict import Status


def check_within(seconds: float, obligation: Obligation, script: str) -> Audited | None:
    """What `check_script` says, or None where it took longer."""
    fields = (obligation.module, obligation.subject, list(obligation.readings), obligation.status.value)
    work = json.dumps([*fields, obligation.statement, script])
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, start_new_session=True) as child:
        try:
            answer, _ = child.communicate(work, timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    result: Audited = shaped(json.loads(answer), Audited, "Rocq's answer")
    return result


def main() -> None:
    work: Any = json.load(sys.stdin)
    module, subject, readings, status, statement, script = work
    obligation = Obligation(module, subject, tuple(readings), Status(status), statement)
    print(json.dumps(asdict(check_script(obligation, script))))


if __name__ == "__main__":
    main()
