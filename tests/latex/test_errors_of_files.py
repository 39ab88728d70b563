"""All errors of a theorem file are told at once, and what can be read is read and tried."""

import random
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.errors import InputError, InputErrors
from fedbounds.latex.reader import read, read_each, read_text
from fedbounds.referee import theorems
from fedbounds.referee.trial import Trial
from fedbounds.study.result_table import Findings
from fedbounds.theory import symbols as s
from validate.robustness.damage import latex
from validate.robustness.formats import theorem_files

FILE = r"""
\begin{theorem}\label{wrong}
% fedbounds: assume smooth, strongly-convx, \eta_t \le \frac{1}{4\delta}
% fedbounds: let \mathbf{x} w
% fedbounds: stp \frac{2}{\mu t}
% fedbounds: where \gamma = 8L/\nu
\[ \mathbb{E}\|\mathbf{x}_{t+1}-\mathbf{x}^*\|^2 \le (1-\eta_t\beta)\,\mathbb{E}\|w_t-w^*\|^2 + \beta\epsilon^2 \]
\end{theorem}
\begin{lemma}\label{right}
% fedbounds: assume smooth, full-gradients, full-participation, unbiased
\[ \|w_{t+1} - w^\star\|^2 \le \|w_t - w^\star\|^2 \]
\end{lemma}
\begin{lemma}\label{unclear}
% fedbounds: assume smooth
\[ \|w_t - w^\star\| \le (L + \lambda_2 \mu_9 + F(w_t) - \theta \]
\end{lemma}
\begin{lemma}\label{empty}
% fedbounds: assume smooth
Nothing is stated.
\end{lemma}
"""
TOLD = {
    (3, 29): "strongly-convx",
    (3, 66): r"\delta",
    (4, 18): "let declares NAME",
    (5, 14): "a comment line says one of",
    (6, 32): r"\nu",
    (7, 63): r"\beta",
    (7, 102): r"\epsilon",
    (15, 26): "a bracket must be closed",
    (15, 31): r"\lambda_{2}",
    (15, 41): r"\mu_{9}",
    (15, 58): r"\theta",
    (17, 1): "must have a display",
}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "draft.tex").write_text(FILE)
    return tmp_path / "draft.tex"


def test_every_error_of_a_file_is_told_with_its_place_and_each_letter_once():
    with pytest.raises(InputErrors) as wrong:
        read_text(FILE)
    places = {fault.place: str(fault) for fault in wrong.value.faults}
    assert list(places) == list(TOLD)
    assert len(wrong.value.faults) == len(TOLD)
    for (line, column), told in TOLD.items():
        assert told in places[line, column]
        assert re.match(rf"line {line}, column {column}: .*, but received .*: .*\.$", places[line, column])


def without_trial(claim, reading, budget, **_):
    return Trial(claim, reading, budget, 0, finished=True)


def test_a_theorem_that_can_be_read_is_read_and_tried_beside_others(path, monkeypatch):
    claims, faults = read_each(path)
    assert list(claims) == ["right"] and len(InputErrors(faults).faults) == len(TOLD)
    monkeypatch.setattr(theorems, "try_claim", without_trial)
    with pytest.warns(UserWarning, match="strongly-convx"):
        assert [trial.claim.key for trial in theorems.referee(path)] == ["right"]


def test_the_commands_read_and_try_what_they_can_and_end_with_an_error(path, monkeypatch):
    trial = without_trial(read(path, "right")["right"], "plain", "small")
    monkeypatch.setattr(fedbounds, "referee", lambda *_, **__: Findings((trial,), Trial.rows))
    for command, said in (("read", "right, for every step"), ("referee", "")):
        result = CliRunner().invoke(main, [command, str(path)], standalone_mode=False)
        assert result.return_value == 2
        assert said in result.stdout and "strongly-convx" in result.stderr


