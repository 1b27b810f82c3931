"""Causal graphs of time series."""

from __future__ import annotations

import ctypes as ct
import warnings
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _input as given
from ._library import Floats, IOKLWarning, Job, encode_options, in_place, matrix


@dataclass(frozen=True)
class Graph:
    """A causal graph.

    Attributes
    ----------
    nodes : list of str
        Names of the nodes.
    graph : ndarray of shape (n_nodes, n_nodes)
        Strengths, or probabilities where ``details`` has them: row = target, column = source.
    details : dict
        All that ``iokl.granger`` has found, as the library writes it: sizes of the parts, fits of the nodes.
    """

    nodes: list[str]
    graph: Floats
    details: dict[str, Any]

    def edges(self, threshold: float = 0.0) -> list[tuple[str, str, float]]:
        """List the edges between different nodes, those with the largest part in the model of their target first.

        A strength is the share of a source among those of one target, also where nothing drives it; the size of its
        part, in ``details["sizes"]``, compares edges of different targets. Where replicates return to a common state
        and are observed with noise, edges have probabilities, ``details["probability"]``, and the most probable are
        first; their strengths are in ``details["strength"]``.

        Parameters
        ----------
        threshold : float, default=0.0
            Edges whose element of ``graph`` is not above this are left out.

        Returns
        -------
        list of (source, target, strength or probability)
        """
        rank = self.details.get("probability", self.details["sizes"])
        found = [
            (rank[i][j], (source, target, float(self.graph[i, j])))
            for i, target in enumerate(self.nodes)
            for j, source in enumerate(self.nodes)
            if i != j and self.graph[i, j] > threshold
        ]
        return [edge for _, edge in sorted(found, key=lambda e: -e[0])]


def granger(
    series: Any,
    lag: int = 1,
    *,
    kernels: Sequence[str] | None = None,
    lam: float | None = None,
    lambdas: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    replicate: Any = None,
    time: str | None = None,
    random_state: int | None = None,
    verbose: bool = False,
    options: dict[str, Any] | None = None,
) -> Graph:
    """Find who drives whom among time series, nonlinearly.

    Parameters
    ----------
    series : array-like of shape (n_times, n_series)
        A row for each point in time. The columns of a data frame give the names. Columns that tell the time, and an
        index of dates, order the rows and are no series: dates, those called as a clock is, and those that rise or
        fall evenly.
    lag : int, default=1
        How many past values of each series are used.
    kernels : list of str or None, default=None
        SPECs of kernels on the past of each node.
    lam : float or None, default=None
        The regularization λ of every node; None means 0.1 without `lambdas`.
    lambdas : list of float or None, default=None
        Candidates of λ, of which a time-ordered cross-validation chooses.
    names : list of str or None, default=None
        Names of the series.
    groups : list of str or None, default=None
        The node that each series belongs to; None means a node for each series.
    replicate : array-like of shape (n_times,) or None, default=None
        A whole number for each row: no lag crosses from one replicate to the next.
    time : str or None, default=None
        The name of the column that orders the rows; None finds it.
    random_state : int or None, default=None
        Seed of every random choice; None means 0.
    verbose : bool, default=False
        Show progress on standard error.
    options : dict or None, default=None
        Further options by the names of ``granger.Options`` in snake_case.

    Returns
    -------
    Graph
        The graph, row = target, column = source, and the fits behind it.

    Examples
    --------
    >>> import numpy as np, iokl
    >>> x = np.zeros((300, 2)); x[0] = 0.3, 0.1
    >>> for t in range(1, 300):
    ...     x[t] = 3.8 * x[t - 1, 0] * (1 - x[t - 1, 0]), 0.2 * x[t - 1, 1] + 0.8 * x[t - 1, 0] ** 2
    >>> iokl.granger(x, names=["a", "b"]).edges()[0][:2]
    ('a', 'b')
    """
    series, dates = given.dated(series)
    a = given.table(series, "granger")
    known = given.names_of(series)
    if names is None and known is not None:
        names = list(known)
    all: dict[str, Any] = {
        "lag": lag, "kernels": kernels, "lambda": lam, "lambdas": lambdas, "names": names, "groups": groups,
        "replicate": None if replicate is None else np.asarray(replicate, dtype=np.int64), "seed": random_state,
        "time": time, "dates": dates,
    }  # fmt: skip
    all.update(options or {})
    a = in_place(a)
    with Job("iokl_granger", ct.byref(matrix(a)), encode_options(all), keep=[a]) as job:
        if job.wait(verbose):
            raise KeyboardInterrupt
        for line in job.lines():
            warnings.warn(line, IOKLWarning, stacklevel=2)
        details = job.json()
        nodes = details["nodes"]
        return Graph(nodes, job.graph(len(nodes)), details)
