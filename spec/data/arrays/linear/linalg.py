"""python3 spec/data/arrays/linear/linalg.py: equations and factorisations, in double and in single precision.

What is unique only up to signs is compared by what it is made of: products of the factors, q^T q, absolute values.
"""
import sys

import numpy as np

sys.path.append("spec/data/arrays")
from values import Cases  # noqa: E402


def write(dtype, path):
    c = Cases()
    rng = np.random.default_rng(17)

    def input(name, shape, make=lambda x: x):
        return c.input(name, make(np.round(rng.standard_normal(shape) * 4, 2)).astype(dtype))

    def symmetric(x):
        return (x + np.swapaxes(x, -1, -2)) / 2

    def positive(x):
        return np.round(x @ np.swapaxes(x, -1, -2), 2) + 8 * np.eye(x.shape[-1])

    a = input("a", (3, 3))
    big = input("big", (24, 24))
    batch = input("batch", (4, 5, 5))
    deep = input("deep", (2, 3, 4, 4))
    tall = input("tall", (6, 3))
    wide = input("wide", (3, 7))
    talls = input("talls", (3, 5, 2))
    wides = input("wides", (2, 3, 4))
    s = input("s", (5, 5), symmetric)
    ss = input("ss", (3, 6, 6), symmetric)
    large = input("large", (20, 20), symmetric)
    p = input("p", (4, 4), positive)
    ps = input("ps", (3, 5, 5), positive)
    low = c.input("low", np.round(np.outer([1, 2, -3, 4, 5], [2, -1, 3, 1]) + 0.0).astype(dtype))
    one = input("one", (1, 1))
    v3, v5, m3 = input("v3", 3), input("v5", 5), input("m3", (3, 2))
    v6, m6, b5 = input("v6", 6), input("m6", (6, 2)), input("b5", (4, 5, 2))
    v24, m4 = input("v24", 24), input("m4", (4, 3))
    la = np.linalg
    real = lambda x: float(x) if np.ndim(x) == 0 else np.asarray(x, dtype)
    wide64 = lambda x: x.astype(np.float64)
    put = lambda lua, *values: c.case(lua, *[v if isinstance(v, (int, float)) else np.ascontiguousarray(v).astype(
        v.dtype if v.dtype.kind in "iu" else dtype) for v in values])

    def t(x):
        return np.swapaxes(x, -1, -2)

    # Equations
    for lua, m, b in [("a, v3", a, v3), ("a, m3", a, m3), ("big, v24", big, v24), ("p, m4", p, m4),
                      ("one, one", one, one), ("a:transpose(), v3", a.T, v3), ("a:flip(), m3:flip()", a[::-1, ::-1], m3[::-1, ::-1]),
                      ("batch, b5", batch, b5)]:
        put(f"mw.linalg.solve({lua})", la.solve(wide64(m), wide64(b)))
    put("mw.linalg.solve(batch, v5)", la.solve(wide64(batch), wide64(v5)[:, None])[..., 0])
    put("mw.linalg.solve(deep, m4)", la.solve(wide64(deep), wide64(m4)))
    put("mw.linalg.solve(p, deep)", la.solve(wide64(p), wide64(deep)))
    put("mw.linalg.solve(batch[2], v5)", la.solve(wide64(batch[1]), wide64(v5)))
    matrices = {"a": a, "big": big, "batch": batch, "deep": deep, "s": s, "p": p, "one": one, "batch:flip(2)": batch[:, ::-1],
                "a:transpose()": a.T, "batch[{{1, 4, 2}, {1, 3}, {2, 4}}]": batch[::2, :3, 1:4]}
    for lua, m in matrices.items():
        m = wide64(m)
        put(f"mw.linalg.inv({lua})", la.inv(m))
        put(f"mw.linalg.det({lua})", real(la.det(m)))
        put(f"mw.linalg.slogdet({lua})", *map(real, la.slogdet(m)))
        put(f"mw.linalg.cond({lua})", real(la.cond(m)))
        put(f"mw.linalg.cond({lua}, 1)", real(la.cond(m, 1)))
        put(f"mw.linalg.matrix_rank({lua})", int(la.matrix_rank(m)) if m.ndim == 2 else la.matrix_rank(m))
    for n in [0, 1, 2, 3, 5, 7]:
        put(f"mw.linalg.matrix_power(a / 4, {n})", la.matrix_power(wide64(a) / 4, n))
    put("mw.linalg.matrix_power(a, -2)", la.matrix_power(wide64(a), -2))
    put("mw.linalg.matrix_power(batch / 4, 3)", la.matrix_power(wide64(batch) / 4, 3))
    # Cholesky
    for lua, m in {"p": p, "ps": ps, "p:transpose()": p.T, "ps[{{3, 1, -2}, {1, 3}, {1, 3}}]": ps[::-2, :3, :3]}.items():
        put(f"mw.linalg.cholesky({lua})", la.cholesky(wide64(m)))
    put("mw.linalg.cholesky(p:tril() + p:tril(-1):transpose() * 0)", la.cholesky(wide64(p)))
    # QR and SVD
    for lua, m in {"a": a, "big": big, "tall": tall, "wide": wide, "talls": talls, "wides": wides, "deep": deep,
                   "tall:transpose()": tall.T, "talls:flip(1)": talls[::-1], "low": low, "one": one}.items():
        m = wide64(m)
        k = min(m.shape[-2:])
        eye = np.broadcast_to(np.eye(k), m.shape[:-2] + (k, k))
        put("(function() local q, r = mw.linalg.qr(%s) return q:mm(r), q:transpose():mm(q), r - r:triu() end)()" % lua,
            m, eye, np.zeros(m.shape[:-2] + (k, m.shape[-1])))
        if lua != "low":
            q, r = la.qr(m)
            put("(function() local q, r = mw.linalg.qr(%s) return q:abs(), r:abs() end)()" % lua, abs(q), abs(r))
        values = la.svd(m, compute_uv=False)
        put("(function() local u, s, vt = mw.linalg.svd(%s) return (u * s:expand(-2)):mm(vt), u:transpose():mm(u), "
            "vt:mm(vt:transpose()), s end)()" % lua, m, eye, eye, values)
        put(f"mw.linalg.svdvals({lua})", values)
        square = lambda n: np.broadcast_to(np.eye(n), m.shape[:-2] + (n, n))
        rows, columns = m.shape[-2:]
        first = "{%s{1, %d}}" % ("{}, " * (m.ndim - 1), k)
        then = "{%s{1, %d}, {}}" % ("{}, " * (m.ndim - 2), k)
        put("(function() local u, s, vt = mw.linalg.svd(%s, {full = true}) return (u[%s] * s:expand(-2)):mm(vt[%s]), "
            "u:transpose():mm(u), vt:mm(vt:transpose()) end)()" % (lua, first, then), m, square(rows), square(columns))
        put(f"mw.linalg.pinv({lua})", la.pinv(m, rcond=max(rows, columns) * np.finfo(dtype).eps))
    put("mw.linalg.matrix_rank(low)", 1)
    put("mw.linalg.matrix_rank(low, 1000)", 0)
    put("mw.linalg.matrix_rank(tall, {rtol = 0.999})", int(la.matrix_rank(wide64(tall), rtol=0.999)))
    # Eigenvalues of symmetric matrices
    for lua, m in {"s": s, "ss": ss, "large": large, "p": p, "one": one, "ss:flip(1)": ss[::-1],
                   "s:transpose()": s.T}.items():
        m = wide64(m)
        w = la.eigvalsh(m)
        eye = np.broadcast_to(np.eye(m.shape[-1]), m.shape)
        put("(function() local w, v = mw.linalg.eigh(%s) return w, (v * w:expand(-2)):mm(v:transpose()), "
            "v:transpose():mm(v) end)()" % lua, w, m, eye)
        put(f"mw.linalg.eigvalsh({lua})", w)
    put("mw.linalg.eigvalsh(a)", la.eigvalsh(np.tril(a) + np.tril(a, -1).T))
    # Least squares
    for lua, m, b in [("tall, v6", tall, v6), ("tall, m6", tall, m6), ("a, m3", a, m3), ("wide, v3", wide, v3),
                      ("wide, m3", wide, m3), ("low, v5", low, v5)]:
        x, rest, rank, values = la.lstsq(wide64(m), wide64(b), rcond=max(m.shape) * np.finfo(dtype).eps)
        error = wide64(m) @ x - wide64(b)
        put(f"mw.linalg.lstsq({lua})", x, real((error ** 2).sum(0)), int(rank), values)
    put("(mw.linalg.lstsq(talls, talls))", np.broadcast_to(np.eye(2), (3, 2, 2)))
    # Norms
    for lua, m in {"a": a, "tall": tall, "wide": wide}.items():
        put(f"mw.linalg.norm({lua})", real(la.norm(wide64(m))))
        for order, words in {"fro": "'fro'", "nuc": "'nuc'", 1: 1, -1: -1, 2: 2, -2: -2, np.inf: "math.huge",
                             -np.inf: "-math.huge"}.items():
            put(f"mw.linalg.norm({lua}, {words})", real(la.norm(wide64(m), order)))
    put("mw.linalg.norm(v5)", real(la.norm(wide64(v5))))
    put("mw.linalg.norm(v5, 1)", real(la.norm(wide64(v5), 1)))
    put("mw.linalg.norm(a, {axis = 2})", la.norm(wide64(a), axis=1))
    put("mw.linalg.norm(talls, {axis = {1, 3}})", la.norm(wide64(talls), axis=(0, 2)))
    put("mw.linalg.norm(talls, {ord = 1, axis = {3, 1}})", la.norm(wide64(talls), 1, axis=(2, 0)))
    put("mw.linalg.norm(batch, {ord = 2})", la.norm(wide64(batch), 2, axis=(1, 2)))
    # Nothing
    put("mw.linalg.inv(a[{{}, {}}]:sub(1, 0):reshape(0, 3, 3))", np.zeros((0, 3, 3)))
    put("mw.linalg.det(a:sub(1, 0):reshape(0, 3, 3))", np.zeros(0))
    put("mw.linalg.det(a:sub(1, 0):reshape(2, 0, 0))", np.ones(2))
    put("mw.linalg.solve(a:sub(1, 0):reshape(0, 0), a:sub(1, 0):reshape(0, 2))", np.zeros((0, 2)))
    put("mw.linalg.svdvals(a:sub(1, 0):reshape(0, 3))", np.zeros(0))
    put("mw.linalg.qr(a:sub(1, 0):reshape(3, 0))", np.zeros((3, 0)), np.zeros((0, 0)))
    put("mw.linalg.eigvalsh(a:sub(1, 0):reshape(2, 0, 0))", np.zeros((2, 0)))
    put("mw.linalg.pinv(a:sub(1, 0):reshape(0, 3))", np.zeros((3, 0)))
    c.write(path, "linear/linalg.py")


write(np.float64, "spec/data/arrays/linear/linalg.lua")
write(np.float32, "spec/data/arrays/linear/linalg_float.lua")
