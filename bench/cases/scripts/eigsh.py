"""Extremal eigenpairs of a symmetric matrix by scipy's ARPACK.

usage: eigsh.py DIR REPEATS COUNT TOL
"""
import sys

import numpy as np
import scipy
from scipy.sparse.linalg import LinearOperator, eigsh

from peer import load, repeat, report

count, tol = int(sys.argv[3]), float(sys.argv[4])
A = load("A")
rng = np.random.default_rng(1)
products = 0


def multiply(x):
    global products
    products += 1
    return A @ x


def pairs(operator=A):
    return eigsh(operator, k=count, which="SA", tol=tol, v0=rng.standard_normal(len(A)))


seconds, (values, vectors) = repeat(pairs)
pairs(LinearOperator(A.shape, multiply, dtype=A.dtype))
norm = np.abs(eigsh(A, k=1, which="LM", tol=1e-3)[0][0])
report(
    "scipy eigsh", scipy.__version__, seconds, columns_multiplied=products,
    residual=float(np.linalg.norm(A @ vectors - vectors * values, axis=0).max() / norm),
)
