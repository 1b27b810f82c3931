"""Extremal eigenpairs of a symmetric matrix by scipy's ARPACK.

usage: eigsh.py DIR REPEATS COUNT TOL
"""
import sys

import numpy as np
import scipy
from scipy.sparse.linalg import eigsh

from peer import load, repeat, report

count, tol = int(sys.argv[3]), float(sys.argv[4])
A = load("A")
start = np.random.default_rng(1).standard_normal(len(A))
seconds, (values, vectors) = repeat(lambda: eigsh(A, k=count, which="SA", tol=tol, v0=start))
report(
    "scipy eigsh", scipy.__version__, seconds,
    residual=float(np.linalg.norm(A @ vectors - vectors * values, axis=0).max() / np.abs(eigsh(A, k=1, which="LM", tol=1e-3)[0][0])),
)
