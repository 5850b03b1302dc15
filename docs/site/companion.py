# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks as GNU Radio Companion sees them, by its own code and without a display."""

import logging
import os
import tempfile
from pathlib import Path

import yaml
from gnuradio import gr

GRC = Path(__file__).resolve().parents[2] / "grc"
# What a parameter without a default is set to, so that the block's ports can be drawn.
EXAMPLES = {
    "code": ("variable_cudaphy_ldpc_code", {}),
    "bch": ("variable_cudaphy_bch_code", {}),
    "pusch": ("variable_cudaphy_nr_shared_channel", {}),
    "pdsch": ("variable_cudaphy_nr_shared_channel", {"link": '"pdsch"'}),
    "room": ("variable_cudaphy_fdtd_scene", {}),
}
VALUES = {
    "cudaphy_ldpc_encoder": {"code": "code"},
    "cudaphy_ldpc_decoder": {"code": "code"},
    "cudaphy_ldpc_encoder_pdu": {"code": "code"},
    "cudaphy_ldpc_decoder_pdu": {"code": "code"},
    "cudaphy_mimo_receiver": {"code": "code"},
    "variable_cudaphy_ldpc_encoder_def": {"code": "code"},
    "variable_cudaphy_ldpc_decoder_def": {"code": "code"},
    "cudaphy_bch_encoder": {"code": "bch"},
    "cudaphy_bch_decoder": {"code": "bch"},
    "cudaphy_nr_pdsch_receiver": {"channels": "pdsch"},
    "cudaphy_nr_pdsch_transmitter": {"channel": "pdsch"},
    "cudaphy_nr_pusch_receiver": {"channels": "pusch"},
    "cudaphy_nr_pusch_transmitter": {"channel": "pusch"},
    "cudaphy_fdtd_channel": {"simulation": "room"},
    "cudaphy_sigmf_source": {"file": "recording.sigmf-meta"},
    "cudaphy_sigmf_sink": {"file": "recording"},
}


def load_platform():
    """GRC's platform with GNU Radio's own blocks and those of this tree."""
    own = Path(gr.prefix()) / "share/gnuradio/grc/blocks"
    os.environ["GR_CONF_GRC_GLOBAL_BLOCKS_PATH"] = os.pathsep.join([str(own), str(GRC)])
    # Before 3.10.12 GRC warns of each doc_url that it does not know.
    logging.getLogger("gnuradio.grc").setLevel(logging.ERROR)
    from gnuradio.grc.core import Constants, platform
    from gnuradio.grc.core.io import yaml as grc_yaml

    # libyaml's parser reads the six hundred files in a twentieth of the time.
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    grc_yaml.safe_load = lambda text: yaml.load(text, fast)
    version = (gr.major_version(), gr.api_version(), gr.minor_version())
    made = platform.Platform(
        name="docs", prefs=gr.prefs(), version=gr.version(), version_parts=version
    )
    with tempfile.TemporaryDirectory() as folder:
        Constants.CACHE_FILE = os.path.join(folder, "cache.json")
        made.build_library()
    return made


def add(flowgraph, kind, name, values):
    block = flowgraph.new_block(kind)
    block.params["id"].set_value(name)
    for key, value in values.items():
        block.params[key].set_value(value)
    return block


def example_block(platform, kind):
    """The block with its defaults, beside what these need, evaluated and validated."""
    flowgraph = platform.make_flow_graph()
    flowgraph.options_block.params["output_language"].set_value("python")
    add(flowgraph, "variable", "samp_rate", {"value": "32000"})
    for name, (variable, values) in EXAMPLES.items():
        if variable != kind:
            add(flowgraph, variable, name, values)
    name = kind.replace("variable_", "").replace("cudaphy_", "") + "_0"
    block = add(flowgraph, kind, name, VALUES.get(kind, {}))
    flowgraph.rewrite()
    flowgraph.validate()
    return block
