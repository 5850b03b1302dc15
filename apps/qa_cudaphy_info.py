#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""cudaphy_info: its facts, its self-test, its exit status."""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import cudaphy_info
import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy import machine_info

PROGRAM = Path(__file__).resolve().with_name("cudaphy_info.py")
BACKEND = os.environ.get("CUDAPHY_TEST_BACKEND", "cpu")
QUICK = "demapper 64-QAM"
SOME = ("inverse 4x4", "equalizer 4x4 MMSE", QUICK, "LDPC 802.11n rate 1/2 int8")


measure_machine = functools.lru_cache(cudaphy.measure_machine)


def machine():
    """The bounds of the kernels, which take seconds to measure."""
    return measure_machine("cpu", 0)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-B", str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
    )


def run_here(*arguments):
    """As run(), in this process, which has measured the machine before."""
    out = io.StringIO()
    argv = [str(PROGRAM), *map(str, arguments)]
    with contextlib.redirect_stdout(out), unittest.mock.patch.multiple(
        cudaphy, measure_machine=measure_machine
    ), unittest.mock.patch.object(sys, "argv", argv):
        return cudaphy_info.main(), out.getvalue()


class test_cudaphy_info(unittest.TestCase):
    def good(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_facts_come_without_a_test(self):
        out = self.good("--no-test")
        self.assertIn(f"gr-cudaphy   {cudaphy.__version__}, ", out)
        self.assertIn("GNU Radio    3.10", out)
        self.assertIn(f"backends     {', '.join(cudaphy.backends())}", out)
        self.assertIn(cudaphy.cpu_vector_units(), out)
        self.assertIn("missing", out)
        self.assertNotIn("bound", out)

    def test_prints_its_version(self):
        self.assertRegex(cudaphy.__version__, r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.good("--version"), f"cudaphy_info {cudaphy.__version__}\n")

    def test_kernels_are_right_and_slower_than_their_hardware(self):
        found = json.loads(self.good("--backend", BACKEND, "--json", "--test", *SOME))
        self.assertEqual(list(found["tests"]), [BACKEND])
        machine = found["tests"][BACKEND]["machine"]
        self.assertTrue(all(rate > 1e6 for rate in machine.values()), machine)
        kernels = found["tests"][BACKEND]["kernels"]
        self.assertEqual([k["name"] for k in kernels], list(SOME))
        for kernel in kernels:
            self.assertTrue(kernel["right"], kernel)
            self.assertGreater(kernel["rate"], 0, kernel)
            self.assertIn(kernel["bound_by"], ("memory", "arithmetic"))
            # On a busy machine errors of measurement let rates exceed bounds a little.
            self.assertLess(kernel["rate"], 5 * kernel["bound"], kernel)

    def test_the_table_names_kernels_rates_and_bounds(self):
        status, out = run_here("--backend", BACKEND, "--test", QUICK)
        self.assertEqual(status, 0, out)
        self.assertIn("of it", out)
        self.assertRegex(out, rf"{QUICK} +[\d.e+]+ [kMGT]symbols +[\d.e+]+ [kMGT]")
        self.assertIn("Every kernel is right", out)
        self.assertNotIn("inverse 4x4", out)

    def test_a_wrong_result_is_printed_and_is_exit_status_1(self):
        status, out = run_here("--backend", BACKEND, "--test", QUICK, "--damage", QUICK)
        self.assertEqual(status, 1, out)
        self.assertIn(f"FAILED: {QUICK} on {BACKEND}", out)

    def test_the_check_of_every_kernel_finds_one_wrong_value(self):
        # On the reference backend, which is only compared with itself.
        for name in cudaphy.self_test_names():
            if "float32" not in name:
                for damage in (False, True):
                    result = cudaphy.self_test(
                        name, machine(), "reference", damage=damage
                    )
                    self.assertEqual(result.right, not damage, name)

    def test_wrong_arguments_are_exit_status_2(self):
        for wrong in (["--backend", "gpu"], ["--test", "nothing"], ["--device", "x"]):
            self.assertEqual(run(*wrong).returncode, 2, wrong)

    @unittest.skipIf("cuda" in cudaphy.backends(), "there is a GPU here")
    def test_a_missing_backend_is_exit_status_77(self):
        done = run("--backend", "cuda")
        self.assertEqual(done.returncode, 77)
        self.assertIn('backend "cuda" can\'t be had', done.stderr)

    def test_names_of_kernels_and_devices_are_checked(self):
        with self.assertRaisesRegex(ValueError, "demapper"):
            cudaphy.self_test("nothing", machine())
        with self.assertRaises((cudaphy.BackendUnavailable, ValueError)):
            cudaphy.self_test(QUICK, machine(), "cuda", 99)


class test_machine_info(unittest.TestCase):
    """The lines about missing parts, from facts of other machines."""

    def facts(self, **cuda):
        known = dict(
            built_with=None,
            driver_supports=None,
            driver_release=None,
            gpus_on_bus=[],
            toolkit=None,
            devices=[],
        )
        return {"backends": ["cpu", "reference"], "cuda": {**known, **cuda}}

    def text(self, **cuda):
        return "\n".join(machine_info.missing(self.facts(**cuda)))

    def test_versions(self):
        self.assertEqual(machine_info.version_text(12040), "12.4")
        self.assertEqual(machine_info.version_text(13000), "13.0")
        self.assertIsNone(machine_info.version_text(0))
        self.assertEqual(machine_info.facts()["numpy"], np.__version__)

    def test_a_machine_without_a_gpu_lacks_nothing_of_cuda(self):
        self.assertIn("nothing to do", self.text())

    def test_a_gpu_without_a_driver(self):
        out = self.text(gpus_on_bus=["0000:01:00.0"], built_with="12.9")
        self.assertIn("525.60.13", out)
        self.assertIn("0000:01:00.0", out)
        self.assertIn("cuda-drivers", out)
        self.assertIn("580.65.06", self.text(gpus_on_bus=["x"], built_with="13.0"))

    def test_a_build_without_cuda(self):
        out = self.text(gpus_on_bus=["x"], driver_release="580.95.05")
        self.assertIn("CUDA toolkit 12.4 or later", out)
        self.assertIn("build gr-cudaphy again", out)
        old = {"path": "/usr/bin/nvcc", "version": "11.8"}
        out = self.text(gpus_on_bus=["x"], driver_release="580.95.05", toolkit=old)
        self.assertIn("/usr/bin/nvcc is 11.8, 12.4 is needed", out)
        new = {"path": "/usr/local/cuda/bin/nvcc", "version": "13.0"}
        out = self.text(gpus_on_bus=["x"], driver_release="580.95.05", toolkit=new)
        self.assertNotIn("toolkit", out)

    def test_a_gpu_that_can_not_be_used_beside_one_that_can(self):
        reason = "this build has no code for it: build with another architecture"

        def resolve(backend, index):
            self.assertEqual(backend, "cuda")
            if index == 1:
                raise cudaphy.BackendUnavailable(reason)

        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            unusable = machine_info.unusable_gpus(3, resolve)
            os.environ["CUDA_VISIBLE_DEVICES"] = "0"
            self.assertEqual(machine_info.unusable_gpus(3, resolve), [])
        self.assertEqual(unusable, [f"device 1: {reason}"])
        found = {"backends": ["cuda", "cpu"], "cuda": {"unusable_gpus": unusable}}
        self.assertIn(unusable[0], machine_info.missing(found))

    def test_reads_the_files_of_the_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            version = Path(folder, "version")
            version.write_text(
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  "
                "Release Build\nGCC version: gcc 12.2.0\n"
            )
            self.assertEqual(machine_info.driver_release(version), "580.95.05")
            self.assertIsNone(machine_info.driver_release(Path(folder, "none")))
            for name, vendor, kind in (
                ("a", "0x10de", "0x030200"),
                ("b", "0x10de", "0x040300"),  # its sound
                ("c", "0x8086", "0x030000"),
            ):
                device = Path(folder, "bus", name)
                device.mkdir(parents=True)
                (device / "vendor").write_text(vendor + "\n")
                (device / "class").write_text(kind + "\n")
            self.assertEqual(machine_info.gpus_on_bus(Path(folder, "bus")), ["a"])
            cpu = Path(folder, "cpuinfo")
            cpu.write_text("processor\t: 0\nmodel name\t: Some CPU\n")
            self.assertEqual(machine_info.cpu_name(cpu), "Some CPU")
            cpu.write_text("processor: 0\n")
            self.assertTrue(machine_info.cpu_name(cpu))


if __name__ == "__main__":
    if BACKEND not in cudaphy.backends():
        print(f"skipped: backend {BACKEND} can't be had here")
        sys.exit(77)
    unittest.main()
