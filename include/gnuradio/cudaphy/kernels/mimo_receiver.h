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
 * (equalizer), layers become LLRs (soft_demapper), and LLRs are decoded (ldpc_decoder).
 * Each kernel gives the same bits as by itself.
 *
 * **Places.** A place (symbol, tone) of the slot holds data if no layer sends a pilot on
 * it: all tones of symbols without pilots and, with `data_beside_pilots`, the tones of
 * pilot symbols on which all layers are silent.
 *
 * **Channel.** One estimate a tone serves all data of that tone. With `pilots.times`
 * there are T estimates a slot, where T divides the number of symbols with data. Each
 * estimate serves the same number of these symbols, in order: with a time for each
 * symbol, each symbol has its own channel. If `pilots.pilot_times` is empty, the pilots'
 * times are their symbols' numbers, pilot_symbols, so that times are symbol numbers.
 *
 * **Order of bits.** From the slowest index to the fastest: symbols, tones, layers, bits
 * of the constellation, first-sent bit first. The slot begins with its first codeword and
 * holds as many whole codewords as fit. Bits behind the last codeword are ignored.
 *
 * **Soft bits** are of the type that `decoding.llr` names. In int8 an LLR has
 * `decoding.llr_steps` steps a unit; 0: 12 on CUDA, 6 elsewhere, as the decoder counts.
 * (On the CPU the decoder holds values within 63 steps; in float32 arithmetic it turns
 * steps back into units.)
 *
 * A slot with a pilot that is not finite is erased, and its codewords fail. Of received
 * data, only the vector that is not finite is erased. Neither affects another slot.
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
        //! The numbers of the pilot symbols in the slot, from 0, ascending.
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

    //! Sizes of one slot, from the parameters.
    struct sizes {
        size_t received;   //!< samples: symbols · tones · Nr
        size_t estimates;  //!< T
        size_t channel;    //!< elements of H: T · tones · Nr · Nt
        size_t vectors;    //!< places with data
        size_t layers;     //!< symbols of the constellation: vectors · Nt
        size_t words;      //!< codewords
        size_t soft_bits;  //!< words · n
        size_t word_bytes; //!< bytes of a decoded word
    };

    //! A view of LLRs whose type is known at run time only: empty, or of the type of
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

    //! The arrays that a run writes. A view after `status` may be left empty: then its
    //! values stay in the workspace.
    struct results {
        view<uint8_t> bits;     //!< as ldpc_decoder's, (slots, words, word_bytes)
        view<int> iterations;   //!< as ldpc_decoder's, (slots, words)
        view<int> ok;           //!< as ldpc_decoder's, (slots, words)
        view<int> status;       //!< 0, or -1 if a received pilot is not finite, (slots)
        view<complex64> h = {}; //!< channel, (slots, T, tones, Nr, Nt)
        view<float> n0 = {};    //!< noise variance at an antenna, (slots, T)
        view<complex64> x = {}; //!< layers, (slots, vectors, Nt)
        view<float> noise = {}; //!< noise variance of each, (slots, vectors, Nt)
        soft_view llr = {};     //!< the decoder's input, (slots, words, n)
    };

    //! \throws std::invalid_argument if a parameter is out of range, T does not divide
    //! the symbols with data, or a slot holds no codeword; backend_unavailable as
    //! resolve() does.
    static std::unique_ptr<mimo_receiver>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~mimo_receiver() = default;

    //! The sizes of a slot, without making a receiver. \throws std::invalid_argument if a
    //! slot can't be laid out so. Only make() checks the kernels' own parameters.
    static sizes slot_of(const parameters&);

    virtual const sizes& slot() const = 0;
    //! Steps of an int8 LLR in a unit.
    virtual float llr_steps() const = 0;

    //! The workspace that a run of so many slots needs.
    virtual size_t workspace_bytes(size_t slots) const = 0;

    /*!
     * Receives a batch of slots; returns before the device has finished if `queue` is a
     * device's. On CUDA, a run with the same number of slots and the same memory is
     * launched as one CUDA graph from the third time on.
     * \param received   (slots, symbols, tones, Nr)
     * \param workspace  at least workspace_bytes(slots), aligned to 256 bytes; may be
     *                   used again when the queue has done the work
     * \throws std::invalid_argument if the sizes do not fit.
     */
    virtual void run(view<const complex64> received,
                     const results& out,
                     view<unsigned char> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
