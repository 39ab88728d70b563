"""The page's figures on heavy tails: the band is nominal on its reference law and not far beyond it."""

import numpy as np

from validate.heavy_tails import LAWS, rates


def test_the_reference_law_is_nominal_and_an_infinite_variance_is_not():
    rng = np.random.default_rng(0)
    nominal, _ = rates(LAWS["chi-square"], 16, rng, 400)
    heavy, undecided = rates(LAWS["Pareto, index 1.2"], 16, rng, 400)
    assert nominal <= 0.01 and 0.05 < heavy < 0.2 and undecided > 0.05
