/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <mutex>
#include <pmt/pmt.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief What a receiver of slots has received: since it was made, and since the last
 * status. Any thread may ask.
 */
class reception_status
{
public:
    struct counts {
        uint64_t slots = 0, empty_slots = 0;           //!< empty: nothing was expected
        uint64_t blocks = 0, errors = 0;               //!< transport blocks
        uint64_t no_dmrs = 0, not_finite = 0, crc = 0; //!< errors by reason
        uint64_t iterations = 0, code_blocks = 0;
        uint64_t measured = 0; //!< blocks with a finite SINR
        double sinr_db = 0;    //!< their sum
    };

    //! A slot has come, in which so many channels were expected.
    void slot(size_t expected);
    void block(const kernels::nr::reception& got,
               const kernels::nr::reception::block& of);
    counts all() const;
    //! A dictionary of what came since the last call. \param refused_packets  so far
    pmt::pmt_t next(uint64_t refused_packets, std::string& problem);

private:
    static std::string problem_of(const counts& since, uint64_t refused_packets);

    mutable std::mutex d_mutex;
    counts d_all, d_since;
    uint64_t d_refused_before = 0;
};

} // namespace gr::cudaphy
