/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr/precoding.h>
#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <gnuradio/cudaphy/kernels/nr/transport_block_size.h>
#include <stdexcept>

namespace gr::cudaphy::kernels::nr {

shared_channel::sptr shared_channel::make(const shared_channel_parameters& p)
{
    return sptr(new shared_channel(p));
}

shared_channel::shared_channel(const shared_channel_parameters& p)
    : d_parameters(p), d_map(make_resource_map(p))
{
    const int elements = counted_elements();
    if (elements < 1) {
        throw std::invalid_argument(
            "nr: DM-RS and overhead leave no resource element that counts for the "
            "transport block (TS 38.214, 5.1.3.2)");
    }
    int first_layer = 0;
    for (int i = 0; i < p.codewords(); ++i) {
        codeword one{};
        one.first_layer = first_layer;
        one.layers = p.layers_of(i);
        one.coding = find_mcs(p.table, p.mcs[i], p.pi2_bpsk);
        one.payload = transport_block_size(elements, one.coding, one.layers);
        one.coded =
            static_cast<int>(d_map.modulation_symbols()) * one.coding.order * one.layers;
        one.blocks =
            nr5g::segment(one.payload, nr5g::base_graph(one.payload, one.coding.rate()));
        // 38.212, 5.4.2.1: R_LBRM = 2/3.
        one.limited_buffer =
            static_cast<int>(int64_t{ 3 } * p.limited_buffer / (2 * one.blocks.blocks));
        if (p.limited_buffer && !one.limited_buffer) {
            throw std::invalid_argument(
                "nr: limited_buffer is too small for the code blocks (TS 38.212, "
                "5.4.2.1)");
        }
        d_codewords.push_back(one);
        first_layer += one.layers;
    }
}

int shared_channel::counted_elements() const
{
    const auto& p = d_parameters;
    const int dmrs = static_cast<int>(d_map.dmrs_symbols.size()) *
                     p.dmrs.cdm_groups_without_data * (p.dmrs.type == 1 ? 6 : 4);
    const int a_block = 12 * p.symbols - dmrs - p.overhead;
    return std::min(156, a_block) * static_cast<int>(d_map.blocks.size());
}

uint32_t shared_channel::scrambling_c_init(int codeword) const
{
    const auto& p = d_parameters;
    return (uint32_t(p.rnti) << 15) + (uint32_t(codeword) << 14) + uint32_t(p.n_id);
}

std::vector<complex64> shared_channel::precoding() const
{
    const auto& p = d_parameters;
    if (p.antenna_ports) {
        return precoding_matrix(p.antenna_ports, p.layers, p.tpmi, p.transform_precoding);
    }
    std::vector<complex64> out(size_t(p.layers) * p.layers);
    for (int i = 0; i < p.layers; ++i) {
        out[size_t(i) * p.layers + i] = 1;
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
