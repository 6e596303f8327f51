"""python3 spec/data/arrays/linear/einsum.py: sums of products by indices, of whole numbers, which are exact."""
import sys

import numpy as np

sys.path.append("spec/data/arrays")
from values import Cases  # noqa: E402

c = Cases()
rng = np.random.default_rng(31)


def whole(name, shape, dtype=np.float32, low=-5, high=6):
    return c.input(name, rng.integers(low, high, shape).astype(dtype))


values = {name: whole(name, shape) for name, shape in {
    "v": 4, "w": 4, "u": 3, "m": (3, 4), "n": (4, 5), "s": (4, 4), "t": (3, 3), "x": (2, 3, 4), "y": (2, 4, 5),
    "z": (5, 2, 3), "q": (2, 3, 4, 4), "one": (1, 4), "e": (0, 4), "l": (5, 2), "r": (4, 2, 3), "f": (5, 0), "q3": (3, 3, 2), "q4": (3, 3, 3, 3)}.items()}
values["d"] = whole("d", (4, 3), np.float64)
values["i"] = whole("i", (3, 4), np.int32)
values["k"] = whole("k", (4, 3), np.int16)
values["h"] = whole("h", (4, 4), np.float16, -3, 4)
values["p"] = c.input("p", rng.integers(0, 2, (3, 4)).astype(bool))


def plain(result):
    return np.ascontiguousarray(result) if np.ndim(result) else float(result)


def einsum(spec, *names):
    c.case("mw.einsum('%s', %s)" % (spec, ", ".join(names)), plain(np.einsum(spec, *[values[n] for n in names])))


for spec, names in [
        ("i->", "v"), ("i", "v"), ("i,i->", "v w"), ("i,i", "v w"), ("i,i->i", "v w"), ("i,j->ij", "v u"),
        ("i,j->ji", "v u"), ("ij->ji", "m"), ("ij->i", "m"), ("ij->j", "m"), ("ij->", "m"), ("ji", "m"),
        ("ii", "s"), ("ii->i", "s"), ("ii->", "s"), ("ij,jk->ik", "m n"), ("ij,jk", "m n"), ("ij,jk->ki", "m n"),
        ("ij,jk->", "m n"), ("ij,jk->j", "m n"), ("ij,jk->ijk", "m n"), ("ji,jk->ik", "m t"), ("ij,kj->ik", "m m"),
        ("ij,ij->", "m m"), ("ij,ij->i", "m m"), ("ij,ij->ij", "m m"), ("ij,j->i", "m v"), ("i,ij->j", "u m"),
        ("bij,bjk->bik", "x y"), ("bij,bjk->ikb", "x y"), ("bij,bjk->ik", "x y"), ("bij,jk->bik", "x n"),
        ("bij,jk", "x n"), ("abc,cab->", "x r"), ("ijk,lij->kl", "x z"), ("ijk,lij", "x z"), ("bik,bij->bkj", "x x"),
        ("ij,jk,kl->il", "m n l"), ("ij,jk,ik->", "m s m"), ("i,i,i->i", "v w v"), ("i,j,k->ijk", "v u w"),
        ("ij,i,j->", "m u v"), ("ij,i,j->ij", "m u v"), ("ia,ib,ic->abc", "s s s"), ("...ij->...ji", "x"),
        ("...->...", "x"), ("...i->...", "x"), ("i...->...", "x"), ("...ij,...jk->...ik", "x y"),
        ("...ij,jk->...ik", "q s"), ("ij,...jk->...ik", "m q"), ("...ii->...i", "q"), ("...ii->...", "q"),
        ("...ii", "q"), ("...,...->...", "m v"), ("...,...", "x m"), ("i...,i...->i...", "x x"), ("ij,ij->ij", "m one"),
        ("ij,kj->ik", "m one"), ("ij->j", "e"), ("ij->", "e"), ("ij,jk->ik", "e n"), ("ij,kj->ik", "e e"),
        ("ki,ij->kj", "f e"), ("ij,ji->ij", "s s"), ("ij,ji->", "s s"), ("ii,ij->j", "s s"), ("iij->ij", "q3"),
        ("aabb->ab", "q4"), ("abab->", "q4"), (" i j , j k -> i k ", "m n"), ("Ij,jK->IK", "m n"), ("zb,ba", "m n"),
        ("ij,ij->i", "i i"), ("ij,jk->ik", "i k"), ("ij->i", "i"), ("ij->", "i"), ("i,ij->j", "u i"),
        ("ij,jk->ik", "m d"), ("ij,jk->ik", "p d"), ("ij,jk->ik", "h h"), ("ij->i", "h"), ("ijkl->lkji", "q"),
        ("abcd,abdc->abc", "q q"), ("abcd,ef->abcdef", "q t"), ("abcd,bc,d->a", "q m w")]:
    einsum(spec, *names.split())

