#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""write_stubs.py PACKAGE MODULES FOLDER: types of the public Python interface for mypy and for editors.

Imports PACKAGE, gnuradio.cudaphy or cudaphy, from the folder MODULES. Writes cudaphy_python.pyi,
__init__.pyi, nr5g.pyi and py.typed into FOLDER. Types of native functions come from the signatures
that pybind11 puts into docstrings, and keyword-only options from the signature that a docstring adds
to these. Types of Python functions come from the defaults: a name without one, or with one that says
too little, takes anything."""

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path

PACKAGE = sys.argv[1]
NATIVE = f"{PACKAGE}.cudaphy_python"
# Of blocks, and of coders for FEC blocks.
BASES = """
from gnuradio.fec import generic_decoder, generic_encoder
from gnuradio.gr import basic_block, block"""
HEADER = f"""# SPDX-License-Identifier: GPL-3.0-or-later
# Written by cmake/package/write_stubs.py.
import dataclasses
from typing import Any, NoReturn, Optional, Sequence, SupportsFloat, SupportsIndex
from typing import Tuple, Union, overload

import numpy
import numpy.typing{BASES if 'gnuradio' in PACKAGE else ''}

_Array = numpy.typing.NDArray[Any]
_Bool = Union[bool, numpy.bool_]
_Int = SupportsIndex
_Float = Union[SupportsFloat, SupportsIndex]
"""
ARRAY = "numpy.typing.NDArray"
# A name, or an object in its place: a constellation, a code's text, a type of numpy, a file.
NAME_OR_OBJECT = {"constellation", "dtype", "datatype", "file", "boundary"}
# float and int are typed by what may be given for them, and by what comes back.
GIVEN = {"int": "_Int", "float": "_Float", "bool": "_Bool", "complex": "complex"}
PLAIN = {"str": "str", "None": "None", "bytes": "bytes"}
# pybind11 3 writes a number as a union of these and SupportsIndex; the first of them that is there says which.
NUMBERS = {"SupportsInt": "int", "SupportsComplex": "complex", "SupportsFloat": "float"}
LISTS = {"List", "list", "Sequence", "Tuple", "tuple", "Set", "set", "Iterable"}


class unreadable(Exception):
    """A signature that this program cannot read."""


def union_parts(node):
    """The types that `|` joins. Those that stand for a number are its name."""
    parts = [node]
    while isinstance(parts[0], ast.BinOp):
        parts[:1] = [parts[0].left, parts[0].right]
    names = [ast.unparse(part).rpartition(".")[2] for part in parts]
    numbers = [NUMBERS[name] for name in NUMBERS if name in names]
    rest = [
        part
        for part, name in zip(parts, names)
        if name not in {*NUMBERS, "SupportsIndex"}
    ]
    return [ast.Name(numbers[0]), *rest] if numbers else parts


def type_name(node, given):
    """The type of pybind11's annotation, given or returned, as it stands in a stub."""
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.BinOp):
        parts = [type_name(part, given) for part in union_parts(node)]
        return f"Union[{', '.join(parts)}]" if parts[1:] else parts[0]
    inside = node.slice if isinstance(node, ast.Subscript) else None
    name = ast.unparse(node.value if inside is not None else node)
    last = name.rpartition(".")[2]
    if last == "Annotated":
        return type_name(inside.elts[0], given)
    if last in ("ndarray", "NDArray", "ArrayLike"):
        return array_name(inside, given)
    if name.startswith(f"{NATIVE}."):
        return last
    if inside is None:
        last = NUMBERS.get(last, last)
        if given and last in GIVEN:
            return GIVEN[last]
        known = {**PLAIN, "int": "int", "float": "float", "bool": "bool"}
        known |= {
            "complex": "complex",
            "dict": "dict[str, Any]",
            "Dict": "dict[str, Any]",
        }
        known |= {"list": "list[Any]", "tuple": "tuple[Any, ...]"}
        return known.get(last, "Any")
    if last == "Optional":
        return f"Optional[{type_name(inside, given)}]"
    if last in LISTS:
        return list_name(last, inside, given)
    if last == "Union":
        return f"Union[{', '.join(type_name(part, given) for part in inside.elts)}]"
    if isinstance(inside, ast.Constant) and isinstance(inside.value, int):  # std::array
        return f"{'Sequence' if given else 'list'}[{type_name(node.value, given)}]"
    return "Any"


def array_name(inside, given):
    if given:
        return "numpy.typing.ArrayLike"
    element = ast.unparse(inside) if inside is not None else "Any"
    return f"{ARRAY}[{'numpy.bool_' if element == 'bool' else element}]"


def list_name(name, inside, given):
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name.lower() == "tuple":
        return f"Tuple[{', '.join(type_name(part, given) for part in parts)}]"
    element = type_name(parts[0], given)
    return f"Union[Sequence[{element}], _Array]" if given else f"list[{element}]"


