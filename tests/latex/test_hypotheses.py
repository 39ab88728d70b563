"""Hypotheses in the text of a theorem are assumed where they can be read; chains, local models, inner products."""

from fractions import Fraction as F

import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.latex.reader import read_text
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import L, zeta_star_sq
from fedbounds.theory.verdict import Status

FULL = "smooth, strongly-convex, homogeneous, full-gradients, full-participation, unbiased, constant-steps"
GD = r"""
\begin{theorem}\label{gd}
% fedbounds: assume KEYS
TEXT
\[ DISPLAY \]
\end{theorem}
"""
WHOLE = r"\|w_T-w^*\|^2\le(1-\eta\mu)^{T+1}\|w_0-w^*\|^2"
STEP = r"\|w_{t+1}-w^*\|^2\le(1-\eta\mu)\|w_t-w^*\|^2"
# At w_0 = 3 with F = x^2/2 and eta = 1/2: the bound fails at T = 0 alone.
START = Instance(((F(1),),), ((F(0),),), p=(F(1),), w0=(F(3),), eta=(F(1, 2),) * 2, tau=1)


def read(text="", display=WHOLE, keys=FULL):
    return read_text(GD.replace("KEYS", keys).replace("TEXT", text).replace("DISPLAY", display))


def keys(claim):
    return [item.key for item in claim.assumptions]


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (r"Let $\eta\le\frac1L$, for all $T\ge1$.", ["small-steps", "T >= 1"]),
        (r"Let $0<\eta\le 1/L$ and $R \geq 1$,", ["small-steps", "R >= 1"]),
        (r"where $T$ is a positive multiple of $\tau$.", ["T >= 1", "T = R*tau"]),
        (r"Suppose that $T = \tau$ and $N\ge2$.", ["T = tau", "N >= 2"]),
        (r"Let $\mu > 0$ and $T \ge 0$.", []),
        (r"Let $N \ge 2$ clients be drawn. Parallel SGD satisfies for all $T\ge1$", ["N >= 2", "T >= 1"]),
        (r"For all $T \ge 4L/\mu$, where $F=\sum_i p_i F_i$,", ["T >= 4*L/mu"]),
        (r"Let $T$ be arbitrary and let $\eta\le 1/L$.", ["small-steps"]),
        (r"For any $\eta\in(0,1/L]$,", ["small-steps"]),
        (r"Let $\eta\in(0,\frac{2}{L+\mu}]$.", ["eta-below-2/(L+mu)"]),
        (r"Let the iterates be produced by the quixotic recursion (see above), with $\eta\le 1/L$.", ["small-steps"]),
        (r"Let $\tau$ be quixotic and let $\eta\le 1/L$ be constant.", ["small-steps"]),
        (r"The last iterate of quixotic descent with $\eta\le 1/L$ satisfies", ["small-steps"]),
        (r"With full participation and any one $\eta$ with $\eta\le 1/L$,", ["small-steps"]),
        (r"Let the Polyak--{\L}ojasiewicz inequality hold with $\mu$ and let $\eta\le 1/L$.", ["small-steps"]),
    ],
)
def test_a_hypothesis_of_the_text_is_assumed(text, added):
    (claim,) = read(text).values()
    assert keys(claim)[len(FULL.split(", ")) :] == added
    assert claim.unread == () and len(claim.from_text) == len(added)


