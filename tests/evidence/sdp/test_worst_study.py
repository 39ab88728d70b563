"""The worst case between an instance and a theorem: the study, its command and its page."""

import dataclasses
import json
import re
from fractions import Fraction as Q
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.cli.commands.bounds_and_worst_cases import AXES, print_table
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.bound import upper_bound as worst
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.plugins import claim_named
from fedbounds.study.worst_case_and_theorems import CURVES, bounds, curve, sandwich, scheduled
from fedbounds.theory.assumption import Assumption
from validate import horizon

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "worst.md").read_text(encoding="utf-8")
RECORD = json.loads((ROOT / "validate" / "results" / "horizon.json").read_text(encoding="utf-8"))


def rounds_of(rounds, tau, mu=MU, eta=ETA, **more):
    return Run(rounds, tau, mu, L, eta, **more)


def rows(pattern):
    return [row.strip("| ").split(" | ") for row in PAGE.splitlines() if re.match(pattern, row)]


def call(*words):
    return CliRunner().invoke(main, ["worst", *words])


def plugin(**changes):
    """A module with `fedavg-contraction` changed, under another name."""
    module = ModuleType("own")
    module.CLAIMS = (dataclasses.replace(claim_named("fedavg-contraction"), key="own", **changes),)
    return module


def test_the_table_of_the_page():
    """docs/worst.md against the record of `validate.horizon`, whose short rows are computed again."""
    table = {(str(item["tau"]), str(item["rounds"])): item for item in RECORD["table"]}
    assert len(rows(r"\| \d")) > 6
    for row in rows(r"\| \d"):
        one = table[tuple(row[:2])]
        numbers = [f"{one[name]:.4g}" for name in ("lower", "worst", "bound")]
        assert row[2:5] == numbers and one["certified"]
        assert row[5] == f"{one['bound'] / one['worst']:.2f} to {one['bound'] / one['lower']:.2f}"
        if one["tau"] * one["rounds"] <= 10:
            again = worst(rounds_of(one["rounds"], one["tau"]))
            assert again.value == pytest.approx(one["worst"], rel=1e-5)
    factors = [item["bound"] / item["worst"] for item in RECORD["table"]]
    assert f"between {min(factors):.2f} and {max(factors):.2f} times the worst case" in PAGE
    assert f"eta = 1/(2L), within {max(factors):.2f} times" in (ROOT / "docs/findings.md").read_text(encoding="utf-8")


def test_the_grid_of_the_page():
    grid, far = RECORD["grid"], RECORD["grid"]["worst"][0]
    median, most = grid["median"]["factor"], grid["largest"]["factor"]
    assert f"at a median of {median:.2f} and at most at {most:.2f}, over {grid['places']}" in " ".join(PAGE.split())
    assert horizon.factors([far["tau"]], [far["rounds"]], [far["kappa"]])[0] == pytest.approx(far, rel=1e-6)


def test_the_measures_of_the_page():
    table = {
        (item[0], "theory" if item[1] else "constant", str(item[2]), str(item[3])): item
        for item in RECORD["measures"]
    }
    assert len(rows(r"\| (gap|average|distance) ")) > 6
    for row in rows(r"\| (gap|average|distance) "):
        measure, key, sigma_sq, rounds, one = table[tuple(row[:4])]
        assert one["certified"]
        numbers = [one["lower"], one["worst"], *([] if one["bound"] is None else [one["bound"]])]
        shown = [float(cell.split(",")[0]) for cell in row[4:7] if cell[0].isdigit()]
        assert shown == [float(f"{v:.4g}") for v in numbers]
        if one["bound"] is not None:
            assert row[6].endswith(f"`{one['theorem']}`")
            assert row[7] == f"{one['bound'] / one['worst']:.3g} to {one['bound'] / one['lower']:.3g}"
        if rounds <= 5:
            again = horizon.of_measure(measure, key, sigma_sq, rounds)
            assert again.worst == pytest.approx(one["worst"], rel=1e-5)
            assert again.stated.keys() == one["stated"].keys()
            assert again.lower == pytest.approx(one["lower"], rel=1e-6)


def test_theorems_stand_beside_it():
    """By L/2 or 2/mu times where they bound the other; with G^2 and Gamma of the instance where none is without."""
    plain = rounds_of(2, 2)
    stated = bounds(plain, Q(1), Q(1))
    gap = bounds(rounds_of(2, 2, measure="gap"), Q(1), Q(1))["fedavg-rounds"]
    assert gap == pytest.approx(stated["fedavg-rounds"] / 2) and "fedavg-contraction" in stated
    for measure, key in (("distance", "corollary"), ("gap", "corollary"), ("average", "averaged-corollary")):
        run = rounds_of(2, 2, measure=measure)
        result = next(curve(run, None, steps=claim_named("corollary")))
        assert key in result.stated and result.instance_constants["G_sq"] > 0.1
        assert not result.refuted and result.certified
        assert result.lower <= result.worst <= result.bound == min(result.stated.values())
        assert not bounds(scheduled(run, claim_named("corollary")), Q(1), Q(1))
    for measure, key in (("gap", "li-2020"), ("average", "averaged-corollary")):
        away = rounds_of(2, 2, measure=measure)
        assert key not in bounds(away, Q(1), Q(1), further={"G_sq": 9.0, "Gamma": 1.0})


