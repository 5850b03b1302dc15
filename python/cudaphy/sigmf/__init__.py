# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings in SigMF (https://sigmf.org, versions 1.0 to 1.2) as numpy arrays;
sigmf.blocks has the blocks.

Samples are complex64, of any of SigMF's datatypes: integers are numbers of full scale 1, and real
samples have no imaginary part. Where there are several channels, such as a receiver's antennas, the data
hold a sample of each in turn. A capture's frequency and time are the tags rx_freq and rx_time on its
first sample; an annotation with the packet's label is a packet, which carries a length tag.

A recording is named by either of its files, without a suffix, or by an archive (x.sigmf), which is read
where it stands; where that has several recordings, as x.sigmf/NAME."""

import contextlib
import os
import warnings

import numpy as np

from .files import SigmfError, extent, paths_of, replacing, shown  # noqa: F401
from .files import write_all
from .formats import COMPLEX_FORMATS, FORMATS, text_of, time_of  # noqa: F401
from .growing import about_recording, capture_entry, packet_entry, whole_text
from .reader import MOST_CHANNELS, PACKET_LABEL, capture, files_of
from .reader import read_recording, recording, samples_of  # noqa: F401


def read_metadata(path, packet_label=PACKET_LABEL):
    """The recording that a file describes, checked against its data file.

    Raises SigmfError for a file that is missing, cut short or no SigMF, for a datatype that is not SigMF's,
    and for metadata that contradict the data. Warns of a time before 1970, for which there is no tag, of a
    time without a zone, of samples before core:offset, and of a recording that was never finished.
    """
    found = read_recording(files_of(path), packet_label)
    for remark in found.remarks:
        warnings.warn(remark, stacklevel=2)
    return found


def read_samples(path):
    """(complex64 samples, of shape (channels, samples) if there are several channels; the recording). Raises
    SigmfError and warns like read_metadata."""
    found = read_recording(files_of(path))
    for remark in found.remarks:
        warnings.warn(remark, stacklevel=2)
    return samples_of(found), found


def checked_channels(channels):
    if not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"channels {channels} is not in 1 to {MOST_CHANNELS}")
    return int(channels)


def checked_type(datatype):
    """The format of a datatype of complex samples. Raises ValueError."""
    if datatype not in COMPLEX_FORMATS:
        raise ValueError(
            f"datatype {shown(datatype)} is none of {', '.join(COMPLEX_FORMATS)}"
        )
    return FORMATS[datatype]


class _as_written:
    """The recording that is about to be written, for the reader to check."""

    def __init__(self, meta, data, size):
        self.name, self.locked = str(meta), [meta]
        self._extent = extent(data, 0, size, str(data))

    def data(self, name=None):
        return self._extent


def write_samples(
    path,
    samples,
    sample_rate=None,
    datatype="cf32_le",
    captures=(),
    packets=(),
    packet_label=PACKET_LABEL,
    **about,
):
    """Writes complex samples (samples) or (channels, samples), and their metadata; `about` are texts such
    as description, author, hw. Returns the number of real and imaginary parts that were beyond full scale
    and clipped.

    Raises OSError if the files can't be written, and ValueError if captures and packets contradict the
    samples or are not in order. Then a recording of that name stays unchanged.
    """
    form = checked_type(datatype)
    meta, data = paths_of(path)
    samples = np.atleast_2d(samples)
    channels = checked_channels(len(samples))
    raw, clipped = form.from_samples(samples.T.ravel())
    described = about_recording(datatype, channels, sample_rate, about)
    lines = [capture_entry(one) for one in captures or [capture(0)]]
    notes = [packet_entry(start, count, packet_label) for start, count in packets]
    content = {"global": described, "captures": lines, "annotations": notes}
    read_recording(_as_written(meta, data, raw.nbytes), packet_label, content)
    text = whole_text(described, lines, notes)
    with replacing(meta) as new_meta, replacing(data) as new_data:
        write_all(new_data, raw.view(np.uint8), 0)
        write_all(new_meta, text, 0)
        # The data are replaced first: old metadata would lie about them.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(meta))
    return clipped
