"""K C L + mu C = Y by scipy's Bartels-Stewart, as K C + C (mu L^-1) = Y L^-1.

usage: sylvester.py DIR REPEATS MU
"""
import sys

import numpy as np
import scipy
import scipy.linalg

from peer import load, repeat, report

mu = float(sys.argv[3])
K, L, Y = (load(name) for name in ("K", "L", "Y"))


def solve():
    inverse = np.linalg.inv(L)
    return scipy.linalg.solve_sylvester(K, mu * inverse, Y @ inverse)


seconds, C = repeat(solve)
report(
    "scipy solve_sylvester", scipy.__version__, seconds,
    residual=float(np.linalg.norm(K @ C @ L + mu * C - Y) / np.linalg.norm(Y)),
)
