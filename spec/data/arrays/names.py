"""python3 spec/data/arrays/names.py: an example of each name of arrays, and NumPy's value of the same.

Rows of docs/use/from_numpy.md occur here as they are written there (spec/array/names/from_numpy_spec.lua).
"""
import math

import numpy as np
from values import Cases

c = Cases()
rng = np.random.default_rng(7)
f4, f8, i4, i8, c8, c16 = np.float32, np.float64, np.int32, np.int64, np.complex64, np.complex128
a = c.input("a", np.array([[3, -1, 2], [0, 5, -4]], f4))
b = c.input("b", np.array([[1, 2, 3], [4, 5, 6]], f4))
t = c.input("t", np.arange(120, dtype=f4).reshape(5, 6, 4))
u = c.input("u", np.array([0.25, 1, 2.5], f8))
v = c.input("v", np.array([2, 4, 8], f8))
i = c.input("i", np.array([3, 1, 2, 3], i4))
m = c.input("m", np.array([[True, False, True], [False, True, False]]))
z = c.input("z", np.array([1 + 2j, -3 + 0.5j], c8))
s = c.input("s", np.array([[4, 1, 0.5], [1, 3, 0], [0.5, 0, 2]], f8))
w = c.input("w", np.array([[1, 2, 3], [1, 1, 4], [5, 6, 2]], f8))
n = c.input("n", np.array([[1, np.nan], [np.nan, 3]], f4))


def changed(x, change):
    x = x.copy()
    change(x)
    return x


def assign(key, value):
    def change(x):
        x[key] = value

    return change


def writing(statement, name="a"):
    return "(function(%s) %s return %s end)(%s:copy())" % (name, statement, name, name)


# ---- dtypes and promotion ----

for name, dtype in (("bool", np.bool_), ("char", np.int8), ("uchar", np.uint8), ("short", np.int16), ("ushort", np.uint16),
                    ("int", i4), ("uint", np.uint32), ("longlong", i8), ("ulonglong", np.uint64), ("half", np.float16),
                    ("float", f4), ("double", f8), ("complex64", c8), ("complex128", c16)):
    c.case("mw.ones(2, '%s')" % name, np.ones(2, dtype))
    if name != "bool":
        c.case("mw.ones(2, '%s') * mw.ones(2, 'float')" % name, np.ones(2, dtype) * np.ones(2, f4))
        c.case("mw.ones(2, '%s') * 3" % name, np.ones(2, dtype) * 3)
        c.case("mw.ones(2, '%s') * 0.5" % name, np.ones(2, dtype) * 0.5)
c.case("m * m", m * m)
c.case("m:sum()", m.sum())
c.case("mw.array({{1, 2}, {3, 4}}, 'complex64')", np.array([1 + 2j, 3 + 4j], c8))
c.case("z * z", z * z, tolerance=4)
c.case("a:to 'float'", a.astype("f4"))
c.case("a:as 'uchar'", a.view("u1"))

# ---- making ----

c.case("mw.array({ { 1, 2 }, { 3, 4 } }, 'double')", np.array([[1, 2], [3, 4]], "f8"))
c.case("mw.zeros(2, 3)", np.zeros((2, 3), f4))
c.case("mw.ones(2, 3)", np.ones((2, 3), f4))
c.case("mw.full({2, 3}, 7)", np.full((2, 3), 7, f4))
c.case("mw.empty(2, 3):fill(1)", np.ones((2, 3), f4))
c.case("mw.zeros_like(a)", np.zeros_like(a))
c.case("mw.ones_like(a)", np.ones_like(a))
c.case("mw.full_like(a, 2)", np.full_like(a, 2))
c.case("mw.empty_like(a):fill(0)", np.zeros_like(a))
c.case("mw.arange(n)", np.arange(4, dtype=f4), n=np.int64(4))
c.case("mw.linspace(a, b, n)", np.linspace(1, 3, 5, dtype=f4), a=1, b=3, n=5)
c.case("mw.eye(n, m, { k = k })", np.eye(3, 4, 1, f4), n=3, m=4, k=1)
c.case("mw.tri(n)", np.tri(3, dtype=f4), n=3)
c.case("mw.meshgrid(x, y)", *np.meshgrid(u, v), x=u, y=v)

