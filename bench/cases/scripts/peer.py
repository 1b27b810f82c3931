"""What the scripts beside this one share: data in, timed repetitions, one JSON line out."""
import json
import os
import sys
import time

import numpy as np

FOLDER, REPEATS = sys.argv[1], int(sys.argv[2])


def load(name):
    return np.load(os.path.join(FOLDER, name + ".npy"))


def repeat(run, times=REPEATS):
    """Seconds of each repetition after one that warms up, and the last answer."""
    seconds = []
    for i in range(times + 1):
        start = time.perf_counter()
        answer = run()
        if i:
            seconds.append(time.perf_counter() - start)
    return seconds, answer


def report(name, version, seconds, **metrics):
    print(json.dumps({"name": name, "version": version, "seconds": seconds, "metrics": metrics}), flush=True)
