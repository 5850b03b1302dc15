#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""DVB-S2 Receiver without a signal: white noise for so many seconds, then no samples at all. Noise must give no
transport packet and no frame that BCH code and CRC-8 pass, and memory must stay flat; without samples no core may
work."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import link_tools  # noqa: E402
import numpy as np  # noqa: E402
import pmt  # noqa: E402
import soak  # noqa: E402
from gnuradio import analog, blocks, cudaphy, gr, pdu  # noqa: E402

IDLE_CORES = 0.1  # that work without samples, at most
SETTLING = 0.25  # of the run, in which memory may still grow


def in_noise(arguments):
    """Whether noise gives nothing, and memory stays flat."""
    top = gr.top_block("noise", catch_exceptions=True)
    receiver = cudaphy.dvbs2_receiver(
        2, 0.2, extended=True, backend=arguments.backend, device=arguments.device
    )
    heard = blocks.message_debug()
    parts = [analog.noise_source_c(analog.GR_GAUSSIAN, 1, arguments.seed)]
    if arguments.rate:
        parts.append(blocks.throttle(gr.sizeof_gr_complex, 2e6 * arguments.rate))
    top.connect(*parts, receiver, blocks.null_sink(gr.sizeof_char))
    top.msg_connect(receiver, "frames", heard, "store")
    samples, began = [], time.monotonic()
    top.start()
    while (passed := time.monotonic() - began) < arguments.seconds:
        samples.append((soak.memory(), soak.device_memory(arguments)))
        time.sleep(min(1, arguments.seconds / 40))
    top.stop()
    top.wait()
    status = receiver.status()
    print(
        f"{receiver.backend()}: {status['symbols'] / 1e6:.0f} million symbols of noise in {passed:.0f} s"
    )
    told = (pmt.car(heard.get_message(i)) for i in range(heard.num_messages()))
    passes = sum(
        pmt.to_python(pmt.dict_ref(meta, pmt.intern("ok"), pmt.PMT_F)) for meta in told
    )
    good = link_tools.check(
        passes == 0 and status["transport_packets"] == 0,
        f"{status['frames']} frames found, {passes} passed BCH code and CRC-8, "
        f"{status['transport_packets']} packets came out",
    )
    return good & soak.check_memory(samples, int(SETTLING * len(samples)))


def without_samples(arguments):
    """Whether no core works while nothing comes, after some noise."""
    top = gr.top_block("idle", catch_exceptions=True)
    receiver = cudaphy.dvbs2_receiver(
        2, 0.2, backend=arguments.backend, device=arguments.device
    )
    source = pdu.pdu_to_tagged_stream(gr.types.complex_t, "noise")
    top.connect(source, receiver, blocks.null_sink(gr.sizeof_char))
    top.start()
    rng = np.random.default_rng(arguments.seed)
    for _ in range(64):
        noise = rng.standard_normal((4096, 2)) @ [1, 1j]
        items = pmt.init_c32vector(len(noise), noise.tolist())
        source.to_basic_block()._post(pmt.intern("pdus"), pmt.cons(pmt.PMT_NIL, items))
    time.sleep(3)
    began, used = time.monotonic(), time.process_time()
    time.sleep(arguments.idle)
    cores = (time.process_time() - used) / (time.monotonic() - began)
    top.stop()
    top.wait()
    return link_tools.check(
        cores < IDLE_CORES and receiver.status()["symbols"] > 0,
        f"without samples {cores:.3f} cores work",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of noise")
    parser.add_argument("--idle", type=float, default=10, help="seconds without samples")
    parser.add_argument(
        "--rate", type=float, default=0, help="Msym/s; default: as fast as it goes"
    )
    parser.add_argument("--backend", choices=link_tools.BACKENDS, default="auto")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.error)
    return in_noise(arguments) & without_samples(arguments)


if __name__ == "__main__":
    link_tools.main(main)
