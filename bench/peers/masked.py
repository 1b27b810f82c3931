#!/usr/bin/env python3
"""The posterior mean of a masked Kronecker Gaussian process by conjugate gradients in PyTorch, beside iokl.

usage: masked.py --mklbench PROGRAM [--quick] [--threads 2] [--count 3]

PROGRAM runs its case missing:solve. PyTorch then solves systems of the same sizes and kind, drawn anew: a Gaussian kernel
exp(-0.05 r^2) of ten normal inputs, output covariances with eigenvalues 0.9^j, lambda = 1e-3, in float64, to a
relative residual of 1e-6 on the observed cells. An iteration multiplies the grid by both covariances and masks it,
as models with a Kronecker covariance and missing observations do. Times are medians of the solve alone, after one
that is not counted.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # no spinning where cores are shared
try:
    import torch
except ImportError:
    sys.exit("masked.py: PyTorch is not installed for %s (Debian: python3-torch); nothing was measured" % sys.executable)

TOL, LAMBDA = 1e-6, 1e-3


def problem(l, n, share):
    """Returns the covariances K and L, masked targets, and the mask."""
    torch.manual_seed(l + n)
    X = torch.randn(l, 10)
    K = torch.exp(-0.05 * torch.cdist(X, X) ** 2)
    V, _ = torch.linalg.qr(torch.randn(n, n))
    rho = 0.9 ** torch.arange(n)
    L = (V * (rho * n / rho.sum())) @ V.T
    Y = K @ torch.randn(l, n)
    Y = Y / Y.pow(2).mean().sqrt() + 0.1 * torch.randn(l, n)
    mask = (torch.rand(l, n) >= share).to(Y)
    return K, L, Y * mask, mask


def solve(K, L, Y, mask, mu):
    """Conjugate gradients on the observed cells; returns C, iterations and the true relative residual."""
    apply = lambda C: mask * (K @ C @ L) + mu * C
    C = torch.zeros_like(Y)
    r, p, steps = Y.clone(), Y.clone(), 0
    rr, end = r.pow(2).sum(), TOL**2 * Y.pow(2).sum()
    while rr > end and steps < 20000:
        q = apply(p)
        a = rr / (p * q).sum()
        C += a * p
        r -= a * q
        new = r.pow(2).sum()
        p = r + new / rr * p
        rr, steps = new, steps + 1
    return C, steps, float((Y - apply(C)).norm() / Y.norm())


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("--mklbench", required=True)
    arg.add_argument("--quick", action="store_true")
    arg.add_argument("--threads", type=int, default=os.cpu_count())
    arg.add_argument("--count", type=int, default=3)
    opt = arg.parse_args()
    command = [opt.mklbench, "run", "missing:solve", "--json", "--threads", str(opt.threads)] + ["--quick"] * opt.quick
    lines = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["results"]
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(opt.threads)
    seconds = {}
    for line in lines:
        key = tuple(line["params"][k] for k in ("l", "n", "share"))
        seconds.setdefault(key, {})[line["name"]] = line["seconds"]
    print(f"PyTorch {torch.__version__}, {opt.threads} threads; seconds to a relative residual of {TOL:g}")
    print(f"{'l':>5} {'n':>4} {'missing':>8} {'iokl':>8} {'iokl, plain CG':>15} {'PyTorch, CG':>12} {'iterations':>11} {'residual':>9}")
    for (l, n, share), by in seconds.items():
        if "iokl" not in by:
            continue
        K, L, Y, mask = problem(l, n, share)
        times = []
        for _ in range(opt.count + 1):
            start = time.perf_counter()
            _, steps, residual = solve(K, L, Y, mask, LAMBDA * l)
            times.append(time.perf_counter() - start)
        print(f"{l:5d} {n:4d} {share:8.0%} {by['iokl']:8.3f} {by['conjugate gradients']:15.3f} {statistics.median(times[1:]):12.3f} {steps:11d} {residual:9.1e}")


if __name__ == "__main__":
    main()
