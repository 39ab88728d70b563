"""Write the marked blocks of docs/vision.md anew from validate/results/vision/*.json.

python -m validate.vision.page
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fedbounds.errors import reject
from fedbounds.files import read_json, write_text
from validate.vision import _study_tables, _tables
from validate.vision._common import PICTURES, Data
from validate.vision._markdown import NOTHING, Results
from validate.vision._study_tables import OF_STUDY
from validate.vision.experiments import RESULTS, ROOT

PAGE = ROOT / "docs" / "vision.md"
MARKED = re.compile(r"(<!-- (?P<name>[a-z0-9]+): begin .*?-->\n).*?(<!-- (?P=name): end -->)", re.DOTALL)
NAMES = (*OF_STUDY, "search", "local_minima")


def results(where: Path = RESULTS) -> dict[str, Data]:
    """Study -> its stored numbers, for those that are stored."""
    return {name: read_json(where / f"{name}.json") for name in NAMES if (where / f"{name}.json").is_file()}


def blocks(found: Results, pictures: Path = PICTURES) -> dict[str, str]:
    """Name of a block -> its Markdown."""
    made = {
        "reading": _tables.reading(found),
        "search": _tables.search(found),
        "minima": _tables.minima(found),
        "verdicts": _tables.verdicts(found),
        "fashion": _tables.fashion(found),
    }
    for name, build in OF_STUDY.items():
        made[name] = f"{build(found)}\n\n{_pictures(name, pictures)}".rstrip() if name in found else NOTHING
    return made


def pictures_of(study: str) -> tuple[str, ...]:
    """The stems of the pictures that a study may draw."""
    return tuple(_study_tables.PICTURES[study])


def _pictures(study: str, folder: Path) -> str:
    present = {
        stem: words for stem, words in _study_tables.PICTURES[study].items() if (folder / f"{stem}.png").is_file()
    }
    return "\n\n".join(f"![{words}](img/vision/{stem}.png)" for stem, words in present.items())


def filled(page: str, made: Mapping[str, str]) -> str:
    """The page with what stands between the marks of each block replaced. Errors: InputError for other marks."""
    names = [match["name"] for match in MARKED.finditer(page)]
    if sorted(names) != sorted(made):
        raise reject(
            "the page needs one pair of marks a block", f"marks of {', '.join(names)}", "restore docs/vision.md"
        )
    return MARKED.sub(lambda match: f"{match[1]}\n{made[match['name']].strip()}\n\n{match[3]}", page)


def write() -> None:
    """Fill docs/vision.md."""
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), blocks(results())))


if __name__ == "__main__":
    write()
