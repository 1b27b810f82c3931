"""The shared library: its functions, errors, jobs and models (see ``capi/iokl.h``)."""

from __future__ import annotations

import ctypes as ct
import json
import os
import re
import sys
import threading
import warnings
from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _base

ABI = 1
OK, BAD_INPUT, NO_MEMORY, NOT_CONVERGED, CANCELLED, BAD_MODEL = range(6)
FILE_ERROR, NO_SUCH_HANDLE, SMALL_BUFFER, RUNNING, FAILED = range(6, 11)

Floats = NDArray[np.float64]


class IOKLError(RuntimeError):
    """The library could not do what it was asked for."""


class ModelError(ValueError):
    """Bytes or a file are no model, are damaged, or come from a newer version."""


class IOKLWarning(UserWarning):
    """What this package warns of; all of its warnings are of this class."""


class InterruptWarning(IOKLWarning):
    """A fit was interrupted: the model is the best so far."""


class ConvergenceWarning(IOKLWarning, _base.ConvergenceWarning):
    """A fit has not reached its tolerance."""


class _Error(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("status", ct.c_int32), ("message", ct.c_char * 1012)]


class _Matrix(ct.Structure):
    _fields_ = [
        ("data", ct.c_void_p),
        ("rows", ct.c_int64),
        ("cols", ct.c_int64),
        ("row_stride", ct.c_int64),
        ("col_stride", ct.c_int64),
    ]


class _Progress(ct.Structure):
    _fields_ = [
        ("size", ct.c_size_t),
        ("phase", ct.c_char * 64),
        ("done", ct.c_double),
        ("seconds_left", ct.c_double),
        ("best", ct.c_double),
        ("iteration", ct.c_int64),
        ("objective", ct.c_double),
        ("relative_gap", ct.c_double),
        ("lines", ct.c_int64),
    ]


class _Sizes(ct.Structure):
    _fields_ = [("size", ct.c_size_t)] + [
        (n, ct.c_int64) for n in ("inputs", "outputs", "kernels", "learned", "samples")
    ]


class _Solved(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("residual", ct.c_double), ("iterations", ct.c_int64)]


_M, _H, _T, _P = ct.POINTER(_Matrix), ct.c_uint64, ct.c_char_p, ct.c_void_p
_BUFFER = [_P, ct.c_size_t, ct.POINTER(ct.c_size_t)]
_PROTOTYPES: dict[str, list[Any]] = {
    "iokl_library": _BUFFER,
    "iokl_set_threads": [ct.c_int32],
    "iokl_fit": [_M, _M, _T, ct.POINTER(_H)],
    "iokl_fit_classes": [_M, _P, ct.c_int64, ct.POINTER(_T), ct.c_int64, _T, ct.POINTER(_H)],
    "iokl_fit_gram": [_M, ct.c_int64, _M, _T, ct.POINTER(_H)],
    "iokl_granger": [_M, _T, ct.POINTER(_H)],
    "iokl_job_wait": [_H, ct.c_int32],
    "iokl_job_progress": [_H, ct.POINTER(_Progress)],
    "iokl_job_line": [_H] + _BUFFER,
    "iokl_job_cancel": [_H],
    "iokl_job_model": [_H, ct.POINTER(_H)],
    "iokl_job_json": [_H] + _BUFFER,
    "iokl_job_graph": [_H, _M],
    "iokl_job_free": [_H],
    "iokl_model_load": [_T, ct.POINTER(_H)],
    "iokl_model_save": [_H, _T],
    "iokl_model_decode": [_T, ct.c_size_t, ct.POINTER(_H)],
    "iokl_model_encode": [_H] + _BUFFER,
    "iokl_model_at": [_H, _M, ct.POINTER(_H)],
    "iokl_model_update": [_H, _M, _M, _T, ct.POINTER(_H)],
    "iokl_model_free": [_H],
    "iokl_model_json": [_H] + _BUFFER,
    "iokl_model_size": [_H, ct.POINTER(_Sizes)],
    "iokl_model_output_kernel": [_H, _M],
    "iokl_model_output_kernel_of": [_H, ct.c_int64, _M],
    "iokl_predict": [_H, _M, _M],
    "iokl_predict_probabilities": [_H, _M, _M],
    "iokl_predict_gram": [_H, _M, ct.c_int64, _M],
    "iokl_predict_probabilities_gram": [_H, _M, ct.c_int64, _M],
    "iokl_predict_interval": [_H, _M, _T, _M, _M, _M],
    "iokl_predict_interval_gram": [_H, _M, ct.c_int64, _T, _M, _M, _M],
    "iokl_predict_deviation": [_H, _M, _M],
    "iokl_predict_noise": [_H, _M, _M],
    "iokl_predict_sets": [_H, _M, ct.c_double, _M, _M],
    "iokl_solve_sylvester": [_M, _M, ct.c_double, _M, _M, _T, ct.c_double, ct.POINTER(_Solved)],
    "iokl_solve_general": [_M, _M, ct.c_double, _M, _M, ct.POINTER(_Solved)],
}

