"""Ridge regression on random features by scikit-learn, measured for the case "ridge".

usage: rff_ridge.py DIR FEATURES GAMMA ALPHA REPEATS
DIR holds X.npy, Y.npy, Xt.npy and Yt.npy. Prints one JSON object a method: the
seconds of transform and fit of every repetition after one that warms up, and
their mean error on Xt, Yt.
"""
import json
import os
import sys
import time

import numpy as np
import sklearn
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge


def main():
    folder, features, gamma, alpha, repeats = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    X, Y, Xt, Yt = (np.load(os.path.join(folder, name + ".npy")) for name in ("X", "Y", "Xt", "Yt"))
    for name, make in (("RBFSampler", RBFSampler), ("Nystroem", Nystroem)):
        seconds, errors = [], []
        for repeat in range(repeats + 1):
            start = time.perf_counter()
            sampler = make(gamma=gamma, n_components=features, random_state=repeat)
            Z = sampler.fit_transform(X)
            ridge = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(Z, Y)
            if repeat:
                seconds.append(time.perf_counter() - start)
                errors.append(np.mean((ridge.predict(sampler.transform(Xt)) - Yt) ** 2))
        print(json.dumps({"name": name, "seconds": seconds, "mse": float(np.mean(errors)), "version": sklearn.__version__}), flush=True)


main()
