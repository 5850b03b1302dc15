#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slots of PUSCH and PDSCH by the steps of the standard, their arguments, and OFDM."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

nr5g = cudaphy.nr5g


def gold(c_init, count):
    """c(n) as TS 38.211, 5.2.1, writes it."""
    x, y = np.zeros(count + 1631, np.uint8), np.zeros(count + 1631, np.uint8)
    x[0] = 1
    y[:31] = [c_init >> i & 1 for i in range(31)]
    for n in range(count + 1600):
        x[n + 31] = x[n + 3] ^ x[n]
        y[n + 31] = y[n + 3] ^ y[n + 2] ^ y[n + 1] ^ y[n]
    return (x ^ y)[1600 : 1600 + count]


def decided(symbols, order):
    """Bits of QPSK and pi/2-BPSK."""
    if order == 1:
        turns = np.where(np.arange(symbols.size) % 2, -1j, 1)
        return ((symbols * turns).real < 0).astype(np.uint8)
    return np.stack([symbols.real < 0, symbols.imag < 0], -1).reshape(-1).astype(np.uint8)


def received(channel, codeword, layers, redundancy_version=0):
    """The payload in a codeword's symbols (layers, data): descrambled, and decoded."""
    order = channel.modulation_order[codeword]
    bits = decided(layers.T.reshape(-1), order)
    bits ^= gold(channel.scrambling_c_init[codeword], bits.size)
    block = nr5g.transport_block(
        channel.tbs[codeword],
        channel.code_rate[codeword],
        layers=layers.shape[0],
        modulation_order=order,
        backend=BACKEND,
    )
    return block.decode((4 - 8.0 * bits).astype(np.float32), redundancy_version)[:2]


def random_bits(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2, count, np.uint8)


def data_of(channel, grid):
    return grid.reshape(grid.shape[0], -1)[:, channel.data_elements]


