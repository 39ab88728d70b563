"""Is what would be released sound? Build it, check it, and use it where nothing else is: `make release-check`.

    python -m validate.release [--python python3.12 ...] [--extra frames ...]

Builds the source distribution and, from it, the wheel; `twine check --strict` and `check-wheel-contents`; then, for
each interpreter, installs the wheel into an empty environment outside of the repository, runs the lines of README.md
and a small study there, and again with each extra alone. Prints a line an environment; exits with 1 if one failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from validate.runner import ROOT, options

# The build of torch for processors alone; elsewhere vision brings gigabytes for graphics cards, and is left out.
CPU = "https://download.pytorch.org/whl/cpu"
STUDY = ["check", "--problem", "quadratic", "--clients", "3", "--rounds", "5", "--claim", "lemma-1", "--quiet"]
USES = {
    "": "import fedbounds",
    "frames": "import fedbounds; assert len(fedbounds.refute('rate').to_frame()) == 1",
    "vision": "import fedbounds.vision.training",
}


def run(*words: str | Path, where: Path) -> str:
    """What a command prints, in a folder and without this repository on the path; its end where it fails."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([*map(str, words)], cwd=where, env=env, check=False, **pipes)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def built(out: Path) -> list[Path]:
    """The source distribution, and the wheel that is made of it, both checked."""
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, where=out)
    files = sorted(out.glob("fedbounds-*"))
    run(sys.executable, "-m", "twine", "check", "--strict", *files, where=out)
    wheel = next(path for path in files if path.suffix == ".whl")
    run(sys.executable, "-m", "check_wheel_contents", "--config", ROOT / "pyproject.toml", wheel, where=out)
    for path in files:
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, checked", flush=True)
    return files


def readme() -> str:
    """The five lines of README.md and what they show, as a script that compares both."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    lines, shown = (block.partition("\n```")[0] for block in page.split("```python\n")[1:3])
    return (
        f"import doctest\nfrom pathlib import Path\n{lines}\n"
        f"test = doctest.DocTestParser().get_doctest({shown!r}, globals(), 'README.md', 'README.md', 0)\n"
        "assert test.examples and doctest.DocTestRunner().run(test).failed == 0\n"
        f"import fedbounds; assert {str(ROOT)!r} not in fedbounds.__file__\n"
    )


def tried(python: str, extra: str, wheel: Path, where: Path) -> str:
    """What an environment with the wheel and one extra took: seconds to install, to run, and megabytes."""
    home = where / "env"
    run(python, "-m", "venv", home, where=where)
    inside, started = home / ("Scripts" if os.name == "nt" else "bin"), time.monotonic()
    index = ["--extra-index-url", CPU, "torch==" + pinned("torch") + "+cpu"] if extra == "vision" else []
    wanted = f"{wheel}[{extra}]" if extra else wheel
    run(inside / "python", "-m", "pip", "install", "-q", "--no-compile", *index, wanted, where=where)
    installed = time.monotonic()
    (where / "readme.py").write_text(readme(), encoding="utf-8")
    run(inside / "python", "readme.py", where=where)
    run(inside / "fedbounds", *STUDY, where=where)
    run(inside / "python", "-c", USES[extra], where=where)
    size = sum(path.lstat().st_size for path in home.rglob("*")) / 1e6
    return f"installed in {installed - started:.0f} s ({size:.0f} MB), ran in {time.monotonic() - installed:.0f} s"


def pinned(name: str) -> str:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{name}=="))


def environments(pythons: Sequence[str], extras: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every interpreter that runs here with no extra; the first also with each of the extras."""
    result = filter(shutil.which, pythons)
    here = [name for name in result if not subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL)]
    yield from ((name, "") for name in here)
    yield from ((here[0], extra) for extra in extras if here)


def main() -> None:
    some = {"nargs": "*", "default": [name for name in USES if name], "choices": [*USES]}
    chosen = options(__doc__, python=("python3.11", "python3.12", "python3.13"), extra=some)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        wheel = next(path for path in built(Path(folder)) if path.suffix == ".whl")
        for python, extra in environments(chosen.python, chosen.extra):
            with tempfile.TemporaryDirectory() as where:
                try:
                    said = tried(python, extra, wheel, Path(where))
                except SystemExit as wrong:
                    said, failed = f"FAILED: {wrong}", True
            print(f"{python} [{extra}]: {said}", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
