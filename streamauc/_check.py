"""Checks of arguments: each returns the argument in one known form, or says what is wrong with it.

Messages name the argument, the requirement, the value and, in arrays, the index.
"""

import math
import numbers
from collections.abc import Sequence
from typing import SupportsFloat, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CHUNK = 32_768
HIGHEST_LEVEL = 0.999999999999
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
# They can be turned into a float, which would lose what they mean.
_NO_NUMBERS = (str, bytes, complex, np.complexfloating, np.timedelta64)


def plain(value: object) -> object:
    """Return a numpy scalar as the Python number it holds, for messages; others as they are."""
    return value.item() if isinstance(value, np.generic) else value


def number(name: str, value: SupportsFloat) -> float:
    """Return `value` as a float, which may be ``nan`` or infinite. Text is not parsed."""
    if is_number(value):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} must fit a float64, got {value!r}") from None
        except TypeError:  # offers to become a float and then refuses, as a datetime64 does
            pass
    raise TypeError(f"{name} must be a number, got {plain(value)!r}")


def is_number(value: object) -> TypeGuard[SupportsFloat]:
    """Return whether a value is one real number; not text, not a length of time, not an array."""
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, SupportsFloat):
        return False
    return not isinstance(value, np.ndarray) or value.ndim == 0


def finite(name: str, value: SupportsFloat) -> float:
    """Return `value` as a finite float."""
    found = number(name, value)
    if not math.isfinite(found):
        raise ValueError(f"{name} must be finite, got {found!r}")
    return found


def integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; bools are refused."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {plain(value)!r}")
    found = int(value)
    if found < low or (high is not None and found > high):
        span = f"at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be {span}, got {found}")
    return found


def fraction(name: str, value: SupportsFloat) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    found = finite(name, value)
    if not 0 < found < 1:
        raise ValueError(f"{name} must be in (0, 1), got {found!r}")
    return found


def level(value: SupportsFloat) -> float:
    """Return the level of an interval, in (0, 1) and not so near to 1 that it has no quantile."""
    found = fraction("level", value)
    if found > HIGHEST_LEVEL:
        raise ValueError(f"level must be at most {HIGHEST_LEVEL!r}, got {found!r}")
    return found


def float_column(name: str, values: ArrayLike, *, skip: bool = False) -> FloatArray:
    """Return `values` as float64 of shape (n_samples,), widened before anything is compared.

    Missing values (None, masked cells) come out as ``nan``, and with `skip` so do single values
    that are no numbers. Text is not parsed.
    """
    column = _column(name, values)
    if column.dtype.kind == "O":
        return _from_objects(name, column, skip=skip)
    if column.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, got dtype {column.dtype}")
    return column.astype(np.float64, copy=False)


def _column(name: str, values: ArrayLike) -> NDArray[np.generic]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(object), None)
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {column.shape}")
    return column


def _from_objects(name: str, column: NDArray[np.generic], *, skip: bool) -> FloatArray:
    out = np.full(column.shape, np.nan)
    for index, value in enumerate(column.tolist()):
        if is_missing(value):
            continue
        try:
            out[index] = _object_at(name, index, value)
        except (TypeError, ValueError):
            if not skip:
                raise
    return out


def _object_at(name: str, index: int, value: object) -> float:
    if not is_number(value):
        raise TypeError(f"{name} must hold numbers, got {plain(value)!r} at index {index}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must fit a float64, got {value!r} at index {index}") from None


def is_missing(value: object) -> bool:
    """Return whether `value` stands for "not known": None, ``nan``, ``NaT`` or ``pandas.NA``."""
    if value is None:
        return True
    if isinstance(value, str | bytes | bool | int):
        return False
    try:
        return bool(value != value)  # nan and NaT differ from themselves
    except TypeError:  # pandas.NA refuses to be a bool
        return True


def label_column(y_true: ArrayLike, classes: Sequence[object] | None) -> tuple[IntArray, bool]:
    """Return the class of each label, 0 or 1, -1 for what is neither; and whether none is -1.

    bool and 0/1 are taken as they are; anything else only through `classes`, the pair
    (negative, positive).
    """
    column = _column("y_true", y_true)
    if classes is None and column.dtype.kind == "b":
        return column.astype(np.int64), True
    if classes is None and column.dtype.kind in "iu":
        small = column.astype(np.int64, copy=False)
        # Seen as unsigned, a negative label is a huge one: one pass checks both ends.
        if not small.size or int(np.maximum.reduce(small.view(np.uint64))) <= 1:
            return small, True
    found = _from_numbers(column) if classes is None else _classes_of(column, classes)
    return found, bool((found >= 0).all())


def _from_numbers(column: NDArray[np.generic]) -> IntArray:
    if column.dtype.kind == "O":
        return np.array([_class_of_object(value) for value in column.tolist()], dtype=np.int64)
    out = np.full(column.shape, -1, dtype=np.int64)
    if column.dtype.kind in "iuf":
        out[column == 0] = 0
        out[column == 1] = 1
    return out


def _class_of_object(value: object) -> int:
    if is_missing(value) or not isinstance(value, numbers.Number | np.bool_):
        return -1
    return 0 if value == 0 else 1 if value == 1 else -1


def _classes_of(column: NDArray[np.generic], classes: Sequence[object]) -> IntArray:
    out = np.full(column.shape, -1, dtype=np.int64)
    for index, name in enumerate(classes):
        same = column == name if column.dtype.kind != "O" else _equal_objects(column, name)
        if isinstance(same, np.ndarray):  # numpy answers a plain False for kinds it can't compare
            out[same] = index
    return out


def _equal_objects(column: NDArray[np.generic], name: object) -> BoolArray:
    # One by one, because pandas.NA answers a comparison with itself, which is no bool.
    same = [
        value is name or (not is_missing(value) and bool(value == name))
        for value in column.tolist()
    ]
    return np.array(same, dtype=bool)


def class_pair(classes: Sequence[object] | None) -> tuple[object, object] | None:
    """Return `classes` as the pair (negative, positive), or None."""
    if classes is None:
        return None
    if isinstance(classes, str | bytes) or len(classes) != 2 or classes[0] == classes[1]:
        raise ValueError(
            f"classes must be two different labels (negative, positive), got {classes!r}"
        )
    return classes[0], classes[1]


def span(column: NDArray[np.float64] | NDArray[np.integer]) -> tuple[float, float]:
    """Return the smallest and the largest value; ``nan`` if one is, and for an empty column.

    The bare reductions: the methods of the same name cost twice as much on a small batch.
    """
    if not column.size:
        return math.nan, math.nan
    if column.size > _CHUNK:
        # Piece by piece, so that the second look at each finds it in the cache.
        starts = range(0, column.size, _CHUNK)
        ends = np.array([span(column[start : start + _CHUNK]) for start in starts])
        return float(np.minimum.reduce(ends[:, 0])), float(np.maximum.reduce(ends[:, 1]))
    return float(np.minimum.reduce(column)), float(np.maximum.reduce(column))


def same_length(**columns: NDArray[np.generic] | None) -> int:
    """Return the common length of the columns that are given."""
    given = {name: column.size for name, column in columns.items() if column is not None}
    if len(set(given.values())) > 1:
        names, sizes = " and ".join(given), " and ".join(str(size) for size in given.values())
        raise ValueError(f"{names} must have the same length, got {sizes}")
    return next(iter(given.values()))
