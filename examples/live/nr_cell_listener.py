#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says which cells of 5G NR are in the air, and what they broadcast: MIB and SIB1, as a table, as hex, and as a
PCAP for Wireshark. Samples come from a file, a recording in SigMF, or a radio by SoapySDR or UHD. Only broadcast
is read; nothing that is meant for a single phone is looked at."""

import argparse
import struct
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import link_tools  # noqa: E402
from gnuradio import blocks, cudaphy, gr  # noqa: E402
from gnuradio.cudaphy import sigmf  # noqa: E402

FILE_TYPES = {
    "cf32": (np.float32, 1.0),
    "ci16": (np.int16, 2.0**15),
    "ci8": (np.int8, 2.0**7),
}
SETTLING = 0.1  # s that a radio's gain and oscillator take
SI_RNTI = 0xFFFF


# -- samples


def from_file(path, kind, rate, start, seconds):
    """Samples of a file of I and Q in turn; integers become numbers of full scale 1."""
    number, scale = FILE_TYPES[kind]
    size = 2 * np.dtype(number).itemsize
    parts = np.fromfile(
        path,
        number,
        count=2 * int(seconds * rate),
        offset=size * int(start * rate),
    )
    return parts[: parts.size // 2 * 2].astype(np.float32).view(np.complex64) / scale


def from_sigmf(path, start, seconds):
    """Samples, rate and centre frequency (or None) of a recording's first channel."""
    samples, about = sigmf.read_samples(path)
    if not about.sample_rate:
        raise ValueError(f"{path} does not tell its sample rate")
    first = int(start * about.sample_rate)
    last = first + int(seconds * about.sample_rate)
    frequency = None
    for capture in about.captures:
        if capture.start <= first and capture.frequency is not None:
            frequency = capture.frequency
    return np.atleast_2d(samples)[0, first:last], about.sample_rate, frequency


def radio_of(how):
    """The block of a radio."""
    if how.soapy is not None:
        from gnuradio import soapy

        radio = soapy.source(how.soapy, "fc32", 1, "", "", [""], [""])
        radio.set_sample_rate(0, how.rate)
        radio.set_frequency(0, how.frequency)
        if how.antenna:
            radio.set_antenna(0, how.antenna)
        if how.gain is None:
            radio.set_gain_mode(0, True)
        else:
            radio.set_gain(0, how.gain)
        return radio
    from gnuradio import uhd

    radio = uhd.usrp_source(how.uhd, uhd.stream_args(cpu_format="fc32", channels=[0]))
    radio.set_samp_rate(how.rate)
    radio.set_center_freq(how.frequency)
    if how.antenna:
        radio.set_antenna(how.antenna)
    if how.gain is not None:
        radio.set_gain(how.gain)
    return radio


def from_radio(how):
    count = int(how.seconds * how.rate)
    top = gr.top_block()
    sink = blocks.vector_sink_c(1, count)
    top.connect(
        radio_of(how),
        blocks.skiphead(gr.sizeof_gr_complex, int(SETTLING * how.rate)),
        blocks.head(gr.sizeof_gr_complex, count),
        sink,
    )
    top.run()
    return np.array(sink.data(), np.complex64)


def samples_of(how):
    """(samples, rate, centre frequency or None) as the command line says."""
    if how.sigmf is not None:
        samples, rate, frequency = from_sigmf(how.sigmf, how.start, how.seconds)
        return samples, rate, how.frequency or frequency
    if how.rate is None:
        raise ValueError("give --rate, in samples a second")
    if how.file is not None:
        samples = from_file(how.file, how.type, how.rate, how.start, how.seconds)
        return samples, how.rate, how.frequency
    if how.frequency is None:
        raise ValueError("give --frequency, to which the radio is tuned")
    return from_radio(how), how.rate, how.frequency


# -- what is printed


def identities(cell):
    """PLMNs, tracking area and cell identity as text."""
    if not cell.sib1:
        return "-", "-", "-"
    try:
        owners = cudaphy.nr_sib1_identities(cell.sib1)["owners"]
    except ValueError as problem:
        return f"({problem})", "-", "-"
    area = owners[0]["tracking_area_code"]
    return (
        " ".join(plmn for owner in owners for plmn in owner["plmns"]),
        "-" if area is None else f"{area:06x}",
        f"{owners[0]['cell_identity']:09x}",
    )


def row_of(cell, centre):
    frequency = cell.ssb_frequency + (centre or 0)
    mib = cell.mib
    return [
        str(cell.cell_id),
        "-" if mib is None else str(cell.ssb_index),
        f"{frequency / 1e6:.3f}",
        f"{cell.subcarrier_spacing // 1000}",
        f"{cell.snr_db:.1f}",
        f"{cell.frequency_offset:+.0f}",
        f"{cell.sample:.1f}",
        "-" if mib is None else str(mib.system_frame_number),
        "-" if mib is None else ("yes" if mib.cell_barred else "no"),
        *identities(cell),
    ]


HEADINGS = "cell SSB MHz kHz SNR/dB offset/Hz sample SFN barred PLMN TAC identity".split()


def mib_bytes(cell):
    return int(cell.mib.bits, 2).to_bytes(3, "big")


def report(cells, centre):
    rows = [HEADINGS] + [row_of(cell, centre) for cell in cells]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(f"{text:>{width}}" for text, width in zip(row, widths)))
    for cell in cells:
        name = f"cell {cell.cell_id}, SSB {cell.ssb_index}"
        if cell.mib is not None:
            print(f"{name}: MIB {mib_bytes(cell).hex()}")
        if cell.sib1:
            print(f"{name}: SIB1 {cell.sib1.rstrip(bytes(1)).hex()}")
        else:
            print(f"{name}: no SIB1: {cell.sib1_reason}")


