"""Measures fits from numpy beside the command on the same data:

    python3 examples/python/measure.py PATH/TO/iokl [ROWS INPUTS OUTPUTS ROUNDS]

Both fit in turn, with the same kernels and λ. Times of the command are those that it reports, without the reading of
files; the objectives must be equal. Processor time of the command is that of its whole process. What Python adds is the
processor time of the thread that calls fit: the library computes on threads of its own."""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import iokl

KERNELS = ["gaussian:all:median*0.5,1,2", "gaussian:each:median"]


def cpu(who):
    use = resource.getrusage(who)
    return use.ru_utime + use.ru_stime


def main():
    command = sys.argv[1]
    rows, inputs, outputs, rounds = (int(a) for a in sys.argv[2:6] or (1500, 10, 5, 9))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, inputs))
    signal = np.sin(X[:, :1] + X @ rng.standard_normal((inputs, outputs)) / inputs**0.5)
    Y = signal + 0.1 * rng.standard_normal((rows, outputs))
    results = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        np.save(directory / "x.npy", X)
        np.save(directory / "y.npy", Y)
        flags = ["fit", "-q", "--x", directory / "x.npy", "--y", directory / "y.npy", "--lambda", "1e-3", "--json"]
        flags += [f"--kernel={k}" for k in KERNELS]
        for _ in range(rounds):
            before = cpu(resource.RUSAGE_CHILDREN)
            said = json.loads(subprocess.run([command, *flags], capture_output=True, check=True).stdout)
            own = cpu(resource.RUSAGE_SELF)
            start, calling = time.perf_counter(), time.thread_time()
            model = iokl.IOKLRegressor(kernels=KERNELS, lam=1e-3).fit(X, Y)
            seconds, calling = time.perf_counter() - start, time.thread_time() - calling
            if model.certificate_["objective"] != said["objective"]:
                raise SystemExit(f"objectives {model.certificate_['objective']} and {said['objective']}")
            there, here = cpu(resource.RUSAGE_CHILDREN) - before, cpu(resource.RUSAGE_SELF) - own
            results.append((said["seconds"], seconds, seconds / said["seconds"], there, here, calling))
    there, here, ratio, there_cpu, here_cpu, calling = (statistics.median(column) for column in zip(*results))
    print(f"{rows} rows, {inputs} inputs, {outputs} outputs, medians of {rounds} rounds")
    print(f"seconds: command {there:.3f}, Python {here:.3f}, ratio within a round {ratio:.3f}")
    print(f"processor seconds: command {there_cpu:.3f}, Python {here_cpu:.3f}, ", end="")
    print(f"of which the calling thread {calling:.4f}")


if __name__ == "__main__":
    main()
