"""Pictures for one page: no two ids alike, colours that follow the theme, coordinates no finer than the eye."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# Black and white of a picture are the page's ink and paper, in its light and in its dark theme.
THEME = {"#000000": "var(--ink)", "#ffffff": "var(--paper)"}
PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
# The date and the style sheet, which would reach beyond the picture.
EXTRAS = re.compile(r"\s*<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", re.DOTALL)
# A tenth of a point cannot be seen.
COORDINATE = re.compile(r"-?\d+\.\d{2,}")
PATH = re.compile(r'(?<= [dxy]=")[^"]*(?=")|(?<= points=")[^"]*(?=")|(?<=translate\()[^)]*(?=\))')
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(href="#|url\(#)([^")]*)')
ROOT = re.compile(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


def inline(drawn: str, name: str, description: str) -> Markup:
    """An SVG document as an element of a page: every id begins with ``name``, which no other picture may have."""
    body = EXTRAS.sub("", PROLOGUE.sub("", drawn, count=1)).replace("xlink:href", "href")
    body = _renamed(body, name)
    body = PATH.sub(lambda found: COORDINATE.sub(_rounded, " ".join(found[0].split())), body)
    for colour, variable in THEME.items():
        body = re.sub(rf"(fill|stroke): {colour}", rf"\1: {variable}", body)
    width, height = ROOT.search(body).groups()  # type: ignore[union-attr]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(description)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    )
    return Markup(re.sub(r">\s+<", "><", ROOT.sub(head, body, count=1)))


def _renamed(body: str, name: str) -> str:
    """Short ids of the picture's own for what is referred to; what is not needs none."""
    used = dict.fromkeys(found[2] for found in REFERENCE.finditer(body))
    short = {old: f"{name}-{k}" for k, old in enumerate(used)}
    body = ID.sub(lambda found: f' id="{short[found[1]]}"' if found[1] in short else "", body)
    return REFERENCE.sub(lambda found: found[1] + short[found[2]], body)


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")
