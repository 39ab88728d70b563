"""Write docs/derivations.md anew: `python -m validate.derivations_page`."""

from __future__ import annotations

import re

from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.render import verdict_line
from fedbounds.io import write_text
from validate.runner import DOCS

PAGE = DOCS / "derivations.md"
INTRODUCTION = """# Derivations

After this page you know which proofs there are, what each rests on, and which lines of the paper they correct.
`fedbounds derive NAME` prints one proof step by step.

Every proof is checked each time it is printed. An identity reduces to zero exactly. An inequality is an exact
combination of named facts, with multipliers that are visibly non-negative. An author may assume no definition:
definitions come with the reading of the claim. Each further symbol is real, non-negative or positive, and stands for
one number. What a file wrote into its objects is not believed: they are made anew from plain data. Yet a file of
derivations is Python that runs: a malicious one could rewrite the checker, which promises nothing there.

"Proved" means that every step checks; the assumptions are those used. A name in bold is that of the claim that is
proved. The others are results of their own, or about the claim that is named.
"""


def page() -> str:
    """Every derivation with its verdict, and the corrections of the paper's lines."""
    results = verified_proofs.proofs()
    lines = [INTRODUCTION, "| derivation | verdict |", "|---|---|"]
    for checked, verdict in results:
        key, claim, line = checked.derivation.key, checked.derivation.claim, verdict_line(checked, verdict)
        words = re.sub("HOLDS: proved under these assumptions:|every step checks; rests on", "proved:", line)
        name = f"**`{key}`**" if claim == key else f"`{key}`, on `{claim}`" if claim else f"`{key}`"
        lines.append(f"| {name} | {words.replace('|', chr(92) + '|')} |")
    lines += ["", "## Lines of the paper that are wrong, and their corrections", ""]
    lines += [
        f"- `{checked.derivation.key}`, step {step.label}: {step.paper.correction}."
        for checked, _ in results
        for step in checked.derivation.steps
        if step.paper
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_text(PAGE, page())
