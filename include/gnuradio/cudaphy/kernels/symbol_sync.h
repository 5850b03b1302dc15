/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How a sample lies in memory: real part, then imaginary part.
enum class sample_format {
    complex64, //!< two floats
    sc16,      //!< two int16; 32768 counts as 1
    sc8        //!< two int8; 128 counts as 1
};

//! Bytes of a sample.
inline size_t bytes_of(sample_format format)
{
    return format == sample_format::complex64 ? 8 : format == sample_format::sc16 ? 4 : 2;
}

struct symbol_sync_parameters {
    double samples_per_symbol = 2; //!< 1.5 to 16, any real number
    double roll_off = 0.2;         //!< 0.02 to 1, and at most samples_per_symbol - 1
    sample_format format = sample_format::complex64;
    //! Symbols before an instant and after it that the matched filter sums up, up to 128;
    //! 0: the greater of 8 and 2 / roll_off.
    int span = 0;
    //! Symbols that an instant is estimated from, up to 131072; 0: 1536 / roll_off. Half
    //! of them come after the instant: they are the delay.
    int averaging = 0;
    //! Samples of one call at most, up to 2^26.
    size_t most_samples = 1 << 18;
};

//! Symbols that follow each other at even distances, about symbol_sync::block_symbols.
struct symbol_block {
    double instant;    //!< of the first symbol, in samples since the stream's first
    double step;       //!< samples from symbol to symbol
    int32_t symbols;   //!< may be 0
    float clock_error; //!< (symbol rate / nominal symbol rate) - 1
    float line; //!< strength of the symbol rate's line, 0 to 1; see line_of_noise()
    float gain; //!< what the matched filter's output was multiplied by
};

/*!
 * \brief Symbol timing recovery and root-raised-cosine matched filter of a linear
 * modulation: samples in, one sample a symbol out, of unit mean energy.
 *
 * Feed-forward by blocks of 512 symbols, without a loop:
 *
 * 1. Two filters pass the upper and the lower edge of the band, u and l, where the
 *    spectra of neighbouring symbol-rate images overlap. The line of u conj(l) at the
 *    symbol rate has the timing as its phase (M. Oerder, H. Meyr, IEEE Trans. Commun.
 *    36(5), 1988). u and l have the same pulse, which is symmetric in frequency about the
 *    band's edge, so that the symbols themselves put no noise on the phase
 *    (A. N. D'Andrea, M. Luise, IEEE Trans. Commun. 44(3), 1996). The band's edges are
 *    narrow, so that one value of u and l in about 0.5 / roll_off symbols is enough.
 *    The line is divided by the mean energy of u and l.
 * 2. A window of about `averaging` symbols around each block gives the block's timing and
 *    clock error: the lines are summed up coherently for clock errors of up to 250 ppm,
 *    and the strongest sum counts. The windows of the first and the last blocks are
 *    whole, and lie to one side. Blocks are unwrapped one after the other.
 * 3. The matched filter is computed at the instants alone, from a table of at least 512
 *    phases a symbol. The phase costs less than 0.002 dB at 20 dB.
 * 4. The gain is that of the mean energy of 17 blocks, up to this one, among which a
 * block counts if its energy is within a factor of 4 of this one's. It includes noise.
 *
 * The result does not depend on how the stream is cut into calls. Samples before the
 * first and after the last one count as 0. Instants range from half a symbol before
 * the first sample to half a symbol after the last one, and all of their symbols are
 * given.
 *
 * A sample with a part that is not finite, or beyond 10^15, counts as 0. Noise, zeros,
 * carriers and saturated samples give symbols at the nominal rate, within 250 ppm, with a
 * small `line`. A carrier offset that is not removed stays on the symbols. The filters do
 * not follow it: above roll_off / 8 symbol rates it costs more than 0.02 dB at 10 dB, and
 * above roll_off / 2 the line is lost.
 *
 * An object belongs to one stream and one queue. A call after the stream's end begins a
 * new stream.
 */
class CUDAPHY_API symbol_sync
{
public:
    using parameters = symbol_sync_parameters;
    static constexpr int block_symbols = 512;

    //! \throws std::invalid_argument if a parameter is out of range
    //! \throws backend_unavailable as resolve() does
    static std::unique_ptr<symbol_sync>
    make(const parameters& p, backend where = backend::automatic, int device = 0);
    virtual ~symbol_sync() = default;

    //! Blocks that run() will give for so many samples.
    virtual size_t blocks(size_t samples, bool end) const = 0;
    //! Symbols of one block at most.
    virtual size_t most_symbols() const = 0;
    //! Blocks of a window.
    virtual size_t window_blocks() const = 0;
    //! The mean of symbol_block::line where there is noise alone. A line 2.5 times as
    //! strong is one.
    virtual double line_of_noise() const = 0;

    /*!
     * The next samples of the stream.
     *
     * \param samples  most_samples samples at most; their bytes
     * \param end      whether the stream ends with them: all symbols left are given
     * \param symbols  the symbols of all blocks, one after the other; space for blocks()
     * * most_symbols() \param blocks   blocks() of them \throws std::invalid_argument if
     * a size is wrong
     */
    virtual void run(view<const unsigned char> samples,
                     bool end,
                     view<complex64> symbols,
                     view<symbol_block> blocks,
                     queue& queue) = 0;

    /*!
     * Removes a carrier offset from the next sample on, without a jump of the phase. 0
     * after make() and after restart(); a stream's end leaves it.
     *
     * \param cycles_per_sample  of the carrier; taken modulo 1, to within 2^-33
     * \throws std::invalid_argument if it is not finite
     */
    virtual void set_frequency(double cycles_per_sample) = 0;

    //! Begins a new stream; what is not given yet is lost.
    virtual void restart() = 0;
};

} // namespace gr::cudaphy::kernels
