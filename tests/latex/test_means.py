"""What \bar w_T is a mean of: by a formula or in words, in the theorem or above it; a letter with two meanings."""

import pytest

from fedbounds.errors import InputError
from fedbounds.latex.reader import read_text
from fedbounds.theory import symbols as s

KEYS = "smooth, strongly-convex, full-gradients, full-participation, unbiased, constant-steps"
THEOREM = r"""
BEFORE

\begin{theorem}\label{gd}
% fedbounds: assume KEYS
LINES
TEXT
\[ F(\bar w_T) - F^\star \le \frac{\|w_0-w^\star\|^2}{\eta T} \]
BEHIND
\end{theorem}
"""
EVEN, LATER, WEIGHTED = s.average_gap, s.later_average_gap, s.eta_average_gap


def read(text="", before="", line="", behind=""):
    lines = f"% fedbounds: {line}" if line else "%"
    words = {"BEFORE": before, "KEYS": KEYS, "LINES": lines, "TEXT": text, "BEHIND": behind}
    whole = THEOREM
    for name, said in words.items():
        whole = whole.replace(name, said)
    return read_text(whole)["gd"]


SAID = [
    (r"Let $\bar w_T = \frac{1}{T}\sum_{t<T} w_t$.", EVEN),
    (r"The average $\bar w_T = \frac1T\sum_{t=0}^{T-1}w_t$ satisfies it. It is not the last.", EVEN),
    (r"Put $\bar w_T := \frac1T\sum_{k=0}^{T-1}w_k$.", EVEN),
    (r"Let $\bar w_T := \frac{1}{T}\left(w_0+w_1+\dots+w_{T-1}\right)$.", EVEN),
    (r"Let $\bar w_T = \frac1T\sum_{k=1}^{T}w_k$.", LATER),
    (r"Let $\bar w_T = \frac{\sum_{t<T}\eta_t w_t}{\sum_{t<T}\eta_t}$.", WEIGHTED),
    (r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$.", EVEN),
    (
        r"Let $\bar w_T$ denote the uniform average of the $w_0, w_1, \ldots, w_{T-1}$, and let $L > 0$.",
        EVEN,
    ),
    (r"Write $\bar w_T$ for the average of $\{w_t\}_{t=0}^{T-1}$.", EVEN),
    (r"Denote the mean of $w_0$ to $w_{T-1}$ by $\bar w_T$.", EVEN),
    (r"Here, $\bar w_T$ is the average of $w_t$ over $t=0,\dots,T-1$.", EVEN),
    (r"Let $\bar w_T$ be the mean of $w_1,\dots,w_T$.", LATER),
]
OTHERWISE = [
    r"Let $\bar w_T = \frac{1}{T}(w_0+w_1+\dots+w_T)$.",
    r"Let $\bar w_T = \frac{2}{T(T+1)}\sum_{t<T}(t+1)w_t$.",
    r"We do not use $\bar w_T = \frac1T\sum_{t<T}w_t$.",
    r"We do not use $\bar w_T = \frac1T\sum_{t<T}w_t; $ here.",
    r"Let $\bar w_T = \sum_i p_i w_T^i$.",
    r"Here $\bar w_T = \frac1T\sum_{t<T}w_t$; later $\bar w_T = \sum_i p_i w_T^i$.",
    r"Let $\bar w_T$ be the mean of $w_0,\dots,w_T$.",
    r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$ weighted by $t+1$.",
    r"We do not take $\bar w_T$ for the mean of $w_0,\dots,w_{T-1}$.",
    r"Let $\bar w_T$ be the mean of the local models $w_T^1,\dots,w_T^N$.",
    r"Let $\bar w_T$ be the exponential moving average of $w_0,\dots,w_{T-1}$.",
    r"Let $\bar w_T$ be the mean of the last half of $w_0,\dots,w_{T-1}$.",
    r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$ and $w_T$.",
    r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$ with every second one left out.",
    r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$. Later $\bar w_T$ is the mean over clients.",
]


@pytest.mark.parametrize(("text", "quantity"), SAID)
def test_a_mean_that_the_text_defines_needs_no_line(text, quantity):
    for claim in (read(text), read(before=text), read(behind=text)):
        assert claim.lhs == quantity and not any("bar" in item for item in claim.unread)


@pytest.mark.parametrize("text", OTHERWISE)
def test_another_mean_or_one_denied_is_asked_about(text):
    for where in ("text", "before", "behind"):
        with pytest.raises(InputError, match="over steps or over clients"):
            read(**{where: text})


def test_the_text_of_the_theorem_is_heard_before_what_stands_above_it():
    above = r"\[ \bar w_T = \frac1T\sum_{t=1}^{T}w_t \]"
    assert read(before=above).lhs == LATER
    assert read(r"Let $\bar w_T$ be the mean of $w_0,\dots,w_{T-1}$.", before=above).lhs == EVEN
    other = r"\begin{lemma} Let $\bar w_T = \frac1T\sum_{t<T}w_t$. \end{lemma}"
    with pytest.raises(InputError, match="over steps or over clients"):
        read(before=other)


def test_a_let_for_the_mean_of_the_table_is_an_answer_which_the_text_may_not_contradict():
    line = r"let \bar x_T = \bar w_T, x = w"
    mean = r"Let $\bar x_T=\frac1T\sum_{t=0}^{T-1}x_t$."
    for text in ("", mean):
        claim = read(text, line=line)
        assert claim.lhs == EVEN and claim.unread == ()
    with pytest.raises(InputError, match="another mean"):
        read(mean.replace("=0", "=1").replace("T-1", "T"), line=line)


ONE_STEP = r"""
\begin{lemma}\label{own}
% fedbounds: assume smooth, convex, bounded-variance, full-participation, unbiased, \eta_t \le \frac{1}{L}
% fedbounds: let \bar{x} = w, x_t^m = w_t^m, x^\star = w^\star, f = F, M = N
Let $\bar{x}_t=\sum_m p_m x_t^m$.
\begin{align} \mathbb{E}\|\bar{x}_{t+1}-x^\star\|^2 \le{}& \mathbb{E}\|\bar{x}_t-x^\star\|^2
 +\eta_t L\,\mathbb{E}\sum_{m=1}^{M}p_m\|\bar{x}_t-x_t^m\|^2 \end{align}
\end{lemma}
"""


def test_a_letter_has_the_meaning_of_each_index_that_a_line_declares():
    claim = read_text(ONE_STEP)["own"]
    assert claim.lhs == s.Delta_next and claim.rhs == s.Delta + s.eta * s.L * s.drift and claim.unread == ()
    with pytest.raises(InputError, match=r"x was declared as x_\{t\}\^\{m\}, not x\^\{\\star\}, but"):
        read_text(ONE_STEP.replace(r"x^\star = w^\star, ", ""))


OUTPUT = r"""
\begin{theorem}\label{out}
% fedbounds: assume smooth, convex, full-gradients, full-participation, unbiased
% fedbounds: let \bar{x} = w, f = F, x^\star = w^\star
TEXT
\[ f(NAME) - f^\star \le \frac{\|\bar x_0-x^\star\|^2}{\eta T} \]
\end{theorem}
"""


@pytest.mark.parametrize("name", [r"\hat{x}_T", r"\tilde x", r"x_{\mathrm{out}}", r"z_T"])
def test_any_letter_is_the_mean_that_the_text_says_it_is(name):
    said = OUTPUT.replace("NAME", name).replace("TEXT", "The output NAME is the average of $POINTS$.")
    mean = said.replace("NAME", f"${name}$").replace("POINTS", r"\bar x_0,\dots,\bar x_{T-1}")
    claim = read_text(mean)["out"]
    assert claim.lhs == EVEN and claim.unread == ()
    for other in (r"\bar x_0,\dots,\bar x_T", r"x_T^1,\dots,x_T^N"):
        with pytest.raises(InputError):
            read_text(said.replace("NAME", f"${name}$").replace("POINTS", other))
    with pytest.raises(InputError):
        read_text(OUTPUT.replace("NAME", name).replace("TEXT", ""))
