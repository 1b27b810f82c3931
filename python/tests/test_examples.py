"""The scripts of examples/python run, and say what the guides say."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def run(name, *args):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(text, before):
    """The number that follows the words before."""
    return float(text.split(before)[1].split()[0])


def test_choosing():
    out = run("choosing")
    assert number(out, "mean of the targets:") < 0.7
    assert number(out, "largest difference:") < 1e-3
    assert "converged: True" in out


def test_forecasting():
    out = run("forecasting")
    assert number(out, "R² of unemployment:") > 0.2
    assert number(out, "rank of L:") <= 9 and "->" in out


def test_digits():
    out = run("digits")
    assert number(out, "read right:") > 0.9
    assert 0.85 < number(out, "hold the digit:") <= 1 and number(out, "digits in a set:") < 3


def test_missing():
    out = run("missing")
    assert "empty after filling: 0" in out
    assert number(out, "with the output kernel:") < number(out, "each output alone:") < number(out, "of the means:")


def test_intervals():
    out = run("intervals")
    for name in ("held-out holds:", "cv+ holds:", "jackknife+ holds:", "local holds:", "as a whole:"):
        assert 0.84 < number(out, name) < 0.98


def test_compare(tmp_path, table):
    X, Y = table
    simulated = pd.DataFrame(X).add_prefix("x_").join(pd.DataFrame(Y).add_prefix("y_"))
    simulated.to_csv(tmp_path / "simulated.csv", index=False)
    out = run("compare", "--table", tmp_path / "simulated.csv", "--only", "constant,iokl,ridge", "--folds", "3")
    assert "simulated: 60 rows, 3 inputs, 2 outputs" in out
    assert number(out, "| iokl |") < 0.5 < number(out, "| constant |")
    assert number(out, "| ridge |") < 0.5
