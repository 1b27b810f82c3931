"""The estimators."""

from __future__ import annotations

import ctypes as ct
import functools
import os
import threading
import warnings
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _input as given
from ._base import BaseEstimator, ClassifierMixin, NotFittedError, RegressorMixin
from ._library import Floats, IOKLWarning, Job, Model, encode_options, in_place, matrices, matrix

PARAMETERS = """
    kernels : list of str, "precomputed" or None, default=None
        SPECs of kernels, as ``["gaussian:each:0.5,1,2", "linear:all"]``; ``iokl help kernels``
        lists them. None means that cross-validation chooses them. With "precomputed",
        X is a kernel matrix, or a stack of them in the first axis of a 3D array.
    lam : float or None, default=None
        The regularization λ. None means that cross-validation chooses it.
    tau : float or None, default=None
        The bound τ on the trace of the output kernel. None means the number of outputs.
    norm : str or None, default=None
        The regularizer of the kernel weights, as "lp:1" or "elastic:0.5". None means "lp:1", or,
        without `lam`, that cross-validation chooses it.
    learn : {"eta,l", "eta", "l", "none"} or None, default=None
        What is learned beside the function: kernel weights, output kernel. None means both, or, without
        `kernels`, that cross-validation chooses.
    model : {"product", "sum"} or None, default=None
        "product" has weights of the kernels and one output kernel, "sum" an output kernel of each kernel's own. None
        means "product".
    loss : str or None, default=None
        What errors cost: "squared", "huber" or "huber:δ", "quantile:τ" or several "quantile:τ,τ,…", or "logistic". None
        means "squared". Several quantiles of a target are neighbouring columns of the predictions.
    learn_noise : bool, default=False
        Whether the standard deviation of the noise is learned as a function of the inputs, by which targets are
        weighted: see `predict_noise`. It is for regression by the losses "squared" and "huber".
    output_axis : array-like of shape (n_outputs,) or (n_outputs, n_coordinates) or None, default=None
        Points of an axis that the targets are, as epochs, hours or wavelengths, of regression by the loss "squared".
        Cross-validation compares kernels between them with the learned output kernel.
    standardize : {"x,y", "x", "y", "none"} or None, default=None
        What is brought to mean 0 and variance 1. None means "x,y", and "none" for precomputed kernels.
    tol : float, default=1e-4
        The relative gap to the best possible fit at which a fit ends.
    max_outer : int or None, default=None
        Outer iterations at most.
    folds : int or None, default=None
        Folds of the cross-validation. None lets the number of samples decide.
    interval_folds : int or None, default=None
        Folds of the models that `predict_interval` takes by "cv+", each with everything chosen anew.
        None keeps no such models, but what was predicted for held-out samples; -1 keeps neither.
    budget : float, str or None, default=None
        Time for choosing settings and the fit, in seconds or as "10m"; the best so far is kept when it is spent, with
        a `ConvergenceWarning` where the fit had no time to converge on all samples. None means no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice. None means 0: fits of the same data are the same.
    verbose : bool, default=False
        Show progress on standard error.
    options : dict or None, default=None
        Further options by the names of the JSON form of ``iokl.Options``, as ``{"precision": "float32"}``."""


ATTRIBUTES = """
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, where X was a data frame.
    n_iter_ : int
        Outer iterations of the fit.
    certificate_ : dict
        How the fit ended: objective, certified relative gap, λ.
    chosen_ : dict
        The setting: kernels, λ, norm, what was learned, and the errors by which it was chosen.
    kernel_weights_ : dict
        The weight of each kernel by its name."""


_locks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_locking = threading.Lock()


def _alone(method: Any) -> Any:
    """The method, which changes the estimator, one thread at a time."""

    @functools.wraps(method)
    def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _locking:
            lock = _locks.setdefault(self, threading.RLock())
        with lock:
            return method(self, *args, **kwargs)

    return locked


