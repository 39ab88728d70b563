"""Data frames in and out (the only importer of pandas, which is optional: `pip install "fedbounds[frames]"`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbounds.errors import reject

INSTALL = 'pip install "fedbounds[frames]"'


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a ``pandas.DataFrame``, or as they are, a list, where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return list(rows)
    return pandas.DataFrame(rows)


def read_parquet(path: Path) -> dict[str, Any]:
    """Name -> values (n,) of each column; InputError where the file or a library is missing, or it is no Parquet."""
    try:
        import pandas

        table = pandas.read_parquet(path)
    except ImportError:
        raise reject("a Parquet file needs pandas and pyarrow", "an installation without them", INSTALL) from None
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise reject(f"{path} must be a readable Parquet file", f"{error}", "check the path") from None
    return {str(name): table[name].to_numpy() for name in table.columns}
