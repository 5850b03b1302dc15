/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/channel_estimator.h>
#include <gnuradio/cudaphy/kernels/nr/harq.h>
#include <map>

namespace gr::cudaphy::kernels::nr {

class gpu_receiver;

//! What noise the layers are separated in.
enum class noise_model {
    automatic, //!< colored if DM-RS says so
    white,     //!< equal and independent at all antennas
    colored    //!< with the covariance of interference and noise (MMSE-IRC)
};

struct receiver_parameters {
    pilot_method estimator = pilot_method::mmse; //!< over DM-RS
    noise_model noise = noise_model::automatic;
    double delay_spread = -1; //!< rms, seconds, for MMSE; below 0: from DM-RS
    double doppler = -1; //!< greatest Doppler shift, Hz, for MMSE; below 0: from DM-RS
    //! Undo the frequency offset that DM-RS of two positions or more tells.
    bool track_frequency = true;
    int max_iterations = 20; //!< of the LDPC decoder, 1 to 1000
    bool packed = false;     //!< payloads have eight bits a byte, the first one highest
};

//! What a receiver must know of one channel's transmission in a slot.
struct reception_order {
    std::vector<int> redundancy_versions; //!< of each codeword, 0 to 3
    harq* combining = nullptr;            //!< null: the transmission stands alone
    int process = 0;
    bool new_data = true; //!< false: a retransmission, to be combined
};

//! What was received of one channel in a slot.
struct reception {
    struct block {
        //! Bits, or bytes if packed; hard decisions where a CRC fails.
        std::vector<uint8_t> payload;
        bool ok = false;             //!< the transport block's CRC holds
        std::vector<int> block_ok;   //!< each code block's CRC holds
        std::vector<int> iterations; //!< of each code block's decoder
        //! Of the separated layers, dB: that of the white noise whose capacity equals the
        //! mean over the codeword's symbols.
        double sinr_db = 0;
    };
    std::vector<block> codewords;
    //! Why a CRC fails: empty, "not_finite" (a sample of DM-RS is NaN or infinite),
    //! "no_dmrs" (DM-RS is not above the noise), or "crc".
    std::string reason;
    double timing_offset = 0; //!< seconds, positive if late: the channel's mean delay
    //! Hz, positive if received above the nominal frequency; NaN with one DM-RS position.
    double frequency_offset = 0;
    double noise_variance = 0; //!< of a resource element at an antenna, with interference
    double delay_spread = 0;   //!< rms, seconds, that the estimate assumes
    double doppler = 0;        //!< Hz, that the estimate assumes
    double dmrs_snr_db = 0;    //!< of a layer's data at an antenna, from DM-RS
    bool colored_noise = false; //!< MMSE-IRC took the covariance of the noise
};

/*!
 * \brief Receives slots of PUSCH or PDSCH: a resource grid of all antennas to transport
 * blocks (3GPP TS 38.211, 38.212 and 38.214).
 *
 * Several channels may share the slot's grid. Channels on other resource blocks do not
 * matter to each other. Channels on the same ones are separated jointly (MU-MIMO) if
 * their DM-RS has the same type and symbols, and their ports have other CDM groups, or
 * the same group and sequence. Other channels are interference, as unknown users are:
 * MMSE-IRC suppresses what is spatially different.
 *
 * 1. Least squares: received DM-RS over the sequence; ports told apart.
 * 2. Timing, delay spread, noise (delay_statistics.h).
 * 3. Over frequency: the MMSE estimate (wiener_table.h), or straight lines.
 * 4. Noise covariance from what the estimate leaves of DM-RS (noise_covariance.h).
 * 5. Frequency offset, Doppler, and the estimate over time (time_weights.h).
 * 6. Common phase error of each symbol from PT-RS.
 * 7. Each element is equalised (equalizer.h); errors of estimates count as noise
 *    (channel_estimator.h).
 * 8. Transform precoding undone; LLRs; descrambling.
 * 9. Rate recovery, LDPC, CRCs (nr5g_transport_block.h), combining with what a HARQ
 *    process holds.
 *
 * On a GPU all steps run there, and no values come back in between. Threads may share
 * one: their calls follow each other.
 */
class CUDAPHY_API receiver
{
public:
    /*!
     * \param channels  of one link, grid size, numerology and prefix
     * \param antennas  1 to 128
     * \throws std::invalid_argument that says what is allowed; backend_unavailable as
     * resolve() does
     */
    receiver(std::vector<shared_channel::sptr> channels,
             int antennas,
             const receiver_parameters& = {},
             backend where = backend::automatic,
             int device = 0);
    ~receiver();

    /*!
     * \param grid    (antennas, symbols, subcarriers)
     * \param slot    in the frame, 0 to 10 · 2^numerology - 1
     * \param orders  one of each channel
     * \returns one of each channel. A sample that is not finite erases its element, or
     * if it is DM-RS the channel.
     * \throws std::invalid_argument for sizes that do not fit, and as HARQ demands;
     * before anything is decoded
     */
    std::vector<reception>
    run(view<const complex64> grid, int slot, const std::vector<reception_order>& orders);

    /*!
     * Receives several slots: on a GPU all at once, on the CPU as many at a time as there
     * are cores. Slots that combine in one HARQ process follow each other.
     * \param grids   (slots, antennas, symbols, subcarriers), on the host or in the
     *                memory of the receiver's GPU, if what writes them there has ended
     * \param slots   the number of each in its frame
     * \param orders  of each slot, one of each channel
     * \returns of each slot, one of each channel
     * \throws std::invalid_argument as run() does
     */
    std::vector<std::vector<reception>>
    run_slots(view<const complex64> grids,
              const std::vector<int>& slots,
              const std::vector<std::vector<reception_order>>& orders);

    //! So many slots in one call of run_slots() gain from each other; more of them would
    //! gain little, and take memory.
    size_t slots_at_once() const { return d_slots_at_once; }

private:
    struct user;
    using user_list = std::vector<std::unique_ptr<user>>;
    using orders_of_slot = std::vector<reception_order>;
    void check(size_t grid,
               int slot,
               const std::vector<reception_order>& orders,
               std::map<const harq*, size_t>& bytes) const;
    //! Of each slot and channel what its HARQ process holds; null without one.
    using held_blocks = std::vector<std::vector<harq::process_blocks*>>;
    user_list make_users() const;
    static int place_of(const user&, const user_list&);
    void make_gpu_receiver();
    size_t count_at_once() const;
    size_t bytes_of_slot() const;
    held_blocks prepare(view<const orders_of_slot> orders) const;
    std::vector<std::vector<reception>>
    run_independent(view<const complex64> grids,
                    view<const int> slots,
                    view<const orders_of_slot> orders);
    std::vector<reception> run_one(const user_list& users,
                                   view<const complex64> grid,
                                   int slot,
                                   const orders_of_slot& orders,
                                   const std::vector<harq::process_blocks*>& held) const;
    std::vector<std::vector<reception>> run_on_gpu(view<const complex64> grids,
                                                   view<const int> slots,
                                                   view<const orders_of_slot> orders,
                                                   view<const held_blocks::value_type>);

    int d_antennas;
    receiver_parameters d_parameters;
    std::vector<shared_channel::sptr> d_channels;
    std::unique_ptr<queue> d_queue;
    size_t d_slots_at_once = 1;
    //! Users of each slot that is received at the same time; at least of one.
    std::vector<user_list> d_lanes;
    std::unique_ptr<gpu_receiver> d_gpu; // null: all steps run here
    std::mutex d_turn;
};

} // namespace gr::cudaphy::kernels::nr