def test_a_claim_whose_steps_no_run_has_does_not_end_the_trial_of_another(path, monkeypatch):
    (claim,) = read(path, "right").values()
    tuned = replace(claim, key="tuned", eta=s.rho_bar / s.L)
    examined = theorems.try_claim
    monkeypatch.setattr(
        theorems, "try_claim", lambda c, *a, **k: (examined if c is tuned else without_trial)(c, *a, **k)
    )
    never, tried = theorems.referee((tuned, claim))
    assert "depends on rho_bar" in never.fault and tried.finished


UNMARKED = r"""
\begin{lemma}\label{new}
Let $\eta_t \le \frac{1}{4L}$ with $\eta_t = \frac{2}{\mu(t+4)}$.
\[ \|\mathbf{x}_{t+1} - \mathbf{x}^*\|^2
  \le (1-\eta_t\mu)\|\mathbf{x}_t - \mathbf{x}^*\|^2 + \frac{\eta_t^2}{K} G^2 \]
\end{lemma}
"""
ASSUMED = "smooth, strongly-convex, bounded-gradient, full-gradients, full-participation, unbiased"
LINES = rf"""
% fedbounds: assume {ASSUMED}
% fedbounds: step \frac{{2}}{{\mu(t+4)}}
% fedbounds: let \mathbf{{x}} = w, K = ..."""


def test_an_unmarked_theorem_is_answered_with_lines_to_paste_with_which_it_reads(path):
    path.write_text(UNMARKED)
    with pytest.raises(InputError, match="a theorem must be marked") as wrong:
        read(path)
    assert str(wrong.value).endswith(LINES)
    path.write_text(UNMARKED.replace("\nLet", f"{LINES}\nLet".replace("...", "N")))
    assert str(read(path)["new"].lhs) == "Delta_next"
    path.write_text(FILE + UNMARKED)
    with pytest.raises(InputError, match="a theorem must be marked"):
        read(path, "new")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (r"\eta_t = \frac{1}{L}", ""),
        (r"\eta_t \le \frac{1}{L}", r"received \le: write % fedbounds: assume \eta_t \le \frac{1}{L}."),
        (r"\gamma = \frac{1}{L}", "received =: write % fedbounds: step, and the step size alone."),
    ],
)
def test_a_step_line_may_name_the_step_size_and_bounds_none(path, line, said):
    marks = f"% fedbounds: assume smooth, full-gradients, full-participation\n% fedbounds: step {line}\n"
    path.write_text(WORDED.replace("MARKS", marks))
    if said:
        with pytest.raises(InputError, match=re.escape(f"a step line holds one step size, but {said}")):
            read(path)
    else:
        assert read(path)["worded"].eta == 1 / s.L


WORDED = r"""
\begin{lemma}\label{worded}
Let each $F_i$ be $L$-smooth and $\mu$-strongly convex with a common minimiser, $0<\eta\le 1/L$, and average after
every step, $T$ a positive multiple of $\tau$.
MARKS\[ \|w_{t+1}-w^*\|^2\le\|w_t-w^*\|^2 \]
\end{lemma}
"""


def test_hypotheses_in_words_are_guessed_and_warned_of(path):
    path.write_text(WORDED.replace("MARKS", ""))
    with pytest.raises(InputError) as wrong:
        read(path)
    assert r"smooth, strongly-convex, homogeneous, \tau = 1, full-gradients" in str(wrong.value)
    path.write_text(WORDED.replace("MARKS", "% fedbounds: assume smooth, full-gradients, full-participation\n"))
    warned = read(path)["worded"].unread
    assert len(warned) == 3 and all(line.startswith('not read: "') for line in warned)
    marks = (
        "% fedbounds: assume smooth, full-gradients, strongly-convex, homogeneous, \\tau = 1, full-participation\n"
    )
    path.write_text(WORDED.replace("MARKS", marks))
    assert read(path)["worded"].unread == ()


