"""Python and the command are one engine with one format of models."""

import json

import numpy as np
import pytest

import iokl


def write(path, header, *columns):
    rows = [[f"{v!r}" if isinstance(v, float) else str(v) for v in row] for row in zip(*columns)]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]))


def predicted(command, model, x, tmp_path):
    command("predict", "-q", "--model", model, "--x", x, "--out", tmp_path / "p.npy")
    return np.load(tmp_path / "p.npy")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernels": ["gaussian:each:1,2"]},
        {"lam": 1e-3},
        {"kernels": ["linear:all"], "lam": 1e-2, "random_state": 5},
    ],
)
def test_same_bits(command, table, tmp_path, options):
    X, Y = table
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    flags = ["--x", tmp_path / "x.npy", "--y", tmp_path / "y.npy", "--out", tmp_path / "m.iokl", "-q", "--json"]
    flags += [f"--kernel={k}" for k in options.get("kernels", [])]
    flags += [f"--lambda={options['lam']}"] if "lam" in options else []
    flags += [f"--seed={options['random_state']}"] if "random_state" in options else []
    said = json.loads(command("fit", *flags))
    m = iokl.IOKLRegressor(**options).fit(X, Y)
    assert m.certificate_["objective"] == said["objective"] and m.certificate_["lambda"] == said["lambda"]
    want = predicted(command, tmp_path / "m.iokl", tmp_path / "x.npy", tmp_path)
    np.testing.assert_array_equal(m.predict(X), want)
    # What one saved the other reads.
    np.testing.assert_array_equal(iokl.load(tmp_path / "m.iokl").predict(X), want)
    m.save(tmp_path / "python.iokl")
    np.testing.assert_array_equal(predicted(command, tmp_path / "python.iokl", tmp_path / "x.npy", tmp_path), want)


def test_classes(command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    for names in (["no", "yes", "well"], [3, 10, 20]):
        y = np.array(names)[np.digitize(X[:, 0], [-0.5, 0.5])]
        write(tmp_path / "t.csv", ["a", "b", "c"], X[:, 0].tolist(), X[:, 1].tolist(), y.tolist())
        command("fit", "-q", "--x", tmp_path / "t.csv", "--x-columns", "a,b", "--y-columns", "c", "--classes",
                "--lambda", "1e-3", "--kernel", "gaussian:all:1", "--out", tmp_path / "m.iokl")  # fmt: skip
        m = iokl.IOKLClassifier(kernels=["gaussian:all:1"], lam=1e-3).fit(X, y)
        again = iokl.load(tmp_path / "m.iokl")
        assert isinstance(again, iokl.IOKLClassifier) and list(again.classes_) == sorted(names)
        assert list(again.feature_names_in_) == ["a", "b"]
        with pytest.warns(UserWarning, match="feature names"):
            np.testing.assert_array_equal(m.predict_proba(X), again.predict_proba(X))
        write(tmp_path / "x.csv", ["a", "b"], X[:, 0].tolist(), X[:, 1].tolist())
        said = json.loads(command("predict", "--model", tmp_path / "m.iokl", "--x", tmp_path / "x.csv", "--json"))
        assert said["classes"] == [str(c) for c in m.predict(X)]


def test_graph(command, tmp_path):
    rng = np.random.default_rng(2)
    x = np.zeros((150, 3))
    for t in range(1, 150):
        x[t] = np.tanh(0.8 * x[t - 1, [1, 2, 2]]) + 0.3 * rng.standard_normal(3)
    write(tmp_path / "s.csv", ["a", "b", "c"], *x.T.tolist())
    said = json.loads(command("granger", "-q", "--series", tmp_path / "s.csv", "--lag", 2, "--json"))
    g = iokl.granger(x, 2, names=["a", "b", "c"])
    assert g.nodes == said["nodes"]
    np.testing.assert_array_equal(g.graph, np.array(said["graph"]))
    assert {e[:2] for e in g.edges()[:2]} == {("b", "a"), ("c", "b")}


def test_damaged_models(tmp_path, table):
    with pytest.raises(OSError):
        iokl.load(tmp_path / "none.iokl")
    (tmp_path / "bad.iokl").write_bytes(b"not a model")
    with pytest.raises(iokl.ModelError):
        iokl.load(tmp_path / "bad.iokl")
    m = iokl.IOKLRegressor(kernels=["linear:all"], lam=1e-2).fit(*table)
    with pytest.raises(OSError):
        m.save(tmp_path / "no" / "such" / "place.iokl")
