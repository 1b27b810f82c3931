"""Kernel ridge regression with many outputs by PyTorch: Cholesky, and conjugate gradients on all columns at once.

usage: kernel_ridge_torch.py DIR REPEATS GAMMA ALPHA TOL
"""
import os
import sys

import torch

from peer import load, repeat, report

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
gamma, alpha, tol = (float(a) for a in sys.argv[3:6])
X, Y, Xt, Yt = (torch.from_numpy(load(name)) for name in ("X", "Y", "Xt", "Yt"))


def gram(A, B):
    return torch.exp(-gamma * torch.cdist(A, B) ** 2)


def cholesky():
    K = gram(X, X)
    K.diagonal().add_(alpha)
    return torch.cholesky_solve(Y, torch.linalg.cholesky(K))


def conjugate_gradients():
    """A step length for each column; stops when the residual of all together is at most tol."""
    K = gram(X, X)
    C, R = torch.zeros_like(Y), Y.clone()
    P, rr = R.clone(), (R * R).sum(0)
    target = tol * tol * rr.sum()
    for _ in range(5000):
        Q = K @ P + alpha * P
        step = rr / (P * Q).sum(0).clamp_min(1e-300)
        C += step * P
        R -= step * Q
        old, rr = rr, (R * R).sum(0)
        if rr.sum() <= target:
            break
        P = R + rr / old.clamp_min(1e-300) * P
    return C


for name, solve in (("cholesky", cholesky), ("CG", conjugate_gradients)):
    seconds, C = repeat(solve)
    report(
        "PyTorch " + name, torch.__version__, seconds,
        residual=float(torch.linalg.norm(gram(X, X) @ C + alpha * C - Y) / torch.linalg.norm(Y)),
        test_mse=float(((gram(Xt, X) @ C - Yt) ** 2).mean()),
    )
