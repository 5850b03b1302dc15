#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""help() of every public function, class and method says how to call it and what it does.

GNU Radio Companion shows the same texts. A docstring that a class has from its base does not
count."""

import inspect
import pydoc
import re
import unittest

from gnuradio import cudaphy, gr

# What GNU Radio calls, and what the guard of blocks in Python adds to a class.
OF_GNU_RADIO = {
    *("start", "stop", "work", "general_work", "forecast", "handle_general_work"),
    *("fail", "set_msg_handler"),
}
SIGNATURE = re.compile(r"^\w+\(.*\) -> .*$")
OVERLOADED = re.compile(r"^\w+\(\*args, \*\*kwargs\)$")


def is_native(thing):
    return getattr(thing, "__module__", "") == "gnuradio.cudaphy.cudaphy_python"


def text_of(thing):
    """A docstring without the signatures that pybind11 writes into it."""
    lines = (thing.__doc__ or "").strip().splitlines()
    if lines and (SIGNATURE.match(lines[0]) or OVERLOADED.match(lines[0])):
        lines = lines[1:]
    return "\n".join(lines).strip()


def public_things():
    """(name, thing) of every public callable of the package and of nr5g."""
    found = [(name, getattr(cudaphy, name)) for name in cudaphy.__all__]
    for name, thing in vars(cudaphy.nr5g).items():
        if getattr(thing, "__module__", "") == cudaphy.nr5g.__name__:
            found.append((f"nr5g.{name}", thing))
    return [
        (name, thing)
        for name, thing in found
        if callable(thing) and not name.rpartition(".")[2].startswith("_")
    ]


def methods(kind):
    """(name, function) of every public method that the class itself has."""
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        if name.startswith("_") or name in OF_GNU_RADIO or not callable(function):
            continue
        yield name, function


def lacks(thing):
    """What help() lacks of a function, a class or a method: a word, or None."""
    if len(text_of(thing).split()) < 2:
        return "a docstring"
    if inspect.isclass(thing):
        made = is_native(thing) and SIGNATURE.match(
            (thing.__init__.__doc__ or "").split("\n")[0]
        )
        overloaded = "Overloaded function." in (thing.__init__.__doc__ or "")
        returned = "Initialize self." in (
            thing.__init__.__doc__ or ""
        )  # by functions only
        if is_native(thing) and not (made or overloaded or returned):
            return "a signature"
    elif is_native(thing) or not hasattr(thing, "__code__"):
        line = (thing.__doc__ or "").strip().split("\n")[0]
        if not (SIGNATURE.match(line) or OVERLOADED.match(line)):
            return "a signature"
    return None


class qa_help(unittest.TestCase):
    def test_every_public_name_has_a_docstring_and_a_signature(self):
        things = public_things()
        self.assertGreater(len(things), 80)
        self.assertEqual(
            [(name, lacks(thing)) for name, thing in things if lacks(thing)], []
        )

    def test_every_public_method_has_a_docstring_and_a_signature(self):
        wrong, read = [], 0
        for name, kind in public_things():
            if inspect.isclass(kind):
                for method, function in methods(kind):
                    read += 1
                    if lacks(function):
                        wrong.append((f"{name}.{method}", lacks(function)))
        self.assertGreater(read, 100)
        self.assertEqual(wrong, [])

    def test_help_shows_every_parameter_of_every_block(self):
        for name, kind in public_things():
            if not (inspect.isclass(kind) and issubclass(kind, (gr.basic_block,))):
                continue
            shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)
            line = (kind.__init__.__doc__ or "").split("\n")[0]
            for parameter in re.findall(r"[(,] (\w+):", line):
                self.assertIn(parameter, shown, name)

    def test_a_name_without_text_or_signature_is_found(self):
        def undocumented():
            pass

        class documented:
            """Says what it is."""

        self.assertEqual(lacks(undocumented), "a docstring")
        self.assertIsNone(lacks(documented))
        self.assertEqual(lacks(type("bare", (), {})), "a docstring")


if __name__ == "__main__":
    unittest.main()
