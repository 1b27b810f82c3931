"""What the tests share. IOKL_COMMAND names the command iokl, where there is one."""

import os
import subprocess

import numpy as np
import pytest


@pytest.fixture
def command():
    """Runs the command iokl."""
    path = os.environ.get("IOKL_COMMAND")
    if not path:
        pytest.skip("IOKL_COMMAND does not name the command iokl")

    def run(*args):
        return subprocess.run([path, *map(str, args)], check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def table():
    """Inputs and two coupled targets."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (60, 3))
    f = np.sin(3 * X[:, 0]) + X[:, 1]
    return X, np.column_stack([f, 2 * f + X[:, 2]]) + 0.05 * rng.standard_normal((60, 2))


QUICK = {"kernels": ["gaussian:all:0.5,1,2", "linear:all"], "lam": 1e-3}

# The checks of scikit-learn are of the interface: settings that nothing chooses give their answers sooner than the
# defaults.
CHECKED = {} if os.environ.get("LONG") == "yes" else {"kernels": ["gaussian:all:median"], "lam": 1e-2}
