"""Every script of the gallery runs as it stands, and its picture can be read: labelled axes, lines apart in grey."""

import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from fedbounds.report.figure_styles import Plot

SCRIPTS = sorted((Path(__file__).parent.parent / "docs" / "gallery").glob("plot_*.py"))


def pictures(script):
    """The figures that a script leaves, those of matplotlib's state and those of results."""
    plt.close("all")
    names = runpy.run_path(str(script))
    own = [value.build() for value in names.values() if isinstance(value, Plot)]
    return [*map(plt.figure, plt.get_fignums()), *own]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_picture_can_be_read(script):
    result = pictures(script)
    assert len(result) == 1
    for axes in result[0].axes:
        if not axes.axison:
            continue
        assert axes.get_xlabel() and axes.get_ylabel()
        assert {axes.get_xscale(), axes.get_yscale()} == {"log"} or "slope" not in script.read_text()
        labelled = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
        styles = [(line.get_linestyle(), line.get_marker(), str(line._unscaled_dash_pattern)) for line in labelled]
        assert len(set(styles)) >= len(styles) - ("slope" in script.read_text())
    plt.close("all")


def test_there_are_pictures():
    assert len(SCRIPTS) == 6
