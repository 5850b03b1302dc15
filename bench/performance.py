#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page docs/performance.md from the figures in docs/figures/*.json, one file a machine.

    bench/performance.py --check           says whether the page is that of the figures
    bench/performance.py --write           writes the page
    bench/performance.py --add FILE        takes figures that benchmarks wrote, then writes

A figure has the members of bench/records.h. A figure that was copied from an older page may
have "share" (percent of the bound) in place of "bound", "times" (ours to the peer) in place of
"peer", and [least, most] where the source names a range. Its date and commit are then those of
the lines that it was copied from. The page leaves a figure out if the
figure has "page": false."""

import argparse
import json
import re
import sys
from pathlib import Path

PAGE, FIGURES = "docs/performance.md", "docs/figures"
TIMES = ("ns", "us", "ms", "s")
PEER = ("peer", "peer_name", "peer_version")
LONGEST = 250  # lines of the page

# kernel: (its benchmark, its bound and peers, its page in design/ and notebook/)
KERNELS = {
    "Batched inverse": (
        "bench_inverse",
        "Bound: twice the matrices' bytes at a copy's bandwidth. cuBLAS pivots partially.",
        "inverse",
    ),
    "Triangular inverse": (
        "bench_triangular_inverse",
        "Bound: 8 N² bytes a matrix at a copy's bandwidth. float, lower.",
        "triangular_inverse",
    ),
    "Symmetric inverse": (
        "bench_symmetric_inverse",
        "Bound: n³ multiply-adds at the rate of matrix products; an update: a copy.",
        "symmetric_inverse",
    ),
    "MIMO equalizer": (
        "bench_equalizer",
        "Bound: channels and vectors in, layers and noise out, at a copy's bandwidth.",
        "estimator_and_equalizer",
    ),
    "Channel estimator": (
        "bench_channel_estimator",
        "Bound: pilots in and channels out at a copy's bandwidth. 3276 tones.",
        "estimator_and_equalizer",
    ),
    "Soft demapper": (
        "bench_soft_demapper",
        "Bound: symbols in and LLRs out at a copy's bandwidth, or the formulas' operations.",
        "soft_demapper",
    ),
    "MIMO receiver": (
        "bench_mimo_receiver",
        "Slots of 1200 tones, 4 × 4, 64-QAM, 20 codewords. Peer: the kernels one by one.",
        "mimo_receiver",
    ),
    "LDPC encoder": (
        "bench_ldpc_encoder",
        "Bound: information in and codeword out at a copy's bandwidth. Gb/s of information.",
        "ldpc_codes",
    ),
    "LDPC decoder": (
        "bench_ldpc_decoder",
        "All iterations: 10, or 20 for DVB-S2 normal. Gb/s of information.",
        "ldpc_decoder",
    ),
    "BCH codes": (
        "bench_bch",
        "Bound: words in and out at a copy's bandwidth. Gb/s of information. GNU Radio has no "
        "BCH decoder to compare with.",
        "bch",
    ),
    "LDPC decoding split between CPU and GPU": (
        "bench_ldpc_source4",
        "Regular (1024, 512), 3.0 dB, flooding, float32. Peer: one core, frame by frame.",
        "ldpc_decoder",
    ),
    "5G NR rate matching": (
        "bench_nr5g",
        "Base graph 1, lifting size 384, one core.",
        "ldpc_codes",
    ),
    "Triangular solve": (
        "bench_triangular_solve",
        "Bound: bytes in and out at a copy's bandwidth. float, lower.",
        "triangular_inverse",
    ),
    "Sparse product": (
        "bench_sparse",
        "Bound: matrix, x, y in and y out at a copy's bandwidth. float; peers: cuSPARSE CSR, "
        "scipy's loop.",
        "fdtd_and_sparse",
    ),
    "FDTD": (
        "bench_fdtd",
        "Bound: the state's and the matrices' bytes at a copy's bandwidth. float; "
        "peers as above.",
        "fdtd_and_sparse",
    ),
    "Flowgraphs": (
        "bench_device_streams",
        "Also bench_receiver_streams, bench_slot_latency, bench_packet_latency, "
        "bench_ldpc_packets. Bound: page-locked copies both ways.",
        "runtime",
    ),
}

HEAD = """# Performance

Written by `bench/performance.py` from `docs/figures/*.json`; change those, not this page.
`./run bench [name]` prints each figure beside its bound and its peer from the same run;
`./run bench --json FILE [name]` also writes them for `bench/performance.py --add FILE`.

*of bound* is how near to the bound: 100 % is the bound, and more says that caches held the data.
*times* is how many times as fast as the peer. A dash: not measured or not comparable.
What each kernel does and when it is chosen: [design](design). What was tried: [notebook](notebook).

