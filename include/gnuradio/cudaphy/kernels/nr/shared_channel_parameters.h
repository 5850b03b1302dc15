/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/nr/dmrs_positions.h>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/mcs.h>

namespace gr::cudaphy::kernels::nr {

//! Demodulation reference signals (3GPP TS 38.211, sections 6.4.1.1 and 7.4.1.1).
struct dmrs_parameters {
    int type = 1;                    //!< dmrs-Type: 1 or 2
    int length = 1;                  //!< symbols at each position, 1 or 2
    int type_a_position = 2;         //!< 2 or 3
    int additional_position = 0;     //!< 0 to 3; 0 or 1 with length 2
    int cdm_groups_without_data = 2; //!< 1, 2, or 3 with type 2
    //! Each layer's port, counted from 0 (1000 is added on PDSCH): 0 to 7, or to 11 with
    //! type 2; with length 1 half as many.
    std::vector<int> ports = { 0 };
    int n_scid = 0;         //!< 0 or 1
    int n_id[2] = { 0, 0 }; //!< N_ID of each n_SCID, 0 to 65535
    //! n_ID^RS of transform precoding, 0 to 1007.
    int n_rs_id = 0;
    sequence_hopping hopping = sequence_hopping::neither; //!< with transform precoding
    //! The common resource block that the sequence starts at: 0, but on PDSCH of CORESET
    //! 0 that CORESET's first one (section 7.4.1.1.2).
    int reference_block = 0;
    //! Over the amplitude of the data; 0: what TS 38.214, tables 4.1-1 and 6.2.2-1, say,
    //! sqrt(cdm_groups_without_data).
    float amplitude = 0;
};

//! Phase-tracking reference signals (TS 38.211, sections 6.4.1.2 and 7.4.1.2), one port.
struct ptrs_parameters {
    bool on = false;
    int time_density = 1;      //!< L: 1, 2 or 4 symbols
    int frequency_density = 2; //!< K: 2 or 4 resource blocks
    int element_offset = 0;    //!< resourceElementOffset: 0 to 3
    int port = -1;             //!< the DM-RS port that it goes with; -1: the lowest one
    //! Over the amplitude of the data; 0: sqrt(layers), which is epre-Ratio 0 on PDSCH
    //! and, with full coherence, ptrs-Power 00 on PUSCH (TS 38.214, tables 4.1-2 and
    //! 6.2.3.1-3); with transform precoding that of the outermost points (6.2.3.2-2).
    float amplitude = 0;
    //! Instead of frequency density, offset and port with transform precoding, where L is
    //! 1 or 2 (TS 38.214, 6.2.3.2): groups of samples in a symbol, 2, 4, or 8 of four,
    int groups = 2;
    int samples = 2; //!< and samples of a group, 2 or 4
};

/*!
 * \brief What a slot of PUSCH or PDSCH is made of (TS 38.211, 38.212 and 38.214).
 */
struct CUDAPHY_API shared_channel_parameters {
    link_direction direction = link_direction::uplink;
    int numerology = 1; //!< mu: 0 to 4; the extended prefix only with 2
    bool extended_prefix = false;

    //! The resource grid: its first common resource block, and how many, 1 to 275.
    int grid_start = 0, grid_size = 52;
    //! The bandwidth part, within the grid, in common resource blocks.
    int bwp_start = 0, bwp_size = 52;
    //! Virtual resource blocks of the bandwidth part, ascending. On PUSCH, and on PDSCH
    //! without interleaving, these are the physical ones.
    std::vector<int> resource_blocks;
    int vrb_bundle = 0; //!< 0: not interleaved; on PDSCH also 2 or 4

    char mapping_type = 'A';
    int first_symbol = 0, symbols = 14;
    dmrs_parameters dmrs;
    ptrs_parameters ptrs;

    int layers = 1; //!< 1 to 4; on PDSCH to 8, from 5 on with two codewords
    bool transform_precoding = false;
    //! Antenna ports of codebook precoding on PUSCH, 1, 2 or 4; 0: not by codebook, a
    //! port a layer.
    int antenna_ports = 0;
    int tpmi = 0;

    int n_id = 0; //!< of scrambling, 0 to 1023
    int rnti = 1; //!< 0 to 65535

    mcs_table table = mcs_table::qam64;
    int mcs[2] = { 0, 0 };  //!< of each codeword
    bool pi2_bpsk = false;  //!< tp-pi2BPSK
    int overhead = 0;       //!< xOverhead: 0, 6, 12 or 18
    int limited_buffer = 0; //!< TBS_LBRM; 0: the whole buffer
    //! Resource elements without data (rate-matching patterns, other signals): empty, or
    //! 1 for each such element of the grid, (symbols of a slot, subcarriers).
    std::vector<uint8_t> reserved;

    int symbols_per_slot() const { return extended_prefix ? 12 : 14; }
    int subcarriers() const { return 12 * grid_size; }
    int codewords() const { return layers > 4 ? 2 : 1; }
    //! Layers of a codeword (TS 38.211, table 7.3.1.3-1).
    int layers_of(int codeword) const
    {
        return layers <= 4 ? layers : codeword ? (layers + 1) / 2 : layers / 2;
    }
    //! Ports that the grid has: antenna ports by codebook, else layers.
    int grid_ports() const { return antenna_ports ? antenna_ports : layers; }

    //! The first symbols of DM-RS's positions (dmrs_positions()).
    std::vector<int> positions() const;

    //! \throws std::invalid_argument that names the clause, and says what is allowed.
    void check() const;
};

} // namespace gr::cudaphy::kernels::nr