_lock = threading.Lock()
_loaded: tuple[ct.CDLL, int] | None = None


def _library() -> ct.CDLL:
    """The library, loaded at the first call of a process: a child that is forked before can use it."""
    global _loaded
    with _lock:
        if _loaded is None:
            name = {"win32": "iokl.dll", "darwin": "libiokl.dylib"}.get(sys.platform, "libiokl.so")
            lib = ct.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), name))
            if lib.iokl_abi_version() != ABI:
                raise ImportError(f"{name} has another interface than this package")
            for function, args in _PROTOTYPES.items():
                f = getattr(lib, function)
                f.argtypes, f.restype = args + [ct.POINTER(_Error)], ct.c_int32
            _loaded = lib, os.getpid()
        lib, pid = _loaded
    if pid != os.getpid():
        raise IOKLError(
            "this process was forked from one that uses iokl, whose threads do not exist here: start it by"
            ' multiprocessing.get_context("spawn"), by joblib\'s default backend, or before iokl is first used'
        )
    return lib


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def call(function: str, *args: Any, passes: Sequence[int] = ()) -> tuple[int, str]:
    """Call the library: status and message. A status that is neither OK nor passes is raised."""
    lib = _library()
    err = _Error(size=ct.sizeof(_Error))
    status = getattr(lib, function)(*args, ct.byref(err))
    message = in_python(err.message.decode("utf-8", "replace"))
    if status == OK or status in passes:
        return status, message
    if status == BAD_INPUT:
        raise ValueError(message.removeprefix("bad input: "))
    if status == NO_MEMORY:
        raise MemoryError(message)
    if status == BAD_MODEL:
        raise ModelError(message)
    if status == FILE_ERROR:
        raise OSError(message)
    raise IOKLError(message)


def in_python(message: str) -> str:
    """A message of the library with the parameters of the estimators in the place of the flags of the command."""

    def parameter(flag: re.Match[str]) -> str:
        name = flag[1].replace("-", "_")
        return {"lambda": "lam", "weights": "sample_weight", "na": "NaN", "seed": "random_state"}.get(name, name)

    return re.sub(r"--([a-z][a-z-]*[a-z])", parameter, message)


def text(function: str, *args: Any) -> str:
    """What a function of the library writes to a buffer."""
    return data(function, *args)[:-1].decode()


def data(function: str, *args: Any) -> bytes:
    need = ct.c_size_t()
    call(function, *args, None, 0, ct.byref(need))
    if need.value == 0:
        return b""
    buffer = ct.create_string_buffer(need.value)
    call(function, *args, buffer, need.value, ct.byref(need))
    return buffer.raw[: need.value]


def in_place(a: NDArray[Any]) -> Floats:
    """a as the library reads it, of contiguous rows of float64: a itself where it is that."""
    if (
        a.dtype == np.float64
        and a.dtype.isnative
        and a.flags.aligned
        and (a.shape[1] == 1 or a.strides[1] == 8)
        and a.strides[0] % 8 == 0
        and a.strides[0] >= 8 * a.shape[1]
    ):
        return a
    return np.ascontiguousarray(a, dtype=np.float64)


