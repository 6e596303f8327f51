"""Random numbers of NumPy and mkl_random: a line for each generator and distribution, with the least processor time in
seconds for COUNT numbers into a new array.

    python3 bench/peers/numpy_random.py COUNT

Peers that are not installed are left out.
"""
import sys
import time

count = int(float(sys.argv[1]))
RUNS = 7


def report(peer, generator, numbers, draw):
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        draw()
        least = min(least, time.process_time() - start)
    print(f"{peer}\t{generator}\t{numbers}\t{least:.6f}", flush=True)


try:
    import numpy
    from numpy.random import MT19937, PCG64, Generator, Philox

    for bits in (Philox, PCG64, MT19937):
        g = Generator(bits(1))
        name = bits.__name__.lower()
        report("NumPy", name, "uniform", lambda: g.random(count, dtype=numpy.float32))
        report("NumPy", name, "uniform double", lambda: g.random(count))
        report("NumPy", name, "normal", lambda: g.standard_normal(count, dtype=numpy.float32))
        report("NumPy", name, "normal double", lambda: g.standard_normal(count))
        report("NumPy", name, "poisson 50", lambda: g.poisson(50, count))
except ImportError:
    pass

try:
    import mkl_random

    kinds = {"philox": "philox4x32x10", "mt19937": "MT19937", "mrg32k3a": "MRG32K3A", "sfmt19937": "SFMT19937"}
    for name, brng in kinds.items():
        g = mkl_random.MKLRandomState(1, brng=brng)
        report("mkl_random", name, "uniform double", lambda: g.random_sample(count))
        for method in ("BoxMuller", "ICDF"):
            report("mkl_random", name, "normal double " + method, lambda: g.standard_normal(count, method=method))
        report("mkl_random", name, "poisson 50", lambda: g.poisson(50, count))
except ImportError:
    pass
