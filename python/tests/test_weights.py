"""Weights, losses and probabilities."""

import numpy as np
import pytest

import iokl
from conftest import QUICK


def test_sample_weight(table):
    X, Y = table
    w = 1.0 + np.arange(60) % 3
    rows = np.repeat(np.arange(60), w.astype(int))
    fixed = dict(kernels=["gaussian:all:1"], learn="none", tol=1e-10)
    a = iokl.IOKLRegressor(lam=0.2 / 60, **fixed).fit(X, Y, sample_weight=w)
    b = iokl.IOKLRegressor(lam=0.2 / len(rows), **fixed).fit(X[rows], Y[rows])
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-8, atol=1e-8)
    plain = iokl.IOKLRegressor(lam=0.2 / 60, **fixed).fit(X, Y)
    assert np.abs(a.predict(X) - plain.predict(X)).max() > 1e-3
    np.testing.assert_allclose(a.score(X, Y, sample_weight=w), a.score(X[rows], Y[rows]))
    for bad in (-w, w[:-1], 0 * w, np.full(60, np.inf)):
        with pytest.raises(ValueError):
            iokl.IOKLRegressor(**QUICK).fit(X, Y, sample_weight=bad)


def test_partial_fit_weight(table):
    X, Y = table
    w = np.arange(20) % 3
    rows = 40 + np.repeat(np.arange(20), w)
    for estimator, y in (iokl.IOKLRegressor, Y), (iokl.IOKLClassifier, Y[:, 0] > np.median(Y[:, 0])):
        a, b, c = (estimator(**QUICK).fit(X[:40], y[:40]) for _ in range(3))
        a.partial_fit(X[40:], y[40:], sample_weight=w)
        b.partial_fit(X[rows], y[rows])
        c.partial_fit(X[40:], y[40:])
        score = "predict" if estimator is iokl.IOKLRegressor else "_scores"
        F = getattr(a, score)(X)
        np.testing.assert_allclose(F, getattr(b, score)(X), rtol=1e-7, atol=1e-7)
        assert np.abs(F - getattr(c, score)(X)).max() > 1e-3
        with pytest.raises(ValueError):
            a.partial_fit(X[:3], y[:3], sample_weight=w)


def test_weight_zero(table):
    X, Y = table
    w = np.where(np.arange(60) % 4, 1.0, 0.0)
    some = w > 0
    for estimator, y in (iokl.IOKLRegressor, Y), (iokl.IOKLClassifier, Y[:, 0] > np.median(Y[:, 0])):
        a = estimator(**QUICK).fit(X, y, sample_weight=w)
        b = estimator(**QUICK).fit(X[some], y[some], sample_weight=w[some])
        np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_losses(table):
    X, Y = table
    m = iokl.IOKLRegressor(kernels=["gaussian:all:1"], lam=1e-2, loss="quantile:0.1,0.9").fit(X, Y[:, 0])
    F = m.predict(X)
    assert F.shape == (60, 2) and (F[:, 0] <= F[:, 1]).all()
    assert m.certificate_["loss"] == "quantile:0.1,0.9"
    low, high = m.set_params(interval_folds=4).fit(X, Y[:, 0]).predict_interval(X, 0.8)
    assert low.shape == high.shape == (60,) and 0.7 < ((low <= Y[:, 0]) & (Y[:, 0] <= high)).mean() < 1
    with pytest.raises(ValueError, match="unknown loss"):
        iokl.IOKLRegressor(loss="absolute", **QUICK).fit(X, Y)


def test_logistic():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 2))
    p = 1 / (1 + np.exp(-3 * X[:, 0]))
    y = np.where(rng.uniform(size=300) < p, "yes", "no")
    m = iokl.IOKLClassifier(kernels=["gaussian:all:2"], lam=1e-3, loss="logistic").fit(X, y)
    P = m.predict_proba(X)
    assert list(m.classes_) == ["no", "yes"] and P.shape == (300, 2)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.abs(P[:, 1] - p).mean() < 0.08
    assert ((P[:, 1] > 0.5) == (m.predict(X) == "yes")).all()


