"""Ctrl-C, threads, processes, memory, and life without scikit-learn."""

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import iokl
from conftest import QUICK


def test_interrupt(table):
    X, Y = table
    # Settings are compared for minutes; the first of them are tried within a second.
    slow = iokl.IOKLRegressor(kernels=["gaussian:each:0.5,1,2"], options={"cv": {"repeats": 2000, "lambdas": [1e-2]}})
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background start with it ignored
    timer = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.time()
    with pytest.warns(iokl.InterruptWarning, match="best so far"):
        slow.fit(X, Y)
    assert time.time() - start < 60
    assert slow.score(X, Y) > 0.5


def test_interrupt_twice(table):
    X, Y = table
    code = """if True:
        import os, signal, threading, numpy as np, iokl
        signal.signal(signal.SIGINT, signal.default_int_handler)
        X = np.random.default_rng(0).standard_normal((5000, 8))  # what follows the first takes a third of a second
        for at in (1.5, 1.6):
            threading.Timer(at, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            iokl.IOKLRegressor().fit(X, X)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr


def test_threads(table):
    X, Y = table
    want = [iokl.IOKLRegressor(**QUICK).fit(X, Y[:, k]).predict(X) for k in range(2)]
    got = [None, None]

    def work(k):
        for _ in range(10):
            got[k] = iokl.IOKLRegressor(**QUICK).fit(X, Y[:, k]).predict(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(2):
        np.testing.assert_array_equal(got[k], want[k])


def answer(model, X, queue):
    try:
        queue.put(model.predict(X))
    except iokl.IOKLError as e:
        queue.put(str(e))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork(table):
    X, Y = table
    m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
    for kind in ("fork", "spawn"):
        context = multiprocessing.get_context(kind)
        queue = context.Queue()
        child = context.Process(target=answer, args=(m, X, queue))
        child.start()
        got = queue.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0
        if kind == "fork":
            assert "spawn" in got
        else:
            np.testing.assert_array_equal(got, m.predict(X))


def test_child_forked_before_the_first_use():
    code = """if True:
        import os, iokl
        if os.fork():
            raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
        iokl.solve_sylvester([[1.0]], [[1.0]], [[2.0]], 1.0)
        os._exit(7)
    """
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 7


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow(table):
    """IOKL_ROUNDS=10000 runs it as long as the README's claim."""
    X, Y = table

    def rounds(n):
        for _ in range(n):
            m = iokl.IOKLRegressor(**QUICK).fit(X, Y)
            m.predict(X)
            m = pickle.loads(pickle.dumps(m))
        del m
        gc.collect()

    total = int(os.environ.get("IOKL_ROUNDS", "300"))
    rounds(max(100, total // 10))
    before = resident()
    rounds(total)
    assert resident() - before < 20e6


def test_no_copies():
    """Tables are read in place: Python allocates less than a MiB for a fit and a prediction beside the result."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2000))
    Y = X[:, :200] + 1.0
    K = np.stack([np.eye(500)] * 2)
    tracemalloc.start()
    m = iokl.IOKLRegressor(kernels=["linear:0-3"], lam=1.0, tol=1e-2, learn="none").fit(X, Y)
    iokl.IOKLRegressor(kernels="precomputed", lam=1.0, learn="none").fit(K, Y[:500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    F = m.predict(X)
    more = tracemalloc.get_traced_memory()[1] - before - F.nbytes
    tracemalloc.stop()
    assert peak < 2**20 and more < 2**20


def test_without_sklearn(table, tmp_path):
    code = """if True:
        import sys, pickle
        for name in ("sklearn", "pandas", "scipy"):
            sys.modules[name] = None
        import numpy as np, iokl
        X, Y = pickle.load(open(sys.argv[1], "rb"))
        m = iokl.IOKLRegressor(kernels=["gaussian:all:1"], lam=1e-3)
        assert repr(m) == "IOKLRegressor(kernels=['gaussian:all:1'], lam=0.001)", repr(m)
        try:
            m.predict(X)
            raise SystemExit("not fitted, and predicts")
        except ValueError:
            pass
        assert m.set_params(lam=1e-4).fit(X, Y).score(X, Y) > 0.9
        assert m.get_params()["lam"] == 1e-4
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).predict(X), m.predict(X))
        c = iokl.IOKLClassifier(kernels=["gaussian:all:1"], lam=1e-3).fit(X, Y[:, 0] > 0)
        assert c.score(X, Y[:, 0] > 0) > 0.8
        try:
            m.set_params(lamda=1)
            raise SystemExit("an unknown parameter is accepted")
        except ValueError:
            pass
    """
    with open(tmp_path / "t", "wb") as f:
        pickle.dump(table, f)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


_ADDING = """
import sys, numpy as np, iokl
for attempt in range(100):
    model = iokl.load(sys.argv[1])
    model.partial_fit(np.full((1, 3), float(sys.argv[2])), np.zeros((1, 2)))
    try:
        model.save(sys.argv[1])
        break
    except OSError as e:
        assert "changed since it was read" in str(e), e
else:
    sys.exit("never saved")
"""


def test_processes_that_update_one_file(table, tmp_path):
    X, Y = table
    file = tmp_path / "model.iokl"
    iokl.IOKLRegressor(**QUICK).fit(X, Y).save(file)
    stale = iokl.load(file)
    started = [subprocess.Popen([sys.executable, "-c", _ADDING, str(file), str(k)]) for k in range(4)]
    assert [p.wait(timeout=300) for p in started] == [0] * 4
    assert iokl.load(file).certificate_["samples"] == len(X) + 4
    with pytest.raises(OSError, match="changed since it was read"):
        stale.save(file)
    stale.save(tmp_path / "other.iokl")


def test_messages_do_not_control_terminals():
    with pytest.raises((ValueError, OSError), match=r"\\(u001b|x1b)") as e:
        iokl.load("none\x1b[2J")
    assert "\x1b" not in str(e.value)
