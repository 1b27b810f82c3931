"""Linear multi-task baselines of scikit-learn, their penalties chosen by five-fold cross-validation.

usage: multitask.py DIR REPEATS
"""
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskElasticNetCV, MultiTaskLassoCV

from peer import load, repeat, report

warnings.simplefilter("ignore", ConvergenceWarning)
X, Y, Xt, Yt = (load(name) for name in ("X", "Y", "Xt", "Yt"))
mean, scale = X.mean(0), X.std(0)
X, Xt = (X - mean) / scale, (Xt - mean) / scale
for make in (MultiTaskLassoCV, MultiTaskElasticNetCV):
    seconds, model = repeat(lambda: make(cv=5, n_alphas=20, n_jobs=1).fit(X, Y))
    report("scikit-learn " + make.__name__, sklearn.__version__, seconds, test_mse=float(np.mean((model.predict(Xt) - Yt) ** 2)))
