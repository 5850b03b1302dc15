/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/radio_time.h"
#include <gnuradio/tags.h>

namespace gr::cudaphy {

//! \brief Says by tags rx_time and rx_rate where a radio left samples out.
class sample_clock
{
public:
    //! \param sample_rate  where no rx_rate comes; 0: none
    explicit sample_clock(double sample_rate) : d_given(sample_rate) {}

    void restart()
    {
        d_last.reset();
        d_rate = 0;
    }
    double rate() const { return d_rate > 0 ? d_rate : d_given; }

    //! The next tag, in order; one that has been given before does nothing. Whether
    //! samples are missing before it.
    bool shows_gap(const tag_t& tag)
    {
        static const pmt::pmt_t time_key = pmt::mp("rx_time"),
                                rate_key = pmt::mp("rx_rate");
        if (pmt::eq(tag.key, rate_key)) {
            d_rate = radio_rate(tag.value).value_or(d_rate);
        }
        const auto time =
            pmt::eq(tag.key, time_key) ? radio_time::from_pmt(tag.value) : std::nullopt;
        if (!time || (d_last && tag.offset <= d_last->sample)) {
            return false;
        }
        const bool gap = d_last && is_off(*time, tag.offset);
        d_last = { tag.offset, *time };
        return gap;
    }

private:
    struct moment {
        uint64_t sample;
        radio_time time;
    };
    bool is_off(const radio_time& time, uint64_t sample) const
    {
        constexpr double tolerance = 2; // samples
        if (!(rate() > 0)) {
            return true;
        }
        const auto expected = d_last->time.after(sample - d_last->sample, rate());
        return std::abs(time.since(expected)) * rate() > tolerance;
    }

    const double d_given;
    double d_rate = 0;
    std::optional<moment> d_last;
};

} // namespace gr::cudaphy