@pytest.mark.parametrize(
    "text",
    [
        r"In particular, when $\tau = 1$ it is SGD; we do not assume $T \ge 1$ here.",
        r"Here $T$ is arbitrary; it need not be a multiple of $\tau$, nor $T \ge 1$.",
        r"The bound holds with equality when $w_0 = w^*$.",
        r"It may fail only when $\eta > 2/L$, and no claim is made of $\eta \le 1/L$.",
        r"Unlike the classical result, which needs $N = 1$, ours holds for all $N$.",
        r"If $F$ is smooth then $\eta \le 1/L$.",
        r"Let $\tau = 1$.",
        r"For any $T$, whether or not it is a positive multiple of $\tau$.",
        r"For some $T \ge 1$,",
        r"Let $T \ge 1$ or $N \ge 2$.",
        r"Let $\eta\le 1/L$ hold for at least one $t$.",
        r"For comparison, Nesterov takes steps $\eta\le 1/L$.",
        r"For any $\eta\le 1/L$ this is due to Nesterov; the result here is for all steps.",
        r"For history, Nesterov treats $\eta\le 1/L$.",
        r"In the experiments, let $\eta\le 1/L$.",
        r"One can assume $\eta\le 1/L$ in a first reading.",
        r"With hindsight, his steps $\eta\le 1/L$ are too short.",
        r"For simplicity of exposition, others take $\eta\le 1/L$, and we go beyond.",
        r"Nesterov and Polyak assume $\eta\le 1/L$. We allow all steps.",
        r"Authors of [1] suppose $\eta\le 1/L$.",
        r"Others assume $\eta\le 1/L$.",
        r"Let $\eta\le 1/L$ for now. The lemma is about any step.",
        r"Let $T$ be odd and $w_t$ once used with $\eta\le 1/L$.",
        r"There is a step with $\eta\le 1/L$.",
        r"We dispense with $\eta\le 1/L$.",
        r"Theirs was for $\eta\le 1/L$.",
        r"The theorem of Smith (with $\eta\le 1/L$) is a corollary.",
        r"To reach $\epsilon$, with $T \ge 4L/\mu$ steps suffice.",
    ],
)
def test_a_remark_a_negation_and_a_contrast_narrow_nothing(text):
    (claim,) = read(text).values()
    assert keys(claim) == FULL.split(", ") and claim.from_text == () and claim.unread


def test_what_stands_behind_the_display_is_no_hypothesis():
    (claim,) = read_text(
        GD.replace("KEYS", FULL).replace("TEXT", "").replace(r"DISPLAY \]", WHOLE + r" \] Let $T\ge1$.")
    ).values()
    assert keys(claim) == FULL.split(", ") and "hypothesis" not in claim.from_text and len(claim.unread) == 1


@pytest.mark.parametrize("text", [r"$T \ge \epsilon$", r"$\eta = 1/L$", r"$\|w_0\|\le B$", r"$t \ge 1$"])
def test_what_is_no_hypothesis_that_can_be_read_is_a_warning(text):
    (claim,) = read(text).values()
    assert keys(claim) == FULL.split(", ") and len(claim.unread) == 1 and text in claim.unread[0]


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        (r"$w_{t+1}^i=w_t^i-\eta\nabla F_i(w_t^i)$", True),
        (r"$w_{t+1}^i = w_t^i - \eta_t g_t^i$", True),
        (r"$w_{t+1}^i=w_t^i-2\eta\nabla F_i(w_t^i)$", False),
        (r"$\sum_{i=1}^N p_i = 1$, $p_i\ge0$, $i \in [N]$", True),
        (r"$\Gamma=F^*-\sum_ip_iF_i^*$", True),
        (r"$p_i = 1/N$", False),
        (r"$p_i = \frac1N$", False),
        (r"$1 \le m \le N$, $m \ge 1$, $\alpha_t^i = p_i$", True),
        (r"$\frac12\|\nabla F(w)\|^2\ge\mu(F(w)-F^\star)$", True),
        (r"$i = 1, \dots, N$", True),
        (r"$\alpha_t^i \le \Pi p_i$", True),
        (r"$F_i = F$", False),
        (r"$F_1 = \dots = F_N = F$", False),
        (r"$\frac1N\sum_i\|\nabla F_i(w_t)-\nabla F(w_t)\|^2\le\zeta^2$", False),
        (r"$w_{t+1} = w_t - \eta\sum_i p_i g_i(w_t)$", False),
        (r"$\bar w_T^{\eta} = \sum_{t<T}\eta_t w_t\big/\sum_{t<T}\eta_t$", True),
        (r"$\|\nabla F_i(w_t^i)\|\le G$", False),
        (r"$\mathbb{E}\|g_t^i-\nabla F_i(w_t^i)\|^2\le\sigma_i^2$", False),
    ],
)
def test_what_is_the_model_is_no_warning_and_what_is_not_names_its_line(text, silent):
    (claim,) = read(text).values()
    assert (claim.unread == ()) == silent
    every = f"{FULL}, equal-p, bounded-gradient, bounded-variance, identical, one-local-step"
    (again,) = read(text, keys=every).values()
    assert (again.unread == ()) == (r"2\eta" not in text)


