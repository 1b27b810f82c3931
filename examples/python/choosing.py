"""Choosing kernels, λ and τ: docs/choosing.md in Python, cell by cell. Run it at the root of a checkout."""

# %% Inflation and unemployment, from the rates of interest and growth of the same quarter
import pathlib

import pandas as pd
from sklearn.model_selection import KFold, cross_val_score

import iokl

root = pathlib.Path(__file__).parents[2]
quarters = pd.read_csv(root / "bench" / "data" / "macrodata.csv")
X, Y = quarters.iloc[:, 2:7].join(quarters.iloc[:, 9]), quarters.iloc[:, [10, 12]]

# %% Start with nothing: cross-validation chooses kernels, λ and what is learned
everything = iokl.IOKLRegressor().fit(X, Y)
print("chosen:", everything.chosen_["kernels"], "λ =", f"{everything.chosen_['lambda']:.2g}")
error, deviation = everything.chosen_["error"], everything.chosen_["stderr"]
print(f"error relative to the mean of the targets: {error:.3f} ± {deviation:.3f}")

# %% A narrow kernel follows the training data closely; cross-validation tells whether it generalises
for width in (0.25, 2):
    model = iokl.IOKLRegressor(kernels=f"gaussian:all:median*{width}", norm="lp:1", folds=5, interval_folds=-1)
    model.fit(X, Y)
    print(f"width {width} medians: λ = {model.chosen_['lambda']:.2g}, error {model.chosen_['error']:.3f}")

# %% The norm lp:1 on a kernel for each column shows which inputs matter
each = iokl.IOKLRegressor(kernels="gaussian:each:median", norm="lp:1", lam=1e-3).fit(X, Y)
for name, weight in sorted(each.kernel_weights_.items(), key=lambda item: -item[1]):
    print(f"{weight:6.3f} {name}")

# %% Only λ/τ matters: twice the τ with twice the λ is the same function
once = iokl.IOKLRegressor(kernels="gaussian:all:median", lam=1e-3, tau=2, norm="lp:2", learn="l", tol=1e-8).fit(X, Y)
twice = iokl.IOKLRegressor(kernels="gaussian:all:median", lam=2e-3, tau=4, norm="lp:2", learn="l", tol=1e-8).fit(X, Y)
print("largest difference:", f"{abs(once.predict(X) - twice.predict(X)).max():.1e}")

# %% scikit-learn's tools work on the same estimators
folds = KFold(4, shuffle=True, random_state=0)
model = iokl.IOKLRegressor(kernels="gaussian:all:median", lam=1e-3)
print("R² on held-out quarters:", cross_val_score(model, X, Y, cv=folds).round(2))

# %% The certificate bounds what any other weights, or another output kernel, could still gain
certificate = each.certificate_
print(f"objective {certificate['objective']:.5g}, relative gap {certificate['relative_gap']:.1e}, ", end="")
print(f"converged: {certificate['converged']}")
