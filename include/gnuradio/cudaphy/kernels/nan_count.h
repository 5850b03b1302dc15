/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/float16.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How many values in ordinary memory are NaN.
CUDAPHY_API size_t count_nan(view<const float> values);

/*!
 * \brief Counts the NaN in each of count.size() groups of values: the LLRs of a codeword
 * that its decoder takes for erasures, but that something before it got wrong.
 *
 * Returns before the device has finished if `queue` is a device's.
 * \param values      (groups, values a group)
 * \param[out] count  (groups)
 * \throws std::invalid_argument if the values are no whole number a group
 */
CUDAPHY_API void count_nan(view<const float> values, view<int> count, queue& queue);
CUDAPHY_API void count_nan(view<const float16> values, view<int> count, queue& queue);

} // namespace gr::cudaphy::kernels
