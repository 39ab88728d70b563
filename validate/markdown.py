"""Tables and blocks of a report as Markdown, for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from fedbounds.report.table import Block, Bullets, Code, Formula, Heading, Table


def of_table(table: Table) -> str:
    """A table of GitHub's Markdown, REFUTED in bold."""
    body = [["**REFUTED**".join(escaped(str(cell)).split("REFUTED")) for cell in row] for row in table.rows]
    head = [[escaped(str(name)) for name in table.head], ["---"] * len(table.head)]
    first, rule, *rest = (f"| {' | '.join(cells)} |" for cells in (*head, *body))
    return "\n".join([first, rule.replace(" ", ""), *rest]) + "\n"


def of_blocks(blocks: Iterable[Block]) -> str:
    """The blocks as Markdown, with every character escaped that means something there."""
    parts = []
    for block in blocks:
        if isinstance(block, Table):
            parts += [escaped(block.caption)] * bool(block.caption) + [of_table(block).rstrip()]
        elif isinstance(block, Bullets):
            parts += [f"{escaped(block.title)}:", "\n".join(f"- {escaped(item)}" for item in block.items)]
        elif isinstance(block, Heading):
            parts.append(f"## {escaped(block.heading)}")
        elif isinstance(block, Formula | Code):
            parts.append(f"$$ {block.latex} $$" if isinstance(block, Formula) else f"```\n{block.verbatim}\n```")
        else:
            parts += map(escaped, block.split("\n"))
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Words as Markdown, on one line."""
    return "".join("\\" + c if c in r"\<>*_`[]|" else c for c in text.replace("\n", " "))
