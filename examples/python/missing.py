"""Targets with missing cells: docs/missing.md in Python, cell by cell. Run it at the root of a checkout."""

# %% Interest, unemployment, inflation and the real rate of interest, of which three cells in ten are emptied
import pathlib

import numpy as np
import pandas as pd

import iokl

root = pathlib.Path(__file__).parents[2]
quarters = pd.read_csv(root / "bench" / "data" / "macrodata.csv")
X = (quarters.iloc[:, 0] + (quarters.iloc[:, 1] - 1) / 4).to_numpy()[:, None]
truth = quarters.iloc[:, [9, 10, 12, 13]]
hidden = np.random.default_rng(1).random(truth.shape) < 0.3
holes = truth.mask(hidden)

# %% The loss counts the observed cells; nothing is imputed
kernels = ["gaussian:all:median*0.02,0.1,0.5", "linear:all"]
model = iokl.IOKLRegressor(kernels=kernels).fit(X, holes)
filled = holes.fillna(pd.DataFrame(model.predict(X), columns=truth.columns))

# %% The other outputs of a row help: without an output kernel every column is learned from its own cells
alone = iokl.IOKLRegressor(kernels=kernels, learn="eta").fit(X, holes)


def error(F):
    """The mean squared error on the hidden cells, in variances of the columns."""
    E = (np.asarray(F) - truth.to_numpy()) / truth.to_numpy().std(axis=0)
    return (E[hidden] ** 2).mean()


print(f"hidden cells: {hidden.sum()}, empty after filling: {int(filled.isna().to_numpy().sum())}")
print(f"error of the means: {error(np.tile(holes.mean(), (len(X), 1))):.3f}")
print(f"error with each output alone: {error(alone.predict(X)):.3f}")
print(f"error with the output kernel: {error(model.predict(X)):.3f}")
