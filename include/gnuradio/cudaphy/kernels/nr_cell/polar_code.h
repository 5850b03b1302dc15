/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr_cell {

/*!
 * \brief The polar code of PBCH and PDCCH with its rate matching (3GPP TS 38.212,
 * sections 5.3.1 and 5.4.1, with n_max = 9, I_IL = 1, n_PC = 0, I_BIL = 0).
 *
 * Never changes once made; threads may share one.
 */
class CUDAPHY_API polar_code
{
public:
    /*!
     * \param information  K, bits that are encoded, CRC included: 25 to 164
     * \param coded        E, bits that are sent: K to 8192
     * \throws std::invalid_argument if K or E is out of range, or E > N and N < K
     */
    polar_code(int information, int coded);

    int information() const { return static_cast<int>(d_places.size()); } //!< K
    int coded() const { return d_coded; }                                 //!< E
    int size() const { return d_size; } //!< N, 32 to 512

    //! Whether u_n carries information, (N).
    const std::vector<uint8_t>& carries() const { return d_carries; }

    /*!
     * \param bits        (K), of value 0 or 1
     * \param[out] coded  (E)
     * \throws std::invalid_argument for sizes that do not fit
     */
    void encode(view<const uint8_t> bits, view<uint8_t> coded) const;

    /*!
     * The inverse of rate matching (section 5.4.1): repeated bits are added, punctured
     * ones are 0, shortened ones are certain to be 0.
     * \param llr          (E), positive means 0; NaN counts as 0
     * \param[out] values  (N), LLRs of d
     * \throws std::invalid_argument for sizes that do not fit
     */
    void recover(view<const float> llr, view<float> values) const;

    //! The bits that u carries, (K), in the order that encode() takes (section 5.3.1.1).
    void extract(view<const uint8_t> u, view<uint8_t> bits) const;

private:
    void choose_places(int information);

    int d_coded, d_size;
    bool d_shortened = false;
    std::vector<uint8_t> d_carries;
    std::vector<int> d_places; // of c_k in u, (K): input interleaver and bit channels
    std::vector<int> d_order;  // J of the sub-block interleaver, (N)
};

//! LLR of a bit that is certain to be 0.
constexpr float certain = 1e4f;

/*!
 * \brief Decodes a polar code by a successive cancellation list, checked by CRC24C.
 *
 * Each path's metric rises by |LLR| for a decision against it, a min-sum form of
 * ln(1 + e^-x) (Balatsoukas-Stimming, Bastani Parizi and Burg, IEEE Trans. Signal
 * Process. 63(19), 2015). The best path that passes the CRC wins (Niu and Chen, IEEE
 * Commun. Lett. 16(10), 2012).
 */
class CUDAPHY_API polar_decoder
{
public:
    //! \param paths  L, 1 to 64. \throws std::invalid_argument
    explicit polar_decoder(const polar_code&, int paths = 8);

    //! What a path must fulfil (section 5.1): CRC24C over `ones` leading bits 1 and the
    //! path's, its last bits masked.
    struct check {
        int ones = 0;      //!< of PDCCH 24 (section 7.3.2), of PBCH 0
        uint32_t mask = 0; //!< XORed on the CRC; of PDCCH the RNTI
    };

    /*!
     * \param llr        (E), positive means 0
     * \param[out] bits  (K); undefined if no path passes
     * \returns whether a path passes. LLRs that are all 0 decode to nothing.
     * \throws std::invalid_argument for sizes that do not fit
     */
    bool decode(view<const float> llr, const check&, view<uint8_t> bits);

private:
    struct path {
        std::vector<float> llr;    // of all levels but the channel's: 1, 2, 4 ... N / 2
        std::vector<uint8_t> sums; // partial sums, left and right of each level
        std::vector<uint8_t> u;    // (N)
        float metric = 0;
    };
    void compute(path&, int bit) const;
    void feed(path&, int bit, uint8_t value) const;
    void fork(int bit);
    void run();

    polar_code d_code;
    int d_most, d_levels;
    std::vector<float> d_channel;
    std::vector<path> d_paths, d_spare;
};

//! The remainder of CRC24C of `ones` bits 1 and these bits (sections 5.1 and 7.3.2).
CUDAPHY_API uint32_t crc24c(view<const uint8_t> bits, int ones = 0);

} // namespace gr::cudaphy::kernels::nr_cell