def test_a_claim_that_the_instance_exceeds_is_refuted(capsys):
    """Without its drift the contraction is smaller than every run, and hid what is true."""
    start = {"start": claim_named("fedavg-contraction").terms["start"]}
    run, own = rounds_of(1, 2), plugin(terms=start)
    result, alone = sandwich(run, extra=[own]), sandwich(rounds_of(1, 2, eta=Q(19, 10)))
    assert result.theorem in ("fedavg-rounds", "fedavg-contraction") and result.bound >= result.worst
    assert list(result.refuted) == ["own"] and alone.theorem is None and alone.bound is None
    assert not sandwich(run, zeta_sq=Q(0), extra=[own]).refuted
    print_table([result], "rounds", "")
    assert f"REFUTED by the instance: own, {0.95**4:.10g} < {result.lower:.10g}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "kappa, step, zeta, tau, rounds",
    [(10_000, Q(1, 10), 100, 1, 20), (10_000, Q(1, 42_000_000), 10**6, 2, 3)],
)
def test_rounding_refutes_no_theorem(kappa, step, zeta, tau, rounds):
    result = sandwich(rounds_of(rounds, tau, Q(1, kappa), step), zeta_sq=Q(zeta) ** 2)
    assert not result.refuted and result.theorem is not None and result.lower <= result.bound


def test_a_worst_case_says_what_it_is():
    """That of steps which hardly move was 20% loose once."""
    result = sandwich(rounds_of(13, 1, Q(1, 10**4), Q(1, 100)))
    assert result.certified and result.mark == "certified" and result.worst == pytest.approx(result.lower, rel=1e-5)
    assert next(curve(rounds_of(3, 2), "rounds", (Q(3),), zeta_sq=Q(0))).mark == "exact law"
    # An instance that vanishes is no divisor.
    assert sandwich(Run(100, 4, Q(10**6, 10**6 + 1), L, Q(1)), zeta_sq=Q(0)).factor is None


def test_assumptions_are_asked_at_more_than_two_clients():
    def of(test):
        return Assumption("few", "few clients", in_class=lambda setting: (test(setting.N), "too many"))

    run, conditions = rounds_of(1, 2), claim_named("fedavg-contraction").assumptions
    for test, applies in ((lambda N: N == 2, False), (lambda N: N < 10, False), (lambda N: N >= 2, True)):
        assert ("own" in bounds(run, Q(1), Q(1), [plugin(assumptions=(*conditions, of(test)))])) is applies


def test_the_command():
    first, second = json.loads(call("--over", "rounds", "--values", "1,2", "--tau", "2", "--format", "json").stdout)
    assert (first["rounds"], second["rounds"], first["certified"]) == (1, 2, True)
    assert first["lower"] <= first["worst"] <= first["bound"] and first["worst"] == pytest.approx(0.868043, abs=2e-6)
    result, table = worst(rounds_of(1, 3)), call("--rounds", "1", "--tau", "3")
    assert table.exit_code == 0 and "certified" in table.stdout and "fedavg-" in table.stdout
    # No certified value is rounded down.
    assert result.a + result.b <= Q(result.value) <= Q(table.stdout.splitlines()[2].split()[2])
    near = ("--kappa", "1.000000001", "--step", "7/5", "--zeta-star", "60")  # beyond a solver's digits
    stalled = call("--rounds", "2", "--tau", "4", *near)
    assert stalled.exit_code == 0 and "not established" in stalled.stdout and "no bound" in stalled.stderr


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--tau 9 --weights 0.6,0.4", ["over all weights", "need not be attained"]),
        ("--tau 9 --weights 1,0 --p 0.5,0.5", ["not exact"]),
        ("--tau 9 --weights any --p 0.6,0.4", ["one by one"]),
        (
            "--tau 2 --step theory --measure average",
            ["averaged-corollary", "at the mean", "the instance's own"],
        ),
        ("--tau 2 --sigma 1/2 --over rounds --values 1,3", ["E||w_R", "need not be attained", "certified"]),
    ],
)
def test_what_the_command_says(words, shown):
    result = call("--rounds", "2" if "--step" in words else "1", *words.split())
    assert result.exit_code == 0 and all(item in result.output for item in shown)
    assert "need not be attained" in shown or "need not be attained" not in result.output or "0.6" in words


@pytest.mark.parametrize(
    "words",
    [
        "--kappa 1",
        "--values 1,2",
        "--weights 1",
        "--weights 0.5,0.6",
        "--weights 1,0",
        "--p 0.5,0.5",
        "--weights any",
        "--step theory --over step",
        "--step nonsense",
        "--step fedavg-rounds",
        "--measure gap --weights 1,0 --p 1/2,1/2",
        "--sigma 1 --measure gap",
        "--sigma 1 --weights any --p 1/2,1/2",
    ],
)
def test_a_wrong_word_is_one_sentence(words):
    result = call("--rounds", "2", "--tau", "2", *words.split())
    assert result.exit_code == 2 and result.stderr.count("\n") == 1


def test_a_curve_runs_over_what_it_names():
    assert tuple(CURVES) == AXES
    assert next(curve(rounds_of(1, 2), "kappa", (Q(5),))).kappa == 5
    for match, over, values in (("whole number", "tau", (Q(3, 2),)), ("rounds, tau, kappa or step", "L", ())):
        with pytest.raises(InputError, match=match):
            list(curve(rounds_of(1, 1), over, values))
    with pytest.raises(InputError, match="must be one in L, mu, tau and t"):
        scheduled(rounds_of(1, 2), claim_named("fedavg-rounds"))