| machine | |
|---|---|
"""


def is_time(figure):
    return figure["unit"].split()[0] in TIMES


def text_of(value):
    """A number, or [least, most]: four digits of what is no whole number."""
    if isinstance(value, list):
        return " to ".join(text_of(each) for each in value)
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.4g}'):g}"


def is_number(value):
    return isinstance(value, (int, float))


def share(figure):
    """How near to the bound, as text."""
    if figure.get("share") is not None:
        return text_of(figure["share"]) + " %"
    ours, bound = figure.get("ours"), figure.get("bound")
    if not (is_number(ours) and is_number(bound)):
        return "-"
    return f"{100 * (bound / ours if is_time(figure) else ours / bound):.0f} %"


def times(figure):
    """How many times as fast as the peer, as text."""
    if figure.get("times") is not None:
        return text_of(figure["times"])
    ours, peer = figure.get("ours"), figure.get("peer")
    if not (is_number(ours) and is_number(peer)):
        return "-"
    ratio = peer / ours if is_time(figure) else ours / peer
    return f"{float(f'{ratio:.2g}'):g}"


def peer(figure):
    if figure.get("peer") is None and figure.get("times") is None:
        return "-"
    named = ", ".join(figure[k] for k in ("peer_name", "peer_version") if figure.get(k))
    value = "" if figure.get("peer") is None else text_of(figure["peer"])
    return f"{value} ({named})" if value and named else value or named


def load(root):
    files = {}
    for path in sorted((Path(root) / FIGURES).glob("*.json")):
        files[path] = json.loads(path.read_text())
    return files


def row(figure, name):
    cells = (
        figure["case"],
        f"{text_of(figure['ours'])} {figure['unit']}"
        if figure["ours"] is not None
        else "-",
        share(figure),
        peer(figure),
        times(figure),
        f"{name}, {figure['date']}",
    )
    return "| " + " | ".join(cells) + " |\n"


def page(files):
    text = HEAD
    for content in files.values():
        if any(figure.get("page", True) for figure in content["figures"]):
            text += f"| {content['name']} | {content['description']} |\n"
    for kernel, (benchmark, note, design) in KERNELS.items():
        rows = [
            row(figure, content["name"])
            for content in files.values()
            for figure in content["figures"]
            if figure["kernel"] == kernel and figure.get("page", True)
        ]
        if rows:
            text += (
                f"\n## {kernel}\n`{benchmark}`. {note} ([design](design/{design}.md))\n\n"
                "| case | ours | of bound | peer | times | machine, date |\n"
                "|---|---|---|---|---|---|\n" + "".join(rows)
            )
    return text


def problems(root):
    files = load(root)
    found = [
        f"{path.name}: {figure['kernel']} is unknown; add it to KERNELS"
        for path, content in files.items()
        for figure in content["figures"]
        if figure["kernel"] not in KERNELS
    ]
    wanted = page(files)
    if (Path(root) / PAGE).read_text() != wanted:
        found.append(f"{PAGE}: is not that of {FIGURES}; bench/performance.py --write")
    if wanted.count("\n") > LONGEST:
        found.append(f"{PAGE}: has more than {LONGEST} lines; give figures page: false")
    return found


def joined(figures):
    """Gives each peer that stands alone to the cases that it belongs to: the fastest."""
    own = [figure for figure in figures if figure["ours"] is not None]
    for other in (figure for figure in figures if figure["ours"] is None):
        for figure in own:
            belongs = f"{figure['case']}, ".startswith(f"{other['case']}, ")
            if figure["kernel"] != other["kernel"] or not belongs:
                continue
            best = min if is_time(figure) else max
            if (
                figure["peer"] is None
                or best(figure["peer"], other["peer"]) == other["peer"]
            ):
                figure.update({key: other[key] for key in PEER})
    return own


def slug(text):
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def add(root, lines):
    """Takes figures: each replaces the one of its machine, kernel and case. A new case stays
    off the page until its "page" is taken away."""
    files, machines = load(root), {}
    for line in lines:
        figure = json.loads(line)
        machines.setdefault(json.dumps(figure.pop("machine"), sort_keys=True), []).append(
            figure
        )
    for text, figures in machines.items():
        machine = json.loads(text)
        name = machine["gpu"].split(", ")[0] or machine["cpu"]
        path = Path(root) / FIGURES / f"{slug(name)}.json"
        fresh = {
            "name": name,
            "description": ", ".join(value for value in machine.values() if value),
            "figures": [],
        }
        content = files.setdefault(path, fresh)
        new = {(figure["kernel"], figure["case"]): figure for figure in joined(figures)}
        for number, old in enumerate(content["figures"]):
            figure = new.pop((old["kernel"], old["case"]), None)
            if figure:
                shown = {key: old[key] for key in ("page",) if key in old}
                content["figures"][number] = {**figure, **shown}
        content["figures"] += [{**figure, "page": False} for figure in new.values()]
        known = {key: value for key, value in machine.items() if value}
        content["machine"] = {**content.get("machine", {}), **known}
        save(path, content)


def save(path, content):
    """One figure a line, so that a change shows line by line."""
    rest = {key: value for key, value in content.items() if key != "figures"}
    head = json.dumps(rest, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(
        "  " + json.dumps(each, ensure_ascii=False) for each in content["figures"]
    )
    path.write_text(f'{head},\n "figures": [\n{rows}\n ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", action="store_true")
    how.add_argument("--write", action="store_true")
    how.add_argument("--add", metavar="FILE", type=Path)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[1])
    given = parser.parse_args()
    if given.add:
        add(given.root, given.add.read_text().splitlines())
    if not given.check:
        (Path(given.root) / PAGE).write_text(page(load(given.root)))
    found = problems(given.root)
    print("\n".join(found) or f"{PAGE} is that of {FIGURES}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
