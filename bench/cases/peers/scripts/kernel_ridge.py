"""Kernel ridge regression with many outputs by scikit-learn.

usage: kernel_ridge.py DIR REPEATS GAMMA ALPHA
"""
import sys

import numpy as np
import sklearn
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from peer import load, repeat, report

gamma, alpha = float(sys.argv[3]), float(sys.argv[4])
X, Y, Xt, Yt = (load(name) for name in ("X", "Y", "Xt", "Yt"))
seconds, model = repeat(lambda: KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(X, Y))
C = model.dual_coef_
report(
    "scikit-learn KernelRidge", sklearn.__version__, seconds,
    residual=float(np.linalg.norm(rbf_kernel(X, gamma=gamma) @ C + alpha * C - Y) / np.linalg.norm(Y)),
    test_mse=float(np.mean((model.predict(Xt) - Yt) ** 2)),
)
