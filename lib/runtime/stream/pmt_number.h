/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <pmt/pmt.h>

namespace gr::cudaphy {

//! The whole number that a PMT holds, long or uint64; none if it holds anything else. A
//! uint64 above what an int64_t holds counts as the largest one.
inline std::optional<int64_t> whole_number(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value)) {
        constexpr uint64_t most = std::numeric_limits<int64_t>::max();
        return static_cast<int64_t>(std::min(pmt::to_uint64(value), most));
    }
    return pmt::is_integer(value) ? std::optional<int64_t>(pmt::to_long(value))
                                  : std::nullopt;
}

//! The number that a PMT holds, double, long or uint64; none if it holds anything else.
inline std::optional<double> real_number(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value)) {
        return static_cast<double>(pmt::to_uint64(value));
    }
    return pmt::is_real(value) || pmt::is_integer(value)
               ? std::optional(pmt::to_double(value))
               : std::nullopt;
}

} // namespace gr::cudaphy
