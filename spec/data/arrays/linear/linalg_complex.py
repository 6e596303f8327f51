"""python3 spec/data/arrays/linear/linalg_complex.py: products, equations and factorisations of complex matrices."""
import sys

import numpy as np

sys.path.append("spec/data/arrays")
from values import Cases  # noqa: E402

c = Cases()
rng = np.random.default_rng(23)
la = np.linalg


def input(name, shape, make=lambda x: x):
    whole = lambda: np.round(rng.standard_normal(shape) * 4, 1)
    return c.input(name, make(whole() + 1j * whole()).astype(np.complex128))


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def put(lua, *values):
    c.case(lua, *[v if isinstance(v, (int, float, complex)) else np.ascontiguousarray(v) for v in values])


a, b, batch = input("a", (3, 3)), input("b", (3, 2)), input("batch", (2, 4, 4))
v, w, tall = input("v", 3), input("w", 3), input("tall", (5, 3))
h = input("h", (4, 4), lambda x: x + adjoint(x))
p = input("p", (3, 3), lambda x: x @ adjoint(x) + 4 * np.eye(3))
r = c.input("r", np.round(rng.standard_normal((3, 3)) * 4, 1))
x = input("x", (2, 3, 4))
put("a:mm(b)", a @ b)
put("a:mm(v)", a @ v)
put("v:mm(w)", complex(v @ w))
put("r:mm(b)", r @ b)
put("a:transpose():mm(b)", a.T @ b)
put("x:mm(x:permute(1, 3, 2):conj())", x @ adjoint(x))
put("batch:mm(batch:flip(2))", batch @ batch[:, ::-1])
put("mw.vdot(v, w)", complex(np.vdot(v, w)))
put("mw.vecdot(a, a)", np.vecdot(a, a))
put("mw.vecmat(v, a)", np.vecmat(v, a))
put("mw.matvec(a, v)", np.matvec(a, v))
put("mw.inner(v, w)", complex(np.inner(v, w)))
put("mw.kron(a, b)", np.kron(a, b))
put("mw.einsum('ij,jk->ik', a, b)", np.einsum("ij,jk->ik", a, b))
put("mw.einsum('ii', a)", complex(np.einsum("ii", a)))
put("mw.einsum('bij,bkj->bik', x, x)", np.einsum("bij,bkj->bik", x, x))
put("mw.einsum('ij,j->i', r, v)", np.einsum("ij,j->i", r, v))
put("mw.tensordot(x, x, {{1, 3}, {1, 3}})", np.tensordot(x, x, ([0, 2], [0, 2])))
for lua, m in {"a": a, "batch": batch, "a:transpose()": a.T, "h": h}.items():
    one = (lambda z: complex(z)) if m.ndim == 2 else np.asarray
    put(f"mw.linalg.inv({lua})", la.inv(m))
    put(f"mw.linalg.det({lua})", one(la.det(m)))
    sign, log = la.slogdet(m)
    put(f"mw.linalg.slogdet({lua})", one(sign), float(log) if m.ndim == 2 else log)
put("mw.linalg.solve(a, b)", la.solve(a, b))
put("mw.linalg.solve(a, v)", la.solve(a, v))
put("mw.linalg.solve(r, v)", la.solve(r, v))
put("mw.linalg.solve(batch, batch:conj())", la.solve(batch, batch.conj()))
put("mw.linalg.cholesky(p)", la.cholesky(p))
put("mw.linalg.matrix_power(a / 4, 3)", la.matrix_power(a / 4, 3))
put("mw.linalg.matrix_power(a, -1)", la.inv(a))
eye = lambda m: np.broadcast_to(np.eye(min(m.shape[-2:])) + 0j, m.shape[:-2] + (min(m.shape[-2:]),) * 2)
for lua, m in {"a": a, "tall": tall, "batch": batch, "tall:transpose()": tall.T}.items():
    put("(function() local q, r = mw.linalg.qr(%s) return q:mm(r), q:transpose():conj():mm(q) end)()" % lua, m, eye(m))
    put("(function() local u, s, vt = mw.linalg.svd(%s) return (u * s:expand(-2)):mm(vt), u:transpose():conj():mm(u), "
        "vt:mm(vt:transpose():conj()), s end)()" % lua, m, eye(m), eye(m), la.svd(m, compute_uv=False))
    put(f"mw.linalg.pinv({lua})", la.pinv(m))
    put(f"mw.linalg.norm({lua}, 2)", float(la.norm(m, 2)) if m.ndim == 2 else la.norm(m, 2, axis=(1, 2)))
put("(function() local w, v = mw.linalg.eigh(h) return w, (v * w:expand(-2)):mm(v:transpose():conj()) end)()",
    la.eigvalsh(h), h)
put("mw.linalg.eigvalsh(h)", la.eigvalsh(h))
for lua, m in {"a": a, "r": r, "batch": batch, "h": h}.items():
    # The matrix times each vector is the vector times its value; vectors have length 1; the values' sums are unique.
    values = la.eigvals(m)
    put("(function() local w, v = mw.linalg.eig(%s) return (%s:mm(v) - v * w:expand(-2)):abs(), "
        "(v:abs() * v:abs()):sum {axis = -2}, w:sum {axis = -1, keepdims = true} end)()" % (lua, lua),
        np.zeros(m.shape), np.ones(m.shape[:-1]), (values.sum(-1, keepdims=True) + 0j))
    put("(function() local w = mw.linalg.eigvals(%s) return w:abs():sort() end)()" % lua, np.sort(abs(values)))
put("mw.linalg.lstsq(tall, v5)", *(lambda s, e: (s[0], float((abs(e) ** 2).sum()), 3, s[3]))(
    la.lstsq(tall, input("v5", 5), rcond=None), tall @ la.lstsq(tall, c.inputs["v5"], rcond=None)[0] - c.inputs["v5"]))
put("mw.linalg.cond(a)", float(la.cond(a)))
put("mw.linalg.norm(a)", float(la.norm(a)))
put("mw.linalg.norm(a, 1)", float(la.norm(a, 1)))
c.write("spec/data/arrays/linear/linalg_complex.lua", "linear/linalg_complex.py")
