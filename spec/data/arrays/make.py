"""Calls of functions on random arrays of every dtype, and what NumPy says: scans, indices, statistics.

    pip install numpy; python3 spec/data/arrays/make.py [noun...]

A noun's function gives a list of cases; each becomes a line of <noun>.lua (values.py). Positions and axes are written as
Lua counts them. Floating-point truth is computed in double precision and rounded to the dtype.
"""
import sys

import numpy as np
import values
from values import Cases, number

NAMES = {name: np.dtype(type) for type, name in values.NAMES.items()}
INTEGERS = ["char", "uchar", "short", "ushort", "int", "uint", "longlong", "ulonglong"]
FLOATS = ["half", "float", "double"]
ALL = ["bool"] + INTEGERS + FLOATS
SHAPES = [(7,), (3, 5), (2, 3, 4), (0,), (2, 0, 3), (1, 1), (70,)]
rng = np.random.default_rng(30)


def elements(dtype, shape, low=-9, high=9):
    """Random elements that every dtype can say."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if NAMES[dtype] in (np.complex64, np.complex128):
        return (rng.integers(low, high + 1, shape) / 4 + 1j * rng.integers(low, high + 1, shape) / 4).astype(NAMES[dtype])
    if dtype in FLOATS:
        return (rng.integers(low * 4, high * 4 + 1, shape) / 4).astype(NAMES[dtype])
    return rng.integers(0 if dtype.startswith("u") else low, high + 1, shape).astype(NAMES[dtype])


def lua(value):
    """A scalar, text, list or table of options in Lua."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s = %s" % (k, lua(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "{%s}" % ", ".join(lua(v) for v in value)
    if isinstance(value, float) and np.isinf(value):
        return "1 / 0"
    return number(value)


def case(call, a, args, *gives):
    return {"call": call, "a": a, "args": args, "gives": gives}


def expression(call, args):
    """The call as Lua writes it, and the arrays among its arguments by name."""
    arrays, texts = {}, []
    for value in args:
        if isinstance(value, np.ndarray):
            texts.append("bcd"[len(arrays)])
            arrays[texts[-1]] = value
        else:
            texts.append(lua(value))
    if call == "select":
        return "a[%s]" % texts[0], arrays
    if call == "assign":
        return "(function() a[%s] = %s return a end)()" % tuple(texts), arrays
    if call.startswith("mw."):
        return "%s(%s)" % (call, ", ".join(["a"] + texts)), arrays
    if len(texts) == 1 and texts[0].startswith("{"):
        return "a:%s %s" % (call, texts[0]), arrays
    return "a:%s(%s)" % (call, ", ".join(texts)), arrays


def axes_of(shape):
    return [None] + list(range(len(shape)))


def axis_options(axis):
    return [] if axis is None else [{"axis": axis + 1}]


def wide(a):
    """The array in the type that a sum has."""
    if a.dtype.kind in "fc":
        return a.astype(np.float64 if a.dtype.kind == "f" else np.complex128)
    return a.astype(np.uint64 if a.dtype.kind == "u" else np.int64)


def rounded(result, a):
    return result.astype(a.dtype) if a.dtype.kind in "fc" else result


def some(dtypes=ALL, shapes=SHAPES, count=3):
    """Each dtype with some of the shapes."""
    for dtype in dtypes:
        for k in sorted(rng.permutation(len(shapes))[:count]):
            yield dtype, shapes[k]


def scans():
    for dtype, shape in some():
        a = elements(dtype, shape)
        for axis in axes_of(shape):
            yield case("cumsum", a, axis_options(axis), rounded(np.cumsum(wide(a), axis), a))
        b = elements(dtype, shape[:1], 1, 2)
        yield case("cumprod", b[:12], [], rounded(np.cumprod(wide(b[:12])), b))
        if shape != (70,) and dtype != "ulonglong":  # what wraps there is more than a Lua integer
            for n in range(3):
                axis = int(rng.integers(len(shape)))
                yield case("diff", a, [{"n": n, "axis": axis + 1}], np.diff(a, n, axis))


def index_array(shape, n, dtype=np.int32):
    """Positions from 1, some of them from the end."""
    at = rng.integers(1, n + 1, shape).astype(dtype)
    return at if np.dtype(dtype).kind == "u" else np.where(rng.random(shape) < 0.3, at - n - 1, at).astype(dtype)


def from_zero(index):
    """The same positions for NumPy."""
    index = index.astype(np.int64)
    return np.where(index > 0, index - 1, index)


def indices():
    index_types = [np.int8, np.uint16, np.int32, np.int64, np.uint64]
    for dtype, shape in some(ALL, [(7,), (3, 5), (2, 3, 4), (70,)], 2):
        a = elements(dtype, shape)
        index = index_array((2, 3), a.size, index_types[rng.integers(5)])
        yield case("take", a, [index], a.take(from_zero(index)))
        axis = int(rng.integers(len(shape)))
        index = index_array((4,), shape[axis], index_types[rng.integers(5)])
        yield case("take", a, [index, {"axis": axis + 1}], a.take(from_zero(index), axis))
        along = list(shape)
        along[axis] = 3
        index = index_array(along, shape[axis])
        yield case("gather", a, [axis + 1, index], np.take_along_axis(a, from_zero(index), axis))
        index, b = index_array((5,), a.size), a.copy()
        values = elements(dtype, (3,))
        np.put(b, from_zero(index), values)
        yield case("put", a, [index, values], b)
        mask = rng.random(shape) < 0.5
        yield case("select", a, [mask], a[mask])
        values, b = elements(dtype, (int(mask.sum()),)), a.copy()
        b[mask] = values
        yield case("assign", a, [mask, values], b)
        row = rng.random(shape[:1]) < 0.5
        yield case("select", a, [row], a[row])
        index = index_array((3,), shape[0])
        yield case("select", a, [index], a[from_zero(index)])
        condition = rng.random(shape[axis]) < 0.5
        yield case("compress", a, [condition, {"axis": axis + 1}], a.compress(condition, axis))
        yield case("compress", a, [mask.ravel()], a.compress(mask.ravel()))
        yield case("nonzero", a, [], *[i.astype(np.int64) + 1 for i in a.nonzero()])
        other = elements(ALL[rng.integers(12)], shape[-1:])
        yield case("mw.where", mask, [a, other], np.where(mask, a, other))
        if dtype != "bool":
            index, b = index_array((20,), a.size), a.copy()
            values = elements(dtype, (20,))
            np.add.at(b.reshape(-1), from_zero(index), values)
            yield case("scatter_add", a, [index, values], b)
            index, b = index_array(along, shape[axis]), a.copy()
            values = elements(dtype, along)
            where = list(np.indices(along))
            where[axis] = from_zero(index)
            np.add.at(b, tuple(where), values)
            yield case("scatter_add", a, [axis + 1, index, values], b)
    for shape in [(0,), (2, 0)]:
        a = elements("float", shape)
        none = np.zeros(0, np.int64)
        yield case("take", a, [none], a.take(none))
        yield case("nonzero", a, [], *[i.astype(np.int64) for i in a.nonzero()])
        yield case("select", a, [a > 0], a[a > 0])
        yield case("scatter_add", a, [none, np.zeros(0, np.float32)], a)


def real_result(result, a):
    return np.asarray(result, a.dtype if a.dtype.kind == "f" else np.float64)


def scalar_or_array(result, a):
    result = real_result(result, a)
    return result if result.ndim else float(result)


def statistics():
    with np.errstate(all="ignore"):
        for dtype, shape in some(ALL, [(7,), (3, 5), (2, 3, 4), (70,), (3, 90)], 2):
            a = elements(dtype, shape)
            wide = a.astype(np.float64)
            for axis in [None, int(rng.integers(len(shape)))]:
                options = axis_options(axis)
                ddof = int(rng.integers(2))
                more = [{**(options[0] if options else {}), "ddof": ddof}]
                yield {**case("var", a, more, scalar_or_array(np.var(wide, axis, ddof=ddof), a)), "tolerance": 16}
                yield {**case("std", a, options, scalar_or_array(np.std(wide, axis), a)), "tolerance": 16}
                yield case("median", a, options, scalar_or_array(np.median(wide, axis), a))
                q = float(rng.integers(0, 101)) / 100
                yield {**case("quantile", a, [q] + options, scalar_or_array(np.quantile(wide, q, axis), a)),
                       "tolerance": 2}
                norm = lambda order: np.sum(np.abs(wide) ** order, axis) ** (1 / order)
                yield {**case("norm", a, options, scalar_or_array(norm(2), a)), "tolerance": 2}
                order = float(rng.choice([1, 3, np.inf]))
                result = np.max(np.abs(wide), axis) if order == np.inf else norm(order)
                more = [{**(options[0] if options else {}), "ord": order}]
                yield {**case("norm", a, more, scalar_or_array(result, a)), "tolerance": 8}
        a = np.array([1, np.nan, 3, 2], np.float32)
        for call in ["var", "std", "median", "norm"]:
            yield case(call, a, [], float("nan"))
        for call in ["var", "std", "median"]:
            yield case(call, np.zeros(0, np.float32), [], float("nan"))
        yield case("quantile", np.arange(5.0), [[0.0, 0.25, 1.0]], np.quantile(np.arange(5.0), [0, 0.25, 1]))


NOUNS = {"scans": scans, "indices": indices, "statistics": statistics}

if __name__ == "__main__":
    for noun in sys.argv[1:] or NOUNS:
        rng = np.random.default_rng(30)
        cases = Cases()
        for it in NOUNS[noun]():
            text, arrays = expression(it["call"], it["args"])
            cases.case(text, *it["gives"], tolerance=it.get("tolerance"), a=it["a"], **arrays)
        cases.write("spec/data/arrays/%s.lua" % noun, "make.py")
