"""The field's theorems and algorithms on three real data sets: docs/compare.md, its pictures and its record.

python -m validate.compare        (some three minutes on one core)
"""

from __future__ import annotations

import shlex
import time
from functools import partial
from typing import Any

from fedbounds.io import write_json
from fedbounds.report import comparison_report, terminal
from fedbounds.report import figure_styles as styles
from fedbounds.report.terminal import progress
from fedbounds.study.compare import compare_at
from fedbounds.study.comparison_rows import TheoremComparison
from fedbounds.study.settings import DEFAULTS, FULL, Settings
from validate import markdown
from validate.runner import DOCS, IMAGES, RESULTS, Study

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
    chosen = {"problem": "logistic", **STUDIES[name][0]}
    told = {key: chosen[key] for key in DEFAULTS if key in chosen and chosen[key] != DEFAULTS[key]}
    words = [f"--{key} {shlex.quote(str(value or FULL))}" for key, value in told.items()]
    return " ".join(["fedbounds compare", *words, f"--target {STUDIES[name][1]:g}"])


def row(found: TheoremComparison, seconds: float) -> dict[str, Any]:
    """What is kept: the answer, the tables in Markdown, and how long it took."""
    blocks = comparison_report.blocks(found)
    return {
        "answer": comparison_report.answer(found),
        "page": markdown.of_blocks(blocks[1:-1]),
        "seconds": round(seconds),
    }


def section(name: str, record: dict[str, Any]) -> str:
    """A data set on the page: its command, the answer (the theorems and the recommendation) and the picture."""
    answer = "\n".join(f"- {record[name]['answer'][k]}" for k in (0, -1))
    return f"```\n{command(name)}\n```\n\n{answer}\n\n![Bounds and runs on {name}](img/compare-{name}.png)"


def compute(only: str = "") -> dict[str, Any]:
    """A row a data set, with its picture; what was recorded of others stays."""
    kept = STUDY.stored()
    for name in [only] if only else STUDIES:
        begun = time.process_time()
        with progress() as bar:
            result = compare_at(settings(name), STUDIES[name][1], progress=bar)
        kept[name] = row(result, time.process_time() - begun)
        styles.save(partial(comparison_report.figure, result), IMAGES, f"compare-{name}")[1].unlink()
        print(terminal.to_text(comparison_report.blocks(result)), f"{kept[name]['seconds']} s", flush=True)
        write_json(RESULTS / "compare.json", kept)
    return {name: kept[name] for name in STUDIES}


BLOCKS = {name: partial(section, name) for name in STUDIES}
STUDY = Study(__doc__, "compare", compute, lambda record: "", page=DOCS / "compare.md", blocks=BLOCKS)

if __name__ == "__main__":
    STUDY.main()
