"""The paper's figure on alpha_i - p_i along rounds (IID), and the same with non-IID and very non-IID data.

    python -m validate.vision.alpha

Reads the stored records; writes validate/results/vision/alpha.json and docs/img/vision/alpha.png. The paper prints no
numbers for it, only that alpha_i tends to p_i at the rate 1/t, and to other fixed limits with very non-IID data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedbounds.vision import estimates, weights
from fedbounds.vision.runs import Run
from fedbounds.vision.weights import Decline, decline
from validate.vision import _verdict
from validate.vision._common import Data, Stored, Study, described, picture
from validate.vision._verdict import Case
from validate.vision.experiments import MNIST, SOFT

FARTHEST = "TNIID"


def measure(stored: Stored) -> Data:
    """Slopes of the largest and of the mean distance, what remains of it, and the two claims."""
    cases = {f: case[SOFT] for f, case in stored.whole(MNIST).items() if SOFT in case}
    declines = {f: decline(group) for f, group in cases.items()}
    data = {
        f: {
            **described({SOFT: group}),
            "largest": declines[f].to_json(),
            "mean": decline(group, "mean").to_json(),
            "largest_distance_at_the_end": _last(group).to_json(),
        }
        for f, group in cases.items()
    }
    to_p = [found for f in cases for found in _to_p(f, declines[f])]
    other = [_fixed(declines[FARTHEST])] if FARTHEST in declines else []
    claims = [_verdict.claim("to-p", ("slope",), to_p), _verdict.claim("other-limit", ("slope",), other)]
    return {"weighting": SOFT, "data": data, "claims": claims}


def _last(group: Sequence[Run]) -> estimates.Estimate:
    """max_i |alpha_i - p_i| in the last round."""
    return estimates.mean([float(weights.distance(run)[0][-1]) for run in group], within=estimates.SHARE)


def _to_p(framework: str, found: Decline) -> list[Case]:
    """Two statements: the distance falls, and it does so like 1/t. The very non-IID case has a claim of its own."""
    slope = f"slope {estimates.text(found.tail, 2)}"
    remaining = f"{slope}; {100 * found.remaining.value:.0f}% of the largest distance remains on average"
    extra = framework == FARTHEST
    return [
        Case(f"{framework}, falls", _verdict.falls(found.tail), remaining, extra),
        Case(f"{framework}, at the rate 1/t", _verdict.rate(found.tail), slope, extra),
    ]


def _fixed(found: Decline) -> Case:
    words = (
        f"slope {estimates.text(found.tail, 2)}, rank correlation of the clients' distances between the third and "
    )
    words += f"the last quarter of the rounds {estimates.text(found.persistence, 2)}"
    return Case(FARTHEST, _verdict.fixed(found.tail, found.persistence), words)


def draw(stored: Stored, out: Path) -> None:
    """alpha.png: alpha_i - p_i of each client, and the distances in log-log with a 1/t guide."""
    from fedbounds.vision.pictures_weights import alpha_figure

    shown = [run for case in stored.whole(MNIST).values() for run in case.get(SOFT, [])]
    if shown:
        picture(lambda: alpha_figure(shown, SOFT), out / "alpha.png")


def lines(data: Data) -> list[str]:
    """A line a framework."""
    return [f"{f}: {found['largest']['finding']}" for f, found in data["data"].items()]


STUDY = Study("alpha", ("mnist-iid", "mnist-niid", "mnist-tniid"), measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
