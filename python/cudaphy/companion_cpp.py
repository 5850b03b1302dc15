# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of GNU Radio Companion's blocks as C++, for the flowgraphs in C++ that it writes.

The cpp_templates of the blocks call these functions with a parameter as a template sees it: its text, and when called
its value. GNU Radio copies the text, which is Python. Here a text stays as it is, with the names of variables in it, if
C++ reads it alike; else the value takes its place, as it is when Companion writes the program.

The variables LDPC Code, BCH Code, FDTD Scene and NR Shared Channel are two members in C++: the variable itself is a text, because
Companion can declare nothing else, and the object has the variable's name with _object behind it.
"""

import ast
import math
import numbers

import numpy as np

_KERNELS = "gr::cudaphy::kernels::"
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}  # that Python and C++ share
_SIGNS = {ast.UAdd: "+", ast.USub: "-"}
_KINDS = {"soft", "hard", "current"}  # of a source
_AXES = "xyz"
_OBJECTS = ("ldpc_code", "bch_code", "fdtd_scene", "nr_shared_channel")


class _differs(Exception):
    """An expression that C++ does not read as Python does."""


def _block(given):
    return given._param.parent_block


def _variables(given):
    """Names that are members of the program in C++."""
    return {
        block.name
        for block in _block(given).parent_flowgraph.iter_enabled_blocks()
        if block.is_variable or block.key == "parameter"
    }


def literal(value):
    """A number, bool, complex number or text as C++. Raises ValueError for another value."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return repr(float(value))
    if isinstance(value, numbers.Complex) and np.isfinite(complex(value)):
        return f"gr_complex({float(value.real)!r}f, {float(value.imag)!r}f)"
    if isinstance(value, str):
        escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
        return '"' + "".join(escapes.get(one, one) for one in value) + '"'
    raise ValueError(f"{value!r} can't be written in C++")


