import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.latex.reader import read
from fedbounds.plugins import claim_named, claims, load_file
from fedbounds.referee import dimensions_and_limits, limit_cases, stages, trial
from fedbounds.referee.implication import follows
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.stage_context import Case, StageResult, Watch
from fedbounds.referee.theorems import theorem_of
from fedbounds.referee.trial import Outcome, Stage, try_claim
from fedbounds.report import trial_text as show
from fedbounds.report.trial_text import page
from fedbounds.study.result import verdicts_from
from fedbounds.theory import assumptions as a
from fedbounds.theory import quantity, symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, Span, only
from fedbounds.theory.point_values import units_of
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

FOLDER = Path(__file__).parent / "theorems"
TRUE, FALSE = load_file(FOLDER / "true.py"), load_file(FOLDER / "false.py")
# One regime is enough where a test is not about regimes.
FEW = Suite(REGIMES[:4])


@pytest.fixture(autouse=True)
def little_shrinking(monkeypatch):
    monkeypatch.setitem(BUDGETS, "small", replace(BUDGETS["small"], shrink=2000))


@pytest.mark.parametrize("claim", FALSE.CLAIMS, ids=lambda c: c.key)
def test_a_false_theorem_is_false_by_hand_and_refuted_in_fractions(claim):
    reading = READINGS[claim.readings[0]]
    assert examine(from_json(FALSE.INSTANCES[claim.key]), claim, reading).status is Status.REFUTED
    result = try_claim(claim, suite=FEW)
    assert result.outcome is Outcome.FALSE and result.refutation.evidence is Evidence.EXACT
    again = examine(from_json(result.refutation.data["instance"]), claim, reading)
    assert (again.status, again.data["lhs"]) == (Status.REFUTED, result.refutation.data["lhs"])
    assert result.stages[-1].name == "sanity"


@pytest.mark.parametrize("claim", TRUE.CLAIMS, ids=lambda c: c.key)
def test_a_true_theorem_is_not_refuted_at_the_limits_and_its_dimensions_agree(claim, monkeypatch):
    monkeypatch.setattr(limit_cases, "MOST", 40)
    monkeypatch.setattr(limit_cases, "STEPS", ((1, 1), (2, 1)))
    monkeypatch.setitem(limit_cases.LENGTHS, "horizon", ((1, 1), (2, 3)))
    case = Case(claim, READINGS["plain"], "small", 0, FEW)
    result = stages.sanity(case)
    assert [verdict.status for verdict in result.verdicts] == [Status.UNDECIDED] and result.lines[
        0
    ] == "dimensions agree"
    assert "no violation at" in result.lines[1]


def test_gradient_descent_follows_from_a_proved_claim_and_is_certified_where_it_says():
    some = [step for step in stages.STAGES if step.name in ("known", "certificates")]
    result = try_claim(TRUE.GRADIENT_DESCENT, suite=FEW, stages=some)
    assert result.outcome is Outcome.PROVED and "fedavg-step" in result.proof.detail
    # tau = 1 is assumed, so that only uniform and uneven weights at three kappas are left of the grid.
    assert len(result.certified) == 6
    for verdict in result.certified:
        setting = Setting.from_json(verdict.data["setting"])
        assert setting.tau == 1 and setting.alpha == setting.p
        assert verdict.coverage.axes["kappa"] == frozenset({setting.L / setting.mu})
    assert written(result) == written(replace(result, stages=tuple(map(read_again, result.stages))))


def read_again(stage):
    kept = json.loads(json.dumps(stage.to_json()))
    return replace(stage, verdicts=tuple(verdicts_from(kept["verdicts"])))


def written(found):
    return json.dumps(found.to_json(), sort_keys=True)


def test_a_claim_restated_follows_from_the_one_it_restates_and_not_with_more_or_fewer():
    known = claim_named("fedavg-step")
    how = READINGS[known.readings[-1]]
    mine = replace(known, key="mine", readings=("plain",), repair=None, assumptions=known.assumptions_in(how))
    assert follows(mine, READINGS["plain"], known, how)
    larger = replace(mine, terms={**mine.terms, "more": symbols.G_sq / symbols.L**2})
    assert follows(larger, READINGS["plain"], known, how)
    name = next(iter(mine.terms))
    smaller = replace(mine, terms={**mine.terms, name: mine.terms[name] * sp.Rational(9, 10)})
    assert not follows(smaller, READINGS["plain"], known, how)
    assert not follows(replace(mine, assumptions=mine.assumptions[:-1]), READINGS["plain"], known, how)


