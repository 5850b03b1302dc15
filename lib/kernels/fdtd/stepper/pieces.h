/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/plan.h"
#include <map>
#include <string>
#include <unordered_map>

namespace gr::cudaphy::kernels {

constexpr size_t fdtd_most_patterns = size_t{ 1 } << 22; //!< in pairs of entries

//! Fills items up to a multiple of `apart`. \returns the number of multiples
template <typename Item>
uint32_t fdtd_align(std::vector<Item>& items, size_t apart)
{
    const auto place = (items.size() + apart - 1) / apart;
    items.resize(place * apart);
    return uint32_t(place);
}

//! Adds pieces to a plan.
template <typename T>
class fdtd_pieces
{
public:
    explicit fdtd_pieces(fdtd_plan<T>& plan) : d_plan(plan) {}

    //! Adds the pieces of a run of elements.
    void add(int32_t first, int32_t last, uint32_t code) { add(first, last, code, 0, 0); }

    /*!
     * Adds the pieces, with values, of the runs in rows begin ... end - 1 whose rows
     * share column offsets. \param[out] number  1 for rows in a piece, else unchanged
     */
    void add(const typename fdtd_system<T>::update& update,
             std::vector<uint16_t>& number,
             int64_t begin,
             int64_t end);

    /*!
     * Finds the series of short runs that recur in the next update.
     * \param number  of each row's code
     * \param codes  fdtd_code_empty for rows without entries, 0 for rows without a code
     */
    void find_sequences(const std::vector<uint16_t>& number, const uint32_t* codes);

    /*!
     * Adds the pieces of rows begin ... end - 1 of that update.
     * \param first  the element of row 0
     */
    void add_runs(int32_t first, int64_t begin, int64_t end);

private:
    //! Consecutive rows: a run, or a sequence of short runs.
    struct stretch {
        int32_t first, rows;
        uint32_t code;  //!< of all rows
        int32_t number; //!< of the sequence; -1: a run
    };
    struct sequence {
        int32_t first, rows; //!< of its first occurrence
        int32_t entries;     //!< of a row, at most
        int32_t times;
        uint32_t code; //!< 0: none
    };
    void add_sequences(int32_t first, int32_t rows);
    void share(sequence& s);
    //! \param begin  the tile's first piece
    void add_shared(size_t begin, int32_t first, uint32_t code, uint32_t rows);

    //! \param stride  from one entry's values to the next
    //! \param values  place of the first row's values, or up to 7 before, over
    //! values_apart
    void add(int32_t first, int32_t last, uint32_t code, int32_t stride, uint32_t values);

    //! The code of rows with this row's column offsets; 0 if the rows get no code.
    uint32_t code_of(const typename fdtd_system<T>::update& update, int64_t row);

    fdtd_plan<T>& d_plan;
    std::map<std::vector<int32_t>, uint32_t> d_codes; //!< of distances
    // Of an update's dictionary:
    const std::vector<uint16_t>* d_number = nullptr;
    const uint32_t* d_code = nullptr;
    std::vector<stretch> d_stretches;
    std::vector<sequence> d_sequences;
    std::unordered_map<std::u16string, int32_t> d_found; //!< sequences
};

} // namespace gr::cudaphy::kernels
