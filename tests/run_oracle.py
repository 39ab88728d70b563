"""The worst case of a run of R rounds by one Gram matrix with every gradient of every client: small runs only."""

import itertools

import cvxpy as cp
import numpy as np

# Where the solver stops: it calls what is nearer than it comes inaccurate.
ACCURATE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-7)


def by_clients(run, zeta_sq=1):
    """The largest of what is measured where Delta_0 = 1."""
    p, alpha = (np.array([float(item) for item in given]) for given in (run.p, run.alpha))
    N, (mu, L) = len(p), (float(run.mu), float(run.L))
    ends = N * (run.measure != "distance")
    basis = iter(np.eye(N + run.T * N + ends))
    w, s = next(basis), [next(basis) for _ in range(N - 1)]
    s.append(-sum(a * item for a, item in zip(p, s)) / p[-1])  # noqa: B905 - the last is left out
    start, points, visited = w, [[(0 * w, item)] for item in s], []
    for t, eta in enumerate(map(float, run.sizes)):
        X = [w] * N if t % run.tau == 0 else X  # noqa: F821 - of the step before
        visited.append(sum(a * x for a, x in zip(alpha, X, strict=True)))
        for i in range(N):
            points[i].append((X[i], next(basis)))
        X = [x - eta * points[i][-1][1] for i, x in enumerate(X)]
        w = sum(a * x for a, x in zip(alpha, X, strict=True))
    end = np.mean(visited, axis=0) if run.measure == "average" else w
    for i in range(ends):
        points[i].append((end, next(basis)))
    gram, sides, gaps = cp.Variable((len(w), len(w)), PSD=True), [], []
    form = lambda u, v: cp.sum(cp.multiply((np.outer(u, v) + np.outer(v, u)) / 2, gram))  # noqa: E731
    for of_client in points:
        values = cp.Variable(len(of_client))
        gaps.append(values[len(of_client) - 1] - values[0])
        for (j, (x, g)), (k, (y, h)) in itertools.permutations(enumerate(of_client), 2):
            dx, dg = x - y, g - h
            bend = form(dg, dg) / L + mu * form(dx, dx) - 2 * mu / L * form(dg, dx)
            sides.append(values[j] - values[k] >= form(h, dx) + bend / (2 * (1 - mu / L)))
    of_ends = sum(a * form(item, item) for a, item in zip(p, s, strict=True))
    sides += [form(start, start) <= 1, of_ends <= zeta_sq]
    largest = sum(a * gap for a, gap in zip(p, gaps, strict=True)) if ends else form(w, w)
    return cp.Problem(cp.Maximize(largest), sides).solve(solver="CLARABEL", **ACCURATE)
