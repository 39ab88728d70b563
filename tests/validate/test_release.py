"""What a release is tried with."""

import sys

from validate.release import environments


def test_a_name_that_starts_no_interpreter_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "python3.0").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.0").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tried = environments(["python3.0", "python3.no", sys.executable], ["frames"])
    assert list(tried) == [(sys.executable, ""), (sys.executable, "frames")]
