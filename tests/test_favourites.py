"""The house rules that no linter knows: the theory has no favourites, and no machinery."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import fedbounds
from fedbounds.plugins import claims
from fedbounds.theory.claim import Kind

ROOT = Path(fedbounds.__file__).parent
CLAIMS = claims().keys() - set(Kind)
MODULES = sorted(path for path in ROOT.rglob("*.py") if ROOT / "claims" not in path.parents)


def test_there_are_modules_and_claims_to_look_at():
    assert len(MODULES) > 100 and len(CLAIMS) > 20


def test_no_module_names_a_particular_claim():
    imported = re.compile(r"fedbounds\.claims\.\w|from fedbounds\.claims import|from \.+claims")
    for path in MODULES:
        text = path.read_text()
        assert not imported.search(text), path
        # An example in a docstring is one text with more in it, and may.
        assert not CLAIMS & {item.value for item in ast.walk(ast.parse(text)) if isinstance(item, ast.Constant)}, path


def test_no_module_asks_who_wrote_an_assumption_or_a_claim():
    asks = re.compile(r"""__module__\s*\.\s*startswith|startswith\(["']fedbounds""")
    assert not [path for path in MODULES if asks.search(path.read_text())]


def test_theory_imports_no_machinery():
    code = """
import importlib, pkgutil, sys
import fedbounds.theory
for module in pkgutil.iter_modules(fedbounds.theory.__path__, "fedbounds.theory."):
    importlib.import_module(module.name)
own = (name for name in sys.modules if name.startswith("fedbounds."))
raise SystemExit(", ".join(name for name in own if not name.startswith(("fedbounds.theory", "fedbounds.errors"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
