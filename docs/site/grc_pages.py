# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each block of GNU Radio Companion: its picture, and what grc/*.block.yml, the docstring of the Python
module, the table of tags in docs/conventions.md and the examples say of it."""

import inspect
import re
from pathlib import Path

import block_picture
import companion
import yaml
from gnuradio import cudaphy

from plain_text import escaped, to_rst

ROOT = Path(__file__).resolve().parents[2]
TYPES = {
    "int": "whole number",
    "real": "number",
    "bool": "yes or no",
    "string": "text",
    "enum": "choice",
    "raw": "Python",
    "int_vector": "whole numbers",
    "real_vector": "numbers",
    "complex_vector": "complex numbers",
    "file_open": "file",
    "file_save": "file",
}
ITEMS = {
    "complex": "complex float (8 bytes)",
    "float": "float (4 bytes)",
    "byte": "byte",
}
# The page of docs/design that says how a block works; the others stand on the runtime alone.
DESIGN = {
    "cudaphy_array_covariance": "symmetric_inverse",
    "cudaphy_bb_deframer": "dvbs2_receiver",
    "cudaphy_bch_decoder": "bch",
    "cudaphy_bch_encoder": "bch",
    "cudaphy_dvbs2_frame_sync": "dvbs2_frame_sync",
    "cudaphy_dvbs2_receiver": "dvbs2_receiver",
    "cudaphy_fdtd_channel": "fdtd_and_sparse",
    "cudaphy_ldpc_decoder": "ldpc_decoder",
    "cudaphy_ldpc_decoder_pdu": "ldpc_decoder",
    "cudaphy_ldpc_encoder": "ldpc_codes",
    "cudaphy_ldpc_encoder_pdu": "ldpc_codes",
    "cudaphy_matrix_inverse": "inverse",
    "cudaphy_mimo_channel_estimator": "estimator_and_equalizer",
    "cudaphy_mimo_equalizer": "estimator_and_equalizer",
    "cudaphy_mimo_receiver": "mimo_receiver",
    "cudaphy_mvdr_weights": "symmetric_inverse",
    "cudaphy_nr_ofdm_demodulator": "nr_shared_channels",
    "cudaphy_nr_ofdm_modulator": "nr_shared_channels",
    "cudaphy_nr_pdsch_receiver": "nr_receivers",
    "cudaphy_nr_pdsch_transmitter": "nr_shared_channels",
    "cudaphy_nr_pusch_receiver": "nr_receivers",
    "cudaphy_nr_pusch_transmitter": "nr_shared_channels",
    "cudaphy_soft_demapper": "soft_demapper",
    "cudaphy_sparse_matvec": "fdtd_and_sparse",
    "cudaphy_symbol_sync": "symbol_sync",
    "cudaphy_symmetric_inverse": "symmetric_inverse",
    "cudaphy_triangular_inverse": "triangular_inverse",
    "variable_cudaphy_bch_code": "bch",
    "variable_cudaphy_fdtd_scene": "fdtd_and_sparse",
    "variable_cudaphy_ldpc_code": "ldpc_codes",
    "variable_cudaphy_ldpc_decoder_def": "ldpc_decoder",
    "variable_cudaphy_ldpc_encoder_def": "ldpc_codes",
    "variable_cudaphy_nr_shared_channel": "nr_shared_channels",
}
TAG_ROW = re.compile(r"^\| (`.*) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)


def heading(text, line):
    return [text, line * len(text), ""]


def table(head, rows):
    used = [any(row[i] for row in rows) for i in range(len(head))]
    head, *rows = ([c for c, u in zip(row, used) if u] for row in [head, *rows])
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            lines.append(("   * - " if number == 0 else "     - ") + (cell or "\\ "))
    return [*lines, ""]


def code(value):
    text = str(value)
    return f"``{text}``" if text.strip() == text and text else "empty"


def expression(value):
    """What a field of the file says without the signs of a template."""
    text = str(value).strip()
    inside = re.fullmatch(r"\$\{(.*)\}", text, re.DOTALL)
    return (inside.group(1) if inside else text).strip()


def values(parameter):
    """The options of a parameter with their labels."""
    options = parameter.get("options", [])
    labels = parameter.get("option_labels", options)
    named = [
        code(value) if str(value) == str(label) else f"{code(value)} ({escaped(label)})"
        for value, label in zip(options, labels)
    ]
    return ", ".join(named)


def parameter_row(parameter, changeable):
    options = parameter.get("options", [None])
    default = parameter.get("default", options[0])
    kind = TYPES.get(parameter["dtype"], parameter["dtype"])
    if parameter["id"] in changeable:
        kind += ", also while it runs"
    return [
        escaped(parameter["label"]),
        code(parameter["id"]),
        escaped(kind),
        "" if default is None else code(default),
        values(parameter),
        escaped(parameter.get("category", "General")),
    ]


def port_row(direction, port):
    name = escaped(str(port.get("label", port.get("id", ""))) or direction)
    items = expression(port["dtype"])
    length = expression(port.get("vlen", 1))
    notes = []
    if "multiplicity" in port:
        notes.append(f"as many as {code(expression(port['multiplicity']))}")
    if port.get("optional"):
        notes.append("need not be connected")
    if "hide" in port:
        notes.append(f"not there if {code(expression(port['hide']))}")
    kind = ITEMS.get(items) or code(items)
    return [direction, name, kind, code(length), "; ".join(notes)]


def message_row(direction, port):
    hidden = f"not there if {code(expression(port['hide']))}" if "hide" in port else ""
    return [direction, code(port["id"]), hidden]


def ports(block):
    sides = (("in", block.get("inputs", [])), ("out", block.get("outputs", [])))
    streams, messages = [], []
    for direction, side in sides:
        for port in side:
            if port["domain"] == "message":
                messages.append(message_row(direction, port))
            else:
                streams.append(port_row(direction, port))
    lines = []
    if streams:
        lines += heading("Ports", "-")
        lines += table(["", "Port", "Items", "Vector length", ""], streams)
    if messages:
        lines += heading("Message ports", "-") + table(["", "Port", ""], messages)
    return lines


def plain(markdown):
    """A cell of the table in Markdown, as reStructuredText."""
    parts = re.split(r"(`[^`]*`)", markdown)
    return "".join(code(p[1:-1]) if p.startswith("`") else escaped(p) for p in parts)


def names(label, cell):
    """Whether a cell names the block, and not one whose name is longer."""
    longer = r"(?! \(PDU\)| Definition|\w)"
    return re.search(rf"\b{re.escape(label)}{longer}", cell) is not None


def tags(label, conventions):
    """Rows of the table of tags that name the block."""
    rows = []
    for tag, value, where, by in TAG_ROW.findall(conventions):
        writers, _, readers = by.partition(", for ")
        reads, writes = names(label, f"{where} {readers}"), names(label, writers)
        if reads or writes:
            direction = "in, out" if reads and writes else "in" if reads else "out"
            rows.append([direction, plain(tag), plain(value), plain(where)])
    return rows


def tag_lines(block, conventions):
    found = tags(block["label"], conventions)
    if any(one["id"] == "length_tag_key" for one in block.get("parameters", [])):
        packets = ["the length tag key", "long or uint64: items in the packet"]
        found.insert(0, ["in, out", *packets, "a packet's first item"])
    if not found:
        return []
    lines = heading("Tags", "-") + table(["", "Tag", "Value", "On"], found)
    return [*lines, "More of tags: :doc:`conventions </conventions>`.", ""]


def flowgraphs():
    """{flowgraph: (its title, ids of the blocks in it)} of all examples."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for path in sorted((ROOT / "examples").rglob("*.grc")):
        data = yaml.load(path.read_text(), loader)
        title = data["options"]["parameters"]["title"]
        found[path] = (title or path.stem, {one["id"] for one in data["blocks"]})
    return found


