"""Input/output kernel learning: regression on many outputs, classification, causal graphs.

From candidate kernels on the inputs, a fit learns the weight of each kernel, the coupling of the
outputs and the function itself, and certifies how far it is from the best possible fit.
"""

from importlib.metadata import PackageNotFoundError, version

from ._estimators import IOKLClassifier, IOKLRegressor, load
from ._graph import Graph, granger
from ._library import InterruptWarning, IOKLError, IOKLWarning, ModelError, library_version, set_threads
from ._solve import solve_general, solve_sylvester

try:
    __version__ = version("iokl")
except PackageNotFoundError:  # a source tree on the path
    __version__ = "0"

__all__ = [
    "Graph", "IOKLClassifier", "IOKLError", "IOKLRegressor", "IOKLWarning", "InterruptWarning", "ModelError",
    "granger", "library_version", "load", "set_threads", "solve_general", "solve_sylvester",
]  # fmt: skip
