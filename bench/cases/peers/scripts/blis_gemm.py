"""Products of matrices by libblis, BLIS of Debian or AMD.

usage: blis_gemm.py DIR REPEATS
"""
import ctypes
import ctypes.util
import os

import numpy as np

from peer import load, repeat, report


def library():
    names = [ctypes.util.find_library(name) for name in ("blis-mt", "blis")]
    for name in filter(None, [os.environ.get("BLIS_LIBRARY"), *names, "libblis.so.4"]):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def pointer(a):
    return a.ctypes.data_as(ctypes.c_void_p)


blis = library()
if blis:
    blis.bli_arch_string.restype = ctypes.c_char_p
    blis.bli_info_get_version_str.restype = ctypes.c_char_p
    core = blis.bli_arch_string(blis.bli_arch_query_id()).decode()
    A, B = load("A"), load("B")
    (m, k), n = A.shape, B.shape[1]
    C = np.empty((m, n))
    one, zero, row_major, plain = ctypes.c_double(1), ctypes.c_double(0), 101, 111
    seconds, _ = repeat(lambda: blis.cblas_dgemm(row_major, plain, plain, m, n, k, one, pointer(A), k, pointer(B), n, zero, pointer(C), n))
    report("blis " + core, blis.bli_info_get_version_str().decode(), seconds, residual=float(np.linalg.norm(C - A @ B) / np.linalg.norm(C)))
