#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block soft_demapper with packets of several constellations and interleavers."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, dtv, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    gaussian,
    main,
    packet_tags,
    tag,
)

NAN, INF = float("nan"), float("inf")
S2X_NAMES = {
    (2, 4, 2): "8APSK",
    (4, 12): "16APSK",
    (8, 8): "8_8APSK",
    (4, 12, 16): "4_12_16APSK",
    (4, 8, 4, 16): "4_8_4_16APSK",
    (16, 16, 16, 16): "64APSK",
    (4, 12, 20, 28): "4_12_20_28APSK",
    (8, 16, 20, 20): "8_16_20_20APSK",
}


def modes():
    """Every MODCOD and size of frame, without pilots."""
    every = [cudaphy.dvb_mode.of(pls) for pls in range(256)]
    return [mode for mode in every if mode and not mode.dummy and not mode.pilots]


def transmitted(mode, rng):
    """A codeword that gr-dtv encodes, interleaves and modulates: its bits, and symbols."""
    name = S2X_NAMES.get(tuple(mode.rings)) if mode.pls >= 128 else None
    how = (
        dtv.FECFRAME_NORMAL if mode.frame == "normal" else dtv.FECFRAME_SHORT,
        getattr(dtv, "C" + mode.rate.replace("/", "_")),
        getattr(dtv, "MOD_" + (name or mode.modulation)),
    )
    family = cudaphy.bch_code.dvbs2x if mode.extended else cudaphy.bch_code.dvbs2
    bits = rng.integers(0, 2, family(mode.frame, mode.rate).n, np.uint8)
    top = gr.top_block()
    encoder = dtv.dvb_ldpc_bb(dtv.STANDARD_DVBS2, *how)
    word, symbols = blocks.vector_sink_b(), blocks.vector_sink_c()
    top.connect(blocks.vector_source_b(bits.tolist()), encoder, word)
    top.connect(
        encoder,
        dtv.dvbs2_interleaver_bb(*how),
        dtv.dvbs2_modulator_bc(*how, dtv.INTERPOLATION_OFF),
        symbols,
    )
    top.run()
    n = {"normal": 64800, "short": 16200}[mode.frame]
    return np.array(word.data()[:n], np.uint8), np.array(symbols.data()[: mode.symbols])


def frame_tags(head, mode):
    tags = [tag(head, "constellation", pmt.intern(mode.constellation))]
    if mode.bit_interleaver:
        tags.append(tag(head, "bit_interleaver", pmt.intern(mode.bit_interleaver)))
    return tags


class Packets:
    """A stream of packets, as (symbols, tags that say what they are)."""

    def __init__(self):
        self.parts, self.tags = [], []

    def add(self, symbols, **values):
        head = sum(map(len, self.parts))
        self.tags += [
            tag(head, key, pmt.intern(value) if isinstance(value, str) else value)
            for key, value in values.items()
        ]
        self.tags.append(tag(head, "number", len(self.parts)))
        self.parts.append(np.asarray(symbols, "complex64"))

    def stream(self):
        return np.concatenate(self.parts), self.tags + packet_tags(
            [len(part) for part in self.parts]
        )


