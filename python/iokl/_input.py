"""Checks of what callers hand over, with the messages that users of scikit-learn know."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _base
from ._library import Floats, IOKLWarning


class DataConversionWarning(IOKLWarning, _base.DataConversionWarning):
    """Data are used in another form than they have."""


def names_of(table: Any) -> NDArray[Any] | None:
    """The names of the columns of a data frame, or of a series; None where there are none."""
    columns = getattr(table, "columns", None)
    if columns is None:
        name = getattr(table, "name", None)
        return np.array([name], dtype=object) if isinstance(name, str) and hasattr(table, "iloc") else None
    names = np.asarray(columns, dtype=object)
    strings = [isinstance(n, str) for n in names]
    if len(names) and all(strings):
        return names
    if any(strings):
        raise TypeError(
            "Feature names are only supported if all input features have string names,"
            " but some columns have names that are not strings"
        )
    return None


def floats(a: Any, what: str) -> NDArray[Any]:
    """a as an array of floats, whatever its shape, without a copy where it is one of float64."""
    if hasattr(a, "toarray") and hasattr(a, "nnz"):
        raise TypeError(
            f"A sparse matrix was passed as {what}, but dense data is required."
            f" Use {what}.toarray() to convert to a dense numpy array."
        )
    if hasattr(a, "__array_function__") or hasattr(a, "iloc") or hasattr(a, "__array__"):
        raw = np.asarray(a)
    else:
        raw = np.array(a)
    if raw.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{what} is of type {raw.dtype}")
    if raw.dtype.kind in "USmM":
        raise ValueError(f"{what} holds {raw.dtype} data: numbers are needed")
    try:
        if raw.dtype == object and hasattr(a, "iloc"):  # a data frame: its missing cells are NaN
            return np.asarray(a.where(a.notna(), np.nan).astype("float64"))
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as e:
        place = _unreadable(raw, a) if raw.ndim == 2 else None
        if place is None:
            raise
        raise type(e)(f"{place} of {what} is no number: {e}") from None


def _unreadable(raw: NDArray[Any], table: Any) -> str | None:
    """The first cell that is no number, with its row and column."""
    names = getattr(table, "columns", range(raw.shape[1]))
    for i, row in enumerate(raw):
        for name, cell in zip(names, row):
            try:
                float(cell)
            except (TypeError, ValueError):
                if cell is not None:
                    return f"row {i}, column {name!r}: {cell!r}"
    return None


def dated(table: Any) -> tuple[Any, list[int] | None]:
    """A data frame with its dates, and those of its index as a first column, in days, and where these columns are."""
    if not hasattr(table, "iloc") or not hasattr(table, "columns"):
        return table, None
    index = table.index.to_timestamp() if hasattr(table.index, "to_timestamp") else table.index
    if index.dtype.kind == "M":
        name = "time" if index.name is None or index.name in table.columns else index.name
        table = table.reset_index(drop=True)
        table.insert(0, name, index)
    dates = [k for k, kind in enumerate(table.dtypes) if kind.kind == "M"]
    days = {}
    for k in dates:
        stamp = table.iloc[:, k].to_numpy(dtype="datetime64[ns]")
        days[table.columns[k]] = np.where(np.isnat(stamp), np.nan, stamp.astype(np.int64) / 86400e9)
    return table.assign(**days) if days else table, dates or None


def finite(a: NDArray[Any], what: str) -> None:
    """Refuse infinities; NaN is a missing cell. It looks at blocks of rows, to take little memory."""
    rows = max(1, 2**16 * len(a) // max(1, a.size))
    for at in range(0, len(a), rows):
        if np.isinf(a[at : at + rows]).any():
            raise ValueError(f"Input {what} contains infinity or a value too large for dtype('float64').")


def _empty(kind: str, a: NDArray[Any], estimator: str) -> ValueError:
    found = f"Found array with 0 {kind}(s) (shape={a.shape})"
    return ValueError(f"{found} while a minimum of 1 is required by {estimator}.")


def table(X: Any, estimator: str) -> Floats:
    """X as rows and columns of numbers."""
    a = floats(X, "X")
    if a.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {a.ndim}D array instead. Reshape your data either using array.reshape(-1, 1)"
            " if your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    for axis, kind in enumerate(("sample", "feature")):
        if a.shape[axis] == 0:
            raise _empty(kind, a, estimator)
    finite(a, "X")
    return a


def grams(K: Any, estimator: str) -> list[Floats]:
    """K as a list of matrices: one, or a stack of them in the first axis."""
    a = floats(K, "X")
    if a.ndim not in (2, 3):
        raise ValueError(f"Expected a 2D array, or a 3D stack of kernel matrices, got {a.ndim}D array instead")
    if a.size == 0:
        raise _empty("sample", a, estimator)
    finite(a, "X")
    return [a] if a.ndim == 2 else list(a)


def targets(y: Any, rows: int, estimator: str, least: int = 2) -> tuple[Floats, bool]:
    """y as rows and outputs, and whether it is a single list of numbers."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    a = floats(y, "y")
    if a.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d or 2d array, got an array of shape {a.shape} instead.")
    same_rows(rows, len(a), least)
    finite(a, "y")
    return a.reshape(len(a), -1), a.ndim == 1


