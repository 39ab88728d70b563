"""What Rocq's proofs rest on, compiled once for all tests."""

import re
import shutil

import pytest

from fedbounds.evidence.kernel import coqc, gram_certificates, rocq_runs

NAME = re.compile(r"statement_\w+")
OF_ALL = ("Space", "Model", "Facts")


@pytest.fixture(scope="session")
def folder(rocq_folder):
    return rocq_folder


@pytest.fixture(scope="session")
def certified():
    """What Rocq is given of the shipped certificates."""
    return list(gram_certificates.certified())


@pytest.fixture
def accepts(folder):
    """Whether Rocq accepts all of these pairs of a statement and its proof, in one run."""

    def together(stated, script):
        name = NAME.search(script)[0]
        script = script.replace(f" {name}.\n", " Space.\n", 1)  # the statement is in the same file
        return f"Module {name}.\n{stated}End {name}.\nModule of_{name}.\n{script}End of_{name}.\n"

    def accepted(*pairs):
        return coqc.compiled(folder, "tried", "".join(together(*pair) for pair in pairs))[0] == ""

    return accepted


@pytest.fixture
def resting(folder, monkeypatch):
    """A check of proofs takes what they rest on from that folder, where the text is the same."""

    def compiled(place, module, text):
        if module not in OF_ALL or (folder / f"{module}.v").read_text() != text:
            return coqc.compiled(place, module, text)
        for path in folder.glob(f"{module}.*"):
            shutil.copy(path, place)
        return "", ""

    monkeypatch.setattr(rocq_runs, "compiled", compiled)
