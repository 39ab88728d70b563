"""Displays of public papers, notes and drafts: each reads as its author means it, or is refused for the reason.

What is expected stands above each theorem of the files: ``% fails:`` words of the error with which it is refused,
``% adds:`` the comment line that is then added, ``% reads:`` both sides of each relation in the end, * uncompared,
and ``% kinds:`` which evidence expresses it, for test_common_evidence.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.marked_theorems import Line, theorems
from fedbounds.latex.reader import claims_of
from fedbounds.latex.statement import claim_of
from fedbounds.plugins import claim_named
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.path_quantities import mean_slope_sq

HERE = Path(__file__).parent
PUBLIC = ("collected", "displays", "found", "fresh", "later", "from_memory")
# Of these no word may be left unread, as they are made up here.
OWN = ("ranges", "points", "common")
CORPORA = (*PUBLIC, *OWN)
EXPECTED = re.compile(r"((?:^% (?:fails|adds|reads|kinds): .*\n)+)\\begin\{.*?\\label\{(.*?)\}", re.MULTILINE)
NAMES = vars(s) | {"at": at, "mean_slope_sq": mean_slope_sq}
NAMES |= {name: getattr(sp, name) for name in ("sqrt", "exp", "Min", "Max", "Rational")}


def labelled(name):
    """Label -> marked theorem of a file beside this one."""
    return {theorem.label: theorem for theorem in theorems(HERE / f"{name}.tex")}


def expected(name):
    """Label -> its lines of what is expected, as (verb, words)."""
    found = EXPECTED.findall((HERE / f"{name}.tex").read_text())
    return {label: [tuple(line[2:].split(": ", 1)) for line in lines.splitlines()] for lines, label in found}


THEOREMS = {name: labelled(name) for name in CORPORA}
STEPS = {name: expected(name) for name in CORPORA}


def with_line(theorem, line):
    verb, _, text = line.partition(" ")
    return replace(theorem, lines=(*theorem.lines, Line(verb, text, 1, 1)))


def spelled_out(expression):
    """With quantities that the table does not name by what they measure."""
    unnamed = [q for q in expression.free_symbols if getattr(q, "name", "").startswith(("expected_", "gap_next"))]
    return expression.xreplace({q: q.expression for q in unnamed})


def assert_says(claim, relation):
    """Both sides are those of the relation; a constant step is that of every step."""
    constant = {s.eta: s.eta_0} if claim.eta == s.eta_0 else {}
    for ours, text in zip((claim.lhs, claim.rhs), relation.split(" <= "), strict=True):
        if text != "*":
            difference = (spelled_out(ours) - eval(text, NAMES)).subs(constant)
            assert sp.expand(at.normal(sp.expand(difference))) == 0 or sp.simplify(difference) == 0


@pytest.mark.parametrize(("name", "label"), [(name, label) for name in CORPORA for label in THEOREMS[name]])
def test_a_display_reads_as_its_author_means_it_or_is_refused_for_the_reason(name, label):
    theorem, steps = THEOREMS[name][label], STEPS[name][label]
    for verb, words in steps:
        if verb == "fails":
            with pytest.raises(InputError, match="line ") as wrong:
                claims_of(theorem)
            assert words in str(wrong.value)
        if verb == "adds":
            theorem = with_line(theorem, words)
    relations = [words for verb, words in steps if verb == "reads"]
    if relations:
        for claim, relation in zip(claims_of(theorem), relations, strict=True):
            assert_says(claim, relation)
            assert name not in OWN or claim.unread == ()


def counted(*names):
    """How many displays there are, read at once, and read with the lines that errors ask for."""
    every = [[verb for verb, _ in steps] for name in names for steps in STEPS[name].values()]
    read = [verbs for verbs in every if "reads" in verbs]
    at_once = sum("fails" not in verbs for verbs in read)
    return len(every), at_once, len(read) - at_once


def test_the_page_says_how_many_displays_are_read():
    page = (HERE.parents[1] / "docs" / "howto" / "latex.md").read_text().replace("\n", " ")
    every, at_once, asked = counted("collected", "displays", "found", "fresh")
    assert f"Of {every} displays of public papers, notes and drafts, {at_once} read as their authors" in page
    assert f"and {asked} with the lines that errors ask for" in page
    every, at_once, asked = counted("fresh")
    others = (HERE / "fresh.tex").read_text().partition("%%% Others")[2]
    explicit = every - len(EXPECTED.findall(others))
    assert f"the {every} among them that a rule collected last, {explicit} are explicit" in page
    assert f"inequalities: {at_once} and {asked} of them" in page
    assert "Of {} found after that, {} and {}; ".format(*counted("later")) in page
    assert "of {} written from memory, {} and {}".format(*counted("from_memory")) in page


def test_steps_that_count_from_one_are_counted_from_zero():
    assert claim_of(THEOREMS["collected"]["li-1"]).eta == 2 / (s.mu * (s.gamma + s.t + 1))
    assert claim_of(THEOREMS["collected"]["edge-federated-rate"]).eta == 1 / (s.mu * (s.t + 1))


def test_a_letter_of_the_table_may_be_the_authors_own_constant():
    theorem = with_line(THEOREMS["displays"]["li-partial"], r"where C = \frac{4}{m}E^2G^2")
    (claim,) = claims_of(with_line(theorem, "assume selection-without-replacement"))
    noise = "sigma_p_sq + 6*L*Gamma + 8*(tau - 1)**2*G_sq + 4*tau**2*G_sq/m"
    assert_says(claim, f"gap <= 2*L/mu/(gamma + T)*(({noise})/mu + 2*L*Delta_0)")


def test_the_displays_of_the_paper_that_are_claims_read_as_the_shipped_claims():
    read = {label: claim_of(theorem) for label, theorem in labelled("paper").items()}
    for label, key in (("discrepancy", "lemma-2"), ("one-step", "theorem-1")):
        shipped = claim_named(key)
        assert read[label].lhs == shipped.lhs and sp.expand(read[label].rhs - shipped.rhs) == 0
    assert_says(read["smoothness"], "grad_sq <= 2*L*excess")
    assert (read["rate"].lhs, read["rate"].kind) == (s.gap, "rate")
    noise = "32*tau**2*G_sq + sigma_sq"
    step = f"(1 - eta*mu*(1 + 3*rho_bar/8))*Delta + eta**2*({noise})"
    assert_says(read["homogeneous-step"], f"Delta_next <= {step}")
    bound = f"(4*L*({noise})/(3*mu**2*rho_bar) + L*gamma*Delta_0/2)/(T + gamma)"
    assert_says(read["homogeneous-bound"], f"gap <= {bound}")


# File -> the left sides of a stranger's theorems, in its order.
STRANGERS = {
    "stranger": """Delta_next Delta_round_next gap Delta_round_next gap_next Delta_round_next Delta_round_next gap
        average_gap Delta_round slope_sq Delta_T drift Delta_next average_gap Delta_round_next gap_round_next
        Delta_round Delta_round_next Delta_next optimum_to_mean Delta_round_next gap gap""",
    "later_stranger": """gap Delta_round_next gap_next eta_average_gap average_gap average_gap optimum_to_mean drift
        Delta_round_next Delta_round_next Delta_next Delta_round Delta_round_next Delta_next Delta_next drift slope_sq
        gap_round_next gap_round_next slope_variance Delta_T Delta_T""",
}


@pytest.mark.parametrize(("name", "warned"), [("stranger", {"15", "22"}), ("later_stranger", set())])
def test_a_stranger_s_theorems_are_read_and_what_their_text_repeats_is_no_warning(name, warned):
    every = {claim.key: claim for claim in map(claim_of, theorems(HERE / f"{name}.tex"))}
    assert [str(claim.lhs) for claim in every.values()] == STRANGERS[name].split()
    assert {key for key, claim in every.items() if claim.unread} == warned
    if name == "stranger":
        floor = s.eta_0**2 * (s.tau - 1) ** 2 * s.zeta_star_sq
        assert every["12"].rhs.coeff(s.zeta_star_sq) * s.zeta_star_sq - floor == 0
        assert sp.expand(every["08"].rhs - every["24"].rhs).has(s.sigma_sq) and not every["08"].rhs.has(s.G_sq)
    else:
        by_name = {key.partition(":")[2]: claim for key, claim in every.items()}
        assert by_name["round-floor"].rhs.coeff(s.Delta_round) == (1 - s.eta * s.mu) ** (2 * s.tau)
        assert by_name["last"].definitions[s.gamma] == 8 * s.L / s.mu + s.tau
