/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/stream/pmt_number.h"
#include <cmath>

namespace gr::cudaphy {

//! Whether times can be computed with this number of samples a second.
inline bool is_usable_rate(double rate) { return rate >= 1e-3 && rate <= 1e12; }

//! The rate in the value of a tag rx_rate; none if it is no usable rate.
inline std::optional<double> radio_rate(const pmt::pmt_t& value)
{
    const auto rate = real_number(value);
    return rate && is_usable_rate(*rate) ? rate : std::nullopt;
}

//! A time as radios give it: whole seconds, and a fraction of a second.
struct radio_time {
    uint64_t seconds;
    double fraction;

    //! The time in the value of a tag rx_time, a tuple; none if it is no such tuple.
    static std::optional<radio_time> from_pmt(const pmt::pmt_t& value)
    {
        if (!pmt::is_tuple(value) || pmt::length(value) != 2) {
            return std::nullopt;
        }
        const auto whole = pmt::tuple_ref(value, 0), part = pmt::tuple_ref(value, 1);
        const auto seconds = whole_number(whole);
        if (!seconds || *seconds < 0 || !pmt::is_real(part)) {
            return std::nullopt;
        }
        const double fraction = pmt::to_double(part);
        if (!(fraction >= 0 && fraction < 1)) {
            return std::nullopt;
        }
        return radio_time{ static_cast<uint64_t>(*seconds), fraction };
    }
    pmt::pmt_t to_pmt() const
    {
        return pmt::make_tuple(pmt::from_uint64(seconds), pmt::from_double(fraction));
    }
    //! The time `items` later at this rate.
    radio_time after(uint64_t items, double rate) const
    {
        const double whole = std::floor(items / rate);
        double part = fraction + (items - whole * rate) / rate;
        const double carry = std::floor(part);
        part -= carry;
        return { seconds + static_cast<uint64_t>(whole + carry), part };
    }
    double since(const radio_time& earlier) const
    {
        return static_cast<double>(static_cast<int64_t>(seconds - earlier.seconds)) +
               (fraction - earlier.fraction);
    }
};

} // namespace gr::cudaphy