class qa_soft_demapper_packets(FlowgraphCase):
    def demap(self, packets, dtype="float32", constellation="qpsk", **options):
        """The sink of LLRs, the block, and the PDUs of its port fail."""
        options = {"length_tag_key": KEY, "backend": BACKEND, **options}
        options.setdefault("constellation_tag_key", "constellation")
        block, debug = cudaphy.soft_demapper(constellation, **options), (
            blocks.message_debug()
        )
        top, sink = gr.top_block(), Sink(dtype)
        top.connect(Source(*packets.stream()).block, block, sink.block)
        top.msg_connect(block, "fail", debug, "store")
        self.run_flowgraph(top, 240)
        count, ends = block.refused_packets(), time.monotonic() + 5
        while debug.num_messages() < count and time.monotonic() < ends:
            time.sleep(0.01)
        failed = [debug.get_message(i) for i in range(debug.num_messages())]
        return sink, block, [pmt.to_python(pmt.car(pdu)) for pdu in failed]

    def check(self, sink, wanted):
        """LLRs of packets {number: LLRs}, in order, with their lengths."""
        np.testing.assert_array_equal(sink.data, np.concatenate(list(wanted.values())))
        heads = np.cumsum([0] + [len(part) for part in wanted.values()])[:-1]
        lengths = [(int(h), len(part)) for h, part in zip(heads, wanted.values())]
        self.assertEqual(sink.tags(KEY), lengths)
        self.assertEqual(
            sink.tags("number"), [(int(h), n) for h, n in zip(heads, wanted)]
        )

    def test_every_modcod_that_gnuradio_transmits_comes_back_without_noise(self):
        rng = np.random.default_rng(1)
        packets, words, every = Packets(), [], modes()
        rng.shuffle(every)
        for mode in every:
            word, symbols = transmitted(mode, rng)
            self.assertEqual(len(symbols), mode.symbols)
            names = {"constellation": mode.constellation}
            if mode.bit_interleaver:
                names["bit_interleaver"] = mode.bit_interleaver
            packets.add(symbols, **names)
            words.append(word)
        sink, block, _ = self.demap(packets)
        self.assertEqual(block.refused_packets(), 0)
        heads = np.cumsum([0] + [len(word) for word in words])[:-1]
        lengths = [(int(h), len(word)) for h, word in zip(heads, words)]
        self.assertEqual(sink.tags(KEY), lengths)
        data = sink.data  # made anew each time
        for mode, word, head in zip(every, words, heads):
            llr = data[head : head + len(word)]
            np.testing.assert_array_equal(llr < 0, word, repr(mode))
            self.assertTrue(llr.all())

    def test_packets_are_demapped_as_their_tags_say(self):
        rng = np.random.default_rng(2)
        every = [mode for mode in modes() if mode.bit_interleaver]
        names = [n for n in cudaphy.constellation_names() if n.startswith("dvbs2")]
        for max_batch in (0, 3):
            packets, wanted = Packets(), {}
            for number in range(24):
                kind, noise = rng.integers(4), float(rng.uniform(0.01, 1))
                if kind == 0:  # of the block's own constellation
                    x = gaussian((int(rng.integers(1, 500)),), number)
                    packets.add(x, noise_variance=noise)
                    wanted[number] = cudaphy.demap(x, noise, "qam16", backend=BACKEND)
                elif kind == 1:
                    x = gaussian((int(rng.integers(1, 500)),), number)
                    name = str(rng.choice(names))
                    packets.add(x, constellation=name, noise_variance=noise)
                    wanted[number] = cudaphy.demap(x, noise, name, backend=BACKEND)
                else:
                    mode = every[rng.integers(len(every))]
                    x = gaussian((mode.symbols,), number)
                    packets.add(
                        x,
                        constellation=mode.constellation,
                        bit_interleaver=mode.bit_interleaver,
                        noise_variance=noise,
                    )
                    wanted[number] = cudaphy.demap(
                        x,
                        noise,
                        mode.constellation,
                        backend=BACKEND,
                        bit_interleaver=mode.bit_interleaver,
                        frame_bits=64800 if mode.frame == "normal" else 16200,
                    )
                wanted[number] = wanted[number].ravel()
            sink, block, _ = self.demap(
                packets, constellation="qam16", max_batch=max_batch
            )
            self.assertEqual(block.refused_packets(), 0)
            self.check(sink, wanted)

    def test_a_noise_variance_holds_until_the_next_one(self):
        x = gaussian((50,))
        packets, wanted = Packets(), {}
        for number, noise in enumerate([None, 0.5, None, 2, None, NAN, None, 0.25]):
            packets.add(x, **({} if noise is None else {"noise_variance": noise}))
        for number, noise in enumerate([0.1, 0.5, 0.5, 2, 2, NAN, NAN, 0.25]):
            wanted[number] = cudaphy.demap(x, noise, "qpsk", backend=BACKEND).ravel()
        self.assertFalse(wanted[5].any())
        for max_batch in (0, 1, 70):
            sink, block, _ = self.demap(packets, noise_variance=0.1, max_batch=max_batch)
            self.check(sink, wanted)
            self.assertEqual(block.noise_variance(), 0.25)

    def test_packets_whose_tags_fit_nothing_are_passed_over_and_told(self):
        good = gaussian((5400,))
        packets = Packets()
        packets.add(good, constellation="dvbs2_8psk", bit_interleaver="012")
        packets.add(good, constellation="dvbs2_9psk")
        packets.add(good, constellation=7)
        packets.add(good[:5399], constellation="dvbs2_8psk", bit_interleaver="012")
        packets.add(good, constellation="dvbs2_8psk", bit_interleaver="021")
        packets.add(good, bit_interleaver="012")  # of QPSK there is none
        packets.add(good, constellation="qam64")  # not one of this block
        packets.add(good, constellation="dvbs2_8psk", bit_interleaver="")
        packets.add(good, bit_interleaver=3, noise_variance="loud")  # not heeded
        wanted = {
            0: cudaphy.demap(
                good, 0.01, "dvbs2_8psk", backend=BACKEND, bit_interleaver="012"
            ),
            7: cudaphy.demap(good, 0.01, "dvbs2_8psk", backend=BACKEND),
            8: cudaphy.demap(good, 0.01, "qpsk", backend=BACKEND),
        }
        with captured_log() as log:
            sink, block, failed = self.demap(packets)
        self.check(sink, {number: llr.ravel() for number, llr in wanted.items()})
        self.assertEqual(block.refused_packets(), 6)
        self.assertEqual([pdu["number"] for pdu in failed], [1, 2, 3, 4, 5, 6])
        for pdu in failed[:2] + failed[5:]:
            self.assertIn("constellation names no constellation", pdu["reason"])
            self.assertIn("dvbs2x_256apsk_135/180", pdu["reason"])
        for pdu in failed[2:5]:
            self.assertIn("bit_interleaver", pdu["reason"])
        self.assertIn("a packet is passed over", log.text)

    def test_own_constellations_are_chosen_by_their_names(self):
        star = cudaphy.constellation([1, 1j, -1, -1j, 2, 2j, -2, -2j], range(7, -1, -1))
        x = gaussian((100,))
        packets = Packets()
        packets.add(x, modulation="star")
        packets.add(x)
        packets.add(x, modulation="qam64")
        options = {"constellation_tag_key": "modulation"}
        own = {"star": star, "qam64": "qam64"}
        sink, _, _ = self.demap(packets, constellations=own, **options)
        names = [star, "qpsk", "qam64"]
        self.check(
            sink,
            {
                number: cudaphy.demap(x, 0.01, which, backend=BACKEND).ravel()
                for number, which in enumerate(names)
            },
        )

    def test_frames_of_one_interleaver_need_no_tags(self):
        x = gaussian((6 * 100,))
        wanted = cudaphy.demap(
            x.reshape(6, 100),
            0.01,
            "dvbs2_8psk",
            backend=BACKEND,
            bit_interleaver="201",
            frame_bits=290,
        )
        for tags in ({}, {"length_tag_key": KEY}):
            block = cudaphy.soft_demapper(
                "dvbs2_8psk",
                bit_interleaver="201",
                frame_symbols=100,
                frame_bits=290,
                backend=BACKEND,
                **tags,
            )
            lengths = packet_tags([400, 200]) if tags else ()
            got = self.through(block, [x], [("float32", 0)], lengths)[0]
            np.testing.assert_array_equal(got.data, wanted.ravel())
            if tags:
                self.assertEqual(got.tags(KEY), [(0, 1160), (1160, 580)])

    def test_noise_variances_may_come_by_the_port_of_frames_too(self):
        mode = cudaphy.dvb_mode.of(18 << 2 | 2)
        x, n = gaussian((mode.symbols,)), np.random.default_rng(5).uniform(
            0.01, 1, mode.symbols
        ).astype("float32")
        block = cudaphy.soft_demapper(
            "qpsk",
            noise_input=True,
            length_tag_key=KEY,
            constellation_tag_key="constellation",
            backend=BACKEND,
        )
        tags = frame_tags(0, mode) + packet_tags([mode.symbols])
        got = self.through(block, [x, n], [("float32", 0)], tags)[0]
        wanted = cudaphy.demap(
            x,
            n,
            mode.constellation,
            backend=BACKEND,
            bit_interleaver=mode.bit_interleaver,
        )
        np.testing.assert_array_equal(got.data, wanted)

    def test_bad_samples_spoil_only_their_own_llrs(self):
        mode = cudaphy.dvb_mode.of(198)
        x = gaussian((mode.symbols,))
        packets = Packets()
        names = {
            "constellation": mode.constellation,
            "bit_interleaver": mode.bit_interleaver,
        }
        packets.add(x, **names)
        bad = x.copy()
        bad[[0, 7, mode.symbols - 1]] = NAN, complex(INF, 0), complex(0, -INF)
        packets.add(bad, **names)
        sink, _, _ = self.demap(packets)
        first, second = sink.data.reshape(2, mode.bits_a_symbol, mode.symbols)
        spoilt = np.zeros(mode.symbols, bool)
        spoilt[[0, 7, mode.symbols - 1]] = True
        self.assertFalse(second[:, spoilt].any())
        np.testing.assert_array_equal(second[:, ~spoilt], first[:, ~spoilt])

    def test_parameters_that_do_not_fit_are_refused(self):
        make = cudaphy.soft_demapper
        with self.assert_refuses("constellation_tag_key is empty"):
            make("qpsk", constellations=["qam16"], length_tag_key=KEY, backend=BACKEND)
        with self.assert_refuses("length tag key"):
            make("qpsk", constellation_tag_key="constellation", backend=BACKEND)
        options = {"constellation_tag_key": "c", "length_tag_key": KEY}
        with self.assert_refuses('two constellations have the name "qam16"'):
            make("qpsk", constellations=["qam16", "qam16"], backend=BACKEND, **options)
        with self.assert_refuses("qam17"):
            make("qpsk", constellations=["qam17"], backend=BACKEND, **options)
        with self.assertRaisesRegex(TypeError, "3"):
            make("qpsk", constellations=[3], backend=BACKEND, **options)
        with self.assertRaisesRegex(TypeError, "interlever"):
            make("qpsk", interlever="012", backend=BACKEND)
        with self.assert_refuses("vlen is 2"):
            make("qpsk", 2, bit_interleaver="01", frame_symbols=9, backend=BACKEND)
        with self.assert_refuses("no order of the columns of 2 bits"):
            make("qpsk", bit_interleaver="00", frame_symbols=9, backend=BACKEND)
        for symbols in (0, -1, 1 << 25):
            with self.assert_refuses(f"{symbols} symbols"):
                make("qpsk", bit_interleaver="01", frame_symbols=symbols, max_batch=1)
        with self.assert_refuses("same point"):
            make(None, points=[1, 1], backend=BACKEND)


