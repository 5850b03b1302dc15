/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <memory>

namespace gr::cudaphy::kernels {
class fourier_transform;
}

namespace gr::cudaphy::kernels::nr {

//! Of a resource grid's OFDM signal (3GPP TS 38.211, sections 4.2, 5.3.1 and 5.4).
struct ofdm_parameters {
    int numerology = 1;           //!< mu: 0 to 4, subcarriers 15 · 2^mu kHz apart
    bool extended_prefix = false; //!< with numerology 2 alone
    int subcarriers = 624;        //!< of the grid
    //! Samples of a symbol without prefix, at least the subcarriers. The normal prefix
    //! needs a multiple of 128, the extended one of 4.
    int fft_size = 1024;
    //! f_0 of section 5.4, Hz; 0: no phase is compensated.
    double carrier_frequency = 0;
    //! k_0 of section 5.3.1: subcarriers that the grid's middle lies above the carrier.
    int middle = 0;
    //! Samples over which the end of a symbol, and the start of the next one's prefix,
    //! overlap as raised cosines; 0: none. At most the shortest prefix. A call's last
    //! symbol ends without overlap.
    int window = 0;
};

/*!
 * \brief OFDM modulator and demodulator of whole slots, on the CPU.
 *
 * Transforms are scaled by 1 / sqrt(fft_size), so that samples carry the energy of the
 * resource elements, and a demodulator gets back what the modulator was given. Threads
 * may share one.
 */
class CUDAPHY_API ofdm
{
public:
    //! \throws std::invalid_argument that says what is allowed.
    explicit ofdm(const ofdm_parameters&);
    ~ofdm();

    const ofdm_parameters& parameters() const { return d_parameters; }
    double sample_rate() const;
    int symbols_per_slot() const { return d_parameters.extended_prefix ? 12 : 14; }
    //! Samples of the prefix of a symbol, counted from the start of slot `slot` of a
    //! frame.
    int prefix(int slot, int symbol) const;
    //! Samples of `slots` slots from slot `slot` of a frame on.
    size_t samples(int slot, int slots) const;

    /*!
     * \param grid          (ports, slots · symbols_per_slot, subcarriers)
     * \param slot          of a frame, the first one: of 0 to 10 · 2^mu - 1
     * \param[out] samples  (ports, samples(slot, slots))
     * \throws std::invalid_argument for sizes that do not fit
     */
    void modulate(view<const complex64> grid,
                  int ports,
                  int slots,
                  int slot,
                  view<complex64> samples) const;

    /*!
     * The inverse of modulate().
     * \param advance  samples that a transform starts within the prefix, 0 to the
     * shortest prefix; the phases are those of none
     */
    void demodulate(view<const complex64> samples,
                    int ports,
                    int slots,
                    int slot,
                    int advance,
                    view<complex64> grid) const;

private:
    struct symbol_place; // of the symbol in the samples, and its phase
    std::vector<symbol_place> places(int slot, int slots) const;
    size_t bin(int subcarrier) const;
    void require_sizes(size_t grid, size_t samples, int ports, int slots, int slot) const;

    ofdm_parameters d_parameters;
    std::unique_ptr<fourier_transform> d_forward, d_backward;
    std::vector<float> d_rise; // of the window
};

} // namespace gr::cudaphy::kernels::nr
