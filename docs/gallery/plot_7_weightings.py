"""
Weightings compared
===================

Which rule comes closest, after how many steps? The mean over replicates with a band of three standard errors, on
the same data and with the same steps. Each biased rule settles on a floor of its own, lower the closer it is to
FedAvg, which alone goes on falling.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from fedbounds import Experiment, simulate
from fedbounds.plugins import weighting_named
from fedbounds.study.objects_from_settings import problem_from, theory_step

problem = problem_from(load_diabetes(), clients=10, partition="quantity:1", regularisation=0.1)

figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
styles = {"fedavg": "-", "fedmax": "--", "fedmax:3": "-.", "fedsoftmax:0.05": ":"}
for name, style in styles.items():
    experiment = Experiment(problem, weighting_named(name), theory_step(problem), 5, 400, replicates=64, batch_size=8)
    run = simulate(experiment, record="distance")
    T, gap = run.times[1:], run.gap[:, 1:]
    mean, error = gap.mean(axis=0), 3 * gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
    (line,) = axes.plot(T, mean, style, label=name)
    axes.fill_between(T, mean - error, mean + error, color=line.get_color(), alpha=0.25, lw=0)
axes.set(xscale="log", yscale="log", xlabel="local steps $T$", ylabel=r"$\mathbb{E}[F(w_T)] - F^\star$")
axes.legend(frameon=False, title="weighting")