class qa_own_constellations(FlowgraphCase):
    POINTS = [3, 1 + 1j, 1 - 1j, -1 + 1j, -1 - 1j, -3, 3j, -3j]
    LABELS = [5, 0, 1, 2, 3, 4, 7, 6]

    def textbook(self, x, noise):
        points = np.empty(8, complex)
        points[self.LABELS] = self.POINTS
        away = np.abs(np.asarray(x, complex)[:, None] - points) ** 2 / noise
        label = np.arange(8)
        return np.stack(
            [
                away[:, label >> (2 - bit) & 1 == 1].min(axis=1)
                - away[:, label >> (2 - bit) & 1 == 0].min(axis=1)
                for bit in range(3)
            ],
            axis=1,
        )

    def test_own_points_give_their_llrs_to_the_function_and_the_block(self):
        x = gaussian((300,)) * 2
        wanted = self.textbook(x, 0.3)
        own = cudaphy.constellation(self.POINTS, self.LABELS)
        self.assertEqual((own.name, own.bits), ("own", 3))
        got = cudaphy.demap(x, 0.3, own, backend=BACKEND)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-3)
        again = cudaphy.demap(
            x, 0.3, points=self.POINTS, labels=self.LABELS, backend=BACKEND
        )
        np.testing.assert_array_equal(again, got)
        options = {"noise_variance": 0.3, "backend": BACKEND}
        for block in (
            cudaphy.soft_demapper(own, **options),
            cudaphy.soft_demapper(
                "qpsk", points=self.POINTS, labels=self.LABELS, **options
            ),
        ):
            sink = self.through(block, [x], [("float32", 0)])[0]
            np.testing.assert_array_equal(sink.data, got.ravel())

    def test_points_and_labels_that_are_none_are_refused_with_their_place(self):
        for points, labels, texts in (
            ([1, 2, 3], [], ("3 points", "2, 4, 8")),
            ([1, -1], [0], ("1 labels", "2 points")),
            ([1, -1], [0, 5], (r"labels\[1\] is 5", "0 to 1")),
            ([1, -1], [1, 1], ("both have the label 1",)),
            ([1, 2, 1, 3], [], (r"points\[0\] and points\[2\] are the same",)),
            ([1, NAN], [], (r"points\[1\]",)),
            (np.ones((2, 2)), [], ("2-dimensional",)),
        ):
            with self.assert_refuses(*texts):
                cudaphy.constellation(points, labels)


class qa_frames_on_arrays(FlowgraphCase):
    def test_frames_of_any_shape_are_deinterleaved(self):
        rng = np.random.default_rng(4)
        x = gaussian((3, 2, 90))
        n = rng.uniform(0.1, 1, x.shape)
        for dtype in ("float32", "float16", "int8"):
            options = {"dtype": dtype, "backend": BACKEND}
            plain = cudaphy.demap(x, n, "dvbs2_16apsk_3/4", **options)
            got = cudaphy.demap(
                x, n, "dvbs2_16apsk_3/4", bit_interleaver="3201", **options
            )
            self.assertEqual((got.shape, got.dtype), ((3, 2, 360), np.dtype(dtype)))
            columns = got.reshape(3, 2, 4, 90)[:, :, [3, 2, 0, 1]]
            np.testing.assert_array_equal(columns, np.moveaxis(plain, -1, -2))
        cut = cudaphy.demap(
            x, n, "dvbs2_16apsk_3/4", bit_interleaver="3201", frame_bits=350
        )
        self.assertEqual(cut.shape, (3, 2, 350))
        with self.assert_refuses("no order of the columns of 4 bits"):
            cudaphy.demap(x, n, "qam16", bit_interleaver="012")


if __name__ == "__main__":
    main()
