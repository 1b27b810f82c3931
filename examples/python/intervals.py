"""How sure is a prediction: docs/intervals.md in Python, cell by cell."""

# %% A wave and a line; the second has more noise where a is large
import numpy as np

import iokl


def simulate(seed, rows):
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, rows))
    wave = np.sin(2 * a) + b * np.exp(-c * c) + 0.3 * rng.standard_normal(rows)
    line = a + b + (0.2 + 0.4 * a * a) * rng.standard_normal(rows)
    return np.column_stack([a, b, c]), np.column_stack([wave, line])


X, Y = simulate(1, 300)
X_new, Y_new = simulate(2, 1000)


def held(low, high):
    """The share of the new targets between the ends, and the mean width, of each output."""
    return ((low <= Y_new) & (Y_new <= high)).mean(axis=0).round(3), (high - low).mean(axis=0).round(2)


# %% By the residuals of held-out rows, which every fit keeps
model = iokl.IOKLRegressor(kernels="gaussian:all:median*0.5,1", interval_folds=5).fit(X, Y)
share, width = held(*model.predict_interval(X_new, level=0.9))
print("held-out holds:", share.mean().round(3), "widths", width)

# %% CV+: everything is learned once more without each fifth of the rows
share, width = held(*model.predict_interval(X_new, level=0.9, method="cv+"))
print("cv+ holds:", share.mean().round(3), "widths", width)

# %% Jackknife+: refits without each row, in closed form
share, width = held(*model.predict_interval(X_new, level=0.9, method="jackknife+"))
print("jackknife+ holds:", share.mean().round(3), "widths", width)

# %% Wider where data are thin
share, width = held(*model.predict_interval(X_new, level=0.9, local=True))
print("local holds:", share.mean().round(3), "widths", width)

# %% Both outputs of a row together
low, high = model.predict_interval(X_new, level=0.9, joint=True)
print("rows held as a whole:", ((low <= Y_new) & (Y_new <= high)).all(axis=1).mean().round(3))

# %% The posterior deviation says where data are thin, not how large the noise is
_, near = model.predict(np.zeros((1, 3)), return_std=True)
_, far = model.predict(np.full((1, 3), 3.0), return_std=True)
print("deviation in the middle:", near[0].round(2), "at the edge:", far[0].round(2))
