"""What Rocq's proofs rest on, compiled once for all tests."""

import shutil

import pytest

from fedbounds.evidence.kernel import coqc, rocq_runs

OF_ALL = ("Space", "Model", "Facts")


@pytest.fixture(scope="session")
def folder(rocq_folder):
    return rocq_folder


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