class qa_nr_shared_channel(unittest.TestCase):
    def test_two_codewords_are_decoded_from_eight_layers(self):
        for layers in (5, 6, 7, 8):
            channel = cudaphy.nr_shared_channel(
                "pdsch", layers=layers, dmrs_length=2, mcs=(3, 7), n_id=77, grid_size=20
            )
            bits = f"{channel.tbs[0]} + {channel.tbs[1]} bits"
            self.assertEqual(repr(channel), f"PDSCH, {layers} layers, {bits}")
            blocks = [random_bits(channel.tbs[i], i) for i in range(2)]
            grid = cudaphy.nr_pdsch_transmit(channel, blocks, 5, (0, 2), backend=BACKEND)
            data, split = data_of(channel, grid), layers // 2
            for i, part in enumerate((data[:split], data[split:])):
                bits, ok = received(channel, i, part, (0, 2)[i])
                self.assertTrue(ok)
                np.testing.assert_array_equal(bits, blocks[i])

    def test_interleaved_blocks_carry_the_transport_block_in_virtual_order(self):
        for bundle in (2, 4):
            channel = cudaphy.nr_shared_channel(
                "pdsch",
                grid_size=60,
                bwp_start=3,
                bwp_size=51,
                prbs=(4, 30),
                vrb_bundle=bundle,
                ptrs=True,
            )
            payload = np.packbits(random_bits(channel.tbs[0])).tobytes()
            grid = cudaphy.nr_pdsch_transmit(channel, payload, backend=BACKEND)
            bits, ok = received(channel, 0, data_of(channel, grid))
            self.assertTrue(ok)
            self.assertEqual(np.packbits(bits).tobytes(), payload)

    def test_transform_precoding_spreads_each_symbol(self):
        for pi2_bpsk, mcs in ((True, 1), (False, 0), (False, 5)):
            channel = cudaphy.nr_shared_channel(
                "pusch",
                transform_precoding=True,
                mcs_table="transform_qam64",
                pi2_bpsk=pi2_bpsk,
                prbs=(7, 20),
                mcs=mcs,
                dmrs_additional_position=2,
            )
            payload = random_bits(channel.tbs[0])
            grid = cudaphy.nr_pusch_transmit(channel, payload, 3, backend=BACKEND)
            # y(k) = sum of x(i) e^(-j 2 pi i k / M) / sqrt(M) (6.3.1.4), undone.
            spread = data_of(channel, grid).reshape(-1, 240)
            symbols = np.fft.ifft(spread, axis=1) * np.sqrt(240)
            np.testing.assert_allclose(abs(symbols), 1, atol=1e-5)
            bits, ok = received(channel, 0, symbols.reshape(1, -1))
            self.assertTrue(ok)
            np.testing.assert_array_equal(bits, payload)

    def test_dmrs_of_transform_precoding_hops_as_configured(self):
        options = dict(
            transform_precoding=True,
            mcs_table="transform_qam64",
            n_rs_id=123,
            prbs=(0, 48),
        )

        def values(hopping, slot):
            channel = cudaphy.nr_shared_channel("pusch", hopping=hopping, **options)
            return channel.dmrs(slot)[2]

        fixed = values("neither", 0)
        np.testing.assert_allclose(abs(fixed), 1, atol=1e-6)
        np.testing.assert_array_equal(fixed, values("neither", 7))
        for hopping in ("group", "sequence"):
            differ = [abs(values(hopping, slot) - fixed).max() > 0.1 for slot in range(8)]
            self.assertTrue(any(differ))

    def test_a_codebook_weights_data_and_dmrs_alike(self):
        options = dict(layers=2, mcs=4, grid_size=10)
        plain = cudaphy.nr_shared_channel("pusch", **options)
        coded = cudaphy.nr_shared_channel("pusch", antenna_ports=4, tpmi=17, **options)
        payload = random_bits(plain.tbs[0])
        layers = cudaphy.nr_pusch_transmit(plain, payload, backend=BACKEND)
        ports = cudaphy.nr_pusch_transmit(coded, payload, backend=BACKEND)
        expected = np.tensordot(coded.precoding, layers, 1)
        np.testing.assert_allclose(ports, expected, atol=1e-6)

    def test_limited_buffers_change_what_is_sent_again(self):
        limit = cudaphy.nr_limited_buffer(20, 1, 6)
        options = dict(grid_size=100, mcs=9)
        whole = cudaphy.nr_shared_channel("pdsch", **options)
        limited = cudaphy.nr_shared_channel("pdsch", limited_buffer=limit, **options)
        self.assertEqual(whole.tbs, limited.tbs)
        payload = random_bits(whole.tbs[0])
        # The first transmission ends before the limit.
        for version, same in ((0, True), (2, False)):
            grids = [
                cudaphy.nr_pdsch_transmit(one, payload, 0, version, backend=BACKEND)
                for one in (whole, limited)
            ]
            self.assertEqual((grids[0] == grids[1]).all(), same)

    def test_reserved_elements_stay_empty(self):
        reserved = np.zeros((14, 120), bool)
        reserved[5, 10:40] = reserved[9] = True
        channel = cudaphy.nr_shared_channel("pdsch", grid_size=10, reserved=reserved)
        payload = random_bits(channel.tbs[0])
        grid = cudaphy.nr_pdsch_transmit(channel, payload, backend=BACKEND)
        self.assertFalse(grid[:, reserved].any())
        self.assertTrue(received(channel, 0, data_of(channel, grid))[1])

    def test_wrong_arguments_are_named(self):
        make = cudaphy.nr_shared_channel
        channel = make("pusch", grid_size=4)
        payload = random_bits(channel.tbs[0])
        send = cudaphy.nr_pusch_transmit
        for wrong, kind, text in (
            (lambda: make("pucch"), ValueError, "pusch"),
            (lambda: make("pusch", layers=1.5), TypeError, "layers"),
            (lambda: make("pusch", layers=2**40), ValueError, "layers"),
            (lambda: make("pusch", layers=-3), ValueError, "6.3.1.3"),
            (lambda: make("pusch", prbs=(50, 3)), ValueError, "6.1.2.2.2"),
            (lambda: make("pusch", grid_size=2**31 - 1), ValueError, "4.4.5"),
            (lambda: make("pusch", grid_start=2**31 - 1), ValueError, "4.4.2"),
            (lambda: make("pusch", symbols=2**31 - 1), ValueError, "6.1.2.1-1"),
            (lambda: make("pusch", rbg_bitmap="1"), ValueError, "5.1.2.2.1"),
            (lambda: make("pusch", mapping_type=""), ValueError, "mapping_type"),
            (lambda: make("pusch", mcs_table="x"), ValueError, "5.1.3.1"),
            (lambda: make("pusch", hopping="x"), ValueError, "6.4.1.1.1.2"),
            (lambda: make("pusch", dmrs_amplitude=np.nan), ValueError, "amplitude"),
            (lambda: make("pusch", dmrs_ports="ab"), TypeError, "dmrs_ports"),
            (lambda: make("pusch", reserved=[2]), ValueError, "reserved"),
            (lambda: make("pusch", reserved=np.eye(14)), ValueError, "reserved"),
            (lambda: send(channel, payload[1:]), ValueError, "5.1.3.2"),
            (lambda: send(channel, payload, 20), ValueError, "4.3.2"),
            (lambda: send(channel, payload, -1), ValueError, "4.3.2"),
            (lambda: send(channel, payload, 0, 4), ValueError, "redundancy"),
            (lambda: send(3, payload), TypeError, "nr_shared_channel"),
            (lambda: cudaphy.nr_pdsch_transmit(channel, payload), ValueError, "pdsch"),
        ):
            with self.assertRaisesRegex(kind, text):
                wrong()


