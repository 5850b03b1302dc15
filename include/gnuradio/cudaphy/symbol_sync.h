/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief Root-raised-cosine matched filter, symbol timing recovery and gain control of a
 * linear modulation: samples in, one complex sample a symbol out, of unit mean energy.
 * \ingroup cudaphy
 *
 * It needs no loop bandwidth: see kernels/symbol_sync.h for how. Clock errors up to 200
 * ppm are followed. No symbol is lost at the stream's beginning or end. A symbol comes
 * out when half of `averaging` and about 800 symbols more have come after it; a stream's
 * first symbols, when `averaging`, or half of it and 9200 symbols, have come.
 *
 * A carrier offset of up to `most_offset` is found by the symbol rate, whatever the
 * modulation, and removed if it is more than roll_off / 8: the matched filter would cut
 * the band. What is left, and what noise makes of the estimate, stays on the symbols: up
 * to about roll_off / 8. Until there is a signal, 32 pieces of 512 to 2048 symbols are
 * held back for the search (kernels/symbol_stream.h). A tag `carrier_offset` (double, in
 * symbol rates) on a symbol says what is removed from there on, and `carrier_turns`
 * (double, in cycles) what that has taken from this symbol more than the offset before
 * would have: with both, a block can put the change back.
 *
 * Each tag goes to the nearest symbol. The value of rx_rate becomes the measured symbol
 * rate. A tag `rx_time` shows that the radio lost samples if its time differs by more
 * than two samples from that which the last tag and the rate give; without a rate, any
 * later tag shows it. The symbols before the gap are then given as at a stream's end, and
 * a new stream begins at the tag.
 *
 * Message port samples_per_symbol: a number, or a pair whose second is one, becomes the
 * nominal rate from the next sample on, as by set_samples_per_symbol(). Any other message
 * is ignored, with a warning.
 *
 * Message port status: once a second, while symbols come out, a dictionary with
 * samples_per_symbol (measured), clock_error_ppm, line, locked, level,
 * carrier_offset and symbols, as the functions of these names say.
 *
 * After five seconds without a lock, and once a minute then, the log says what was
 * looked for, and the symbol rate with the strongest line. The status has that rate as
 * found_samples_per_symbol: 2 to 16, where a rate r below 2 appears as r / (r - 1).
 */
class CUDAPHY_API symbol_sync : virtual public gr::block
{
public:
    typedef std::shared_ptr<symbol_sync> sptr;

    /*!
     * \param samples_per_symbol  nominal, 1.5..16, any real number
     * \param roll_off            0.02..1, and at most samples_per_symbol - 1
     * \param type                of samples: "complex", "sc16" (pairs of int16, 32768
     *                            counts as 1) or "sc8" (pairs of int8, 128 counts as 1)
     * \param span                symbols on either side that the matched filter sums up,
     *                            1..128; 0: the greater of 8 and 2 / roll_off
     * \param averaging           symbols that an instant is estimated from, 1..131072; 0:
     *                            1536 / roll_off
     * \param most_offset         of the carrier, that is searched for and removed, in
     *                            symbol rates, 0..0.5; 0: none
     * \param sample_rate         in Hz, for rx_time where no rx_rate comes; 0: none
     * \param backend             "auto", "cuda", "cpu" or "reference"
     * \param device              index of the GPU
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(double samples_per_symbol,
                     double roll_off = 0.2,
                     const std::string& type = "complex",
                     int span = 0,
                     int averaging = 0,
                     double most_offset = 0.25,
                     double sample_rate = 0,
                     const std::string& backend = "auto",
                     int device = 0);

    //! From the next sample on: the symbols before are given as at a stream's end.
    //! \throws std::invalid_argument if it is out of range
    virtual void set_samples_per_symbol(double samples_per_symbol) = 0;

    // Of the symbols that came out last.
    virtual double samples_per_symbol() const = 0; //!< measured; nominal at first
    //! How much higher the symbol rate is than the nominal one, in ppm.
    virtual double clock_error() const = 0;
    //! Strength of the symbol rate's line, 0 to 1; about 0.03 where there is noise alone.
    virtual double line() const = 0;
    //! Whether the line is at least 2.5 times as strong as noise makes one.
    virtual bool locked() const = 0;
    //! Mean energy of the matched filter's output before the gain, in units of the input.
    virtual double level() const = 0;
    //! The carrier offset that is removed, in symbol rates.
    virtual double carrier_offset() const = 0;

    virtual uint64_t symbols() const = 0;    //!< that came out
    virtual uint64_t gaps() const = 0;       //!< that rx_time has shown
    virtual std::string backend() const = 0; //!< in use
};

} // namespace gr::cudaphy
