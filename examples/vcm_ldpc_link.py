#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A link whose packets change their LDPC code one by one (VCM), as its channel changes.

Bits in tagged packets, each with a tag ldpc_code -> LDPC encoder -> BPSK -> noise, whose strength
follows each packet's code -> LLRs -> LDPC decoder -> frames and frame errors counted per code. One
encoder and one decoder serve all the codes; packets leave in order."""

import link_tools
import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy.blocks.block_guard import guarded

KEY = "packet_len"
# Name of the code, the code, and Eb/N0 in dB at which its packets arrive.
CODES = {
    "sure": (("wifi", {"n": 648, "rate": "1/2"}), 2.5),
    "middle": (("wifi", {"n": 1296, "rate": "2/3"}), 3.0),
    "fast": (("wifi", {"n": 1944, "rate": "5/6"}), 3.8),
    "satellite": (("dvbs2", {"frame": "short", "rate": "3/5"}), 2.2),
}


@guarded
class packet_counter(gr.sync_block):
    """Compares decoded packets with those that were sent, code by code.

    In: the decoder's bits, with the tag ldpc_code on each packet's first bit. sent holds
    (name, bits) of the packets in order, each an array (words, k).
    """

    def __init__(self, sent):
        gr.sync_block.__init__(self, "packet_counter", in_sig=[np.uint8], out_sig=None)
        self._sent, self._next, self._left = sent, 0, None
        self._wrong_names = 0
        self.counts = {name: [0, 0] for name in CODES}  # frames, frame errors
        self.decisions = []
        self._key = pmt.intern("ldpc_code")

    def frames(self):
        return sum(frames for frames, _ in self.counts.values())

    def frame_errors(self):
        return sum(errors for _, errors in self.counts.values())

    def wrong_names(self):
        """Packets whose tag names another code than the one that was sent."""
        return self._wrong_names

    def work(self, input_items, output_items):
        bits = input_items[0]
        names = {
            tag.offset - self.nitems_read(0): pmt.symbol_to_string(tag.value)
            for tag in self.get_tags_in_window(0, 0, len(bits), self._key)
        }
        at = 0
        while at < len(bits) and self._next < len(self._sent):
            name, sent = self._sent[self._next]
            if self._left is None:
                self._wrong_names += names.get(at) != name
                self._left = []
            take = min(sent.size - sum(map(len, self._left)), len(bits) - at)
            self._left.append(np.array(bits[at : at + take]))
            at += take
            if sum(map(len, self._left)) == sent.size:
                got = np.concatenate(self._left).reshape(sent.shape)
                wrong = (got != sent).any(axis=1)
                self.counts[name][0] += len(sent)
                self.counts[name][1] += int(wrong.sum())
                self.decisions.append(got.tobytes())
                self._next, self._left = self._next + 1, None
        return len(bits)


class link(gr.top_block):
    """Transmitter, channel, and a receiver on each backend; counters[i] of backend i."""

    def __init__(self, packets, arguments, backends, shift_db=0.0):
        gr.top_block.__init__(self, "VCM link", catch_exceptions=True)
        self._codes = {
            name: cudaphy.ldpc_code(family, **options)
            for name, ((family, options), _) in CODES.items()
        }
        rng = np.random.default_rng(arguments.seed)
        names = [list(CODES)[i] for i in rng.integers(len(CODES), size=packets)]
        sent = []
        for name in names:
            words = int(rng.integers(1, 4))
            bits = rng.integers(0, 2, (words, self._codes[name].k), dtype=np.uint8)
            sent.append((name, bits))
        self.frames = sum(len(bits) for _, bits in sent)
        where = {"backend": backends[0], "device": arguments.device}
        several = {
            "code": self._codes[next(iter(CODES))],
            "codes": self._codes,
            "length_tag_key": KEY,
        }
        encoder = cudaphy.ldpc_encoder(**several, **where)
        noise = blocks.vector_source_f(self._noise(sent, rng, shift_db).tolist())
        channel, scaled = blocks.add_ff(), blocks.multiply_const_ff(1.0)
        self.connect(
            self._source(sent),
            encoder,
            blocks.uchar_to_float(),
            blocks.multiply_const_ff(-2),
            blocks.add_const_ff(1),
            channel,
            scaled,
        )
        self.connect(noise, (channel, 1))
        self.counters, self.decoders = [], []
        for backend in backends:
            decoder = cudaphy.ldpc_decoder(
                **several,
                max_iterations=arguments.iterations,
                backend=backend,
                device=arguments.device,
            )
            counter = packet_counter(sent)
            self.connect(scaled, decoder, counter)
            self.decoders.append(decoder)
            self.counters.append(counter)

    @staticmethod
    def _source(sent):
        tags, at = [], 0
        for name, bits in sent:
            for key, value in ((KEY, bits.size), ("ldpc_code", name)):
                tags.append(gr.python_to_tag((at, pmt.intern(key), pmt.to_pmt(value))))
            at += bits.size
        stream = np.concatenate([bits.ravel() for _, bits in sent])
        return blocks.vector_source_b(stream.tolist(), False, 1, tags)

    def _noise(self, sent, rng, shift_db):
        """As strong as the Eb/N0 of each packet's code says."""
        parts = []
        for name, bits in sent:
            code, ebn0 = self._codes[name], CODES[name][1] + shift_db
            sigma = np.sqrt(0.5 / (code.rate * 10 ** (ebn0 / 10)))
            parts.append(sigma * rng.standard_normal(len(bits) * code.n))
        return np.concatenate(parts).astype(np.float32)


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--packets", type=link_tools.count, help="default: 2000, or 120 with --quick"
    )
    parser.add_argument("--iterations", type=link_tools.count, default=30)
    parser.add_argument(
        "--shift", type=float, default=0.0, help="dB added to every packet's Eb/N0"
    )
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    packets = arguments.packets or (120 if arguments.quick else 2000)
    top = link(packets, arguments, backends, arguments.shift)
    with link_tools.progress(top.frames, "codeword", "VCM link") as bar:
        seconds = link_tools.run(top, top.counters[0], top.frames, bar)
    counter = top.counters[0]
    rows = link_tools.table(
        f"{packets} packets of {len(CODES)} codes in random order, {backends[0]}",
        [
            ("code", "s", 10),
            ("n", "d", 6),
            ("rate", "s", 5),
            ("Eb/N0 dB", ".1f", 8),
            ("codewords", "d", 9),
            ("wrong", "d", 6),
            ("FER", "s", 8),
        ],
    )
    for name, (frames, errors) in counter.counts.items():
        (family, options), ebn0 = CODES[name]
        code = cudaphy.ldpc_code(family, **options)
        fer = link_tools.rate_text(errors / max(1, frames))
        ebn0 += arguments.shift
        rows.row(name, code.n, options["rate"], ebn0, frames, errors, fer)
    bits = sum(
        frames * cudaphy.ldpc_code(CODES[name][0][0], **CODES[name][0][1]).k
        for name, (frames, _) in counter.counts.items()
    )
    print(f"{bits / seconds / 1e6:.1f} Mb/s of information, {seconds:.2f} s")
    good = link_tools.check(
        counter.wrong_names() == 0, "every packet came out in its turn, with its tag"
    )
    if arguments.shift >= 0:
        good &= link_tools.check(
            counter.frame_errors() <= 0.05 * counter.frames(),
            f"{counter.frame_errors()} of {counter.frames()} codewords are wrong, at most 5 %",
        )
    if arguments.compare:
        a, b = top.counters
        differing = sum(x != y for x, y in zip(a.decisions, b.decisions))
        wrong = (a.frame_errors(), b.frame_errors())
        good &= link_tools.check_agreement(backends, a.frames(), wrong, differing)
    return good


if __name__ == "__main__":
    link_tools.main(main)
