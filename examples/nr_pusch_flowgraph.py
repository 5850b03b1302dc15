#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""PUSCH of 5G NR in a flowgraph of blocks, from transport blocks to transport blocks, with all that a receiver
must find out by itself.

Random bytes -> NR PUSCH Transmitter, 2 layers -> NR OFDM Modulator -> MIMO Multipath Channel, a new one each
slot -> carrier offset and noise at each antenna -> NR OFDM Demodulator -> NR PUSCH Receiver. A row of the
table tells of one SNR (at one antenna): how many transport blocks are lost, and what the receiver measured.
Every received block is compared with the one that was sent in its slot."""

import numpy as np
import pmt

import link_tools
from gnuradio import analog, blocks, cudaphy, gr, pdu
from gnuradio.cudaphy.blocks.block_guard import guarded

NUMEROLOGY = 1  # 30 kHz
LAYERS = 2
KEY = "packet_len"


@guarded
class collector(gr.basic_block):
    """Keeps sent and received transport blocks: {slot's number: bytes}, and what the receiver measured."""

    def __init__(self, slots_a_frame):
        gr.basic_block.__init__(self, "collector", None, None)
        self._slots_a_frame = slots_a_frame
        self.sent, self.received, self.measured = [], {}, []
        for port, take in (
            ("sent", self._take_sent),
            ("ok", self._take),
            ("fail", self._take),
        ):
            self.message_port_register_in(pmt.intern(port))
            self.set_msg_handler(pmt.intern(port), take)

    def _take_sent(self, message):
        self.sent.append(bytes(pmt.u8vector_elements(pmt.cdr(message))))

    def _take(self, message):
        def value(key):
            found = pmt.dict_ref(pmt.car(message), pmt.intern(key), pmt.PMT_NIL)
            return pmt.to_python(found)

        number = value("frame") * self._slots_a_frame + value("slot")
        self.measured.append(
            [value("sinr_db"), value("timing_offset"), value("frequency_offset")]
        )
        if value("ok"):
            self.received[number] = bytes(pmt.u8vector_elements(pmt.cdr(message)))


class link(gr.top_block):
    """The link at one SNR. receiver counts; collected has the transport blocks."""

    def __init__(self, channel, snr_db, count, given):
        gr.top_block.__init__(self, "NR PUSCH", catch_exceptions=True)
        subcarriers = channel.grid_shape[2]
        bytes_a_block = channel.tbs[0] // 8
        random = analog.random_uniform_source_b(0, 256, given.seed)
        limit = blocks.head(1, count * bytes_a_block)
        cut = blocks.stream_to_tagged_stream(1, 1, bytes_a_block, KEY)
        to_pdu = pdu.tagged_stream_to_pdu(gr.types.byte_t, KEY)
        transmitter = cudaphy.nr_pusch_transmitter(
            channel, backend=given.backend, device=given.device
        )
        modulator = cudaphy.nr_ofdm_modulator(subcarriers, NUMEROLOGY, ports=LAYERS)
        rate = modulator.sample_rate()
        slot_samples = int(rate * 1e-3 / 2**NUMEROLOGY)
        taps = max(1, round(4 * given.delay_spread * rate))
        # GNU Radio does not keep a block in Python: self does.
        air = self.air = cudaphy.mimo_multipath_channel(
            LAYERS,
            given.antennas,
            slot_samples,
            taps,
            max(given.delay_spread * rate, 1e-3),
            given.seed,
        )
        demodulator = cudaphy.nr_ofdm_demodulator(
            subcarriers, NUMEROLOGY, antennas=given.antennas
        )
        self.receiver = cudaphy.nr_pusch_receiver(
            channel, given.antennas, backend=given.backend, device=given.device
        )
        self.collected = collector(10 * 2**NUMEROLOGY)
        self.connect(random, limit, cut, to_pdu)
        self.msg_connect(to_pdu, "pdus", transmitter, "pdus")
        # A block of messages ends with the first block that sends it some: one for each.
        self.sent = collector(10 * 2**NUMEROLOGY)
        self.msg_connect(to_pdu, "pdus", self.sent, "sent")
        for port in range(LAYERS):
            self.connect((transmitter, port), (modulator, port), (air, port))
        # Samples of all antennas have unit energy in resource elements, but DM-RS.
        noise = np.sqrt(10 ** (-snr_db / 10))
        for antenna in range(given.antennas):
            turned = blocks.rotator_cc(2 * np.pi * given.offset / rate)
            source = analog.noise_source_c(
                analog.GR_GAUSSIAN, noise, given.seed + 1 + antenna
            )
            noisy = blocks.add_cc()
            self.connect((air, antenna), turned, (noisy, 0))
            self.connect(source, (noisy, 1))
            self.connect(noisy, (demodulator, antenna))
            self.connect((demodulator, antenna), (self.receiver, antenna))
        for port in ("ok", "fail"):
            self.msg_connect(self.receiver, port, self.collected, port)


def tried(channel, snr_db, given):
    """(lost, wrong, sinr, late, offset, iterations) of given.blocks transport blocks."""
    top = link(channel, snr_db, given.blocks, given)
    with link_tools.progress(given.blocks, "slots", f"SNR {snr_db:g} dB") as bar:
        link_tools.run(top, top.receiver, given.blocks, bar)
    got, receiver = top.collected, top.receiver
    wrong = sum(top.sent.sent[number] != data for number, data in got.received.items())
    measured = np.array(got.measured, float)
    sinr, late, offset = np.median(measured, axis=0)
    return (
        receiver.frame_errors(),
        wrong,
        sinr,
        late,
        offset,
        receiver.average_iterations(),
    )


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--snr",
        type=link_tools.number_list,
        default=[6, 10, 14, 18],
        help="dB at one antenna; default: 6,10,14,18",
    )
    parser.add_argument("--antennas", type=link_tools.count, default=2, help="default: 2")
    parser.add_argument("--prbs", type=link_tools.count, default=52, help="default: 52")
    parser.add_argument(
        "--mcs", type=int, default=13, help="of TS 38.214, table 5.1.3.1-1; default: 13"
    )
    parser.add_argument("--delay-spread", type=float, default=100e-9, help="seconds")
    parser.add_argument("--offset", type=float, default=150.0, help="carrier, Hz")
    parser.add_argument(
        "--blocks", type=link_tools.count, default=200, help="at each SNR; default: 200"
    )
    given = parser.parse_args()
    if given.quick:
        given.blocks, given.prbs, given.snr = 20, min(given.prbs, 12), [max(given.snr)]
    (backend,) = link_tools.chosen_backends(given)[:1]
    given.backend = backend
    channel = cudaphy.nr_shared_channel(
        "pusch",
        numerology=NUMEROLOGY,
        grid_size=given.prbs,
        layers=LAYERS,
        mcs=given.mcs,
        dmrs_additional_position=1,
        n_id=42,
        dmrs_n_id=42,
        rnti=0x4601,
    )
    print(
        f"{LAYERS} layers, {given.antennas} antennas, {channel.tbs[0]} bits a slot: "
        f"{channel.tbs[0] / 0.5e-3 / 1e6:.1f} Mbit/s"
    )
    columns = [("SNR dB", "g", 7), ("blocks", "", 7), ("BLER", "", 8)]
    columns += [("SINR dB", ".1f", 8), ("late ns", ".0f", 8)]
    columns += [("offset Hz", ".0f", 10), ("iterations", ".1f", 11)]
    rows = link_tools.table("PUSCH over a multipath channel", columns)
    holds, last = True, None
    for snr_db in given.snr:
        lost, wrong, sinr, late, offset, iterations = tried(channel, snr_db, given)
        bler = lost / given.blocks
        rows.row(
            snr_db,
            given.blocks,
            link_tools.rate_text(bler),
            sinr,
            late * 1e9,
            offset,
            iterations,
        )
        holds &= wrong == 0
        last = bler
    good = link_tools.check(holds, "no block with a good CRC is wrong")
    return good & link_tools.check(last < 0.5, "most blocks of the last row are received")


if __name__ == "__main__":
    link_tools.main(main)
