"""A Gaussian process of settings and times by PyTorch, as in Lin et al., Scalable Gaussian Processes with Latent
Kronecker Structure, ICML 2025.

The covariance s^2 * RBF(x, x'; a length for each input) * RBF(t, t') is a Kronecker product on the grid of all settings
and times, of which cells without NaN are observed with noise. Adam raises the marginal likelihood of the cells of ROWS
rows, whose gradient is estimated by conjugate gradients for the targets and PROBES random vectors, each started from
the solution of the step before. Deviations are those of SAMPLES functions drawn from the posterior.

Conjugate gradients end at a relative residual of TOL or after MOST iterations. They run in float32, and start again
from the residual in float64 while that is larger; where rounding leaves no positive curvature they go on in float64.
The preconditioner is the inverse of the covariance of the observed cells in which the covariance of the settings is
replaced by its leading eigenpairs, one for every PART rows, and the diagonal of the rest.

usage: latent_kronecker_torch.py DIR REPEATS STEPS ROWS SAMPLES
"""
import math
import os
import sys
import time

import torch

from peer import load, report

STEPS, ROWS, SAMPLES = (int(a) for a in sys.argv[3:6])
PROBES, RATE, TOL, MOST, PART = 8, 0.1, 1e-2, 200, 5
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
    return (K1 @ V.flatten(1)).view(len(K1), V.shape[1], -1) @ K2


def norms(V):
    return V.pow(2).sum((0, 2), keepdim=True).sqrt()


class Cells:
    """The covariance K1 (x) K2 + noise I of the observed cells."""

    def __init__(self, K1, K2, noise, mask):
        self.K1, self.K2, self.noise, self.mask = K1, K2, noise, mask
        a, Q = torch.linalg.eigh(K1)
        b, V = torch.linalg.eigh(K2)
        keep = b * a[-1] > 1e-3 * noise  # K2 = E E', up to a change of the covariance by 1e-3 of the noise
        E = V[:, keep] * b[keep].sqrt()
        count = max(len(K1) // PART, 1)
        L = Q[:, -count:] * a[-count:].clamp_min(0).sqrt()
        rest = (K1.diagonal() - L.pow(2).sum(1)).clamp_min(1e-6 * K1[0, 0])[:, None, None]
        G = torch.einsum("it,ta,tb->iab", mask[:, 0], E, E)
        H = torch.linalg.inv(G + noise / rest * torch.eye(E.shape[1]))
        F = H @ G / rest
        core = torch.stack([torch.stack([L.T @ (f[:, None] * L) for f in row]) for row in F.permute(1, 2, 0)])
        core = core.transpose(1, 2).reshape(count * E.shape[1], -1)
        core = torch.cholesky_inverse(torch.linalg.cholesky(core + torch.eye(len(core))))
        self.double = [A.contiguous() for A in (K1, E, E.T, mask, L, L.T, H, rest, core)]
        self.parts = [A.to(torch.float32) for A in self.double]

    def residual(self, B, W):
        return B - self.mask * product(self.K1, self.K2, W) - self.noise * W

    def apply(self, V):
        """The product with V in the precision of the parts."""
        K1, E, Et, mask = self.parts[:4]
        return mask * product(K1, Et, V @ E) + float(self.noise) * V

    def precondition(self, V):
        """The product of an inverse near to that of the covariance, times the noise, with V in that precision."""
        _, E, Et, mask, L, Lt, H, rest, core = self.parts
        Z = (V @ E) @ H
        C = (Lt @ (Z / rest).flatten(1)).view(-1, *Z.shape[1:]).permute(2, 0, 1)
        C = (core @ C.reshape(len(core), -1)).view(C.shape).permute(1, 2, 0)
        T = (L @ C.flatten(1)).view(Z.shape)
        return V - mask * ((Z + float(self.noise) / rest * (T @ H)) @ Et)

    def solve(self, B, W, tol):
        """Solves for all grids of B from W; beside it the iterations and the largest relative residual."""
        W, size, count = W.clone(), norms(B), 0
        while True:
            residual = self.residual(B, W)
            left = float((norms(residual) / size).max())
            if left <= tol or count >= MOST:
                return W, count, left
            now = self.parts[0].dtype
            step, more = self.descend(residual.to(now), (0.9 * tol * size).to(now), MOST - count)
            W += step
            count += more

    def descend(self, R, end, most):
        """Conjugate gradients from zero until the norms of the residuals are at most end."""
        W = torch.zeros_like(R)
        Z = self.precondition(R)
        P, rz = Z, (R * Z).sum((0, 2), keepdim=True)
        for count in range(1, most + 1):
            Q = self.apply(P)
            curvature = (P * Q).sum((0, 2), keepdim=True)
            live = norms(R) > end  # the other grids stay where they are
            if (live & ~(curvature > 0)).any():
                self.parts = self.double
                break
            step = (rz / curvature).where(live, torch.zeros_like(rz))
            W += step * P
            R = R - step * Q
            if (norms(R) <= end).all():
                break
            Z = self.precondition(R)
            old, rz = rz, (R * Z).sum((0, 2), keepdim=True)
            P = Z + (rz / old).where(live & (old > 0), torch.zeros_like(rz)) * P
        return W, count


def learn(X, t, Y, mask):
    """Logarithms of the lengths, scale and noise; iterations and largest relative residual of each step."""
    logs = torch.full((X.shape[1] + 3,), math.log(math.log(2)), requires_grad=True)
    adam = torch.optim.Adam([logs], lr=RATE)
    probes = mask * (torch.randint(0, 2, (Y.shape[0], PROBES, Y.shape[2])) * 2.0 - 1)
    B = torch.cat([Y, probes], 1)
    W = torch.zeros_like(B)
    done = []
    for _ in range(STEPS):
        adam.zero_grad()
        K1, K2, noise = covariances(logs, X, t)
        with torch.no_grad():
            W, count, left = Cells(K1, K2, noise, mask).solve(B, W, TOL)
        done.append((count, left))
        # half of -alpha' dA alpha + tr(inverse(A) dA)
        left = torch.cat([-W[:, :1], W[:, 1:] / PROBES], 1)
        right = torch.cat([W[:, :1], probes], 1)
        loss = 0.5 * (left * (product(K1, K2, right) + noise * right)).sum()
        loss.backward()
        adam.step()
    return logs.detach(), done


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
logs, steps = learn(X[rows], t, Y[rows], mask[rows])
learned = time.perf_counter()
K1, K2, noise = covariances(logs, X, t)
cells = Cells(K1, K2, noise, mask)
W, mean_iterations, mean_residual = cells.solve(Y, torch.zeros_like(Y), TOL / 10)
F = product(K1, K2, W)[:, 0]
predicted = time.perf_counter()
f = product(root(K1), root(K2).T, torch.randn(len(X), SAMPLES, len(t)))
B = mask * (f + noise.sqrt() * torch.randn_like(f))
W, sample_iterations, sample_residual = cells.solve(B, torch.zeros_like(B), TOL)
errors = f - product(K1, K2, W)
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
    rows_learned_from=len(rows), steps=len(steps), steps_within_tolerance=sum(left <= TOL for _, left in steps),
    step_iterations=sum(count for count, _ in steps) / len(steps), step_residual=max(left for _, left in steps),
    mean_iterations=mean_iterations, mean_residual=mean_residual,
    samples=SAMPLES, sample_iterations=sample_iterations, sample_residual=sample_residual,
)