def example_lines(kind, known):
    using = [(path, title) for path, (title, ids) in known.items() if kind in ids]
    if not using:
        raise SystemExit(f"{kind}: no flowgraph in examples has it")
    lines = heading("Examples", "-")
    for path, title in using:
        place = path.relative_to(ROOT)
        lines.append(f"- :download:`{place} </{place}>`: {escaped(title)}")
    first = using[0][0].relative_to(ROOT)
    return [*lines, "", f"``gnuradio-companion {first}`` opens the first.", ""]


def python_name(block):
    templates = block["templates"]
    text = templates.get("make") or templates["var_make"]
    return re.search(r"cudaphy\.(\w+)", text).group(1)


def cpp_page(name):
    """Doxygen's page of a class in C++, or None."""
    headers = ROOT / "include/gnuradio/cudaphy"
    for folder, space in (("", ""), ("kernels/", "_1_1kernels")):
        header = headers / f"{folder}{name}.h"
        if header.exists() and f"class CUDAPHY_API {name}" in header.read_text():
            return f"../cpp/classgr_1_1cudaphy{space}_1_1{name.replace('_', '__')}.html"
    return None


def cpp_name(block):
    text = block.get("cpp_templates", {})
    text = text.get("declarations", text.get("var_make", ""))
    found = re.search(r"cudaphy::(?:kernels::)?(\w+)(?:::sptr)? \$\{id\}", text)
    return found.group(1) if found else python_name(block)


