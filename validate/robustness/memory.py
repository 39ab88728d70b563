"""Peak memory of whole commands, each in a process of its own.

python -m validate.robustness.memory
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from validate.runner import Study

# What is held at once grows with the replicates and with the clients: the default study, and far more of either.
COMMANDS = ("check", "check --replicates 10000", "check --clients 1000")
MEBIBYTE = 2**20
# Linux counts the peak in kibibytes, macOS in bytes.
UNIT = 1 if sys.platform == "darwin" else 1024


# Linux counts in a process's peak what the one that started it held then: this small one stands between.
BETWEEN = """
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_maxrss, used.ru_utime + used.ru_stime]))
"""


def peak(words: str) -> dict[str, Any]:
    """The command's peak resident set in MiB and its processor seconds; CalledProcessError where it fails."""
    command = [sys.executable, "-m", "fedbounds.cli", *words.split(), "--quiet"]
    between = [sys.executable, "-S", "-c", BETWEEN, *command]
    code, resident, spent = json.loads(subprocess.run(between, capture_output=True, check=True).stdout)
    if code:
        raise subprocess.CalledProcessError(code, command)
    return {"command": words, "peak_MiB": round(resident * UNIT / MEBIBYTE), "processor_seconds": round(spent, 1)}


def compute() -> list[dict[str, Any]]:
    return [peak(words) for words in COMMANDS]


STUDY = Study(__doc__, "commands_memory", compute)

if __name__ == "__main__":
    STUDY.main()
