"""Where FedMax ends up, and how that compares with the paper's error term.

    python -m validate.floor --out validate/results        (about ten seconds on one core)

As the steps go to 0 FedMax is a subgradient method on M(w) = max_i e_i(w): each round follows the client with the
largest gap. So w_inf = argmin M, and the gap has the floor F(w_inf) - F*. In the limit rho_bar is at most
M(w_inf)/sum_i p_i e_i(w_inf), and rho_tilde at least what the clients tied at w_inf reach at w*, which gives

    floor <= 3 mu/(8 L) * error term          (any N and d; the constant cannot be smaller for N >= 3)

and for two clients in one dimension, with s_i = sqrt(c_i) and client 1 worse at w*, exactly

    floor / error = 3 mu/(8 L) (p_1 c_1 + p_2 c_2)(p_2 s_2 - p_1 s_1)/(p_2 (s_1 + s_2)^2 (p_1 s_1 + p_2 s_2)) < 3/32.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbounds.io import write, write_json

Array = NDArray[np.float64]

# Bisection of an interval of length 1 to its last bit.
HALVINGS = 60
# Universal constants of the ratio floor/error at L = mu.
TWO_CLIENTS, ANY_CLIENTS = Fraction(3, 32), Fraction(3, 8)
STEPS = 20_000
# Bisection leaves the two sides of a tie this close, relatively; clients further apart are not tied.
TIE = 1e-9


@dataclass(frozen=True)
class Floor:
    """The limit of FedMax on one-dimensional quadratics: where, its gap, and both error terms there.

    ``error`` is the paper's, ``sharper`` that of the claim sharper-corollary.
    """

    w: float
    gap: float
    error: float
    sharper: float

    @property
    def ratio(self) -> float:
        """True floor over the paper's error term."""
        return self.gap / self.error


def excess(c: Array, m: Array, w: float) -> Array:
    """e_i(w) = c_i (w - m_i)^2 / 2."""
    return c * (w - m) ** 2 / 2


def minimax(c: Array, m: Array) -> float:
    """argmin_w max_i e_i(w): where the slope of the maximum changes sign, by bisection."""
    low, high = float(m.min()), float(m.max())
    for _ in range(HALVINGS):
        w = (low + high) / 2
        slope = w - m[int(np.argmax(excess(c, m, w)))]
        low, high = (low, w) if slope > 0 else (w, high)
    return (low + high) / 2


def floor(c: Array, m: Array, p: Array) -> Floor:
    """The floor and the error term 8L/(3 mu) (Gamma rho_tilde/rho_bar - Gamma), both clients of the tie selected."""
    w, star = minimax(c, m), float((p * c) @ m / (p @ c))
    here, there = excess(c, m, w), excess(c, m, star)
    tied = here > here.max() * (1 - TIE)
    Gamma = float(p @ there)
    skew = float(here.max() / (p @ here))
    product, condition = float(there[tied].max()), c.max() / c.min()
    error = 8 / 3 * condition * (product / skew - Gamma)
    sharper = condition * (product - skew * Gamma) / (1 + skew)
    return Floor(w, float(p @ here) - Gamma, float(error), float(sharper))


def two_client_ratio(s_1: Fraction, s_2: Fraction, p_1: Fraction) -> Fraction:
    """The exact ratio for curvatures s_1^2, s_2^2 and weights (p_1, 1 - p_1), p_1 s_1 < p_2 s_2."""
    p_2, low, high = 1 - p_1, min(s_1, s_2) ** 2, max(s_1, s_2) ** 2
    worse = (p_2 * s_2 - p_1 * s_1) / (p_2 * (s_1 + s_2) ** 2 * (p_1 * s_1 + p_2 * s_2))
    return ANY_CLIENTS * low / high * (p_1 * s_1**2 + p_2 * s_2**2) * worse