# ---- attributes and views ----

c.case("#a", len(a))
c.case("a.rank", a.ndim)
c.case("a.count", a.size)
c.case("mw.array(a.shape, 'int')", np.array(a.shape, i4))
c.case("mw.array(a.strides, 'int')", np.array(a.strides, i4))
c.case("a:get(i, j)", a[1, 2], i=2, j=3)
c.case("a[{ i, j }]", a[1, 2], i=2, j=3)
c.case("a[i]", a[1], i=2)
c.case("t[{ { 2, 4 }, { 1, -1, 2 }, -1 }]", t[1:4, ::2, -1])
c.case("a[{ { 2, 4 }, { 1, -1, 2 }, -1 }]", t[1:4, ::2, -1], a=t)
c.case("t[{ {}, 3, {-2, -1} }]", t[:, 2, -2:])
c.case("t[{ {5, 1, -2} }]", t[::-2])
c.case("t[{ {3, 2} }]", t[2:2])
c.case("a:flip(1)", a[::-1])
c.case(writing("a[{ { 2, 3 } }] = b"), changed(v, assign(slice(1, 3), 9)), a=v, b=np.array([9.0]))
c.case(writing("a[mask] = 0"), changed(a, assign(m, 0)), mask=m)
c.case("a[mask]", a[m], mask=m)
c.case(writing("a[{ {}, {2, 3} }] = a[{ {}, {1, 2} }]"), changed(a, assign((slice(None), slice(1, 3)), a[:, :2])))
c.case("a:reshape(2, -1)", a.reshape(2, -1))
c.case("a:reshape(-1)", a.ravel())
c.case("a:permute()", a.T)
c.case("a:permute(2, 3, 1)", np.transpose(t, (1, 2, 0)), a=t)
c.case("a:transpose()", a.T)
c.case("t:transpose()", t.transpose(0, 2, 1))
c.case("a:expand(1)", np.expand_dims(a, 0))
c.case("a:expand(1):squeeze()", a)
c.case("a:squeeze()", np.squeeze(a))
c.case("a:broadcast_to(s)", np.broadcast_to(u, (2, 3)), a=u, s=[2, 3])
c.case("a:transpose():contiguous()", np.ascontiguousarray(a.T))
c.case("a:contiguous()", a)
c.case("a:copy()", a)
c.case("a:totable()[2][3]", a.tolist()[1][2])
c.case("v:totable()[2]", v.tolist()[1])
c.case("a[1]", a[0])
c.case("u[1]", u[0].item())

# ---- index arrays and masks ----

c.case("a:take(i, { axis = 1 })", a.take([1, 0, 1], 0), i=np.array([2, 1, 2], i4))
c.case("a:take(i)", a.take(i - 1))
c.case(writing("a:put(i, v)"), changed(a, lambda x: np.put(x, [3, 1], [8, 9])), i=np.array([4, 2], i4), v=np.array([8, 9], f4))
c.case("a:gather(2, i)", np.take_along_axis(a, np.array([[0, 2], [1, 1]]), 1), i=np.array([[1, 3], [2, 2]], i4))
c.case(writing("a:scatter_add(i, v)"), changed(a, lambda x: np.add.at(x.reshape(-1), [0, 4, 0], [1, 2, 3])),
       i=np.array([1, 5, 1], i4), v=np.array([1, 2, 3], f4))
c.case("a:nonzero()", *[x + 1 for x in np.nonzero(a)])
c.case("a:compress(c)", np.compress([True, False, True], v), a=v, c=np.array([True, False, True]))
c.case("mw.where(c, a, b)", np.where(m, a, b), c=m)

# ---- operators and functions of elements ----

