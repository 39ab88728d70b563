"""Real data: shapes, transformations, and what scikit-learn ships."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import datasets

from fedbounds.errors import InputError
from fedbounds.problems.data import dataset as tables
from fedbounds.problems.data import sources as data

# Means and variances of at most 20 numbers of order 1 after one division: a few dozen roundings.
ROUNDING = 1e-12


def table(features: np.ndarray, targets: np.ndarray, classes: tuple[int, ...] | None = None) -> tables.Dataset:
    return tables.Dataset(features, targets, "made up", classes)


@pytest.mark.parametrize(
    ("source", "shape", "classes"),
    [("digits", (1797, 64), tuple(range(10))), ("breast-cancer", (569, 30), (0, 1)), ("diabetes", (442, 10), None)],
)
def test_shipped_data(source, shape, classes):
    dataset = data.load(source)
    assert dataset.features.shape == shape and dataset.features.dtype == np.float64
    assert dataset.targets.shape == shape[:1]
    assert dataset.classes == classes
    assert dataset.targets.dtype == (np.int64 if classes else np.float64)


def test_limit_keeps_the_first_samples_and_their_classes():
    whole, few = data.load("digits"), data.load("digits", limit=4)
    assert np.array_equal(few.features, whole.features[:4]) and few.classes == (0, 1, 2, 3)
    with pytest.raises(InputError, match="limit must be at least 1"):
        data.load("digits", limit=0)


def test_whole_numbers_are_classes_unless_there_are_many():
    for targets, classes in (([1.5, 2.0], False), ([2.0, 1.0], True), (range(data.MAX_CLASSES + 1), False)):
        made = data.of_object(np.ones((len(targets), 1)), np.array(targets))
        assert (made.classes is not None) is classes and made.targets.tolist() == list(targets)


def test_a_sparse_table_is_made_dense_where_it_fits():
    made = data.of_object(sparse.csr_array(np.eye(3)), np.arange(3.0))
    assert np.array_equal(made.features, np.eye(3))
    with pytest.raises(InputError, match="as a dense table"):
        data.of_object(sparse.csr_array((2**15, 2**14)), np.zeros(2**15))


def test_images_in_idx_files_are_data_with_classes(tmp_path):
    images, labels = np.arange(24, dtype=np.uint8).reshape(4, 2, 3), np.array([3, 1, 3, 0], dtype=np.uint8)
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        shape = b"".join(size.to_bytes(4, "big") for size in array.shape)
        (tmp_path / f"train-{name}-ubyte").write_bytes(bytes((0, 0, 8, array.ndim)) + shape + array.tobytes())
    made = data.load(f"mnist:{tmp_path}", limit=3)
    assert np.array_equal(made.features, images[:3].reshape(3, 6) / 255) and made.targets.tolist() == [3, 1, 3]
    assert made.classes == (1, 3) and made.name == tmp_path.name
    with pytest.raises(InputError, match="must be a folder"):
        data.load(f"mnist:{tmp_path / 'no'}")
    with pytest.raises(InputError, match="mnist:FOLDER"):
        data.load("mnist:")


def test_unknown_source_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'breast-cancer'"):
        data.load("breast_cancer")


# --- transformations ---------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 20), st.integers(1, 4)),
        # All finite numbers, subnormal ones too: neither differences nor squares may leave the range.
        elements=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-1.7e308, 1.7e308, 0.1, 2.0]),
    )
)
def test_standardised_columns(features):
    z = tables.standardise(table(features, np.zeros(len(features)))).features
    constant = np.ptp(features / np.maximum(np.abs(features).max(axis=0), 1e-308), axis=0) == 0
    assert np.array_equal(z[:, -1], np.ones(len(features)))
    z = z[:, :-1]
    assert np.all(z[:, constant] == 0)
    assert np.all(np.abs(z.mean(axis=0)) <= ROUNDING)
    assert np.all(np.abs(z[:, ~constant].var(axis=0) - 1) <= ROUNDING)


def test_logistic_refuses_labels_of_the_wrong_kind():
    with pytest.raises(InputError, match=r"labels of the wrong kind.*choose a least-squares problem"):
        tables.require_classes(data.load("diabetes"))
    with pytest.raises(InputError, match="needs two classes"):
        tables.require_classes(table(np.ones((2, 1)), np.array([4, 4]), (4,)))


@pytest.mark.parametrize(("name", "scale"), [("digits", 16.0), ("breast-cancer", 1.0), ("diabetes", 1.0)])
def test_shipped_tables_are_those_that_scikit_learn_loads(name, scale):
    """They are read without it, so that a file moved or written otherwise must show."""
    features, targets = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    shipped = data.load(name)
    labels = np.unique(targets, return_inverse=True)[1] if shipped.classes else targets
    own = np.unique(shipped.targets, return_inverse=True)[1] if shipped.classes else shipped.targets
    assert np.array_equal(shipped.features, features / scale) and np.array_equal(own, labels)