def weights(w: Any, rows: int) -> list[list[float]]:
    """Weights of the rows, or of the targets in them, as rows."""
    a = floats(w, "sample_weight")
    if a.ndim not in (1, 2) or len(a) != rows:
        raise ValueError(f"sample_weight.shape == {a.shape}, expected ({rows},)!")
    if not np.isfinite(a).all():
        raise ValueError("sample_weight contains NaN or infinity")
    return a.reshape(rows, -1).tolist()


def points(axis: Any) -> Floats:
    """Points of the axis of the outputs, one a row."""
    a = floats(axis, "points")
    if a.ndim not in (1, 2) or a.size == 0:
        raise ValueError(
            f"points of the axis of the outputs should be a 1d or 2d array, got an array of shape {a.shape} instead."
        )
    return a.reshape(len(a), -1)


def same_rows(x: int, y: int, least: int = 2) -> None:
    """Refuse inputs and targets of different lengths, or of fewer samples than two where a fit is to start."""
    if x == y < least:
        raise ValueError("n_samples=1: a fit needs two samples or more")
    if x != y:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[x, y]}")


def labels(y: Any, rows: int, estimator: str, least: int = 2) -> tuple[NDArray[Any], NDArray[np.int64], list[str]]:
    """The classes of y, the number of the class of each row, and the names that the library knows them by."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    a = np.asarray(y)
    if a.ndim == 2 and a.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected."
            " Please change the shape of y to (n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        a = a.ravel()
    if a.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {a.shape} instead.")
    if a.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds class labels")
    same_rows(rows, len(a), least)
    if a.dtype.kind == "f":
        if np.isnan(a).any():
            raise ValueError("Input y contains NaN.")
        finite(a, "y")
        if (a != np.floor(a)).any():
            raise ValueError(
                "Unknown label type: continuous. A classifier needs discrete classes; a regressor learns numbers."
            )
    if a.dtype == object and any(v is None or v != v for v in a):
        raise ValueError("Input y contains NaN.")
    classes, codes = np.unique(a, return_inverse=True)
    return classes, np.ascontiguousarray(codes, dtype=np.int64), [label(c) for c in classes]


def label(c: Any) -> str:
    """The name of a class; whole numbers are written as such."""
    c = c.item() if isinstance(c, np.generic) else c
    return str(int(c)) if isinstance(c, float) and c == int(c) else str(c)


def classes_of(names: list[str]) -> NDArray[Any]:
    """The classes of a model by their names: numbers where all of them are."""
    for kind in (int, float):
        try:
            return np.array([kind(n) for n in names])
        except ValueError:
            pass
    return np.array(names)