class _Estimator(BaseEstimator):
    """What the regressor and the classifier share: parameters, files, explanations."""

    def __init__(
        self,
        *,
        kernels: Any = None,
        lam: float | None = None,
        tau: float | None = None,
        norm: str | None = None,
        learn: str | None = None,
        model: str | None = None,
        loss: str | None = None,
        learn_noise: bool = False,
        output_axis: Any = None,
        standardize: str | None = None,
        tol: float = 1e-4,
        max_outer: int | None = None,
        folds: int | None = None,
        interval_folds: int | None = None,
        budget: Any = None,
        random_state: Any = None,
        verbose: bool = False,
        options: dict[str, Any] | None = None,
    ):
        self.kernels = kernels
        self.lam = lam
        self.tau = tau
        self.norm = norm
        self.learn = learn
        self.model = model
        self.loss = loss
        self.learn_noise = learn_noise
        self.output_axis = output_axis
        self.standardize = standardize
        self.tol = tol
        self.max_outer = max_outer
        self.folds = folds
        self.interval_folds = interval_folds
        self.budget = budget
        self.random_state = random_state
        self.verbose = verbose
        self.options = options

    def _precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _more_tags(self) -> dict[str, Any]:
        precomputed = self._precomputed()
        return {"allow_nan": not precomputed, "pairwise": precomputed, "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan, tags.input_tags.pairwise = not self._precomputed(), self._precomputed()
        return tags

    def _weighty(self, a: Any, targets: Any, groups: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
        """The samples without those of weight 0, which a fit does not see."""
        if sample_weight is None:
            return a, targets, groups, None
        w = np.asarray(given.weights(sample_weight, len(a[0]) if self._precomputed() else len(a)))
        if targets.ndim == 1 and w.shape[1] != 1:
            raise ValueError(f"sample_weight.shape == {w.shape}, expected ({len(w)},)!")
        some = np.flatnonzero((w != 0).any(axis=1))
        if len(some) in (0, len(w)):
            return a, targets, groups, sample_weight
        if self._precomputed():
            self._seen: NDArray[Any] | None = some
        a = [k[np.ix_(some, some)] for k in a] if self._precomputed() else a[some]
        return a, targets[some], None if groups is None else np.asarray(groups)[some], w[some]

    def _options(self, groups: Any, rows: int, sample_weight: Any) -> dict[str, Any]:
        """The options of a fit, as the library knows them."""
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol > 0):
            raise ValueError(f"tol={self.tol!r}: it must be positive")
        for name in ("lam", "tau"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value!r}: it must be positive")
        cv: dict[str, Any] = {} if self.folds is None else {"folds": self.folds}
        if groups is not None:
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
            given.same_rows(rows, len(codes))
            cv["groups"] = codes
        kernels = self.kernels
        if isinstance(kernels, str):
            kernels = None if self._precomputed() else [kernels]
        seed = self.random_state
        if seed is None or isinstance(seed, (int, np.integer)):
            seed = None if seed is None else int(seed)
        else:
            seed = int(seed.randint(2**31))
        options = {
            "kernels": None if kernels is None else list(kernels),
            "lambda": self.lam, "tau": self.tau, "norm": self.norm, "learn": self.learn, "model": self.model,
            "loss": self.loss, "learn_noise": self.learn_noise or None,
            "standardize": self.standardize, "tol": self.tol, "max_outer": self.max_outer,
            "interval_folds": self.interval_folds, "seed": seed,
            "budget": f"{self.budget}s" if isinstance(self.budget, (int, float, np.number)) else self.budget,
        }  # fmt: skip
        if self.output_axis is not None:
            options["output_axis"] = given.points(self.output_axis).tolist()
        if sample_weight is not None:
            options["weights"] = given.weights(sample_weight, rows)
        extra = dict(self.options or {})
        cv.update(extra.pop("cv", {}))
        options.update(extra)
        options["cv"] = cv or None
        return options

    def _read(self, X: Any, fitting: bool) -> Any:
        """X as a table, or as a list of kernel matrices, with its columns checked against those of fit."""
        name = type(self).__name__
        if self._precomputed():
            stack = given.grams(X, name)
            if fitting:
                self.n_features_in_, self._seen = stack[0].shape[1], None
                return stack
            if stack[0].shape[1] != self.n_features_in_:
                raise self._other_number(stack[0].shape[1])
            seen = getattr(self, "_seen", None)  # of weights that are not 0
            return stack if seen is None else [k[:, seen] for k in stack]
        names = given.names_of(X)
        a = given.table(X, name)
        if fitting:
            self.n_features_in_ = a.shape[1]
            if names is not None:
                self.feature_names_in_ = names
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return a
        self._check_names(names, name)
        if a.shape[1] != self.n_features_in_:
            raise self._other_number(a.shape[1])
        return a

    def _other_number(self, features: int) -> ValueError:
        """The error about an X of another number of features than that of fit."""
        name, expected = type(self).__name__, self.n_features_in_
        return ValueError(f"X has {features} features, but {name} is expecting {expected} features as input.")

    def _check_names(self, names: NDArray[Any] | None, estimator: str) -> None:
        known = getattr(self, "feature_names_in_", None)
        if known is None and names is not None:
            line = f"X has feature names, but {estimator} was fitted without feature names"
            warnings.warn(line, IOKLWarning, stacklevel=4)
        elif known is not None and names is None:
            line = f"X does not have valid feature names, but {estimator} was fitted with feature names"
            warnings.warn(line, IOKLWarning, stacklevel=4)
        elif known is not None and names is not None and list(known) != list(names):
            lines = ["The feature names should match those that were passed during fit."]
            for title, some in (
                ("Feature names unseen at fit time:", sorted(set(names) - set(known))),
                ("Feature names seen at fit time, yet now missing:", sorted(set(known) - set(names))),
            ):
                if some:
                    lines += [title, *(f"- {n}" for n in some[:5]), *(["- ..."] if len(some) > 5 else [])]
            if len(lines) == 1:
                lines.append("Feature names must be in the same order as they were in fit.")
            raise ValueError("\n".join(lines) + "\n")

    def _run(self, job: Job) -> None:
        """Wait for a fit and take its model."""
        with job:
            self._model = job.model(job.wait(self.verbose))
        self._describe()
        for line in self._about["warnings"]:
            warnings.warn(line, IOKLWarning, stacklevel=4)

    def _change(
        self,
        X: Floats | None,
        Y: Floats | None,
        window: int | None,
        relearn: bool,
        forget: Any = None,
        sample_weight: Any = None,
    ) -> None:
        """Take the model with rows added or taken out, and say what is unusual about them."""
        options = {"window": window, "relearn": relearn or None, "forget": forget}
        if X is not None and sample_weight is not None:
            options["weights"] = given.weights(sample_weight, len(X))
        model, before = self._fitted(), self._about["warnings"]
        if self._precomputed():
            raise ValueError("a model of kernel matrices is not updated: it keeps no inputs to compute kernels of")
        self._model = model.update(X, Y, options)
        self._describe()
        for line in self._about["warnings"]:
            if line not in before:
                warnings.warn(line, IOKLWarning, stacklevel=4)

    @_alone
    def forget(self, rows: Any, window: int | None = None, relearn: bool = False) -> Any:
        """Take rows out of the model, exactly as a fit at the same kernels, weights, L and λ·rows without them.

        Parameters
        ----------
        rows : array-like of int
            Rows, numbered from 0 by age: those of the fit in order, then those of `partial_fit`.
        window : int or None, default=None
            Rows that stay at most: the oldest leave.
        relearn : bool, default=False
            Where the certified relative gap is above the tolerance, learn weights and L further.

        Returns
        -------
        self : the estimator
        """
        self._change(None, None, window, relearn, [int(i) for i in np.asarray(rows).ravel()])
        return self

    def _describe(self) -> None:
        self._about = self._model.describe()
        self.n_iter_ = max(1, self._about["certificate"]["outer_iterations"])

    def _fitted(self) -> Model:
        if not hasattr(self, "_model"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet."
                " Call 'fit' with appropriate arguments before using this estimator."
            )
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _outputs(self, X: Any) -> Floats:
        model = self._fitted()
        a = self._read(X, False)
        return model.predict_gram(a) if self._precomputed() else model.predict(a)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file that ``iokl predict`` and `iokl.load` read.

        Parameters
        ----------
        path : str or path-like
            The file, which is written as a whole or not at all.
        """
        self._fitted().save(os.fspath(path))

    @property
    def certificate_(self) -> dict[str, Any]:
        """How the fit ended: objective, certified gap, λ and what was chosen with it."""
        self._fitted()
        return self._about["certificate"]

    @property
    def chosen_(self) -> dict[str, Any]:
        """The setting: kernels, λ, norm, what was learned, and the errors by which it was chosen."""
        self._fitted()
        return self._about["chosen"]

    @property
    def kernel_weights_(self) -> dict[str, float]:
        """The weight of each kernel by its name."""
        self._fitted()
        weights: dict[str, float] = {}
        for name, eta in zip(self._about["kernel_names"], self._about["eta"]):
            weights[name] = weights.get(name, 0.0) + eta
        return weights

    @property
    def output_kernel_(self) -> Floats:
        """L, which couples the outputs that are not constant."""
        return self._fitted().output_kernel()

    @property
    def output_kernels_(self) -> list[tuple[str, Floats]]:
        """The name and the output kernel of each kernel of a model "sum"; their sum is `output_kernel_`."""
        model = self._fitted()
        if self.chosen_["model"] != "sum":
            raise AttributeError('a model "product" has one output kernel for all kernels: output_kernel_')
        return [(name, model.output_kernel(j)) for j, name in enumerate(self._about["kernel_names"])]


class IOKLRegressor(RegressorMixin, _Estimator):
    """Regression on any number of outputs with input kernels and output kernel learned together.

    Without arguments, cross-validation chooses kernels, regularization and what is
    learned. Every fit ends with a certificate: a bound on its distance from the best possible fit.

    Parameters
    ----------{parameters}

    Attributes
    ----------{attributes}
    output_kernel_ : ndarray of shape (n_outputs, n_outputs)
        L, between the outputs that are not constant.

    Examples
    --------
    >>> import numpy as np, iokl
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> Y = np.hstack([np.sin(3 * X), 2 * np.sin(3 * X)])
    >>> model = iokl.IOKLRegressor(kernels=["gaussian:all:0.5,1,2"], lam=1e-5).fit(X, Y)
    >>> model.predict([[0.5]]).round(2)
    array([[1.  , 1.99]])
    >>> model.certificate_["relative_gap"] <= 1e-4
    True
    """

    def _more_tags(self) -> dict[str, Any]:
        return {**super()._more_tags(), "multioutput": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @_alone
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> IOKLRegressor:
        """Learn y from X.

        Ctrl-C ends the fit with the best model so far and a warning; a second one raises KeyboardInterrupt.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; NaN is a missing cell. With precomputed kernels, (n_samples, n_samples) or (n_kernels, n_samples,
            n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; NaN is a missing cell.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group are never on both sides of a split of the cross-validation.
        sample_weight : array-like of shape (n_samples,) or of the shape of y, default=None
            Weights, finite and not negative: 0 is a missing sample, 2 a sample that is there twice.

        Returns
        -------
        self : IOKLRegressor
        """
        a = self._read(X, True)
        rows = len(a[0]) if self._precomputed() else len(a)
        Y, self._single = given.targets(y, rows, type(self).__name__)
        a, Y, groups, sample_weight = self._weighty(a, Y, groups, sample_weight)
        Y = in_place(Y)
        options = self._options(groups, len(Y), sample_weight)
        options["output_names"] = given.names_of(y)
        options["input_names"] = getattr(self, "feature_names_in_", None)
        if self._precomputed():
            stack = [in_place(k) for k in a]
            encoded = encode_options(options)
            job = Job("iokl_fit_gram", matrices(stack), len(stack), ct.byref(matrix(Y)), encoded, keep=[stack, Y])
        else:
            a = in_place(a)
            job = Job("iokl_fit", ct.byref(matrix(a)), ct.byref(matrix(Y)), encode_options(options), keep=[a, Y])
        self._run(job)
        return self

    @_alone
    def partial_fit(
        self, X: Any, y: Any, window: int | None = None, relearn: bool = False, sample_weight: Any = None
    ) -> IOKLRegressor:
        """Add rows to the model, exactly as a fit at the same kernels, weights, L and λ·rows; a first call fits.

        `certificate_` says how much other weights and another L could gain on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; NaN is a missing cell.
        window : int or None, default=None
            Rows that stay at most: the oldest leave.
        relearn : bool, default=False
            Where the certified relative gap is above the tolerance, learn weights and L further.
        sample_weight : array-like of shape (n_samples,) or of the shape of y, default=None
            Weights of the samples that arrive, as in `fit`; None means 1.

        Returns
        -------
        self : IOKLRegressor
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight=sample_weight)
        a = self._read(X, False)
        Y, _ = given.targets(y, len(a), type(self).__name__, 1)
        a, Y, _, w = self._weighty(a, Y, None, sample_weight)
        self._change(a, Y, window, relearn, sample_weight=w)
        return self

    def _shape(self, F: Floats) -> Floats:
        return F[:, 0] if self._single and F.shape[1] == 1 else F

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. With precomputed kernels, the cross-kernel matrix (n_samples, n_training_samples), or a stack of
            them.
        return_std : bool, default=False
            Return the posterior standard deviations too: they say where data are thin, and do not count noise.

        Returns
        -------
        F : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, of the shape of the y of `fit`. They do not depend on the other rows of X.
        S : ndarray of the same shape
            Deviations, with `return_std`.
        """
        F = self._shape(self._outputs(X))
        if not return_std:
            return F
        if self._precomputed():
            raise ValueError("deviations are not there for precomputed kernels")
        return F, self._shape(self._model.deviation(self._read(X, False)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R², averaged over the outputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; NaN is a missing cell, which does not count, and nor does an output without any other.
        sample_weight : array-like of shape (n_samples,) or of the shape of y, default=None
            Weights.

        Returns
        -------
        float
            1 for exact predictions, 0 for those that are no better than the mean of y.
        """
        F = self.predict(X)
        F = F.reshape(len(F), -1)
        Y, _ = given.targets(y, len(F), type(self).__name__, 1)
        if Y.shape != F.shape:
            raise ValueError(f"y has {Y.shape[1]} outputs, and the model predicts {F.shape[1]}")
        w = np.ones((len(F), 1)) if sample_weight is None else np.asarray(given.weights(sample_weight, len(F)))
        w = np.where(np.isnan(Y), 0.0, np.broadcast_to(w, Y.shape))
        some = w.sum(axis=0) > 0
        F, Y, w = F[:, some], np.where(np.isnan(Y), 0.0, Y)[:, some], w[:, some]
        left = (w * (Y - F) ** 2).sum(axis=0)
        total = (w * (Y - np.average(Y, axis=0, weights=w)) ** 2).sum(axis=0)
        r2 = np.where(total > 0, 1 - left / np.where(total > 0, total, 1), left == 0)
        return float(np.mean(r2)) if len(r2) else float("nan")

    def predict_at(self, X: Any, points: Any) -> Floats:
        """Predict targets at other points of the axis of the outputs: see `output_axis`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`.
        points : array-like of shape (n_points,) or (n_points, n_coordinates)
            Points, in the units of `output_axis`.

        Returns
        -------
        ndarray of shape (n_samples, n_points)
            Predictions. At a point of `output_axis` they are those of its output.
        """
        at = self._fitted().at(given.points(points))
        a = self._read(X, False)
        return at.predict_gram(a) if self._precomputed() else at.predict(a)

    def predict_noise(self, X: Any) -> Any:
        """Predict the standard deviations of the noise. The model must have learned them: see `learn_noise`.

        A new target lies about its prediction with the squares of these and of the deviations of `predict` for its
        variance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard deviations, in the units of the targets.
        """
        model = self._fitted()
        if self._precomputed():
            raise ValueError("noise is learned as a function of inputs, which precomputed kernels do not tell")
        return self._shape(model.noise(self._read(X, False)))

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        method: str | None = None,
        local: bool = False,
        joint: bool = False,
        sample_weight: Any = None,
    ) -> Any:
        """Predict intervals that hold new targets with a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`. With precomputed kernels, "cv+" takes the cross-kernel matrices of all kernels.
        level : float, default=0.9
            The share of new targets that the intervals are to hold.
        method : {{"held-out", "cv+", "jackknife+", "conformal"}} or None, default=None
            "conformal", of models with a loss of several quantiles, takes two of these and moves them by what held-out
            samples tell. Of others "held-out", the default, adds a quantile of the held-out residuals on both sides,
            "cv+" takes models without each fold (see `interval_folds`), and "jackknife+" refits without each row in
            closed form, conditional on the kernels and the output kernel.
        local : bool, default=False
            Whether the intervals are wider where data are thin.
        joint : bool, default=False
            Whether `level` is for all outputs of a row together.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Weights of the samples to predict, as those of `fit`: widths are in proportion to 1/√w. None means 1, and so
            does a weight of 0.

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The ends of the intervals of targets.
        """
        model = self._fitted()
        options: dict[str, Any] = {"level": level, "method": method, "local": local, "joint": joint}
        a = self._read(X, False)
        if sample_weight is not None:
            options["weights"] = given.weights(sample_weight, len(a[0]) if self._precomputed() else len(a))
        loss = self.certificate_.get("loss", "")
        quantiles = loss.count(",") + 1 if loss.startswith("quantile") else 1
        if self._precomputed():
            _, low, high = model.interval_gram(a, options, quantiles)
        else:
            _, low, high = model.interval(a, options, quantiles)
        return self._shape(low), self._shape(high)


