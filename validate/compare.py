"""The field's theorems and algorithms on three real data sets: docs/compare.md, its pictures and its record.

python -m validate.compare        (some three minutes on one core)
"""

from __future__ import annotations

import json
import shlex
import time
from functools import partial
from typing import Any

from fedbounds.io import write_json, write_text
from fedbounds.report import comparison_text, terminal
from fedbounds.report.figures import styles
from fedbounds.report.terminal import progress
from fedbounds.study.compare import compare_at
from fedbounds.study.comparison_rows import TheoremComparison
from fedbounds.study.settings import Settings
from validate import markdown
from validate.markdown import filled
from validate.runner import DOCS, IMAGES, RESULTS, options

PAGE, KEPT = DOCS / "compare.md", RESULTS / "compare.json"
# Name -> (settings, target): skewed labels with minibatches, full gradients, and equal shards in order of the target.
STUDIES: dict[str, tuple[dict[str, Any], float]] = {
    "breast-cancer": (
        {"data": "breast-cancer", "partition": "dirichlet:0.3", "clients": 20, "rounds": 60},
        0.01,
    ),
    "digits": (
        {
            **{"data": "digits", "classes": "binary", "partition": "shards:60", "clients": 10},
            **{"batch": None, "rounds": 80, "replicates": 256},
        },
        0.01,
    ),
    "diabetes": (
        {"problem": "least-squares", "data": "diabetes", "partition": "shards:22", "clients": 10, "rounds": 80},
        0.05,
    ),
}


def settings(name: str) -> Settings:
    """The settings of a study, of logistic regression unless they say otherwise."""
    return Settings.of({"problem": "logistic", **STUDIES[name][0]})


def command(name: str) -> str:
    """The same as it is typed."""
    words = [word for pair in settings(name).words() for word in pair]
    return " ".join(["fedbounds compare", *map(shlex.quote, words), f"--target {STUDIES[name][1]:g}"])


def row(found: TheoremComparison, seconds: float) -> dict[str, Any]:
    """What is kept: the answer, the tables in Markdown, and how long it took."""
    blocks = comparison_text.blocks(found)
    return {
        "answer": comparison_text.answer(found),
        "page": markdown.of_blocks(blocks[1:-1]),
        "seconds": round(seconds),
    }


def section(name: str, kept: dict[str, Any]) -> str:
    """A data set on the page: its command, the answer and the picture."""
    # The theorems and the recommendation.
    answer = "\n".join(f"- {sentence}" for sentence in (kept["answer"][0], kept["answer"][-1]))
    return f"```\n{command(name)}\n```\n\n{answer}\n\n![Bounds and runs on {name}](img/compare-{name}.png)"


def written(page: str) -> str:
    """The page with its sections from the record."""
    for name, kept in json.loads(KEPT.read_text()).items():
        page = filled(page, section(name, kept), name)
    return page


def main() -> None:
    asked = options(None, only={"choices": tuple(STUDIES)})
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in STUDIES if asked.only is None else (asked.only,):
        begun = time.process_time()
        with progress() as bar:
            result = compare_at(settings(name), STUDIES[name][1], progress=bar)
        kept[name] = row(result, time.process_time() - begun)
        styles.save(partial(comparison_text.figure, result), IMAGES, f"compare-{name}")
        (IMAGES / f"compare-{name}.svg").unlink()
        print(terminal.to_text(comparison_text.blocks(result)), f"{kept[name]['seconds']} s", flush=True)
    write_json(KEPT, {name: kept[name] for name in STUDIES if name in kept})
    if PAGE.exists():
        write_text(PAGE, written(PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