def from_default(name, value):
    """The type of an argument whose default is this value."""
    if isinstance(value, bool):
        return "_Bool"
    if isinstance(value, (int, float)):
        return "_Float"
    return "str" if isinstance(value, str) and name not in NAME_OR_OBJECT else "Any"


def literal(value):
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain else "..."


def parsed(signature):
    """The function of a line such as "f(a: int = 3) -> str"."""
    signature = re.sub(r"<[^>]*>", "...", signature)
    if "->" not in signature:
        signature += " -> object"
    try:
        return ast.parse(f"def {signature}: ...").body[0]
    except SyntaxError as failure:
        raise unreadable(signature) from failure


def options(function, text):
    """The keyword-only options that the signature in a docstring's text names."""
    line = re.search(rf"^(?:\w+\.)?({function}\(.*\*, .*\))$", text, re.MULTILINE)
    if not line:
        return None
    arguments = parsed(line.group(1)).args
    found = []
    for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        value = ast.literal_eval(default)
        kind = from_default(name.arg, value)
        kind = kind if kind == "Any" else f"Optional[{kind}]"
        found.append(f"{name.arg}: {kind} = {literal(value)}")
    return found


def native_arguments(function, name, text, bound):
    """Arguments of a parsed signature. `bound`: the first is self."""
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    made = []
    for index, (argument, default) in enumerate(zip(positional, defaults)):
        if bound and index == 0:
            made.append("self")
            continue
        kind = type_name(argument.annotation, True) if argument.annotation else "Any"
        value = "" if default is None else f" = {ast.unparse(default)}"
        unnamed = re.fullmatch(r"arg\d+", argument.arg)
        made.append(f"{'__' if unnamed else ''}{argument.arg}: {kind}{value}")
        if index + 1 == len(arguments.posonlyargs):
            made.append("/")
    if arguments.vararg:
        made.append("*args: Any")
    if arguments.kwarg:
        known = options(name, text)
        made += ["*", *known] if known else ["**kwargs: Any"]
    return ", ".join(made)


def native_signatures(thing):
    """[(parsed signature, text below it)] of a native function's docstring."""
    text = inspect.getdoc(thing) or ""
    if "\nOverloaded function." in text:
        parts = re.split(r"^\d+\. (?=\w+\()", text, flags=re.MULTILINE)[1:]
    else:
        parts = [text]
    found = []
    for part in parts:
        line, _, below = part.partition("\n")
        if not re.match(r"\w+\(", line):
            raise unreadable(line)
        found.append((parsed(line), below.strip()))
    return found


def quoted(text):
    return (
        "r" + '"""' + text.replace('"""', "'''") + ('"""' if text[-1:] != '"' else ' """')
    )


def function_text(name, arguments, returned, text, decorators=()):
    lines = [*decorators, f"def {name}({arguments}) -> {returned}:"]
    body = [quoted(text)] if text else ["..."]
    return "\n".join(lines) + "\n" + textwrap.indent("\n".join(body), "    ") + "\n"


def native_function(name, thing, owner=None, decorators=()):
    """Stub of a native function, or of a method of the class `owner` and its docstring."""
    bound = owner is not None and "@staticmethod" not in decorators
    try:
        signatures = native_signatures(thing)
    except unreadable as line:  # of a pybind11 that writes them in another way
        print(f"write_stubs.py: {name} has no types: {line}", file=sys.stderr)
        anything = "*args: Any, **kwargs: Any"
        arguments = f"self, {anything}" if bound else anything
        return function_text(name, arguments, "Any", "", decorators)
    called = owner.__name__ if name == "__init__" else name
    known = inspect.getdoc(owner) or "" if owner else ""
    overloads = ["@overload"] if len(signatures) > 1 else []
    made = []
    for function, text in signatures:
        if name == "__eq__":
            arguments, returned = "self, other: object", "bool"
        else:
            arguments = native_arguments(function, called, f"{text}\n{known}", bound)
            returned = type_name(function.returns, False)
        if name == "__hash__":
            arguments, returned = "self", "int"
        made.append(
            function_text(name, arguments, returned, text, [*decorators, *overloads])
        )
    return "".join(made)


def base_names(kind):
    """Bases of a native class, as a stub says them. A block of GNU Radio is a basic_block, too."""
    names = [base.__name__ for base in kind.__bases__]
    names = [name for name in names if name not in ("pybind11_object", "object")]
    if "block" in names:
        names.remove("basic_block")
    return f"({', '.join(names)})" if names else ""


def native_property(name, member):
    try:
        returned = type_name(native_signatures(member.fget)[0][0].returns, False)
    except unreadable:
        returned = "Any"
    made = function_text(name, "self", returned, inspect.getdoc(member), ["@property"])
    if member.fset:
        made += function_text(name, "self, value: Any", "None", "", [f"@{name}.setter"])
    return made


