"""What commands say around their numbers."""

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main

CHECK = "check --problem quadratic --clients 3 --dimension 2 --rounds 3 --tau 2 --replicates 4 --quiet"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (f"{CHECK} --claim theorem-1 --claim sharper-step", ("bound / measured", "fedbounds compare")),
        (
            "tight lemma-2 --tau 2",
            ("kappa = 10, tau = 2", "reading repaired", "smaller is stronger", "may be left out"),
        ),
        ("refute theorem-1 --reading literal --verify", ("verified",)),
    ],
)
def test_the_answer_says_how_to_read_it(words, expected):
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 0, result.output
    assert all(item in " ".join(result.stdout.split()) for item in expected)
