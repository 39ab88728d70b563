"""A table of samples, its split over clients, and the transformations that keep it a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices, check_finite

# Centring a column is exact to a few 1e-16 of its range, and its std is at least range / sqrt(2 n): a smaller
# standardised entry is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features (n, d) float64 and targets (n,): int64 labels among ``classes``, or float64 values.

    ``owners`` (n,) says which client holds a sample, where the data do.
    """

    features: Array
    targets: NDArray
    name: str
    classes: tuple[int, ...] | None = None
    owners: NDArray | None = None

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.targets.shape != self.features.shape[:1] or not self.targets.size:
            raise reject(
                f"{self.name} needs features (n, d) and one target for each of n >= 1 samples",
                f"features {self.features.shape} and targets {self.targets.shape}",
                "give one row a sample",
            )
        check_finite(self.features, f"features of {self.name}")
        check_finite(self.targets, f"targets of {self.name}")


@dataclass(frozen=True, eq=False)
class ClientData:
    """Features (n_i, d) and targets (n_i,) of every client i, and the weights p (N,)."""

    features: tuple[Array, ...]
    targets: tuple[NDArray, ...]
    p: Array
    name: str
    classes: tuple[int, ...] | None = None


def split(dataset: Dataset, parts: Sequence[Indices]) -> ClientData:
    """Give client i the samples ``parts[i]``; p_i = n_i / n."""
    empty = [i for i, part in enumerate(parts) if len(part) == 0]
    if empty or not parts:
        received = f"none for client {empty[0]}" if empty else "no clients"
        raise reject("every client needs at least one sample", received, "use fewer clients")
    sizes = np.array([len(part) for part in parts])
    return ClientData(
        tuple(dataset.features[part] for part in parts),
        tuple(dataset.targets[part] for part in parts),
        sizes / sizes.sum(), dataset.name, dataset.classes,
    )  # fmt: skip


def owned(dataset: Dataset) -> tuple[Indices, ...]:
    """The samples of each client of data that say whose they are, in the order of the clients' names."""
    owners = np.asarray(dataset.owners)
    names = np.unique(owners)
    if len(names) < 2:
        raise reject(
            f"the client column of {dataset.name} must name two clients", f"{names.tolist()}", "leave it out"
        )
    return tuple(np.flatnonzero(owners == name) for name in names)


def standardise(dataset: Dataset, *, intercept: bool = True) -> Dataset:
    """Columns with mean 0 and variance 1 (constant columns become 0), then one of ones: w[-1] is the intercept.

    (x_ij - mean_j) / std_j with std over n, not n - 1.
    """
    # Every column is first brought to [-1, 1], where differences and squares can neither overflow nor vanish.
    z = dataset.features / np.maximum(np.abs(dataset.features).max(axis=0), np.finfo(float).tiny)
    z -= z.min(axis=0)
    spread = z.max(axis=0)
    z -= z.mean(axis=0)
    std = np.sqrt(np.einsum("ij,ij->j", z, z) / len(z))
    z /= np.where(spread > 0, std, 1.0)
    z[np.abs(z) < ROUNDING] = 0.0
    return replace(dataset, features=np.column_stack([z, np.ones(len(z))]) if intercept else z)


def require_classes(data: Dataset | ClientData) -> tuple[int, ...]:
    """The K >= 2 sorted classes; real-valued or one-class targets are refused with the remedy."""
    if data.classes is None:
        raise reject(
            f"a logistic problem needs class labels, and {data.name} has labels of the wrong kind",
            "real-valued targets",
            "choose a least-squares problem, or data with classes",
        )
    if len(data.classes) < 2:
        raise reject(f"a logistic problem on {data.name} needs two classes", f"{data.classes}", "keep more samples")
    return data.classes


def as_regression(dataset: Dataset, scaled: bool = True) -> Dataset:
    """Targets as numbers; ``scaled`` to mean 0 and variance 1 (zeros if they are constant)."""
    column = replace(dataset, features=dataset.targets[:, None].astype(float), targets=np.zeros(len(dataset.targets)))
    name = f"{dataset.name} (labels as numbers)" if dataset.classes is not None else dataset.name
    values = standardise(column, intercept=False).features[:, 0] if scaled else column.features[:, 0]
    return replace(dataset, targets=values, name=name, classes=None)


def as_binary(dataset: Dataset) -> Dataset:
    """Two classes stay; of K > 2 sorted ones the lower K // 2 become 0 and the rest 1, as the name says."""
    classes = require_classes(dataset)
    if len(classes) == 2:
        return dataset
    halves = classes[: len(classes) // 2], classes[len(classes) // 2 :]
    names = [",".join(str(k) for k in half) for half in halves]
    labels = np.isin(dataset.targets, halves[1]).astype(np.int64)
    return replace(dataset, targets=labels, name=f"{dataset.name} ({names[0]} vs {names[1]})", classes=(0, 1))