def test_no_false_theorem_follows_from_a_shipped_one():
    for claim in FALSE.CLAIMS:
        reading = READINGS[claim.readings[0]]
        for other in claims().values():
            assert not any(follows(claim, reading, other, READINGS[name]) for name in other.readings)


def test_every_limit_is_named_with_how_many_instances_lie_there():
    _, result, limits, unseen, noise = stages.sanity(Case(TRUE.LI, READINGS["plain"], "small", 0, FEW)).lines
    assert result == "no violation at 75 exact instances"
    for name in ("tau = 1", "Gamma = 0", "sigma = 0", "N = 1", "kappa = 1", "alpha = p"):
        assert f"{name} " in limits
    assert unseen == "  not seen (outside its assumptions, or 0 on both sides): alpha not p, absent clients"
    assert noise == f"  {limit_cases.NOISY}"


def test_dimensions():
    assert units_of(symbols.eta**2 * symbols.G_sq) == units_of(symbols.Delta) == (2, 0)
    assert units_of(symbols.L / symbols.mu + symbols.tau * symbols.T) == (0, 0) and units_of(
        sp.Max(symbols.L, symbols.mu)
    ) == (-2, 1)
    with pytest.raises(InputError, match="different units"):
        units_of(symbols.L + symbols.N)
    selection = (
        (symbols.N - symbols.m)
        / (symbols.N - 1)
        / symbols.m
        * sp.sqrt((1 - symbols.C) / symbols.C)
        * sp.sqrt(1 - symbols.eta * symbols.mu)
    )
    assert units_of(symbols.eta**2 * selection * symbols.G_sq) == (2, 0)
    (said,) = dimensions_and_limits.misprints(FALSE.NORM, READINGS["plain"])
    assert said == "the term 'drift' has the dimension of metre^3 joule^-1, not metre^2"
    wrong_steps = replace(TRUE.GRADIENT_DESCENT, eta=1 / (symbols.L * symbols.mu))
    assert any(
        said.startswith("the step size") for said in dimensions_and_limits.misprints(wrong_steps, READINGS["plain"])
    )


def test_every_symbol_has_the_dimension_that_an_experiment_in_other_units_shows():
    fields = {"curvatures": [1, 4], "minima": [-1, 1], "p": ["1/2", "1/2"], "w0": [3]}
    fields |= {"eta": ["1/8", "1/16"] * 2, "tau": 2, "weighting": "fedavg", "noise": [1, 2]}
    instance = from_json(fields)
    w, f = sp.Integer(3), sp.Integer(5)
    seen = {}
    for item in (instance, limit_cases.rescaled(instance, Fraction(3), Fraction(5), None)):
        record = run(item).measurement(TRUE.GRADIENT_DESCENT, READINGS["plain"])
        values = {
            **record.constants,
            **{n: c[1] for s in ("step", "horizon", "point") for n, c in record.varying(s).items()},
        }
        for name, value in values.items():
            seen.setdefault(name, []).append(sp.Rational(value))
    assert set(seen.pop("growth")) == {0}  # a pure number, 0 here
    for name, (before, after) in seen.items():
        assert before != 0, name
        metres, joules = symbols.QUANTITIES[name].units
        assert after == before * w**metres * f**joules, name
    # What no exact run measures: a variance at w*, a curvature, and what is a pure number.
    known = {"sigma_opt_sq": (-2, 2), "sigma_dif_sq": (-2, 2), "L_sample": (-2, 1)}
    # And what claims on rounds of FedAvg define themselves.
    known |= {"push": (2, -1)} | dict.fromkeys(("growth", "gamma", "turn", "reach", "kept", "skew"), (0, 0))
    assert {name: symbols.QUANTITIES[name].units for name in symbols.RECORDED.keys() - seen.keys()} == known


