#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells what this machine has for gr-cudaphy and what is missing, and times its kernels.

Each kernel's rate stands beside its bound: the lesser of the rates that the measured
bandwidth of a copy and the measured arithmetic allow. Each kernel's output is compared
with the reference backend's, and a decoder's with the words sent."""

import argparse
import json
import math
import sys
import time

from gnuradio import cudaphy, gr
from gnuradio.cudaphy import machine_info

UNAVAILABLE = 77  # exit status where a backend can't be had; test drivers read "skipped"
INTERRUPTED = 130
EPILOG = """Exit status: 0; 1 if a kernel gave a wrong result or failed; 2 for wrong arguments; 77 if
the backend can't be had here; 130 if interrupted."""


def parser():
    made = argparse.ArgumentParser(
        prog="cudaphy_info",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--backend",
        choices=("auto", "cuda", "cpu", "reference", "all"),
        default="all",
        help="what to test; default: all but the slow reference",
    )
    made.add_argument("--device", type=int, default=0, help="index of the GPU")
    made.add_argument("--no-test", action="store_true", help="print only the facts")
    made.add_argument(
        "--test",
        nargs="+",
        metavar="NAME",
        choices=cudaphy.self_test_names(),
        help="test only these kernels: " + ", ".join(cudaphy.self_test_names()),
    )
    made.add_argument(
        "--version",
        action="version",
        version=f"cudaphy_info {cudaphy.__version__}",
        help="print the version of gr-cudaphy",
    )
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument(
        "--damage",
        metavar="NAME",
        choices=cudaphy.self_test_names(),
        help="spoil one value of this kernel's result, which the check must find",
    )
    return made


def quantity(number):
    """Three digits and a unit's prefix: 12.3 M."""
    if not number > 0 or math.isinf(number):
        return str(number)
    power = min(max(int(math.floor(math.log10(number) / 3)), 0), 5)
    return f"{number / 1000**power:.3g} {['', 'k', 'M', 'G', 'T', 'P'][power]}"


def print_facts(found):
    cpu, cuda = found["cpu"], found["cuda"]
    print(f"gr-cudaphy   {found['gr_cudaphy']['version']}, {found['gr_cudaphy']['path']}")
    print(
        f"GNU Radio    {found['gnuradio']}, Python {found['python']}, numpy {found['numpy']}"
    )
    print(f"backends     {', '.join(found['backends'])}")
    print(f"auto         {found['auto']['backend']}: {found['auto']['reason']}")
    print(f"CPU          {cpu['name']}, {cpu['cores']} cores")
    print(f"  vectors    {cpu['vector_units']}, {cpu['float32_lanes']} float32")
    tools = cuda["toolkit"]
    print(
        f"CUDA         {'built with ' + cuda['built_with'] if cuda['built_with'] else 'not built in'}"
    )
    print(
        f"  driver     {cuda['driver_release'] or 'none'}"
        + (f", for CUDA {cuda['driver_supports']}" if cuda["driver_supports"] else "")
    )
    print(f"  toolkit    {tools['version'] + ', ' + tools['path'] if tools else 'none'}")
    for device in cuda["devices"]:
        print(
            f"  device {device['index']}   {device['name']}, compute capability "
            f"{device['compute_capability']}, {device['memory_bytes'] / 2**30:.0f} GiB"
        )
    print("\nmissing" if found["missing"] else "\nmissing      nothing")
    for line in found["missing"]:
        print(f"  - {line}")


def print_machine(name, machine):
    print(
        f"\n{name}: a copy moves {quantity(machine.copied_bytes)}B/s, "
        f"{quantity(machine.multiply_adds)} float32 multiply-adds/s, "
        f"{quantity(machine.byte_operations)} int8 operations/s"
    )
    print(
        f"  {'kernel':<30} {'a second':>26} {'bound':>9} {'of it':>6}  {'by':<10} "
        f"{'error':>8}"
    )


def print_result(result):
    limit = "memory" if result.memory_bound else "arithmetic"
    rate = f"{quantity(result.rate)}{result.unit}"
    share = 100 * result.rate / result.bound
    print(
        f"  {result.name:<30} {rate:>26} {quantity(result.bound):>9} {share:>4.0f} %  "
        f"{limit:<10} {result.error:>8.1e}  "
        f"{'ok' if result.right else f'FAILED: above {result.tolerance:.0e}'}",
        flush=True,
    )


class progress:
    """Shows what is being measured, on a terminal's last line."""

    def __init__(self):
        self._shown = sys.stderr.isatty()

    def show(self, text=""):
        if self._shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def as_json(result):
    names = ("name", "unit", "rate", "bound", "error", "tolerance", "right")
    made = {name: getattr(result, name) for name in names}
    made["bound_by"] = "memory" if result.memory_bound else "arithmetic"
    if math.isnan(result.error):
        made["error"] = None  # JSON has no NaN
    return made


def test(backend, arguments, bar):
    """Measures a backend and its kernels, and prints them unless JSON is chosen. Returns
    the backend's part of the JSON object."""
    began = time.monotonic()
    names = arguments.test or cudaphy.self_test_names()
    bar.show(f"{backend}: memory and arithmetic ...")
    machine = cudaphy.measure_machine(backend, arguments.device)
    bar.show()
    if not arguments.json:
        print_machine(backend, machine)
    found = {
        "machine": {
            name: getattr(machine, name)
            for name in ("copied_bytes", "multiply_adds", "byte_operations")
        },
        "kernels": [],
    }
    for number, name in enumerate(names, 1):
        bar.show(f"{backend} {number}/{len(names)}: {name} ...")
        try:
            result = cudaphy.self_test(
                name, machine, backend, arguments.device, name == arguments.damage
            )
        except (cudaphy.CudaError, RuntimeError, MemoryError) as problem:
            bar.show()
            found["kernels"].append(
                {"name": name, "right": False, "problem": str(problem)}
            )
            if not arguments.json:
                print(f"  {name:<30} FAILED: {problem}", flush=True)
            continue
        bar.show()
        found["kernels"].append(as_json(result))
        if not arguments.json:
            print_result(result)
    found["seconds"] = time.monotonic() - began
    return found


def tested_backends(arguments):
    if arguments.no_test:
        return []
    if arguments.backend == "all":
        return [name for name in cudaphy.backends() if name != "reference"]
    return [cudaphy.resolve_backend(arguments.backend, arguments.device)[0]]


def run(arguments):
    backends = tested_backends(arguments)
    found = machine_info.facts()
    found["missing"] = machine_info.missing(found)
    if not arguments.json:
        print_facts(found)
    bar = progress()
    found["tests"] = {name: test(name, arguments, bar) for name in backends}
    wrong = [
        f"{kernel['name']} on {backend}"
        for backend, tested in found["tests"].items()
        for kernel in tested["kernels"]
        if not kernel["right"]
    ]
    if arguments.json:
        json.dump(found, sys.stdout, indent=2)
        print()
    elif backends:
        seconds = sum(tested["seconds"] for tested in found["tests"].values())
        print(
            f"\nFAILED: {', '.join(wrong)}"
            if wrong
            else f"\nEvery kernel is right ({seconds:.0f} s)."
        )
    return not wrong


def main():
    arguments = parser().parse_args()
    gr.logging().set_default_level(gr.log_levels.warn)
    try:
        return 0 if run(arguments) else 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except cudaphy.BackendUnavailable as problem:
        print(f"cudaphy_info: skipped: {problem}", file=sys.stderr)
        return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main())
