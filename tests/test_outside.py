"""A weighting, a quantity and a family of instances from outside the package, a file each, in every evidence."""

from fractions import Fraction

import pytest

import fedbounds
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.judge import without_facets
from fedbounds.plugins import claim_named
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.candidates import arms
from fedbounds.referee.search.family import families
from fedbounds.referee.search.refute import refute
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

FILES = {
    "weightings": """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from fedbounds.model.weighting import Weighting, WeightingPlugin

@dataclass(frozen=True)
class Tilted(Weighting):
    name: ClassVar[str] = "tilted"

    def __call__(self, p, excess, round, stream):
        e = np.maximum(excess, 0)
        mean = (p * e).sum(-1, keepdims=True)
        tilted = p * (1 + e / np.where(mean > 0, mean, 1))
        return tilted / tilted.sum(-1, keepdims=True)

WEIGHTING = WeightingPlugin("tilted", lambda argument: Tilted(), "tilted", "alpha_i ~ p_i (1 + e_i / sum_j p_j e_j)")
""",
    "claims": """
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.symbols import gap

highest = measured("highest", lambda path: path.losses.excess(path.w).max(axis=-1), units=(0, 1))
CLAIMS = (
    Claim("below-highest", "the gap", "a test", "horizon", gap, {"bound": highest}),
    Claim("above-highest", "the highest", "a test", "horizon", highest, {"bound": gap}),
)
""",
    "referee.search.instances": """
import numpy as np
from fedbounds.referee.search.family import InstanceFamily, quadratics, starts

def build(shape, parts, p, weights):
    minima = np.broadcast_to([[1.0], [-1.0]], (len(p), 2, 1))
    return quadratics(np.ones((len(p), 2, 1)), minima, p), starts(parts["w0"])

FAMILY = InstanceFamily(
    "mirrored", "mirrored parabolas", lambda d, N: [(2, 1)], {"horizon": ((1, 1),)}, lambda shape: {"w0": 1}, build
)
""",
}
PLAIN, ONE, HALF = READINGS["plain"], Fraction(1), Fraction(1, 2)
STATUS = {"below-highest": Status.HOLDS, "above-highest": Status.REFUTED}


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch):
    """The files as another distribution installs them."""
    info, lines = tmp_path / "outside-1.0.dist-info", []
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    for kind, source in FILES.items():
        module = f"outside_{kind.replace('.', '_')}"
        (tmp_path / f"{module}.py").write_text(source)
        lines.append(f"[fedbounds.{kind}]\nmine = {module}\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)


def test_a_simulated_study_has_them():
    result = fedbounds.check(weightings=["tilted"], claims=list(STATUS), rounds=3, replicates=1, batch="full")
    verdicts = [verdict for _, verdict in result.verdicts if verdict.evidence is Evidence.EMPIRICAL]
    assert {verdict.claim: verdict.status for verdict in verdicts} == STATUS


@pytest.mark.parametrize("key", STATUS)
def test_fractions_have_them(key):
    instance = Instance(
        ((ONE,), (2 * ONE,)), ((ONE,), (-ONE,)), (HALF, HALF), (2 * ONE,), (HALF,), weighting="tilted"
    )
    assert examine(instance, claim_named(key), PLAIN).status is STATUS[key]


def test_the_search_has_them():
    claim, known = claim_named("above-highest"), families()
    assert any("tilted" in arm.label for arm in arms(claim, PLAIN, BUDGETS["small"]))
    verdict = refute(claim, PLAIN, BUDGETS["small"], by_family={"mirrored": known["mirrored"]})
    assert verdict.status is Status.REFUTED and verdict.data["instance"]["curvatures"] == ["1", "1"]


def test_what_cannot_express_the_quantity_says_so():
    said = " ".join(without_facets(claim_named("below-highest")))
    assert all(f"{kind} cannot express highest" in said for kind in ("certificates", "proofs", "Rocq"))
