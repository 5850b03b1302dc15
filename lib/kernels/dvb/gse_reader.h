/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/bb_deframer.h>
#include <map>

namespace gr::cudaphy::kernels {

//! Takes packets out of the GSE units of one input stream. (ETSI TS 102 606-1)
class gse_reader
{
public:
    //! \param data  a data field: whole units, then padding
    //! \return packets that were lost for a wrong CRC-32, length or fragment
    uint64_t take(const uint8_t* data, size_t count, int isi, bb_deframer::output& to);

private:
    //! What a first fragment told of its packet, and the bytes so far.
    struct fragments {
        size_t total = 0;             //!< bytes of type, label, extensions and data
        std::vector<uint8_t> checked; //!< what the CRC-32 covers: their number, then they
        size_t label_bytes = 0;       //!< that were sent
        std::vector<uint8_t> label;
    };

    std::vector<uint8_t> label_of(int type, const uint8_t* label);

    std::map<int, fragments> d_open;   //!< by fragment ID
    std::vector<uint8_t> d_last_label; //!< in this data field
};

} // namespace gr::cudaphy::kernels
