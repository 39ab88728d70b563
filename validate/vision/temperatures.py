"""The paper's figure on the temperature: FedSoftMax(T) at 1/T = 5, 10, 20 and 30, non-IID data.

    python -m validate.vision.temperatures

Reads the stored records; writes validate/results/vision/temperatures.json and docs/img/vision/temperatures.png. The
paper's "temperature" from 5 to 30 is 1/T, and it prints no numbers for it.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fedbounds.vision import estimates, measures, paper, weights
from fedbounds.vision.runs import Run
from validate.vision import _verdict
from validate.vision._common import Data, Stored, Study, comparison, described, picture
from validate.vision._verdict import Case
from validate.vision.experiments import BASELINE, MNIST, SOFT, TEMPERATURES

FRAMEWORK = "NIID"
HOTTEST = TEMPERATURES[-1]
# The paper gives no size: a difference of one round between the ends of the range would count.
SIZE = 1.0


def _group(stored: Stored) -> dict[str, list[Run]]:
    """Weighting -> runs, for every weighting with a temperature."""
    case = stored.cases(MNIST).get(FRAMEWORK, {})
    return {name: group for name, group in case.items() if weights.temperature(name) is not None}


def measure(stored: Stored) -> Data:
    """R_90 against 1/T, differences from FedAvg and from the lowest 1/T, the trend, and the claim."""
    case = _group(stored)
    sweep = weights.temperature_sweep([run for group in case.values() for run in group])
    names = {1 / (weights.temperature(name) or 1): name for name in case}
    points = []
    for inverse, speed in zip(sweep.inverse, sweep.speeds, strict=True):
        name = names[inverse]
        others = {key: case[base] for key, base in (("minus_fedavg", BASELINE), ("minus_lowest", SOFT))}
        found = {key: comparison(measures.compare(case[name], base)) for key, base in others.items()}
        points.append(
            {
                "inverse_temperature": inverse,
                "weighting": name,
                "R_90": {"values": list(speed.values), "reached": speed.reached, **speed.estimate.to_json()},
                "final_accuracy": measures.final_accuracy(case[name]).to_json(),
                **found,
            }
        )
    claims = (
        [_verdict.claim("temperature", ("trend", "direction"), [_claim(case, sweep.trend)])]
        if HOTTEST in case
        else []
    )
    trend = sweep.trend and asdict(sweep.trend)
    return {"framework": FRAMEWORK, **described(case), "points": points, "trend": trend, "claims": claims}


def _claim(case: dict[str, list[Run]], trend: estimates.Trend | None) -> Case:
    """The trend over the range decides; the difference between its ends says how much, and what is excluded."""
    found = measures.compare(case[HOTTEST], case[SOFT])
    ends = _verdict.directional(found.difference, found.test, -1, SIZE)
    words = _verdict.said(found, ("faster", "slower"), "rounds", 1)
    low, high = paper.INVERSE_TEMPERATURES
    sentence = f"1/T = {high:g} against {low:g}: {words}"
    if trend is None:
        return Case(FRAMEWORK, _verdict.UNDECIDED, sentence)
    rank = f"mean rank correlation of R_90 with 1/T {trend.correlation:.2f} over {trend.repetitions} repetitions"
    return Case(FRAMEWORK, _decided(trend, ends), f"{rank}, p = {trend.p_value:.2g}; {sentence}")


def _decided(trend: estimates.Trend, ends: str) -> str:
    if trend.p_value <= _verdict.LEVEL:
        return _verdict.HOLDS if trend.correlation < 0 else _verdict.CONTRADICTED
    return _verdict.NOT_SUPPORTED if ends in (_verdict.NOT_SUPPORTED, _verdict.CONTRADICTED) else _verdict.UNDECIDED


def draw(stored: Stored, out: Path) -> None:
    """temperatures.png: accuracy along rounds for each T, and R_90 against 1/T."""
    from fedbounds.vision.pictures import temperature_figure

    shown = [run for group in _group(stored).values() for run in group]
    if shown:
        picture(lambda: temperature_figure(shown), out / "temperatures.png")


def lines(data: Data) -> list[str]:
    """A line a temperature."""
    return [f"1/T = {point['inverse_temperature']:.3g}: R_90 {point['R_90']['values']}" for point in data["points"]]


STUDY = Study("temperatures", ("mnist-niid", "mnist-niid-temperatures"), measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
