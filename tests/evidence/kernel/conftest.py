"""What Rocq's proofs rest on, compiled once for all tests."""

import shutil

import pytest

from fedbounds.evidence.kernel import coqc, proof_obligations, rocq_runs

OF_ALL = ("Space", "Model", "Facts")
OF_FOUND = ("Together", "Points", "Independent", "Drift", "Inside")
OF_CERTIFICATES = ("Certificate", "Parametric", "Round", "Noise")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the compiled files that certificates and found proofs rest on."""
    place = tmp_path_factory.mktemp("rocq")
    for name in (*OF_ALL, *OF_FOUND, *OF_CERTIFICATES):
        assert coqc.compiled(place, name, proof_obligations.sources()[name].read_text()) == ("", "")
    return place


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
