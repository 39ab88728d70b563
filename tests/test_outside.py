"""A user's weighting, quantity, assumption, family and algorithm, a file each, in every kind of evidence.

They are installed as another distribution's, or given as files to one call.
"""

import importlib
from fractions import Fraction

import pytest

import fedbounds
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.judge import without_facets
from fedbounds.plugins import claim_named, modules_from
from fedbounds.referee.search.candidates import arms
from fedbounds.referee.search.family import families
from fedbounds.referee.search.populations import BUDGETS, Budget
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
    "algorithms": """
from dataclasses import dataclass
from typing import ClassVar
from fedbounds.model.algorithm import Algorithm

@dataclass(frozen=True)
class Halved(Algorithm):
    key: ClassVar[str] = "halved"

    def aggregate(self, x, state, now):
        return {"w": state["w"] + self.move(x, state, now) / 2}

ALGORITHM = Halved
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
# Claims about them: the gap does not stay below 1, whatever is assumed.
ABOUT = """
import sympy as sp
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.protocol_assumptions import weighting
from fedbounds.theory.symbols import gap

opposite = Assumption(
    "opposite", "both minima lie opposite",
    on_run=lambda run: (bool(abs(run.problem.w_star).sum() > 0), "w*"),
    exactly=lambda instance, values: (
        sum(row[1][0] for row in instance.functions) == 0 and instance.functions[0][1][0] != 0, "minima",
    ),
)

def claim(key, *assumed, **more):
    return Claim(key, "the gap", "a test", "horizon", gap, {"bound": sp.S.One}, assumptions=assumed, **more)

CLAIMS = (
    claim("tilts", weighting("tilted")), claim("opposes", opposite), claim("softens", weighting("softened")),
    claim("halves", algorithm="halved"),
)
"""
# A weighting that exact arithmetic has no value of.
SOFTENED = """
import numpy as np
from fedbounds.model.weighting import Weighting, WeightingPlugin

class Softened(Weighting):
    name = "softened"

    def __call__(self, p, excess, round, stream):
        tilted = p * np.exp(np.minimum(excess, 1))
        return tilted / tilted.sum(-1, keepdims=True)

WEIGHTING = WeightingPlugin("softened", lambda argument: Softened(), "softened", "p_i exp(e_i)")
"""
PLAIN, ONE, HALF = READINGS["plain"], Fraction(1), Fraction(1, 2)
STATUS = {"below-highest": Status.HOLDS, "above-highest": Status.REFUTED}


@pytest.fixture
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


def test_a_simulated_study_has_them(outside):
    result = fedbounds.check(weightings=["tilted"], claims=list(STATUS), rounds=3, replicates=1, batch="full")
    verdicts = [verdict for _, verdict in result.verdicts if verdict.evidence is Evidence.EMPIRICAL]
    assert {verdict.claim: verdict.status for verdict in verdicts} == STATUS


@pytest.mark.parametrize("key", STATUS)
def test_fractions_have_them(outside, key):
    instance = Instance(
        ((ONE,), (2 * ONE,)), ((ONE,), (-ONE,)), (HALF, HALF), (2 * ONE,), (HALF,), weighting="tilted"
    )
    assert examine(instance, claim_named(key), PLAIN).status is STATUS[key]


def test_the_search_has_them(outside):
    claim, known = claim_named("above-highest"), families()
    assert any("tilted" in arm.label for arm in arms(claim, PLAIN, BUDGETS["small"]))
    verdict = refute(claim, PLAIN, BUDGETS["small"], by_family={"mirrored": known["mirrored"]})
    assert verdict.status is Status.REFUTED and verdict.data["instance"]["curvatures"] == ["1", "1"]


def test_what_cannot_express_the_quantity_says_so(outside):
    said = " ".join(without_facets(claim_named("below-highest")))
    assert all(f"{kind} cannot express highest" in said for kind in ("certificates", "proofs", "Rocq"))


@pytest.fixture
def files(tmp_path):
    """The files, and one of claims about them, as they are given to a command."""
    sources = {**FILES, "about": ABOUT, "softened": SOFTENED}
    for name, source in sources.items():
        (tmp_path / f"{name.replace('.', '_')}.py").write_text(source)
    return [tmp_path / f"{name.replace('.', '_')}.py" for name in sources]


def test_a_study_has_what_files_bring(files):
    wanted = {"weightings": ["tilted", "softened"], "claims": [*STATUS, "tilts", "softens", "opposes"]}
    result = fedbounds.check(plugins=files, rounds=3, replicates=1, batch="full", w0_scale=9.0, **wanted)
    answers = {(w, v.claim): v.status for w, v in result.verdicts if v.evidence is Evidence.EMPIRICAL}
    assert {answers[w, key] for w in wanted["weightings"] for key in ("above-highest", "opposes")} == {Status.REFUTED}
    assert answers["tilted", "tilts"] is answers["softened", "softens"] is Status.REFUTED
    assert answers["softened", "tilts"] is answers["tilted", "softens"] is Status.NOT_APPLICABLE


@pytest.mark.parametrize(("key", "jobs"), [("tilts", 2), ("opposes", 1)])
def test_the_search_and_fractions_have_what_files_bring(files, key, jobs, monkeypatch):
    extra = modules_from(files)
    few = {name: families(extra)[name] for name in ("diagonal", "mirrored")}
    monkeypatch.setitem(BUDGETS, "small", Budget("small", 4, 4, 1, (2,), (1,), 5, 100, 8, seconds=0.2))
    monkeypatch.setattr(importlib.import_module("fedbounds.referee.search.refute"), "families", lambda extra: few)
    (verdict,) = fedbounds.refute(key, plugins=files, jobs=jobs)
    assert verdict.status is Status.REFUTED
    assert (verdict.data["instance"]["weighting"] == "tilted") == (key == "tilts")
    chosen = arms(claim_named("opposes", extra), PLAIN, BUDGETS["small"], few, extra)
    assert any("mirrored" in arm.label for arm in chosen)


def test_what_fractions_cannot_express_is_named(files):
    (verdict,) = fedbounds.refute("softens", plugins=files)
    assert "cannot express weighting softened" in verdict.detail and "no callable exp" in verdict.detail
    with pytest.raises(InputError, match="must be about FedAvg to be examined here, but received halved"):
        fedbounds.refute("halves", plugins=files)


def test_a_trial_searches_the_weighting_of_its_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        FILES["weightings"] + ABOUT.partition("CLAIMS")[0] + 'CLAIMS = (claim("mine", weighting("tilted")),)'
    )
    (trial,) = fedbounds.referee(file)
    assert trial.outcome == "FALSE"


def test_an_algorithm_of_a_file_is_compared(files):
    compared = fedbounds.compare(
        problem="quadratic", clients=2, dimension=2, rounds=4, replicates=2, plugins=files, algorithms=["halved"]
    )
    assert [row.algorithm for row in compared.algorithms] == ["halved"]