class IOKLClassifier(ClassifierMixin, _Estimator):
    """Classification by regression on a target of 0 or 1 for each class, kernels and output kernel learned.

    Parameters
    ----------{parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.{attributes}
    output_kernel_ : ndarray of shape (n_classes, n_classes)
        L, between the classes.

    Examples
    --------
    >>> import numpy as np, iokl
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = np.where(abs(X[:, 0]) < 0.5, "in", "out")
    >>> model = iokl.IOKLClassifier(kernels=["gaussian:all:0.5"], lam=1e-4).fit(X, y)
    >>> model.predict([[0.1], [0.9]])
    array(['in', 'out'], dtype='<U3')
    """

    @_alone
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> IOKLClassifier:
        """Learn to tell the classes y apart.

        Ctrl-C ends the fit with the best model so far and a warning; a second one raises KeyboardInterrupt.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; NaN is a missing cell. With precomputed kernels, (n_samples, n_samples) or (n_kernels, n_samples,
            n_samples).
        y : array-like of shape (n_samples,)
            Classes: whole numbers, booleans or strings.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group are never on both sides of a split of the cross-validation.
        sample_weight : array-like of shape (n_samples,) or of the shape of y, default=None
            Weights, finite and not negative: 0 is a missing sample, 2 a sample that is there twice.

        Returns
        -------
        self : IOKLClassifier
        """
        a = self._read(X, True)
        rows = len(a[0]) if self._precomputed() else len(a)
        classes, codes, names = given.labels(y, rows, type(self).__name__)
        a, codes, groups, sample_weight = self._weighty(a, codes, groups, sample_weight)
        used, codes = np.unique(codes, return_inverse=True)
        self.classes_, names, rows = classes[used], [names[k] for k in used], len(codes)
        if len(names) < 2:
            raise ValueError(f"{rows} samples of one class: there is nothing to tell apart")
        options = self._options(groups, rows, sample_weight)
        options["input_names"] = getattr(self, "feature_names_in_", None)
        if self._precomputed():
            Y = np.eye(len(names))[codes]
            stack = [in_place(k) for k in a]
            options["output_names"] = names
            encoded = encode_options(options)
            job = Job("iokl_fit_gram", matrices(stack), len(stack), ct.byref(matrix(Y)), encoded, keep=[stack, Y])
        else:
            a = in_place(a)
            text = (ct.c_char_p * len(names))(*(n.encode() for n in names))
            job = Job(
                "iokl_fit_classes", ct.byref(matrix(a)), codes.ctypes.data, rows, text, len(names),
                encode_options(options), keep=[a, codes],
            )  # fmt: skip
        self._run(job)
        order = self._about["output_names"]
        self._columns = [order.index(n) for n in names]
        return self

    @_alone
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        window: int | None = None,
        relearn: bool = False,
        sample_weight: Any = None,
    ) -> IOKLClassifier:
        """Add rows to the model, exactly as a fit at the same kernels, weights, L and λ·rows; a first call fits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        y : array-like of shape (n_samples,)
            Classes, among those of the first call.
        classes : array-like, default=None
            Not used: the first call sees samples of all classes.
        window : int or None, default=None
            Rows that stay at most: the oldest leave.
        relearn : bool, default=False
            Where the certified relative gap is above the tolerance, learn weights and L further.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples that arrive, as in `fit`; None means 1.

        Returns
        -------
        self : IOKLClassifier
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight=sample_weight)
        a = self._read(X, False)
        known, codes, _ = given.labels(y, len(a), type(self).__name__, 1)
        unknown = [c for c in known if c not in self.classes_]
        if unknown:
            raise ValueError(f"the model has no class {unknown[0]!r}: fit it anew")
        Y = np.zeros((len(a), len(self.classes_)))
        for i, code in enumerate(codes):
            Y[i, self._columns[int(np.flatnonzero(self.classes_ == known[code])[0])]] = 1
        a, Y, _, w = self._weighty(a, Y, None, sample_weight)
        self._change(a, Y, window, relearn, sample_weight=w)
        return self

    def _scores(self, X: Any) -> Floats:
        """The output of each class, in the order of classes_."""
        return self._outputs(X)[:, self._columns]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. With precomputed kernels, the cross-kernel matrix (n_samples, n_training_samples), or a stack of
            them.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of the largest output.
        """
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        By the loss "logistic" these are the probabilities of each class against all others, divided by their sum. Where
        the fit keeps held-out predictions, as it does unless `interval_folds` is -1, they are calibrated on these. Of
        the squared loss they are a softmax of the outputs, whose one slope is fitted to held-out samples. Where there
        are none, the outputs being least-squares estimates of the probabilities, these are the nearest numbers to them
        that are not negative and have the sum 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        self._fitted()
        if self.certificate_.get("loss") == "logistic" and self._precomputed():
            P = self._model.probabilities_gram(self._read(X, False))[:, self._columns]
            return P / P.sum(axis=1, keepdims=True)
        if self.certificate_.get("loss") == "logistic":
            return self._model.probabilities(self._read(X, False))[:, self._columns]
        if self._calibrated():
            return self._model.sets(self._read(X, False), 0)[0][:, self._columns]
        F = self._scores(X)
        down = -np.sort(-F, axis=1)
        excess = (np.cumsum(down, axis=1) - 1) / np.arange(1, F.shape[1] + 1)
        last = np.count_nonzero(down > excess, axis=1) - 1
        P = np.maximum(F - excess[np.arange(len(F)), last][:, None], 0)
        return P / P.sum(axis=1, keepdims=True)

    def _calibrated(self) -> bool:
        self._fitted()
        return self._about["held_out"] and not self._precomputed()

    def predict_set(self, X: Any, level: float = 0.9) -> NDArray[np.bool_]:
        """Predict the classes that each row may be of.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as for `predict`.
        level : float, default=0.9
            The probability with which a set holds the class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Whether a class is in the set of a row, in the order of `classes_`; the predicted class always is.
        """
        if not self._calibrated():
            raise ValueError("sets of classes come from held-out samples of rows, of which the model keeps none")
        return self._model.sets(self._read(X, False), level)[1][:, self._columns] > 0


