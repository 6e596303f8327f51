# The cases of bench/arrays/arrays.lua in NumPy, numexpr, JAX and pyfftw: python3 bench/arrays/peers.py COUNT THREADS [CASE…]
# prints "peer case seconds", the best of several runs. Results are made anew each time, as there.
import os
import sys
import time

count, threads, wanted = int(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:])
os.environ["NUMEXPR_MAX_THREADS"] = os.environ["NUMEXPR_NUM_THREADS"] = str(threads)
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:threads])

import numpy as np

try:
    import numexpr
except ImportError:
    numexpr = None
try:
    import pyfftw
except ImportError:
    pyfftw = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

LEAST, SECONDS = 3, 0.1


def report(peer, case, run):
    if wanted and case not in wanted:
        return
    run()
    best, spent, runs = float("inf"), 0, 0
    while runs < LEAST or spent < SECONDS:
        start = time.perf_counter()
        result = run()
        if peer == "jax":
            jax.block_until_ready(result)
        took = time.perf_counter() - start
        del result
        best, spent, runs = min(best, took), spent + took, runs + 1
    print(peer, case, best, flush=True)


def repeated(f, times=1000):
    def run():
        for _ in range(times):
            f()

    start = time.perf_counter()
    run()
    best = float("inf")
    for _ in range(9):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best / times


rng = np.random.default_rng(1)
a, b = rng.random(count, np.float32), rng.random(count, np.float32)
keys = rng.integers(0, 1000, count, np.int32)
places = rng.integers(0, count, count, np.int32)
tall, wide = a[: count // 1000 * 1000].reshape(-1, 1000), a[: count // 2 * 2].reshape(-1, 2)
flat = a[: count // 2 * 2].reshape(2, -1)
mask = (a > 0.5).astype(np.int32)

report("numpy", "copy", lambda: a.copy())
report("numpy", "add", lambda: a + b)
report("numpy", "six", lambda: (a + b) * (a - b) * 2 + a * b)
report("numpy", "chain", lambda: np.tanh(np.log(np.exp(a) + b)))
for name in ("sum", "mean", "var", "argmax"):
    report("numpy", name, lambda: getattr(a, name)())
    for shape, array in (("10^4,10^3", tall), ("10^7,2", wide), ("2,10^7", flat)):
        for axis in (0, 1):
            report("numpy", f"{name}:{shape}:{axis + 1}", lambda: getattr(array, name)(axis=axis))
report("numpy", "cumsum", lambda: a.cumsum())
report("numpy", "sort", lambda: np.sort(a))
report("numpy", "argsort", lambda: np.argsort(a))
report("numpy", "topk", lambda: np.partition(a, count - 100)[-100:])
report("numpy", "take", lambda: a.take(places))


def scatter_add():
    y = np.zeros(count, np.float32)
    np.add.at(y, places, a)
    return y


report("numpy", "scatter_add", scatter_add)
report("numpy", "unique", lambda: np.unique(keys))
report("numpy", "nonzero", lambda: mask.nonzero())
report("numpy", "bincount", lambda: np.bincount(keys))
for n in (256, 1024, 4096):
    if not wanted or f"mm:{n}" in wanted:
        x, y = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
        report("numpy", f"mm:{n}", lambda: x @ y)
for n in (8, 16, 32, 64):
    shape = (count // 4 // (n * n), n, n)
    x, y = rng.random(shape, np.float32), rng.random(shape, np.float32)
    report("numpy", f"batch:{n}", lambda: x @ y)
transforms = [(f"fft:{m}:{n}", (m, n)) for m, n in ((16384, 2**8), (1024, 2**12), (64, 2**16), (4, 2**20), (1, 2**24),
                                                   (4096, 1000), (4096, 1009))] + [("fft2:2048:2048", (2048, 2048))]
for name, shape in transforms:
    if wanted and name not in wanted:
        continue
    x = rng.random(shape, np.float32).astype(np.complex64)
    of_two = name.startswith("fft2")
    report("numpy", name, lambda: np.fft.fft2(x) if of_two else np.fft.fft(x))
    if pyfftw:
        y = pyfftw.empty_aligned(shape, np.complex64)
        y[:] = x
        plan = pyfftw.FFTW(y, pyfftw.empty_aligned(shape, np.complex64), axes=(0, 1) if of_two else (1,),
                           flags=("FFTW_ESTIMATE",), threads=threads)
        report("pyfftw", name, lambda: plan(y, pyfftw.empty_aligned(shape, np.complex64)))
small = np.ones(10, np.float32)
print("numpy ten", repeated(lambda: small + small), flush=True)

if numexpr:
    numexpr.set_num_threads(threads)
    report("numexpr", "add", lambda: numexpr.evaluate("a + b"))
    report("numexpr", "six", lambda: numexpr.evaluate("(a + b) * (a - b) * 2 + a * b"))
    report("numexpr", "chain", lambda: numexpr.evaluate("tanh(log(exp(a) + b))"))
    report("numexpr", "sum", lambda: numexpr.evaluate("sum(a)"))
if jax:
    x, y, k, p, m = (jnp.asarray(v) for v in (a, b, keys, places, mask))
    report("jax", "add", lambda f=jax.jit(lambda x, y: x + y): f(x, y))
    report("jax", "six", lambda f=jax.jit(lambda a, b: (a + b) * (a - b) * 2 + a * b): f(x, y))
    report("jax", "chain", lambda f=jax.jit(lambda a, b: jnp.tanh(jnp.log(jnp.exp(a) + b))): f(x, y))
    for name in ("sum", "mean", "var", "argmax"):
        report("jax", name, lambda f=jax.jit(getattr(jnp, name)): f(x))
        for shape, array in (("10^4,10^3", tall), ("10^7,2", wide), ("2,10^7", flat)):
            array = jnp.asarray(array)
            for axis in (0, 1):
                f = jax.jit(lambda v, of=getattr(jnp, name), axis=axis: of(v, axis=axis))
                report("jax", f"{name}:{shape}:{axis + 1}", lambda: f(array))
    report("jax", "cumsum", lambda f=jax.jit(jnp.cumsum): f(x))
    report("jax", "sort", lambda f=jax.jit(jnp.sort): f(x))
    report("jax", "take", lambda f=jax.jit(lambda x, p: x[p]): f(x, p))
    report("jax", "scatter_add", lambda f=jax.jit(lambda x, p: jnp.zeros_like(x).at[p].add(x)): f(x, p))
    report("jax", "bincount", lambda f=jax.jit(lambda k: jnp.bincount(k, length=1000)): f(k))
    s = jnp.ones(10, jnp.float32)
    print("jax ten", repeated(lambda: s + s, 200), flush=True)
