# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels of 5G NR as C++, for the flowgraphs in C++ that GNU Radio Companion writes (companion_cpp.py)."""

from .companion_cpp import literal, vector
from .nr import nr_shared_channel

_SPACE = "gr::cudaphy::kernels::nr::"
_PLACES = {  # where shared_channel_parameters has another name than nr_shared_channel
    "dmrs_type": "dmrs.type",
    "dmrs_length": "dmrs.length",
    "dmrs_type_a_position": "dmrs.type_a_position",
    "dmrs_additional_position": "dmrs.additional_position",
    "cdm_groups_without_data": "dmrs.cdm_groups_without_data",
    "dmrs_ports": "dmrs.ports",
    "n_scid": "dmrs.n_scid",
    "n_rs_id": "dmrs.n_rs_id",
    "dmrs_reference_block": "dmrs.reference_block",
    "dmrs_amplitude": "dmrs.amplitude",
    "ptrs": "ptrs.on",
    "ptrs_time_density": "ptrs.time_density",
    "ptrs_frequency_density": "ptrs.frequency_density",
    "ptrs_offset": "ptrs.element_offset",
    "ptrs_port": "ptrs.port",
    "ptrs_amplitude": "ptrs.amplitude",
    "ptrs_groups": "ptrs.groups",
    "ptrs_samples": "ptrs.samples",
}
_ENUMS = {"hopping": "dmrs.hopping = sequence_hopping", "mcs_table": "table = mcs_table"}
_DIRECTIONS = {"pusch": "uplink", "pdsch": "downlink"}


def _statements(given):
    for name, value in given.items():
        if name == "link":
            yield f"direction = {_SPACE}link_direction::{_DIRECTIONS[value]}"
        elif name in _ENUMS:
            place, kind = _ENUMS[name].split(" = ")
            yield f"{place} = {_SPACE}{kind}::{value}"
        elif name == "mapping_type":
            yield f"mapping_type = '{value}'"
        elif name in ("mcs", "dmrs_n_id"):
            place = {"mcs": "mcs", "dmrs_n_id": "dmrs.n_id"}[name]
            for index, one in enumerate(value):
                yield f"{place}[{index}] = {literal(one)}"
        elif name in ("resource_blocks", "dmrs_ports"):
            yield f"{_PLACES.get(name, name)} = {vector(value)}"
        elif name == "reserved":
            if value.size:
                yield f"reserved = {vector(value.tolist())}"
        else:
            yield f"{_PLACES.get(name, name)} = {literal(value)}"


def channel(link, **arguments):
    """A shared_channel from the arguments of nr_shared_channel()."""
    lines = [
        f"{_SPACE}shared_channel_parameters p;",
        *(
            f"p.{one};"
            for one in _statements(nr_shared_channel(link, **arguments)._given)
        ),
        f"return {_SPACE}shared_channel::make(p);",
    ]
    return "[] {\n" + "".join(f"    {line}\n" for line in lines) + "}()"
