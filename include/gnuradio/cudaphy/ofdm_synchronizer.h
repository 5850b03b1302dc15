/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Finds OFDM frames in the samples of several receive antennas by a preamble, and
 * puts out their symbols without cyclic prefix and without carrier offset.
 * \ingroup cudaphy
 *
 * In: one stream of complex samples an antenna, sampled together. Out: for each antenna
 * vectors of fft_size complex, `symbols` of them a frame, ready for an FFT.
 *
 * A frame is a preamble symbol and `symbols` others, each with its cyclic prefix. The
 * preamble's halves are alike, and known: `preamble` is one half, in samples, as the
 * antenna without cyclic shift sends it; the others send it shifted cyclically by
 * `shifts` samples.
 *
 * Detection is that of Schmidl and Cox (IEEE Trans. Commun. 45(12), 1997) with the sums
 * of all antennas: P(d) = sum over antennas and half a symbol of conj(y[d + m]) y[d + m +
 * L], R(d) = the mean energy of both halves; |P|^2 / R^2 must pass `threshold`. The angle
 * of P gives the carrier offset up to one tone spacing; the matched filter for the known
 * half tells which multiple of two spacings to add, what lies where in time, and whether
 * it is this preamble at all. The first sample of the FFT's window is where a window as
 * long as the prefix that begins there holds the most energy of the channel, less
 * `advance` samples, so that no path comes early. The offset is refined over the whole
 * frame by its cyclic prefixes.
 *
 * A tag `rx_time` shows that the radio lost samples if its time differs by more than two
 * samples from that which the last tag and the rate give. Without a rate, any later tag
 * shows it. The frame under way is then dropped and counted, and the next one is searched
 * for.
 *
 * A frame whose end does not come is not put out. A sample that is not finite counts as
 * 0. Samples are searched as they come, in bounded memory; frames may follow each other
 * without a gap. Whatever comes, a sample takes a bounded time: a
 * carrier, a DC offset or any other wave whose metric passes all the time is compared
 * with the preamble, by Fourier transforms, every quarter of a symbol, or every prefix
 * if that is longer. Frames beside it are found.
 *
 * Tags on the first vector of a frame, on every output: the length tag (`symbols`);
 * `carrier_offset`, a double, in tone spacings; `frame_start`, a uint64: the sample of
 * the input at which the preamble's prefix begins; `rx_time`, where the input carries it,
 * moved to that sample by the last rx_rate, or by `sample_rate` where there is none.
 * Other tags of input 0 that lie within a frame go to the symbol that they lie in.
 */
class CUDAPHY_API ofdm_synchronizer : virtual public gr::block
{
public:
    typedef std::shared_ptr<ofdm_synchronizer> sptr;

    /*!
     * \param antennas       1..16
     * \param fft_size       even, 16..65536
     * \param cyclic_prefix  samples, 1 to below fft_size / 2
     * \param symbols        of a frame, without the preamble, 2..1024
     * \param preamble       half a preamble symbol, fft_size / 2 samples, of any scale
     * \param shifts         cyclic shifts (delays) of the transmit antennas' preambles in
     *                       samples, 0 to cyclic_prefix; one at least
     * \param advance        samples by which the window begins early, from 0 to below
     *                       cyclic_prefix
     * \param most_offset    carrier offset to search for, in tone spacings, up to
     *                       fft_size / 2
     * \param threshold      of the metric, below 1; 0: by the false alarms that noise
     *                       makes, one in 10^6 samples (the matched filter sorts these
     *                       out), but at least 0.1
     * \param length_tag_key names the tag with a frame's symbols
     * \param sample_rate    in Hz, for rx_time where no rx_rate comes; 0: none
     * \throws std::invalid_argument if a parameter is out of range
     */
    static sptr make(int antennas,
                     int fft_size,
                     int cyclic_prefix,
                     int symbols,
                     const std::vector<gr_complex>& preamble,
                     const std::vector<int>& shifts = { 0 },
                     int advance = 0,
                     double most_offset = 1,
                     double threshold = 0,
                     const std::string& length_tag_key = "packet_len",
                     double sample_rate = 0);

    virtual uint64_t frames() const = 0; //!< put out
    virtual uint64_t
    false_alarms() const = 0; //!< signals that repeated, and were no preamble
    virtual uint64_t torn_frames() const = 0;  //!< begun, and torn by lost samples
    virtual double carrier_offset() const = 0; //!< of the last frame, in tone spacings
};

} // namespace gr::cudaphy