def fedmax_gaps(c: Array, m: Array, p: Array, steps: int = STEPS) -> Array:
    """Gaps (steps + 1,) of FedMax from w_0 = 0 with tau = 1 and the corollary's step sizes."""
    mu, gamma = c.min(), 4 * c.max() / c.min()
    star = (p * c) @ m / (p @ c)
    w, path = 0.0, []
    for t in range(steps + 1):
        path.append(float(p @ c) * (w - star) ** 2 / 2)
        i = int(np.argmax(excess(c, m, w)))
        w -= c[i] * (w - m[i]) / (mu * (t + gamma))
    return np.array(path)


def study() -> dict[str, object]:
    """The numbers of the figure: ratios over (p_1, kappa) for two clients, the path to 3/8 for three, and a run."""
    p_1 = np.linspace(0.002, 0.498, 249)
    pair = np.array([0.0, 1.0])
    curves = {
        str(kappa): [floor(np.array([1.0, kappa]), pair, np.array([q, 1 - q])).ratio for q in p_1]
        for kappa in (1, 2, 4, 10)
    }
    three = []
    for k in range(1, 13):
        x, e = 2.0**-k, 8.0**-k
        result = floor(np.ones(3), np.array([0.0, 1.0, 0.5 + x]), np.array([e, e, 1 - 2 * e]))
        three.append([x, result.ratio, result.gap / result.sharper])
    c, m, p = np.ones(2), pair, np.array([0.25, 0.75])
    limit = floor(c, m, p)
    times = np.unique(np.geomspace(1, STEPS, 400).astype(int))
    return {
        "p_1": p_1.tolist(),
        "two_clients": curves,
        "three_clients": three,
        "run": {"times": times.tolist(), "gaps": fedmax_gaps(c, m, p)[times].tolist()},
        "floor": limit.gap,
        "error": limit.error,
        "suprema": {"two clients": str(TWO_CLIENTS), "any number": str(ANY_CLIENTS)},
    }


def draw(data: dict[str, object], path: Path) -> None:
    """Three panels: the run and its floor, the ratio for two clients, the ratio for three."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    run_axes, two_axes, three_axes = figure.subplots(1, 3)
    run = data["run"]
    run_axes.loglog(run["times"], run["gaps"], lw=1, label="FedMax")  # type: ignore[index]
    run_axes.axhline(data["floor"], ls="--", color="k", lw=1, label="floor")
    run_axes.axhline(data["error"], ls=":", color="k", lw=1, label="error term")
    run_axes.set(xlabel="local steps T", ylabel="gap", title="two equal curvatures, p = (1/4, 3/4)")
    for (kappa, ratios), style in zip(data["two_clients"].items(), ("-", "--", "-.", ":"), strict=True):  # type: ignore[attr-defined]
        two_axes.plot(data["p_1"], ratios, style, label=f"c_2/c_1 = {kappa}")
    two_axes.axhline(float(TWO_CLIENTS), color="k", lw=1)
    two_axes.set(xlabel="p_1", ylabel="floor / error term", title="two clients: below 3/32")
    x, y, z = zip(*data["three_clients"], strict=True)  # type: ignore[misc]
    three_axes.semilogx(x, y, "o-", ms=3, label="paper's error term")
    three_axes.semilogx(x, z, "s--", ms=3, label="sharper error term")
    three_axes.axhline(float(ANY_CLIENTS), color="k", lw=1)
    three_axes.set(xlabel="distance of w* from w_inf", title="three clients: up to 3/8, and 1")
    for axes in (run_axes, two_axes, three_axes):
        axes.legend(fontsize=8)
    write(path, FigureCanvasAgg(figure).print_png)


def main(arguments: list[str] | None = None) -> None:
    """Compute, write floor.json and floor.png."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("validate/results"))
    out = parser.parse_args(arguments).out
    data = study()
    write_json(out / "floor.json", data)
    draw(data, out / "floor.png")
    print(json.dumps({k: data[k] for k in ("floor", "error", "suprema")}, indent=1))


if __name__ == "__main__":
    main()