def setting_of(tau, kappa, alpha="1/2"):
    weights = (Fraction(alpha), 1 - Fraction(alpha))
    return round_setting(tau=tau, kappa=kappa, alpha=weights, p=(Fraction(1, 2),) * 2, reading="plain").to_json()


def open_lines(*verdicts):
    return show.verdict(trial.Trial(TRUE.DRIFT, "plain", "small", 0, (Stage("c", 0.0, (), verdicts),), True))


def test_certificates_are_a_line_and_never_the_headline():
    def certified_line(*found):
        verdicts = (
            Verdict("drift-tight", "plain", Evidence.SDP, status, data={"setting": place}) for status, place in found
        )
        headline, first, line, *_ = open_lines(*verdicts)
        assert headline == "drift-tight [plain]: OPEN." and first.startswith("Not covered: anything beyond")
        return line

    grid = [(Status.HOLDS, setting_of(tau, kappa)) for tau in (1, 2) for kappa in (2, 10)]
    even, where = "alpha = p = (1/2, 1/2)", "N = 2, everyone present, full gradients"
    assert certified_line(*grid) == (
        f"Certified only at 4 settings ({where}): {even} at tau = 1, 2 with kappa = 2, 10."
    )
    alone = certified_line(
        *grid[:2], (Status.UNDECIDED, setting_of(2, 10)), (Status.UNDECIDED, setting_of(2, 10, "3/4"))
    )
    assert f"2 settings ({where}): {even} at tau = 1 with kappa = 2, 10; undecided at 2 ({where}): {even} or" in alone
    assert alone.endswith("alpha = (3/4, 1/4), p = (1/2, 1/2) at tau = 2 with kappa = 10.")


def searched(**more):
    plain = Coverage(
        {"N": only(2, 25), "tau": only(1, 2, 5), "T": Span(1, 60), "kappa": Span(1, 1000), "gradients": only("full")}
        | {"participation": only(1), "weights": only("fedavg"), "problem": only("a quadratic")}
    )
    noisy = Coverage({**plain.axes, "gradients": only("stochastic"), "T": Span(1, 2)})
    data = {"searched": [plain.to_json(), noisy.to_json()], "approach": "x", **more}
    return Verdict("drift-tight", "plain", Evidence.EXACT, Status.UNDECIDED, margin=0.1, data=data)


def test_an_open_trial_says_first_what_was_not_covered():
    headline, first, then, noise, last = open_lines(searched())
    assert headline == "drift-tight [plain]: OPEN." and last == "Surviving these tests is not a proof."
    assert first.startswith("Not covered: N other than 2 and 25, tau other than 1 and 2 and 5, kappa > 1000, weights")
    assert "T >" not in first and "noise" not in first
    assert then == "Tried without a violation: a search over a quadratic (N <= 25, T <= 60, with noise T <= 2)."
    assert noise == "Assumed throughout: noises have mean 0 given the past and are independent between clients."


@pytest.mark.parametrize(
    ("assumed", "says"),
    [
        ((), "sigma^2 is in the bound, yet nothing bounds the variance: add a.bounded_variance."),
        ((a.full_gradients,), None),
        ((a.bounded_variance,), None),
        (
            (a.bounded_variance, Assumption("indep", "noises are independent")),
            "indep cannot be checked: it has no relation, on_run or exactly, so nothing can refute a claim",
        ),
    ],
)
def test_what_a_claim_forgot_is_a_warning_beneath_the_headline(assumed, says):
    mine = Claim(
        "mine",
        "",
        "",
        "step",
        symbols.Delta_next,
        {"a": (1 - symbols.eta * symbols.mu) * symbols.Delta, "b": symbols.eta**2 * symbols.sigma_sq},
        assumptions=assumed,
    )
    line = stages.read_back(Case(mine, READINGS["plain"], "small", 0, FEW)).lines
    result = trial.Trial(mine, "plain", "small", 0, (Stage("read back", 0.0, line),), True)
    shown = show.verdict(result)
    assert [item.startswith(f"Warning: {says}") for item in shown[1:2]] == [says is not None]


