"""The paper's experiments beside the paper: `python -m validate.vision` (a minute on one core).

Reads the stored records, prints the verdict of every case with its numbers, draws the picture and fills the marked
blocks of docs/vision.md. With ``--records DIR`` it prints and draws (into ``--out``) for records of the same settings
elsewhere, and leaves the page alone.
"""

from pathlib import Path

from fedbounds.errors import reject
from validate.runner import options
from validate.vision import measures, page, verdicts


def main(arguments: list[str] | None = None) -> list[tuple[verdicts.Case, str]]:
    """Judge, print, draw; and write the page from the repository's own records."""
    chosen = options(__doc__, arguments, records=Path, out=Path, small=False)
    if (chosen.records is None) != (chosen.out is None):
        what = "other records need a folder for their pictures"
        raise reject(what, "only one of the two", "give --records and --out")
    result = measures.load(chosen.records or measures.RESULTS, chosen.small)
    outcomes = verdicts.judge(verdicts.cases(result))
    for case, verdict in outcomes:
        print(f"{case.claim}, {case.where} ({case.reading}): {verdict}: {case.sentence}")
    page.draw(result, chosen.out or page.PICTURES)
    if chosen.records is None:
        page.write(result, outcomes)
    return outcomes


if __name__ == "__main__":
    main()
