from dataclasses import replace

import numpy as np
import pytest
from made_study import objects, study

from fedbounds import plugins
from fedbounds.report import figure_styles as styles
from fedbounds.report import study_figures

NAMES = ("fedavg", "fedmax", "power-of-choice:4,2")


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title(loc="left")]


def lines(axes, label):
    """The lines that are named ``label``, alone or with those that coincide with them."""
    return [line for line in axes.get_lines() if label in str(line.get_label()).split(" = ")]


@pytest.mark.parametrize("name", sorted(study_figures.FIGURES))
def test_every_figure_has_a_labelled_panel_a_weighting(name):
    figure = study_figures.FIGURES[name](*objects(*study(NAMES)))
    assert [axes.get_title(loc="left") for axes in panels(figure)] == list(NAMES)
    assert all(axes.get_ylabel() for axes in panels(figure))
    assert panels(figure)[-1].get_xlabel()
    assert figure.get_suptitle()


def test_bounds_are_log_log_and_in_the_papers_notation():
    figure = study_figures.bounds_figure(*objects(*study()))
    for axes in panels(figure):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert r"\mathbb{E}[F(w_T)]-F^\star" in axes.get_ylabel()
        (line,) = lines(axes, styles.lines("horizon")["corollary", "repaired"][0])
        x, y = line.get_data()
        gamma = 4 * 5.0
        np.testing.assert_allclose(y, 100 / (x - gamma + 20), rtol=1e-12)
        assert not lines(axes, styles.lines("horizon")["li-2020", "literal"][0])


def test_a_negative_right_side_is_marked_and_a_violation_crossed():
    result, arrays = study()
    arrays["0/claim/theorem-1@literal/rhs"][3:6] = -1.0
    arrays["1/claim/theorem-1@repaired/rhs"][:] /= 4
    figure = study_figures.ratio_figure(*objects(result, arrays))
    first, second = panels(figure)
    assert any("at 3 of " in text.get_text() for text in first.texts)
    (line,) = lines(first, styles.lines("step")["theorem-1", "literal"][0])
    assert np.isnan(line.get_ydata()[3:6]).all()
    assert not lines(first, study_figures.VIOLATED)
    (crosses,) = lines(second, study_figures.VIOLATED)
    assert len(crosses.get_xdata()) == 19
    assert figure.legends or any(axes.get_legend() for axes in figure.axes)
    figure.draw_without_rendering()


def test_a_claim_of_the_reader_s_own_is_drawn_beside_the_usual_ones():
    result, drawn = objects(*study())
    shipped = plugins.claims()
    mine = replace(shipped["corollary"], key="mine", title="mine")
    for run in drawn:
        run.sides["mine", "literal"] = run.sides["corollary", "literal"]
    known = {"corollary": shipped["corollary"], "mine": mine}
    lines = study_figures.lines_of(known, drawn, "horizon")
    assert ("mine", "literal") in lines and ("corollary", "literal") in lines
    assert not {key for key, _ in lines} - {"mine", "corollary", "sharper-corollary"}
    assert panels_show(study_figures.bounds_figure(result, drawn, lines), "mine, literal")
    assert ("mine", "literal") not in study_figures.lines_of(known, drawn, "step")
    alone = study_figures.lines_of({"star-step": shipped["star-step"]}, drawn[:0], "step")
    assert alone == {}


def panels_show(figure, label):
    return all(lines(axes, label) for axes in panels(figure))


def test_draw_writes_every_picture_twice_and_repeats_itself(tmp_path):
    made = objects(*study(("fedavg",)))
    paths = study_figures.draw(*made, tmp_path)
    assert {path.name for path in paths} == {
        f"{stem}.{kind}" for stem in study_figures.FIGURES for kind in ("png", "svg")
    }
    before = {path: path.read_bytes() for path in paths if path.suffix == ".svg"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")
    study_figures.draw(*made, tmp_path)
    assert all(path.read_bytes() == text for path, text in before.items())
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_weighting_that_keeps_to_p_has_no_panel_of_skew():
    result, arrays = study(("fedavg", "fedmax"))
    arrays["0/alpha"][:] = result["problem"]["p"]
    figure = study_figures.skew_figure(*objects(result, arrays))
    assert [axes.get_title(loc="left") for axes in panels(figure)] == ["fedmax"]
