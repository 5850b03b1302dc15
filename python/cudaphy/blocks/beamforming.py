# SPDX-License-Identifier: GPL-3.0-or-later
"""Beamforming: the blocks around the inverse of a sample covariance matrix."""

import math

import numpy as np
import pmt
from gnuradio import gr

from ..whole_numbers import whole_between
from .block_guard import guarded


def _vectors(elements):
    """The type of items with so many elements."""
    return np.complex64 if elements == 1 else (np.complex64, elements)


@guarded
class array_covariance(gr.basic_block):
    """Sample covariance matrices of an antenna array, for Symmetric Inverse.

    In: snapshots, vectors of `elements` complex, one sample of each antenna. Out: for each `snapshots` of them
    the `elements` rows of R = sum x x^H / snapshots + loading I, Hermitian to the last bit, as a packet. Snapshots
    that remain at the end of the stream are dropped. With fewer snapshots than elements R has no inverse without
    loading; with K snapshots of Gaussian signals the weights from its inverse lose a factor (K - N + 2) / (K + 1)
    of the best output SINR on average (Reed, Mallett and Brennan, IEEE Trans. Aerosp. Electron. Syst. 10(6),
    1974), if the wanted signal was silent. NaN and infinity make a matrix of them, and harm no other.

    Args:
        elements: N, 1 to 1024
        snapshots: K, 1 to 2^30
        loading: added to the diagonal, linear, at least 0
        length_tag_key: names the tag with a packet's length, `elements`, on each matrix' first row; empty: none

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self, elements=16, snapshots=64, loading=0.0, length_tag_key="packet_len"
    ):
        self._elements = whole_between("elements", elements, 1, 1024)
        self._snapshots = whole_between("snapshots", snapshots, 1, 1 << 30)
        self._key = pmt.intern(length_tag_key) if length_tag_key else None
        items = [_vectors(self._elements)]
        gr.basic_block.__init__(
            self, name="array_covariance", in_sig=items, out_sig=items
        )
        self.set_loading(loading)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_relative_rate(self._elements, self._snapshots)

    def set_loading(self, loading):
        """Sets what is added to the diagonal, from the next matrix on."""
        if not 0 <= loading < math.inf:
            raise ValueError(f"loading {loading} is not finite and at least 0")
        self._loading = float(loading)

    def start(self):
        self._sum = np.zeros((self._elements, self._elements), np.complex128)
        self._summed = 0
        self._rows = np.zeros((0, self._elements), np.complex64)  # rows not put out yet
        return super().start()

    def forecast(self, noutput_items, ninputs):
        return [0 if len(self._rows) else 1] * ninputs

    def general_work(self, input_items, output_items):
        snapshots = input_items[0].reshape(-1, self._elements)
        out = output_items[0].reshape(-1, self._elements)
        taken = made = 0
        while made < len(out):
            if not len(self._rows):
                piece = min(self._snapshots - self._summed, len(snapshots) - taken)
                x = snapshots[taken : taken + piece].astype(np.complex128)
                with np.errstate(invalid="ignore", over="ignore"):
                    self._sum += x.T @ x.conj()
                self._summed += piece
                taken += piece
                if self._summed < self._snapshots:
                    break
                self._rows = self._matrix()
                if self._key is not None:
                    where = self.nitems_written(0) + made
                    length = pmt.from_long(self._elements)
                    self.add_item_tag(0, where, self._key, length)
            piece = min(len(self._rows), len(out) - made)
            out[made : made + piece] = self._rows[:piece]
            self._rows = self._rows[piece:]
            made += piece
        self.consume(0, taken)
        return made

    def _matrix(self):
        """The covariance of the snapshots summed up. The sum then begins anew."""
        with np.errstate(invalid="ignore", over="ignore"):
            r = self._sum / self._snapshots + self._loading * np.eye(self._elements)
            lower = np.tril(r, -1).astype(np.complex64)
            diagonal = np.diag(r.diagonal().real).astype(np.complex64)
            if not np.isfinite(self._sum).all():
                lower[:], diagonal = 0, np.full_like(lower, np.nan)
        self._sum[:], self._summed = 0, 0
        return lower + diagonal + lower.conj().T


@guarded
class mvdr_weights(gr.decim_block):
    """Weights of the minimum-variance distortionless-response beamformer, from inverses of covariance matrices.

    In: rows of R^-1, vectors of `elements` complex, as Symmetric Inverse puts them out. Out: for each matrix one
    vector w = R^-1 a / (a^H R^-1 a) with the steering vector a (Capon, Proc. IEEE 57(8), 1969): the beam
    w^H x passes what comes from there unchanged, and of all such it has the least power. Where the matrix has no
    inverse (its rows are zeros, or the denominator is not positive and finite) the weights are zeros: the first
    such matrix of a run is logged, and failures() counts all.

    Tags of a matrix' rows go to its weights, all but the length.

    Args:
        steering: a, what the antennas see of a wanted signal of amplitude 1; 1 to 1024 complex, not all 0
        length_tag_key: names the tag with a packet's length, which ends here; empty: none

    Raises:
        ValueError: steering is empty, too long, zero or not finite.
    """

    def __init__(self, steering, length_tag_key="packet_len"):
        self._elements = len(steering)
        self._key = pmt.intern(length_tag_key)
        self._failures = 0
        self.set_steering(steering)
        rows = [_vectors(self._elements)]
        gr.decim_block.__init__(self, "mvdr_weights", rows, rows, self._elements)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def set_steering(self, steering):
        """Sets the steering vector, of the same length, for the next call of work on."""
        a = np.array(steering, np.complex128).ravel()
        if len(a) != self._elements or not 1 <= len(a) <= 1024:
            raise ValueError(
                f"steering has {len(a)} elements, must have {self._elements}, 1 to 1024"
            )
        if not (np.isfinite(a).all() and a.any()):
            raise ValueError(
                "steering has an element that is not finite, or is all zeros"
            )
        self._steering = a

    def start(self):
        self._failures = 0
        return super().start()

    def failures(self):
        """Matrices of this run that had no inverse, and so have weights of zeros."""
        return self._failures

    def work(self, input_items, output_items):
        n, a = self._elements, self._steering
        out = output_items[0].reshape(-1, n)
        inverses = input_items[0][: len(out) * n].reshape(-1, n, n)
        with np.errstate(all="ignore"):
            w = inverses.astype(np.complex128) @ a
            gain = (w @ a.conj()).real
            w /= gain[:, None]
        bad = ~(np.isfinite(w).all(1) & (gain > 0) & np.isfinite(gain))
        w[bad] = 0
        out[:] = w
        if bad.any() and not self._failures:
            gr.logger(self.alias()).warn(
                f"matrix {self.nitems_written(0) + int(bad.argmax())} has no inverse: its weights are zeros; "
                "it takes as many snapshots as there are elements, or loading (logged once a run)"
            )
        self._failures += int(bad.sum())
        first, last = self.nitems_read(0), self.nitems_read(0) + len(out) * n
        for tag in self.get_tags_in_range(0, first, last):
            if not pmt.eqv(tag.key, self._key):
                self.add_item_tag(0, tag.offset // n, tag.key, tag.value)
        return len(out)
