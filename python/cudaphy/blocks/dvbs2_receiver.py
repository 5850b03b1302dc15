# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a DVB-S2 or S2X signal to its transport stream."""

import threading
import time

import pmt
from gnuradio import gr

from .. import cudaphy_python as _native
from ..dvbs2 import ALGORITHM, ITERATIONS, VL_SNR_AVERAGING, bch_code_of
from ..dvbs2 import dvbs2_modes, ldpc_code_of, llr_steps_of
from .block_guard import guarded

KEY = "packet_len"
PATIENCE = 5  # seconds without a frame, after which the receiver says why
_ITEMS = {
    "complex": gr.sizeof_gr_complex,
    "sc16": 2 * gr.sizeof_short,
    "sc8": 2 * gr.sizeof_char,
}


@guarded
class _status(gr.basic_block):
    """Publishes once a second how the receiver does, and says in the log if it receives nothing."""

    def __init__(self, receiver):
        gr.basic_block.__init__(self, "dvbs2_receiver", None, None)
        self._receiver = receiver
        for port in ("symbols", "frames"):  # connections make this block run
            self.message_port_register_in(pmt.intern(port))
            self.set_msg_handler(pmt.intern(port), lambda message: None)
        self._out = pmt.intern("status")
        self.message_port_register_out(self._out)
        self._end = threading.Event()
        self._thread = None

    def start(self):
        self._end.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return super().start()

    def stop(self):
        self._end.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        return super().stop()

    def _run(self):
        before = self._receiver.status()
        idle = 0
        then = time.monotonic()
        while not self._end.wait(1):
            now, status = time.monotonic(), self._receiver.status()
            seconds, then = now - then, now
            bits = 1504 * (status["transport_packets"] - before["transport_packets"])
            published = {**status, "transport_rate": bits / seconds}
            self.message_port_pub(self._out, pmt.to_pmt(published))
            came = status["symbols"] != before["symbols"]
            heard = status["frames"] != before["frames"]
            idle = 0 if heard or not came else idle + seconds
            if idle >= PATIENCE:
                self._receiver.advise(self.logger)
                idle = -11 * PATIENCE  # at most once a minute
            before = status


