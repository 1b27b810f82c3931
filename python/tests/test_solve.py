"""Solvers alone, causal graphs, documentation."""

import doctest
import inspect
import pathlib
import re
import subprocess
import sys
import typing
import warnings

import numpy as np
import pytest

import iokl


def spd(n, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T / n


@pytest.mark.parametrize("method", [None, "eigen", "nystrom", "cg"])
def test_sylvester(method):
    K, L, mu = spd(30, 0), spd(4, 1), 0.3
    Y = np.random.default_rng(2).standard_normal((30, 4))
    C = iokl.solve_sylvester(K, L, Y, mu, method=method, tol=1e-10)
    np.testing.assert_allclose(K @ C @ L + mu * C, Y, atol=1e-8)
    Y[3, 1] = Y[5] = np.nan
    if method != "bartels-stewart":
        C = iokl.solve_sylvester(K, L, Y, mu, tol=1e-10)
        seen = ~np.isnan(Y)
        np.testing.assert_allclose((K @ C @ L + mu * C)[seen], Y[seen], atol=1e-8)
        assert (C[~seen] == 0).all()


def test_general():
    rng = np.random.default_rng(0)
    A, B, Q = rng.standard_normal((20, 20)), rng.standard_normal((5, 5)), rng.standard_normal((20, 5))
    X = iokl.solve_general(A, B, Q, 0.7)
    np.testing.assert_allclose(A @ X @ B + 0.7 * X, Q, atol=1e-9)
    with pytest.raises(ValueError):
        iokl.solve_general(np.zeros((2, 2)), B, Q[:2], 0.0)


def test_bad_equations():
    K, L, Y = spd(5, 0), spd(2, 1), np.ones((5, 2))
    lopsided = K + np.triu(np.ones((5, 5)), 1)
    for args in (
        (K, L, Y, 0.0), (K[:4], L, Y, 1.0), (K, L, Y[:4], 1.0), (lopsided, L, Y, 1.0), (K * np.nan, L, Y, 1.0),
        (K, L, Y[:, 0], 1.0),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            iokl.solve_sylvester(*args)


def test_granger_arguments():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 4))
    g = iokl.granger(x, 2, groups=["p", "p", "q", "q"], replicate=np.repeat([0, 1], 40))
    assert g.nodes == ["p", "q"] and g.graph.shape == (2, 2)
    pd = pytest.importorskip("pandas")
    assert iokl.granger(pd.DataFrame(x, columns=list("abcd"))).nodes == list("abcd")
    for bad in ({"names": ["a"]}, {"lag": 0.5}, {"options": {"laag": 1}}, {"kernels": ["nothing"]}):
        with pytest.raises(ValueError):
            iokl.granger(x, **bad)
    x[3, 1] = np.nan  # windows with it are left out
    assert np.isfinite(iokl.granger(x).graph).all()
    for bad in (np.inf, np.nan):
        x[::2, 1] = bad
        with pytest.raises(ValueError):
            iokl.granger(x)


def test_granger_in_time():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2))
    x[1:, 1] += np.tanh(x[:-1, 0])
    f = pd.DataFrame(x, columns=list("ab"))
    want = iokl.granger(f)
    days = pd.date_range("2020-01-01", periods=80)
    for table, kind in (
        (f.assign(year=np.arange(1900, 1980)), None), (f.assign(timestamp=-60.0 * np.arange(80)), "reversed"),
        (f.assign(when=days)[::-1], "order"), (f.set_index(days)[::-1], "order"),
        (f.assign(x=np.arange(80) / 8), "taken"),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            got = iokl.granger(table)
        assert got.nodes == ["a", "b"] and len(said) == (kind is not None), said
        if kind == "reversed":
            assert not np.array_equal(got.graph, want.graph)
        else:
            np.testing.assert_array_equal(got.graph, want.graph)
    assert iokl.granger(f.assign(b2=rng.permutation(80)), time="b2").nodes == ["a", "b"]
    for table, options, text in (
        (f.assign(time=np.arange(80) // 2), {}, "rows 1 and 2 have the same one"),
        (f, {"lag": 0}, "at least 1 is needed"),
        (f[:3], {}, "at least 7 are needed for 2 nodes"), (f, {"time": "c"}, "no name of a series"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            iokl.granger(table, **options)


def test_edges_by_norm():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((400, 4))
    x[1:, 1] += np.tanh(2 * x[:-1, 0])
    g = iokl.granger(x, names=list("abcd"))
    at = {name: k for k, name in enumerate(g.nodes)}
    sizes = [g.details["sizes"][at[target]][at[source]] for source, target, _ in g.edges()]
    assert g.edges()[0][:2] == ("a", "b") and sizes == sorted(sizes, reverse=True) and sizes[1] < sizes[0] / 3


def public():
    for name in iokl.__all__:
        thing = getattr(iokl, name)
        yield name, thing
        if inspect.isclass(thing):
            for method, f in vars(thing).items():
                if inspect.isfunction(f) and not method.startswith("_"):
                    yield f"{name}.{method}", f


def test_documented():
    """Each public function has a docstring with all its parameters, and type hints that can be resolved."""
    for name, f in public():
        assert f.__doc__, name
        assert "{" not in f.__doc__.replace("{{", "") or "parameters}" not in f.__doc__, name
        if not inspect.isfunction(f):
            continue
        hints = typing.get_type_hints(f)
        assert "return" in hints, name
        for p in inspect.signature(f).parameters:
            if p != "self":
                assert re.search(rf"^ *{p} : ", f.__doc__, re.M) and p in hints, f"{name}: {p}"
    for cls in (iokl.IOKLRegressor, iokl.IOKLClassifier):
        for p in inspect.signature(cls).parameters:
            assert re.search(rf"^    {p} : ", cls.__doc__, re.M), p


def test_examples():
    finder = doctest.DocTestFinder()
    count = 0
    for name, thing in public():
        for test in finder.find(thing, name, globs={}):
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            runner.run(test)
            assert runner.failures == 0, test.name
            count += runner.tries
    assert count > 10


def test_readme():
    """The Python part of the README runs, and prints what it says."""
    readme = pathlib.Path(__file__).parents[2] / "README.md"
    (block,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.S)
    want = "".join(line[2:] + "\n" for line in block.splitlines() if line.startswith("# "))
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True)
    assert done.stdout == want, done.stderr


def test_types():
    if subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode != 0:
        pytest.skip("mypy is not installed")
    source = pathlib.Path(__file__).parents[1] / "iokl"
    words = ["--ignore-missing-imports", "--cache-dir", "/dev/null", str(source)]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
