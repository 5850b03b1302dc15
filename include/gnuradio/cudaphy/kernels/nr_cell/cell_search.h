/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr_cell/pbch.h>
#include <gnuradio/cudaphy/kernels/nr_cell/sib1.h>
#include <string>

namespace gr::cudaphy::kernels::nr_cell {

//! What is searched in a recording.
struct CUDAPHY_API cell_search_parameters {
    double sample_rate = 30.72e6; //!< samples/s
    //! Hz; for phase compensation (3GPP TS 38.211, section 5.4) and for what depends on
    //! the band. 0: not known, and phases are not compensated.
    double centre_frequency = 0;
    //! Subcarrier 120 of SS/PBCH blocks, Hz above the samples' centre.
    std::vector<double> ssb_frequencies = { 0 };
    std::vector<int> spacings = { 15000, 30000 }; //!< of the blocks, Hz
    //! Least correlation with PSS that is looked into, above 0 to 1.
    float threshold = 0.1f;
    int most_candidates = 32; //!< peaks of PSS that are looked into
    bool sib1 = true;         //!< go on to SIB1

    //! \throws std::invalid_argument that says what is allowed
    void check() const;
};

//! A cell's SS/PBCH block.
struct found_cell {
    int cell;                //!< N_ID^cell
    int scs;                 //!< Hz, of the block
    double ssb_frequency;    //!< of subcarrier 120 on the raster, Hz above the centre
    double frequency_offset; //!< Hz
    double time;             //!< samples: where the block's first prefix begins
    double snr;              //!< dB, of a resource element
    float pss_correlation, sss_correlation; //!< 0 to 1
    std::optional<broadcast> mib;           //!< nothing if PBCH's CRC fails
    double frame_time = 0; //!< samples: where the frame begins, if there is a MIB
    char pattern = '-';    //!< case A to E of the blocks' places (38.213, 4.1)
    sib1_outcome sib1;
};

/*!
 * \brief Finds cells of 5G NR and reads what they broadcast (TS 38.211, 7.4.2 and
 * 7.4.3; TS 38.213, 4.1 and 13).
 *
 * A block that is repeated is told once, where it is strongest. A block whose MIB is not
 * decoded is told if both correlations exceed 0.25.
 * \returns the strongest first
 * \throws std::invalid_argument as check() does, and for samples that are not finite
 */
CUDAPHY_API std::vector<found_cell> search_cells(view<const complex64> samples,
                                                 const cell_search_parameters&);

//! The synchronization raster's frequencies from `first` to `last`, Hz (TS 38.104,
//! section 5.4.3.1), ascending.
CUDAPHY_API std::vector<double> synchronization_raster(double first, double last);

} // namespace gr::cudaphy::kernels::nr_cell
