"""Tables and blocks of a report as Markdown, and their places in the pages of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedbounds.errors import reject
from fedbounds.report.table import Block, Bullets, Code, Formula, Heading, Table


def marked(name: str) -> re.Pattern[str]:
    """What stands between the two marks of a name, with the marks."""
    return re.compile(rf"(<!-- {name}: begin .*?-->\n)(.*?)(<!-- {name}: end -->)", re.DOTALL)


def filled(page: str, table: str, name: str = "table") -> str:
    """The page with what stands between its two marks replaced by the table."""
    result, count = marked(name).subn(lambda match: f"{match[1]}\n{table.strip()}\n\n{match[3]}", page)
    if count != 1:
        raise reject("the page needs one pair of table marks", f"{count} pairs", "restore its file")
    return result


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown whose cells are Markdown already; a bar inside a cell would end it."""
    first, *rest = (" | ".join(str(cell).replace("|", r"\|") for cell in line) for line in (list(head), *rows))
    return "\n".join([f"| {first} |", "|" + "---|" * len(list(head)), *(f"| {line} |" for line in rest)])


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
