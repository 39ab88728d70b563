"""The paper's experiments beside the paper: `python -m validate.vision` (a minute on one core).

Reads the stored records, prints the verdict of every case with its numbers, draws the pictures and fills the marked
blocks of docs/vision.md. With ``--records DIR`` it prints and draws (into ``--out``) for records of the same settings
elsewhere, and leaves the page alone.
"""

from pathlib import Path

from fedbounds.errors import reject
from validate.runner import options
from validate.vision import page, pictures, stored, verdicts
from validate.vision.experiments import RESULTS


def main(arguments: list[str] | None = None) -> list[verdicts.Outcome]:
    """Judge, print, draw; and write the page from the repository's own records."""
    chosen = options(__doc__, arguments, records=Path, out=Path, small=False)
    if (chosen.records is None) != (chosen.out is None):
        raise reject(
            "other records need a folder for their pictures", "only one of the two", "give --records and --out"
        )
    result = stored.load(chosen.records or RESULTS, chosen.small)
    outcomes = verdicts.judge(verdicts.claims(result))
    for outcome in outcomes:
        case = outcome.case
        print(f"{case.claim}, {case.where} ({case.reading}): {outcome.verdict}: {case.sentence}")
    pictures.draw(result, chosen.out or page.PICTURES)
    if chosen.records is None:
        page.write(result, outcomes)
    return outcomes


if __name__ == "__main__":
    main()
