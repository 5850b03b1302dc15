# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the tests of the blocks of PUSCH and PDSCH: messages, and flowgraphs of one block."""

import time

import numpy as np
import pmt
from gnuradio import cudaphy, gr

from . import BACKEND, FlowgraphCase, Sink, Source, gaussian, packet_tags

SMALL = dict(grid_size=6, mcs=5, dmrs_additional_position=1)


def channel(link="pusch", **more):
    return cudaphy.nr_shared_channel(link, **{**SMALL, **more})


def message(**items):
    made = pmt.make_dict()
    for key, value in items.items():
        made = pmt.dict_add(made, pmt.intern(key), pmt.to_pmt(value))
    return made


def pdu(payload, **items):
    return pmt.cons(message(**items), pmt.init_u8vector(len(payload), list(payload)))


def taken_apart(one):
    """(metadata as a dict, payload)"""
    metadata = {}
    items = pmt.dict_items(pmt.car(one))
    while not pmt.is_null(items):
        pair = pmt.car(items)
        metadata[pmt.symbol_to_string(pmt.car(pair))] = pmt.to_python(pmt.cdr(pair))
        items = pmt.cdr(items)
    return metadata, bytes(pmt.u8vector_elements(pmt.cdr(one)))


def status_of(one):
    return taken_apart(pmt.cons(one, pmt.init_u8vector(0, [])))[0]


class Mailbox(gr.basic_block):
    """Keeps the messages of several ports; posts messages."""

    def __init__(self, *ports):
        gr.basic_block.__init__(self, "mailbox", None, None)
        self.got = {name: [] for name in ports}
        for name in ports:
            self.message_port_register_in(pmt.intern(name))
            # GNU Radio finds the method by its name.
            self.set_msg_handler(pmt.intern(name), getattr(self, f"take_{name}"))

    def take_ok(self, one):
        self.got["ok"].append(one)

    def take_fail(self, one):
        self.got["fail"].append(one)

    def take_status(self, one):
        self.got["status"].append(one)

    def wait(self, count, seconds=8):
        ends = time.monotonic() + seconds
        while sum(map(len, self.got.values())) < count and time.monotonic() < ends:
            time.sleep(0.01)


def post(block, port, one):
    block.to_basic_block()._post(pmt.intern(port), one)


def end(block):
    post(block, "system", pmt.cons(pmt.intern("done"), pmt.from_long(1)))


def payloads(of, count, seed=1):
    chance = np.random.default_rng(seed)
    return [chance.bytes(sum(of.tbs) // 8) for _ in range(count)]


class NrBlockCase(FlowgraphCase):
    def sent(self, make, messages, ports=1):
        """(block, sinks, failed) of what a transmitter makes of messages."""
        block = make
        sinks = [Sink("complex64") for _ in range(ports)]
        box = Mailbox("fail")
        top = gr.top_block()
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        top.msg_connect(block, "fail", box, "fail")
        for one in messages:
            post(block, "pdus", one)
        end(block)
        self.run_flowgraph(top)
        return block, sinks, [taken_apart(one) for one in box.got["fail"]]

    def received(self, grids, channels, tags=(), messages=(), **options):
        """(block, ok, fail) of a receiver; grids (slots, antennas, symbols, subcarriers)."""
        link = np.ravel(channels)[0].link
        make = getattr(cudaphy, f"nr_{link}_receiver")
        antennas = grids.shape[1]
        block = make(channels, antennas, backend=BACKEND, **options)
        box = Mailbox("ok", "fail")
        top = gr.top_block()
        lengths = packet_tags([grids[0, 0].size] * len(grids))
        for antenna in range(antennas):
            source = Source(grids[:, antenna].ravel(), [*lengths, *tags])
            top.connect(source.block, (block, antenna))
        for port in box.got:
            top.msg_connect(block, port, box, port)
        for one in messages:
            post(block, "schedule", one)
        self.run_flowgraph(top)
        box.wait(block.frames())
        return block, *([taken_apart(m) for m in box.got[p]] for p in ("ok", "fail"))

    def grids_of(self, of, blocks, slots=None, versions=None, noise=0.0):
        send = getattr(cudaphy, f"nr_{of.link}_transmit")
        made = [
            send(of, one, slots[n] if slots else n, versions[n] if versions else 0)
            for n, one in enumerate(blocks)
        ]
        made = np.array(made)
        return made + np.complex64(noise**0.5) * gaussian(made.shape, 7)
