# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures for programs to read, as bench/records.h has them for the benchmarks in C++."""

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from gnuradio import cudaphy


def _line_after(path, head):
    """What follows `head` and a separator in the first such line of a file of the kernel."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next(
        (line[len(head) :].strip(" \t:") for line in lines if line.startswith(head)), ""
    )


def _machine():
    driver = _line_after("/proc/driver/nvidia/version", "NVRM version").split("  ")
    return {
        "cpu": _line_after("/proc/cpuinfo", "model name"),
        "gpu": ", ".join(device.name for device in cudaphy.devices()),
        "driver": driver[1].strip() if len(driver) > 1 else "",
        "cuda": "",
    }


def record(case, ours, unit, peer=None, peer_name="", kernel="Flowgraphs"):
    """Appends a figure to the file that CUDAPHY_BENCH_JSON names, if it does."""
    path = os.environ.get("CUDAPHY_BENCH_JSON")
    if not path:
        return
    figure = {
        "kernel": kernel,
        "case": case,
        "ours": float(f"{ours:.6g}"),
        "unit": unit,
        "peer": peer and float(f"{peer:.6g}"),
        "peer_name": peer_name,
        "peer_version": "",
        "bound": None,
        "bound_of": "",
        "machine": _machine(),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "commit": os.environ.get("CUDAPHY_BENCH_COMMIT", ""),
        "program": Path(sys.argv[0]).name,
    }
    with open(path, "a") as file:
        file.write(json.dumps(figure) + "\n")
