"""Who imports whom, folder by folder, as docs/development.md shows it (grimp reads the imports, graphviz draws them).

python -m validate.import_picture [FOLDER] [--out PICTURE.svg]: the package ``fedbounds`` that lies in FOLDER.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def arrows(package: str = "fedbounds") -> Counter[tuple[str, str]]:
    """(importing folder, imported folder) -> number of imports between modules of the two; the facade is left out."""
    import grimp

    graph = grimp.build_graph(package, cache_dir=None)
    places = {name: name.split(".")[1] for name in graph.modules if "." in name}
    return Counter(
        (here, places[imported])
        for name, here in places.items()
        for imported in graph.find_modules_directly_imported_by(name)
        if imported in places and places[imported] != here
    )


def dot(found: Counter[tuple[str, str]]) -> str:
    """The graph in graphviz's language: higher imports lower, the thicker the more; a pair both ways in red."""
    lines = [
        f'"{a}" -> "{b}" [penwidth={0.4 + 0.15 * count**0.5:.2f}{", color=red" if (b, a) in found else ""}];'
        for (a, b), count in sorted(found.items())
    ]
    style = "node [shape=box, fontname=Helvetica, fontsize=10, height=0.25]; edge [arrowsize=0.4, color=gray40];"
    return "\n".join(["digraph {", "rankdir=TB; concentrate=false; ranksep=0.4; nodesep=0.15;", style, *lines, "}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "img" / "imports.svg")
    options = parser.parse_args()
    sys.path.insert(0, str(options.folder))
    found = arrows()
    subprocess.run(["dot", "-Tsvg", "-o", str(options.out)], input=dot(found), text=True, check=True)
    nodes = {name for pair in found for name in pair}
    both = sum((b, a) in found for a, b in found) // 2
    print(f"{len(nodes)} entries, {len(found)} arrows, {both} pairs import each other: {options.out}")


if __name__ == "__main__":
    main()
