/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/numpy_copy.h"
#include <gnuradio/cudaphy/kernels/nr_cell/cell_search.h>
#include <gnuradio/cudaphy/kernels/nr_cell/polar_code.h>
#include <gnuradio/cudaphy/kernels/nr_cell/ssb_sequences.h>

// What nr_cell.py makes functions on numpy arrays of, and the steps for tests.

namespace gr::cudaphy::bindings {
namespace {

using namespace kernels::nr_cell;

template <typename T>
view<const T> all_of(const numpy_array<T>& a)
{
    return { a.data(), static_cast<size_t>(a.size()) };
}

py::dict dict_of(const broadcast& b)
{
    using namespace py::literals;
    std::string bits;
    for (const auto bit : b.mib) {
        bits += bit ? '1' : '0';
    }
    return py::dict("system_frame_number"_a = b.system_frame_number,
                    "half_frame"_a = b.half_frame,
                    "ssb_index"_a = b.ssb_index,
                    "most_blocks"_a = b.most_blocks,
                    "common_spacing"_a = b.common_spacing,
                    "subcarrier_offset"_a = b.subcarrier_offset,
                    "dmrs_type_a_position"_a = b.dmrs_type_a_position,
                    "coreset_zero"_a = b.coreset_zero,
                    "search_space_zero"_a = b.search_space_zero,
                    "cell_barred"_a = b.cell_barred,
                    "intra_frequency_reselection"_a = b.intra_frequency_reselection,
                    "spare"_a = b.spare,
                    "bits"_a = bits);
}

py::object coreset_of(const std::optional<coreset_zero>& set)
{
    using namespace py::literals;
    if (!set) {
        return py::none();
    }
    return py::dict("pattern"_a = set->pattern,
                    "blocks"_a = set->blocks,
                    "symbols"_a = set->symbols,
                    "offset"_a = set->offset);
}

py::dict dict_of(const sib1_outcome& s)
{
    using namespace py::literals;
    py::object dci = py::none();
    if (s.dci_found) {
        dci = py::dict("first_block"_a = s.dci.first_block,
                       "blocks"_a = s.dci.blocks,
                       "time_allocation"_a = s.dci.time_allocation,
                       "interleaved"_a = s.dci.interleaved,
                       "mcs"_a = s.dci.mcs,
                       "redundancy_version"_a = s.dci.redundancy_version,
                       "aggregation_level"_a = s.dci.candidate.level,
                       "first_cce"_a = s.dci.candidate.first_cce,
                       "system_frame_number"_a = s.system_frame_number,
                       "slot"_a = s.slot);
    }
    const auto* const bytes = reinterpret_cast<const char*>(s.bytes.data());
    return py::dict("bytes"_a = py::bytes(bytes, s.bytes.size()),
                    "reason"_a = s.reason,
                    "dci"_a = dci,
                    "coreset"_a = s.scs ? coreset_of(s.set) : py::object(py::none()),
                    "scs"_a = s.scs);
}

py::dict dict_of(const found_cell& c)
{
    using namespace py::literals;
    return py::dict("cell"_a = c.cell,
                    "scs"_a = c.scs,
                    "ssb_frequency"_a = c.ssb_frequency,
                    "frequency_offset"_a = c.frequency_offset,
                    "time"_a = c.time,
                    "snr"_a = c.snr,
                    "pss_correlation"_a = c.pss_correlation,
                    "sss_correlation"_a = c.sss_correlation,
                    "mib"_a = c.mib ? py::object(dict_of(*c.mib)) : py::none(),
                    "frame_time"_a = c.frame_time,
                    "pattern"_a = std::string(1, c.pattern),
                    "sib1"_a = dict_of(c.sib1));
}

py::list searched(const numpy_array<complex64>& samples,
                  double rate,
                  double centre,
                  const std::vector<double>& frequencies,
                  const std::vector<int>& spacings,
                  float threshold,
                  int most,
                  bool sib1)
{
    const cell_search_parameters p{ rate,      centre, frequencies, spacings,
                                    threshold, most,   sib1 };
    std::vector<found_cell> found;
    {
        py::gil_scoped_release others_may_run;
        found = search_cells(all_of(samples), p);
    }
    py::list out;
    for (const auto& cell : found) {
        out.append(dict_of(cell));
    }
    return out;
}

numpy_array<uint8_t> polar_encoded(const numpy_array<uint8_t>& bits, int coded)
{
    const polar_code code(static_cast<int>(bits.size()), coded);
    numpy_array<uint8_t> out(coded);
    code.encode(all_of(bits), { out.mutable_data(), size_t(coded) });
    return out;
}

py::object polar_decoded(
    const numpy_array<float>& llr, int information, int paths, int ones, uint32_t mask)
{
    const polar_code code(information, static_cast<int>(llr.size()));
    numpy_array<uint8_t> out(information);
    const bool ok = polar_decoder(code, paths)
                        .decode(all_of(llr),
                                { ones, mask },
                                { out.mutable_data(), size_t(information) });
    return ok ? py::object(out) : py::none();
}

py::list occasions(const py::dict& set,
                   int index,
                   int sfn,
                   int symbol,
                   int ssb_scs,
                   int search_space_zero,
                   int scs)
{
    const coreset_zero of{ set["pattern"].cast<int>(),
                           set["blocks"].cast<int>(),
                           set["symbols"].cast<int>(),
                           set["offset"].cast<int>() };
    py::list out;
    for (const auto& o : monitoring_occasions(
             of, { index, sfn, symbol, ssb_scs }, search_space_zero, scs)) {
        out.append(py::make_tuple(o.frame, o.slot, o.first_symbol));
    }
    return out;
}

} // namespace

void bind_nr_cell(py::module& m)
{
    m.def("_nr_cell_search", &searched);
    m.def("_nr_synchronization_raster", &synchronization_raster);
    m.def("_nr_polar_encode", &polar_encoded);
    m.def("_nr_polar_decode", &polar_decoded);
    m.def("_nr_primary_sequence", [](int i) { return array_of(primary_sequence(i)); });
    m.def("_nr_secondary_sequence",
          [](int cell) { return array_of(secondary_sequence(cell)); });
    m.def("_nr_pbch_dmrs",
          [](int cell, int index) { return array_of(pbch_dmrs(cell, index)); });
    m.def("_nr_decode_pbch",
          [](const numpy_array<float>& llr, int cell, int index, bool fr2) {
              const auto found = decode_pbch(all_of(llr), cell, index, fr2);
              return found ? py::object(dict_of(*found)) : py::none();
          });
    m.def("_nr_coreset_zero", [](int ssb, int pdcch, int index, int k_ssb, bool wide) {
        return coreset_of(find_coreset_zero(ssb, pdcch, index, k_ssb, wide));
    });
    m.def("_nr_monitoring_occasions", &occasions);
}

} // namespace gr::cudaphy::bindings
