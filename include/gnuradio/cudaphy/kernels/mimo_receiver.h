/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/channel_estimator.h>
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Tones in, bits out: a MIMO receiver from the received slot to decoded
 * information bits, without a way back to the host in between.
 *
 * A slot is `symbols` OFDM symbols of `tones` tones at Nr antennas. Its pilot symbols
 * give the channel (channel_estimator), the channel separates the layers of the data
 * (equalizer), layers become LLRs (soft_demapper), and these are decoded (ldpc_decoder):
 * the same kernels as by themselves, with the same results bit for bit.
 *
 * **Places.** Every place (symbol, tone) of the slot on which no layer sends a pilot
 * holds data: symbols without pilots whole, and, with `data_beside_pilots`, those tones
 * of pilot symbols on which all layers are silent.
 *
 * **Channel.** One estimate a tone serves all data of that tone. With `pilots.times`
 * there are T of them a slot, T a divisor of the number of symbols with data, and each
 * serves as many of these symbols as the next, in order: a time for each such symbol
 * gives each a channel of its own. Where `pilots.pilot_times` is empty, pilots are taken
 * as sent at their symbols' numbers, pilot_symbols, so that times are symbol numbers.
 *
 * **Order of bits.** Data places follow each other symbol by symbol, in each tone by
 * tone; in each the layers; in each the bits of the constellation, first-sent bit first.
 * The slot begins with its first codeword and holds as many whole codewords as fit; the
 * bits that remain behind the last are not looked at.
 *
 * **Soft bits** are of the type that `decoding.llr` names. In int8 an LLR has
 * `decoding.llr_steps` steps a unit, 0: 12 on CUDA, 6 elsewhere, as the decoder counts
 * (which on the CPU holds values within 63 steps; in float32 arithmetic it turns them
 * back into units).
 *
 * A slot with a pilot that is not finite is erased, and its codewords fail; a received
 * data vector that is not finite is erased alone. Neither harms another slot.
 */
class CUDAPHY_API mimo_receiver
{
public:
    using number = ldpc_decoder::number;

    struct parameters {
        //! Of a slot, those with pilots too; 1..1024. symbols · tones · layers · bits of
        //! a point are up to 2^30.
        int symbols;
        //! Antennas, layers (up to Nr), tones, pilots, and how to estimate.
        channel_estimator::parameters pilots;
        //! Which symbols of the slot the pilots' are, ascending, counted from 0.
        std::vector<int> pilot_symbols;
        bool data_beside_pilots = true;
        detector method = detector::mmse;
        bool unbiased = true; //!< of mmse
        equalizer_route route = equalizer_route::solve;
        constellation points;
        bool max_log = true;
        ldpc_code::sptr code;
        ldpc_decoder::parameters decoding;
    };

    //! What follows from the parameters, of one slot.
    struct sizes {
        size_t received;   //!< samples: symbols · tones · Nr
        size_t estimates;  //!< T
        size_t channel;    //!< elements of H: T · tones · Nr · Nt
        size_t vectors;    //!< places with data
        size_t layers;     //!< symbols of the constellation: vectors · Nt
        size_t words;      //!< codewords
        size_t soft_bits;  //!< words · n
        size_t word_bytes; //!< that a decoded word is put out in
    };

    //! Of LLRs, whose type is known at run time only; empty, or of the type of
    //! parameters::decoding.
    struct soft_view {
        soft_view() = default;
        soft_view(view<float> llr) : soft_view(llr, number::float32) {}
        soft_view(view<float16> llr) : soft_view(llr, number::float16) {}
        soft_view(view<int8_t> llr) : soft_view(llr, number::int8) {}

        void* data = nullptr;
        size_t size = 0;
        number type = number::float32;

    private:
        template <typename T>
        soft_view(view<T> llr, number its_type)
            : data(llr.data()), size(llr.size()), type(its_type)
        {
        }
    };

    //! What a run writes. Views that are empty after `status` are not wanted: what stands
    //! there otherwise is kept in the workspace.
    struct results {
        view<uint8_t> bits;   //!< as ldpc_decoder's, (slots, words, word_bytes)
        view<int> iterations; //!< as ldpc_decoder's, (slots, words)
        view<int> ok;         //!< as ldpc_decoder's, (slots, words)
        view<int> status;     //!< 0, or -1 where a received pilot is not finite, (slots)
        view<complex64> h = {}; //!< channel, (slots, T, tones, Nr, Nt)
        view<float> n0 = {};    //!< noise variance at an antenna, (slots, T)
        view<complex64> x = {}; //!< layers, (slots, vectors, Nt)
        view<float> noise = {}; //!< noise variance of each, (slots, vectors, Nt)
        soft_view llr = {};     //!< what is decoded, (slots, words, n)
    };

    //! \throws std::invalid_argument if a parameter is out of range, T does not divide
    //! the symbols with data, or a slot holds no codeword; backend_unavailable as
    //! resolve() does.
    static std::unique_ptr<mimo_receiver>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~mimo_receiver() = default;

    //! What a slot holds, without making a receiver. \throws std::invalid_argument where
    //! a slot can't be laid out so; what the kernels alone refuse, make() does.
    static sizes slot_of(const parameters&);

    virtual const sizes& slot() const = 0;
    //! Steps of an int8 LLR in a unit.
    virtual float llr_steps() const = 0;

    //! Of the workspace that a run of so many slots needs.
    virtual size_t workspace_bytes(size_t slots) const = 0;

    /*!
     * Receives a batch of slots; returns before the device has finished if `queue` is a
     * device's. On CUDA, what is run again with the same number of slots and the same
     * memory is launched as one CUDA graph from the third time on.
     * \param received   (slots, symbols, tones, Nr)
     * \param workspace  at least workspace_bytes(slots), aligned to 256 bytes; free again
     *                   when the queue has done the work
     * \throws std::invalid_argument for sizes that do not fit.
     */
    virtual void run(view<const complex64> received,
                     const results& out,
                     view<unsigned char> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
