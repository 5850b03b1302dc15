# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix Market files: matrices as text, with each entry in a line of its own."""

import bz2
import gzip
import io
import stat
import zlib
from pathlib import Path

import numpy as np

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open}
_SYMMETRIES = {
    "general": "coordinate array pattern real integer complex",
    "symmetric": "coordinate array pattern real integer complex",
    "skew-symmetric": "coordinate array real integer complex",
    "hermitian": "coordinate array real integer complex",  # real: SciPy writes such
}
_FIELDS = {
    "real": "real",
    "double": "real",
    "integer": "integer",
    "unsigned-integer": "integer",
    "complex": "complex",
    "pattern": "pattern",
}
_NUMBERS = {"real": 1, "integer": 1, "complex": 2, "pattern": 0}  # of an entry
_LARGEST = 2**31 - 1
_LONGEST_LINE = 2**16
_LONGEST_HEADER = 2**20
_CHUNK = 2**22
_FORTRAN = str.maketrans("dD", "eE")  # 1.5D+03


def read_matrix_market(path):
    """Reads a matrix from a Matrix Market file (.mtx, also .gz and .bz2).

    Formats are coordinate and array; fields real, integer, complex and pattern (whose entries are 1); symmetries
    general, symmetric, skew-symmetric and hermitian, of which a file holds one half. Case does not count, comments
    may be indented, and exponents may be Fortran's (1.5D+03). Entries of the same place add up.
    Returns a scipy.sparse matrix in compressed rows, float64 or complex128.
    Raises ValueError that names the file and what is wrong with it: not such a file, truncated, a size that the
    file is too short for, an index out of range, a number that is none, both halves of a symmetric matrix, packed
    to less than a hundredth. OSError where it can't be read.
    """
    path = Path(path)
    try:
        return _read(path)
    except OSError as problem:
        if problem.errno is not None:
            raise
        reason = problem  # times the bytes of a packed file
    except (
        ValueError,
        OverflowError,
        EOFError,
        MemoryError,
        zlib.error,
    ) as problem:
        reason = problem
    name = str(path)
    name = name if len(name) < 300 else "..." + name[-300:]
    text = (str(reason) or type(reason).__name__)[:300]
    raise ValueError(f"{name} is no good Matrix Market file: {text}") from reason


class _bounded:
    """The unpacked bytes of a file, at most as many as its size allows."""

    def __init__(self, file, most):
        self._file, self._left = file, most

    def _taken(self, data):
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("it unpacks to over 100 times its size: unpack it first")
        return data

    def line(self):
        """The next line; empty behind the last."""
        line = self._taken(self._file.readline(_LONGEST_LINE))
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"it has a line of {_LONGEST_LINE} bytes or more")
        return line

    def chunks(self):
        """The rest, as text, in pieces of whole lines."""
        rest = b""
        while data := self._taken(self._file.read(_CHUNK)):
            end = data.rfind(b"\n") + 1
            if not end:
                if len(rest) + len(data) >= _LONGEST_LINE:
                    raise ValueError(f"it has a line of {_LONGEST_LINE} bytes or more")
                rest += data
                continue
            yield (rest + data[:end]).decode("ascii").translate(_FORTRAN)
            rest = data[end:]
        yield rest.decode("ascii").translate(_FORTRAN)


def _read(path):
    import scipy.sparse

    state = path.stat()
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise ValueError("it is no plain file")
    packed = path.suffix in _OPENERS
    most = state.st_size * (100 if packed else 1) + 2**24
    with _OPENERS.get(path.suffix, open)(path, "rb") as opened:
        file = _bounded(opened, most)
        layout, field, symmetry = _banner(file.line())
        shape, count = _size(file, layout, symmetry)
        # An entry has at least two bytes.
        if 2 * count > most:
            raise ValueError(f"{count} entries do not fit the file")
        # Rows and columns take memory, also those without an entry.
        if max(shape) > 2**24 + 64 * state.st_size:
            raise ValueError(
                f"{shape[0]} x {shape[1]} is too large for a file of {state.st_size} bytes"
            )
        if layout == "array" and shape[0] * shape[1] > most:
            raise ValueError(f"{shape[0]} x {shape[1]} numbers do not fit the file")
        places = 2 if layout == "coordinate" else 0
        entries = _entries(file, places + _NUMBERS[field], count)
    values = _values(entries[:, places:], field)
    if places:
        rows, columns = _places(entries, shape)
    else:
        rows, columns = _dense_places(shape, symmetry)
    if symmetry != "general":
        rows, columns, values = _both_halves(rows, columns, values, symmetry)
    return scipy.sparse.csr_matrix((values, (rows, columns)), shape)


