"""
Counterexample
==============

A draft says that N clients divide the variance by N. The referee answers with two clients whose weights are not
equal; the picture shows that instance, and the same two sides for every other share of the first client: only at
1/2 they meet.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from fedbounds import Claim, referee
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s

terms = {"start": (1 - s.eta * s.mu) * (s.Delta + s.drift), "noise": s.eta**2 * s.sigma_sq / s.N}
given = (*a.PAPER, a.full_participation, a.unbiased, a.homogeneous, a.small_steps)
draft = Claim("my-step", "One step of FedAvg", "a draft", "step", s.Delta_next, terms, assumptions=given)
data = referee(draft)[0].refutation.data
shares = [float(Fraction(share)) for share in data["instance"]["p"]]
left, right = float(Fraction(data["lhs"])), float(Fraction(data["rhs"]))

p = np.linspace(0.02, 0.98, 200)
figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
axes.plot(p, p**2 + (1 - p) ** 2, "k-", label=r"left side: $\Sigma p_i^2\,\sigma^2$")
axes.axhline(right, color="black", ls="--", label=r"right side: $\sigma^2/N$")
axes.plot(shares[0], left, "ko", ms=8, mfc="white", label=f"found: {data['lhs']} > {data['rhs']}")
axes.set(xlabel="share $p_1$ of the first client", ylabel=r"$\mathbb{E}\|w_1 - w^\star\|^2$", ylim=(0, 1))
axes.legend(frameon=False)
