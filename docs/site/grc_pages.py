# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each block of GNU Radio Companion, from grc/*.block.yml."""

import yaml

from plain_text import escaped, to_rst


def heading(text, line):
    return [text, line * len(text), ""]


def table(head, rows):
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            lines.append(("   * - " if number == 0 else "     - ") + (cell or "\\ "))
    return [*lines, ""]


def code(value):
    text = str(value)
    return f"``{text}``" if text.strip() == text and text else "empty"


def values(parameter):
    """The options of a parameter with their labels; its type if it has none."""
    options = parameter.get("options", [])
    labels = parameter.get("option_labels", options)
    if not options:
        return escaped(parameter["dtype"])
    named = [
        code(value) if str(value) == str(label) else f"{code(value)} ({escaped(label)})"
        for value, label in zip(options, labels)
    ]
    return ", ".join(named)


def parameter_row(parameter):
    options = parameter.get("options", [None])
    default = parameter.get("default", options[0])
    return [
        escaped(parameter["label"]),
        code(parameter["id"]),
        values(parameter),
        "" if default is None else code(default),
        escaped(parameter.get("category", "General")),
    ]


def port_row(direction, port):
    if port["domain"] == "message":
        return [direction, code(port["id"]), "message"]
    kind = str(port["dtype"])
    if "vlen" in port:
        kind += f", vector of {port['vlen']}"
    name = escaped(str(port.get("label", port.get("id", ""))))
    return [direction, name, code(kind)]


def page(block):
    lines = heading(escaped(block["label"]), "=")
    lines += [f"{code(block['id'])} in {escaped(block['category'])}", ""]
    lines += to_rst(block["documentation"].splitlines())
    if block.get("parameters"):
        lines += heading("Parameters", "-")
        lines += table(
            ["Label", "Name", "Values", "Default", "Tab"],
            [parameter_row(one) for one in block["parameters"]],
        )
    ports = [port_row("in", one) for one in block.get("inputs", [])]
    ports += [port_row("out", one) for one in block.get("outputs", [])]
    if ports:
        lines += heading("Ports", "-") + table(["", "Port", "Items"], ports)
    return "\n".join(lines)


def write(grc, folder):
    """Pages of all blocks, and an index by their categories."""
    folder.mkdir(parents=True)
    categories = {}
    for path in sorted(grc.glob("*.block.yml")):
        block = yaml.safe_load(path.read_text())
        (folder / f"{block['id']}.rst").write_text(page(block))
        category = block["category"].split("/", 1)[-1]
        categories.setdefault(category, []).append((block["label"], block["id"]))
    lines = heading("Blocks in GNU Radio Companion", "=")
    for category in sorted(categories):
        lines += [".. toctree::", f"   :caption: {category}", "   :maxdepth: 1", ""]
        lines += [f"   {name}" for _, name in sorted(categories[category])] + [""]
    (folder / "index.rst").write_text("\n".join(lines))