@pytest.mark.parametrize(
    ("formula", "silent"),
    [(r"F=\sum_{i=1}^N p_i F_i", True), (r"\sum_i p_i = 1", True), (r"F=\sum_i q_iF_i", False), ("p_1=1", False)],
)
def test_what_every_problem_is_needs_no_line(path, formula, silent):
    marks = "% fedbounds: assume smooth, full-gradients, full-participation\n"
    path.write_text(WORDED.replace("MARKS", marks).replace("0<\\eta\\le 1/L", formula))
    assert (not any(formula in line for line in read(path)["worded"].unread)) == silent


FIELDS = r"""
% fedbounds: assume smooth, full-gradients, full-participation
% fedbounds: step \frac{1}{L}
% fedbounds: step \frac{2}{L}
% fedbounds: reading odd
% fedbounds: scope everywhere
% fedbounds: terms a, b
% fedbounds: algorithm nope
\[ \|w_{t+1} - w^\star\|^2 \le \|w_t - w^\star\|^2 \]
"""


def test_each_comment_line_is_examined_whatever_is_wrong_with_others():
    with pytest.raises(InputErrors) as wrong:
        read_text(FIELDS)
    assert [fault.place[0] for fault in wrong.value.faults] == [4, 5, 6, 7, 8]


def test_theorems_without_comment_lines_are_named_as_left_out(path):
    path.write_text(
        FILE[FILE.index(r"\begin{lemma}\label{right}") : FILE.index(r"\begin{lemma}\label{unclear}")] + UNMARKED
    )
    result = CliRunner().invoke(main, ["read", str(path)], standalone_mode=False)
    assert result.return_value == 0 and "Left out without comment lines: new;" in result.stderr


def test_gamma_is_guessed_to_be_the_step_size_where_no_other_is(path):
    path.write_text(UNMARKED.replace(r"\eta", r"\gamma"))
    with pytest.raises(InputError, match=r"K = \.\.\., \\gamma = \\eta$"):
        read(path)


def test_a_lemma_without_chance_needs_no_expectation_and_others_are_told_what_is_missing():
    text = FILE[FILE.index(r"\begin{lemma}\label{right}") : FILE.index(r"\begin{lemma}\label{unclear}")]
    assert "right" in read_text(text.replace(", unbiased", ""))
    with pytest.raises(InputError, match=r"or assume full-participation\.$"):
        read_text(text.replace(", full-participation", ""))
    assert "right" in read_text(text.replace("full-participation, unbiased", "one-client"))


@pytest.mark.parametrize(
    "lines, display, said",
    [
        ("start 1", r"\frac1T\sum_{{t=1}}^T (F(w_t) - F^*) \le {}", "the first point is w_1"),
        ("assume smooth", r"\sum_{{t=1}}^T \eta_t (F(w_t) - F^*) \le {}", r"take w_0 to w_{T-1}, where steps start"),
        ("assume smooth", r"F(\bar w_T) - F^* \le {}", "such as t . 1, it is neither, and not expressible"),
    ],
)
def test_no_remedy_makes_another_theorem_of_a_sum_from_1_or_a_weighted_mean(lines, display, said):
    text = display.format(r"\frac{L}{T} \|w_0 - w^*\|^2")
    with pytest.raises(InputError, match=said):
        read_text(f"% fedbounds: {lines}\n\\[ {text} \\]")


COUNT = 150
# Names of tokens in the grammar.
INTERNAL = re.compile(r"<norm|norm>|quantity [a-z]+_|\b_?(LPAR|RPAR|EXPECT|MRON)\b")


def test_a_damaged_file_is_read_or_refused_in_sentences():
    rng, files = random.Random(36), theorem_files()
    read = 0
    for _ in range(COUNT):
        try:
            read += len(read_text(latex(rng, rng.choice(files))))
        except InputError as wrong:
            lines = str(wrong).splitlines()
            assert all(line.endswith(".") and "but received" in line for line in lines)
            assert not INTERNAL.search(str(wrong))
    assert 0 < read < COUNT
