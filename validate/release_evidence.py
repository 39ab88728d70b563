"""Verify all that is shipped, and write what a release remembers of it: `python -m validate.release_evidence`."""

from pathlib import Path

import fedbounds_derivations
from fedbounds import plugins
from fedbounds.study.identity import RECORD, remember
from fedbounds.study.ledger import verified
from validate.runner import options


def main() -> None:
    options(__doc__)
    known = plugins.claims()
    verdicts = verified(known)
    path = remember(known, verdicts, Path(fedbounds_derivations.__file__).parent / RECORD)
    print(f"{len(verdicts)} verdicts in {path}")


if __name__ == "__main__":
    main()
