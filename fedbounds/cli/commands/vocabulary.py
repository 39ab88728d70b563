"""``fedbounds claims``, ``symbols``, ``assumptions``, ``scopes``, ``new`` and ``read``: what a claim is made of."""

from __future__ import annotations

import shutil
import typing
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import click

from fedbounds.cli.adapter import BAD_INPUT, Place, command
from fedbounds.cli.commands import say, show, show_json

FILE = '''"""{title}: change the terms, the step size and the assumptions to those of your theorem.

fedbounds referee {name}.py says whether it is true; fedbounds symbols, assumptions and scopes list what there is.
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
    reading: str | None = None,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "json", "latex"] = "table",
) -> None:
    """List the claims, or show one: statement, assumptions, source, readings and repair.

    reading: With --format latex, the reading to write (default: the first).
    format: How to print; latex writes a theorem file that read and referee take.
    """
    if reading is not None:
        _require_reading(reading, format)
    from fedbounds.plugins import claim_named
    from fedbounds.plugins import claims as known_claims
    from fedbounds.study.release_evidence import titles

    if key is None and format == "table":
        formatter = click.HelpFormatter(width=shutil.get_terminal_size((100, 24)).columns)
        formatter.write_dl(list(titles(plugins).items()))
        show(formatter.getvalue())
        say("fedbounds explain CLAIM shows one in full.")
        return
    from fedbounds.report import claim_text

    if format == "json":
        listed = known_claims(plugins).values() if key is None else [claim_named(key, plugins)]
        data = [claim_text.explain(claim) for claim in listed]
        show_json(data if key is None else data[0])
    elif format == "latex":
        from fedbounds.latex.writer import write

        chosen = known_claims(plugins).values() if key is None else (claim_named(key, plugins),)
        show("\n".join(write(claim, reading or claim.readings[0]) for claim in chosen))
    elif key is not None:
        show(claim_text.to_text(claim_text.explain(claim_named(key, plugins))))


def _require_reading(reading: str, format: str) -> None:
    """Refuse a reading that is unknown, or that no format asks for."""
    from fedbounds.errors import reject
    from fedbounds.plugins import nearest
    from fedbounds.theory.reading import READINGS

    if format != "latex":
        raise reject("--reading is of --format latex", repr(reading), "add --format latex, or leave it out")
    if reading not in READINGS:
        raise nearest("reading", reading, READINGS)


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


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]], word: str | None) -> None:
    """The rows that have ``word`` in them, as a table."""
    from fedbounds.report.terminal import plain_table

    result = [row for row in rows if word is None or word.lower() in " ".join(row).lower()]
    if not result:
        from fedbounds.errors import reject

        what = f"WORD must occur in a {next(iter(head))} or its meaning"
        raise reject(what, repr(word), "leave it out to list all")
    show(plain_table(list(head), result))


@command("Judge a theorem")
def symbols(word: str | None = None) -> None:
    """List the symbols a claim may be made of: those with WORD in their name or meaning, or all.

    All are in fedbounds.theory.symbols; fedbounds.theory.quantity makes one of your own.
    """
    from fedbounds.report.terminal_symbols import one_line
    from fedbounds.theory.symbols import QUANTITIES

    rows = [(name, one_line(q), ", ".join(q.scopes) or "any", q.meaning) for name, q in QUANTITIES.items()]
    _table(("name", "symbol", "scope", "meaning"), rows, word)


@command("Judge a theorem")
def assumptions(word: str | None = None) -> None:
    """List the assumptions shipped: those with WORD in them, or all.

    One of your own is a relation between symbols:
    Assumption("tiny-steps", "eta_t <= 1/(8L)", sympy.Le(eta * L, sympy.Rational(1, 8))), with Assumption from
    fedbounds and eta, L from fedbounds.theory.symbols.
    """
    from fedbounds.theory import assumptions as known
    from fedbounds.theory.assumption import Assumption

    rows = [
        (f"a.{name}", item.key, item.statement) for name, item in vars(known).items() if isinstance(item, Assumption)
    ]
    _table(("name", "key", "statement"), rows, word)
    show("Losses are differentiable in every statement, so that grad F(w*) = 0.")
    show("One of your own: Assumption(KEY, TEXT, RELATION), see fedbounds assumptions --help.")


@command("Judge a theorem")
def scopes(word: str | None = None) -> None:
    """List what a claim may range over, and the symbols that vary there."""
    from fedbounds.report.verdict_tables import SCOPES
    from fedbounds.theory.quantity import Scope
    from fedbounds.theory.symbols import in_scope

    _table(
        ("scope", "a claim holds for", "symbols that vary"),
        [(name, SCOPES[name], ", ".join(in_scope(name))) for name in typing.get_args(Scope)],
        word,
    )


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
