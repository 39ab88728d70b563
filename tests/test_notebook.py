"""The notebook is executed: every cell runs, and prints or gives what is stored below it."""

import ast
import contextlib
import io
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def run(source, names):
    """What a cell prints, and the text of its last expression, as a notebook shows them."""
    *first, last = ast.parse(source).body
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        value = None
        if not isinstance(last, ast.Expr):
            first.append(last)
        exec(compile(ast.Module(first, []), "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    return printed.getvalue() + ("" if value is None else repr(value)), value


def stored(cell):
    """The text below a cell."""
    return "".join(line for output in cell["outputs"] for line in output.get("text") or output["data"]["text/plain"])


def test_every_cell_shows_what_is_stored():
    pytest.importorskip("pandas")
    names = {"__name__": "notebook"}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        result, value = run("".join(cell["source"]), names)
        assert result == stored(cell), "".join(cell["source"])
        if hasattr(value, "_repr_svg_"):
            assert "<svg" in value._repr_svg_()
    assert len(cells) >= 8 and names["trials"][0].outcome == "FALSE"
