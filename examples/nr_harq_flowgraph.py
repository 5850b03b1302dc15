#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hybrid ARQ of 5G NR in a flowgraph, by a loop of messages: a scheduler sends transport blocks to NR PUSCH
Transmitter, and NR PUSCH Receiver tells it which were received. What fails its CRC is sent again with the next
redundancy version, and the receiver combines it with what it has of the process.

Every process has one transport block under way. The receiver learns redundancy version, process and new_data
by the tag nr_schedule, which the transmitter sets; with radios between, connect the scheduler's PDUs to the
receiver's port `schedule` too. The table tells how many blocks each transmission has brought."""

import numpy as np
import pmt

import link_tools
from gnuradio import analog, blocks, cudaphy, gr
from gnuradio.cudaphy.blocks.block_guard import guarded

NUMEROLOGY = 1
VERSIONS = (0, 2, 3, 1)  # redundancy versions of a block's transmissions


@guarded
class scheduler(gr.basic_block):
    """New blocks, retransmissions, and what became of them. Messages in: ok, fail; out: pdus."""

    def __init__(self, transport_bytes, count, processes, seed, at_end):
        gr.basic_block.__init__(self, "scheduler", None, None)
        self._bytes, self._left, self._processes = transport_bytes, count, processes
        self._chance, self._at_end = np.random.default_rng(seed), at_end
        self._under_way = {}  # process: [payload, transmissions]
        self.received = [0] * len(VERSIONS)  # with so many transmissions, less one
        self.lost = self.wrong = 0
        self.message_port_register_out(pmt.intern("pdus"))
        for port in ("ok", "fail"):
            self.message_port_register_in(pmt.intern(port))
            self.set_msg_handler(pmt.intern(port), getattr(self, f"_{port}"))

    def start(self):
        for process in range(self._processes):
            self._next(process)
        return True

    def _next(self, process):
        """Another block for a process; the end when no process has one."""
        if self._left:
            self._left -= 1
            self._under_way[process] = [self._chance.bytes(self._bytes), 0]
            self._send(process)
        elif not self._under_way:
            self._at_end()

    def _send(self, process):
        payload, transmissions = self._under_way[process]
        metadata = pmt.make_dict()
        for key, value in (
            ("process", process),
            ("redundancy_version", VERSIONS[transmissions]),
            ("new_data", transmissions == 0),
        ):
            metadata = pmt.dict_add(metadata, pmt.intern(key), pmt.to_pmt(value))
        vector = pmt.init_u8vector(len(payload), list(payload))
        self.message_port_pub(pmt.intern("pdus"), pmt.cons(metadata, vector))

    @staticmethod
    def _process_of(message):
        found = pmt.dict_ref(pmt.car(message), pmt.intern("process"), pmt.PMT_NIL)
        return pmt.to_long(found)

    def _ok(self, message):
        process = self._process_of(message)
        payload, transmissions = self._under_way.pop(process)
        self.received[transmissions] += 1
        self.wrong += bytes(pmt.u8vector_elements(pmt.cdr(message))) != payload
        self._next(process)

    def _fail(self, message):
        process = self._process_of(message)
        self._under_way[process][1] += 1
        if self._under_way[process][1] < len(VERSIONS):
            self._send(process)
        else:
            self.lost += 1
            del self._under_way[process]
            self._next(process)


class link(gr.top_block):
    def __init__(self, channel, snr_db, given):
        gr.top_block.__init__(self, "NR HARQ", catch_exceptions=True)
        where = dict(backend=given.backend, device=given.device)
        subcarriers = channel.grid_shape[2]
        transmitter = cudaphy.nr_pusch_transmitter(channel, **where)
        modulator = cudaphy.nr_ofdm_modulator(subcarriers, NUMEROLOGY)
        demodulator = cudaphy.nr_ofdm_demodulator(subcarriers, NUMEROLOGY, antennas=2)
        self.receiver = cudaphy.nr_pusch_receiver(
            channel, 2, processes=given.processes, **where
        )
        done = pmt.cons(pmt.intern("done"), pmt.from_long(1))
        self.scheduler = scheduler(
            channel.tbs[0] // 8,
            given.blocks,
            given.processes,
            given.seed,
            lambda: transmitter.to_basic_block()._post(pmt.intern("system"), done),
        )
        self.connect(transmitter, modulator)
        noise = np.sqrt(10 ** (-snr_db / 10))
        for antenna in range(2):
            noisy = blocks.add_cc()
            source = analog.noise_source_c(
                analog.GR_GAUSSIAN, noise, given.seed + 1 + antenna
            )
            self.connect(modulator, (noisy, 0))
            self.connect(source, (noisy, 1))
            self.connect(noisy, (demodulator, antenna))
            self.connect((demodulator, antenna), (self.receiver, antenna))
        self.msg_connect(self.scheduler, "pdus", transmitter, "pdus")
        for port in ("ok", "fail"):
            self.msg_connect(self.receiver, port, self.scheduler, port)


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--snr",
        type=link_tools.number_list,
        default=[2, 5, 8],
        help="dB at one antenna; default: 2,5,8",
    )
    parser.add_argument("--prbs", type=link_tools.count, default=24, help="default: 24")
    parser.add_argument("--mcs", type=int, default=16, help="default: 16")
    parser.add_argument("--processes", type=int, default=4, help="1 to 16; default: 4")
    parser.add_argument(
        "--blocks", type=link_tools.count, default=100, help="at each SNR; default: 100"
    )
    given = parser.parse_args()
    if given.quick:
        given.blocks, given.prbs, given.snr = 12, min(given.prbs, 12), given.snr[:1]
    given.backend = link_tools.chosen_backends(given)[0]
    channel = cudaphy.nr_shared_channel(
        "pusch",
        numerology=NUMEROLOGY,
        grid_size=given.prbs,
        mcs=given.mcs,
        dmrs_additional_position=1,
    )
    columns = [("SNR dB", "g", 7), ("blocks", "", 7)]
    columns += [(f"by no. {n + 1}", "", 8) for n in range(len(VERSIONS))]
    columns += [("lost", "", 5), ("sent", "", 5), ("HARQ kB", ".0f", 8)]
    rows = link_tools.table(
        "Transport blocks by the transmission that brought them", columns
    )
    complete = True
    wrong = 0
    for snr_db in given.snr:
        top = link(channel, snr_db, given)
        top.run()
        got = top.scheduler
        rows.row(
            snr_db,
            given.blocks,
            *got.received,
            got.lost,
            top.receiver.frames(),
            top.receiver.harq_bytes() / 1e3,
        )
        complete &= sum(got.received) + got.lost == given.blocks
        wrong += got.wrong
    good = link_tools.check(complete, "every block is received or given up")
    return good & link_tools.check(wrong == 0, "no block with a good CRC is wrong")


if __name__ == "__main__":
    link_tools.main(main)
