"""Each client takes part in a round with probability q, whoever else does; where nobody does the model stays."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json, to_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.quantity_values import Values
from fedbounds.evidence.sdp.multi_round.claim_at_run import applies as of_runs
from fedbounds.evidence.sdp.one_step.parameters import applies
from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.referee import limit_cases
from fedbounds.referee.implication import follows
from fedbounds.referee.search.candidates import arms, examples
from fedbounds.referee.search.family import COINS, families
from fedbounds.referee.search.populations import BUDGETS, simulate
from fedbounds.referee.search.shrink import round_to
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
FIELDS = {"curvatures": [1, 2], "minima": [-1, 1], "p": ["3/4", "1/4"], "w0": ["1/3"], "weighting": "fedavg"}
LINES = r"smooth, strongly-convex, homogeneous, full-gradients, unbiased, \tau = 1, \eta_t \le \frac{1}{L}"


def claim_of(factor: str, lines: str = LINES + ", independent-selection") -> Claim:
    display = rf"\[ \mathbb{{E}}\|w_{{t+1}}-w^\star\|^2 \le (1-{factor})\mathbb{{E}}\|w_t-w^\star\|^2 \]"
    text = f"\\begin{{lemma}}\\label{{mine}}\n% fedbounds: assume {lines}\n{display}\n\\end{{lemma}}"
    return read_text(text)["mine"]


STEP = claim_of(r"q\eta_t\mu")


def by_hand(q: Fraction, c, m, p, w, eta: Fraction, tau: int, rounds: int) -> Fraction:
    """E (w_T - w*)^2 by adding up who takes part, a round after the other."""
    star = sum(x * y * z for x, y, z in zip(p, c, m, strict=True)) / sum(x * y for x, y in zip(p, c, strict=True))
    if not rounds:
        return (w - star) ** 2
    total = Fraction(0)
    for who in itertools.product((True, False), repeat=len(p)):
        chance, ends, weight = Fraction(1), Fraction(0), Fraction(0)
        for present, ci, mi, pi in zip(who, c, m, p, strict=True):
            chance *= q if present else 1 - q
            x = w
            for _ in range(tau):
                x -= eta * ci * (x - mi)
            ends, weight = ends + present * pi * x, weight + present * pi
        total += chance * by_hand(q, c, m, p, ends / weight if weight else w, eta, tau, rounds - 1)
    return total


def test_an_expectation_is_over_every_set_of_clients_and_nobody():
    instance = from_json({**FIELDS, "q": "1/3", "tau": 2, "eta": ["1/4"] * 4})
    record, columns = run(instance), [[x for (x,) in rows] for rows in (instance.curvatures, instance.minima)]
    expected = by_hand(instance.q, *columns, instance.p, instance.w0[0], Fraction(1, 4), 2, 2)
    assert record.paths["alpha"]["distance_sq"][-1] == expected
    assert (record.values["q"], record.values["C"], record.values["pi_min"]) == (instance.q, 0, 1)
    assert from_json(to_json(instance)) == instance


def test_a_search_sees_in_floats_what_fractions_say():
    diagonal = {"diagonal": families()["diagonal"]}
    chosen = {arm.shape for arm in arms(STEP, PLAIN, BUDGETS["small"], diagonal)}
    assert {shape.q for shape in chosen} == {"0", *COINS} and not any(shape.absent for shape in chosen)
    shape = next(item for item in chosen if item.coins and item.N == 2)
    population = examples(shape, diagonal["diagonal"], STEP)
    seen = simulate(population).measurement(PLAIN, Values()).field("step", "next_mean")
    record = run(round_to(population, STEP, 10**12))
    assert float(record.paths["alpha"]["distance_sq"][1]) == pytest.approx(seen[0, 0])


def test_some_of_the_clients_have_no_probability_of_their_own():
    instance = from_json({**FIELDS, "present": 1, "eta": ["1/4"]})
    assert "q" not in run(instance).values and run(from_json({**FIELDS, "eta": ["1/4"]})).values["q"] == 1
    verdict = examine(instance, replace(STEP, assumptions=(a.independent_selection,)), PLAIN)
    assert verdict.status is Status.UNDECIDED and "independent-selection" in verdict.detail
    for wrong in ({"present": 1}, {"weighting": "multinomial:1"}, {"q": 1}):
        with pytest.raises(InputError, match="q is below 1"):
            from_json({**FIELDS, "q": "1/2", "eta": ["1/4"], **wrong})


def test_what_holds_where_somebody_takes_part_proves_nothing_where_nobody_may():
    """Nobody moves the model with probability (1 - q)^N: no contraction by 1 - eta mu, whoever takes part."""
    plain, coins = (
        claim_of(r"\eta_t\mu", f"{LINES}, full-participation{more}") for more in ("", ", independent-selection")
    )
    assert any(automatic.proposals(plain, PLAIN)) and follows(plain, PLAIN, plain, PLAIN)
    assert not any(automatic.proposals(coins, PLAIN)) and not follows(coins, PLAIN, plain, PLAIN)
    assert applies(plain, PLAIN) and not (applies(coins, PLAIN) or of_runs(coins, PLAIN))


def test_a_true_theorem_is_not_refuted_by_exact_instances():
    claim, seen = claim_of(r"(1-(1-q)^N)\eta_t\mu"), limit_cases.Seen()
    assert not any(refuted for _, refuted in limit_cases.sweep(claim, PLAIN, False, seen))
    assert seen.at["absent clients"] > 5


def test_a_false_theorem_is_false_by_the_plain_command(tmp_path):
    path = tmp_path / "draft.tex"
    path.write_text(write(claim_of(r"(1-(1-q)^{2N})\eta_t\mu"), "plain"))
    result = CliRunner().invoke(main, ["referee", str(path)], standalone_mode=False)
    assert "FALSE at t = 0" in result.stdout and "of nobody no model moves" in result.stdout


def test_a_probability_in_latex_needs_the_assumption_that_names_it():
    with pytest.raises(InputError, match=r"q is the probability that.*assume independent-selection"):
        claim_of(r"q\eta_t\mu", LINES)
