"""What Rocq's proofs rest on, compiled once for all tests."""

import pytest

from fedbounds.evidence.kernel import coqc, proof_obligations


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the compiled files that certificates and found proofs rest on."""
    place = tmp_path_factory.mktemp("rocq")
    of_found = ("Together", "Points", "Independent", "Drift", "Inside")
    of_certificates = ("Certificate", "Parametric", "Round", "Noise")
    for name in ("Space", "Model", "Facts", *of_found, *of_certificates):
        assert coqc.compiled(place, name, proof_obligations.sources()[name].read_text()) == ("", "")
    return place