def _banner(line):
    words = line.decode("ascii", "replace").lower().split()
    if not words or words[0] != "%%matrixmarket":
        raise ValueError("it does not begin with %%MatrixMarket")
    if len(words) != 5 or words[1] != "matrix":
        raise ValueError(
            "its first line is not %%MatrixMarket matrix, a format, a field and a symmetry"
        )
    layout, field, symmetry = words[2], _FIELDS.get(words[3]), words[4]
    if layout not in ("coordinate", "array"):
        raise ValueError(f"its format {layout!r} is neither coordinate nor array")
    if field is None:
        raise ValueError(f"its field {words[3]!r} is none of {', '.join(_FIELDS)}")
    if symmetry not in _SYMMETRIES:
        raise ValueError(f"its symmetry {symmetry!r} is none of {', '.join(_SYMMETRIES)}")
    allowed = _SYMMETRIES[symmetry].split()
    if field not in allowed or (layout, field) == ("array", "pattern"):
        raise ValueError(f"no {layout} matrix is both {field} and {symmetry}")
    return layout, field, symmetry


def _size(file, layout, symmetry):
    """The numbers of rows, columns and entries."""
    header, line = 0, file.line()
    while line and (not line.strip() or line.lstrip().startswith(b"%")):
        header += len(line)
        if header > _LONGEST_HEADER:
            raise ValueError(f"its comments are longer than {_LONGEST_HEADER} bytes")
        line = file.line()
    words = line.split()
    wanted = 3 if layout == "coordinate" else 2
    digits = all(word.isdigit() and len(word) < 20 for word in words)
    if len(words) != wanted or not digits:
        raise ValueError(f"the line with its size is not of {wanted} whole numbers")
    rows, columns, *given = (int(word) for word in words)
    if max(rows, columns) > _LARGEST:
        raise ValueError(f"{rows} x {columns} is beyond 2147483647")
    if symmetry != "general" and rows != columns:
        raise ValueError(f"it is {symmetry}, but {rows} x {columns} is not square")
    triangle = rows * (rows + (-1 if symmetry == "skew-symmetric" else 1)) // 2
    count = rows * columns if symmetry == "general" else triangle
    return (rows, columns), given[0] if given else count


def _entries(file, width, count):
    """Lines of numbers, float64 (count, width); whole numbers are exact to 2^53."""
    parts, found = [], 0
    for text in file.chunks():
        if not text or text.isspace():
            continue
        try:
            part = np.loadtxt(io.StringIO(text), comments=None, ndmin=2)
        except ValueError as problem:
            raise ValueError(f"behind entry {found}: {problem}") from None
        if part.shape[1] != width:
            raise ValueError(f"behind entry {found}: a line is not of {width} numbers")
        found += len(part)
        if found > count:
            raise ValueError(f"it has more entries than the {count} that it claims")
        parts.append(part)
    if found < count:
        raise ValueError(f"it ends after {found} of {count} entries")
    return np.concatenate(parts) if parts else np.zeros((0, width))


def _values(numbers, field):
    if field == "pattern":
        return np.ones(len(numbers))
    if field == "complex":
        return np.ascontiguousarray(numbers).view(np.complex128)[:, 0]
    values = numbers[:, 0]
    if field == "integer":
        bad = ~(np.isfinite(values) & (values == np.trunc(values)))
        if bad.any():
            raise ValueError(f"entry {int(bad.argmax()) + 1} is no whole number")
    return values


def _places(entries, shape):
    """Rows and columns from 0 on."""
    out = []
    for index, name, size in zip(entries.T, ("row", "column"), shape):
        good = (index >= 1) & (index <= size) & (index == np.trunc(index))
        if not good.all():
            first = int(good.argmin())
            raise ValueError(
                f"entry {first + 1}: {name} {index[first]:g} is not in 1 to {size}"
            )
        out.append(index.astype(np.int64) - 1)
    return out


def _dense_places(shape, symmetry):
    """Reads column after column; the lower half of a symmetric matrix."""
    if symmetry == "general":
        columns, rows = np.divmod(np.arange(shape[0] * shape[1]), max(shape[0], 1))
        return rows, columns
    columns, rows = np.triu_indices(shape[0], 1 if symmetry == "skew-symmetric" else 0)
    return rows, columns


def _both_halves(rows, columns, values, symmetry):
    """Adds the other half to the half that a file holds."""
    diagonal, above = rows == columns, rows < columns
    below = rows > columns
    if above.any() and below.any():
        key = np.minimum(rows, columns) * (_LARGEST + 1) + np.maximum(rows, columns)
        if np.intersect1d(key[above], key[below]).size:
            raise ValueError(f"it is {symmetry}, but holds both halves of its matrix")
    if symmetry == "skew-symmetric" and values[diagonal].any():
        raise ValueError("it is skew-symmetric, but its diagonal is not 0")
    if symmetry == "hermitian" and values[diagonal].imag.any():
        raise ValueError("it is hermitian, but its diagonal is not real")
    others = values[~diagonal]
    if symmetry == "skew-symmetric":
        others = -others
    elif symmetry == "hermitian":
        others = others.conj()
    return (
        np.concatenate((rows, columns[~diagonal])),
        np.concatenate((columns, rows[~diagonal])),
        np.concatenate((values, others)),
    )