def matrix(a: Floats) -> _Matrix:
    """The library's view of an array that in_place has returned, which must outlive it."""
    return _Matrix(a.ctypes.data, a.shape[0], a.shape[1], max(a.strides[0] // 8, a.shape[1]), 1)


def matrices(stack: Sequence[Floats]) -> Any:
    return (_Matrix * len(stack))(*(matrix(a) for a in stack))


def encode_options(options: dict[str, Any]) -> bytes:
    """Options as JSON, without those that are None."""

    def plain(v: Any) -> Any:
        if isinstance(v, np.generic):
            return v.item()
        if isinstance(v, np.ndarray):
            return v.tolist()
        raise TypeError(f"an option is a {type(v).__name__}")

    return json.dumps({k: v for k, v in options.items() if v is not None}, default=plain, allow_nan=False).encode()


class Job:
    """Work of the library that is polled, so that Python sees Ctrl-C."""

    def __init__(self, function: str, *args: Any, keep: Sequence[Any] = ()):
        self._handle = ct.c_uint64()
        self._keep = keep  # the arrays that the library reads
        call(function, *args, ct.byref(self._handle))

    def wait(self, verbose: bool = False) -> bool:
        """Wait for the end. Return whether Ctrl-C asked for the best so far.

        A second Ctrl-C ends the work at once and raises KeyboardInterrupt."""
        show = _Progressing(self._handle) if verbose else None
        interrupted = again = False
        status = RUNNING
        while status == RUNNING:
            try:
                status, _ = call("iokl_job_wait", self._handle, 50, passes=[RUNNING])
                if show:
                    show.update(status != RUNNING)
            except KeyboardInterrupt:
                again, interrupted = interrupted, True
                call("iokl_job_cancel", self._handle)
        if again:
            raise KeyboardInterrupt
        return interrupted

    def model(self, interrupted: bool) -> Model:
        """The model of a fit that has ended; says what kept it from its tolerance."""
        handle = ct.c_uint64()
        status, message = call("iokl_job_model", self._handle, ct.byref(handle), passes=[NOT_CONVERGED, CANCELLED])
        if not handle.value:
            if interrupted:
                raise KeyboardInterrupt("interrupted before the fit had a first model")
            raise IOKLError(message)
        model = Model(handle.value)
        if interrupted:
            gap = model.describe()["certificate"]["relative_gap"]
            line = f"interrupted at relative gap {gap:.3g}: the model is the best so far"
            warnings.warn(line, InterruptWarning, stacklevel=5)
        elif status == NOT_CONVERGED:
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        return model

    def json(self) -> Any:
        return json.loads(text("iokl_job_json", self._handle))

    def lines(self) -> list[str]:
        """What the work has said so far and nobody has asked for."""
        p = _Progress(size=ct.sizeof(_Progress))
        call("iokl_job_progress", self._handle, ct.byref(p))
        return [text("iokl_job_line", self._handle) for _ in range(p.lines)]

    def graph(self, nodes: int) -> Floats:
        g = np.empty((nodes, nodes))
        call("iokl_job_graph", self._handle, ct.byref(matrix(g)))
        return g

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: Any) -> None:
        call("iokl_job_free", self._handle)
        self._keep = ()


class _Progressing:
    """Progress of a job on standard error: a line that is rewritten on a terminal."""

    def __init__(self, handle: ct.c_uint64):
        self.handle, self.width, self.terminal = handle, 0, sys.stderr.isatty()

    def update(self, ended: bool) -> None:
        p = _Progress(size=ct.sizeof(_Progress))
        call("iokl_job_progress", self.handle, ct.byref(p))
        for _ in range(p.lines):
            self.line("iokl: " + in_python(text("iokl_job_line", self.handle)))
        state = ""
        if p.iteration:
            state = f"iteration {p.iteration}, objective {p.objective:.6g}, relative gap {p.relative_gap:.2g}"
        elif p.phase:
            bar = "#" * int(20 * p.done)
            state = f"{p.phase.decode('utf-8', 'replace')} [{bar:<20}] {100 * p.done:.0f} %"
            state += f", best {p.best:.4g}" if p.best == p.best else ""
            state += f", {p.seconds_left:.0f} s left" if p.seconds_left >= 0 else ""
        if ended and p.iteration:
            self.line("iokl: " + state)
        elif state and self.terminal:
            s = "iokl: " + state
            sys.stderr.write("\r" + s.ljust(self.width))
            sys.stderr.flush()
            self.width = len(s)

    def line(self, s: str) -> None:
        sys.stderr.write(("\r" if self.width else "") + s.ljust(self.width) + "\n")
        self.width = 0


class Model:
    """A model in the library's memory. It is pickled and copied by the bytes of its file."""

    def __init__(self, handle: int):
        self._handle = handle

    @staticmethod
    def load(path: str) -> Model:
        with open(path, "rb"):  # a file that cannot be read raises what Python's files raise
            pass
        handle = ct.c_uint64()
        call("iokl_model_load", os.fsencode(path), ct.byref(handle))
        return Model(handle.value)

    @staticmethod
    def decode(b: bytes) -> Model:
        handle = ct.c_uint64()
        call("iokl_model_decode", b, len(b), ct.byref(handle))
        return Model(handle.value)

    def encode(self) -> bytes:
        return data("iokl_model_encode", self._handle)

    def __reduce__(self) -> Any:
        return Model.decode, (self.encode(),)

    def __deepcopy__(self, memo: Any) -> Model:
        return Model.decode(self.encode())

    def __del__(self) -> None:
        try:
            call("iokl_model_free", self._handle)
        except Exception:  # a forked child, or the end of the interpreter
            pass

    def save(self, path: str) -> None:
        os.stat(os.path.dirname(path) or ".")  # a folder that is not there raises what Python's files raise
        call("iokl_model_save", self._handle, os.fsencode(path))

    def update(self, X: Floats | None, Y: Floats | None, options: dict[str, Any]) -> Model:
        """The model with these rows added and those of the options taken out."""
        handle = ct.c_uint64()
        rows = [None if a is None else ct.byref(matrix(in_place(a))) for a in (X, Y)]
        call("iokl_model_update", self._handle, *rows, encode_options(options), ct.byref(handle))
        return Model(handle.value)

    def at(self, points: Floats) -> Model:
        """The model of outputs at other points of the axis."""
        handle = ct.c_uint64()
        call("iokl_model_at", self._handle, ct.byref(matrix(in_place(points))), ct.byref(handle))
        return Model(handle.value)

    def describe(self) -> dict[str, Any]:
        about = json.loads(text("iokl_model_json", self._handle))
        about["warnings"] = [in_python(line) for line in about["warnings"] or []]
        return about

    def sizes(self) -> _Sizes:
        s = _Sizes(size=ct.sizeof(_Sizes))
        call("iokl_model_size", self._handle, ct.byref(s))
        return s

    def output_kernel(self, kernel: int | None = None) -> Floats:
        """L, or that of one kernel of a sum."""
        n = self.sizes().learned
        L = np.empty((n, n))
        if n and kernel is None:
            call("iokl_model_output_kernel", self._handle, ct.byref(matrix(L)))
        elif n:
            call("iokl_model_output_kernel_of", self._handle, kernel, ct.byref(matrix(L)))
        return L

    # Rows are handed over in blocks of this many, between which Ctrl-C is seen.
    BLOCK = 8192

    def _blocks(self, X: Floats, outputs: int, each: Any, ends: int = 1) -> list[Floats]:
        results = self._results(len(X), outputs, ends)
        for at in range(0, len(X), self.BLOCK):
            part = in_place(X[at : at + self.BLOCK])
            each(ct.byref(matrix(part)), *(ct.byref(matrix(F[at : at + self.BLOCK])) for F in results))
        return results

    def _results(self, rows: int, matrices: int, ends: int) -> list[Floats]:
        """Room for outputs, and for the ends of intervals, one for so many outputs."""
        n = self.sizes().outputs
        return [np.empty((rows, n if i == 0 else n // ends)) for i in range(matrices)]

    def predict(self, X: Floats) -> Floats:
        return self._blocks(X, 1, lambda x, F: call("iokl_predict", self._handle, x, F))[0]

    def probabilities(self, X: Floats) -> Floats:
        return self._blocks(X, 1, lambda x, P: call("iokl_predict_probabilities", self._handle, x, P))[0]

    def deviation(self, X: Floats) -> Floats:
        return self._blocks(X, 1, lambda x, S: call("iokl_predict_deviation", self._handle, x, S))[0]

    def noise(self, X: Floats) -> Floats:
        return self._blocks(X, 1, lambda x, S: call("iokl_predict_noise", self._handle, x, S))[0]

    def interval(self, X: Floats, options: dict[str, Any], quantiles: int) -> list[Floats]:
        """Predictions, lower ends, upper ends."""
        weights, at = options.get("weights"), 0

        def block(x: Any, *FLU: Any) -> None:
            nonlocal at
            some = options if weights is None else {**options, "weights": weights[at : at + self.BLOCK]}
            call("iokl_predict_interval", self._handle, x, encode_options(some), *FLU)
            at += self.BLOCK

        return self._blocks(X, 3, block, quantiles)

    def sets(self, X: Floats, level: float) -> list[Floats]:
        """Probabilities of the classes, and 1 for each class that a row may be of."""
        return self._blocks(X, 2, lambda x, P, S: call("iokl_predict_sets", self._handle, x, level, P, S))

    def predict_gram(self, KX: Sequence[Floats]) -> Floats:
        return self._gram("iokl_predict_gram", KX, 1)[0]

    def probabilities_gram(self, KX: Sequence[Floats]) -> Floats:
        return self._gram("iokl_predict_probabilities_gram", KX, 1)[0]

    def interval_gram(self, KX: Sequence[Floats], options: dict[str, Any], quantiles: int) -> list[Floats]:
        """Predictions, lower ends, upper ends."""
        return self._gram("iokl_predict_interval_gram", KX, 3, encode_options(options), ends=quantiles)

    def _gram(self, function: str, KX: Sequence[Floats], outputs: int, *args: Any, ends: int = 1) -> list[Floats]:
        results = self._results(KX[0].shape[0], outputs, ends)
        stack = [in_place(k) for k in KX]
        call(function, self._handle, matrices(stack), len(stack), *args, *(ct.byref(matrix(F)) for F in results))
        return results


def set_threads(threads: int | None) -> None:
    """Set how many threads compute at once in this process.

    Parameters
    ----------
    threads : int or None
        The number of threads; None for all processors.
    """
    call("iokl_set_threads", 0 if threads is None else threads)


def library_version() -> dict[str, Any]:
    """Return version, commit, backend and instruction set of the library.

    Returns
    -------
    dict
        What ``iokl --version --json`` prints.
    """
    return json.loads(text("iokl_library"))
