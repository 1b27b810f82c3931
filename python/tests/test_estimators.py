"""The estimators as scikit-learn's users know them."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import iokl
from conftest import CHECKED, QUICK

pytest.importorskip("sklearn")
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([iokl.IOKLRegressor(**CHECKED), iokl.IOKLClassifier(**CHECKED)])
def test_sklearn(estimator, check):
    check(estimator)


def test_regressor(table):
    X, Y = table
    m = iokl.IOKLRegressor(**QUICK).fit(X[:40], Y[:40])
    assert m.predict(X[40:]).shape == (20, 2)
    assert m.score(X[40:], Y[40:]) > 0.8
    assert m.certificate_["relative_gap"] <= 1e-4 and m.certificate_["lambda"] == 1e-3
    assert m.n_features_in_ == 3 and m.n_iter_ >= 1 and not hasattr(m, "feature_names_in_")
    assert np.linalg.eigvalsh(m.output_kernel_).min() > -1e-12
    assert sum(m.kernel_weights_.values()) <= 1 + 1e-12
    one = iokl.IOKLRegressor(**QUICK).fit(X, Y[:, 0])
    assert one.predict(X).shape == (60,)
    np.testing.assert_array_equal(one.predict(X), iokl.IOKLRegressor(**QUICK).fit(X, Y[:, :1]).predict(X)[:, 0])


def test_rows_do_not_depend_on_each_other(table):
    X, Y = table
    X = np.tile(X, (300, 1))  # more than a block
    m = iokl.IOKLRegressor(**QUICK).fit(*table)
    F = m.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(m.predict(X[order]), F[order])
    np.testing.assert_array_equal(np.vstack([m.predict(X[i : i + 1]) for i in range(50)]), F[:50])
    np.testing.assert_array_equal(m.predict(X[10000:]), F[10000:])


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype(np.float32).astype(float) * 0 + X,
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: np.hstack([X, X])[:, : X.shape[1]],
        lambda X: X[::-1][::-1],
        lambda X: X[::-1].copy()[::-1],
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X).values,
    ],
)
def test_forms_of_arrays(table, form):
    X, Y = table
    want = iokl.IOKLRegressor(**QUICK).fit(X, Y).predict(X)
    got = iokl.IOKLRegressor(**QUICK).fit(form(X), form(Y)).predict(form(X))
    np.testing.assert_array_equal(got, want)


def test_float32(table):
    X, Y = (a.astype(np.float32) for a in table)
    want = iokl.IOKLRegressor(**QUICK).fit(X.astype(float), Y.astype(float)).predict(X.astype(float))
    np.testing.assert_array_equal(iokl.IOKLRegressor(**QUICK).fit(X, Y).predict(X), want)


def test_memory_maps_and_read_only(table, tmp_path):
    X, Y = table
    want = iokl.IOKLRegressor(**QUICK).fit(X, Y).predict(X)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    Y = Y.copy()
    Y.flags.writeable = False
    np.testing.assert_array_equal(iokl.IOKLRegressor(**QUICK).fit(mapped, Y).predict(mapped), want)


def test_missing_cells(table):
    X, Y = table
    holes = X.copy()
    holes[::7, 0] = np.nan
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        m = iokl.IOKLRegressor(standardize="y", **QUICK).fit(holes, Y)
    want = iokl.IOKLRegressor(standardize="y", **QUICK).fit(filled, Y).predict(filled)
    np.testing.assert_allclose(m.predict(holes), want, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="infinity"):
        m.predict(np.where(np.isnan(holes), np.inf, holes))


def test_missing_targets(table):
    X, Y = table
    holes = Y.copy()
    holes[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    holes[7] = np.nan
    with pytest.warns(UserWarning, match="target cells are missing"):
        m = iokl.IOKLRegressor(**QUICK).fit(X, holes)
    assert m.certificate_["observed_cells"] == np.isfinite(holes).sum()
    assert r2_score(Y, m.predict(X)) > 0.9
    with pytest.raises(ValueError, match="miss"):
        iokl.IOKLRegressor(options={"missing_targets": "error"}, **QUICK).fit(X, holes)


def test_sum(table, tmp_path):
    X, Y = table
    m = iokl.IOKLRegressor(model="sum", **QUICK).fit(X, Y)
    parts = m.output_kernels_
    np.testing.assert_allclose(sum(L for _, L in parts), m.output_kernel_, atol=1e-9)
    assert len(parts) == 4 and m.certificate_["global_gap"] < 1e-3
    m.save(tmp_path / "sum.iokl")
    again = iokl.load(tmp_path / "sum.iokl")
    assert again.model == "sum"
    np.testing.assert_array_equal(again.predict(X), m.predict(X))
    with pytest.raises(AttributeError, match="product"):
        iokl.IOKLRegressor(**QUICK).fit(X, Y).output_kernels_


def test_data_frames(table):
    X = pd.DataFrame(table[0], columns=["a", "b", "c"])
    Y = pd.DataFrame(table[1], columns=["u", "v"])
    m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    assert list(m.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(m.predict(X), iokl.IOKLRegressor(**QUICK).fit(*table).predict(table[0]))
    with pytest.raises(ValueError, match="must be in the same order"):
        m.predict(X[["b", "a", "c"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        m.predict(X.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="valid feature names"):
        m.predict(X.values)
    nullable = X.astype("Float64")
    nullable.iloc[0, 0] = pd.NA
    assert np.isfinite(m.predict(nullable)).all()


def test_classifier():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 2))
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    m = iokl.IOKLClassifier(**QUICK).fit(X[:60], y[:60])
    assert list(m.classes_) == ["low", "mid", "top"]
    assert m.score(X[60:], y[60:]) > 0.8
    P = m.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert P.min() >= 0
    np.testing.assert_array_equal(m.classes_[P.argmax(axis=1)], m.predict(X))
    # Numbers as text are sorted as numbers by the library, as text by numpy.
    ten = np.array(["9", "10", "8"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    again = iokl.IOKLClassifier(**QUICK).fit(X[:60], ten[:60])
    names = dict(low="9", mid="10", top="8")
    assert list(again.predict(X)) == [names[c] for c in m.predict(X)]
    for labels in (y == "low", (y == "low").astype(float), pd.Series(y).astype("category")):
        assert iokl.IOKLClassifier(**QUICK).fit(X, labels).score(X, labels) > 0.8
    kept = iokl.IOKLClassifier(interval_folds=5, **QUICK).fit(X[:60], ten[:60])
    P, sets = kept.predict_proba(X), kept.predict_set(X, 0.9)
    np.testing.assert_array_equal(kept.classes_[P.argmax(axis=1)], kept.predict(X))
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    held = sets[np.arange(90), np.searchsorted(kept.classes_, ten)]
    assert held[60:].mean() > 0.7 and sets[np.arange(90), P.argmax(axis=1)].all() and not sets.all()
    assert again.predict_set(X[:60], 0.9)[np.arange(60), np.searchsorted(again.classes_, ten[:60])].mean() > 0.8
    with pytest.raises(ValueError, match="class"):
        iokl.IOKLClassifier(**QUICK).fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="Unknown label type"):
        iokl.IOKLClassifier(**QUICK).fit(X, X[:, 0])


def gaussian(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


def test_precomputed(table, tmp_path):
    X, Y = table
    fit = np.stack([gaussian(X[:40], X[:40]), X[:40] @ X[:40].T])
    new = np.stack([gaussian(X[40:], X[:40]), X[40:] @ X[:40].T])
    m = iokl.IOKLRegressor(kernels="precomputed", lam=1e-4).fit(fit, Y[:40])
    assert r2_score(Y[40:], m.predict(new)) > 0.95
    kept = iokl.IOKLRegressor(kernels="precomputed", lam=1e-4, interval_folds=5).fit(fit, Y[:40])
    low, high = kept.predict_interval(new, level=0.9)
    assert low.shape == (20, 2) and ((low < Y[40:]) & (Y[40:] < high)).mean() > 0.7
    assert (low <= kept.predict(new)).all() and (kept.predict(new) <= high).all()
    low, high = m.predict_interval(new, level=0.9)
    assert ((low < Y[40:]) & (Y[40:] < high)).mean() > 0.7
    with pytest.raises(ValueError, match="folds"):
        m.predict_interval(new, method="cv+")
    with pytest.raises(ValueError, match="precomputed"):
        kept.predict(new, return_std=True)
    flat = iokl.IOKLRegressor(kernels="precomputed", lam=1e-4)
    assert r2_score(Y, cross_val_predict(flat, gaussian(X, X), Y, cv=3)) > 0.9  # rows and columns are split
    y = Y[:, 0] > 0
    c = iokl.IOKLClassifier(kernels="precomputed", lam=1e-4).fit(fit, y[:40])
    assert (c.predict(new) == y[40:]).mean() > 0.8
    with pytest.raises(ValueError, match="features"):
        m.predict(new[:, :, :-1])
    np.save(tmp_path / "k.npy", fit)
    mapped = np.load(tmp_path / "k.npy", mmap_mode="r")  # a write to it would end the process
    same = iokl.IOKLRegressor(kernels="precomputed", lam=1e-4).fit(mapped, Y[:40])
    np.testing.assert_array_equal(same.predict(new), m.predict(new))


def test_intervals(table):
    X, Y = table
    m = iokl.IOKLRegressor(kernels=["gaussian:all:1"], interval_folds=5, folds=3).fit(X[:40], Y[:40])
    for method in (None, "cv+", "jackknife+"):
        low, high = m.predict_interval(X[40:], level=0.9, method=method)
        assert low.shape == (20, 2) and ((low < Y[40:]) & (Y[40:] < high)).mean() > 0.7
        narrow = np.subtract(*m.predict_interval(X[40:], level=0.7, method=method)[::-1])
        assert (narrow < high - low).all()
    F, S = m.predict(X[40:], return_std=True)
    np.testing.assert_array_equal(F, m.predict(X[40:]))
    assert (S > 0).all()
    far = m.predict(X[40:] + 100, return_std=True)[1]
    assert (far > S).all()
    with pytest.raises(ValueError):
        m.predict_interval(X, level=1.5)
    with pytest.raises(ValueError, match="magic"):
        m.predict_interval(X, method="magic")


def test_pickle_clone_copy(table):
    X, Y = table
    m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    for again in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m), copy.copy(m)):
        np.testing.assert_array_equal(again.predict(X), m.predict(X))
    fresh = clone(m)
    assert fresh.get_params() == m.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_pipeline_and_grid(table):
    X, Y = table
    steps = make_pipeline(StandardScaler(), iokl.IOKLRegressor(**QUICK))
    grid = GridSearchCV(steps, {"ioklregressor__lam": [1e-3, 1e2]}, cv=2, n_jobs=2)
    grid.fit(X, Y)
    assert grid.best_params_ == {"ioklregressor__lam": 1e-3}
    y = Y[:, 0] > 0
    P = cross_val_predict(iokl.IOKLClassifier(**QUICK), X, y, cv=3, method="predict_proba")
    assert ((P[:, 1] > 0.5) == y).mean() > 0.8


def test_groups(table):
    X, Y = table
    groups = np.repeat([f"g{k}" for k in range(6)], 10)
    m = iokl.IOKLRegressor(kernels=["gaussian:all:1"], folds=3).fit(X, Y, groups=groups)
    assert m.score(X, Y) > 0.9
    with pytest.raises(ValueError, match="inconsistent"):
        iokl.IOKLRegressor(**QUICK).fit(X, Y, groups=groups[:-1])


def test_bad_parameters(table):
    for params, word in (
        ({"kernels": ["guassian:all:1"]}, "guassian"), ({"lam": -1}, "lam"), ({"tol": 0}, "tol"),
        ({"norm": "lp:x"}, "norm"), ({"options": {"presicion": "float32"}}, "presicion"), ({"learn": "all"}, "learn"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            iokl.IOKLRegressor(**{**QUICK, **params}).fit(*table)
    with pytest.raises(MemoryError):
        iokl.IOKLRegressor(**QUICK, options={"max_bytes": 1000}).fit(*table)
    with pytest.warns(ConvergenceWarning):
        iokl.IOKLRegressor(
            kernels=["gaussian:each:0.5,1,2"], lam=1e-4, tol=1e-10, max_outer=1
        ).fit(*table)


def test_budget(table, capfd):
    for budget in (600, "10m"):
        m = iokl.IOKLRegressor(kernels="gaussian:all:1", budget=budget, verbose=True).fit(*table)
        assert m.chosen_["folds"] > 1 and 0 < m.chosen_["error"] < 0.5
    said = capfd.readouterr().err
    assert "iokl: chose" in said and "relative gap" in said
    with pytest.raises(ValueError, match="budget"):
        iokl.IOKLRegressor(budget="soon").fit(*table)


def test_display(table):
    m = iokl.IOKLRegressor(lam=0.5)
    assert repr(m) == "IOKLRegressor(lam=0.5)"
    page = m.fit(*table)._repr_html_()
    assert "IOKLRegressor" in page and "<script" not in page


def test_partial_fit_and_forget(table):
    X, Y = table
    model = iokl.IOKLRegressor(**QUICK).fit(X[:40], Y[:40])
    before = model.predict(X)
    more = model.partial_fit(X[40:], Y[40:])
    assert more is model
    assert not np.allclose(model.predict(X), before, atol=1e-6)
    fitted = model.predict(X)
    model.partial_fit(X[:1], Y[:1] + 1).forget([60])
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-8)
    model.forget([], window=30)
    assert "relative_gap" in model.certificate_
    with pytest.raises(ValueError, match="rows 0 to 29"):
        model.forget([30])
    first = iokl.IOKLRegressor(**QUICK).partial_fit(X, Y)
    assert first.predict(X).shape == Y.shape


def test_partial_fit_of_classes(table):
    X, Y = table
    y = np.where(Y[:, 0] > 0, "up", "down")
    model = iokl.IOKLClassifier(**QUICK).fit(X[:40], y[:40])
    model.partial_fit(X[40:], y[40:])
    assert (model.predict(X) == y).mean() > 0.8
    with pytest.raises(ValueError, match="no class 'sideways'"):
        model.partial_fit(X[:1], ["sideways"])


def test_output_axis():
    rng = np.random.default_rng(6)
    X, t = rng.uniform(-1, 1, (60, 2)), np.linspace(0, 3, 7)
    curve = lambda t: np.sin(X[:, :1] + t) + X[:, 1:] * t  # noqa: E731
    m = iokl.IOKLRegressor(kernels=["gaussian:all:median"], lam=1e-6, output_axis=t).fit(X, curve(t))
    np.testing.assert_allclose(m.predict_at(X, t), m.predict(X), rtol=0, atol=1e-9)
    between = np.array([0.3, 1.7])
    F = m.predict_at(X, between)
    assert F.shape == (60, 2)
    assert np.abs(F - curve(between)).max() < 0.1 < np.abs(F - curve(between[::-1])).max()
    with pytest.raises(ValueError, match="coordinates"):
        m.predict_at(X, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="without an axis"):
        iokl.IOKLRegressor(kernels=["gaussian:all:median"], lam=1e-3).fit(X, curve(t)).predict_at(X, t)
    with pytest.raises(ValueError, match="6 points"):
        iokl.IOKLRegressor(kernels=["gaussian:all:median"], lam=1e-3, output_axis=t[1:]).fit(X, curve(t))


@pytest.mark.parametrize("cell", ["18,5", "18.5 kg", "$18.5", "1,030.1", "error"])
def test_cells_that_are_no_numbers(cell):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    f = pd.DataFrame(rng.standard_normal((40, 2)), columns=["u", "v"])
    m = iokl.IOKLRegressor(kernels=["linear:all"], lam=1e-3).fit(f, f["u"] + 2 * f["v"])
    odd = f.astype(object)
    odd.iloc[7, 1] = cell
    with pytest.raises(ValueError, match="row 7, column 'v'"):
        m.predict(odd)
    want = f.copy()
    want.iloc[7, 1] = np.nan
    for missing in (None, pd.NA, "NaN", "nan", float("nan")):
        odd.iloc[7, 1] = missing
        np.testing.assert_array_equal(m.predict(odd), m.predict(want))
@pytest.mark.parametrize("estimator", [iokl.IOKLRegressor, iokl.IOKLClassifier])
def test_loaded_parameters(table, tmp_path, estimator):
    X, Y = table
    y = Y if estimator is iokl.IOKLRegressor else np.where(Y[:, 0] > 0, "up", "down")
    given = dict(
        kernels=["gaussian:all:1", "linear:all"], lam=1e-3, norm="lp:2", standardize="x", tol=1e-6, random_state=3,
        folds=4, interval_folds=4, options={"missing": "error"},
    )  # fmt: skip
    for parameters in (given, {}):
        m = estimator(**parameters).fit(X, y)
        m.save(tmp_path / "m.iokl")
        read = iokl.load(tmp_path / "m.iokl")
        assert type(read) is estimator and read.get_params() == m.get_params()
        again = clone(read).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), m.predict(X))


def test_loaded_classes(command, table, tmp_path):
    X, Y = table
    y = np.where(Y[:, 0] > 0, "up", "down")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(y) + "\n")
    fit = ("--kernel", "gaussian:all:1", "--lambda", "1e-3", "--quiet")
    command("fit", "--x", tmp_path / "x.csv", "--y", tmp_path / "y.csv", "--classes", "--out", tmp_path / "m", *fit)
    m = iokl.load(tmp_path / "m")
    assert isinstance(m, iokl.IOKLClassifier) and (m.predict(X) == y).mean() > 0.9
    assert m.get_params()["kernels"] == ["gaussian:all:1"] and m.score(X, y) > 0.9


def test_score_of_missing_targets(table):
    X, Y = table
    m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    holes, w = Y.copy(), np.where(np.arange(60) < 5, 0.0, 2.0)
    holes[:5, 0], holes[:, 1] = np.nan, np.nan
    one = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    expected = r2_score(Y[5:, 0], one.predict(X)[5:, 0])
    assert m.score(X, holes) == pytest.approx(expected)
    assert m.score(X, Y) == pytest.approx(r2_score(Y, m.predict(X)))
    assert m.score(X, Y, sample_weight=w) == pytest.approx(r2_score(Y, m.predict(X), sample_weight=w))


def test_threads_lose_no_rows(table):
    X, Y = table
    m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    threads = [threading.Thread(target=lambda: [m.partial_fit(X[:2], Y[:2]) for _ in range(4)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert m.certificate_["samples"] == 60 + 2 * 16


def test_files_and_words(table, tmp_path):
    X, Y = table
    with pytest.raises(FileNotFoundError):
        iokl.load(tmp_path / "none.iokl")
    with pytest.raises(FileNotFoundError):
        iokl.IOKLRegressor(**QUICK).fit(X, Y).save(tmp_path / "none" / "m.iokl")
    with pytest.raises(ValueError, match=r"give λ \(lam\)"):
        iokl.IOKLRegressor().fit(X[:2], Y[:2])
    holes = X.copy()
    holes[3, 1] = np.nan
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        iokl.IOKLRegressor(**{**QUICK, "max_outer": 1, "tol": 1e-12}).fit(holes, Y)
    assert len(seen) == 2 and all(issubclass(w.category, iokl.IOKLWarning) for w in seen)
