"""`fedbounds compare` as it is typed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.report import comparison_text
from fedbounds.study.comparison_rows import AlgorithmRow, ErrorCurve, Reached, TheoremComparison
from fedbounds.study.settings import Settings

WORDS = "compare --problem quadratic --clients 3 --dimension 2 --rounds 4 --tau 2 --replicates 8"
FEW = ("--algorithm", "fedavg", "--algorithm", "scaffold", "--claim", "li-2020", "--quiet")


def call(*words):
    return CliRunner().invoke(main, [*WORDS.split(), *words])


def test_it_prints_the_answer_and_both_tables(tmp_path):
    result = call(*FEW, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.iterdir()} >= {"compare.json", "compare.png", "compare.svg"}
    assert "li-2020" in result.stdout and "scaffold" in result.stdout
    assert result.stderr == ""


def test_without_a_terminal_it_says_how_long_it_takes_and_names_each_algorithm():
    lines = call(*FEW[:-1]).stderr.splitlines()
    assert lines[0].startswith("About a minute") and {"fedavg: done", "scaffold: done"} <= set(lines[1:])


def test_json_is_what_is_saved(tmp_path):
    result = call(*FEW, "--format", "json", "--out", str(tmp_path))
    told = json.loads(result.stdout)
    assert told == json.loads((tmp_path / "compare.json").read_text())
    assert [row["algorithm"] for row in told["algorithms"]] == ["fedavg", "scaffold"]
    assert told["theorems"][0]["claim"] == "li-2020" and len(told["theorems"][0]["mean"]) == 5


def test_a_weighting_is_compared_and_the_answer_ends_with_a_recommendation():
    result = call(
        "--algorithm", "fedavg", "--weighting", "fedmax", "--claim", "li-2020", "--quiet", "--target", "0.9"
    )
    assert result.exit_code == 0, result.output
    assert "fedmax" in result.stdout and "Recommended: " in result.stdout
    wrong = call("--algorithm", "fedmaxx")
    assert wrong.exit_code == 2 and "Weightings that can be compared" in wrong.stderr


def test_the_rule_of_fewest_rounds_is_recommended_and_its_rivals_are_named():
    rows = {"late": (55, 30, 58), "sure": (50, 38, 61), "last": (81, 66, 92)}
    algorithms = tuple(
        AlgorithmRow(name, step=0.5, tau=5, reached=Reached(*numbers, rounds=200)) for name, numbers in rows.items()
    )
    result = TheoremComparison(Settings(), None, 0.01, (), algorithms)
    assert comparison_text._recommendation(result) == (
        "Recommended: sure, at a constant step of 0.5/L and tau = 5: 50 (38 to 61) rounds here; the runs do not "
        "separate it from late at tau = 5. No theorem here bounds its rounds."
    )
    fewer = AlgorithmRow("sure", step=1.0, tau=20, reached=Reached(20, 19, 21, rounds=200))
    assert comparison_text._recommendation(replace(result, other_taus=(fewer,))) == (
        "Recommended: sure, at a constant step of 1/L and tau = 20: 20 (19 to 21) rounds here; at tau = 5 it takes "
        "50 (38 to 61). No theorem here bounds its rounds."
    )


@pytest.mark.parametrize(("rival", "tied"), [((55, 30, 58), True), ((155, 130, 158), False)])
def test_a_biased_rule_is_recommended_with_its_floor_named(rival, tied):
    rows = {"fedmax": (50, 38, 61), "fedavg": rival}
    made = (AlgorithmRow(name, step=0.5, tau=5, reached=Reached(*n, rounds=200)) for name, n in rows.items())
    text = comparison_text._recommendation(TheoremComparison(Settings(), None, 0.01, (), tuple(made)))
    assert "Its weights are biased: it may keep a floor that these rounds do not show" in text
    assert ("the weights of fedavg, as fast here, are unbiased" in text) is tied
    fair = TheoremComparison(
        Settings(), None, 0.01, (), (AlgorithmRow("fedavg", step=0.5, reached=Reached(1, 1, 1, 1)),)
    )
    assert "biased" not in comparison_text._recommendation(fair)


def test_equal_rounds_are_decided_by_a_theorem_then_by_the_final_error():
    def row(name, last):
        line = np.array([1.0, last])
        curve = ErrorCurve(line, line, line)
        return AlgorithmRow(name, step=0.5, curve=curve, reached=Reached(1, 1, 1, rounds=1))

    result = TheoremComparison(Settings(), None, 0.01, (), (row("coarse", 0.009), row("fine", 0.001)))
    assert comparison_text._recommendation(result).startswith("Recommended: fine, ")
    known = replace(row("coarse", 0.009), by="li-2020", promised=9)
    result = replace(result, algorithms=(known, row("fine", 0.001)))
    assert comparison_text._recommendation(result).startswith("Recommended: coarse, ")
