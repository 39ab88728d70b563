"""The pages keep their word: links lead somewhere, commands parse, the ledger's table can be written anew."""

import re
import shlex
from pathlib import Path

import click
import pytest

from fedbounds.cli.adapter import Plugin
from fedbounds.cli.app import main
from fedbounds.errors import InputError
from validate.ledger_page import PAGE
from validate.markdown import filled, marked

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(fedbounds .*)$", re.MULTILINE)
# README.md shows a picture that `make demo` draws, and the gallery is drawn as the documentation is built.
DRAWN = {"docs/img/bounds.png", "auto_gallery/index.rst"}


def commands(page):
    """Every command line in the fenced blocks of a page, continued lines joined; two spaces begin a remark."""
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        for line in COMMAND.findall(re.sub(r"\\\n\s*", "", block)):
            yield shlex.split(re.split(r"  | # ", line)[0])[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target and target not in DRAWN:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_parse(page, monkeypatch):
    monkeypatch.setattr(Plugin, "convert", lambda self, value, *_: value)  # the reader's own file is not here
    for words in commands(page):
        try:
            context = click.Context(main)
            name, command, rest = main.resolve_command(context, list(words))
            command.make_context(name, rest, parent=context)
        except click.ClickException as wrong:
            raise AssertionError(f"{page.name}: fedbounds {' '.join(words)}: {wrong.format_message()}") from wrong


def test_some_commands_were_found():
    assert sum(1 for page in PAGES for _ in commands(page)) > 20


def test_the_ledger_s_table_is_replaced_between_its_marks():
    page = PAGE.read_text(encoding="utf-8")
    again = filled(page, "| new |\n")
    assert marked("table").sub("", again) == marked("table").sub("", page) and "\n| new |\n" in again
    assert filled(again, "| new |") == again
    with pytest.raises(InputError, match="marks"):
        filled("no marks", "| new |")