class dvbs2_receiver(gr.hier_block2):
    """Receives DVB-S2 and DVB-S2X: samples in, a transport stream out.

    In: samples of one carrier, of type "complex", "sc16" (pairs of int16) or "sc8" (pairs of int8), at
    samples_per_symbol, 1.5 to 16, any real number. Out: bytes, whole transport packets of 188 each.

    Only symbol rate and roll_off must be known. Timing, gain, the carrier (off by most_offset symbol
    rates or less, at most 0.25), MODCOD, frame size and pilots are found; they may change from frame to
    frame (CCM, VCM, ACM). Dummy frames are skipped. The blocks: Symbol Sync, DVB-S2 Frame Sync, Soft
    Demapper, LDPC Decoder, BCH Decoder, Baseband Deframer.

    gold_code: of the physical layer scrambling, 0 to 262142. modes: PLS codes of the frames that are
    received, as dvb_mode has them; none: all of S2, and with extended=True all of S2X too. vl_snr: receive
    VL-SNR frames of S2X too, at an Es/N0 down to -10 dB; any of modes that is one, 256 and more, implies it.
    averaging: symbols that Symbol Sync estimates an instant from; 0: 1536 / roll_off, and with vl_snr 131072:
    the clock must be that steady, and below -6 dB the carrier must be off by 0.05 or less. isi: the input stream whose transport packets are put out, 0 to 255; None: the first that comes. gse: whether
    continuous generic streams are GSE. iterations: of the LDPC decoder, at most. algorithm: of the LDPC
    decoder: "normalized_min_sum", "offset_min_sum" or "sum_product", which is slow. sample_rate: in Hz,
    for `rx_time` if no `rx_rate` comes; 0: none. backend: "auto", "cuda", "cpu" or "reference"; device:
    index of the GPU.

    Message ports: status, a dictionary once a second: locked, modcod, esn0 (dB), frequency (symbol
    rates), clock_error (ppm), line, symbols, frames, dummy_frames, frame_errors, frame_error_rate,
    transport_packets, transport_rate (bit/s). packets: PDUs of generic streams, such as IP packets in
    GSE; frames: BBFRAMEs as PDUs. Message port samples_per_symbol changes the symbol rate.
    If no frame is found for five seconds, the log says why.

    Raises ValueError for a parameter out of range, BackendUnavailable. (ETSI EN 302 307-1 and -2.)
    """

    def __init__(
        self,
        samples_per_symbol,
        roll_off=0.2,
        type="complex",
        gold_code=0,
        modes=(),
        extended=False,
        isi=None,
        gse=True,
        iterations=ITERATIONS,
        algorithm=ALGORITHM,
        most_offset=0.25,
        sample_rate=0,
        backend="auto",
        device=0,
        vl_snr=False,
        averaging=0,
    ):
        if type not in _ITEMS:
            raise ValueError(f'type "{type}" is none of {", ".join(_ITEMS)}')
        gr.hier_block2.__init__(
            self,
            "dvbs2_receiver",
            gr.io_signature(1, 1, _ITEMS[type]),
            gr.io_signature(1, 1, gr.sizeof_char),
        )
        where = {"backend": backend, "device": device}
        steps = llr_steps_of(backend, device)
        wanted = dvbs2_modes(modes, extended, vl_snr)
        vl_snr = vl_snr or any(mode.is_vl_snr for mode in wanted)
        self._symbols = _native.symbol_sync(
            samples_per_symbol,
            roll_off,
            type,
            averaging=averaging or (VL_SNR_AVERAGING if vl_snr else 0),
            most_offset=most_offset,
            sample_rate=sample_rate,
            **where,
        )
        self._frames = _native.dvbs2_frame_sync(
            gold_code, [mode.pls for mode in wanted], KEY, 0.25, vl_snr, **where
        )
        constellations = {mode.constellation for mode in wanted} - {"dvbs2_qpsk"}
        self._demapper = _native.soft_demapper(
            "dvbs2_qpsk",
            type="int8",
            llr_steps=steps,
            length_tag_key=KEY,
            constellation_tag_key="constellation",
            constellations=sorted(constellations),
            **where,
        )
        codes = {mode.code: mode for mode in wanted}
        ldpc = {name: ldpc_code_of(mode) for name, mode in codes.items()}
        self._ldpc = _native.ldpc_decoder(
            next(iter(ldpc.values())),
            iterations,
            algorithm=algorithm,
            length_tag_key=KEY,
            type="int8",
            llr_scale=1 / steps,
            packed=True,
            word_tags="failed",
            codes=ldpc,
            **where,
        )
        bch = {name: bch_code_of(mode) for name, mode in codes.items()}
        self._bch = _native.bch_decoder(
            next(iter(bch.values())),
            length_tag_key=KEY,
            packed_input=True,
            packed_output=True,
            word_tags="failed",
            codes=bch,
            **where,
        )
        self._deframer = _native.bb_deframer(0, isi, gse, True, KEY)
        self.connect(
            self,
            self._symbols,
            self._frames,
            self._demapper,
            self._ldpc,
            self._bch,
            self._deframer,
            self,
        )
        self._advice = ""
        self._status = _status(self)
        for port in ("status", "packets", "frames"):
            self.message_port_register_hier_out(port)
        self.message_port_register_hier_in("samples_per_symbol")
        self.msg_connect(self, "samples_per_symbol", self._symbols, "samples_per_symbol")
        self.msg_connect(self._symbols, "status", self._status, "symbols")
        self.msg_connect(self._frames, "status", self._status, "frames")
        self.msg_connect(self._status, "status", self, "status")
        self.msg_connect(self._deframer, "packets", self, "packets")
        self.msg_connect(self._deframer, "frames", self, "frames")

    def set_samples_per_symbol(self, samples_per_symbol):
        """From the next sample on. Raises ValueError if it is out of range."""
        self._symbols.set_samples_per_symbol(samples_per_symbol)

    def backend(self):
        """The backend in use."""
        return self._ldpc.backend()

    def status(self):
        """How reception goes, as a dict with the keys of the messages, but transport_rate."""
        sync, frames, bch = self._symbols, self._frames, self._bch
        counts, words = self._deframer.counts(), bch.frames()
        return {
            "locked": frames.locked(),
            "modcod": frames.modcod(),
            "esn0": frames.esn0(),
            "frequency": frames.frequency(),
            "clock_error": sync.clock_error(),
            "line": sync.line(),
            "symbols": sync.symbols(),
            "frames": frames.frames(),
            "dummy_frames": frames.dummy_frames(),
            "frame_errors": bch.frame_errors(),
            "frame_error_rate": bch.frame_errors() / words if words else 0.0,
            "transport_packets": counts["transport_packets"],
        }

    def advice(self):
        """Why nothing is received, as the log said last; empty if there was no need."""
        return self._advice

    def advise(self, logger):
        """Finds out why nothing is received, and says so in the log."""
        self._advice = self._why_nothing()
        logger.warn(self._advice)

    def _why_nothing(self):
        rate = self._symbols.samples_per_symbol()
        if not self._symbols.locked():
            return (
                f"no DVB-S2 frame for {PATIENCE} s: there is no symbol rate of {rate:.3f} samples a symbol; "
                "Symbol Sync names the one that there is"
            )
        return (
            f"no DVB-S2 frame for {PATIENCE} s, though there are symbols of {rate:.4f} samples each: check "
            "roll_off, gold_code and modes; is it a signal of DVB-S2?"
        )
