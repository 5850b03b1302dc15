/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/resource_map.h>
#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>
#include <memory>

namespace gr::cudaphy::kernels::nr {

//! What the parameters make of one codeword.
struct codeword {
    int first_layer, layers;
    modulation_and_coding coding;
    int payload; //!< transport block size, bits without CRC (TS 38.214, 5.1.3.2)
    int coded;   //!< G, bits that the slot carries
    nr5g::segmentation blocks;
    int limited_buffer; //!< N_ref of nr5g::rate_matcher, 0 for none
};

/*!
 * \brief A slot of PUSCH or PDSCH: checked parameters, and all that follows from them.
 * Never changes once made; threads may share it.
 */
class CUDAPHY_API shared_channel
{
public:
    using sptr = std::shared_ptr<const shared_channel>;

    //! \throws std::invalid_argument that names the clause, and says what is allowed.
    static sptr make(const shared_channel_parameters&);

    const shared_channel_parameters& parameters() const { return d_parameters; }
    const resource_map& map() const { return d_map; }
    const std::vector<codeword>& codewords() const { return d_codewords; }
    //! c_init of a codeword's scrambling (TS 38.211, sections 6.3.1.1 and 7.3.1.1).
    uint32_t scrambling_c_init(int codeword) const;
    //! The antenna ports' weights of the layers, (grid_ports, layers); the unit matrix
    //! unless by codebook.
    std::vector<complex64> precoding() const;
    //! Resource elements that the transport block size counts, N_RE of 38.214, 5.1.3.2.
    int counted_elements() const;

private:
    explicit shared_channel(const shared_channel_parameters&);

    shared_channel_parameters d_parameters;
    resource_map d_map;
    std::vector<codeword> d_codewords;
};

} // namespace gr::cudaphy::kernels::nr
