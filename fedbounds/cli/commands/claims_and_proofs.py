"""``fedbounds claims``, ``explain``, ``symbols``, ``new``, ``read``, ``derive`` and ``ledger``: claims and proofs."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import click

from fedbounds.cli.adapter import BAD_INPUT, Place, command
from fedbounds.cli.commands import contradiction_code, say, show, show_as, show_json

FILE = '''"""{title}: change the terms, the step size and the assumptions to those of your theorem.

fedbounds referee {name}.py says whether it is true; fedbounds symbols lists what there is.
"""

from fedbounds.theory import Claim, assumptions as a, symbols as s

MINE = Claim(
    key="{name}",
    title="{title}",
    source="a draft",
    scope="step",  # every t to t + 1; or "horizon" (every T), "point" (every client and point), "constant"
    lhs=s.Delta_next,
    terms={{
        "contraction": (1 - s.eta * s.mu) ** 2 * s.Delta,
        "drift": (1 - s.eta * s.mu) * s.eta * (s.L - s.mu) / 2 * s.drift,
        "noise": s.eta**2 * s.sigma_sq,
    }},
    units="checked",
    assumptions=(
        a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, a.unbiased,
        a.steps_up_to_2_over_L_plus_mu,
    ),
)
CLAIMS = (MINE,)
'''

DRAFT = r"""% {title}: change the display and its comment lines to those of your theorem.
% fedbounds read {name}.tex shows what is understood, fedbounds referee {name}.tex whether it is true.
\documentclass{{article}}
\usepackage{{amsmath,amssymb,amsthm}}
\newtheorem{{theorem}}{{Theorem}}
\begin{{document}}
\begin{{theorem}}\label{{{name}}}
% fedbounds: title {title}
% fedbounds: assume smooth, strongly-convex, bounded-variance, full-participation, unbiased, \eta_t (L + \mu) \le 2
\[
\mathbb{{E}}\|w_{{t+1}} - w^*\|^2 \le (1 - \eta_t\mu)^2\,\mathbb{{E}}\|w_t - w^*\|^2
  + (1 - \eta_t\mu)\,\eta_t\,\frac{{L - \mu}}{{2}}\,\mathbb{{E}}\sum_i \alpha_t^i \|w_t - w_t^i\|^2 + \eta_t^2\sigma^2
\]
\end{{theorem}}
\end{{document}}
"""


@command("The paper")
def claims(
    key: str | None = None,
    *,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "json", "latex"] = "table",
) -> None:
    """List the claims, or show one: statement, assumptions, source, readings and repair.

    format: How to print; latex writes a theorem file that read and referee take, in the first reading.
    """
    from fedbounds.plugins import claim_named
    from fedbounds.plugins import claims as known_claims
    from fedbounds.study.identity import titles

    if key is None and format == "table":
        formatter = click.HelpFormatter(width=shutil.get_terminal_size((100, 24)).columns)
        formatter.write_dl(list(titles(plugins).items()))
        show(formatter.getvalue())
        say("fedbounds explain CLAIM shows one in full.")
        return
    from fedbounds.report import claim_text

    chosen = list(known_claims(plugins).values()) if key is None else [claim_named(key, plugins)]
    if format == "latex":
        from fedbounds.latex.writer import write

        show("\n".join(write(claim, claim.readings[0]) for claim in chosen))
        return
    data = [claim_text.explain(claim) for claim in chosen]
    if format == "json":
        show_json(data if key is None else data[0])
    else:
        show(claim_text.to_text(data[0]))


@command("Judge a theorem")
def explain(claim: str, *, plugins: tuple[ModuleType, ...] = ()) -> None:
    """Say whether CLAIM is true, what of it holds and where it fails, then its statement in full."""
    from fedbounds.plugins import claim_named
    from fedbounds.report import claim_text
    from fedbounds.report.terminal import working
    from fedbounds.study.ledger import ledger_lines

    chosen = claim_named(claim, plugins)
    with working("proofs, counterexamples and certificates"):
        lines = ledger_lines({claim: chosen})
    show(f"{claim_text.claim_sentences(chosen, lines)}\n\n{claim_text.to_text(claim_text.explain(chosen))}")


@command("Judge a theorem")
def symbols(word: str | None = None) -> None:
    """List what a claim may be made of, symbols, assumptions and scopes: those with WORD in their line, or all.

    Symbols are in fedbounds.theory.symbols; fedbounds.theory.quantity makes one of your own. An assumption of your
    own is a relation between symbols, with Assumption from fedbounds and eta, L from fedbounds.theory.symbols:
    Assumption("tiny-steps", "eta_t <= 1/(8L)", sympy.Le(eta * L, sympy.Rational(1, 8))).
    """
    from fedbounds.errors import reject
    from fedbounds.report.terminal import plain_table
    from fedbounds.report.terminal_symbols import one_line
    from fedbounds.report.verdict_tables import SCOPES
    from fedbounds.theory import assumptions as shipped
    from fedbounds.theory.assumption import Assumption
    from fedbounds.theory.symbols import QUANTITIES, in_scope

    known = {name: item for name, item in vars(shipped).items() if isinstance(item, Assumption)}
    tables: dict[tuple[str, ...], list[tuple[str, ...]]] = {
        ("name", "symbol", "scope", "meaning"): [
            (name, one_line(q), ", ".join(q.scopes) or "any", q.meaning) for name, q in QUANTITIES.items()
        ],
        ("assumption", "key", "statement"): [(f"a.{name}", item.key, item.statement) for name, item in known.items()],
        ("scope", "a claim holds for", "symbols that vary"): [
            (name, about, ", ".join(in_scope(name))) for name, about in SCOPES.items()
        ],
    }
    found = {
        head: [row for row in rows if word is None or word.lower() in " ".join(row).lower()]
        for head, rows in tables.items()
    }
    if not any(found.values()):
        raise reject("WORD must occur in a symbol, an assumption or a scope", repr(word), "leave it out to list all")
    show("\n".join(plain_table(head, rows) for head, rows in found.items() if rows))
    show("Losses are differentiable in every statement, so that grad F(w*) = 0.")


@command("Judge a theorem", "new claim")
def new_claim(name: str, *, latex: bool = False) -> None:
    """Write NAME.py, a theorem that runs.

    latex: Write NAME.tex instead, a marked theorem as in a draft.
    """
    from fedbounds.errors import reject
    from fedbounds.io import write_text

    path = Path(f"{name}.tex" if latex else f"{name}.py")
    if path.exists() or not name.replace("-", "_").isidentifier():
        raise reject("a new claim needs a name that is free", name, "use letters, digits and hyphens")
    write_text(
        path,
        (DRAFT if latex else FILE).format(name=name, title=name.replace("-", " ").replace("_", " ").capitalize()),
    )
    show(f"Wrote {path}. Is it true? fedbounds referee {path}")


@command("Judge a theorem", label="--theorem")
def read(file: Annotated[Path, Place(dir_okay=False)], *, label: str | None = None) -> int:
    """Read the marked theorems of a LaTeX FILE back: each statement, its symbols, and what may vary. Judges nothing.

    A theorem is marked by comment lines such as "% fedbounds: assume smooth"; claims KEY --format latex shows one.
    All errors are listed; theorems without one are read nevertheless.

    label: Only the theorem with this label.
    """
    from fedbounds.errors import InputError
    from fedbounds.latex.reader import claims_in_order, unmarked
    from fedbounds.report.claim_text import read_back

    every = list(claims_in_order(file, label))
    for item in every:
        if isinstance(item, InputError):
            say(str(item))
        else:
            show(read_back(item))
    if label is None and (without := unmarked(file)):
        say(f"Left out without comment lines: {', '.join(without)}; --theorem {without[0]} shows some to add.")
    return BAD_INPUT * any(isinstance(item, InputError) for item in every)


@command("The paper", every="--all")
def derive(
    name: str | None = None,
    *,
    every: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["text", "json"] = "text",
) -> None:
    """Check the proof of claim or derivation NAME, and print it.

    every: Check every derivation and print the summary table.
    """
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.evidence.symbolic import render

    if every == (name is not None):
        raise reject("derive needs a name, or --all", repr(name), "give the key of one claim or derivation, or --all")
    result = [(proof.checked, proof.verdict) for proof in fedbounds.derive(name, plugins=plugins)]
    show(render.table(result, format) if name is None else render.rendered(result[0], format))


@command("The paper")
def ledger(*, plugins: tuple[ModuleType, ...] = (), format: Literal["table", "json"] = "table") -> int:
    """Show every claim by every kind of evidence but runs, and the paper's remarks.

    Proofs, counterexamples and certificates are verified again, with no solver and no search. Exits with code 3 if
    two kinds of evidence contradict each other.
    """
    import fedbounds
    from fedbounds.report import verdict_tables as tables
    from fedbounds.report.terminal import working
    from fedbounds.study import ledger as study

    with working("proofs, counterexamples and certificates"):
        lines = fedbounds.ledger(plugins=plugins).items
        remarks = study.remarked()
    blocks = [
        *tables.alarm_blocks(lines),
        tables.ledger_table(lines),
        tables.remark_table(remarks),
    ]
    show_as(format, [*(line.to_json() for line in lines), *(item.to_json() for item in remarks)], blocks)
    return contradiction_code(lines)
