"""Who may import whom, and heavy libraries in one place each: read off the sources, so that it cannot drift."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fedbounds"

# Lower layers never import higher ones. Plug-ins (problems, weightings, claims) may use everything up to claim.
LAYERS = [
    {"errors", "quantity", "symbols", "verdict", "files", "plugins", "bands", "floor"},
    {"problem", "weighting", "schedule", "simulate", "engine", "problems", "weightings"},
    {"constants", "skew", "claim", "assumptions", "claims", "registry", "algebra", "derivation"},
    {
        "regimes",
        "evidence",
        "certificate",
        "refute",
        "adversary",
        "pareto",
        "settings",
        "bound",
        "mutants",
        "regime",
        "power",
        "redundancy",
        "sensitivity",
        "ledger",
        "console",
        "explain",
    },
    {"study", "survey"},
    {
        "store",
        "report",
        "sweep",
        "sweep_cell",
        "sweep_study",
        "sweep_table",
        "sweep_series",
        "sweep_plot",
        "series",
        "palette",
        "plots",
        "testing",
    },
    {"commands", "cli", "cli_options", "__init__", "vision"},
]
HEAVY = {
    "cvxpy": "fedbounds/evidence",
    "matplotlib": "fedbounds/plots.py",
    "torch": "fedbounds/vision",
    "pooch": "fedbounds/vision/images.py",
    "numba": "fedbounds/engine",
    "sklearn": "fedbounds/problems/data.py",
    "joblib": "fedbounds/sweep.py",
    "rich": "fedbounds/console.py",
    "click": "fedbounds/c",
    "jinja2": "fedbounds/report/page.py",
    "latex2mathml": "fedbounds/report/mathml.py",
}


def sources():
    return sorted(PACKAGE.rglob("*.py"))


def module_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "fedbounds":
                yield from (f"fedbounds.{alias.name}" for alias in node.names)


def layer_of(module):
    for level, names in enumerate(LAYERS):
        if module in names:
            return level
    raise AssertionError(f"{module} has no layer: add it to LAYERS")


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_lower_never_imports_higher(path):
    own = module_of(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] in ("derivations", "validate"):
            raise AssertionError(f"{path.name} imports {name} by name; it must be discovered")
        if parts[0] == "fedbounds" and len(parts) > 1 and own != "__init__":
            assert layer_of(parts[1]) <= layer_of(own), f"{own} imports {name} from a higher layer"


@pytest.mark.parametrize("library", sorted(HEAVY))
def test_heavy_libraries_live_in_one_place(library):
    for path in sources():
        place = str(path.relative_to(ROOT))
        if library in {name.split(".")[0] for name in imported(path)}:
            assert place.startswith(HEAVY[library]), f"{place} imports {library}"


def test_importing_the_package_loads_nothing_heavy():
    import subprocess

    heavy = sorted({*HEAVY, "sympy", "scipy"})
    code = f"import sys, fedbounds; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_short():
    for path in sources():
        assert len(path.read_text().splitlines()) <= 320, f"{path} is over 320 lines"
