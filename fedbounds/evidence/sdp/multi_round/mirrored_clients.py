"""The worst case of R rounds as functions that can be run at any step sizes: two clients that are mirror images.

The solver's Gram matrix has a block of means and one of deviations. Points whose coordinates are those of both, in
orthogonal spaces, are the first client's; the second has the deviations with the other sign. Made sure besides are
the gradient at w* = 0, a deviation of length zeta_*, and ||w_0||: so every run is a lower bound on its class, up to
the rounding of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbounds.evidence.sdp.interpolants import Interpolant
from fedbounds.evidence.sdp.multi_round.links import gradient_program
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.solver import Solution
from fedbounds.model.problem import Array

# Directions in which the worst case extends less than this part of its largest are the solver's rounding.
FLAT = 1e-10


@dataclass(frozen=True, eq=False)
class MirroredClients:
    """The first of two clients that are mirror images, and the start; ``means`` coordinates are those of the mean."""

    first: Interpolant
    start: Array
    means: int

    def run(self, run: Run, eta: Array, server: Array) -> Array:
        """What R rounds measure at several step sizes, (B, 1) or (B, R), with those of the server (B,): (B,)."""
        w = np.tile(self.start, (len(eta), 1))
        for sizes in np.broadcast_to(eta, (len(eta), run.rounds)).T:
            x = w
            for _ in range(run.tau):
                x = x - sizes[:, None] * self.first(x)[1]
            w = w + server[:, None] * (np.where(np.arange(x.shape[1]) < self.means, x, 0.0) - w)
        if run.measure == "distance":
            return np.asarray((w**2).sum(axis=1))
        return np.asarray(self.first(w)[0] - self.first(np.zeros((1, w.shape[1])))[0])


def rebuilt(run: Run, solution: Solution, delta_0: float, zeta_sq: float) -> MirroredClients:
    """The clients of a solver's worst case, where the two blocks are those of the run."""
    program, frames = gradient_program(run, float, common=not zeta_sq), []
    for block in program.blocks:
        eigenvalues, vectors = np.linalg.eigh(solution.gram[np.ix_(block, block)])
        large = eigenvalues > FLAT * eigenvalues[-1]
        frame = np.zeros((len(program.vectors), large.sum()))
        frame[block] = vectors[:, large] * np.sqrt(eigenvalues[large])
        frames.append(frame)
    frame, means = np.hstack(frames), frames[0].shape[1]
    x, c = (
        np.stack([program.coordinates(getattr(point, name)) for point in program.points]) @ frame for name in "xg"
    )
    c[-1, :means] = 0.0
    c[-1] *= np.sqrt(zeta_sq) / (np.linalg.norm(c[-1]) or 1.0)
    values = np.array([program.form(point.f).lin @ solution.values for point in program.points])
    first = Interpolant.through(x, c, values, float(run.mu), float(run.L))
    # At w* the piece of w* is the one that is active.
    first.offsets[:] = np.minimum(first.offsets, first.offsets[-1] - first.G[-1, -1] + first.G[-1])
    start = np.where(np.arange(x.shape[1]) < means, x[0], 0.0)
    return MirroredClients(first, start * np.sqrt(delta_0) / np.linalg.norm(start), means)
