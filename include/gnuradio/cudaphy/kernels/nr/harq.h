/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>
#include <mutex>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief HARQ processes of one user and link: what was received of each process's
 * transport blocks, to be combined with retransmissions (3GPP TS 38.212, section 5.4.2;
 * TS 38.321, section 5.4.2).
 *
 * A process begins to hold memory with its first transmission: a byte for each bit of the
 * circular buffers, and one for each information bit. It keeps it until release(), or
 * until new data needs another size. The memory is the host's, or that of the receiver's
 * GPU. Threads may share one: their calls follow each other.
 */
class CUDAPHY_API harq
{
public:
    //! \throws std::invalid_argument unless processes is 1 to 32
    explicit harq(int processes = 16, size_t max_bytes = size_t{ 256 } << 20);

    int processes() const { return static_cast<int>(d_processes.size()); }
    size_t max_bytes() const { return d_max_bytes; }
    size_t bytes() const; //!< held by all processes
    //! \throws std::invalid_argument for an unknown process
    bool holds(int process) const;
    //! Forgets what a process holds. \throws std::invalid_argument for an unknown one
    void release(int process);

private:
    friend class receiver;
    using decoder = nr5g::transport_block_decoder;
    //! \cond
    struct block {
        int payload, base_graph, limited_buffer;
        decoder::soft_buffer received;
    };
    //! \endcond
    using process_blocks = std::vector<block>;

    //! Changes nothing. \throws std::invalid_argument as prepare() does
    void check(int process, bool new_data, const shared_channel&, size_t bytes) const;
    /*!
     * The blocks of a process, of which the buffers are empty if there is new data, or if
     * the process holds nothing: then its first transmission was missed.
     * \param decoders  of the channel's codewords
     * \param in_gpu  the values lie in a GPU's memory, which takes them as they come
     * \throws std::invalid_argument for an unknown process, if the transport block has
     * another size than in the transmissions before and new_data is false, and if more
     * than max_bytes were held
     */
    process_blocks& prepare(int process,
                            bool new_data,
                            const shared_channel&,
                            const std::vector<std::unique_ptr<decoder>>& decoders,
                            bool in_gpu = false);
    void require_process(int process) const;
    size_t bytes_of(const process_blocks&) const;

    size_t d_max_bytes;
    std::vector<process_blocks> d_processes;
    mutable std::mutex d_turn;
};

} // namespace gr::cudaphy::kernels::nr
