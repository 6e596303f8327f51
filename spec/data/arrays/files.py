"""python3 spec/data/arrays/files.py: NumPy's files of every kind that moonwarp reads, and of those that it refuses."""
import os
import numpy as np

files = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
dtypes, forms = files + "/dtypes/", files + "/forms/"
a = np.array([[0, 1, 2], [3, 4, 100]])
for t in "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split():
    np.save(dtypes + t + ".npy", a.astype("<" + t))
for t in "i2 f4 f8 i8".split():
    np.save(forms + "big_" + t + ".npy", a.astype(">" + t))
np.save(forms + "fortran.npy", np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)))
np.save(forms + "number.npy", np.float64(2.5))
np.save(forms + "empty.npy", np.zeros((0, 3), "u1"))
np.save(forms + "structured.npy", np.zeros(3, [("x", "f4"), ("y", "i4")]))
np.save(forms + "objects.npy", np.array([None, 1], object), allow_pickle=True)
np.save(forms + "strings.npy", np.array(["ab", "c"]))
np.savez(forms + "stored.npz", x=a.astype("f4"), y=np.arange(3))
np.savez_compressed(forms + "deflated.npz", x=a.astype("f4"), y=np.zeros(5000, "i2"))