def test_logistic_precomputed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 2))
    y = np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-3 * X[:, 0])), "yes", np.where(X[:, 1] > 0, "no", "maybe"))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
    options = {"lam": 1e-3, "tol": 1e-8, "loss": "logistic", "standardize": "none"}
    each = np.arange(200)  # samples of a class fall into the same folds where groups say so
    for folds in (0, 5):
        m = iokl.IOKLClassifier(kernels="precomputed", interval_folds=folds, **options).fit(K, y, groups=each)
        rows = iokl.IOKLClassifier(kernels=["gaussian:all:2"], interval_folds=folds, **options).fit(X, y, groups=each)
        near = 1e-4 if folds == 0 else 0.05
        np.testing.assert_allclose(m.predict_proba(K[:50]), rows.predict_proba(X[:50]), atol=near)
        classes = [list(m.classes_).index(c) for c in m.predict(K)]
        np.testing.assert_array_equal(np.argmax(m.predict_proba(K), axis=1), classes)
    squares = iokl.IOKLClassifier(kernels="precomputed", lam=1e-3).fit(K, y)
    np.testing.assert_allclose(squares.predict_proba(K).sum(axis=1), 1)


def test_noise():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (300, 1))
    sigma = 0.3 * np.exp(0.6 * X[:, 0])
    y = np.sin(2 * X[:, 0]) + sigma * rng.normal(size=300)
    m = iokl.IOKLRegressor(kernels=["gaussian:all:1"], lam=1e-3, learn_noise=True).fit(X, y)
    noise = m.predict_noise(X)
    assert noise.shape == (300,) and np.abs(np.log(noise / sigma)).mean() < 0.25
    low, high = m.predict_interval(X)
    assert np.corrcoef(high - low, sigma)[0, 1] > 0.8
    F, S = m.predict(X, return_std=True)
    assert F.shape == S.shape == (300,) and (S < noise).all()
    with pytest.raises(ValueError, match="did not learn the noise"):
        iokl.IOKLRegressor(kernels=["gaussian:all:1"], lam=1e-3).fit(X, y).predict_noise(X)


def test_zero_rows(table):
    X, Y = table
    rng = np.random.default_rng(4)
    wild = np.vstack([X, 100 * rng.standard_normal((20, 3))]), np.vstack([Y, 1e4 * rng.standard_normal((20, 2))])
    w = np.repeat([1.0, 0.0], [60, 20])
    at = rng.permutation(80)
    a = iokl.IOKLRegressor().fit(wild[0][at], wild[1][at], sample_weight=w[at])
    b = iokl.IOKLRegressor().fit(X, Y)
    assert a.chosen_["kernels"] == b.chosen_["kernels"] and a.certificate_["samples"] == 60
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-6)
    for left, right in zip(a.predict_interval(X), b.predict_interval(X)):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


def test_zero_rows_precomputed(table):
    X, Y = table
    K, w = X @ X.T, np.where(np.arange(60) % 3, 1.0, 0.0)
    some = w > 0
    a = iokl.IOKLRegressor(kernels="precomputed", lam=1e-3).fit(K, Y, sample_weight=w)
    b = iokl.IOKLRegressor(kernels="precomputed", lam=1e-3).fit(K[np.ix_(some, some)], Y[some])
    np.testing.assert_array_equal(a.predict(K), b.predict(K[:, some]))


def test_interval_weight():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (200, 1))
    sigma = np.where(np.arange(200) % 2, 0.1, 3.0)
    y = X[:, 0] + sigma * rng.standard_normal(200)
    m = iokl.IOKLRegressor(kernels=["linear:all"], lam=1e-3, interval_folds=5).fit(X, y, sample_weight=1 / sigma**2)
    low, high = m.predict_interval(X, sample_weight=1 / sigma**2)
    for part in (0, 1):
        assert 0.8 < ((low <= y) & (y <= high))[part::2].mean() < 0.99
    widths = [np.subtract(*m.predict_interval(X[:1], sample_weight=w)[::-1]).item() for w in (None, [1], [4], [0])]
    np.testing.assert_allclose(widths[1:], [widths[0], widths[0] / 2, widths[0]], rtol=0.05)
    with pytest.raises(ValueError, match="not negative"):
        m.predict_interval(X[:1], sample_weight=[-1])
