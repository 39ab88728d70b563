"""The paper's figure on the temperature: FedSoftMax(T) at 1/T = 5, 10, 20 and 30, non-IID data.

    python -m validate.vision.temperatures

Reads the stored records; writes validate/results/vision/temperatures.json and docs/img/vision/temperatures.png. The
paper's "temperature" from 5 to 30 is 1/T, and it prints no numbers for it.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from fedbounds.vision import estimates, measures, paper, weights
from fedbounds.vision.runs import Run
from fedbounds.vision.settings import LOCAL
from validate.vision import _verdict
from validate.vision._common import Data, Stored, Study, described, picture, speed
from validate.vision._verdict import Case
from validate.vision.experiments import BASELINE, MNIST, SOFT, TEMPERATURES

FRAMEWORK = "NIID"
HOTTEST = TEMPERATURES[-1]
# The paper gives no size: a difference of one round between the ends of the range would count.
SIZE = 1.0
# What each temperature is compared with: FedAvg, and the low end of the range of 1/T.
OTHERS = {"minus_fedavg": BASELINE, "minus_lowest": SOFT}


def _group(stored: Stored, local: bool = False) -> dict[str, list[Run]]:
    """Weighting -> runs, of FedAvg and every temperature; ``local``: of local losses, under the plain names."""
    case = stored.cases(MNIST).get(FRAMEWORK, {})
    found: dict[str, list[Run]] = {}
    for name, group in case.items():
        plain = name.removesuffix(LOCAL) if local else name
        if weights.temperature(plain) is not None and (plain != name) == (local and name != BASELINE):
            found[plain] = [replace(run, weighting=plain) for run in group]
    return found


def measure(stored: Stored) -> Data:
    """R_90 against 1/T, differences from FedAvg and from the lowest 1/T, trends, and the claim."""
    case, local = _group(stored), _group(stored, local=True)
    points, trend = _points(case)
    judged = [_claim(FRAMEWORK, case, trend)] if HOTTEST in case and SOFT in case else []
    found = {"framework": FRAMEWORK, **described(case), "points": points, "trend": trend and asdict(trend)}
    if set(local) - {BASELINE}:
        points, trend = _points(local)
        found["local"] = {**described(local), "points": points, "trend": trend and asdict(trend)}
        if HOTTEST in local and SOFT in local:
            judged.append(_claim(f"{FRAMEWORK}, {LOCAL}", local, trend, extra=True))
    return {**found, "claims": [_verdict.claim("temperature", ("trend", "direction"), judged)]}


def _points(case: dict[str, list[Run]]) -> tuple[list[Data], estimates.Trend | None]:
    """A row a temperature, from FedAvg on, and the trend over the paper's range."""
    sweep = weights.temperature_sweep([run for group in case.values() for run in group])
    names = {1 / (weights.temperature(name) or 1): name for name in case}
    points = []
    for inverse, found in zip(sweep.inverse, sweep.speeds, strict=True):
        group = case[names[inverse]]
        points.append(
            {
                "inverse_temperature": inverse,
                "weighting": names[inverse],
                "R_90": speed(found),
                "final_accuracy": measures.final_accuracy(group).to_json(),
                **{
                    key: measures.compare(group, case[other]).to_json()
                    for key, other in OTHERS.items()
                    if other in case
                },
            }
        )
    return points, sweep.trend


def _claim(where: str, case: dict[str, list[Run]], trend: estimates.Trend | None, extra: bool = False) -> Case:
    """The trend over the range decides; the difference between its ends says how much, and what is excluded."""
    found = measures.compare(case[HOTTEST], case[SOFT])
    ends = _verdict.directional(found.difference, found.test, -1, SIZE)
    words = _verdict.said(found, ("faster", "slower"), "rounds", 1)
    low, high = paper.INVERSE_TEMPERATURES
    sentence = f"1/T = {high:g} against {low:g}: {words}"
    if trend is None:
        return Case(where, _verdict.UNDECIDED, sentence, extra)
    rank = f"mean rank correlation of R_90 with 1/T {trend.correlation:.2f} over {trend.repetitions} repetitions"
    return Case(where, _decided(trend, ends), f"{rank}, p = {trend.p_value:.2g}; {sentence}", extra)


def _decided(trend: estimates.Trend, ends: str) -> str:
    if trend.repetitions < _verdict.MIN_PAIRS:
        return _verdict.UNDECIDED
    against = ends in (_verdict.NOT_SUPPORTED, _verdict.CONTRADICTED)
    if trend.p_value <= _verdict.LEVEL and (trend.correlation > 0 or not against):
        return _verdict.HOLDS if trend.correlation < 0 else _verdict.CONTRADICTED
    return _verdict.NOT_SUPPORTED if against else _verdict.UNDECIDED


def draw(stored: Stored, out: Path) -> None:
    """temperatures.png: accuracy along rounds for each T, and R_90 against 1/T."""
    from fedbounds.vision.pictures import temperature_figure

    case = _group(stored)
    shown = [run for group in case.values() for run in group]
    if len(set(case) - {BASELINE}) > 1:  # a sweep has at least two temperatures
        picture(lambda: temperature_figure(shown), out / "temperatures.png")


def lines(data: Data) -> list[str]:
    """A line a temperature."""
    return [f"1/T = {point['inverse_temperature']:.3g}: R_90 {point['R_90']['values']}" for point in data["points"]]


FOLDERS = ("mnist-niid", "mnist-niid-local", "mnist-niid-temperatures", "mnist-niid-temperatures-local")
STUDY = Study("temperatures", FOLDERS, measure, draw, lines)


def main(arguments: list[str] | None = None) -> Data:
    """Measure, draw, print; ``--small --out DIR`` trains tiny runs first and writes in DIR alone."""
    return STUDY.command(__doc__, arguments)


if __name__ == "__main__":
    main()