for sign, f in (("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide), ("%", np.mod), ("^", np.power)):
    c.case("a %s b" % sign, f(a, b), tolerance=2)
    c.case("b %s 2" % sign, f(b, f4(2)), tolerance=2)
    c.case("2 %s b" % sign, f(f4(2), b), tolerance=2)
c.case("mw.floor_divide(a, b)", np.floor_divide(a, b))
c.case("-a", -a)
for name, f in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal), ("eq", np.equal),
                ("ne", np.not_equal), ("maximum", np.maximum), ("minimum", np.minimum), ("fmax", np.fmax), ("fmin", np.fmin),
                ("hypot", np.hypot), ("atan2", np.arctan2), ("fmod", np.fmod), ("copysign", np.copysign),
                ("nextafter", np.nextafter), ("fdim", lambda x, y: np.maximum(x - y, 0)), ("pow", np.power),
                ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
                ("remainder", np.vectorize(math.remainder, otypes=[f4])), ("rhypot", lambda x, y: 1 / np.hypot(x, y))):
    c.case("mw.%s(a, b)" % name, f(a, b), tolerance=4)
    c.case("a:%s(b)" % name, f(a, b), tolerance=4)
c.case("a:lt(b)", a < b)
c.case("a:land(b)", m & m[::-1], a=m, b=m[::-1])
for name, f in (("land", np.logical_and), ("lor", np.logical_or), ("lxor", np.logical_xor)):
    c.case("m:%s(m:flip(1))" % name, f(m, m[::-1]))
c.case("m:lnot()", ~m)
c.case("mw.clip(a, 0, 2)", np.clip(a, 0, 2))
c.case("a:ldexp(3)", np.ldexp(a, 3))
c.case("mw.fma(a, b, 1)", a * b + 1)
erf = np.vectorize(math.erf)
for name, x, f in (("exp", u, np.exp), ("exp2", u, np.exp2), ("exp10", u, lambda x: 10**x), ("expm1", u, np.expm1),
                   ("log", u, np.log), ("log2", u, np.log2), ("log10", u, np.log10), ("log1p", u, np.log1p),
                   ("sqrt", u, np.sqrt), ("rsqrt", u, lambda x: 1 / np.sqrt(x)), ("cbrt", u, np.cbrt),
                   ("rcbrt", u, lambda x: 1 / np.cbrt(x)), ("sin", u, np.sin), ("cos", u, np.cos), ("tan", u, np.tan),
                   ("asin", 1 / v, np.arcsin), ("acos", 1 / v, np.arccos), ("atan", u, np.arctan), ("sinh", u, np.sinh),
                   ("cosh", u, np.cosh), ("tanh", u, np.tanh), ("asinh", u, np.arcsinh), ("acosh", v, np.arccosh),
                   ("atanh", 1 / v, np.arctanh), ("sinpi", u[:2] / 2, lambda x: np.array([math.sin(math.pi / 8), 1])),
                   ("cospi", u[:1], lambda x: np.array([math.sqrt(0.5)])), ("erf", u, erf),
                   ("erfc", u, np.vectorize(math.erfc)), ("tgamma", u, np.vectorize(math.gamma)),
                   ("lgamma", v, np.vectorize(math.lgamma)), ("erfcx", u, lambda x: np.exp(x * x) * np.vectorize(math.erfc)(x)),
                   ("normcdf", u, lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))),
                   ("cyl_bessel_i0", u, np.i0), ("logb", u, lambda x: np.floor(np.log2(x))),
                   ("floor", u, np.floor), ("ceil", u, np.ceil), ("trunc", u, np.trunc), ("round", u, np.round),
                   ("rint", u, np.rint), ("abs", a, np.abs), ("fabs", a, np.fabs), ("sign", a, np.sign),
                   ("square", a, np.square), ("reciprocal", v, np.reciprocal), ("isnan", n, np.isnan),
                   ("isinf", n, np.isinf), ("isfinite", n, np.isfinite), ("signbit", a, np.signbit),
                   ("degrees", u, np.degrees), ("radians", u, np.radians), ("sigmoid", u, lambda x: 1 / (1 + np.exp(-x))),
                   ("real", z, np.real), ("imag", z, np.imag), ("conj", z, np.conj), ("angle", z, np.angle), ("abs", z, np.abs)):
    for text in ("a:%s()", "mw.%s(a)"):
        c.case(text % name, f(x), tolerance=40, a=x)
