"""The worst case of R rounds by a solver, with its Gram matrix, and a proof that is rounded from the solver's.

It takes any server's step, and where the programme is one of few steps it is quicker than the central path; longer
runs may be beyond its accuracy.
"""

from __future__ import annotations

from fractions import Fraction

from fedbounds.evidence.sdp.multi_round.bound import Bound, above
from fedbounds.evidence.sdp.multi_round.client_program import of_clients
from fedbounds.evidence.sdp.multi_round.program import Run, gradient_program
from fedbounds.evidence.sdp.program import Program, exact
from fedbounds.evidence.sdp.rounding import prove
from fedbounds.evidence.sdp.solver import Solution, Solved, worst_case

# How far above the solver's value a proof with room to spare is sought, relatively.
HEADROOM = (Fraction(1, 10**6), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3))
# zeta_*^2 over L^2 Delta_0 at which a bound for zeta_* = 0 is sought: b zeta_*^2 then costs a about 1e-5.
COMMON = Fraction(1, 10**10)


def solved(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    """The worst case in floating point where the server's weights are p."""
    return _solved(gradient_program(run, float, common=not zeta_sq), delta_0, zeta_sq)


def solved_of_clients(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    """The same at any weights, with every client in the programme."""
    return _solved(of_clients(run, float), delta_0, zeta_sq or COMMON * run.L**2 * delta_0)


def _solved(program: Program, delta_0: Fraction, zeta_sq: Fraction) -> Solution:
    most = {"Delta_0": delta_0, "variance": zeta_sq}
    units = [program[name] * float(1 / value) for name, value in most.items() if value]
    return worst_case(program, program["measured"], units, "nonneg", inaccurate=True)


def by_solver(run: Run, delta_0: Fraction, zeta_sq: Fraction, every_client: bool = False) -> Bound | None:
    """The worst case that the programme proves, certified; None where no proof was found."""
    program, rational = (
        of_clients(run, number) if every_client else gradient_program(run, number) for number in (float, exact)
    )
    pull = zeta_sq or COMMON * run.L**2 * delta_0
    solution = _solved(program, delta_0, pull)
    for room in HEADROOM if solution.outcome is Solved.OPTIMAL else ():
        shares = [Fraction(float(y)) + room * Fraction(solution.value) for y in solution.y]
        a, b = shares[0] / delta_0, shares[1] / pull
        result = prove(program, rational, "measured", {"Delta_0": a, "variance": b})
        if result is not None:
            value, attained = above(a * delta_0 + b * zeta_sq), every_client or run.exact
            gap = max(value - solution.value, 0.0)
            return Bound(run, a, b, value, gap, True, result, attained=attained, every_client=every_client)
    return None
