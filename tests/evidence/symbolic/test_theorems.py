"""The true claims are thrown at random problems and never refuted; the false ones are refuted on instances."""

from hypothesis import given, settings
from proofs import proved

from fedbounds.plugins import claims
from fedbounds.testing import runs, verdict_on
from fedbounds.theory.verdict import Status

KNOWN = claims()


# Any step, the claims' own step, and that with one minimiser for all clients: each proved claim applies somewhere.
DRAWN = (runs(), runs(theory=True), runs(theory=True, homogeneous=True))


def test_proved_claims_are_never_refuted_and_each_applies():
    applied = set()
    for trajectories in DRAWN:

        @settings(max_examples=25)
        @given(trajectories)
        def never_refuted(trajectory):
            for claim, name in proved():
                status = verdict_on(claim, trajectory, name).status
                assert status is not Status.REFUTED
                if status is Status.HOLDS:
                    applied.add((claim.key, name))

        never_refuted()
    assert applied == {(claim.key, name) for claim, name in proved()}


@given(trajectory=runs(noise=False))
def test_noiseless_runs_are_decided(trajectory):
    # Started at w* both sides are 0: nothing is tested there.
    assert verdict_on(KNOWN["sharper-step"], trajectory).status in (Status.HOLDS, Status.VACUOUS)
