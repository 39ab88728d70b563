"""Extreme experiments thrown at every claim: each makes one term of a bound matter, or one condition fail.

All are quadratics of one or two dimensions with constants known exactly, mu = 1 unless said, and small:
the whole suite simulates in seconds. Most are equality cases or near ones, since a loose run tells nothing.
"""

from fedbounds.evidence.measured_run import Policy
from fedbounds.model.schedule import Geometric
from fedbounds.referee.regime import MANY, REPLICATES, Regime, Suite, Table, experiment, line, plane
from fedbounds.weightings.fedmax import FedMax
from fedbounds.weightings.fedsoftmax import FedSoftMax
from fedbounds.weightings.fixed import Fixed
from fedbounds.weightings.power_of_choice import PowerOfChoice

# Shares of a common client and a rare one.
RARE = (0.999, 0.001)

REGIMES: tuple[Regime, ...] = (
    # N = 1, kappa = 1: the one-step inequality is an equality at t = 0
    Regime("one client", lambda: experiment(line([1], [0]), [3], eta=0.5)),
    # N = 1 started at w*: Delta_1 = eta^2 sigma^2 exactly
    Regime("one client, noisy", lambda: experiment(line([1], [0], noise=1.0), [0], eta=0.5, replicates=MANY)),
    # N = 1, kappa = 1, eta = 1/L: w* is reached at once, the largest step the paper allows
    Regime("one client, one step", lambda: experiment(line([1], [0]), [3], eta=1.0, rounds=2)),
    # N = 1, curvatures 1 and 100, started along the steep one: the gap is L/2 times the distance
    Regime("one steep client", lambda: experiment(plane([[1, 100]], [[0, 0]]), [0, 1], eta=0.01)),
    # N = 1, curvatures 1 and 10, started along the soft one: the start outweighs every gradient
    Regime("one soft client", lambda: experiment(plane([[1, 10]], [[0, 0]]), [1, 0], rounds=40)),
    # four heterogeneous clients, FedMax(2), full gradients
    Regime(
        "noiseless",
        lambda: experiment(
            plane([[1, 2], [2, 4], [1, 8], [4, 4]], [[1, 0], [0, 2], [-1, 1], [2, -2]]), [5, -5], FedMax(2), tau=3
        ),
    ),
    # coinciding minima, unequal noise, started at w*: only the variance is left
    Regime(
        "noisy at w*",
        lambda: experiment(
            line([1, 1, 1], [0, 0, 0], [0.6, 0.3, 0.1], [1.0, 2.0, 3.0]), [0], eta=0.1, tau=2, replicates=MANY
        ),
    ),
    # noise a hundred times the distances
    Regime("heavy noise", lambda: experiment(line([1, 2], [1, -1], noise=100.0), [0], FedMax(1), tau=2)),
    # w_0 a thousand times farther than the minima lie apart
    Regime("far start", lambda: experiment(plane([[1, 10], [2, 10]], [[1, 0], [0, 1]]), [0, 1000], tau=2)),
    # every client the same function: Gamma = 0, no drift
    Regime("homogeneous", lambda: experiment(line([2, 2, 2], [1, 1, 1]), [4], FedSoftMax(1.0), eta=0.25, tau=3)),
    # coinciding minima, tau = 1, noiseless: only the start is left
    Regime("homogeneous, one step at a time", lambda: experiment(line([1, 4], [0, 0]), [2], rounds=40)),
    # Gamma = 0 with drift: curvatures 1 and 50
    Regime(
        "equal minima, unequal curvature",
        lambda: experiment(line([1, 50], [0, 0]), [1], FedMax(1), eta=1 / 50, tau=4),
    ),
    # Gamma = 0 and rho_bar near 1/min p = 1000 under FedMax
    Regime(
        "equal minima, rare steep client",
        lambda: experiment(line([1, 1000], [0, 0], [0.999, 0.001]), [1], FedMax(1), eta=1e-3, tau=1),
    ),
    # kappa = 10^4, started along the soft direction
    Regime(
        "extreme kappa",
        lambda: experiment(plane([[1, 1e4], [1, 1e4]], [[0, 1], [0, -1]]), [1, 0], eta=1e-4, tau=2, rounds=20),
    ),
    # p = (0.999, 0.001) under FedMax: the rare client has the largest loss
    Regime("extreme skew", lambda: experiment(line([1, 1], [0, 3], RARE), [0], FedMax(1), eta=0.1, rounds=30)),
    # the same with tau = 5 and steep steps: rho falls inside a round
    Regime(
        "extreme skew, drifting",
        lambda: experiment(line([1, 4], [0, 3], RARE), [0], FedMax(1), eta=0.25, tau=5, rounds=6),
    ),
    # one skewed step while rho_bar exceeds gamma
    Regime(
        "extreme skew, from afar", lambda: experiment(line([1, 1], [0, 1], RARE), [0], FedMax(1), eta=0.5, rounds=1)
    ),
    # 40 away from two minima that lie 0.1 apart, the steep client with a tenth of the data
    Regime(
        "rare steep client, from afar",
        lambda: experiment(line([2, 1], [0, 0.1], [0.1, 0.9]), [40], FedMax(1), eta=0.01, rounds=3),
    ),
    # rho_bar > rho_tilde: the steep client loses most on the way and least at w*
    Regime(
        "skew above its limit value",
        lambda: experiment(line([100, 1], [0, 0.1]), [40], FedMax(1), eta=0.001, rounds=3),
    ),
    # 300 local steps a round, curvatures 1 and 4: clients nearly reach their own minima
    Regime("large tau", lambda: experiment(line([1, 4], [-1, 1]), [0.6], tau=300, rounds=2, stride=10)),
    # the same with 1000 local steps in a single round
    Regime("very large tau", lambda: experiment(line([1, 4], [-1, 1]), [0.6], tau=1000, rounds=1, stride=50)),
    # steps of 10^-4 near the floor: first-order terms alone are left
    Regime("late t", lambda: experiment(line([1, 1], [1, -1]), [0.8], Fixed((0.9, 0.1)), eta=1e-4, rounds=5)),
    # fixed weights (0.9, 0.1): the gap stays at its floor while the O(1/T) terms fade
    Regime(
        "biased weights, long run",
        lambda: experiment(line([1, 1], [1, -1]), [0.8], Fixed((0.9, 0.1)), rounds=3000, stride=200),
    ),
    # one small step at fixed weights: rho_bar and rho_tilde are met exactly
    Regime(
        "one biased step", lambda: experiment(line([1, 1], [1, -1]), [0.4], Fixed((0.9, 0.1)), eta=1e-6, rounds=1)
    ),
    # a client of share 10^-4 alone loses at t = 0, so rho_bar at synchronisation times is 10^4, then it arrives
    Regime(
        "skew lost inside a round",
        lambda: experiment(line([1, 1], [0, 1], (0.9999, 0.0001)), [0], FedMax(1), eta=0.25, tau=2, rounds=1),
    ),
    # the p-weighted iterate goes one way for 20 steps, the aggregate the other
    Regime(
        "biased weights, small local steps",
        lambda: experiment(line([1, 1], [1, -1]), [0.4], Fixed((0.9, 0.1)), eta=1e-5, tau=20, rounds=2),
    ),
    # all weight on a client that starts at its minimum: rho_bar = 0 and nothing moves
    Regime(
        "stuck at one client", lambda: experiment(line([1, 1], [1, -1]), [1], Fixed((1.0, 0.0)), eta=1e-4, rounds=3)
    ),
    # pi and Pi are met by rho_bar and rho_tilde: each client alone loses at one of the two points
    Regime("extreme ratios", lambda: experiment(line([1, 1e6], [1, 0]), [1], Fixed((0.9, 0.1)), eta=1e-9, rounds=1)),
    # the same with the weights exchanged
    Regime(
        "extreme ratios, mirrored",
        lambda: experiment(line([1, 1e6], [1, 0]), [1], Fixed((0.1, 0.9)), eta=1e-9, rounds=1),
    ),
    # opposite pulls, each round's last step a quarter of the others: Lemma 2 near equality
    Regime(
        "fast decay",
        lambda: experiment(
            line([1, 1], [1e3, -1e3]), [0], eta=Table((*[4e-6] * 99, 1e-6)), tau=100, rounds=1, stride=3
        ),
    ),
    # the last step of a round a 25th of the first: Lemma 2 as written fails
    Regime("faster decay", lambda: experiment(line([1, 1], [1, -1]), [0], eta=Table((0.25, 0.01)), tau=2, rounds=4)),
    # opposite pulls on soft and steep clients with steps of 1/L
    Regime("drift", lambda: experiment(line([1, 10], [10, -10]), [0], Fixed((0.5, 0.5)), eta=0.1, tau=8, rounds=4)),
    # eta = 1.9/L: still stable, outside the paper's condition
    Regime(
        "steps beyond 1/L",
        lambda: experiment(plane([[1, 1], [1, 40]], [[1, 0], [-1, 0]]), [3, 1], eta=1.9 / 40, tau=3),
    ),
    # eta = 30/L for one round of three steps: iterates grow
    Regime("steps far beyond 1/L", lambda: experiment(line([1, 4], [0, 0]), [1], eta=7.5, tau=3, rounds=1)),
    # eta = 2.8/L for one round of four steps: a small steep part of each model outgrows its soft part
    Regime(
        "swinging ever wider",
        lambda: experiment(
            plane([[1, 4], [1, 4]], [[84 / 85, 13 / 340], [-84 / 85, -13 / 340]]), [0, 0], eta=0.7, tau=4, rounds=1
        ),
    ),
    # eta_r = 0.1 * 0.5^r has a finite sum: the run stops on the way
    Regime(
        "summable steps",
        lambda: experiment(line([1, 1], [0, 0]), [5], eta=Geometric(0.1, 0.5, 1), rounds=500, stride=50),
    ),
    # participation C = 1/2 on heterogeneous clients
    Regime(
        "half the clients",
        lambda: experiment(
            line([1, 1, 2, 2], [3, -3, 1, -1]), [0], participation=0.5, replicates=REPLICATES, tau=2, rounds=20
        ),
    ),
    # participation C = 1/2 of two clients of shares 0.9 and 0.1: on average both count the same
    Regime(
        "half the clients, unequal",
        lambda: experiment(
            line([1, 1], [1, -1], (0.9, 0.1)), [0.8], participation=0.5, replicates=REPLICATES, rounds=300, stride=20
        ),
    ),
    # FedAvg at w*, L Gamma a hundred times G^2: nothing moves, so a negative right-hand side shows
    Regime(
        "started at w*, flat directions",
        lambda: experiment(plane([[1, 100], [1, 100]], [[1, 0], [-1, 0]]), [0, 0], eta=0.01),
    ),
    # FedAvg at w* with curvatures 1 and 4 and eight local steps: drift alone moves it
    Regime("started at w*, drifting", lambda: experiment(line([1, 4], [-1, 1]), [0.6], tau=8, rounds=4)),
    # all weight on a client whose minimum is w*: rho_tilde = 0 < rho_bar
    Regime(
        "no skew at w*",
        lambda: experiment(line([1, 1, 1], [-1, 0, 1]), [1], Fixed((0.0, 1.0, 0.0)), eta=1e-3, rounds=1),
    ),
    # kappa = 200 and a client of share 10^-7 far away: eta mu (1 + 3 rho_bar/8) exceeds 1
    Regime(
        "contraction beyond 0",
        lambda: experiment(
            plane([[1, 200], [1, 200]], [[0, 0], [50, 0]], (1 - 1e-7, 1e-7)), [1, 0], FedMax(1), eta=1 / 200, rounds=1
        ),
    ),
    # participation C = 1/2 at w*: the choice of clients alone moves the model
    Regime(
        "half the clients, started at w*",
        lambda: experiment(
            line([1, 4, 1, 4], [-1, 1, -1, 1]), [0.6], participation=0.5, replicates=REPLICATES, tau=2, rounds=10
        ),
    ),
    # eta = 1.99/L on one steep direction: the iterate swings, and Delta falls by a hundredth
    Regime("steps of almost 2/L", lambda: experiment(plane([[1, 40]], [[0, 0]]), [0, 1], eta=1.99 / 40, rounds=10)),
    # Power-of-Choice: two candidates, one selected, weights that are random
    Regime(
        "random selection",
        lambda: experiment(line([1, 2, 1], [2, 0, -2], noise=0.5), [1], PowerOfChoice(2, 1), tau=2, rounds=10),
    ),
    # sigma^2 given a millionth of what the run needs, G^2 enough: Assumption 3 fails
    Regime(
        "understated variance",
        lambda: experiment(line([1, 1], [0, 0], noise=1.0), [0], eta=0.5, replicates=MANY),
        Policy(sigma_sq=1e-6, G_sq=1e3),
    ),
    # the same with G^2 given a millionth and sigma^2 enough: Assumption 4 fails
    Regime(
        "understated gradients, noisy",
        lambda: experiment(line([1, 1], [0, 0], noise=1.0), [0], eta=0.5, tau=2),
        Policy(sigma_sq=1.0, G_sq=1e-6),
    ),
    # one client, eta = 1/L, G^2 given a millionth
    Regime(
        "understated gradients, one step",
        lambda: experiment(line([1], [0]), [3], eta=1.0, rounds=2),
        Policy(sigma_sq=0.0, G_sq=1e-6),
    ),
    # 40 local steps from w* with G^2 given a millionth: drift is all there is
    Regime(
        "understated gradients, drifting",
        lambda: experiment(line([1, 4], [-1, 1]), [0.6], tau=40, rounds=1),
        Policy(sigma_sq=0.0, G_sq=1e-6),
    ),
    # the same with 1000 local steps
    Regime(
        "understated gradients, drifting far",
        lambda: experiment(line([1, 4], [-1, 1]), [0.6], tau=1000, rounds=1, stride=50),
        Policy(sigma_sq=0.0, G_sq=1e-6),
    ),
)

__all__ = ["REGIMES", "Regime", "Suite"]
