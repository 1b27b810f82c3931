"""A Gaussian process of settings and times by PyTorch, as in Lin et al., Scalable Gaussian Processes with Latent
Kronecker Structure, ICML 2025.

The covariance s^2 * RBF(x, x'; a length for each input) * RBF(t, t') is a Kronecker product on the grid of all settings
and times, of which cells without NaN are observed with noise. Adam raises the marginal likelihood of the cells of ROWS
rows, whose gradient is estimated by conjugate gradients for the targets and PROBES random vectors, each started from
the solution of the step before. Deviations are those of SAMPLES functions drawn from the posterior.

usage: latent_kronecker_torch.py DIR REPEATS STEPS ROWS SAMPLES
"""
import math
import os
import sys
import time

import torch

from peer import load, report

STEPS, ROWS, SAMPLES = (int(a) for a in sys.argv[3:6])
PROBES, RATE, TOL, MOST = 8, 0.1, 1e-2, 1000
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def rbf(A, B):
    return torch.exp(-0.5 * (A.pow(2).sum(1)[:, None] + B.pow(2).sum(1) - 2 * A @ B.T).clamp_min(0))


def covariances(logs, X, t):
    """K1 of the settings, K2 of the times, and the variance of the noise."""
    lengths, length, scale, noise = logs[:-3].exp(), logs[-3].exp(), logs[-2].exp(), logs[-1].exp()
    A, b = X / lengths, t[:, None] / length
    return scale * rbf(A, A), rbf(b, b), noise


def product(K1, K2, V):
    """K1 V K2 for each grid of V, rows x grids x times."""
    return (K1 @ V.flatten(1)).view(V.shape) @ K2


def solve(K1, K2, noise, mask, B, W, tol):
    """Conjugate gradients on the observed cells for all grids of B, started from W."""
    def apply(V):
        return mask * product(K1, K2, V) + noise * V

    W = W.clone()
    R = B - apply(W)
    P, rr = R.clone(), R.pow(2).sum((0, 2), keepdim=True)
    end = tol**2 * B.pow(2).sum((0, 2), keepdim=True)
    for _ in range(MOST):
        if (rr <= end).all():
            break
        Q = apply(P)
        step = rr / (P * Q).sum((0, 2), keepdim=True).clamp_min(1e-300)
        W += step * P
        R -= step * Q
        old, rr = rr, R.pow(2).sum((0, 2), keepdim=True)
        P = R + rr / old.clamp_min(1e-300) * P
    return W


def learn(X, t, Y, mask):
    """Logarithms of the lengths, scale and noise."""
    logs = torch.full((X.shape[1] + 3,), math.log(math.log(2)), requires_grad=True)
    adam = torch.optim.Adam([logs], lr=RATE)
    probes = mask * (torch.randint(0, 2, (Y.shape[0], PROBES, Y.shape[2])) * 2.0 - 1)
    B = torch.cat([Y, probes], 1)
    W = torch.zeros_like(B)
    for _ in range(STEPS):
        adam.zero_grad()
        K1, K2, noise = covariances(logs, X, t)
        with torch.no_grad():
            W = solve(K1, K2, noise, mask, B, W, TOL)
        # half of -alpha' dA alpha + tr(inverse(A) dA)
        left = torch.cat([-W[:, :1], W[:, 1:] / PROBES], 1)
        right = torch.cat([W[:, :1], probes], 1)
        loss = 0.5 * (left * (product(K1, K2, right) + noise * right)).sum()
        loss.backward()
        adam.step()
    return logs.detach()


def root(K):
    jitter = 1e-10 * K.diagonal().mean()
    while True:
        R, failed = torch.linalg.cholesky_ex(K + jitter * torch.eye(len(K)))
        if not failed:
            return R
        jitter *= 10


X, Y, t = torch.from_numpy(load("X")), torch.from_numpy(load("Z"))[:, None, :], torch.from_numpy(load("t"))[:, 0]
truth = torch.from_numpy(load("Y"))
start = time.perf_counter()
missing = Y.isnan()
mask = (~missing).to(X)
Y = Y.nan_to_num() * mask
rows = torch.randperm(len(X))[:ROWS]
logs = learn(X[rows], t, Y[rows], mask[rows])
learned = time.perf_counter()
K1, K2, noise = covariances(logs, X, t)
F = product(K1, K2, solve(K1, K2, noise, mask, Y, torch.zeros_like(Y), TOL / 10))[:, 0]
predicted = time.perf_counter()
f = product(root(K1), root(K2).T, torch.randn(len(X), SAMPLES, len(t)))
B = mask * (f + noise.sqrt() * torch.randn_like(f))
errors = f - product(K1, K2, solve(K1, K2, noise, mask, B, torch.zeros_like(B), TOL))
deviation = (errors.pow(2).mean(1) + noise).sqrt()
seconds = time.perf_counter() - start
hidden = missing[:, 0]
e, d = (F - truth)[hidden], deviation[hidden]
report(
    "PyTorch latent Kronecker", torch.__version__, [seconds],
    rmse=float(e.pow(2).mean().sqrt()),
    neg_log_density=float((0.5 * (e / d).pow(2) + (d * math.sqrt(2 * math.pi)).log()).mean()),
    learning_seconds=learned - start, prediction_seconds=predicted - learned,
    noise=float(noise.sqrt()), length_of_time=float(logs[-3].exp()),
)
