"""Forecasting the macro series: docs/forecasting.md in Python, cell by cell. Run it at the root of a checkout."""

# %% From levels to rates: growth in per cent a year, and changes of the last two series
import pathlib

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

import iokl

root = pathlib.Path(__file__).parents[2]
levels = pd.read_csv(root / "bench" / "data" / "macrodata.csv").iloc[:, 2:11].to_numpy()
names = "gdp consumption investment government income prices money tbill unemployment".split()
rates = np.hstack([400 * np.diff(np.log(levels[:, :7]), axis=0), np.diff(levels[:, 7:], axis=0)])
rates = pd.DataFrame(rates, columns=names)

# %% A quarter's rates are the inputs, those of the next quarter the targets
X, Y = rates.iloc[:-1], rates.iloc[1:]
train, test = slice(0, 160), slice(160, None)

# %% Settings are compared in the order of time: train on the past, test on what follows. A warning names the series
# that these inputs do not predict better than their mean.
series = {"cv": {"time_ordered": True, "folds": 5, "metric": "nmse"}}
kernels = ["gaussian:all:median*0.5,1,2,4", "linear:all"]
model = iokl.IOKLRegressor(kernels=kernels, norm="lp:1", learn="eta,l", options=series)
model.fit(X[train], Y[train])
forecasts = model.predict(X[test])
for name, r2 in zip(names, r2_score(Y[test], forecasts, multioutput="raw_values")):
    print(f"R² of {name}: {r2:.2f}")

# %% What goes together: the output kernel as a correlation
L = model.output_kernel_
scale = np.sqrt(np.diag(L))
print(pd.DataFrame(L / np.outer(scale, scale), columns=names, index=names).round(1).to_string())
print("rank of L:", np.linalg.matrix_rank(L))

# %% Which series drive which
graph = iokl.granger(rates, lag=2)
for source, target, strength in graph.edges(0.3):
    print(f"{source} -> {target}: {strength:.2f}")