for _estimator in (IOKLRegressor, IOKLClassifier):
    _doc = (_estimator.__doc__ or "").replace("{parameters}", PARAMETERS)
    _estimator.__doc__ = _doc.replace("{attributes}", ATTRIBUTES)


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator whose options these are."""
    options = dict(options)
    names = {"lambda": "lam", "seed": "random_state"}
    known = BaseEstimator.get_params(IOKLRegressor())
    settings = {names.get(k, k): options.pop(k) for k in list(options) if names.get(k, k) in known}
    cv = dict(options.pop("cv", {}))
    if "folds" in cv:
        settings["folds"] = cv.pop("folds")
    if cv:
        options["cv"] = cv
    if options:
        settings["options"] = options
    return settings


def load(path: str | os.PathLike[str]) -> IOKLRegressor | IOKLClassifier:
    """Load a model that `save`, or ``iokl fit --out``, has written.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    IOKLRegressor or IOKLClassifier
        A fitted estimator. Its parameters are those of the fit, so that `fit` of a clone on the same data is the same
        fit; of a file of an older version, the defaults but for λ, τ, norm and what was learned. A regressor predicts
        one column for each output.
    """
    model = Model.load(os.fspath(path))
    about = model.describe()
    cert = about["certificate"]
    fitted: IOKLRegressor | IOKLClassifier
    settings = {"lam": cert["lambda"], "tau": cert["tau"], "norm": cert["norm"], "learn": cert["learn"]}
    settings["model"] = about["chosen"]["model"] if about["chosen"] else None
    if about["options"] is not None:
        settings = _parameters(about["options"])
        settings["output_axis"] = about["output_axis"]
    if about["input_names"] is None:
        settings["kernels"] = "precomputed"
    if about["classes"]:
        fitted = IOKLClassifier(**settings)
        fitted.classes_ = given.classes_of(about["classes"])
        order = np.argsort(fitted.classes_, kind="stable")
        fitted.classes_, fitted._columns = fitted.classes_[order], list(order)
    else:
        fitted = IOKLRegressor(**settings)
        fitted._single = False
    fitted._model = model
    fitted._describe()
    names = about["input_names"]
    if names is None:
        fitted.n_features_in_ = cert["samples"]
    else:
        fitted.n_features_in_ = len(names)
        if names != [f"x{j + 1}" for j in range(len(names))]:
            fitted.feature_names_in_ = np.array(names, dtype=object)
    return fitted
