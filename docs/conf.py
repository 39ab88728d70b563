"""Sphinx configuration: MyST pages, the API from docstrings, a gallery, formulas as MathML to be read offline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

from fedbounds.report.figure_styles import Plot

project = "fedbounds"
author = "The fedbounds authors"
project_copyright = "2026, The fedbounds authors"
release = metadata.version("fedbounds")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery", "paper"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
# Pages also link to files of the repository (CONTRIBUTING.md, a script): they are offered as downloads.


def own_pictures(block: tuple[Any, ...], block_vars: Mapping[str, Any], gallery_conf: Mapping[str, Any]) -> str:
    """The pictures that a result of the package draws: matplotlib's state does not know of them."""
    plots = [value for value in block_vars["example_globals"].values() if isinstance(value, Plot)]
    paths = [next(block_vars["image_path_iterator"]) for _ in plots]
    for value, path in zip(plots, paths, strict=True):
        value.save(path)
    return figure_rst(paths, gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", own_pictures),
    "download_all_examples": False,
    "min_reported_time": 60,
    "write_computation_times": False,
    "show_signature": False,
}
# A function among the settings cannot be compared with that of the last build.
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
# What examples in docstrings look like is not Python: one line may hold a formula.
highlight_language = "text"

html_theme = "furo"
html_title = "fedbounds"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

LITERAL = re.compile(r"`{1,2}([^`]+)`{1,2}")
SPECIAL = re.compile(r"([*|_\\`])")


def as_text(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text: formulas may hold any sign, and an indented block keeps its lines."""
    found: list[str] = []
    in_block = in_example = False
    for line in lines:
        # An example ends with a blank line, and is shown as it stands.
        in_example = bool(line.strip()) and (in_example or line.startswith(">>>"))
        if in_example:
            found.append(line)
            continue
        indented = line.startswith((" ", "\t"))
        if indented and not in_block and (not found or not found[-1].strip()):
            found += ["::", ""]
            in_block = True
        elif line.strip() and not indented:
            in_block = False
        found.append(line if in_block else escaped(line))
    lines[:] = found


def escaped(line: str) -> str:
    """The line with every sign of markup outside `code` taken literally."""
    parts = LITERAL.split(line.replace("::", ":") if line.endswith("::") else line)
    # Splitting on one group leaves text at even places and code at odd ones.
    return "".join(f"``{part}``" if k % 2 else SPECIAL.sub(r"\\\1", part) for k, part in enumerate(parts))


def inline_math(self: Any, node: nodes.math) -> None:
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display_math(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the docstring filter and the renderer of formulas."""
    app.connect("autodoc-process-docstring", as_text)
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
