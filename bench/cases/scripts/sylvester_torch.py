"""K C L + mu C = Y by PyTorch: eigendecompositions, and conjugate gradients on the matrix C.

usage: sylvester_torch.py DIR REPEATS MU TOL
"""
import os
import sys

import torch

from peer import load, repeat, report

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
mu, tol = (float(a) for a in sys.argv[3:5])
K, L, Y = (torch.from_numpy(load(name)) for name in ("K", "L", "Y"))


def eigh():
    k, U = torch.linalg.eigh(K)
    s, V = torch.linalg.eigh(L)
    return U @ ((U.T @ Y @ V) / (torch.outer(k, s) + mu)) @ V.T


def conjugate_gradients():
    C, R = torch.zeros_like(Y), Y.clone()
    P, rr = R.clone(), (R * R).sum()
    target = tol * tol * rr
    for _ in range(5000):
        Q = K @ P @ L + mu * P
        step = rr / (P * Q).sum()
        C += step * P
        R -= step * Q
        old, rr = rr, (R * R).sum()
        if rr <= target:
            break
        P = R + rr / old * P
    return C


for name, solve in (("eigh", eigh), ("CG", conjugate_gradients)):
    seconds, C = repeat(solve)
    report(
        "PyTorch " + name, torch.__version__, seconds,
        residual=float(torch.linalg.norm(K @ C @ L + mu * C - Y) / torch.linalg.norm(Y)),
    )
