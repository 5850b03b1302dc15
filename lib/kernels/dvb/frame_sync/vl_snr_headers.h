/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/frame_header.h"
#include "kernels/dvb/frame_sync/symbol_buffer.h"
#include "kernels/dvb/vl_snr_search.h"
#include <optional>

namespace gr::cudaphy::kernels {

/*!
 * \brief Finds the headers of VL-SNR frames in a stream of symbols.
 *
 * At -9.9 dB their 990 symbols have a score of 92 on the average, and less than 45 once
 * in 10^5 times; noise has 45 once in 10^14 places. So one of them is enough for a lock.
 */
class vl_snr_headers
{
public:
    static constexpr uint64_t symbols = vl_snr_headers_symbols;
    static constexpr uint64_t window = 4096; //!< places that are looked at together

    explicit vl_snr_headers(double most_frequency) : d_search(most_frequency) {}

    //! The headers at a place or one symbol beside, near this frequency. Needs `symbols`
    //! and one more from the place on, and one before.
    std::optional<frame_header>
    at_place(const symbol_buffer& from, uint64_t at, double frequency) const;

    //! The first headers that begin at one of `places` places, at any frequency. Needs
    //! places + symbols - 1 symbols.
    std::optional<frame_header>
    scan(const symbol_buffer& from, uint64_t first, uint64_t places) const;

    //! What a header of 90 symbols would score that is as strong.
    static float score_of_90(const frame_header& header);

private:
    static frame_header header_of(uint64_t at, const vl_snr_found& found);

    vl_snr_search d_search;
};

} // namespace gr::cudaphy::kernels
