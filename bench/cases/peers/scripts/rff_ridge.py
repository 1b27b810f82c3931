"""Ridge regression on random features by scikit-learn, measured for the case "ridge".

usage: rff_ridge.py DIR REPEATS FEATURES GAMMA ALPHA LANDMARKS
The error is the mean over REPEATS draws of random features, and LANDMARKS draws of landmarks.
"""
import sys

import numpy as np
import sklearn
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge

from peer import REPEATS, load, repeat, report

features, gamma, alpha = int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
X, Y, Xt, Yt = (load(name) for name in ("X", "Y", "Xt", "Yt"))
for make, draws in ((RBFSampler, REPEATS), (Nystroem, int(sys.argv[6]))):
    fits = []

    def fit():
        sampler = make(gamma=gamma, n_components=features, random_state=len(fits))
        fits.append((sampler, Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(sampler.fit_transform(X), Y)))

    seconds, _ = repeat(fit, draws)
    errors = [np.mean((ridge.predict(sampler.transform(Xt)) - Yt) ** 2) for sampler, ridge in fits[1:]]
    spread = {"test_mse_stderr": float(np.std(errors, ddof=1) / len(errors) ** 0.5)} if len(errors) > 1 else {}
    report("scikit-learn " + make.__name__, sklearn.__version__, seconds, test_mse=float(np.mean(errors)), **spread)
