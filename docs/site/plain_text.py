# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain text, such as docstrings and the help of GRC's blocks, as reStructuredText."""

import re
import textwrap


def escaped(text):
    """The text without any mark-up of its own."""
    return re.sub(r"[\\*`|_]", r"\\\g<0>", text)


def to_rst(lines):
    """Paragraphs stay paragraphs; one that is indented becomes a literal block."""
    made = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = textwrap.dedent(paragraph).strip("\n").split("\n")
        if paragraph.startswith((" ", "\t")):
            made += ["::", "", *("    " + row for row in rows), ""]
        elif any(row.startswith(" ") for row in rows):
            # A list: an indented row continues the entry above it.
            made += [
                "| " + escaped(row) if row[0] != " " else "  " + escaped(row)
                for row in rows
            ]
            made.append("")
        else:
            # The backslash keeps "1." and "-" from starting a list.
            made += ["\\ " + escaped(" ".join(row.strip() for row in rows)), ""]
    return made
