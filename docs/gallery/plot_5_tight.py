"""
Tight constant
==============

Lemma 2 bounds the drift of the local models by 16 eta^2 tau^2 G^2. A semidefinite programme finds the smallest
number with which it still holds for every problem of the class (two clients, full gradients, the corollary's steps,
tau = 2), and a certificate in fractions proves it.
"""

import matplotlib.pyplot as plt

from fedbounds.study.proofs_and_certificates import tight

found = tight("lemma-2", "drift", over="kappa", tau=2)

figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
kappa = [item.value for item in found]
axes.plot(kappa, [item.constant.stated for item in found], "k:", lw=2, label="as stated")
axes.plot(kappa, [float(item.constant.certified) for item in found], "k-o", mfc="white", label="smallest, certified")
axes.set(xscale="log", yscale="log", xlabel=r"$\kappa = L/\mu$", ylabel=r"constant of $\eta_t^2\tau^2 G^2$")
axes.legend(frameon=False)
