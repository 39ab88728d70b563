"""Names that users may have imported before the modules moved: each still works, and says where it lives now."""

import importlib
import subprocess
import sys

import pytest

import fedbounds

# Run in a process of its own: a name that was asked for once is there without a warning.
EACH_OLD_NAME = """
import importlib, warnings, fedbounds
for old, places in fedbounds._MOVED.items():
    place = places.split()[0]
    new = importlib.import_module("fedbounds." + place)
    own = [n for n, v in vars(new).items() if n[0] != "_" and getattr(v, "__module__", "") == new.__name__]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module = importlib.import_module("fedbounds." + old)
        same = module is new or own and getattr(module, own[0]) is vars(new)[own[0]]
    if not (same and told and "fedbounds." + place in str(told[0].message)):
        print(old, own[:1], same, [str(w.message) for w in told])
"""


def test_every_old_name_works_and_warns():
    done = subprocess.run([sys.executable, "-c", EACH_OLD_NAME], check=True, capture_output=True, text=True)
    assert done.stdout == ""


def test_parts_of_a_package_that_moved_are_the_same_modules():
    with pytest.warns(DeprecationWarning, match="show.report"):
        old = importlib.import_module("fedbounds.report.page")
    assert old is importlib.import_module("fedbounds.show.report.page")


def test_what_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("fedbounds.nowhere")
    with pytest.raises(AttributeError, match="nothing_like_it"):
        fedbounds.study.nothing_like_it  # noqa: B018