c.case("u:erf():erfinv()", u, tolerance=100)
c.case("u:erfc():erfcinv()", u, tolerance=100)
c.case("u:normcdf():normcdfinv()", u, tolerance=100)
for name, x, value in (("j0", 1.0, 0.7651976865579666), ("j1", 1.0, 0.44005058574493355), ("y0", 1.0, 0.08825696421567698),
                       ("y1", 1.0, -0.7812128213002887), ("cyl_bessel_i1", 1.0, 0.5651591039924851)):
    c.case("a:%s()" % name, np.array([value]), tolerance=40, a=np.array([x]))

# ---- reductions and scans ----

for name in ("sum", "mean", "prod", "any", "all", "min", "max", "var", "std", "argmin", "argmax"):
    one = 1 if name.startswith("arg") else 0
    f = getattr(np, name)
    c.case("a:%s()" % name, (f(a) + one if one else f(a)).item(), tolerance=0 if one else 2**29)
    c.case("a:%s { axis = 1 }" % name, f(a, 0) + i8(one) if one else f(a, 0), tolerance=2)
    c.case("a:%s { axis = -1, keepdims = true }" % name,
           f(a, 1, keepdims=True) + i8(one) if one else f(a, 1, keepdims=True), tolerance=2)
c.case("a:count_nonzero()", np.count_nonzero(a))
c.case("t:sum { axis = {1, 3} }", t.sum((0, 2)))
c.case("a:min()", np.nanmin(n).item(), a=n)
c.case("a:argmax()", int(np.nanargmax(n)) + 1, a=n)
c.case("a:norm()", np.linalg.norm(s).item(), a=s, tolerance=4)
c.case("a:median()", np.median(v).item(), a=v)
c.case("a:quantile(q)", np.quantile(v, 0.25).item(), a=v, q=0.25)
c.case("a:cumsum { axis = 1 }", np.cumsum(a, 0))
c.case("a:cumprod()", np.cumprod(a))
c.case("a:diff()", np.diff(a))

# ---- shapes and order ----

c.case("mw.concat({ a, b }, 2)", np.concatenate([a, b], 1))
c.case("mw.stack { a, b }", np.stack([a, b]))
c.case("a:split(3)", *np.split(v, 3), a=v)
c.case("a:split { 2, 5 }", *np.split(np.arange(7), [2, 5]), a=np.arange(7))
c.case("a:tile(2, 3)", np.tile(a, (2, 3)))
c.case("a:repeat_each(2, 1)", np.repeat(a, 2, 0))
c.case("a:roll(1, 1)", np.roll(a, 1, 0))
c.case("a:pad(1, { mode = 'edge' })", np.pad(a, 1, "edge"))
c.case("a:diag()", np.diag(s), a=s)
c.case("a:tril()", np.tril(s), a=s)
c.case("a:triu()", np.triu(s), a=s)
c.case("a:trace()", np.trace(s).item(), a=s)
c.case("a:sort(1)", np.sort(a, 0))
c.case("a:argsort()", np.argsort(a, kind="stable") + 1)
c.case("n:sort()", np.sort(n))
c.case("v:topk(2)", v[::-1][:2], np.array([3, 2]))
c.case("a:unique { counts = true }", np.array([1, 2, 3], i4), np.array([1, 1, 2]), a=i)
c.case("a:searchsorted(v, { side = 'right' })", int(np.searchsorted(v, 4, "right")) + 1, a=v, v=4)
c.case("a:bincount()", np.bincount(i), a=i)
c.case("a:histogram(10)", *np.histogram(v, 10), a=v, tolerance=2)

# ---- linear algebra ----

