"""The ledger: what is shipped is verified or remembered, kinds stay apart, and contradictions sound an alarm."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.evidence.exact.counterexamples import checks
from fedbounds.study import identity
from fedbounds.study.identity import RECORD, keep, remember, remembered
from fedbounds.study.ledger import Line, alarms, experiment_of, ledger_lines, remarked, verified
from fedbounds.study.result import verdicts_from
from fedbounds.theory.coverage import AXES, Coverage, Span, only
from fedbounds.theory.reading import ERROR_RATE
from fedbounds.theory.verdict import Evidence, Status, Verdict

CLAIMS = ("theorem-1", "lemma-2", "speed-floor")
OURS = Verdict("theorem-1", "repaired", Evidence.EMPIRICAL, Status.HOLDS, tightness=3.0)


@pytest.fixture(scope="module")
def lines():
    known = {key: plugins.claim_named(key) for key in CLAIMS}
    return {(line.claim.key, line.reading): line for line in ledger_lines(known, [("fedavg", OURS)])}


def statuses(line, kind):
    return {verdict.status for verdict in line.verdicts(kind)}


def test_the_paper_as_written_and_as_repaired(lines):
    """Known results: Theorem 1 is false as written, and proved and certified once repaired."""
    literal, repaired = lines["theorem-1", "literal"], lines["theorem-1", "repaired"]
    assert statuses(literal, Evidence.EXACT) == {Status.REFUTED} and not literal.proved()
    assert statuses(repaired, Evidence.SYMBOLIC) == statuses(repaired, Evidence.SDP) == {Status.HOLDS}
    assert not repaired.verdicts(Evidence.EXACT) and repaired.proved()
    (result,) = lines["lemma-2", "literal"].verdicts(Evidence.EXACT)
    assert (result.detail, result.data["lhs"], result.worst_t) == ("1/16 > 4/625", "1/16", 1)


def test_a_claim_of_somebody_s_own_inherits_no_evidence_of_a_shipped_name():
    own = replace(plugins.claim_named("lemma-2"), title="mine")
    for line in ledger_lines({"lemma-2": own}):
        assert not line.verdicts(Evidence.EXACT) and not line.verdicts(Evidence.SDP)


def test_shipped_evidence_does_not_contradict_itself(lines):
    assert alarms(lines.values()) == []


def test_every_remark_has_a_row_and_what_no_instance_decides_says_why():
    rows = {item.remark.key: item for item in remarked()}
    undecided = {key for key, item in rows.items() if item.verdicts[0].status is Status.UNDECIDED}
    assert undecided == {"rho-tilde"} and rows.keys() == checks().keys() | undecided
    assert "by convention" in rows["rho-tilde"].verdicts[0].detail
    assert all(v.status is Status.REFUTED for key in rows.keys() - undecided for v in rows[key].verdicts)
    kinds = [verdict.evidence for verdict in rows["induction"].verdicts]
    assert kinds == [Evidence.EXACT] * 3 + [Evidence.KERNEL] * 3
    assert rows["equation-2"].remark.key not in plugins.claims()
    result, again = rows["negative-alpha"].verdicts
    assert again.evidence is Evidence.KERNEL and "checked at release by Rocq" in again.detail
    assert result.detail == "Theorem 1 fails for negative weights: 10201/10000 > 10093/10000"
    assert result.coverage == Coverage.from_json(rows["negative-alpha"].to_json()["verdicts"][0]["coverage"])
    assert "full gradients, C = 1, N = 2, T = 1" in result.coverage.words()


# ---- the alarm ----


def planted(holds, refuted):
    claim = plugins.claim_named("lemma-2")
    return [Line(claim, "literal", (("", holds), ("fedavg", refuted)))]


def proof(coverage, kind=Evidence.SYMBOLIC):
    return Verdict("lemma-2", "literal", kind, Status.HOLDS, coverage=coverage)


@pytest.fixture(scope="module")
def counterexample(lines):
    (result,) = lines["lemma-2", "literal"].verdicts(Evidence.EXACT)
    return result


def test_the_instance_of_a_counterexample_is_known_on_every_axis(lines):
    result = [v for line in lines.values() for v in line.verdicts(Evidence.EXACT) if v.status is Status.REFUTED]
    assert len(result) >= 5
    for verdict in result:
        for one_step in (False, True):
            assert set(experiment_of(verdict, one_step)) == set(AXES)


@pytest.mark.parametrize("kind", [kind for kind in Evidence if kind is not Evidence.EXACT])
def test_a_false_holds_of_any_kind_meets_a_counterexample_in_fractions(kind, counterexample):
    around = {"kappa": Span(1, 2), "gradients": only("full"), "participation": only(1), "N": only(2), "T": Span(1, 9)}
    assert len(alarms(planted(proof(Coverage(around), kind), counterexample))) == 1
    for elsewhere in ({"participation": only(Fraction(1, 2))}, {"gradients": only("stochastic")}, {"T": only(3)}):
        assert not alarms(planted(proof(Coverage(around | elsewhere), kind), counterexample))


def test_chance_is_part_of_where_a_counterexample_lies(counterexample):
    """The same with noise and one client of two present: a proof for full gradients and C = 1 says nothing of it."""
    instance = {**counterexample.data["instance"], "noise": ["1", "0"], "present": 1}
    chance = replace(counterexample, data={**counterexample.data, "instance": instance})
    assert (experiment_of(chance)["gradients"], experiment_of(chance)["participation"]) == (
        "stochastic",
        Fraction(1, 2),
    )
    assert not alarms(planted(proof(Coverage({"participation": only(1)})), chance))
    assert not alarms(planted(proof(Coverage({"gradients": only("full")})), chance))
    assert len(alarms(planted(proof(Coverage({"participation": Span(0, 1)})), chance))) == 1


@pytest.mark.parametrize(
    ("coverage", "contradicted"),
    [
        (Coverage(), True),
        (Coverage({"kappa": Span(1, 10), "tau": only(1, 2), "eta_L": Span(high=1), "gradients": only("full")}), True),
        (Coverage({"eta_L": Span(high=Fraction(1, 5))}), False),
        (Coverage({"tau": only(3)}), False),
        (Coverage({"problem": only("logistic")}), False),
        (None, False),
    ],
)
def test_a_planted_contradiction_sounds_the_alarm_and_nothing_else_does(coverage, contradicted, counterexample):
    result = alarms(planted(proof(coverage), counterexample))
    assert len(result) == contradicted
    if result:
        assert "lemma-2 [literal]: PROVED (own checker) for" in str(result[0]) and "one of them is wrong" in str(
            result[0]
        )


def test_a_certificate_of_one_step_meets_the_step_of_a_counterexample(counterexample):
    """The counterexample's step is the second of its round; a certificate says which sizes lead there."""
    axes = {"tau": only(2), "local_step": only(1), "eta_L": only((Fraction(1, 4), Fraction(1, 100)))}
    axes |= {"weights": only("alpha = (1/2, 1/2), p = (1/2, 1/2)"), "rho_bar": only(1), "L": only(Fraction(1))}
    result = alarms(planted(proof(Coverage(axes), Evidence.SDP), counterexample))
    assert len(result) == 1 and "CERTIFIED for" in str(result[0])
    for other in ({"local_step": only(0)}, {"eta_L": only(Fraction(1, 4))}, {"rho_bar": only(2)}):
        assert not alarms(planted(proof(Coverage(axes | other), Evidence.SDP), counterexample))


