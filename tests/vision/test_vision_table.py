"""The table of runs beside the paper's numbers, its JSON, and the pictures, on made-up records."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from made_runs import NEVER, reaching, record, runs_reaching, study

from fedbounds.errors import InputError
from fedbounds.vision import canvas, paper, pictures, table
from fedbounds.vision.runs import from_json

TNIID = "shards:100,unbalanced"


@pytest.fixture(scope="module")
def small():
    """Two frameworks, three weightings, three repetitions."""
    return study(("fedavg", "fedmax", "fedsoftmax:0.2", "fedsoftmax:0.1"), 3, {"stratified": 0.6, TNIID: 1.0})


# The paper's numbers


@pytest.mark.parametrize("key", sorted(paper.R_90))
def test_printed_intervals_are_those_of_whole_numbers(key):
    printed = paper.R_90[key]
    total = printed.runs * printed.mean
    squares = printed.runs * (printed.deviation**2 + printed.mean**2)
    # 1e-9: sixteen printed digits, sums below 1e5.
    for whole in (total, squares):
        assert whole == pytest.approx(round(whole), abs=1e-9)
    # Whole numbers and their squares have sums of one parity.
    assert (round(total) - round(squares)) % 2 == 0


def test_other_counts_or_quantiles_do_not_give_whole_numbers():
    hits = 0
    for printed in paper.R_90.values():
        for quantile in (1.645, 1.95996, 2.0, 2.576):
            deviation = (printed.upper - printed.lower) / (2 * quantile) * printed.runs**0.5
            squares = printed.runs * (deviation**2 + printed.mean**2)
            hits += abs(squares - round(squares)) < 1e-6
    assert hits == 0


def test_frameworks_and_weightings_of_the_paper():
    names = {"stratified": "IID", "stratified:1.5": "IID", "iid": "IID", "shards:60,even": "NIID", TNIID: "TNIID"}
    assert {name: paper.framework("mnist", name) for name in names} == names
    assert paper.framework("fashion-mnist", TNIID) is None and paper.framework("mnist", "shards:6") is None
    assert (paper.weighting("fedsoftmax:0.2"), paper.weighting("fedmax")) == ("FedSoftMax", None)
    assert set(paper.R_90) == set(paper.STABILITY) == {(f, w) for f in paper.FRAMEWORKS for w in paper.WEIGHTINGS}


# The table


def test_rows_stand_beside_the_paper(small):
    rows = table.table(small)
    assert [(row.framework, row.weighting) for row in rows[:2]] == [("IID", "fedavg"), ("IID", "fedmax")]
    assert len(rows) == 8 and {len(row.runs) for row in rows} == {3}
    (found,) = [row for row in rows if (row.framework, row.weighting) == ("TNIID", "fedsoftmax:0.2")]
    assert (found.printed_R_90.line, found.printed_stability.line) == (379, 421)
    assert not [row for row in rows if row.weighting == "fedmax" and row.printed_R_90]


def test_text_says_what_its_intervals_are(small):
    text = table.text(small)
    assert max(len(line) for line in text.splitlines()) <= table.WIDTH
    text = joined(text)
    for words in (
        f"mnist {TNIID} = TNIID",
        "8.3 [7.9, 8.7]",
        "95% intervals over",
        "Student's t",
        "3 of 3",
        "minus fedavg",
        "sign-flip",
        "not corrected for the 18 comparisons",
        "clients 20 (paper: 50)",
    ):
        assert words in text, words
    assert "median" not in text
    with pytest.raises(InputError, match="at least one run"):
        table.text([])


def joined(text):
    """The words of a text, however it was wrapped."""
    return " ".join(text.split())


def test_runs_that_never_reach_the_level_are_said():
    slow = runs_reaching(NEVER, 18, NEVER, NEVER, partition=TNIID)
    fast = runs_reaching(9, 11, 10, 12, partition=TNIID, weighting="fedsoftmax:0.2")
    text = table.text([*slow, *fast])
    assert "median >=21 [18, inf)" in text and "1 of 4" in text and "exact" in text
    assert "3 of 4 runs did not reach the level in 20 rounds" in text
    # Differences: at most 9 - 21, 11 - 18, 10 - 21 and 12 - 21.
    assert "median <=-10 (-inf, -7]" in text and "4/0/0/0" in text
    assert "0.12*" in text
    assert "fedsoftmax:0.2 minus fedavg in R_90: an interval of 4 repetitions" in joined(text)


def test_single_runs_and_other_data_have_no_intervals_and_no_printed_numbers():
    text = table.text([reaching(9, data="digits"), reaching(7, data="digits", weighting="fedmax")])
    assert "one repetition: no interval" in text
    assert "paper's intervals" not in text and "NIID" not in text
    assert "9.0 " in text and "[9" not in text


def test_settings_that_differ_are_numbered_and_named():
    runs = [reaching(5 + k, repetition=k, settings={"lr": lr}) for lr in (0.1, 0.2) for k in (0, 1)]
    text = table.text(runs)
    assert "unbalanced (1) = NIID" in text and "unbalanced (2) = NIID" in text
    assert "(1): lr 0.1." in text and "(2): lr 0.2." in text
    assert "lr 0.1 or 0.2 (paper: 0.0001)" in joined(text)
    assert "(1)" not in table.text(runs[:2])


def constant(value, **other):
    return from_json(record([value] * 6, **other), "made")


def stopped_early(**other):
    """Two repetitions of which one was stopped after 8 rounds and one after 6."""
    said = {"rounds": 20}
    return [
        reaching(5, rounds=8, settings=said, **other),
        reaching(NEVER, rounds=6, repetition=1, settings=said, **other),
    ]


def test_json_has_no_nan_and_keeps_every_value(small):
    found = json.loads(table.to_json([*small, *stopped_early(data="digits"), constant(0.5, data="fashion-mnist")]))
    assert len(found["rows"]) == 8 + 2
    first, last = found["rows"][0], found["rows"][-1]
    assert first["R_90"]["reached"] == 3 and len(first["R_90"]["values"]) == 3
    assert first["paper"]["R_90"]["line"] == 382
    assert last["stability"]["all"]["value"] is None and last["R_90"]["upper"] is None
    assert last["alpha_minus_p"]["largest"]["finding"] == "alpha equals p in every round"
    kinds = {(row["first"], row["quantity"]) for row in found["comparisons"]}
    assert ("fedsoftmax:0.2", "R_90") in kinds and len(found["comparisons"]) == 18
    assert [p["inverse_temperature"] for p in found["temperatures"][0]["points"]] == [0, 5, 10]
    assert "NaN" not in table.to_json(small) and "Infinity" not in table.to_json(small)


# Pictures


def test_every_picture_has_labelled_panels_and_one_legend(small):
    built = pictures.figures(small)
    stems = {"accuracy", "r90", "stability", "temperature", "participation-fedmax", "alpha-fedsoftmax-0.2"}
    assert {f"{stem}-mnist" for stem in stems} <= set(built)
    # FedAvg's weights never leave p, and FedMax's do not tend to it.
    assert "participation-fedavg-mnist" not in built and "alpha-fedmax-mnist" not in built
    for stem in stems:
        figure = built[f"{stem}-mnist"]()
        panels = [axes for axes in figure.axes if axes.axison]
        assert figure.get_suptitle().startswith("mnist") and len(figure.legends) == 1, stem
        first = [axes for axes in panels if axes.get_subplotspec().is_first_col()]
        assert all(axes.get_ylabel() or axes.get_yticklabels()[0].get_text() for axes in first), stem
        assert all(axes.get_xlabel() for axes in panels if axes.get_subplotspec().is_last_row()), stem
        figure.draw_without_rendering()


def test_curves_are_means_with_the_range_as_band(small):
    figure = pictures.accuracy_figure(small)
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "IID: stratified"
    (line,) = [line for line in axes.get_lines() if line.get_label() == "fedavg"]
    values = np.array([run.accuracy for run in small if run.partition == "stratified" and run.weighting == "fedavg"])
    np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(values.max())
    assert "mean and range of 3 repetitions" in figure.get_suptitle()


def test_lines_of_a_picture_differ_without_colour():
    runs = [reaching(5, weighting=f"fedsoftmax:{t}") for t in range(1, 8)]
    for styles in (canvas.styles(runs), canvas.ordered_styles([run.weighting for run in runs])):
        assert len({(str(style["ls"]), style["marker"]) for style in styles.values()}) == 7
        assert len({(style["color"], str(style["ls"])) for style in styles.values()}) == 7


def test_what_is_never_reached_is_an_arrow_not_a_dot():
    def arrows(runs):
        axes = pictures.speed_figure(runs).axes[0]
        return [line for line in axes.get_lines() if line.get_marker() == ">"]

    assert not arrows(runs_reaching(5, 6))
    (arrow,) = arrows(runs_reaching(5, NEVER, NEVER))
    assert max(arrow.get_xdata()) > 20


def test_the_map_marks_the_ten_highest_weights_in_the_lightest_colour(small):
    figure = pictures.figures(small)["participation-fedsoftmax-0.2-mnist"]()
    (image,) = figure.axes[0].get_images()
    luminance = np.asarray(image.get_array()) @ [0.299, 0.587, 0.114]
    light = luminance > 0.7
    assert (light.sum(axis=1) == 10).all()
    assert luminance[light].min() - luminance[~light].max() > 0.4
    (run,) = [r for r in small if (r.partition, r.weighting, r.repetition) == ("stratified", "fedsoftmax:0.2", 0)]
    assert run.alpha[light].min() >= 0 and (run.alpha.argmax(axis=1) == (run.alpha * light).argmax(axis=1)).all()


@pytest.mark.parametrize(
    "runs",
    [
        [constant(0.5)],
        [reaching(NEVER), reaching(NEVER, weighting="fedmax")],
        stopped_early(),
        [from_json(record([0.1, 0.5, 0.9]) | {"test_loss": [None] * 3}, "made")],
        [reaching(5, settings={"lr": lr}) for lr in (1, 2)],
        study(("fedsoftmax:0.5", "fedmax"), 1, {"dirichlet:0.3": 1.0}, data="digits"),
    ],
    ids=["constant", "never", "stopped", "no-loss", "two-settings", "one-repetition"],
)
def test_odd_runs_are_drawn_without_a_warning(runs):
    for build in pictures.figures(runs).values():
        build().draw_without_rendering()


def test_pictures_are_written_twice_and_the_same_again(tmp_path):
    runs = study(("fedavg", "fedsoftmax:0.2"), 2, {TNIID: 1.0})
    paths = pictures.draw(runs, tmp_path)
    assert {path.suffix for path in paths} == {".png", ".svg"} and len(paths) == 2 * len(pictures.figures(runs))
    before = {path: path.read_bytes() for path in paths if path.suffix == ".svg"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")
    assert pictures.draw(runs, tmp_path) == paths
    assert all(path.read_bytes() == text for path, text in before.items())
    with pytest.raises(InputError, match="at least one run"):
        pictures.draw([], tmp_path)


def test_statistics_and_pictures_need_no_torch():
    code = "import sys, fedbounds.vision.pictures, fedbounds.vision.table; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_made_up_answers_are_what_they_say():
    assert [table.table([reaching(r)])[0].speed.values for r in (1, 20, NEVER)] == [(1,), (20,), (None,)]
    assert math.isnan(table.table([constant(0.5)])[0].stability["all"].value)
