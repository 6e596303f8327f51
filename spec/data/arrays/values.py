"""Writes cases as a Lua table: expressions in moonwarp's terms, and NumPy's values of the same.

A script names its inputs and calls case() with the Lua expression and the values; spec/support/numpy.lua runs them. A case
may have inputs of its own, by name, and a tolerance.
"""
import numpy as np

NAMES = {"bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int",
         "uint32": "uint", "int64": "longlong", "uint64": "ulonglong", "float16": "half", "float32": "float",
         "float64": "double", "complex64": "complex64", "complex128": "complex128"}


def number(x):
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if np.iscomplexobj(x):
        return "{%s,%s}" % (number(x.real), number(x.imag))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if np.isnan(x):
        return "N"
    if np.isinf(x):
        return "I" if x > 0 else "-I"
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") and text != "-0.0" else text


def value(x):
    if isinstance(x, list):
        return "{%s}" % ",".join(number(v) for v in x)
    if not isinstance(x, np.ndarray):
        return number(x)
    flat = ",".join(number(v) for v in x.reshape(-1))
    return '{"%s",{%s},{%s}}' % (NAMES[x.dtype.name], ",".join(map(str, x.shape)), flat)


class Cases:
    def __init__(self):
        self.inputs, self.lines = {}, []

    def input(self, name, array):
        self.inputs[name] = array
        return array

    def case(self, lua, *wanted, tolerance=None, **own):
        assert '"' not in lua
        parts = ['"%s"' % lua] + [value(w) for w in wanted]
        if own:
            parts.append("with={%s}" % ",".join("%s=%s" % (name, value(array)) for name, array in own.items()))
        if tolerance:
            parts.append("tolerance=%g" % tolerance)
        self.lines.append("{%s}" % ",".join(parts))

    def write(self, path, script):
        with open(path, "w") as f:
            f.write("-- Written by spec/data/arrays/%s, with NumPy %s.\n" % (script, np.__version__))
            f.write("-- luacheck: ignore\nlocal N, I = 0 / 0, 1 / 0\nreturn {\ninputs = {\n")
            for name, array in self.inputs.items():
                f.write("%s = %s,\n" % (name, value(array)))
            f.write("},\n")
            f.write(",\n".join(self.lines))
            f.write("}\n")
        print(path, len(self.lines))
