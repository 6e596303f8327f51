"""PYTHONPATH=spec/data/arrays python3 spec/data/arrays/complex/complex.py: complex numbers. What rounds is computed in double precision."""
import numpy as np
from values import Cases

c = Cases()
rng = np.random.default_rng(8)


def quarters(shape, dtype, low=-8, high=8):
    re, im = (rng.integers(low, high + 1, shape) / 4 for _ in range(2))
    return (re + 1j * im).astype(dtype)


x = c.input("x", quarters((3, 4), np.complex64))
y = c.input("y", quarters((3, 4), np.complex64))
d = c.input("d", quarters((3, 4), np.complex128))
row = c.input("row", quarters(4, np.complex64))
t = c.input("t", quarters((2, 3, 4), np.complex64))
w = c.input("w", quarters((4, 3), np.complex128))
one = c.input("one", quarters(7, np.complex64))
f = c.input("f", (rng.integers(-9, 9, (3, 4)) / 2).astype(np.float32))
g = c.input("g", (rng.integers(-9, 9, (3, 4)) / 2))
h = c.input("h", (rng.integers(-9, 9, (3, 4)) / 2).astype(np.float16))
i8 = c.input("i8", rng.integers(-9, 9, (3, 4)).astype(np.int8))
i16 = c.input("i16", rng.integers(-9, 9, (3, 4)).astype(np.int16))
i32 = c.input("i32", rng.integers(-9, 9, (3, 4)).astype(np.int32))
u64 = c.input("u64", rng.integers(0, 9, (3, 4)).astype(np.uint64))
p = c.input("p", rng.integers(0, 2, (3, 4)).astype(bool))
odd = c.input("odd", np.array([1 + 2j, complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan), 1 - 2j, 0,
                              complex(-2, np.nan), complex(np.nan, -1), complex(np.inf, 0), complex(0, -np.inf)],
                             np.complex64))
tie = c.input("tie", (rng.integers(-2, 3, (5, 9)) + 1j * rng.integers(-2, 3, (5, 9))).astype(np.complex64))
many = c.input("many", quarters((40, 3), np.complex64))
none = c.input("none", np.zeros((0, 2), np.complex64))
at = c.input("at", np.array([3, 1, 2, 2], np.int32))


def wide(a):
    return a.astype(np.complex128) if a.dtype.kind == "c" else a.astype(np.float64)


# Promotion, and sums and products that are exact.
named = dict(x=x, d=d, f=f, g=g, h=h, i8=i8, i16=i16, i32=i32, u64=u64, p=p)
for name, other in named.items():
    c.case("x + %s" % name, x + other)
    c.case("%s * d" % name, other * d)
    c.case("x - %s" % name, x - other)
    c.case("x:eq(%s)" % name, x == other)
for name, other in list(named.items())[2:]:
    c.case("%s * mw.complex(1, -2)" % name, other * (1 - 2j))
    c.case("%s + x[{ {}, 2 }]:expand(2)" % name, other + x[:, 1:2])
for text, value in (("2", 2), ("0.5", 0.5), ("mw.complex(0.5, 2)", 0.5 + 2j), ("mw.complex(0, 1)", 1j)):
    c.case("x * %s" % text, x * value)
    c.case("%s - d" % text, value - d)
    c.case("%s + row" % text, value + row)
    c.case("x:ne(%s)" % text, x != value)
c.case("x + row", x + row)
c.case("t * x", t * x)
c.case("t - row", t - row)
c.case("-x", -x)
c.case("x:conj()", x.conj())
c.case("f:conj()", f.conj())
c.case("x:square()", np.square(x))
c.case("x ^ 3", np.round(wide(x) ** 3 * 64).astype(np.complex64) / np.complex64(64))
c.case("x:real()", x.real)
c.case("t:imag()", t.imag)
c.case("f:real()", f)
c.case("i32:imag()", i32.imag)
c.case("x:transpose():imag()", x.T.imag)
c.case("odd:isnan()", np.isnan(odd))
c.case("odd:isfinite()", np.isfinite(odd))
c.case("odd:isinf()", np.isinf(odd))
c.case("x:land(p)", np.logical_and(x, p))
c.case("p:lor(d)", np.logical_or(p, d))
c.case("x:lnot()", np.logical_not(x))
c.case("mw.where(p, x, f)", np.where(p, x, f))
c.case("mw.where(p, x, 1)", np.where(p, x, np.complex64(1)))
c.case("mw.where(x, d, x)", np.where(x != 0, d, x))
c.case("mw.where(p, g, mw.complex(0, 1))", np.where(p, g, 1j))

# Reductions and scans.
for name, a in (("x", x), ("d", d), ("t", t), ("many", many), ("none", none)):
    for axis in range(-1, a.ndim):
        options = "" if axis < 0 else "{ axis = %d }" % (axis + 1)
        at_axis = None if axis < 0 else axis
        c.case("%s:sum(%s)" % (name, options), np.sum(wide(a), at_axis).astype(a.dtype)[()])
        c.case("%s:cumsum(%s)" % (name, options), np.cumsum(wide(a), at_axis).astype(a.dtype))
        c.case("%s:any(%s)" % (name, options), np.any(a, at_axis)[()])
        c.case("%s:all(%s)" % (name, options), np.all(a, at_axis)[()])
        c.case("%s:count_nonzero(%s)" % (name, options), np.asarray(np.count_nonzero(a, at_axis)).astype(np.int64)[()])