def test_a_violation_before_the_first_step_is_none_of_a_theorem_for_later_ones():
    (bare,), (later,) = read().values(), read(r"for all $T\ge1$").values()
    assert examine(START, bare, READINGS["plain"]).status is Status.REFUTED
    assert examine(START, later, READINGS["plain"]).status is Status.HOLDS


def test_times_that_a_statement_does_not_speak_of_are_refused_and_those_of_every_run_are_not():
    with pytest.raises(InputError, match="limits other times"):
        read(keys=rf"{FULL}, t \ge 1")
    with pytest.raises(InputError, match="limits other times"):
        read(display=STEP, keys=rf"{FULL}, T = \tau")
    (claim,) = read(r"for every $T \ge 1$", STEP).values()
    assert claim.unread == () and keys(claim) == FULL.split(", ")


def test_a_chain_is_a_claim_for_each_of_its_relations():
    bounds = read(display=r"\frac{\zeta_*^2}{2L} \le \Gamma \le \frac{\zeta_*^2}{2\mu}")
    assert list(bounds) == ["gd-1", "gd-2"]
    assert bounds["gd-1"].lhs == zeta_star_sq / (2 * L) and bounds["gd-2"].rhs.has(zeta_star_sq)
    (claim,) = read(keys=rf"{FULL}, 0 < \eta \le \frac1L").values()
    assert keys(claim)[-1] == "small-steps"
    with pytest.raises(InputError, match="one relation"):
        read(display=r"\Gamma \le \zeta_*^2 \ge 0")


def test_inner_products_of_any_two_points_are_read():
    display = r"\langle\nabla F(w)-\nabla F(w_0), w-w_0\rangle \ge \frac{1}{L}\|\nabla F(w)-\nabla F(w_0)\|^2"
    (claim,) = read(display=display).values()
    (product,) = claim.rhs.free_symbols
    slope = at.mean(at.grad(at.w)) - at.mean(at.grad(at.w_0))
    assert product.expression == at.inner(slope, at.w - at.w_0)
    with pytest.raises(InputError, match="must be of vectors"):
        read(display=r"\langle L, w\rangle \le 1")


def test_local_models_are_read_before_they_are_averaged():
    after = at.mean(at.norm_sq(at.w_star - at.w_i_next))
    for model, limit in ((r"w_{t+1}^i", []), (r"w_\tau^i", ["first-round"])):
        (claim,) = read(display=rf"\sum_i p_i\|{model}-w^*\|^2\le\eta^2\tau^2\zeta_*^2").values()
        assert claim.lhs.expression == after and keys(claim)[len(FULL.split(", ")) :] == limit


def test_what_refusals_ask_for():
    with pytest.raises(InputError, match=r"without its square cannot be read.*write \\mathbb\{E\}"):
        read(display=r"\mathbb{E}\|w_T-w^*\|\le L")
    with pytest.raises(InputError, match=r"w_\\tau\^i, w_0\^i"):
        read(display=r"\sum_i p_i\|w_T^i-w^*\|^2\le\eta^2")
    with pytest.raises(InputError, match="must be met somewhere"):
        read(keys=rf"{FULL}, \eta < 0")


def test_the_command_prints_what_it_read_and_errors_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "draft.tex"
    displays = {"a": WHOLE, "b": WHOLE.replace("w^*", "D"), "c": WHOLE}
    marked = GD.replace("KEYS", FULL).replace("TEXT", "")
    path.write_text("".join(marked.replace("{gd}", f"{{{x}}}").replace("DISPLAY", y) for x, y in displays.items()))
    result = CliRunner().invoke(main, ["read", str(path)], standalone_mode=False)
    assert result.return_value == 2
    places = [result.output.index(text) for text in ("a, for", "received D", "c, for")]
    assert places == sorted(places)