def native_class(name, kind):
    body = quoted(inspect.getdoc(kind)) + "\n" if kind.__doc__ else ""
    for member_name, member in vars(kind).items():
        if isinstance(member, property):
            body += native_property(member_name, member)
        elif isinstance(member, staticmethod):
            body += native_function(member_name, member.__func__, kind, ["@staticmethod"])
        elif callable(member) and re.match(r"\w+\(", member.__doc__ or ""):
            body += native_function(member_name, member, kind)
    if "def __init__(" not in body and not issubclass(kind, Exception):
        body += "def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...\n"
    return f"class {name}{base_names(kind)}:\n{textwrap.indent(body or '...', '    ')}\n"


def native_module(module):
    made = HEADER + "\n__version__: str\n\n"
    for name, thing in vars(module).items():
        if name.startswith("__"):
            continue
        if isinstance(thing, bool):
            made += f"{name}: bool\n"
            continue
        made += (
            native_class(name, thing)
            if inspect.isclass(thing)
            else native_function(name, thing)
        )
    return made


def python_arguments(function):
    """Arguments and result of a function in Python, by annotations or else by defaults."""
    signature = inspect.signature(function)
    made, names = [], list(signature.parameters.values())
    for index, one in enumerate(names):
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        if one.kind == one.KEYWORD_ONLY and names[index - 1].kind < one.VAR_POSITIONAL:
            made.append("*")
        if index == 0 and one.name in ("self", "cls"):
            made.append(one.name)
            continue
        kind = from_default(one.name, one.default)
        value = "" if one.default is one.empty else f" = {literal(one.default)}"
        made.append(f"{stars}{one.name}: {kind}{value}")
    return ", ".join(made)


def python_function(name, thing, decorators=()):
    returned = "None" if name == "__init__" else "Any"
    text = inspect.getdoc(thing) if name != "__init__" else ""
    return function_text(name, python_arguments(thing), returned, text, decorators)


def attributes(kind):
    """Public names that the methods of a class assign to self."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    return {
        node.attr: None
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and not node.attr.startswith("_")
    }


def python_member(name, member):
    if isinstance(member, property):
        return function_text(name, "self", "Any", inspect.getdoc(member), ["@property"])
    if isinstance(member, (staticmethod, classmethod)):
        kind = type(member).__name__
        return python_function(name, member.__func__, [f"@{kind}"])
    if inspect.isfunction(member):
        return python_function(name, member)
    return f"{name}: Any\n"


def field(one):
    """A field of a dataclass."""
    kind = getattr(one.type, "__name__", one.type)
    value = "" if one.default is dataclasses.MISSING else f" = {literal(one.default)}"
    return f"{one.name}: {kind}{value}\n"


def python_class(name, kind):
    """A class with all that it has of classes of this package. Its other bases are GNU Radio's."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith(PACKAGE)]
    bases = {base for one in ours for base in one.__bases__} - {*ours, object}
    members = {}
    for one in reversed(ours):
        members |= {each: None for each in attributes(one)} | {
            each: None for each in getattr(one, "__annotations__", {})
        }
        members |= {
            each: member
            for each, member in vars(one).items()
            if each in ("__init__", "__call__", "__enter__", "__exit__", "__len__")
            or not each.startswith("_")
        }
    body, decorator = quoted(inspect.getdoc(kind)) + "\n" if kind.__doc__ else "", ""
    if dataclasses.is_dataclass(kind):  # mypy makes the rest of it
        decorator = "@dataclasses.dataclass\n"
        fields = dataclasses.fields(kind)
        body += "".join(map(field, fields))
        for each in ("__init__", *(one.name for one in fields)):
            members.pop(each, None)
    body += "".join(python_member(each, member) for each, member in members.items())
    base = "(basic_block)" if bases else ""
    return f"{decorator}class {name}{base}:\n{textwrap.indent(body or '...', '    ')}\n"


def python_module(module, names):
    """The module's public names, as they are."""
    made = HEADER
    native = [
        name
        for name in names
        if getattr(getattr(module, name), "__module__", "") == NATIVE
    ]
    if native:
        made += "".join(
            f"from .cudaphy_python import {name} as {name}\n" for name in native
        )
    made += "\n"
    for name in names:
        thing = getattr(module, name)
        if name in native:
            continue
        if inspect.ismodule(thing):
            made += f"from . import {name} as {name}\n"
        elif inspect.isclass(thing):
            made += python_class(name, thing)
        elif callable(thing):
            made += python_function(name, thing)
        else:
            made += f"{name}: {type(thing).__name__}\n"
    return made


def main():
    sys.path.insert(0, sys.argv[2])
    folder = Path(sys.argv[3])
    cudaphy = importlib.import_module(PACKAGE)
    cudaphy_python, nr5g = cudaphy.cudaphy_python, cudaphy.nr5g
    own = [
        name
        for name, thing in vars(nr5g).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == nr5g.__name__
    ]
    texts = {
        "cudaphy_python.pyi": native_module(cudaphy_python),
        "__init__.pyi": python_module(cudaphy, cudaphy.__all__)
        + f"\n__all__ = {cudaphy.__all__!r}\n",
        "nr5g.pyi": python_module(nr5g, own),
        "py.typed": "",
    }
    for name, text in texts.items():
        if name.endswith(".pyi"):
            ast.parse(text)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
