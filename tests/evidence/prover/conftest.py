"""What proofs need is tested here; whether an instance meets their assumptions, which takes longer, elsewhere."""

import pytest

from fedbounds.evidence.symbolic import verified_proofs


@pytest.fixture(autouse=True)
def no_instances(monkeypatch):
    monkeypatch.setattr(verified_proofs, "instance_that_meets", lambda claim, reading: claim)
