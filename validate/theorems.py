"""The field's theorems side by side: each stated, tried, and how tight it is; writes docs/theorems.md and its pages.

python -m validate.theorems            # some ten minutes: searches, runs, quadrature; then the page
python -m validate.theorems --trials   # the referee on each, half a minute to ten a theorem; run it first
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fedbounds
from fedbounds.io import read_json, write_json, write_text
from fedbounds.plugins import claim_named
from fedbounds.report.table import Table
from fedbounds.report.trial_text import verdict
from fedbounds.theory.claim import statement
from fedbounds.theory.verdict import Status, word
from validate.markdown import filled, of_table
from validate.runner import DOCS, RESULTS, options
from validate.theorem_others import OTHERS
from validate.theorem_runs import ON_FEDAVG, Entry, entry

# How the table calls a proof that Rocq checked.
KERNEL = "proved (kernel)"
PAGE, PAGES, KEPT = DOCS / "theorems.md", DOCS / "theorems", RESULTS / "theorems.json"
TRIALS = RESULTS / "theorem_trials.json"
# One theorem about FedAvg stands among the others on the page.
TRIED = (*(key for _, keys, _ in ON_FEDAVG for key in keys), "pepit-sgd-step")


def trial(key: str) -> dict[str, Any]:
    """`fedbounds referee KEY` in the claim's last reading: its word, its three sentences, how close regimes came."""
    (result,) = fedbounds.referee(key, claim_named(key).readings[-1])
    said = str(result.outcome) if result.proof is None else word(Status.HOLDS, result.proof.evidence)
    near = [line for line in result.lines_of("regimes") if line.startswith("bound over measured")]
    return {"word": said, "said": verdict(result), "near": near}


def kept() -> dict[str, dict[str, Any]]:
    """The referee's answers so far."""
    return read_json(TRIALS) if TRIALS.exists() else {}


def status(one: Entry) -> str:
    """The referee's word where it proves or certifies each of the theorem's claims, beside what else was found."""
    words = [kept().get(key, {}).get("word", "") for key in one.keys]
    sure = [word for word in words if word and not word.startswith("NOT")]
    if not sure:
        return one.verdict
    said = ", ".join(dict.fromkeys(KERNEL if word == "PROVED" else word.lower() for word in sure))
    return said if len(sure) == len(words) else f"{said} in part; {one.verdict}"


RUN = re.compile(r"(.*)`(.+)` on a run \(.*\): (undecided|vacuous|not refuted)(?:, .* ([\d.e+]+))?\.")


def attempts(one: Entry) -> list[str]:
    """What was tried: a claim's runs in one line, the referee's coverage where it is open, and everything else."""
    runs: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    others = []
    for line in one.tried:
        if result := RUN.fullmatch(line):
            runs.setdefault((result[1], result[2]), []).append((result[3], result[4]))
        elif "certificates need" not in line:
            others.append(line)
    lines = []
    for (before, key), outcomes in runs.items():
        ratios = [float(ratio) for _, ratio in outcomes if ratio]
        words = ", ".join(f"{count} {word}" for word, count in Counter(word for word, _ in outcomes).items())
        least = f"; bound over measured at least {min(ratios):.3g}" if ratios else ""
        lines.append(f"{before}`{key}` on {len(outcomes)} runs: {words}{least}.")
    for key in one.keys:
        said = kept().get(key, {}).get("said", ())
        lines += [f"`fedbounds referee {key}`: {line}" for line in said if line.startswith("Compared only")]
    return lines + others


def table(found: list[Entry]) -> str:
    rows = [(e.name, status(e), e.tightness or "-") for e in found]
    plain = of_table(Table.of(("theorem", "status", "tightness (bound over value)"), rows))
    for item in found:
        plain = plain.replace(f"| {escaped(item.name)} |", f"| [{escaped(item.name)}](theorems/{slug(item)}.md) |")
    return plain


def escaped(text: str) -> str:
    """Markdown's marks as they stand, but inside `code`."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_|<>])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def slug(one: Entry) -> str:
    """What its page is called: after its first claim, else after its name."""
    return one.keys[0] if one.keys else re.sub("[^a-z0-9]+", "-", one.name.lower())


def page(one: Entry) -> str:
    """Statement, assumptions, what was tried, and what it comes to."""
    lines = ["<!-- by python -m validate.theorems -->", "", f"# {one.name}", ""]
    lines += [f"Source: {escaped(one.source)}.", ""]
    for claim in map(claim_named, one.keys):
        lines += [f"`{claim.key}`: {claim.title}", "", f"$$ {statement(claim)} $$", ""]
        lines += [f"Assumed: {', '.join(f'`{a.key}`' for a in claim.assumptions)}.", ""]
    lines += [escaped(one.says), ""] if one.says else []
    lines += [f"- {escaped(line)}" for line in attempts(one)]
    said = status(one)
    said = f"**{said[0].upper()}{said[1:]}.** Tightness (bound over value): {escaped(one.tightness or '-')}."
    return "\n".join([*lines, "", f"{said} Text: {escaped(one.compared)}.", ""])


def pages(found: list[Entry]) -> dict[Path, str]:
    """Every file of the study's: the overview with its table, and a page a theorem."""
    overview = filled(PAGE.read_text(encoding="utf-8"), table(found), "table")
    return {PAGE: overview, **{PAGES / f"{slug(item)}.md": page(item) for item in found}}


def recorded() -> list[Entry]:
    stored = read_json(KEPT)
    return [Entry(**{**one, "keys": tuple(one["keys"]), "tried": tuple(one["tried"])}) for one in stored]


def main() -> None:
    chosen = options(__doc__, trials=False, only=TRIED)
    if chosen.trials:
        for key in chosen.only:
            write_json(TRIALS, {**kept(), key: trial(key)})
        return
    every = [*(entry(*item) for item in ON_FEDAVG), *(other() for other in OTHERS)]
    write_json(KEPT, [asdict(item) for item in every])
    for path, text in pages(recorded()).items():
        write_text(path, text)


if __name__ == "__main__":
    main()
