/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/fdtd_stepper_plan.h"
#include <map>

namespace gr::cudaphy::kernels {

constexpr size_t fdtd_most_patterns = size_t{ 1 } << 22; //!< pairs of their entries

//! Fills up to a multiple of `apart`, and returns which.
template <typename Item>
uint32_t fdtd_align(std::vector<Item>& items, size_t apart)
{
    const auto place = (items.size() + apart - 1) / apart;
    items.resize(place * apart);
    return uint32_t(place);
}

//! Puts pieces into a plan.
template <typename T>
class fdtd_pieces
{
public:
    explicit fdtd_pieces(fdtd_plan<T>& plan) : d_plan(plan) {}

    //! Those of a run of elements.
    void add(int32_t first, int32_t last, uint32_t code) { add(first, last, code, 0, 0); }

    /*!
     * Those of the runs of rows begin ... end - 1 whose columns have the same distances,
     * with their values.
     * \param[out] number  1 for rows in a piece, else as it was
     */
    void add(const typename fdtd_system<T>::update& update,
             std::vector<uint16_t>& number,
             int64_t begin,
             int64_t end);

private:
    //! \param stride  from one entry's values to the next
    //! \param values  of the first row, or up to 7 places before: divided by values_apart
    void add(int32_t first, int32_t last, uint32_t code, int32_t stride, uint32_t values);

    //! The code of rows with this row's distances; 0 if they can't or need not have one.
    uint32_t code_of(const typename fdtd_system<T>::update& update, int64_t row);

    fdtd_plan<T>& d_plan;
    std::map<std::vector<int32_t>, uint32_t> d_codes; //!< of distances
};

} // namespace gr::cudaphy::kernels