def test_a_quantity_that_fails_is_named_with_its_exception_and_line():
    def width(path):
        return path.nothing

    mine = Claim(
        "mine", "", "", "horizon", quantity.largest("width", width), {"gap": symbols.mu}, assumptions=(a.smooth,)
    )
    shown = " ".join(show.verdict(try_claim(mine, suite=FEW)))
    line = width.__code__.co_firstlineno + 1
    why = (
        f"its function fails at test_trial.py, line {line}: AttributeError: 'Path' object has no attribute 'nothing'"
    )
    assert shown.startswith("mine [plain]: NOT TESTED.") and f"cannot express width ({why})." in shown


def test_a_violation_in_floats_alone_is_said_first_and_is_not_false():
    lines = open_lines(searched(approach="it fails by 0.08", unconfirmed={"margin": -0.08}))
    assert lines[0].endswith("OPEN.") and "without a violation" not in " ".join(lines)
    assert lines[1] == "Violated in floating point, not confirmed by exact arithmetic: it fails by 0.08."


def test_exact_instances_at_limits_are_a_test_and_named_where_they_are_the_only_one():
    case = Case(TRUE.NOISY_DRIFT, READINGS["plain"], "small", 0, FEW)
    seen = limit_cases.Seen(38, 0.1, Counter({"kappa = 1": 9, "noise": 38}))
    (compared,) = dimensions_and_limits._without_violation(case, (), seen).verdicts
    unmet = Verdict("identical-drift", "plain", Evidence.EMPIRICAL, Status.VACUOUS, detail="not refuted in 0")
    result = trial.Trial(case.claim, "plain", "small", 0, (Stage("sanity", 1.0, (), (compared, unmet)),), True)
    assert result.outcome is Outcome.OPEN
    _, first, told, *_ = show.verdict(result)
    assert first.startswith("Not covered: anything beyond") and first.endswith("the search compared nothing.")
    assert told == "Tried without a violation: 38 exact instances at limits (kappa = 1, noise)."
    nothing = replace(result, stages=(Stage("regimes", 1.0, (), (unmet,)),))
    assert nothing.outcome is Outcome.NOT_TESTED
    assert show.verdict(nothing)[1].startswith("Nothing was tested")


def test_a_run_without_chance_is_not_called_one_at_an_error_rate_of_0():
    def by(rate):
        shown = replace(refuted(Evidence.EMPIRICAL), error_rate=rate)
        return show.verdict(trial.Trial(TRUE.DRIFT, "plain", "small", 0, (Stage("regimes", 0, (), (shown,)),)))[1]

    assert "whose expectations were not estimated" in by(0.0) and "error rate" not in by(0.0)
    assert "at an error rate of 1e-06" in by(1e-6)


def test_an_instance_in_other_units_says_the_same_of_a_claim_of_one_dimension():
    claim, reading = TRUE.LOCAL_STEP, READINGS["plain"]
    instance = next(item for item in limit_cases.battery(claim, claim.coverage(reading)) if item.N == 2)
    for w, f in limit_cases.SCALES:
        before, after = (
            limit_cases.sides_at(item, claim, reading)
            for item in (instance, limit_cases.rescaled(instance, w, f, None))
        )
        assert [(s.lhs * w**2, s.rhs * w**2) for s in before] == [(s.lhs, s.rhs) for s in after]


def test_the_battery_has_only_instances_that_the_claim_may_speak_of():
    claim, reading = TRUE.GRADIENT_DESCENT, READINGS["plain"]
    for item in limit_cases.battery(claim, claim.coverage(reading)):
        assert item.tau == 1 and item.weighting == "fedavg" and set(item.eta) == {2 / (item.L + item.mu)}


def refuted(evidence):
    return Verdict("c", "plain", evidence, Status.REFUTED, detail="left > right")


