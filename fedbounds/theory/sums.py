"""Symbols of one's own that claims here share: sums over the steps of a run, a product over those of a round."""

import numpy as np

from fedbounds.theory import quantity
from fedbounds.theory.quantity import Numbers, Path, Quantity, known, largest, measured


def _steps(path: Path) -> Numbers:
    return np.append([0], np.cumsum(path.eta))


def _gaps(path: Path) -> Numbers:
    return np.append([0], np.cumsum(path.losses.gap(path.w[:-1])))


def _gone(path: Path) -> Numbers:
    kept = 1 - path.eta * path.losses.mu
    return np.array([(1 - kept[begun:t].prod()) ** 2 for t, begun in enumerate(path.begun[:-1])])


def _parting(path: Path) -> Numbers:
    most = path.alpha.max(axis=-1)
    return 1 - np.maximum(2 * most - 1, 0 * most) ** 2


eta_sum = known(
    "eta_sum", _steps, latex=r"\sum_{t<T}\eta_t", meaning="sum of the first T steps", units=(2, -1), nonnegative=True
)
gap_sum = measured(
    "gap_sum",
    _gaps,
    latex=r"\sum_{t<T}\left(\mathbb{E}[F(w_t)]-F^\star\right)",
    meaning="sum of the suboptimality of w_0 ... w_{T-1}",
    units=(0, 1),
    nonnegative=True,
)
gone_sq = measured(
    "gone_sq",
    _gone,
    latex=r"\left(1-\prod_{t_0\leq s<t}(1-\eta_s\mu)\right)^2",
    meaning="squared share of its way to rest that a slowest local model has gone since the round's start",
    units=(0, 0),
    nonnegative=True,
)
parting = largest(
    "parting",
    _parting,
    latex=r"\left(1-\max(2\max_i\alpha_t^i-1,0)^2\right)",
    meaning="largest variance of weighted points in a ball, over its squared radius",
    units=(0, 0),
    nonnegative=True,
)


def ready() -> dict[str, Quantity]:
    """Module and name -> a symbol that is ready to be imported, of `own` and of this module."""
    modules = {"quantity": vars(quantity), "sums": globals()}
    found = [(name, one) for name, values in modules.items() for one in values.values() if isinstance(one, Quantity)]
    return {f"{name}.{one.name}": one for name, one in found}