def test_a_statistical_refutation_counts_at_the_rate_of_the_whole_study():
    run = Coverage({"kappa": only(5.0), "eta_L": Span(0.1, 0.9)})
    refuted = Verdict("lemma-2", "literal", Evidence.EMPIRICAL, Status.REFUTED, error_rate=ERROR_RATE, coverage=run)
    covers = Coverage({"kappa": Span(1, 10), "eta_L": Span(0, 1)})
    assert len(alarms(planted(proof(covers), refuted))) == 1
    assert not alarms(planted(proof(Coverage({"eta_L": Span(0, 0.5)})), refuted))
    # With a second test at that rate one false refutation in the study is twice as likely.
    assert not alarms([*planted(proof(covers), refuted), *planted(proof(None), replace(refuted, reading="sync"))])
    assert not alarms(planted(proof(covers), replace(refuted, status=Status.UNDECIDED)))


def test_verdicts_of_certificates_are_read_back():
    """What is remembered must be readable, steps one after the other included."""
    axes = {"eta_L": only((Fraction(1, 4), Fraction(1, 100)), Fraction(1, 3)), "tau": only(2), "kappa": Span(1, 10)}
    verdict = proof(Coverage(axes), Evidence.SDP)
    assert verdicts_from(json.loads(json.dumps([verdict.to_json()]))) == [verdict]
    for broken in ({}, {"rational": "1/2", "sequence": [1]}):
        with pytest.raises(InputError):
            verdicts_from([verdict.to_json() | {"coverage": {"eta_L": [broken]}}])


