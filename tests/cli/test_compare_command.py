"""`fedbounds compare` as it is typed."""

import json

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.report import comparison_report
from fedbounds.study.comparison_rows import AlgorithmRow, Reached, TheoremComparison
from fedbounds.study.settings import Settings

WORDS = "compare --problem quadratic --clients 3 --dimension 2 --rounds 4 --tau 2 --replicates 8"
FEW = ("--algorithm", "fedavg", "--algorithm", "scaffold", "--claim", "li-2020", "--quiet")


def call(*words):
    return CliRunner().invoke(main, [*WORDS.split(), *words])


def test_it_prints_the_answer_and_both_tables_and_names_each_algorithm():
    """Without a terminal it also says how long it takes."""
    result = call(*FEW[:-1])
    assert result.exit_code == 0, result.output
    assert "li-2020" in result.stdout and "scaffold" in result.stdout
    lines = result.stderr.splitlines()
    assert lines[0].startswith("About a minute") and {"fedavg: done", "scaffold: done"} <= set(lines[1:])


def test_json_is_what_is_saved(tmp_path):
    result = call(*FEW, "--format", "json", "--out", str(tmp_path))
    told = json.loads(result.stdout)
    assert told == json.loads((tmp_path / "compare.json").read_text()) and result.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} >= {"compare.png", "compare.svg"}
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


@pytest.mark.parametrize(("rival", "tied"), [((55, 30, 58), True), ((155, 130, 158), False)])
def test_a_biased_rule_is_recommended_with_its_floor_named(rival, tied):
    rows = {"fedmax": (50, 38, 61), "fedavg": rival}
    made = (AlgorithmRow(name, step=0.5, reached=Reached(*n, rounds=200)) for name, n in rows.items())
    text = comparison_report._recommendation(TheoremComparison(Settings(), None, 0.01, (), tuple(made)))
    assert "Its weights are biased: it may keep a floor that these rounds do not show" in text
    assert ("the weights of fedavg, as fast here, are unbiased" in text) is tied
    fair = TheoremComparison(
        Settings(), None, 0.01, (), (AlgorithmRow("fedavg", step=0.5, reached=Reached(1, 1, 1, 1)),)
    )
    assert "biased" not in comparison_report._recommendation(fair)
