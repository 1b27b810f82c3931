#!/usr/bin/env python3
"""iokl with zero options beside scikit-learn on tables of multi-target regression.

usage: mtr.py --iokl PROGRAM --data DIR [--folds 10] [--seed 0] [--rows N] [--json FILE] SET...

DIR holds SET.csv, whose targets are the columns y_…; rf1 is fitted once, to four fifths of its rows. Every program
gets the same folds, rows in random order, inputs standardised on the training rows and missing cells filled by their
means (iokl does both itself). Kernel ridge regression has one Gaussian kernel, its width and penalty by five-fold
cross-validation; the forests have 300 trees, boosting 300 of depth 4. The error is
sqrt(sum (y − f)² / sum (y − mean of training)²), the sums over the rows of all folds, averaged over targets.
Seconds are of processors. What FILE has of other programs, with the same folds, is not measured again.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile

import numpy as np
import sklearn
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor


def read(path):
    with open(path, newline="") as f:
        names, *rows = csv.reader(f)
    table = np.array([[float(c) if c else np.nan for c in row] for row in rows])
    target = np.array([name.startswith("y_") for name in names])
    return table[:, ~target], table[:, target]


def kernel_ridge(d, seed):
    grid = {"gamma": [w / d for w in (0.03, 0.1, 0.3, 1, 3)], "alpha": 10.0 ** np.arange(-6, 2)}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=KFold(5, shuffle=True, random_state=seed))


def learners(d, seed):
    return {
        "constant": DummyRegressor(),
        "kernel ridge": kernel_ridge(d, seed),
        "random forest": RandomForestRegressor(300, n_jobs=-1, random_state=seed),
        "extra trees": ExtraTreesRegressor(300, n_jobs=-1, random_state=seed),
        "boosting": MultiOutputRegressor(GradientBoostingRegressor(n_estimators=300, max_depth=4, random_state=seed)),
    }


def by_sklearn(model, X, Y, Xt):
    mean = np.nanmean(X, 0)
    X, Xt = (np.where(np.isnan(a), mean, a) for a in (X, Xt))
    scale = X.std(0)
    scale[scale == 0] = 1
    unit = Y.std(0)
    unit[unit == 0] = 1
    model.fit((X - mean) / scale, (Y - Y.mean(0)) / unit)
    return model.predict((Xt - mean) / scale).reshape(len(Xt), -1) * unit + Y.mean(0)


def by_iokl(program, seed, X, Y, Xt):
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        for name, a in (("x.npy", X), ("y.npy", Y), ("xt.npy", Xt)):
            np.save(path(name), a)
        call = lambda *words: subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
        call("fit", "-q", "--x", path("x.npy"), "--y", path("y.npy"), "--out", path("m.iokl"), "--seed", str(seed))
        call("predict", "-q", "--model", path("m.iokl"), "--x", path("xt.npy"), "--out", path("p.npy"))
        return np.load(path("p.npy")).reshape(len(Xt), -1)


def measured(opt):
    """Lists the lines of the results' file about these folds."""
    if not opt.json or not os.path.exists(opt.json):
        return []
    with open(opt.json) as f:
        return [r for r in map(json.loads, f) if all(r[key] == getattr(opt, key) for key in ("folds", "seed", "rows"))]


def processor_seconds():
    return sum(os.times()[:4])  # of this process and of those that it waited for


def run(name, opt):
    before = {r["program"]: r for r in measured(opt) if r["set"] == name and r["program"] != "iokl"}
    X, Y = read(os.path.join(opt.data, name + ".csv"))
    rng = np.random.RandomState(opt.seed)
    order = rng.permutation(len(X))[: opt.rows or len(X)]
    X, Y = X[order], Y[order]
    splits = list(KFold(opt.folds).split(X))
    if name == "rf1":
        splits = list(KFold(5).split(X))[:1]
    programs = {"iokl": lambda *a: by_iokl(opt.iokl, opt.seed, *a)}
    for key in learners(X.shape[1], opt.seed):
        programs[key] = lambda *a, key=key: by_sklearn(learners(X.shape[1], opt.seed)[key], *a)
    for key, fit in programs.items():
        if key in before:
            yield before[key]
            continue
        start, miss, total = processor_seconds(), 0, 0
        for train, test in splits:
            F = fit(X[train], Y[train], X[test])
            miss = miss + ((F - Y[test]) ** 2).sum(0)
            total = total + ((Y[train].mean(0) - Y[test]) ** 2).sum(0)
        error = float(np.mean(np.sqrt(miss[total > 0] / total[total > 0])))
        r = {"set": name, "program": key, "arrmse": error, "seconds": processor_seconds() - start, "fits": len(splits),
             "folds": opt.folds, "seed": opt.seed, "rows": opt.rows}
        if opt.json:
            with open(opt.json, "a") as f:
                f.write(json.dumps(r) + "\n")
        yield r


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iokl", default="iokl", help="the command")
    parser.add_argument("--data", required=True, help="folder of the sets")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0, help="at most so many rows of each set")
    parser.add_argument("--json", help="file for the results, a line each")
    parser.add_argument("sets", nargs="+")
    opt = parser.parse_args()
    results = []
    cores = f"{os.cpu_count()} cores"
    print(f"scikit-learn {sklearn.__version__}, {cores}; error (processor seconds of all fits)", flush=True)
    for name in opt.sets:
        line = []
        for r in run(name, opt):
            results.append(r)
            line.append(f"{r['program']} {r['arrmse']:.4f} ({r['seconds']:.0f})")
        print(f"{name:6s}", "  ".join(line), flush=True)
    best = within = 0
    for name in opt.sets:
        of = {r["program"]: r["arrmse"] for r in results if r["set"] == name}
        least = min(v for k, v in of.items() if k != "iokl")
        best += of["iokl"] < least
        within += of["iokl"] <= 1.02 * least
    print(f"iokl is best on {best} of {len(opt.sets)}, and within 2 % of the best or better on {within}")


if __name__ == "__main__":
    main()