def test_a_limit_of_the_first_step_is_none_of_later_ones():
    varied = FULL.replace(", constant-steps", "")
    (claim,) = read(
        keys=rf"{varied}, \tau = 1, \eta_0 \le \frac1L", display=STEP.replace(r"\eta", r"\eta_t")
    ).values()
    assert "small-steps" not in keys(claim) and keys(claim)[-1] == "eta_0 <= 1/L"
    (claim,) = read(keys=rf"{FULL}, \eta_0 \le \frac1L").values()
    assert keys(claim)[-1] == "small-steps"


@pytest.mark.parametrize(
    "text", [r"\eta \nleq 1/L", r"\eta \not\le 1/L", r"T \ngeq 1", r"N \notin [2]", r"\mu \ne 0"]
)
def test_a_relation_that_is_denied_is_a_warning_in_a_text_and_an_error_in_a_display(text):
    (claim,) = read(f"Let ${text}$.").values()
    assert claim.from_text == () and text in claim.unread[0]
    with pytest.raises(InputError, match="a relation that is denied is no statement"):
        read(display=text.replace(r"\notin", r"\nleq") + r" \le 1")


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (r"w_{t+1} = w_t - \frac\eta N \sum g_t^i", "equal-p, unbiased"),
        (r"w_{t+1} = w_t - \eta_t \frac{1}{N} \sum_{i=1}^N \nabla F_i(w_t^i)", "equal-p, unbiased"),
        (r"w_{t+1} = w_t - \eta_t \sum_i p_i g_t^i", "unbiased"),
        (r"w_{t+1} = w_t - \frac{\eta}{N} \sum_i \nabla F_i(w_t)", r"\tau = 1, unbiased"),
        (r"w_{t+1} = w_t - \frac{2\eta}{N} \sum g_t^i", ""),
    ],
)
def test_the_update_of_the_average_is_the_model_s_own_where_its_weights_are(text, needed):
    biased = "smooth, strongly-convex, full-gradients, full-participation"
    (claim,) = read(f"Then ${text}$.", keys=biased).values()
    assert needed in claim.unread[0] and len(claim.unread) == 1
    (claim,) = read(f"Then ${text}$.", keys=rf"{biased}, equal-p, unbiased, \tau = 1").values()
    assert (claim.unread == ()) == bool(needed)


@pytest.mark.parametrize(
    ("display", "same"),
    [
        (r"\nabla F(w)^\top (w - w_0) \ge F(w) - F(w_0)", r"\langle\nabla F(w), w - w_0\rangle \ge F(w) - F(w_0)"),
        (
            r"\nabla F(w_t)^T (w_t - w^*) \ge F(w_t) - F^*",
            r"\langle\nabla F(w_t), w_t - w^*\rangle \ge F(w_t) - F^*",
        ),
        (r"\nabla F(w)^\intercal \nabla F(w) \le L^2 \|w - w^*\|^2", r"\|\nabla F(w)\|^2 \le L^2 \|w - w^*\|^2"),
        (r"w_t^\top w^* \le \|w_t\|^2", r"\langle w_t, w^*\rangle \le \|w_t\|^2"),
    ],
)
def test_a_transposed_vector_before_another_is_their_inner_product(display, same):
    (one,), (other,) = (read(display=text).values() for text in (display, same))
    assert (one.lhs, one.rhs) == (other.lhs, other.rhs)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (r"\nabla F(w_t)^\top", "must stand before another"),
        (r"\nabla F(w_t)^\top \eta (w_t - w^*)", "must stand before another"),
        (r"\nabla F(w_t)^\top / (w_t - w^*)", "must stand before another"),
        (r"(1 - \eta\mu)^\top \|w_t\|^2", r"received \\top"),
        (r"\|w_t^T - w^*\|^2", "a point must be one"),
    ],
)
def test_what_is_transposed_and_no_product_of_two_vectors_is_refused(left, said):
    with pytest.raises(InputError, match=said):
        read(display=rf"{left} \le L\|w_t-w^*\|^2")


