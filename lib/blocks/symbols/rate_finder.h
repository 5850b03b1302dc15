/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/symbol_sync.h>
#include <optional>

namespace gr::cudaphy {

//! \brief Finds the symbol rate of a linear modulation by the strongest line of the
//! squared envelope, for a message: what rate there is instead of the one looked for.
class rate_finder
{
public:
    //! Takes samples until there are enough.
    void add(const void* samples, size_t count, kernels::sample_format format);
    bool has_enough() const { return d_energies.size() == needed; }
    void clear() { d_energies.clear(); }
    //! Samples a symbol, 2 to 16, if there is a line. A rate r below 2 has its line where
    //! r / (r - 1) has one.
    std::optional<double> find() const;

private:
    static constexpr size_t needed = 65536;
    std::vector<float> d_energies;
};

} // namespace gr::cudaphy
