/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>

namespace gr::cudaphy::kernels {
class fourier_transform;
}

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Makes slots of PUSCH and PDSCH: transport blocks to a resource grid (3GPP TS
 * 38.212, sections 6.2 and 7.2; TS 38.211, sections 6.3.1, 6.4.1, 7.3.1 and 7.4.1).
 *
 * Threads may share one: their calls follow each other.
 */
class CUDAPHY_API transmitter
{
public:
    /*!
     * \param where  runs the LDPC encoder; the rest runs on the calling thread
     * \throws std::invalid_argument, backend_unavailable as resolve() does
     */
    explicit transmitter(shared_channel::sptr,
                         backend where = backend::automatic,
                         int device = 0);
    ~transmitter();

    const shared_channel& channel() const { return *d_channel; }

    /*!
     * The scrambled bits of a codeword.
     * \param payload             (payload of the codeword), bits of value 0 or 1
     * \param redundancy_version  0 to 3
     * \param[out] coded          (coded of the codeword)
     * \throws std::invalid_argument for sizes that do not fit
     */
    void encode(int codeword,
                view<const uint8_t> payload,
                int redundancy_version,
                view<uint8_t> coded);

    /*!
     * Adds a slot to a grid, so that several channels can share it.
     * \param payloads             one of each codeword
     * \param slot                 in the frame, 0 to 10 · 2^numerology - 1
     * \param redundancy_versions  one of each codeword
     * \param[in,out] grid         (grid_ports, symbols, subcarriers)
     * \throws std::invalid_argument for sizes that do not fit
     */
    void run(const std::vector<view<const uint8_t>>& payloads,
             int slot,
             const std::vector<int>& redundancy_versions,
             view<complex64> grid);

private:
    //! Symbols of all layers, (layers, data), before precoding.
    std::vector<complex64> layer_symbols(const std::vector<view<const uint8_t>>& payloads,
                                         int slot,
                                         const std::vector<int>& redundancy_versions);
    std::vector<complex64> precoded(const std::vector<complex64>& symbols, int slot);
    void add_reference_signals(int slot, std::vector<complex64>& slot_of_layers) const;

    shared_channel::sptr d_channel;
    std::vector<std::unique_ptr<nr5g::transport_block_encoder>> d_encoders;
    std::unique_ptr<fourier_transform> d_transform; // of transform precoding
};

} // namespace gr::cudaphy::kernels::nr
