"""Solvers of linear matrix equations."""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np

from . import _input as given
from ._library import Floats, _Solved, call, in_place, matrix


def _matrix(a: Any, name: str) -> Floats:
    a = given.floats(a, name)
    if a.ndim != 2 or 0 in a.shape:
        raise ValueError(f"{name} has the shape {a.shape}: a matrix is needed")
    return in_place(a)


def solve_sylvester(K: Any, L: Any, Y: Any, mu: float, method: str | None = None, tol: float = 1e-8) -> Floats:
    """Solve K·C·L + mu·C = Y for C.

    Parameters
    ----------
    K : array-like of shape (l, l)
        Symmetric, positive semidefinite.
    L : array-like of shape (n, n)
        Symmetric, positive semidefinite.
    Y : array-like of shape (l, n)
        The right side. NaN is a missing cell: the equation then holds in the others, and C is 0 there.
    mu : float
        Positive.
    method : str or None, default=None
        "nystrom", "cg", "rotated", "eigen", "tridiagonal", "cholesky", "bartels-stewart", …; None chooses.
    tol : float, default=1e-8
        Bound of the norm of the residual relative to that of Y.

    Returns
    -------
    ndarray of shape (l, n)
        C, whose residual has been checked.

    Examples
    --------
    >>> import numpy as np, iokl
    >>> K, L = np.diag([1.0, 2.0, 3.0]), np.eye(2)
    >>> iokl.solve_sylvester(K, L, [[2.0, 4.0], [3.0, 6.0], [4.0, 8.0]], 1.0)
    array([[1., 2.],
           [1., 2.],
           [1., 2.]])
    """
    k, l, y = _matrix(K, "K"), _matrix(L, "L"), _matrix(Y, "Y")
    C = np.empty(y.shape)
    result = _Solved(size=ct.sizeof(_Solved))
    name = None if method is None else method.encode()
    at = [ct.byref(matrix(a)) for a in (k, l, y, C)]
    call("iokl_solve_sylvester", at[0], at[1], mu, at[2], at[3], name, tol, ct.byref(result))
    return C


def solve_general(A: Any, B: Any, Q: Any, mu: float = 0.0) -> Floats:
    """Solve A·X·B + mu·X = Q for X, with any real square A and B.

    Parameters
    ----------
    A : array-like of shape (l, l)
        Any matrix.
    B : array-like of shape (n, n)
        Any matrix.
    Q : array-like of shape (l, n)
        The right side.
    mu : float, default=0.0
        No eigenvalue of A times one of B may be -mu.

    Returns
    -------
    ndarray of shape (l, n)
        X, whose residual has been checked.
    """
    a, b, q = _matrix(A, "A"), _matrix(B, "B"), _matrix(Q, "Q")
    X = np.empty(q.shape)
    call("iokl_solve_general", *(ct.byref(matrix(m)) for m in (a, b)), mu, *(ct.byref(matrix(m)) for m in (q, X)), None)
    return X
