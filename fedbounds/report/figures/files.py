"""Figures as files: PNG and SVG, the same bytes for the same study."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from fedbounds.io import write
from fedbounds.report.figures import styles


@dataclass(frozen=True, repr=False)
class Plot:
    """A figure that a notebook shows; ``build()`` is the matplotlib figure itself."""

    build: Callable[[], Figure]

    def save(self, path: str | Path) -> list[Path]:
        """Write the figure beside each other as PNG and SVG, whatever suffix ``path`` has; return both paths."""
        return save(self.build, Path(path).parent, Path(path).stem)

    def __repr__(self) -> str:
        return "Plot: .save(PATH) writes it as PNG and SVG, .build() is the figure"

    def _repr_svg_(self) -> str:
        return svg(self.build)


def save(build: Callable[[], Figure], out: Path, stem: str) -> list[Path]:
    """Write the figure that ``build`` makes as ``stem``.png and ``stem``.svg in ``out``."""
    with matplotlib.rc_context(styles.RC):
        figure = build()
        if figure.get_layout_engine() is not None:
            # One pass of layout serves both formats.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        raster = write(out / f"{stem}.png", FigureCanvasAgg(figure).print_png)
        return [raster, write(out / f"{stem}.svg", partial(_print_svg, figure))]


def _print_svg(figure: Figure, file: Any) -> None:
    # Without a date the same study gives the same bytes.
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})


def svg(build: Callable[[], Figure]) -> str:
    """The figure that ``build`` makes as the text of an SVG document."""
    with matplotlib.rc_context(styles.RC):
        file = io.BytesIO()
        _print_svg(build(), file)
    return file.getvalue().decode()
