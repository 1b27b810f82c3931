"""Histogram boosting of scikit-learn.

usage: boosting.py DIR REPEATS ROUNDS
"""
import sys

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor

from peer import load, repeat, report

X, Y, Xt, Yt = (load(name) for name in ("X", "Y", "Xt", "Yt"))
y, yt = Y[:, 0], Yt[:, 0]
seconds, model = repeat(lambda: HistGradientBoostingRegressor(max_iter=int(sys.argv[3]), random_state=0).fit(X, y))
report("scikit-learn HistGradientBoostingRegressor", sklearn.__version__, seconds,
       rmse=float(np.sqrt(np.mean((model.predict(Xt) - yt) ** 2)) / y.std()))