def link_lines(block):
    name = python_name(block)
    links = [f"`In Python <../python.html#gnuradio.cudaphy.{name}>`__"]
    page = cpp_page(cpp_name(block))
    if page:
        links.append(f"`in C++ <{page}>`__")
    design = DESIGN.get(block["id"])
    if design:
        links.append(f":doc:`how it works </design/{design}>`")
    else:
        links.append(":doc:`how blocks are built </architecture>`")
    language = "C++ and Python" if "cpp" in block["flags"] else "Python"
    return [
        f"{code(block['id'])} in {escaped(block['category'])}; for flowgraphs in {language}.",
        "",
        ", ".join(links) + ".",
        "",
    ]


def page(block, conventions, known):
    """The page as reStructuredText. Its picture stands beside it."""
    changeable = " ".join(block["templates"].get("callbacks", []))
    changeable = set(re.findall(r"\$\{(\w+)\}", changeable))
    shown = [one for one in block.get("parameters", []) if "label" in one]
    lines = heading(escaped(block["label"]), "=")
    lines += [f".. image:: {block['id']}.svg", f"   :alt: {block['label']}", ""]
    lines += link_lines(block) + to_rst(block["documentation"].splitlines())
    if shown:
        lines += heading("Parameters", "-")
        lines += table(
            ["Label", "Name", "Type", "Default", "Values", "Tab"],
            [parameter_row(one, changeable) for one in shown],
        )
    lines += ports(block) + tag_lines(block, conventions)
    lines += example_lines(block["id"], known)
    text = inspect.getdoc(getattr(cudaphy, python_name(block)))
    return "\n".join(lines + heading("In Python", "-") + to_rst(text.splitlines()))


def write(grc, folder):
    """Pages and pictures of all blocks, and an index by their categories."""
    folder.mkdir(parents=True)
    platform, known = companion.load_platform(), flowgraphs()
    conventions = (ROOT / "docs/conventions.md").read_text()
    categories = {}
    for path in sorted(grc.glob("*.block.yml")):
        block = yaml.safe_load(path.read_text())
        drawn = block_picture.draw(companion.example_block(platform, block["id"]))
        (folder / f"{block['id']}.svg").write_text(drawn)
        (folder / f"{block['id']}.rst").write_text(page(block, conventions, known))
        category = block["category"].split("/", 1)[-1]
        categories.setdefault(category, []).append((block["label"], block["id"]))
    lines = heading("Blocks in GNU Radio Companion", "=")
    for category in sorted(categories):
        lines += [".. toctree::", f"   :caption: {category}", "   :maxdepth: 1", ""]
        lines += [f"   {name}" for _, name in sorted(categories[category])] + [""]
    (folder / "index.rst").write_text("\n".join(lines))
