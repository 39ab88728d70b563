"""Every format that is read: mutations of a valid file are read or refused in one sentence, never anything else."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from validate.robustness.damage import answered
from validate.robustness.formats import formats


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return {form.name: (form, valid) for form, valid in formats(tmp_path_factory.mktemp("formats"))}


def test_every_valid_file_is_read(known):
    for form, valid in known.values():
        form.path.write_bytes(valid)
        assert answered(lambda form=form: form.read(form.path), 300) == "accepted", form.name


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms())
def test_mutations_are_read_or_refused(known, rng):
    for form, valid in known.values():
        assert form.tried(rng, valid) in ("accepted", "refused"), form.name