class qa_nr_ofdm(unittest.TestCase):
    def test_a_demodulator_gets_back_the_grid(self):
        rng = np.random.default_rng(3)
        for numerology in range(5):
            for extended in (False, True) if numerology == 2 else (False,):
                for slot in (0, 1, 2**numerology - 1, 10 * 2**numerology - 1):
                    shape = (2, 3 * (12 if extended else 14), 132)
                    grid = (rng.normal(size=shape + (2,)) @ [1, 1j]).astype(np.complex64)
                    options = dict(
                        numerology=numerology,
                        slot=slot,
                        fft_size=256,
                        extended_prefix=extended,
                        carrier_frequency=3.3e9,
                        middle=-9,
                    )
                    samples = cudaphy.nr_ofdm_modulate(grid, window=6, **options)
                    for advance in (0, 7):
                        got = cudaphy.nr_ofdm_demodulate(
                            samples, 132, slots=3, advance=advance, **options
                        )
                        np.testing.assert_allclose(got, grid, atol=3e-5)

    def test_samples_are_the_sum_of_the_standard(self):
        # 5.3.1 and 5.4 by hand, symbol 7 of slot 1 with 30 kHz, which is no long one; 14 of the subframe is.
        size, k0 = 128, 5
        grid = np.zeros((28, 24), np.complex64)
        grid[0, 3], grid[21, 20] = 1 + 2j, 1j
        frequency = 1.234567e9
        samples = cudaphy.nr_ofdm_modulate(
            grid, 1, fft_size=size, carrier_frequency=frequency, middle=k0
        )
        rate = 30e3 * size
        lengths = [9 + 2 * (number in (0, 14)) for number in range(28)]
        starts = np.cumsum([0] + [length + size for length in lengths])
        self.assertEqual(samples.size, starts[-1])
        expected = np.zeros(samples.size, complex)
        for number, k in ((0, 3), (21, 20)):
            n = np.arange(-lengths[number], size)
            wave = np.exp(2j * np.pi * (k + k0 - 12) * n / size) / np.sqrt(size)
            useful = (starts[number] + lengths[number]) / rate
            wave = wave * np.exp(-2j * np.pi * frequency * useful)
            expected[starts[number] : starts[number + 1]] = grid[number, k] * wave
        np.testing.assert_allclose(samples, expected, atol=1e-6)

    def test_a_window_lowers_what_lies_beside_the_grid(self):
        grid = np.exp(
            2j * np.pi * np.random.default_rng(4).random((14, 120))
        )  # unit amplitude
        beside = []
        for window in (0, 16):
            samples = cudaphy.nr_ofdm_modulate(grid, fft_size=512, window=window)
            spectrum = np.abs(np.fft.fft(samples[: 13 * 548] * np.hanning(13 * 548))) ** 2
            beside.append(spectrum[len(spectrum) // 4 : 3 * len(spectrum) // 4].sum())
        self.assertLess(beside[1], beside[0] / 20)

    def test_wrong_arguments_are_named(self):
        modulate, demodulate = cudaphy.nr_ofdm_modulate, cudaphy.nr_ofdm_demodulate
        grid = np.zeros((14, 24), np.complex64)
        for wrong, text in (
            (lambda: modulate(grid, 5), "4.2"),
            (lambda: modulate(grid, fft_size=130), "128"),
            (lambda: modulate(grid, fft_size=0), "fft_size"),
            (lambda: modulate(grid[:13]), "whole slots"),
            (lambda: modulate(grid, slot=20), "4.3.2"),
            (lambda: modulate(grid, slot=-1), "4.3.2"),
            (lambda: modulate(grid, window=10), "window"),
            (lambda: modulate(grid, carrier_frequency=np.inf), "carrier_frequency"),
            (lambda: modulate(grid[0]), "shape"),
            (lambda: modulate(grid[:, :0]), "subcarriers"),
            (lambda: demodulate(np.zeros(7), 24), "samples"),
            (lambda: demodulate(np.zeros(7), 24, slots=-1), "slots"),
            (lambda: demodulate(np.zeros(7), 4000), "subcarriers"),
            (lambda: demodulate(modulate(grid), 24, advance=10), "advance"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                wrong()
        self.assertEqual(modulate(grid[:0]).shape, (0,))
        self.assertEqual(modulate(np.zeros((0, 14, 24))).shape[0], 0)


if __name__ == "__main__":
    main()
