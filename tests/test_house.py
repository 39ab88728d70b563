"""What the import contracts of pyproject.toml (`lint-imports`) cannot see: what an import loads, and sizes."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

from fedbounds.claims import PAPER
from fedbounds.plugins import modules_in
from fedbounds.theory.claim import Role

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fedbounds"
LONGEST_FILE = 320  # lines; the aim is 300
MOST_ENTRIES = 18  # at the package's root, a reader's first page


def contracts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_importing_the_package_loads_nothing_heavy():
    homes = {
        name for contract in contracts() if contract["type"] == "protected" for name in contract["protected_modules"]
    }
    heavy = sorted({name for name in homes if not name.startswith("fedbounds")} | {"numpy", "scipy", "sympy"})
    assert "torch" in heavy
    code = f"import sys, fedbounds; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_study_of_the_paper_loads_the_papers_claims_alone():
    """A second run of the demo waits for 2 to 3 s; the claims of other authors would be a fifth of it."""
    code = (
        "import sys, fedbounds; fedbounds.check('quadratic', rounds=2, replicates=4, weightings='fedavg');"
        "print([name for name in sys.modules if name.startswith('fedbounds.claims.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == [f"fedbounds.claims.{name}" for name in PAPER]
    declared = {
        module.__name__.rpartition(".")[2]
        for module in modules_in("fedbounds.claims")
        for claim in getattr(module, "CLAIMS", ())
        if {Role.MAIN, Role.HEADLINE} & set(claim.roles)
    }
    assert declared == set(PAPER)


def test_every_folder_has_its_layer():
    (layers,) = (contract["layers"] for contract in contracts() if contract["type"] == "layers")
    placed = {name.strip() for layer in layers for name in layer.replace(":", "|").split("|")}
    assert placed == {path.stem for path in entries()}


def test_files_stay_short():
    long = [str(path) for path in PACKAGE.rglob("*.py") if len(path.read_text().splitlines()) > LONGEST_FILE]
    assert not long


def entries():
    ignored = {"__init__.py", "__pycache__", "py.typed"}
    return [path for path in PACKAGE.iterdir() if path.name not in ignored and not path.name.startswith(".")]


def test_the_root_of_the_package_fits_one_look():
    assert len(entries()) <= MOST_ENTRIES


def test_derivations_are_installed_under_a_name_of_their_own():
    (ours,) = (entry for entry in entry_points(group="fedbounds.derivations") if entry.dist.name == "fedbounds")
    assert ours.value == "fedbounds_derivations"
    assert Path(ours.load().__file__).parent.name in (
        "derivations",
        "fedbounds_derivations",
    )
