"""Words that no study has: each is answered in one sentence, whatever command and parameter they are given to."""

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from validate.robustness import inputs

# What the whole run of `validate.robustness.inputs` found, and cheap parameters of every kind.
FOUND = (
    "certify star-step --tau 1 --kappa 4 --eta=1e400",
    "certify star-step --tau 1 --kappa 4 --p=-1",
    "certify star-step --tau 1 --kappa 4 --rho-tilde=1e400",
    "certify star-step --tau 1 --kappa 4 --kappa=1e-300",
    "check --clients=\udce9",
    "check --out=",
    "check --report=",
    "check --p=\udce9",
    f"claims --plugin={'9' * 5000}",
    f"claims --format={'é' * 10000}",
)


@pytest.mark.parametrize("words", FOUND, ids=lambda words: ascii(words)[:60])
def test_what_was_found_is_answered_in_a_sentence(words):
    name, *rest = words.split()
    assert inputs.answer(name, rest)[0] == "refused"


@pytest.mark.parametrize("name", ["bounds"])
def test_every_parameter_of_a_command_that_needs_no_run(name, tmp_path):
    row = inputs.tried(name, main.get_command(None, name), inputs.files(tmp_path))
    assert row["tried"] == row["refused"] > 40


def test_an_error_of_the_system_is_a_sentence(monkeypatch):
    def refused(*_):
        raise OSError(24, "Too many open files", "result.json")

    monkeypatch.setattr("fedbounds.plugins.claims", refused)
    result = CliRunner().invoke(main, ["explain", "li-2020"])
    assert (result.exit_code, result.stderr) == (
        2,
        "The system refused: [Errno 24] Too many open files: 'result.json'.\n",
    )
