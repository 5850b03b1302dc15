/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/kernels/nr5g.h>
#include <map>
#include <mutex>

namespace gr::cudaphy::kernels::nr5g {

//! How one transmission of a transport block is mapped.
struct transmission {
    int layers = 1;             //!< 1..4
    int modulation_order = 2;   //!< Q_m: 1, 2, 4, 6, 8 or 10
    int redundancy_version = 0; //!< 0..3
};

/*!
 * \brief Encodes transport blocks of 5G NR: CRCs, segmentation, LDPC codes, rate matching
 * and concatenation (3GPP TS 38.212, sections 6.2 and 7.2).
 *
 * Threads may share one: their calls follow each other.
 */
class CUDAPHY_API transport_block_encoder
{
public:
    //! limited_buffer is N_ref of rate_matcher::parameters. \throws
    //! std::invalid_argument, backend_unavailable as resolve() does.
    explicit transport_block_encoder(const segmentation&,
                                     int limited_buffer = 0,
                                     backend where = backend::automatic,
                                     int device = 0);

    /*!
     * \param payload     (A)
     * \param[out] coded  (G), a multiple of layers · modulation_order
     * \throws std::invalid_argument for sizes that do not fit
     */
    void encode(view<const uint8_t> payload, const transmission&, view<uint8_t> coded);

private:
    segmentation d_segmentation;
    int d_limited_buffer;
    std::unique_ptr<queue> d_queue;
    std::map<int, std::unique_ptr<ldpc_encoder>> d_encoders; // by rows
    std::mutex d_turn;
};

/*!
 * \brief Decodes a transport block from one transmission or several (HARQ).
 *
 * Each transmission's LLRs are added to a soft buffer; then every code block that has not
 * passed its CRC yet is decoded, all of them in one call of the decoder, with as many
 * rows of the base graph as the received bits reach. Decoding of a block stops at its
 * CRC. A block that passed is kept, unless the transport block's CRC fails although
 * every block passed.
 *
 * The CRC of zeros is zero, and bits of which nothing is known decide 0: a block of zeros
 * passes only if it is what the parity checks make of the LLRs, and some LLR is not 0.
 *
 * Threads may share one: their calls follow each other, and so all add to one soft
 * buffer.
 */
class CUDAPHY_API transport_block_decoder
{
public:
    struct parameters {
        int limited_buffer = 0; //!< N_ref of rate_matcher::parameters
        //! Of the blocks' decoder; llr is float32 or int8, which is the soft buffer's
        //! type too. What the transport block settles is ignored: early_stop,
        //! whole_words, packed, stop_crc.
        ldpc_decoder::parameters decoding;
    };
    struct outcome {
        bool ok;                     //!< the transport block's CRC holds
        std::vector<int> block_ok;   //!< each block's CRC holds, (C)
        std::vector<int> iterations; //!< 0 for a block that had passed before, (C)
    };

    //! What was received of one transport block so far. One decoder may serve many, as of
    //! HARQ processes.
    class soft_buffer
    {
    public:
        //! Of memory, on the host or a GPU.
        size_t bytes() const { return d_bytes; }

        //! \cond
        //! What is received in a GPU's memory.
        class in_gpu
        {
        public:
            virtual ~in_gpu() = default;
            //! (C, soft bits of one block), (C, K'), (C)
            virtual void
            fetch(view<int8_t> soft, view<uint8_t> bits, view<int> passed) = 0;
        };
        //! \endcond

    private:
        friend class transport_block_decoder;
        friend struct soft_buffer_access;
        size_t d_bytes = 0;
        std::shared_ptr<in_gpu> d_in_gpu; // null: what follows
        int d_reach = 0;                  // soft bits received, from the first on
        std::vector<float> d_soft;        // (C, bits of one block), one of the two
        std::vector<int8_t> d_soft_int8;
        std::vector<uint8_t> d_bits; // (C, K')
        std::vector<int> d_passed;   // (C)
    };

    //! \throws std::invalid_argument, backend_unavailable as resolve() does.
    transport_block_decoder(const segmentation&,
                            const parameters&,
                            backend where = backend::automatic,
                            int device = 0);

    /*!
     * Adds a transmission and decodes.
     * \param llr           (G), a multiple of layers · modulation_order
     * \param[out] payload  (A), hard decisions where a CRC fails
     * \throws std::invalid_argument for sizes that do not fit, or LLRs of another type
     * than the parameters say
     */
    outcome decode(view<const float> llr, const transmission& how, view<uint8_t> payload);
    outcome
    decode(view<const int8_t> llr, const transmission& how, view<uint8_t> payload);

    //! Forgets what was received: the next transmission is of another transport block.
    void clear();

    //! For a transport block of which nothing is received.
    soft_buffer make_buffer() const;
    //! Adds to this buffer, which make_buffer() of an equal decoder made, and decodes.
    outcome decode(view<const int8_t> llr,
                   const transmission& how,
                   view<uint8_t> payload,
                   soft_buffer& buffer);
    outcome decode(view<const float> llr,
                   const transmission& how,
                   view<uint8_t> payload,
                   soft_buffer& buffer);

private:
    friend struct soft_buffer_access;
    size_t bytes_of_buffer() const;
    //! The buffer's values in the host's memory.
    void settle(soft_buffer& buffer) const;
    outcome decode_int8(view<uint8_t> payload, soft_buffer& buffer);
    template <typename T>
    outcome decode_held(view<uint8_t> payload, soft_buffer& buffer);
    template <typename T>
    outcome decode_any(view<const T> llr,
                       const transmission& how,
                       view<uint8_t> payload,
                       soft_buffer& buffer);
    template <typename T>
    void add(view<const T> llr, const transmission& how, soft_buffer& buffer);
    template <typename T>
    void decode_blocks(const std::vector<int>& blocks,
                       bool until_crc,
                       soft_buffer& buffer,
                       outcome& out);
    template <typename T>
    void
    decode_zeros_again(const std::vector<int>& blocks, soft_buffer& buffer, outcome& out);
    template <typename T>
    static std::vector<T>& soft_of(soft_buffer& buffer);
    rate_matcher matcher(const transmission& how) const;

    segmentation d_segmentation;
    parameters d_parameters;
    std::unique_ptr<queue> d_queue;
    struct stage {
        int n;
        std::unique_ptr<ldpc_decoder> decoder;
    };
    std::map<std::pair<int, bool>, stage> d_stages; // by rows and until_crc
    int d_soft_bits;                                // of one block
    soft_buffer d_own;
    std::mutex d_turn;
};

} // namespace gr::cudaphy::kernels::nr5g
