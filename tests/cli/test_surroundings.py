"""What surrounds a command: who reads it, what stops it, where it cannot write, how far it is."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import keyboard
import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.engine.kernels import compiled
from fedbounds.errors import InputError, interruptible
from fedbounds.report import terminal
from fedbounds.study import parallel, run_study
from validate.robustness import inputs

ROOT = Path(__file__).resolve().parents[2]
FEDBOUNDS = [sys.executable, "-m", "fedbounds.cli"]
SMALL = inputs.BEFORE["check"].split()


def ran(words, stdout=subprocess.PIPE, **surroundings):
    return subprocess.run(
        [*FEDBOUNDS, *words], cwd=ROOT, check=False, text=True, stdout=stdout, stderr=subprocess.PIPE, **surroundings
    )


def test_nobody_reads_on():
    reader, writer = os.pipe()
    os.close(reader)
    done = ran(["claims"], stdout=writer)
    os.close(writer)
    assert done.returncode == 141 and "Traceback" not in done.stderr and "Errno" not in done.stderr


def test_a_closed_or_full_standard_output():
    done = ran(["claims"], stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0 and "Traceback" not in done.stderr
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            done = ran(["claims"], stdout=full)
        assert done.returncode == 141 and done.stderr.splitlines()[-1] == "Printing failed: No space left on device."


def test_a_terminal_without_letters():
    bare = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    done = ran(["claims", "lemma-1"], env=bare, encoding="latin-1")
    assert done.returncode == 0 and r"\u2207F" in done.stdout


def test_kernels_that_cannot_be_kept_are_compiled_anew_with_a_hint(monkeypatch):
    def unkept(*_):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(compiled, "_share_stamp", unkept)
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder"):
        double = compiled.kernel(lambda x: 2 * x)
    assert double(3) == 6


def test_without_solvers_the_demo_runs_and_a_certificate_says_what_is_missing(tmp_path):
    program = (
        "import sys; sys.modules |= dict.fromkeys(('clarabel', 'hypothesis')); from fedbounds.cli.app import main\n"
        f"main({['check', *SMALL, '--out', str(tmp_path)]}, standalone_mode=False)\n"
        "main(['certify', 'star-step', '--tau', '1', '--kappa', '4'])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "This needs clarabel, which is not installed" in done.stderr
    assert (tmp_path / "bounds.png").exists() and "Traceback" not in done.stderr


def started(words, **surroundings):
    """A command that heeds the keyboard."""
    with keyboard.heeded():
        return subprocess.Popen(
            [*FEDBOUNDS, *words], cwd=ROOT, text=True, stderr=subprocess.PIPE, start_new_session=True, **surroundings
        )


def workers(process):
    """The processes of a command's pool."""
    result = subprocess.run(
        ["pgrep", "-g", str(process.pid), "-f", "popen_loky|multiprocessing.forkserver"],
        check=False,
        capture_output=True,
        text=True,
    )
    return result.stdout.split()


def until(true, process, seconds=300):
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def test_termination_ends_like_the_keyboard(tmp_path):
    out = tmp_path / "out"
    process = started(["check", "--rounds", "20000", "--out", str(out), "--quiet"], stdout=subprocess.DEVNULL)
    until((out / ".fedbounds.lock").exists, process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said.strip()) == (130, "Interrupted: nothing further was written.")


def test_the_keyboard_ends_a_command_that_still_loads_in_one_sentence_and_then_interrupts_it():
    send = "import os, signal; from fedbounds import cli; cli.while_loading(); {}os.kill(os.getpid(), 2)"
    with keyboard.heeded():
        loading = subprocess.run([sys.executable, "-c", send.format("")], check=False, capture_output=True, text=True)
    assert (loading.returncode, loading.stderr) == (130, "Interrupted: nothing was written.\n")
    running = send.format("cli.while_running(); ")
    with keyboard.heeded():
        raised = subprocess.run([sys.executable, "-c", running], check=False, capture_output=True, text=True)
    assert "KeyboardInterrupt" in raised.stderr


def test_an_interrupt_waits_until_processes_have_started():
    """Another thread hears what the one that starts them has blocked."""
    steps = []
    with keyboard.heeded(), pytest.raises(KeyboardInterrupt), parallel._deaf_to_the_keyboard():
        elsewhere = threading.Thread(target=_interrupt_here)
        elsewhere.start()
        elsewhere.join()
        steps.append("started")
    assert steps == ["started"]


def _interrupt_here():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)


def test_the_keyboard_ends_searches_in_several_processes_at_once(tmp_path):
    result = tmp_path / "found.json"
    process = started(["refute", "--all", "--jobs", "2", "--out", str(result), "--quiet"], stdout=subprocess.DEVNULL)
    until(lambda: len(workers(process)) >= 2, process)  # they may still be starting Python
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)  # far below what the searches would take
    assert process.returncode == 130 and "Interrupted" in said and "Traceback" not in said
    end = time.monotonic() + 120
    while workers(process) and time.monotonic() < end:
        time.sleep(0.1)
    assert not workers(process)


def test_long_commands_show_that_they_work(monkeypatch):
    def seen(what, enabled=True):
        raise InputError(f"{what} under way.")

    monkeypatch.setattr(terminal, "working", seen)
    assert CliRunner().invoke(main, ["ledger"]).stderr.endswith(" under way.\n")


@pytest.mark.parametrize("finished", [0, 1])
def test_an_interrupted_check_answers_for_the_weightings_that_were_finished(tmp_path, monkeypatch, finished):
    whole = run_study.run_weighting

    def interrupted(request, weighting, *rest):
        if finished and weighting.name != "fedmax":
            return whole(request, weighting, *rest)
        with interruptible():  # as in a compiled kernel
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(run_study, "run_weighting", interrupted)
    schemes = ["--weighting", "fedmax", "--weighting", "fedsoftmax:1", "--quiet"]
    done = CliRunner().invoke(main, ["check", *SMALL, *schemes, "--out", str(tmp_path)])
    if not finished:
        assert (done.exit_code, done.stdout) == (130, "")
        assert done.stderr.strip() == "Interrupted: nothing further was written."
        return
    assert done.exit_code == 130 and "readings, 1 weighting:" in done.stdout
    assert done.stderr == f"Interrupted: the answer is about fedavg alone, and saved in {tmp_path}.\n"
    saved = json.loads((tmp_path / "result.json").read_text())
    assert saved["settings"]["weightings"] == ["fedavg"] == [run["weighting"] for run in saved["runs"]]


def test_a_warning_of_a_statement_is_a_line_without_a_place_in_the_code(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(
        "from fedbounds import Claim\nfrom fedbounds.theory import assumptions as a, symbols as s\n"
        'terms = {"x": s.Delta / (1 - s.eta * s.mu), "y": s.sigma_sq * s.eta**2 / (s.N - 1)}\n'
        "given = (a.smooth, a.strongly_convex, a.full_participation, a.unbiased)\n"
        'CLAIMS = (Claim("odd", "", "a draft", "step", s.Delta_next, terms, assumptions=given),)\n'
    )
    lines = ran(["claims", "odd", "--plugin", str(file)]).stderr.splitlines()
    (warning,) = (line for line in lines if "Warning" in line)
    assert warning.startswith("Warning: the sign of -eta*mu + 1 in x of claim odd is unknown: assume ")
