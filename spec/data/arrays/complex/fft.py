"""PYTHONPATH=spec/data/arrays python3 spec/data/arrays/complex/fft.py: Fourier transforms and convolutions."""
import numpy as np
from values import Cases

rng = np.random.default_rng(17)


def file(path, real, complex_):
    c = Cases()
    z = c.input("z", ((rng.integers(-8, 9, (2, 3, 4)) + 1j * rng.integers(-8, 9, (2, 3, 4))) / 4).astype(complex_))
    x = c.input("x", (rng.integers(-8, 9, (4, 5)) / 4).astype(real))
    e = c.input("e", (rng.integers(-8, 9, (2, 4, 3)) / 4).astype(real))
    v = c.input("v", (rng.integers(-8, 9, 12) / 4).astype(real))
    w = c.input("w", (rng.integers(-8, 9, 5) / 4).astype(real))
    k = c.input("k", (rng.integers(-8, 9, (2, 3)) / 4).astype(real))
    u = c.input("u", ((rng.integers(-8, 9, 7) + 1j * rng.integers(-8, 9, 7)) / 4).astype(complex_))
    i = c.input("i", rng.integers(-9, 10, 8).astype(np.int16 if real is np.float32 else np.int32))
    j = c.input("j", rng.integers(-9, 10, 4).astype(i.dtype))

    def case(text, value):
        value = np.asarray(value)
        c.case(text, value.astype(complex_ if value.dtype.kind == "c" else real))

    f = np.fft
    for name in ("fft", "ifft"):
        run = getattr(f, name)
        case("mw.fft.%s(z)" % name, run(z))
        case("mw.fft.%s(x)" % name, run(x))
        for axis in range(3):
            case("mw.fft.%s(z, { axis = %d })" % (name, axis + 1), run(z, axis=axis))
        for norm in ("backward", "ortho", "forward"):
            case("mw.fft.%s(z, { axis = -2, norm = '%s' })" % (name, norm), run(z, axis=-2, norm=norm))
        case("mw.fft.%s(z, 4)" % name, run(z, 4))
        case("mw.fft.%s(z, { n = 9, axis = 2 })" % name, run(z, 9, 1))
        case("mw.fft.%s(z:transpose(1, 3):flip(2))" % name, run(z.transpose(2, 1, 0)[:, ::-1]))
    for norm in ("backward", "ortho", "forward"):
        case("mw.fft.rfft(x, { norm = '%s' })" % norm, f.rfft(x, norm=norm))
        case("mw.fft.rfft(e, { norm = '%s' })" % norm, f.rfft(e, norm=norm))
        case("mw.fft.irfft(z, { norm = '%s' })" % norm, f.irfft(z, norm=norm))
    for n in (1, 2, 5, 8, 11):
        case("mw.fft.rfft(e, { n = %d, axis = 2 })" % n, f.rfft(e, n, 1))
        case("mw.fft.irfft(z, %d)" % n, f.irfft(z, n))
    case("mw.fft.irfft(z, { axis = 1 })", f.irfft(z, axis=0))
    case("mw.fft.irfft(x)", f.irfft(x))
    for name in ("fft2", "ifft2", "fftn", "ifftn"):
        case("mw.fft.%s(z)" % name, getattr(f, name)(z))
    case("mw.fft.fft2(x, { norm = 'ortho' })", f.fft2(x, norm="ortho"))
    case("mw.fft.fftn(z, { axes = { 1, 3 }, shape = { 4, 5 } })", f.fftn(z, (4, 5), (0, 2)))
    for name in ("rfft2", "rfftn"):
        case("mw.fft.%s(e)" % name, getattr(f, name)(e))
    for name in ("irfft2", "irfftn"):
        case("mw.fft.%s(z)" % name, getattr(f, name)(z))
    case("mw.fft.irfft2(z, { shape = { 4, 9 } })", f.irfft2(z, (4, 9)))
    case("mw.fft.fftshift(x)", f.fftshift(x))
    case("mw.fft.ifftshift(x, 2)", f.ifftshift(x, 1))
    case("mw.fft.fftshift(z, { 1, 3 })", f.fftshift(z, (0, 2)))
    if real is np.float64:
        for n in (1, 4, 5):
            case("mw.fft.fftfreq(%d, 0.5)" % n, f.fftfreq(n, 0.5))
            case("mw.fft.rfftfreq(%d)" % n, f.rfftfreq(n))
    for mode in ("full", "same", "valid"):
        option = "'%s'" % mode
        for p, q, left, right in (("v", "w", v, w), ("w", "v", w, v), ("u", "u", u, u), ("v", "u", v, u)):
            case("mw.convolve(%s, %s, %s)" % (p, q, option), np.convolve(left, right, mode))
            case("mw.correlate(%s, %s, %s)" % (p, q, option), np.correlate(left, right, mode))
        c.case("mw.convolve(i, j, %s)" % option, np.convolve(i, j, mode))
        c.case("mw.correlate(j, i, %s)" % option, np.correlate(j, i, mode))
    full = np.zeros((5, 7), real)
    for r in range(2):
        for s in range(3):
            full[r:r + 4, s:s + 5] += k[r, s] * x
    case("mw.convolve(x, k)", full)
    case("mw.convolve(x, k, { mode = 'same' })", full[0:4, 1:6])
    case("mw.convolve(k, x, { mode = 'valid' })", full[1:4, 2:5])
    c.write(path, "complex/fft.py")


file("spec/data/arrays/complex/fft_float.lua", np.float32, np.complex64)
file("spec/data/arrays/complex/fft_double.lua", np.float64, np.complex128)
