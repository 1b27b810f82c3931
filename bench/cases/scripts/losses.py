"""Losses of scikit-learn beside ours: quantiles, targets with gross errors, probabilities of classes. Each model
chooses its parameters by five-fold cross-validation. F is our predictions, and SECONDS what our fit took.

usage: losses.py DIR REPEATS quantiles|outliers|classes SECONDS
"""
import sys
import time
import warnings

import numpy as np
import sklearn
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, LogisticRegressionCV, QuantileRegressor
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from peer import load, report

warnings.simplefilter("ignore", ConvergenceWarning)
X, Y, Xt, Yt, F = (load(name) for name in ("X", "Y", "Xt", "Yt", "F"))
scale = X.std(0)
scale[scale == 0] = 1
X, Xt = (X - X.mean(0)) / scale, (Xt - X.mean(0)) / scale
TAUS = 0.1, 0.5, 0.9
ROUNDS = {"max_iter": (100, 300), "learning_rate": (0.05, 0.1)}
TREES = {"n_estimators": (100, 300), "max_depth": (3, 5)}


def quantile_errors(F):
    """F has a column for each level of each target."""
    q = len(TAUS)
    losses = [mean_pinball_loss(Yt[:, j // q], F[:, j], alpha=TAUS[j % q]) for j in range(F.shape[1])]
    return {"pinball": np.mean(losses)}


def absolute_errors(F):
    return {"mae": np.abs(F - Yt).mean()}


def class_errors(P):
    truth = Yt.argmax(1)
    return {
        "log_loss": -np.log(P[np.arange(len(truth)), truth]).mean(),
        "brier": ((P - Yt) ** 2).sum(1).mean(),
        "wrong": (P.argmax(1) != truth).mean(),
    }


def quantile_models():
    def search(make, grid):
        def one(tau, y):
            score = make_scorer(mean_pinball_loss, alpha=tau, greater_is_better=False)
            return GridSearchCV(make(tau), grid, scoring=score, cv=5).fit(X, y).predict(Xt)

        return lambda: np.column_stack([one(tau, y) for y in Y.T for tau in TAUS])

    yield "QuantileRegressor", search(
        lambda tau: QuantileRegressor(quantile=tau, solver="highs"), {"alpha": (0, 1e-3, 1e-2, 1e-1)}
    )
    yield "HistGradientBoostingRegressor", search(
        lambda tau: HistGradientBoostingRegressor(loss="quantile", quantile=tau, random_state=0), ROUNDS
    )


def robust_models():
    def search(model, grid):
        found = GridSearchCV(model, grid, scoring="neg_mean_absolute_error", cv=5)
        return lambda: np.column_stack([found.fit(X, y).predict(Xt) for y in Y.T])

    yield "HuberRegressor", search(HuberRegressor(max_iter=1000), {"alpha": (1e-4, 1e-2, 1)})
    yield "GradientBoostingRegressor", search(GradientBoostingRegressor(loss="huber", random_state=0), TREES)


def class_models():
    y, wide = Y.argmax(1), 1 / X.shape[1]

    def svc():
        grid = {"C": (1, 10, 100), "gamma": (wide / 3, wide, 3 * wide)}
        best = GridSearchCV(SVC(), grid, cv=5).fit(X, y).best_params_
        return SVC(probability=True, random_state=0, **best).fit(X, y).predict_proba(Xt)

    yield "LogisticRegressionCV", lambda: LogisticRegressionCV(max_iter=2000).fit(X, y).predict_proba(Xt)
    yield "SVC", svc


models, errors = {
    "quantiles": (quantile_models, quantile_errors),
    "outliers": (robust_models, absolute_errors),
    "classes": (class_models, class_errors),
}[sys.argv[3]]


def say(name, seconds, F):
    report(name, sklearn.__version__, seconds, **{key: float(v) for key, v in errors(F).items()})


say("iokl " + sys.argv[3], [float(sys.argv[4])], F)
for name, run in models():
    start = time.perf_counter()
    F = run()
    say("scikit-learn " + name, [time.perf_counter() - start], F)