def test_a_power_T_of_a_number_is_none_of_a_vector():
    (one,), (other,) = (
        read(display=text).values() for text in (WHOLE, WHOLE.replace("(1", "[1").replace("mu)", "mu]"))
    )
    assert one.rhs == other.rhs


def test_an_order_behind_a_bound_is_a_remark():
    (claim,) = read(display=rf"{WHOLE} = O(1/T)").values()
    assert claim.key == "gd" and claim.kind == "inequality"
    assert claim.unread == (r"not read: $= O(1/T)$ (line 5): an order without constants is no inequality",)
    (claim,) = read(display=r"\|w_T-w^*\|^2 = O(1/T)", keys=FULL.replace(", constant-steps", "")).values()
    assert claim.kind == "rate"


def test_a_letter_of_the_table_stays_itself_beside_one_with_an_index():
    text = GD.replace("KEYS", FULL).replace("TEXT", "% fedbounds: let L_s = L")
    (claim,) = read_text(text.replace("DISPLAY", r"\|w_T-w^*\|^2\le \frac{L_s+L}{L}\|w_0-w^*\|^2")).values()
    assert claim.rhs.subs(L, 1) == read(display=r"\|w_T-w^*\|^2\le 2\|w_0-w^*\|^2")["gd"].rhs


@pytest.mark.parametrize("limits", [r"T \ge 2, T \le 1", r"\eta \le \frac1L, \eta \ge \frac2L", r"N \ge 3, N \le 2"])
def test_assumptions_that_no_instance_meets_are_refused(limits):
    with pytest.raises(InputError, match="must be able to meet the assumptions of gd"):
        read(keys=f"{FULL}, {limits}")


GD_DISPLAY = r"\|w_T-w^*\|^2 \le (1-\eta\mu)^T \|w_0-w^*\|^2 + B"
DEFINES_B = rf"{GD_DISPLAY},\qquad B = \eta^2 \sum_{{i=1}}^N p_i \|\nabla F_i(w^\star)\|^2 ."


@pytest.mark.parametrize("between", [r"\qquad", r"\quad \text{where} \quad", r"\text{where }"])
def test_what_a_display_goes_on_to_define_is_as_a_where_line_says(between):
    claim, same = (
        read(display=text)["gd"]
        for text in (DEFINES_B.replace(r"\qquad", between), GD_DISPLAY.replace("B", r"\eta^2 \zeta_\star^2"))
    )
    assert claim.rhs.has(s.zeta_star_sq) and claim.rhs - same.rhs == 0


def test_a_letter_of_the_table_that_a_display_defines_otherwise_is_the_author_s():
    display = GD_DISPLAY.replace("B", r"\eta^2 \zeta_\star^2")
    other = read(display=rf"{display}, \qquad \zeta_\star^2 = 2 \sum_i p_i \|\nabla F_i(w^\star)\|^2")["gd"]
    assert sp.expand(other.rhs - read(display=display)["gd"].rhs - s.eta_0**2 * s.zeta_star_sq) == 0


@pytest.mark.parametrize(
    "tail",
    [
        r"\eta = \frac{1}{L}",
        "t = 0, 1, 2",
        r"\eta \le 1/L",
        r"\forall T",
        "N = 2",
        "B = 1, 2",
        r"B \le 1",
        r"L = 2\mu",
    ],
)
def test_what_follows_a_display_and_defines_no_name_is_refused(tail):
    with pytest.raises(InputError):
        read(display=rf"{GD_DISPLAY.replace('+ B', '')}, \qquad {tail}")


def test_how_steps_are_counted_is_no_hypothesis_where_the_points_are_counted_so():
    start_1 = WHOLE.replace("w_0", "w_1").replace("T+1", "T")
    assert read(r"for $t=1,2,\dots$", start_1)["gd"].unread == () == read(r"for $t = 0, 1, 2, \ldots$")["gd"].unread
    assert read(r"for $t=1,2,\dots$")["gd"].unread and read(r"for $t=0,1,\dots$", start_1)["gd"].unread
