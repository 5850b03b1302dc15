/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/self_test.h>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief One kernel with its data on one backend, for the self-test.
 *
 * The data are `pattern` items over and over, so that the reference need do only those.
 */
class tested_kernel
{
public:
    virtual ~tested_kernel() = default;
    virtual void run() = 0; //!< the whole batch, submitted to the queue
    //! The outputs of the first or the last items of the batch, as many as the pattern
    //! has, as numbers; decisions are 0 and 1.
    virtual std::vector<float> outputs(bool last) = 0;
};

//! A row of the self-test.
struct tested_row {
    const char* name;
    const char* unit;
    double units;      //!< of an item
    double bytes;      //!< in and out, of an item
    double operations; //!< at least, of an item: multiply-adds, or byte operations
    bool in_bytes;     //!< which of them
    size_t pattern;    //!< items
    double tolerance;
    //! Of `items` items, a multiple of the pattern, on the queue.
    std::function<std::unique_ptr<tested_kernel>(queue& line, size_t items)> make;
    //! What the pattern should give; empty: what the reference backend gives.
    std::function<std::vector<float>()> truth = {};
};

const std::vector<tested_row>& tested_rows();

} // namespace gr::cudaphy