c.case("t:sum { axis = { 1, 3 } }", np.sum(t, (0, 2)))
c.case("t:sum { axis = { -1, 2 }, keepdims = true }", np.sum(t, (1, 2), keepdims=True))
c.case("x:sum { keepdims = true }", np.sum(x, keepdims=True))
c.case("x:diff()", np.diff(x))

# Shapes, places and order.
c.case("x:take(at)", x.take(at - 1))
c.case("x:take(at, { axis = 1 })", x.take(at - 1, 0))
c.case("mw.concat { x, f }", np.concatenate([x, f]))
c.case("mw.concat({ d, x }, 2)", np.concatenate([d, x], 1))
c.case("mw.stack { x, y }", np.stack([x, y]))
c.case("x:tile(2, 1)", np.tile(x, (2, 1)))
c.case("x:roll(1)", np.roll(x, 1))
c.case("x:pad(1)", np.pad(x, 1))
c.case("mw.tril(x)", np.tril(x))
c.case("mw.diag(row)", np.diag(row))
c.case("x[p]", x[p])
c.case("odd:sort()", np.sort(odd))
c.case("tie:sort()", np.sort(tie))
c.case("tie:sort(1)", np.sort(tie, 0))
c.case("tie:argsort()", np.argsort(tie, kind="stable") + 1)
c.case("tie:argsort(1)", np.argsort(tie, 0, kind="stable") + 1)
c.case("one:sort()", np.sort(one))

# Products of matrices of quarters are exact.
c.case("x:mm(w)", x @ w)
c.case("x:transpose():mm(y)", x.T @ y)
c.case("f:mm(w)", f @ w)
c.case("t:mm(w)", t @ w)
c.case("x:mm(row)", x @ row)
c.case("row:dot(row)", row @ row)
c.case("mw.outer(row, one)", np.outer(row, one))
c.write("spec/data/arrays/complex/complex.lua", "complex/complex.py")

# What rounds.
c = Cases()
for name, a in named.items():
    c.input(name, a)
z = c.input("z", np.concatenate([rng.normal(0, 2, 40) + 1j * rng.normal(0, 2, 40), 1 + 1e-3 * quarters(12, complex),
                                 [-4, 4, 4j, -4j, 1, -1, 30 + 1j, -30 - 2j, 1e-3j]]))
single = c.input("single", z.astype(np.complex64))
near = c.input("near", np.array([1e-300 + 1e-300j, 1e300 + 1e300j, 3e200 - 4e200j, 1e-200j]))
for name in "exp log sqrt sin cos tan sinh cosh tanh reciprocal abs angle".split():
    function = getattr(np, name)
    for at, a in (("z", z), ("single", single)):
        result = function(wide(a))
        narrow = np.complex64 if result.dtype.kind == "c" else np.float32
        c.case("%s:%s()" % (at, name), result if at == "z" else result.astype(narrow))
c.case("f:angle()", np.angle(wide(f)).astype(np.float32))
c.case("i32:angle()", np.angle(wide(i32)))
c.case("near / near:flip()", near / near[::-1])
c.case("near:abs()", np.abs(near))
c.case("near:sqrt()", np.sqrt(near))
for name, other in named.items():
    if name not in ("p",):
        quotient = np.divide(wide(other), d + 3)
        c.case("%s / (d + 3)" % name, quotient)
c.case("2 / (x + 3)", (2 / (wide(x) + 3)).astype(np.complex64))
c.case("x / mw.complex(1, 3)", (wide(x) / (1 + 3j)).astype(np.complex64))
c.case("(x + 3) ^ 0.5", ((wide(x) + 3) ** 0.5).astype(np.complex64))
c.case("(x + 3) ^ -2", ((wide(x) + 3) ** -2).astype(np.complex64))
c.case("(d + 3) ^ x", (d + 3) ** wide(x))
c.case("2 ^ d", 2 ** d)
c.case("(d + 3) ^ mw.complex(0.5, -1)", (d + 3) ** (0.5 - 1j))
for name, a in (("x", x), ("d", d), ("z", z)):
    c.case("%s:mean()" % name, np.mean(wide(a)))
    c.case("%s:norm()" % name, np.linalg.norm(wide(a).ravel()))
    c.case("%s:norm { ord = 1 }" % name, np.abs(wide(a)).sum())
    c.case("%s:var { axis = 1 }" % name, np.var(wide(a), 0).astype(a.real.dtype)[()] if a.ndim > 1
           else np.array([np.var(a)]))
    c.case("%s:std { ddof = 1 }" % name, np.std(wide(a), ddof=1))
c.case("(x + 3):prod()", np.prod(wide(x) + 3).astype(np.complex64))
c.case("(d + 3):prod { axis = 2 }", np.prod(d + 3, 1))
c.case("(d + 3):cumprod { axis = 1 }", np.cumprod(d + 3, 0))
c.case("x:mean { axis = 2 }", np.mean(wide(x), 1).astype(np.complex64))
c.write("spec/data/arrays/complex/rounded.lua", "complex/complex.py")