# -- PCAP


class Pcap:
    """A capture of IPv4 packets (LINKTYPE_IPV4), whose UDP datagrams are what Wireshark's mac-nr reads.

    Their format is that of epan/dissectors/packet-mac-nr.h of Wireshark, "mac-nr framing": the text "mac-nr", radio
    type, direction and RNTI type, tagged fields, and the PDU.
    """

    _FDD, _TDD, _DOWNLINK = 1, 2, 1
    _NO_RNTI, _OF_SI = 0, 4
    _PAYLOAD, _RNTI, _FRAME_AND_SLOT = 1, 2, 7
    _PORT = 9999

    def __init__(self, path):
        self._file = open(path, "wb")
        self._file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 228))

    def close(self):
        self._file.close()

    def _write(self, cell, rnti, frame, slot, pdu, seconds):
        radio = self._FDD if cell.ssb_case in ("A", "B") else self._TDD
        kind = self._OF_SI if rnti else self._NO_RNTI
        data = b"mac-nr" + bytes([radio, self._DOWNLINK, kind])
        if rnti:
            data += struct.pack(">BH", self._RNTI, rnti)
        data += struct.pack(">BHH", self._FRAME_AND_SLOT, frame, slot)
        data += bytes([self._PAYLOAD]) + pdu
        udp = struct.pack(">HHHH", self._PORT, self._PORT, 8 + len(data), 0) + data
        # The cell's identity is the last two bytes of the sender's address.
        address = bytes([10, 0]) + struct.pack(">H", cell.cell_id)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
        head += address + bytes([127, 0, 0, 1])
        checksum = sum(struct.unpack(">10H", head))
        checksum = (checksum & 0xFFFF) + (checksum >> 16)
        checksum = ~((checksum & 0xFFFF) + (checksum >> 16)) & 0xFFFF
        packet = head[:10] + struct.pack(">H", checksum) + head[12:] + udp
        whole = int(seconds)
        micro = int((seconds - whole) * 1e6)
        self._file.write(struct.pack("<IIII", whole, micro, len(packet), len(packet)))
        self._file.write(packet)

    def add(self, cell, rate, began):
        """Adds MIB and SIB1; `began` is the time of the first sample, s since 1970."""
        if cell.mib is None:
            return
        seconds = began + cell.sample / rate
        slots = 10 * cell.subcarrier_spacing // 15000
        in_frame = (cell.sample - cell.frame_sample) / rate
        slot = int(np.floor(in_frame / 10e-3 * slots + 1e-3)) % slots
        frame = cell.mib.system_frame_number
        self._write(cell, None, frame, slot, mib_bytes(cell), seconds)
        if cell.sib1:
            frame, slot = cell.dci["system_frame_number"], cell.dci["slot"]
            self._write(cell, SI_RNTI, frame, slot, cell.sib1, seconds)


# -- the program


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Exit status: 0 if a cell's MIB was read, 1 if not.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", type=Path, help="I and Q in turn")
    source.add_argument("--sigmf", type=Path, help="recording in SigMF")
    source.add_argument("--soapy", metavar="ARGS", help='radio, as "driver=lime"')
    source.add_argument("--uhd", metavar="ARGS", help='radio, as "type=b200" or ""')
    parser.add_argument("--type", choices=FILE_TYPES, default="cf32", help="of --file")
    parser.add_argument("--rate", type=float, help="samples a second")
    parser.add_argument("--frequency", type=float, help="centre frequency, Hz")
    parser.add_argument("--gain", type=float, help="of the radio, dB")
    parser.add_argument("--antenna", help="of the radio")
    parser.add_argument("--start", type=float, default=0.0, help="s into the recording")
    parser.add_argument("--seconds", type=float, default=0.05, help="default: 0.05")
    parser.add_argument(
        "--ssb",
        type=float,
        action="append",
        help="SS/PBCH block's middle, Hz; default: all of the synchronization raster",
    )
    parser.add_argument(
        "--spacing", type=int, action="append", help="kHz; default: 15 and 30"
    )
    parser.add_argument("--pcap", type=Path, help="file for Wireshark")
    parser.add_argument("--repeat", action="store_true", help="until interrupted")
    return parser


def search(how):
    """Searches once. Returns (cells, rate, centre frequency)."""
    samples, rate, centre = samples_of(how)
    given = {"center_frequency": centre}
    if how.ssb is not None:
        given["ssb_frequency"] = [ssb - (centre or 0) for ssb in how.ssb]
    if how.spacing is not None:
        given["subcarrier_spacing"] = [1000 * khz for khz in how.spacing]
    return cudaphy.nr_cell_search(samples, rate, **given), rate, centre


def main(arguments=None):
    how = command_line().parse_args(arguments)
    if how.repeat and (how.file or how.sigmf):
        raise ValueError("--repeat is for radios")
    pcap = Pcap(how.pcap) if how.pcap is not None else None
    any_mib = False
    try:
        while True:
            began = time.time()
            cells, rate, centre = search(how)
            report(cells, centre)
            if not cells:
                print("no cell: try another frequency, more gain or more --seconds")
            for cell in cells if pcap else ():
                pcap.add(cell, rate, began)
            any_mib |= any(cell.mib for cell in cells)
            if not how.repeat:
                return any_mib
    finally:
        if pcap:
            pcap.close()


if __name__ == "__main__":
    link_tools.main(main)
