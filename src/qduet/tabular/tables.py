"""Tables of values, indexed by state, then action: one type for each set of tables.

A rule keeps what it learns in them, as JAX arrays; exact values and the operators that act on them
use the same types with NumPy arrays in double precision.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = Any
"""An array of JAX or of NumPy."""

Floats = NDArray[np.float64]
"""A NumPy array in double precision, for exact values."""


class VTable(NamedTuple):
    """State values alone."""

    v: Table
    """``[S]``"""


class QTable(NamedTuple):
    """Action values alone."""

    q: Table
    """``[S, A]``"""


class QVTables(NamedTuple):
    """Action values and state values."""

    q: Table
    """``[S, A]``"""
    v: Table
    """``[S]``"""


class AVTables(NamedTuple):
    """State values and advantages."""

    v: Table
    """``[S]``"""
    adv: Table
    """``[S, A]``"""
