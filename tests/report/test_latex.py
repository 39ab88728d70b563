"""What is offered as LaTeX compiles: statements, proofs and tables."""

import re
import shutil
import subprocess

import pytest

from fedbounds import plugins
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.render import render_latex
from fedbounds.referee.trial import try_claim
from fedbounds.report.verdict_tables import ledger_table
from fedbounds.study.ledger import ANYWHERE, Line
from fedbounds.theory.claim import statement

PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{\let\toprule\hline\let\midrule\hline\let\bottomrule\hline}
\begin{document}
"""
END = r"\end{document}"


def page(key):
    """The body of a proof's page."""
    whole = render_latex(verified_proofs.checked_named(key))
    return whole.partition(r"\begin{document}")[2].partition(END)[0]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_everything_in_latex_compiles(tmp_path):
    claims = plugins.claims()
    trial = try_claim("lemma-2", "literal")
    lines = [Line(claims["lemma-2"], "literal", tuple((ANYWHERE, v) for v in trial.verdicts))]
    parts = [page("lemma-2"), *(rf"\[ {statement(claim)} \]" for claim in claims.values())]
    parts.append(ledger_table(lines).to_latex())
    (tmp_path / "all.tex").write_text("\n\n".join([PREAMBLE, *parts, END]))
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "all.tex"]
    done = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, text=True, errors="replace")
    faults = re.findall(r"^!.*(?:\n.*){4}", done.stdout, re.MULTILINE)
    assert (faults, done.returncode) == ([], 0)
