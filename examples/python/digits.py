"""Classifying digits by several views: docs/digits.md in Python, cell by cell. Run it at the root of a checkout."""

# %% The first 400 images are to learn from, the next 400 to test on
import pathlib

import numpy as np
import pandas as pd

import iokl

root = pathlib.Path(__file__).parents[2]
images = pd.read_csv(root / "bench" / "data" / "digits.csv.gz", nrows=800, header=None).to_numpy()
X, y = images[:, :64].astype(float), images[:, 64].astype(int)
train, test = slice(0, 400), slice(400, 800)

# %% A view is a set of columns: the four quarters of the 8×8 image, and its rows
row, column = np.divmod(np.arange(64), 8)
views = [
    {"name": f"quarter{a}{b}", "columns": np.flatnonzero((row // 4 == a) & (column // 4 == b)).tolist()}
    for a in (0, 1)
    for b in (0, 1)
]
views += [{"name": f"row{i}", "columns": np.flatnonzero(row == i).tolist()} for i in range(8)]

# %% One kernel looks at all pixels, one at each view
model = iokl.IOKLClassifier(
    kernels=["gaussian:all:median*0.5,1", "gaussian:groups:median"],
    standardize="y",
    norm="lp:1.5",
    lam=1e-4,
    options={"groups": views},
).fit(X[train], y[train])
print("share of digits that are read right:", model.score(X[test], y[test]))

# %% The weight of each view
for name, weight in sorted(model.kernel_weights_.items(), key=lambda item: -item[1])[:5]:
    print(f"{weight:.3f} {name}")

# %% Which digits are alike to the model: L as a correlation
L = model.output_kernel_
scale = np.sqrt(np.diag(L))
print(pd.DataFrame(L / np.outer(scale, scale)).round(1))

# %% Sets of digits that hold the right one with probability 0.95, from models without each of five folds
sure = iokl.IOKLClassifier(kernels="gaussian:all:median", standardize="y", lam=1e-4, interval_folds=5)
sure.fit(X[train], y[train])
sets = sure.predict_set(X[test], 0.95)
print("sets that hold the digit:", sets[np.arange(400), y[test]].mean(), "digits in a set:", sets.sum(axis=1).mean())