v, w, u, m, n, s, x, y, z, q, d, i, k, h = (values[name] for name in "v w u m n s x y z q d i k h".split())
c.case("mw.einsum('ij,jk->ik', m:transpose(), m)", plain(np.einsum("ij,jk->ik", m.T, m)))
c.case("mw.einsum('ij,jk->ik', m:flip(1), n:flip(2))", plain(np.einsum("ij,jk->ik", m[::-1], n[:, ::-1])))
c.case("mw.einsum('bij,bkj->bik', x, x:broadcast_to(2, 3, 4))", plain(np.einsum("bij,bkj->bik", x, x)))
c.case("mw.einsum('ij,jk->ik', x[{1, {}, {1, 4, 2}}], n[{{1, 4, 2}, {}}])",
       plain(np.einsum("ij,jk->ik", x[0, :, ::2], n[::2])))
c.case("mw.tensordot(m, n, 1)", np.tensordot(m, n, 1))
c.case("mw.tensordot(x, x:permute(2, 3, 1))", plain(np.tensordot(x, x.transpose(1, 2, 0))))
c.case("mw.tensordot(x, z, {{1, 2}, {2, 3}})", plain(np.tensordot(x, z, ([0, 1], [1, 2]))))
c.case("mw.tensordot(x, y, {-1, 2})", plain(np.tensordot(x, y, ([-1], [1]))))
c.case("mw.tensordot(x, z, {{2, 1}, {3, 2}})", plain(np.tensordot(x, z, ([1, 0], [2, 1]))))
c.case("mw.tensordot(v, u, 0)", np.tensordot(v, u, 0))
c.case("mw.tensordot(m, m, 2)", float(np.tensordot(m, m, 2)))
c.case("mw.tensordot(i, k, 1)", np.tensordot(i, k, 1))
c.case("mw.inner(v, w)", float(np.inner(v, w)))
c.case("mw.inner(m, v)", np.inner(m, v))
c.case("mw.inner(x, m)", np.inner(x, m))
c.case("mw.inner(m, x)", np.inner(m, x))
c.case("mw.kron(v, u)", np.kron(v, u))
c.case("mw.kron(m, n)", np.kron(m, n))
c.case("mw.kron(v, m)", np.kron(v, m))
c.case("mw.kron(x, m)", np.kron(x, m))
c.case("mw.kron(i, k)", np.kron(i, k))
c.case("mw.vdot(m, m)", float(np.vdot(m, m)))
c.case("mw.vdot(x, x:flip())", float(np.vdot(x, x[::-1, ::-1, ::-1])))
c.case("mw.matvec(m, v)", m @ v)
c.case("mw.matvec(x, m:broadcast_to(3, 4)[{{1, 2}, {}}])", np.matvec(x, m[:2]))
c.case("mw.matvec(q, x)", np.matvec(q, x))
c.case("mw.vecmat(u, m)", np.vecmat(u, m))
c.case("mw.vecmat(u, x)", np.vecmat(u, x))
c.case("mw.vecdot(v, w)", float(np.vecdot(v, w)))
c.case("mw.vecdot(x, m)", np.vecdot(x, m))
c.case("mw.vecdot(x, x, {axis = 2})", np.vecdot(x, x, axis=1))
c.write("spec/data/arrays/linear/einsum.lua", "linear/einsum.py")