c.case("a:mm(b)", s @ w, a=s, b=w, tolerance=4)
c.case("mw.dot(u, v)", np.dot(u, v).item(), tolerance=4)
c.case("mw.outer(u, v)", np.outer(u, v))
c.case("mw.matvec(a, v)", s @ v, a=s, tolerance=4)
c.case("mw.vecdot(u, v)", np.dot(u, v).item(), tolerance=4)
c.case("mw.vdot(a, b)", np.vdot(s, w).item(), a=s, b=w, tolerance=4)
c.case("mw.einsum('ij,jk', a, b)", s @ w, a=s, b=w, tolerance=4)
c.case("mw.einsum('...i->...', a)", a.sum(1))
c.case("mw.kron(a, b)", np.kron(s, w), a=s, b=w)
c.case("mw.tensordot(a, b, { { 1, 2 }, { 2, 1 } })", np.tensordot(s, w, ([0, 1], [1, 0])).item(), a=s, b=w, tolerance=4)
c.case("mw.tensordot(a, b, 1)", np.tensordot(s, w, 1), a=s, b=w, tolerance=4)
c.case("mw.inner(a, b)", np.inner(s, w), a=s, b=w, tolerance=4)
L = np.linalg
c.case("mw.linalg.solve(a, b)", L.solve(s, v), a=s, b=v, tolerance=100)
c.case("mw.linalg.inv(w)", L.inv(w), tolerance=1000)
c.case("mw.linalg.det(w)", L.det(w).item(), tolerance=100)
c.case("mw.linalg.slogdet(w)", *[x.item() for x in L.slogdet(w)], tolerance=100)
c.case("mw.linalg.cholesky(a)", L.cholesky(s), a=s, tolerance=100)
c.case("(function(q, r) return q:mm(r) end)(mw.linalg.qr(w))", w, tolerance=1000)
c.case("(mw.linalg.eigh(s))", L.eigh(s)[0], tolerance=100)
c.case("mw.linalg.eigvalsh(s)", L.eigvalsh(s), tolerance=100)
c.case("(function(x, s, y) return (x * s):mm(y) end)(mw.linalg.svd(a))", w, a=w, tolerance=1000)
c.case("select('#', mw.linalg.svd(a))", 3)
c.case("mw.linalg.svd(a, { full = true }):abs()", np.abs(L.svd(a)[0]), tolerance=100)  # signs are the library's
c.case("mw.linalg.svdvals(w)", L.svdvals(w), tolerance=1000)
c.case("(mw.linalg.eig(a)):real():sum()", L.eig(w)[0].real.sum().item(), a=w, tolerance=1000)
c.case("mw.linalg.eigvals(w):real():sort()", np.sort(L.eigvals(w).real), tolerance=1000)
c.case("(mw.linalg.lstsq(a, b))", L.lstsq(w[:, :2], v, None)[0], a=w[:, :2], b=v, tolerance=1000)
c.case("mw.linalg.pinv(a)", L.pinv(w[:, :2]), a=w[:, :2], tolerance=1000)
c.case("mw.linalg.matrix_rank(w)", int(L.matrix_rank(w)))
c.case("mw.linalg.norm(a, 2)", L.norm(w, 2).item(), a=w, tolerance=100)
c.case("mw.linalg.cond(w)", L.cond(w).item(), tolerance=1000)
c.case("mw.linalg.matrix_power(a, n)", L.matrix_power(w, 3), a=w, n=3, tolerance=100)

# ---- Fourier transforms ----

F = np.fft
for name in ("fft", "ifft", "rfft", "fft2", "ifft2", "fftn", "ifftn", "fftshift", "ifftshift"):
    x = np.round(rng.standard_normal((4, 5)), 3)
    c.case("mw.fft.%s(a)" % name, getattr(F, name)(x), a=x)
c.case("mw.fft.irfft(f, n)", F.irfft(F.rfft(v), 3), f=F.rfft(v), n=3)
c.case("mw.fft.fftfreq(5)", F.fftfreq(5), tolerance=2)
c.case("mw.convolve(u, v)", np.convolve(u, v), tolerance=4)
c.case("mw.correlate(u, v, { mode = 'full' })", np.correlate(u, v, "full"), tolerance=4)

c.write("spec/data/arrays/names.lua", "names.py")