PROVED = Verdict("lemma-1", "literal", Evidence.SYMBOLIC, Status.HOLDS, detail="proved")


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """Two claims, of one of which a record in a folder of its own says that it is proved."""
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    (tmp_path / "proof.py").write_text("DERIVATIONS = ()")
    monkeypatch.setattr(plugins, "installed", lambda: sorted(tmp_path.glob("*.*")))
    remember(found, [PROVED], tmp_path / RECORD)
    monkeypatch.setattr(plugins, "shipped", lambda pattern, own=False: tmp_path.glob(pattern))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    identity._read.cache_clear()
    yield found
    identity._read.cache_clear()


def test_what_is_unchanged_is_remembered_and_after_a_change_nothing_is(claims, tmp_path):
    assert remembered(claims) == [PROVED]
    assert remembered({"lemma-2": claims["lemma-2"]}) == []
    # Another statement of the same key, and the same of another key.
    assert remembered({"lemma-1": replace(claims["lemma-1"], lhs=2 * claims["lemma-1"].lhs)}) is None
    assert remembered({"mine": claims["lemma-1"]}) is None
    record = (tmp_path / RECORD).read_text()
    for name, text in (
        ("proof.py", "DERIVATIONS = (1,)"),
        ("other.json", "{}"),
        (RECORD, record.replace('"theory/claim.py"', '"theory/verdict.py"')),
        (RECORD, "[]"),
    ):
        path = tmp_path / name
        before = path.read_text() if path.exists() else None
        path.write_text(text)
        identity._read.cache_clear()
        assert remembered(claims) is None, name
        path.write_text(before) if before is not None else path.unlink()
        identity._read.cache_clear()
        assert remembered(claims) == [PROVED]


def test_this_machine_remembers_what_was_verified_after_a_change(claims, tmp_path, monkeypatch):
    (tmp_path / RECORD).unlink()
    assert remembered(claims) is None
    keep(claims, [PROVED])
    assert remembered(claims) == [PROVED] and remembered({"lemma-1": claims["lemma-1"]}) is None
    (tmp_path / "proof.py").write_text("DERIVATIONS = (1,)")
    identity._read.cache_clear()
    assert remembered(claims) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    keep(claims, [PROVED])
    assert remembered(claims) is None


def test_files_of_installed_plug_ins_count(tmp_path, monkeypatch):
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fedbounds.weightings]\nmine = mine_weighting\n")
    (tmp_path / "mine_weighting.py").write_text("factor = 1\n")
    digests = {identity._digest(())}
    monkeypatch.syspath_prepend(str(tmp_path))
    digests.add(identity._digest(()))
    (tmp_path / "mine_weighting.py").write_text("factor = 2\n")
    digests.add(identity._digest(()))
    assert len(digests) == 3


def test_the_record_of_this_release_says_what_a_verification_says():
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    shipped = remembered(found)
    assert shipped is None or {str(v.to_json()) for v in shipped} == {str(v.to_json()) for v in verified(found)}