def held(evidence):
    return Verdict("c", "plain", evidence, Status.HOLDS, detail="it holds")


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ((), Outcome.NOT_TESTED),
        ((held(Evidence.EMPIRICAL),), Outcome.OPEN),
        ((held(Evidence.EMPIRICAL), held(Evidence.SDP)), Outcome.OPEN),
        ((held(Evidence.SDP), held(Evidence.SYMBOLIC)), Outcome.PROVED),
        ((replace(held(Evidence.SYMBOLIC), coverage=Coverage({"kappa": only(7)})),), Outcome.OPEN),
        ((held(Evidence.KERNEL), refuted(Evidence.EXACT)), Outcome.FALSE),
        ((refuted(Evidence.SDP),), Outcome.OPEN),
        ((Verdict("c", "plain", Evidence.EMPIRICAL, Status.VACUOUS),), Outcome.NOT_TESTED),
    ],
)
def test_the_outcome_is_the_strongest_word_that_a_verdict_supports(verdicts, outcome):
    assert trial.Trial(TRUE.DRIFT, "plain", "small", 0, (Stage("s", 0, (), verdicts),), True).outcome is outcome


def test_a_refutation_of_a_text_that_was_not_read_in_full_does_not_call_the_theorem_false():
    claim = replace(TRUE.DRIFT, unread=("not read: $T\\ge1$ (line 2): write it as % fedbounds: assume ...",))
    result = trial.Trial(claim, "plain", "small", 0, (Stage("s", 0, (), (refuted(Evidence.EXACT),)),), True)
    shown = show.to_text(result)
    assert result.outcome is Outcome.OPEN and "FALSE" not in shown
    assert "As far as it was read it is violated" in shown and "nothing of the theorem" in shown
    whole = show.to_text(replace(result, claim=TRUE.DRIFT))
    assert "FALSE" in whole and "false as stated" in whole and "as it was read" not in whole


def test_a_proof_that_is_found_is_told_by_its_length_and_printed_on_request():
    lines = ("found-c: c", "✓ 1. [first]  0 <= 1", "✓ 2. [second]  1 <= 2")
    proof = replace(held(Evidence.SYMBOLIC), data={"proof": lines})
    stage = Stage("proof", 0, ("found by the prover:", *lines), (proof,))
    result = trial.Trial(TRUE.DRIFT, "plain", "small", 0, (stage,), True)
    brief = show.to_text(result)
    assert "The proof has 2 steps" in brief and "[first]" not in brief
    assert "[first]" in show.to_text(result, verbose=True) and "[first]" in page((result,))


def test_a_refutation_without_fractions_is_replaced_by_one_in_fractions_or_kept(monkeypatch):
    def steps(*found):
        made = [stages.Step(str(k), lambda _, v=v: StageResult((), v), k < 2, 0) for k, v in enumerate(found)]
        monkeypatch.setattr(trial, "STAGES", tuple(made))
        return try_claim(TRUE.DRIFT, suite=FEW)

    both = steps((refuted(Evidence.EMPIRICAL),), (refuted(Evidence.EXACT),), ())
    assert both.refutation.evidence is Evidence.EXACT and len(both.stages) == 2
    first = steps((refuted(Evidence.EMPIRICAL),), (), ())
    assert first.refutation.evidence is Evidence.EMPIRICAL and len(first.stages) == 2
    assert "no instance in fractions was found" in show.verdict(first)[1] and first.outcome is Outcome.OPEN


def test_a_time_limit_is_shared_and_the_stages_that_it_cut_are_named():
    some = [step for step in stages.STAGES if step.name in ("sanity", "certificates")]
    limited = try_claim(TRUE.DRIFT, suite=FEW, seconds=1e-9, stages=some)
    assert limited.finished and limited.cut == ("sanity", "certificates")
    assert "(out of time in: sanity, certificates)" in show.verdict(limited)[0]
    done = replace(limited, stages=tuple(Stage(step.name, 0.0, ()) for step in stages.STAGES[:3]))
    shares = [trial._share(step, done, stages.STAGES) for step in stages.STAGES[3:]]
    assert sum(shares) == pytest.approx(1) and max(shares) == shares[3], "the search gets most"
    with pytest.raises(InputError, match="positive"):
        try_claim(TRUE.DRIFT, seconds=-1)


