"""The tutorial is executed: its files are written, its commands run, its Python run, in order, in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli.app import main
from fedbounds.problems.registry import problem_plugins

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")


def blocks():
    return [(language, body) for language, body in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))]


def written(folder):
    """Write every block that starts with a file's name."""
    names = []
    for language, body in blocks():
        if language == "python" and (head := FILE.match(body)):
            (folder / head[1]).write_text(body, encoding="utf-8")
            names.append(head[1].removesuffix(".py"))
    return names


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, importable, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = written(tmp_path)
    yield tmp_path
    for name in names:
        sys.modules.pop(name, None)


def run_commands(body):
    """Run each ``$ command``; every other line (``...`` apart) must be in its output."""
    output = None
    for line in body.splitlines():
        if line.startswith("$ fedbounds "):
            done = CliRunner().invoke(main, shlex.split(line)[2:], catch_exceptions=False, standalone_mode=False)
            output = " ".join(done.output.split())
        elif line.strip() != "...":
            assert " ".join(line.split()) in output, f"not printed: {line}"
    assert output, "a console block runs at least one command"


def test_every_block_runs(folder, capsys):
    names = {"__name__": "tutorial"}
    kinds = {"files": 0, "python": 0, "console": 0}
    for language, body in blocks():
        if language == "console":
            run_commands(body)
            kinds["console"] += 1
        elif language == "python" and FILE.match(body):
            kinds["files"] += 1
        elif language == "python":
            exec(compile(body, "tutorial.md", "exec"), names)
            kinds["python"] += 1
    assert min(kinds["files"], kinds["python"], kinds["console"]) >= 4
    assert "REFUTED" not in capsys.readouterr().err


def test_the_recipe_for_pytest_passes_as_it_is_on_its_first_run(folder):
    """Under a profile whose deadline no first example keeps."""
    (folder / "conftest.py").write_text(
        "import fedbounds.testing\nfrom hypothesis import settings\n"
        "settings.register_profile('mine', deadline=1, max_examples=20)\nsettings.load_profile('mine')\n"
    )
    recipe = (folder / "test_mylemma.py").read_text().splitlines()
    assert len(recipe) == 5
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mylemma.py"]
    path = os.pathsep.join([str(TUTORIAL.parent.parent), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=env, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_entry_points_it_names_are_found(folder, monkeypatch):
    """As an installed distribution would register them."""
    groups = next(tomllib.loads(body) for language, body in blocks() if language == "toml")["project"]["entry-points"]
    info = folder / "site" / "mytheorem-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mytheorem\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    assert "my-fedavg" not in plugins.claims()
    monkeypatch.syspath_prepend(str(folder / "site"))
    assert "my-fedavg" in plugins.claims()
    assert "qfair" in plugins.weightings()
    assert "log-cosh" in problem_plugins()


def test_the_restated_theorem_is_the_package_s(folder):
    from mytheorem import MINE

    own = plugins.claims()["li-2020"]
    assert MINE.terms == own.terms and MINE.definitions == own.definitions and MINE.eta == own.eta
