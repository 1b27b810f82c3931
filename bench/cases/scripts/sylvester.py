"""K C L + mu C = Y by numpy's eigendecompositions and by scipy's Bartels-Stewart, as K C + C (mu L^-1) = Y L^-1.

usage: sylvester.py DIR REPEATS MU
"""
import sys

import numpy as np
import scipy
import scipy.linalg

from peer import load, repeat, report

mu = float(sys.argv[3])
K, L, Y = (load(name) for name in ("K", "L", "Y"))


def eigh():
    k, U = np.linalg.eigh(K)
    s, V = np.linalg.eigh(L)
    return U @ ((U.T @ Y @ V) / (np.outer(k, s) + mu)) @ V.T


def schur():
    inverse = np.linalg.inv(L)
    return scipy.linalg.solve_sylvester(K, mu * inverse, Y @ inverse)


solvers = [("numpy eigh", np.__version__, eigh)]
if len(K) <= 1000:  # a Schur form of order 3000 takes minutes
    solvers.append(("scipy solve_sylvester", scipy.__version__, schur))
for name, version, solve in solvers:
    seconds, C = repeat(solve)
    report(name, version, seconds, residual=float(np.linalg.norm(K @ C @ L + mu * C - Y) / np.linalg.norm(Y)))
