#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the manual page of each program, cudaphy_ber.1 and cudaphy_info.1, from its options.

With --check writes nothing, and fails if a page is not what its program would give."""

import argparse
import importlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "cudaphy_ber": "error rates of LDPC codes over white Gaussian noise",
    "cudaphy_info": "what this machine has for gr-cudaphy, and how fast its kernels are",
}
OTHER = {"cudaphy_ber": "cudaphy_info", "cudaphy_info": "cudaphy_ber"}


def escaped(text):
    """Text whose backslashes, minus signs and first characters troff leaves alone."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def value_of(action):
    """How the value of an option is written, such as N, {a,b} or NAME ..."""
    if action.nargs == 0:
        return ""
    name = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else "N"
    )
    return {"+": f"{name} ...", "?": f"[{name}]"}.get(action.nargs, name)


def option(action):
    head = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
    value = value_of(action)
    value = f" \\fI{escaped(value)}\\fR" if value else ""
    text = (action.help or "").replace("%%", "%")
    choices = ", ".join(map(str, action.choices or []))
    if action.metavar and choices not in text:
        text += f"; one of: {choices}"
    return f".TP\n{head}{value}\n{escaped(text)}\n"


def epilog(text):
    """Lines of an epilog: a heading ends with a colon, what is indented is shown as it is."""
    made, shown = "", False
    for line in (text or "").splitlines():
        indented = line.startswith("  ")
        if shown and not indented:
            made += ".EE\n"
        if indented and not shown:
            made += ".EX\n"
        shown = indented
        heading = re.fullmatch(r"(\w[\w ]*):", line)
        status = re.match(r"Exit status: (.*)", line)
        if heading:
            made += f".SH {heading.group(1).upper()}\n"
        elif status:
            made += f".SH EXIT STATUS\n{escaped(status.group(1))}\n"
        else:
            made += f"{escaped(line)}\n" if line else ".PP\n"
    return made + (".EE\n" if shown else "")


def page(name, parser):
    description = parser.description.strip().replace("\n\n", "\n.PP\n")
    made = '.\\" SPDX-License-Identifier: GPL-3.0-or-later\n'
    made += '.\\" Written by apps/man_pages.py.\n'
    made += f'.TH {name.upper()} 1 "" "gr\\-cudaphy" "User Commands"\n'
    made += f".SH NAME\n{name} \\- {escaped(PROGRAMS[name])}\n"
    made += f".SH SYNOPSIS\n.B {name}\n[\\fIoption\\fR ...]\n"
    made += f".SH DESCRIPTION\n{escaped(description).replace(chr(92) + '&.PP', '.PP')}\n"
    made += ".SH OPTIONS\n"
    for group in parser._action_groups:
        if group._group_actions:
            named = group.title not in ("options", "optional arguments")
            made += f".SS {escaped(group.title.capitalize())}\n" if named else ""
            made += "".join(option(action) for action in group._group_actions)
    made += epilog(parser.epilog)
    made += f".SH SEE ALSO\n.BR {OTHER[name]} (1)\n"
    return made


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    check = arguments.parse_args().check
    sys.path.insert(0, str(HERE))
    wrong = []
    for name in PROGRAMS:
        text = page(name, importlib.import_module(name).parser())
        path = HERE / f"{name}.1"
        if check and (not path.exists() or path.read_text() != text):
            wrong.append(path.name)
        if not check:
            path.write_text(text)
    if wrong:
        sys.exit(f"not as the programs are; run apps/man_pages.py: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
