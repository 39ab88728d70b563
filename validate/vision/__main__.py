"""Every study of the stored records, then the page: `python -m validate.vision` (a minute or two on one core)."""

from __future__ import annotations

from fedbounds.vision.runs import PATTERN
from validate.vision import (
    accuracy,
    alpha,
    page,
    participation,
    precision,
    r90,
    readings,
    search,
    stability,
    temperatures,
)
from validate.vision._common import PICTURES, load
from validate.vision.experiments import RESULTS

MODULES = (r90, accuracy, temperatures, alpha, participation, stability, readings, precision)
STUDIES = tuple(module.STUDY for module in MODULES)


def main() -> None:
    """Run what there are records for; say what there is none for."""
    stored = load()
    for study in STUDIES:
        print(f"== {study.name}")
        if any(stored.runs[name] for name in study.folders):
            study.run(stored, RESULTS, PICTURES)
        else:
            print("no records")
    if any((RESULTS / "search").rglob(PATTERN)):
        print("== search")
        search.main([])
    page.write()


if __name__ == "__main__":
    main()
