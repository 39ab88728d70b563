"""Write the table of docs/ledger.md anew: `python -m validate.ledger_page demo-out` (some ten seconds).

``demo-out`` is a folder saved by ``fedbounds check --out demo-out``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import reject
from fedbounds.io import write_text

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ledger.md"


def marked(name: str) -> re.Pattern[str]:
    """What stands between the two marks of a name, with the marks."""
    return re.compile(rf"(<!-- {name}: begin .*?-->\n)(.*?)(<!-- {name}: end -->)", re.DOTALL)


def filled(page: str, table: str, name: str = "table") -> str:
    """The page with what stands between its two marks replaced by the table."""
    found, count = marked(name).subn(lambda match: f"{match[1]}\n{table.strip()}\n\n{match[3]}", page)
    if count != 1:
        raise reject("the page needs one pair of table marks", f"{count} pairs", "restore its file")
    return found


def write(saved: str) -> None:
    """Fill docs/ledger.md with the ledger of a saved study."""
    done = CliRunner().invoke(main, ["ledger", saved, "--format", "markdown"], catch_exceptions=False)
    if done.exit_code != 0:
        raise reject("the ledger could not be made", done.output.strip(), "run fedbounds check --out first")
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), done.stdout))


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else "demo-out")
