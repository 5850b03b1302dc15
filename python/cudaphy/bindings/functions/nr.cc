/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/numpy_copy.h"
#include <gnuradio/cudaphy/kernels/nr/ofdm.h>
#include <gnuradio/cudaphy/kernels/nr/resource_blocks.h>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <gnuradio/cudaphy/kernels/nr/transport_block_size.h>

// What nr.py makes functions on numpy arrays of.

namespace gr::cudaphy::bindings {
namespace {

using namespace kernels::nr;

mcs_table table_from_name(const std::string& name)
{
    static const std::map<std::string, mcs_table> names{
        { "qam64", mcs_table::qam64 },
        { "qam256", mcs_table::qam256 },
        { "qam64_low_se", mcs_table::qam64_low_se },
        { "qam1024", mcs_table::qam1024 },
        { "transform_qam64", mcs_table::transform_qam64 },
        { "transform_qam64_low_se", mcs_table::transform_qam64_low_se },
    };
    const auto found = names.find(name);
    if (found == names.end()) {
        std::string all;
        for (const auto& one : names) {
            all += (all.empty() ? "" : ", ") + one.first;
        }
        throw std::invalid_argument("nr: no MCS table \"" + name + "\"; there are " +
                                    all + " (TS 38.214, 5.1.3.1 and 6.1.4.1)");
    }
    return found->second;
}

sequence_hopping hopping_from_name(const std::string& name)
{
    if (name == "neither" || name == "group" || name == "sequence") {
        return name == "neither" ? sequence_hopping::neither
               : name == "group" ? sequence_hopping::group
                                 : sequence_hopping::sequence;
    }
    throw std::invalid_argument("nr: hopping is neither, group or sequence, not \"" +
                                name + "\" (TS 38.211, 6.4.1.1.1.2)");
}

//! nr.py has checked the types.
shared_channel_parameters parameters_of(const py::dict& given)
{
    const auto set = [&](const char* name, auto& to) {
        to = given[name].cast<std::decay_t<decltype(to)>>();
    };
    const auto text = [&](const char* name) { return given[name].cast<std::string>(); };
    shared_channel_parameters p;
    p.direction =
        text("link") == "pusch" ? link_direction::uplink : link_direction::downlink;
    set("numerology", p.numerology);
    set("extended_prefix", p.extended_prefix);
    set("grid_start", p.grid_start);
    set("grid_size", p.grid_size);
    set("bwp_start", p.bwp_start);
    set("bwp_size", p.bwp_size);
    set("resource_blocks", p.resource_blocks);
    set("vrb_bundle", p.vrb_bundle);
    const auto type = text("mapping_type");
    p.mapping_type = type.size() == 1 ? type[0] : '?';
    set("first_symbol", p.first_symbol);
    set("symbols", p.symbols);
    set("dmrs_type", p.dmrs.type);
    set("dmrs_length", p.dmrs.length);
    set("dmrs_type_a_position", p.dmrs.type_a_position);
    set("dmrs_additional_position", p.dmrs.additional_position);
    set("cdm_groups_without_data", p.dmrs.cdm_groups_without_data);
    set("dmrs_ports", p.dmrs.ports);
    set("n_scid", p.dmrs.n_scid);
    const auto ids = given["dmrs_n_id"].cast<std::pair<int, int>>();
    p.dmrs.n_id[0] = ids.first;
    p.dmrs.n_id[1] = ids.second;
    set("n_rs_id", p.dmrs.n_rs_id);
    p.dmrs.hopping = hopping_from_name(text("hopping"));
    set("dmrs_reference_block", p.dmrs.reference_block);
    set("dmrs_amplitude", p.dmrs.amplitude);
    set("ptrs", p.ptrs.on);
    set("ptrs_time_density", p.ptrs.time_density);
    set("ptrs_frequency_density", p.ptrs.frequency_density);
    set("ptrs_offset", p.ptrs.element_offset);
    set("ptrs_port", p.ptrs.port);
    set("ptrs_amplitude", p.ptrs.amplitude);
    set("ptrs_groups", p.ptrs.groups);
    set("ptrs_samples", p.ptrs.samples);
    set("layers", p.layers);
    set("transform_precoding", p.transform_precoding);
    set("antenna_ports", p.antenna_ports);
    set("tpmi", p.tpmi);
    set("n_id", p.n_id);
    set("rnti", p.rnti);
    p.table = table_from_name(text("mcs_table"));
    const auto mcs = given["mcs"].cast<std::pair<int, int>>();
    p.mcs[0] = mcs.first;
    p.mcs[1] = mcs.second;
    set("pi2_bpsk", p.pi2_bpsk);
    set("overhead", p.overhead);
    set("limited_buffer", p.limited_buffer);
    const auto reserved = given["reserved"].cast<numpy_array<uint8_t>>();
    p.reserved.assign(reserved.data(), reserved.data() + reserved.size());
    return p;
}

//! A method for each codeword: a tuple.
template <typename Member>
py::tuple of_codewords(const shared_channel& c, const Member& member)
{
    py::list out;
    for (const auto& one : c.codewords()) {
        out.append(member(one));
    }
    return py::tuple(out);
}

py::tuple dmrs_of(const shared_channel& c, int slot)
{
    const auto& map = c.map();
    return py::make_tuple(
        array_of(map.dmrs_symbols),
        array_of(map.dmrs_subcarriers, { map.groups(), map.pilots }),
        array_of(dmrs_values(c.parameters(), map, slot),
                 { py::ssize_t(map.dmrs_symbols.size()), py::ssize_t(map.pilots) }));
}

using payload_list = std::vector<numpy_array<uint8_t>>;

numpy_array<complex64> transmitted(transmitter& from,
                                   const payload_list& payloads,
                                   int slot,
                                   const std::vector<int>& redundancy_versions)
{
    const auto& c = from.channel();
    numpy_array<complex64> grid(
        { c.parameters().grid_ports(), c.map().symbols, c.map().subcarriers });
    const view<complex64> to(grid.mutable_data(), grid.size());
    std::fill(to.begin(), to.end(), 0);
    std::vector<view<const uint8_t>> views;
    for (const auto& one : payloads) {
        views.emplace_back(one.data(), size_t(one.size()));
    }
    {
        py::gil_scoped_release others_may_run;
        from.run(views, slot, redundancy_versions, to);
    }
    return grid;
}

numpy_array<uint8_t> encoded(transmitter& from,
                             int codeword,
                             const numpy_array<uint8_t>& payload,
                             int redundancy_version)
{
    const auto& all = from.channel().codewords();
    if (codeword < 0 || size_t(codeword) >= all.size()) {
        throw std::invalid_argument("nr: the channel has no such codeword");
    }
    numpy_array<uint8_t> out(all[codeword].coded);
    from.encode(codeword,
                { payload.data(), size_t(payload.size()) },
                redundancy_version,
                { out.mutable_data(), size_t(out.size()) });
    return out;
}

numpy_array<complex64>
modulated(const ofdm& with, const numpy_array<complex64>& grid, int slot)
{
    const int ports = static_cast<int>(grid.shape(0));
    const int slots = static_cast<int>(grid.shape(1)) / with.symbols_per_slot();
    numpy_array<complex64> out(
        { grid.shape(0), py::ssize_t(with.samples(std::max(slot, 0), slots)) });
    const view<const complex64> from(grid.data(), grid.size());
    const view<complex64> to(out.mutable_data(), out.size());
    py::gil_scoped_release others_may_run;
    with.modulate(from, ports, slots, slot, to);
    return out;
}

numpy_array<complex64> demodulated(const ofdm& with,
                                   const numpy_array<complex64>& samples,
                                   int slots,
                                   int slot,
                                   int advance)
{
    const int ports = static_cast<int>(samples.shape(0));
    // demodulate() refuses samples of another number; no grid is made for those.
    const bool fit = with.samples(std::max(slot, 0), slots) == size_t(samples.shape(1));
    numpy_array<complex64> out({ samples.shape(0),
                                 py::ssize_t(fit ? slots : 0) * with.symbols_per_slot(),
                                 py::ssize_t(with.parameters().subcarriers) });
    const view<const complex64> from(samples.data(), samples.size());
    const view<complex64> to(out.mutable_data(), out.size());
    py::gil_scoped_release others_may_run;
    with.demodulate(from, ports, slots, slot, advance, to);
    return out;
}

void bind_channel(py::module& m)
{
    using c = const shared_channel&;
    py::class_<shared_channel, std::shared_ptr<shared_channel>>(m, "_nr_channel")
        .def(py::init([](const py::dict& given) {
            return std::const_pointer_cast<shared_channel>(
                shared_channel::make(parameters_of(given)));
        }))
        .def("link",
             [](c a) {
                 return a.parameters().direction == link_direction::uplink ? "pusch"
                                                                           : "pdsch";
             })
        .def("layers", [](c a) { return a.parameters().layers; })
        .def("grid_shape",
             [](c a) {
                 return py::make_tuple(
                     a.parameters().grid_ports(), a.map().symbols, a.map().subcarriers);
             })
        .def("payload",
             [](c a) {
                 return of_codewords(a, [](const codeword& o) { return o.payload; });
             })
        .def("coded",
             [](c a) {
                 return of_codewords(a, [](const codeword& o) { return o.coded; });
             })
        .def("order",
             [](c a) {
                 return of_codewords(a, [](const codeword& o) { return o.coding.order; });
             })
        .def("rate",
             [](c a) {
                 return of_codewords(a,
                                     [](const codeword& o) { return o.coding.rate(); });
             })
        .def("segmentation",
             [](c a) {
                 return of_codewords(a, [](const codeword& o) { return o.blocks; });
             })
        .def("c_init",
             [](c a) {
                 py::list out;
                 for (size_t i = 0; i < a.codewords().size(); ++i) {
                     out.append(a.scrambling_c_init(static_cast<int>(i)));
                 }
                 return py::tuple(out);
             })
        .def("blocks", [](c a) { return array_of(a.map().blocks); })
        .def("data", [](c a) { return array_of(a.map().data); })
        .def("ptrs", [](c a) { return array_of(a.map().ptrs); })
        .def("precoded_ptrs",
             [](c a, int slot) {
                 const auto& map = a.map();
                 return py::make_tuple(
                     array_of(map.precoded_ptrs_symbols),
                     array_of(map.precoded_ptrs_places),
                     array_of(precoded_ptrs_values(a.parameters(), map, slot)));
             })
        .def("dmrs_symbols", [](c a) { return array_of(a.map().dmrs_symbols); })
        .def("dmrs", &dmrs_of)
        .def("precoding", [](c a) {
            const auto& p = a.parameters();
            return array_of(a.precoding(), { p.grid_ports(), p.layers });
        });
}

} // namespace

void bind_nr(py::module& m)
{
    bind_channel(m);
    py::class_<transmitter>(m, "_nr_transmitter")
        .def(py::init([](std::shared_ptr<shared_channel> channel,
                         const std::string& where,
                         int device) {
            return std::make_unique<transmitter>(
                channel, backend_from_name(where), device);
        }))
        .def("run", &transmitted)
        .def("encode", &encoded);
    py::class_<ofdm>(m, "_nr_ofdm")
        .def(py::init([](int numerology,
                         bool extended,
                         int subcarriers,
                         int fft_size,
                         double carrier_frequency,
                         int middle,
                         int window) {
            return std::make_unique<ofdm>(ofdm_parameters{ numerology,
                                                           extended,
                                                           subcarriers,
                                                           fft_size,
                                                           carrier_frequency,
                                                           middle,
                                                           window });
        }))
        .def("samples", &ofdm::samples)
        .def("symbols_per_slot", &ofdm::symbols_per_slot)
        .def("modulate", &modulated)
        .def("demodulate", &demodulated);
    m.def("_nr_bitmap_resource_blocks", &bitmap_resource_blocks);
    m.def("_nr_interleaved_resource_blocks", &interleaved_resource_blocks);
    m.def("_nr_limited_buffer_block_size", &limited_buffer_block_size);
}

} // namespace gr::cudaphy::bindings
