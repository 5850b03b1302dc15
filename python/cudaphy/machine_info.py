# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts behind cudaphy_info: what this machine has and lacks for gr-cudaphy."""

import os
import platform
import re
import shutil
import subprocess
from importlib import util
from pathlib import Path

import numpy as np
from gnuradio import gr

from . import cudaphy_python as module

OLDEST_TOOLKIT = 12040
# The oldest driver for any release of a CUDA version (CUDA Toolkit release notes, "CUDA Toolkit
# and Minimum Required Driver Version for CUDA Minor Version Compatibility").
OLDEST_DRIVERS = {12: "525.60.13", 13: "580.65.06"}
TOOLKIT_FROM = "https://developer.nvidia.com/cuda-downloads (package cuda-toolkit-12-9)"


def version_text(number):
    """12040 is 12.4; None for 0."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def cpu_name(path="/proc/cpuinfo"):
    """The processor's name, or its architecture if the kernel does not give the name."""
    try:
        found = re.search(
            r"^model name\s*:\s*(.+)$", Path(path).read_text(), re.MULTILINE
        )
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def usable_cores():
    return len(os.sched_getaffinity(0))


def driver_release(path="/proc/driver/nvidia/version"):
    """The release of the loaded NVIDIA kernel module, such as 580.95.05; None if no module is loaded."""
    try:
        found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", Path(path).read_text())
    except OSError:
        return None
    return found[1] if found else None


def gpus_on_bus(path="/sys/bus/pci/devices"):
    """Addresses of the NVIDIA GPUs that the mainboard sees, with a driver or without."""
    found = []
    for device in sorted(Path(path).glob("*")):
        try:
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == "0x10de" and kind.startswith("0x03"):  # display controllers
            found.append(device.name)
    return found


def unusable_gpus(count, resolve=module.resolve_backend):
    """The reasons why GPUs on the mainboard cannot be used, one line each. None if
    CUDA_VISIBLE_DEVICES hides GPUs on purpose."""
    reasons = []
    for index in range(0 if "CUDA_VISIBLE_DEVICES" in os.environ else count):
        try:
            resolve("cuda", index)
        except module.BackendUnavailable as problem:
            reasons.append(f"device {index}: {problem}")
    return reasons


def toolkit():
    """(path, version) of the newest nvcc on PATH or in NVIDIA's own folder, or None."""
    places = [shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"]
    found = []
    for path in dict.fromkeys(p for p in places if p and os.access(p, os.X_OK)):
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True)
        except OSError:
            continue
        release = re.search(r"release (\d+)\.(\d+)", said.stdout)
        if release:
            found.append((int(release[1]) * 1000 + int(release[2]) * 10, path))
    return max(found)[::-1] if found else None


def facts():
    """The facts of this machine: a dictionary that JSON can hold."""
    built_with, driver = module.cuda_versions()
    nvcc, on_bus = toolkit(), gpus_on_bus()
    return {
        "gr_cudaphy": {
            "version": module.__version__,
            "path": os.path.dirname(os.path.abspath(module.__file__)),
        },
        "gnuradio": gr.version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backends": module.backends(),
        "auto": dict(zip(("backend", "reason"), module.resolve_backend())),
        "cpu": {
            "name": cpu_name(),
            "cores": usable_cores(),
            "vector_units": module.cpu_vector_units(),
            "float32_lanes": module.cpu_vector_lanes(),
        },
        "cuda": {
            "built_with": version_text(built_with),
            "driver_supports": version_text(driver),
            "driver_release": driver_release(),
            "gpus_on_bus": on_bus,
            "unusable_gpus": unusable_gpus(len(on_bus)),
            "toolkit": nvcc and {"path": nvcc[0], "version": version_text(nvcc[1])},
            "devices": [
                {
                    "index": device.index,
                    "name": device.name,
                    "compute_capability": device.compute_capability / 10,
                    "memory_bytes": device.memory,
                }
                for device in module.devices()
            ],
        },
    }


def _missing_cuda(found):
    """Why there is no CUDA backend, and the remedies in the order to apply them."""
    cuda, lines = found["cuda"], []
    if cuda["built_with"] is None:
        if not cuda["gpus_on_bus"] and not cuda["driver_release"]:
            return ["no NVIDIA GPU was found, and this build has no CUDA: nothing to do"]
        tools = cuda["toolkit"]
        if tools is None:
            lines.append(
                "CUDA toolkit 12.4 or later, to build with: from " + TOOLKIT_FROM
            )
        elif tools["version"] is None or _number(tools["version"]) < OLDEST_TOOLKIT:
            lines.append(
                f"a later CUDA toolkit: {tools['path']} is {tools['version']}, 12.4 is "
                f"needed (Debian's nvidia-cuda-toolkit is older): from {TOOLKIT_FROM}"
            )
        lines.append(
            "this build has no CUDA: build gr-cudaphy again, with nvcc on PATH or in "
            "/usr/local/cuda/bin (./run install)"
        )
    needed = OLDEST_DRIVERS.get(int((cuda["built_with"] or "13.0").split(".")[0]))
    if cuda["driver_release"] is None:
        if not cuda["gpus_on_bus"]:
            lines.append("no NVIDIA GPU was found on the PCI bus")
        else:
            lines.append(
                f"NVIDIA's driver, {needed} or later, for the GPU at "
                f"{', '.join(cuda['gpus_on_bus'])}: package cuda-drivers from NVIDIA's "
                "repository, or nvidia-driver from Debian's non-free; then start again"
            )
    elif cuda["built_with"]:
        try:
            module.resolve_backend("cuda")
        except module.BackendUnavailable as problem:
            lines.append(f"{problem} (this machine's driver is {cuda['driver_release']})")
    return lines


def _number(version):
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10


# Imports and programs of optional parts: (purpose, name, Debian package)
_IMPORTS = (
    ("cudaphy_ber", "tqdm", "python3-tqdm"),
    ("pictures of cudaphy_ber and the examples", "matplotlib", "python3-matplotlib"),
    ("parity-check matrices in Python", "scipy", "python3-scipy"),
    ("cudaphy_ber --scheduler", "distributed", "python3-distributed"),
    ("flowgraphs with windows", "PyQt5", "python3-pyqt5"),
    ("live receivers by SoapySDR", "gnuradio.soapy", "gnuradio soapysdr-module-all"),
    ("live receivers by UHD", "gnuradio.uhd", "gnuradio uhd-host"),
    ("receivers split over two hosts", "gnuradio.zeromq", "gnuradio"),
)
_PROGRAMS = (("GNU Radio Companion's compiler", "grcc", "gnuradio"),)


def missing(found=None):
    """Lines about missing parts: the part, its purpose, and how to get it."""
    found = found or facts()
    if "cuda" in found["backends"]:
        lines = list(found["cuda"]["unusable_gpus"])
    else:
        lines = _missing_cuda(found)
    for purpose, name, package in _IMPORTS:
        if util.find_spec(name) is None:
            lines.append(f"{name}, for {purpose}: apt install {package}")
    for purpose, name, package in _PROGRAMS:
        if shutil.which(name) is None:
            lines.append(f"{name}, {purpose}: apt install {package}")
    return lines
