/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symbol_sync/plan.h"
#include <deque>
#include <optional>

namespace gr::cudaphy::kernels {

/*!
 * \brief Finds the carrier offset of a linearly modulated signal by its symbol rate.
 *
 * The spectrum X of such a signal has correlated parts a symbol rate apart: X(f + 1/2T)
 * conj(X(f - 1/2T)) has a mean within roll_off / 2T of the carrier, and nowhere else
 * (W. A. Gardner, IEEE Trans. Commun. 34(5), 1986: the spectral correlation at 1/T).
 * Noise, other carriers and tones have none. The search takes the Fourier transform of
 * the cyclic correlation over the lags up to 2 / roll_off symbols, and adds up its energy
 * over pieces that are short enough for any clock error.
 */
class carrier_search
{
public:
    //! \param most_offset  of the carrier, in symbol rates; less if the band would leave
    //!                     the sample rate
    carrier_search(const symbol_sync_parameters& p, double most_offset);

    size_t piece_samples() const { return d_piece; }
    static constexpr int pieces = 32; //!< that are enough at the lowest Es/N0

    //! Forgets all pieces.
    void clear() { d_energies.clear(); }
    //! Adds pieces: piece_samples() samples each, as they come. Of all that were added,
    //! these and `pieces` before them count.
    void add(const unsigned char* samples, int count);
    //! The carrier offset in cycles a sample, if the last pieces have such a signal.
    //! \param last      how many, up to `pieces`; fewer if fewer were added
    //! \param left_out  so many that were added together, at their end, do not count yet
    std::optional<double> find(int last, int left_out) const;

private:
    std::vector<double> energies_of(const unsigned char* piece) const;

    symbol_sync_parameters d_parameters;
    size_t d_piece;
    int d_lags;       //!< on either side of 0
    int d_lag_step;   //!< samples
    int d_candidates; //!< of frequencies, an odd number, the middle one 0
    int d_searched;   //!< on either side of the middle; the others show the noise
    double d_step;    //!< between them, in cycles a sample
    std::vector<complex64> d_turns;             //!< of a sample, by the symbol rate
    std::vector<complex64> d_transform;         //!< (candidates, lags)
    std::deque<std::vector<double>> d_energies; //!< of each piece's candidates
};

} // namespace gr::cudaphy::kernels
