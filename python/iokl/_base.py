"""What the estimators take from scikit-learn, or, without it, the least that stands for it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """An estimator is used before fit."""

    class ConvergenceWarning(UserWarning):  # type: ignore[no-redef]
        """A fit has not reached its tolerance."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data are used in another form than they have."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters are the arguments of the constructor."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

        def set_params(self, **params: Any) -> Any:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"invalid parameter {name!r} for {type(self).__name__}: it has {sorted(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self)).parameters
            given = (f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default)
            return f"{type(self).__name__}({', '.join(given)})"

    class RegressorMixin:  # type: ignore[no-redef]
        """Marks regressors."""

        _estimator_type = "regressor"

    class ClassifierMixin:  # type: ignore[no-redef]
        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Return the share of rows whose class is predicted."""
            right = self.predict(X) == np.asarray(y).ravel()  # type: ignore[attr-defined]
            return float(np.average(right, weights=sample_weight))
