"""python3 spec/data/arrays/order.py: values of sorting, searching and counting."""
import numpy as np
from values import Cases

c = Cases()
rng = np.random.default_rng(7)
N, I = np.nan, np.inf
inputs = {
    "f": np.array([[3, N, -1, I], [-I, 2, 0.5, 3], [N, 1, 3, -1]], np.float32),
    "d": rng.integers(-5, 5, (2, 3, 4)).astype(np.float64),
    "h": np.array([2, -0.5, 2, N, I, -I, 0.25], np.float16),
    "b": np.array([True, False, True]),
    "i": rng.integers(-2**31, 2**31, 60).astype(np.int32),
    "k": rng.integers(-3, 3, 60).astype(np.int8),
    "u": rng.integers(0, 256, (5, 7)).astype(np.uint8),
    "s": rng.integers(-300, 300, 70).astype(np.int16),
    "q": rng.integers(0, 65536, 50).astype(np.uint16),
    "w": rng.integers(0, 2**32, 50).astype(np.uint32),
    "l": rng.integers(-2**50, 2**50, 50).astype(np.int64),
    "m": rng.integers(0, 2**52, 50).astype(np.uint64),
    "e": np.zeros((0, 3), np.float32),
}
for name, a in inputs.items():
    c.input(name, a)
    for axis in range(-1, a.ndim):
        c.case("%s:sort(%d)" % (name, axis + 1 if axis >= 0 else -1), np.sort(a, axis))
        c.case("%s:argsort {axis = %d}" % (name, axis + 1 if axis >= 0 else -1), np.argsort(a, axis, kind="stable") + 1)
    x, n = np.unique(a, return_counts=True)
    c.case("%s:unique {counts = true}" % name, x, n)
    x, n = np.unique(a, return_inverse=True)
    c.case("%s:unique {inverse = true}" % name, x, n.reshape(-1) + 1)
    c.case("%s:flip():sort()" % name, np.sort(np.flip(a)))
    flat = np.sort(a.reshape(-1))
    c.case("%s:reshape(-1):sort():searchsorted(%s:reshape(-1))" % (name, name), np.searchsorted(flat, a.reshape(-1)) + 1)
    c.case("%s:reshape(-1):sort():searchsorted(%s:reshape(-1), 'right')" % (name, name),
           np.searchsorted(flat, a.reshape(-1), "right") + 1)
c.case("f:transpose():sort(1)", np.sort(f := inputs["f"].T, 0))
c.case("f:transpose():argsort(1)", np.argsort(f, 0, kind="stable") + 1)
for name in "ikuslw":
    a = inputs[name].reshape(-1).astype(np.int64)
    order = np.argsort(-a, kind="stable")
    c.case("%s:reshape(-1):sort {descending = true}" % name, inputs[name].reshape(-1)[order])
    c.case("%s:reshape(-1):argsort {descending = true}" % name, order + 1)
    c.case("%s:reshape(-1):topk(3)" % name, inputs[name].reshape(-1)[order[:3]], order[:3] + 1)
    order = np.argsort(a, kind="stable")[:4]
    c.case("%s:reshape(-1):topk(4, {largest = false})" % name, inputs[name].reshape(-1)[order], order + 1)
v = c.input("v", np.array([1, 3, 3, 7], np.int32))
for x in (0, 1, 3, 4, 7, 9, 2.5):
    c.case("v:searchsorted(%s)" % x, int(np.searchsorted(v, x)) + 1)
    c.case("v:searchsorted(%s, {side = 'right'})" % x, int(np.searchsorted(v, x, "right")) + 1)
z = c.input("z", np.array([0, 3, 1, 3, 3, 0], np.uint8))
y = c.input("y", np.array([.5, 1, 2, 4, 8, .25], np.float32))
c.case("z:bincount()", np.bincount(z))
c.case("z:bincount {minlength = 6}", np.bincount(z, minlength=6))
c.case("z:bincount {weights = y}", np.bincount(z, y))
c.case("e:to('int'):bincount()", np.zeros(0, np.int64))
for bins in (1, 2, 5, 10):
    for name in "iksuqwldy":
        a = y if name == "y" else inputs[name]
        n, edges = np.histogram(a.astype(np.float64), bins)
        c.case("%s:histogram(%d)" % (name, bins), n, edges)
c.case("y:histogram {bins = {0, 1, 3, 8}}", *np.histogram(y.astype(float), [0., 1, 3, 8]))
c.case("y:histogram {bins = 4, range = {0, 4}}", *np.histogram(y.astype(float), 4, (0, 4)))
c.case("y:histogram {bins = 4, weights = y}", *np.histogram(y.astype(float), 4, weights=y.astype(float)))
c.case("y:histogram {bins = 4, density = true}", *np.histogram(y.astype(float), 4, density=True))
c.case("f:histogram {bins = 3, range = {-1, 3}}", *np.histogram(inputs["f"].astype(float), 3, (-1, 3)))
c.case("e:histogram(2)", *np.histogram(inputs["e"].astype(float), 2))
c.write("spec/data/arrays/order.lua", "order.py")