def _same(node, names):
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return literal(node.value)
    if isinstance(node, ast.Name) and node.id in names:
        return node.id
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)] + _same(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = _same(node.left, names), _same(node.right, names)
        return f"({sides[0]} {_OPERATORS[type(node.op)]} {sides[1]})"
    raise _differs


def number(given):
    """A parameter that is a number or a bool: its expression if C++ reads it alike, else its value."""
    try:
        tree = ast.parse(str(given).strip(), mode="eval")
        return _same(tree.body, _variables(given))
    except (_differs, SyntaxError, ValueError):
        return literal(given())


def text(given):
    """A parameter that is a text: the variable that it names, else the text itself."""
    name = str(given).strip()
    return name if name in _variables(given) else literal(str(given()))


def _braces(parts):
    inside = ", ".join(parts)
    return f"{{ {inside} }}" if inside else "{}"


def vector(values):
    """Numbers in braces; None has none of them."""
    return _braces(map(literal, () if values is None else values))


def complexes(values):
    """Complex numbers in braces, of any shape, the last axis fastest."""
    flat = np.asarray(values, np.complex64).ravel().tolist()
    return _braces(f"{{ {one.real!r}f, {one.imag!r}f }}" for one in flat)


def _object(given, name):
    block = _block(given)
    kinds = {f"variable_cudaphy_{kind}" for kind in _OBJECTS}
    for one in block.parent_flowgraph.iter_enabled_blocks():
        if one.name == name and one.key in kinds:
            return f"this->{name}_object"
    raise ValueError(
        f'{block.name}: "{name}" is no ID of a block LDPC Code, BCH Code, FDTD Scene or NR Shared Channel; '
        "C++ takes these alone"
    )


def code(given):
    """The object of the variable that a parameter names. Raises ValueError if it names none."""
    return _object(given, str(given).strip())


def objects(given):
    """The objects of the variables that a parameter names, one or a list, in braces."""
    tree = ast.parse(str(given).strip(), mode="eval").body
    several = isinstance(tree, (ast.List, ast.Tuple))
    names = [ast.unparse(one) for one in (tree.elts if several else [tree])]
    return _braces(_object(given, name) for name in names)


def codes(given):
    """Further codes of a block, {name, code} each: a dictionary from names to variables, or a list of variables."""
    if not given():
        return "{}"
    tree = ast.parse(str(given).strip(), mode="eval").body
    if isinstance(tree, ast.Dict):
        pairs = zip((literal(ast.literal_eval(one)) for one in tree.keys), tree.values)
    elif isinstance(tree, (ast.List, ast.Tuple)):
        pairs = ((None, one) for one in tree.elts)
    else:
        raise ValueError(f"{_block(given).name}: C++ takes {{...}} or [...] of codes")
    made = []
    for name, value in pairs:
        one = _object(given, ast.unparse(value))
        made.append(f"{{ {name or one + '->name()'}, {one} }}")
    return _braces(made)


def pilots(given, target):
    """Statements that put pilots, an array or a pilot_pattern, into channel_estimator::parameters `target`."""
    value = given()
    if hasattr(value, "tone_numbers"):
        lines = [
            f"{target}.pilots = {complexes(value.pilots)};",
            f"{target}.pilots_by_tone = true;",
            f"{target}.tone_numbers = {vector(value.tone_numbers)};",
            f"{target}.group_symbols = {literal(value.group_symbols)};",
        ]
    else:
        by_tone = literal(np.ndim(value) == 3)
        lines = [
            f"{target}.pilots = {complexes(value)};",
            f"{target}.pilots_by_tone = {by_tone};",
        ]
    return "\n    ".join(lines)


def constellations(given):
    """Further constellations: a list of names or constellations, or a dictionary from names to them."""
    value = given() or ()
    named = value.items() if isinstance(value, dict) else ((None, one) for one in value)
    return _braces(constellation(one, name) for name, one in named)


def constellation(value, name=None):
    """A constellation of a name, or one of cudaphy.constellation with all that it has."""
    if not isinstance(value, str):
        called = literal(value.name if name is None else name)
        bits, points = literal(value.bits), complexes(value.points)
        return f"{_KERNELS}constellation{{ {called}, {bits}, {points} }}"
    made = f"{_KERNELS}constellation::make({literal(value)})"
    if name is None:
        return made
    return f"[] {{ auto one = {made}; one.name = {literal(name)}; return one; }}()"


def sparse(matrix, element):
    """A matrix, as cudaphy.sparse_matvec() takes it, as sparse_matrix<element>."""
    from .sparse import matrix_arguments, matrix_of

    is_complex = element == "complex"
    rows, columns, start, column, value = matrix_arguments(
        matrix_of(matrix), np.complex64 if is_complex else np.float32
    )
    entries = complexes(value) if is_complex else vector(value.tolist())
    element = "gr_complex" if is_complex else "float"
    return (
        "[] {\n"
        f"    const std::vector<int64_t> start = {vector(start.tolist())};\n"
        f"    const std::vector<int64_t> column = {vector(column.tolist())};\n"
        f"    const std::vector<{element}> value = {entries};\n"
        f"    return {_KERNELS}sparse_matrix<{element}>::from_crs(\n"
        f"        {rows}, {columns}, {{ start.data(), start.size() }},\n"
        "        { column.data(), column.size() }, { value.data(), value.size() });\n"
        "}()"
    )


def _place(position):
    cell = [int(n) for n in np.atleast_1d(position)]
    return vector(cell + [0] * (3 - len(cell)))


def _material(eps_r=1.0, mu_r=1.0, sigma=0.0, debye=(), conductor=False, replace=False):
    poles = _braces(vector(pole) for pole in debye)
    numbers_of = ", ".join(literal(float(one)) for one in (eps_r, mu_r, sigma))
    material = f"{{ {numbers_of}, {poles}, {literal(bool(conductor))} }}"
    return f"{material}, {literal(bool(replace))}"


def _port(cell, component, resistance=50.0, driven=True):
    at = f"{literal(component)}, {_place(cell)}"
    return f"{at}, {literal(float(resistance))}, {literal(bool(driven))}"


def _source(cell, component, kind="soft"):
    if kind not in _KINDS:
        raise ValueError(f'a source of kind "{kind}", must be soft, hard or current')
    of_kind = f"{_KERNELS}fdtd_source_kind::{kind}"
    return f"{literal(component)}, {_place(cell)}, {of_kind}"


def scene(
    cells,
    spacing,
    boundary,
    boxes=(),
    conductors=(),
    ports=(),
    sources=(),
    probes=(),
    courant=1.0,
    mode="tm",
):
    """An fdtd_grid with all that stands in it, from the arguments of cudaphy.fdtd_scene()."""
    from .fdtd import grid_arguments

    counts, steps, faces = grid_arguments(cells, spacing, boundary)
    sides = [_braces(f"{_KERNELS}fdtd_boundary::{one}" for one in pair) for pair in faces]
    calls = [
        f"add_box({_place(low)}, {_place(high)}, {_material(**material)})"
        for low, high, material in boxes
    ]
    calls += [f"add_conductor({_place(low)}, {_place(high)})" for low, high in conductors]
    calls += [f"add_port({_port(*one)})" for one in ports]
    calls += [f"add_source({_source(*one)})" for one in sources]
    calls += [
        f"add_probe({literal(component)}, {_place(cell)})" for cell, component in probes
    ]
    lines = [
        f"{_KERNELS}fdtd_grid::parameters p{{}};",
        f"p.cells = {vector(counts)};",
        f"p.spacing = {_braces(vector(one.tolist()) for one in steps)};",
        # One pair of braces for std::array, and one for the array in it.
        f"p.boundary = {_braces(f'{{ {one} }}' for one in sides)};",
        f"p.mode = {literal(mode)};",
        f"p.courant = {literal(float(courant))};",
        f"{_KERNELS}fdtd_grid grid(p);",
        *(f"grid.{call};" for call in calls),
        "return grid;",
    ]
    return "[] {\n" + "".join(f"    {line}\n" for line in lines) + "}()"


def plane(given, grid):
    """The elements of a plane of a grid, from the parameters of FDTD Channel."""
    value = given()
    if value is None or not len(value):
        return "{}"
    if not isinstance(value[0], str):
        return vector(np.asarray(value).ravel().tolist())
    component, axis, position = (*value, *("z", 0)[len(value) - 1 :])
    axis = _AXES.index(axis) if isinstance(axis, str) else axis
    return f"{grid}.plane({literal(component)}, {literal(axis)}, {literal(position)})"
