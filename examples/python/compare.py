"""IOKLRegressor without arguments beside tuned regressors of scikit-learn, and himalaya where it is installed: the same
folds, errors and seconds.

    python3 examples/python/compare.py                            diabetes and linnerud, which come with scikit-learn
    python3 examples/python/compare.py --table a.csv b.csv        tables of one's own, with targets in the columns y_…
    python3 examples/python/compare.py --only iokl,forest --folds 5

The error is √(Σ(y−ŷ)²/Σ(y−ȳ)²) with the mean of the training targets, averaged over the outputs: 1 for a constant.
Behind ± is the standard error over the folds. Times are those of fit, choice of settings included."""

import argparse
import pathlib
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.compose import TransformedTargetRegressor

import iokl


def scaled(regressor):
    """Standardised inputs and targets, which iokl does by itself."""
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), regressor), transformer=StandardScaler())


def ridge(features):
    grid = {"alpha": np.logspace(-6, 1, 8), "gamma": np.logspace(-2, 1, 7) / features}
    return scaled(GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5))


def process(features):
    kernel = ConstantKernel() * RBF(np.full(features, features**0.5)) + WhiteKernel()
    return scaled(GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0))


def boosting(_):
    grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]}
    return MultiOutputRegressor(GridSearchCV(HistGradientBoostingRegressor(random_state=0), grid, cv=3))


def himalaya(features):
    from himalaya.kernel_ridge import KernelRidgeCV

    return scaled(KernelRidgeCV(kernel="rbf", kernel_params={"gamma": 1 / features}, alphas=np.logspace(-6, 3, 20)))


REGRESSORS = {
    "constant": lambda _: DummyRegressor(),
    "iokl": lambda _: iokl.IOKLRegressor(),
    "ridge": ridge,
    "forest": lambda _: RandomForestRegressor(300, min_samples_leaf=2, max_features=1 / 3, random_state=0, n_jobs=-1),
    "boosting": boosting,
    "process": process,
    "himalaya": himalaya,
}


def compare(name, X, Y, only, folds):
    print(f"\n{name}: {len(X)} rows, {X.shape[1]} inputs, {Y.shape[1]} outputs, {folds} folds\n")
    print("| regressor | error | seconds a fold |\n|---|---|---|")
    for label in only:
        errors, seconds = [], []
        for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
            try:
                model = REGRESSORS[label](X.shape[1])
            except ImportError:
                break
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X[train], Y[train])
            seconds.append(time.perf_counter() - start)
            F = model.predict(X[test]).reshape(len(test), -1)
            squares, constant = (Y[test] - F) ** 2, (Y[test] - Y[train].mean(axis=0)) ** 2
            errors.append(np.sqrt(squares.sum(axis=0) / constant.sum(axis=0)).mean())
        if errors:
            deviation = np.std(errors, ddof=1) / folds**0.5
            print(f"| {label} | {np.mean(errors):.4f} ± {deviation:.4f} | {np.mean(seconds):.2f} |", flush=True)
        else:
            print(f"| {label} | not installed | |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--table", nargs="+", help="CSV files, with targets in the columns whose names begin with y_")
    p.add_argument("--only", default=",".join(REGRESSORS), help="regressors to compare")
    p.add_argument("--folds", type=int, default=5)
    args = p.parse_args()
    only = args.only.split(",")
    if unknown := set(only) - set(REGRESSORS):
        p.error(f"no regressor is called {', '.join(unknown)}: there are {', '.join(REGRESSORS)}")
    if args.table:
        sets = {}
        for path in args.table:
            t = pd.read_csv(path)
            target = t.columns.str.startswith("y_")
            sets[pathlib.Path(path).stem] = t.loc[:, ~target].to_numpy(float), t.loc[:, target].to_numpy(float)
    else:
        X, y = load_diabetes(return_X_y=True)
        sets = {"diabetes": (X, y[:, None]), "linnerud": load_linnerud(return_X_y=True)}
    for name, (X, Y) in sets.items():
        compare(name, X, Y, only, args.folds)


if __name__ == "__main__":
    main()