def test_whoever_forgets_absent_clients_under_noise_is_refuted_at_a_glance():
    assumed = (a.smooth, a.strongly_convex, a.bounded_variance, a.equal_selection, a.equal_p, a.identical)
    terms = {
        "start": (1 - symbols.eta * symbols.mu) ** 2 * symbols.Delta,
        "noise": symbols.eta**2 * symbols.sigma_sq / symbols.N,
        "drift": 2 * symbols.eta * symbols.L * symbols.drift / symbols.m,
    }
    claim = Claim(
        "by-N", "", "", "step", symbols.Delta_next, terms, assumptions=(*assumed, a.steps_up_to_2_over_L_plus_mu)
    )
    instance = next(item for item, violated in limit_cases.sweep(claim, READINGS["plain"]) if violated)
    assert instance.present == 1 and instance.noise == (1, 1)
    data = examine(instance, claim, READINGS["plain"]).data
    assert (data["lhs"], data["rhs"]) == ("1", "1/2")


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_the_command_prints_three_lines_and_the_instance_and_writes_its_files(tmp_path):
    out = tmp_path / "out"
    single = tmp_path / "single.py"
    single.write_text(
        f"from fedbounds.plugins import load_file\nCLAIMS = (load_file({str(FOLDER / 'false.py')!r}).GRADIENT,)\n"
    )
    result = call("referee", str(single), "--out", str(out), "--fail-on", "refuted")
    assert result.exit_code == 1
    first, by, sure, blank, *rest = result.stdout.splitlines()
    assert first == "2/L [plain]: FALSE at t = 0: lhs 1 > rhs 0, exactly."
    assert "in fractions" in by and sure == "The claim is false as stated." and blank == ""
    assert "  w0         (1)" in rest and "  right      0" in rest
    assert "[3/8] sanity: dimensions agree" in result.stderr
    assert json.loads((out / "2-L-plain.json").read_text())["outcome"] == "FALSE"
    page = (out / "referee.html").read_text()
    assert "The instance, to be checked by hand" in page and page.count("<script") == 1
    told = json.loads(call("referee", str(single), "--format", "json", "--quiet").stdout)
    assert [item["claim"] for item in told] == ["2/L"]


def test_a_folder_of_theorems_leaves_out_files_without_claims(tmp_path):
    (tmp_path / "helper.py").write_text("raise SystemExit\n")
    with pytest.raises(InputError, match="none in"):
        main(["referee", str(tmp_path)], standalone_mode=False)
    with pytest.raises(InputError, match="no such file or folder exists"):
        main(["referee", "a-folder-that-is-elsewhere"], standalone_mode=False)


def test_words_are_found_and_a_new_claim_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "small_steps" in call("symbols", "1/L").stdout and "gap_t" in call("symbols", "suboptimality").stdout
    assert "Delta_T" in call("symbols", "every number of steps").stdout
    assert call("new", "claim", "my-step").exit_code == 0
    (claim,) = load_file("my-step.py").CLAIMS
    assert claim.readings == ("plain",) and "my-step" in call("claims", "my-step", "--plugin", "my-step.py").stdout
    known = claim_named("fedavg-step")
    assert follows(claim, READINGS["plain"], known, READINGS["repaired"])
    assert call("new", "claim", "my-step").exit_code == 2
    assert call("new", "claim", "my-step", "--latex").exit_code == 0
    (draft,) = read("my-step.tex").values()
    assert (draft.lhs, draft.unread) == (claim.lhs, ()) and (draft.rhs - claim.rhs).expand() == 0
    assert [assumption.key for assumption in draft.assumptions] == [
        assumption.key for assumption in claim.assumptions
    ]
    assert "my-step" in call("read", "my-step.tex").stdout


def test_one_claim_of_a_python_file_is_chosen_by_its_key(tmp_path):
    file = tmp_path / "two.py"
    file.write_text(
        "from fedbounds.theory.claim import Claim\nfrom fedbounds.theory.symbols import rho_bar, rho_tilde\n"
        "CLAIMS = tuple(Claim(key, '', '', 'constant', rho_tilde, {'x': rho_bar}) for key in ('one', 'two'))\n"
    )
    assert theorem_of(str(file), "two").key == "two"
    with pytest.raises(InputError, match="one"):
        theorem_of(str(file), "three")


def test_a_stage_without_pieces_ends_at_its_share_of_the_time():
    def endless(case):
        while True:
            pass

    result, cut = Watch(0.1, longest=0.3).carry_out(endless, None)
    assert cut == "out of time" and result.lines == ("out of time",)
