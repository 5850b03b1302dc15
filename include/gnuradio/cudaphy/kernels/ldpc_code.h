/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

//! A file of a parity-check matrix is malformed; what() gives the file, the line and what
//! was expected.
class CUDAPHY_API code_file_error : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

/*!
 * \brief The circulants that a quasi-cyclic H is made of.
 *
 * H falls into blocks of lifting_size x lifting_size. Check i of block row r contains,
 * for each circulant of that row, bit (i + shift) mod lifting_size of block column
 * `column`. A block may hold several circulants.
 */
struct ldpc_circulants {
    struct circulant {
        int row, column, shift;
        int missing = -1; //!< the check of this block row that lacks its one here, or -1
    };
    int lifting_size = 0; //!< 0: the code has no such structure
    int block_rows = 0, block_columns = 0;
    //! By row, then column, then shift.
    std::vector<circulant> all;
    //! Which check of H is check i of block row r: checks[r * lifting_size + i]; and
    //! which column bit i of block column c. Empty: r * lifting_size + i itself.
    std::vector<int> checks, bits;
};

/*!
 * \brief A binary low-density parity-check code: its matrix H, which bits carry
 * information, and how to decode it.
 *
 * Immutable once made, and cheap to share. Columns and rows count from 0. Most codes send
 * every column of H: bit i of a codeword is column i. Others leave columns out, as 5G NR
 * does: punctured ones, of which the receiver knows nothing, and shortened ones, which
 * are 0; then bit i of a codeword is column transmitted()[i].
 */
class CUDAPHY_API ldpc_code
{
public:
    using sptr = std::shared_ptr<const ldpc_code>;

    //! IEEE 802.11n/ac/ax: n = 648, 1296 or 1944; rate "1/2", "2/3", "3/4" or "5/6".
    //! (IEEE 802.11-2020, annex F.) \throws std::invalid_argument with the allowed
    //! values.
    static sptr wifi(int n, const std::string& rate);

    //! DVB-S2: frame "normal" (n = 64800; rates 1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9
    //! 9/10) or "short" (n = 16200; the same names but 9/10). (ETSI EN 302 307-1,
    //! section 5.3 and annexes B, C.) \throws std::invalid_argument
    static sptr dvbs2(const std::string& frame, const std::string& rate);

    /*!
     * DVB-S2X (ETSI EN 302 307-2): frame "normal", rates 13/45 9/20 90/180 96/180 11/20
     * 100/180 104/180 26/45 18/30 28/45 23/36 116/180 20/30 124/180 25/36 128/180 13/18
     * 132/180 22/30 135/180 140/180 7/9 154/180; frame "short", rates 11/45 4/15 14/45
     * 7/15 8/15 26/45 32/45. And the codes of VL-SNR frames as they are sent, shortened
     * and punctured: "normal" "2/9 VL-SNR" (n = 61560); "medium" "1/5 VL-SNR", "11/45
     * VL-SNR", "1/3 VL-SNR" (30780); "short" "1/5 VL-SNR", "4/15 VL-SNR", "1/3 VL-SNR"
     * (14976), "1/5 VL-SNR SF2", "11/45 VL-SNR SF2" (15390).
     * \throws std::invalid_argument
     */
    static sptr dvbs2x(const std::string& frame, const std::string& rate);

    //! DVB-T2 (ETSI EN 302 755): frame "normal", rates 1/2 3/5 2/3 3/4 4/5 5/6; frame
    //! "short", these and 1/4 1/3 2/5. Normal 2/3 and short 3/5 differ from DVB-S2's.
    //! \throws std::invalid_argument
    static sptr dvbt2(const std::string& frame, const std::string& rate);

    /*!
     * CCSDS. Family "ar4ja" (131.0-B-5, section 7.4): k = 1024, 4096 or 16384, rate
     * "1/2", "2/3" or "4/5"; the last columns of H are punctured. Family "tc"
     * (231.0-B-4): (128, 64) and (512, 256), by their k.
     *
     * Family "c2" (131.0-B-5, section 7.3): k = 7154 is the basic code of n = 8176, and
     * 7136 that code shortened by 18 bits, n = 8158: the (8160, 7136) code without its
     * two fill bits, which are always 0. H leaves 2 bits more free than the standard's
     * generator, which sends a part of the words that H allows; so k() is 7156 and 7138.
     * The information word begins with the standard's 7154 or 7136 bits; the last 2 are
     * parity bits there, and any value of them makes words that every decoder takes.
     *
     * `rate` may be empty for "tc" and "c2".
     * \throws std::invalid_argument
     */
    static sptr ccsds(const std::string& family, int k, const std::string& rate = "");

    //! WiMAX (IEEE 802.16e-2005, section 8.4.9.2.5): n = 576, 672 ... 2304 (steps of 96);
    //! rate "1/2", "2/3A", "2/3B", "3/4A", "3/4B" or "5/6".
    //! \throws std::invalid_argument
    static sptr wimax(int n, const std::string& rate);

    /*!
     * 10GBASE-T (IEEE 802.3an): (2048, 1723), 384 checks of 32 bits, 6 checks a bit, made
     * from a Reed-Solomon code over GF(64). The standard's matrix is a file on paid
     * terms; the bits here stand in the order of the construction, symbol by symbol:
     * the standard's code but for the order of bits.
     */
    static sptr ten_gbase_t();

    /*!
     * A regular quasi-cyclic code, grown circulant by circulant so that its cycles are
     * long (girth 8 for the default): n columns of `column_weight` ones, rows of
     * `row_weight`. The same on every machine.
     * \param n              to 16384, divided by a number of block columns that is
     *                       2 row_weight or more and a multiple of
     *                       row_weight / gcd(column_weight, row_weight)
     * \param column_weight  2 to 6
     * \param row_weight     above column_weight, to 32
     * \throws std::invalid_argument
     */
    static sptr regular(int n = 1024, int column_weight = 3, int row_weight = 6);

    /*!
     * 5G NR (3GPP TS 38.212, section 5.3.2): the first `rows` block rows of base graph 1
     * or 2, lifted by `lifting_size` Z. Bit i of a codeword is the standard's d_i without
     * the fillers: the first 2 Z columns are punctured, and the last `fillers` of the
     * K_b Z systematic ones (K_b = 22, 10) are shortened, so that k = K_b Z - fillers and
     * n = (K_b + rows - 2) Z - fillers. Fewer rows than the graph has serve where the
     * rest of d was not sent.
     * \param base_graph    1 or 2
     * \param lifting_size  one of the 51 of table 5.3.2-1, 2 to 384
     * \param rows          4..46 (base graph 1), 4..42 (base graph 2)
     * \param fillers       0..(K_b - 2) Z - 1
     * \throws std::invalid_argument with the allowed values
     */
    static sptr nr5g(int base_graph, int lifting_size, int rows, int fillers = 0);

    /*!
     * A matrix in MacKay's alist format, lists padded with zeros or not; where lines
     * break does not matter, '#' starts a comment. At most 2^20 columns and 2^24 ones.
     * Lines behind the matrix may name columns that are not sent, counted from 0:
     *
     *     punctured 0-767 800
     *     shortened 8440-8447
     *
     * \throws code_file_error (a std::runtime_error) with the line's number; without one
     * where the matrix as a whole is no code. from_alist takes regular files only.
     */
    static sptr from_alist(const std::string& path);
    static sptr parse_alist(std::istream& text, const std::string& name);

    /*!
     * A quasi-cyclic matrix: a first line "columns rows lifting_size", counted in blocks;
     * then a line a block row with the shift of each block: -1 for a zero block, "3/45"
     * for the sum of two identities shifted right by 3 and by 45, and so on. '#' starts a
     * comment. Punctured and shortened columns may follow as in from_alist, and "visited"
     * with all block rows, counted from 0, in the order of layered decoding:
     *
     *     4 2 8
     *     0 3/5 1 -1
     *     6 2   0  0 # 4 x 2 blocks of 8 x 8
     *     punctured 24-31
     *
     * Or behind the matrix, as AFF3CT has it, a line of ones and zeros: each stands for
     * the same number of columns, one block column in most files, and zeros for punctured
     * ones.
     *
     * At most 2^20 columns and 2^24 ones, and 4096 of each a byte of the file.
     * Elimination that finds the rank may take a matrix of 2^31 bits, and 2^21 bits a
     * byte of the file; the largest takes some seconds. from_qc takes regular files only.
     * \throws code_file_error as from_alist does.
     */
    static sptr from_qc(const std::string& path);
    static sptr parse_qc(std::istream& text, const std::string& name);

    //! Writes H as from_alist reads it, lists padded with zeros as MacKay's; what is
    //! punctured or shortened goes into lines behind the matrix, where other programs do
    //! not look. \throws code_file_error where `path` can't be written.
    void to_alist(const std::string& path) const;
    void to_alist(std::ostream& text) const;

    //! Writes H as from_qc reads it. \throws std::invalid_argument for a code that is not
    //! quasi-cyclic as it stands: one without circulants(), and those of DVB, whose rows
    //! and columns stand in another order; code_file_error where `path` can't be written.
    void to_qc(const std::string& path) const;
    void to_qc(std::ostream& text) const;

    //! From the columns of each row's ones. Rows may depend on one another. \throws
    //! std::invalid_argument for an empty matrix, a row without ones, a column out of
    //! range or twice in a row, no information bits, or more than 2^31 bits to eliminate.
    static sptr
    from_rows(int n, const std::vector<std::vector<int>>& rows, const std::string& name);

    const std::string& name() const
    {
        return d_name;
    }                                             //!< "wifi 1944 1/2", or the file's name
    int n() const { return d_n; }                 //!< transmitted codeword's length, bits
    int variables() const { return d_variables; } //!< columns of H, n() or more
    int k() const
    {
        return static_cast<int>(d_info.size());
    } //!< information bits: columns that are not shortened - the rank of H within them
    int checks() const { return static_cast<int>(d_row_start.size()) - 1; }
    int edges() const { return static_cast<int>(d_columns.size()); }
    double rate() const { return static_cast<double>(k()) / n(); }

    //! Row r's ones are columns()[row_start()[r]] ... columns()[row_start()[r + 1] - 1],
    //! ascending.
    const std::vector<int>& row_start() const { return d_row_start; }
    const std::vector<int>& columns() const { return d_columns; }

    /*!
     * The order of a layered decoder: every check once, in layers; no two checks of one
     * layer share a bit, so that a layer's checks may be updated side by side with the
     * same result in any order.
     */
    const std::vector<std::vector<int>>& layers() const { return d_layers; }

    //! Which column each bit of a codeword is, (n); empty where bit i is column i.
    const std::vector<int>& transmitted() const { return d_transmitted; }
    //! Columns that are not transmitted and unknown to the receiver, ascending.
    const std::vector<int>& punctured() const { return d_punctured; }
    //! Columns that are not transmitted because they are 0, ascending.
    const std::vector<int>& shortened() const { return d_shortened; }

    //! The blocks of a quasi-cyclic code; lifting_size 0 where the code is none.
    const ldpc_circulants& circulants() const { return d_circulants; }

    //! The columns that carry information, in the order of the information word, (k).
    const std::vector<int>& info_positions() const { return d_info; }

    //! The best fixed factor of normalised min-sum decoding for this code, about which
    //! ldpc_decoder's rises where none is given; docs/conventions.md has the sources.
    float default_scale() const { return d_factor; }
    //! Whether that factor comes closer to 1 in steps (docs/conventions.md), which
    //! resolves bits that stay undecided, as codes with long chains of bits of two checks
    //! each need it.
    bool default_scale_closes() const { return d_closes; }
    //! Whether int8 arithmetic with that factor also damps a message whose sign has
    //! changed, as codes need it whose bits otherwise swing.
    bool default_damps() const { return d_damps; }

    //! Whether `columns` (variables() bits, one a byte) fulfil every parity check.
    bool is_codeword(const uint8_t* columns) const;

    /*!
     * The checks that tell whether decoding has succeeded: all, but for those block rows
     * of a quasi-cyclic code whose checks each have a parity bit of their own, that no
     * other check contains. Such a check holds for whatever the other bits are once its
     * own bit is chosen to suit; as received, that bit says little. (Most rows of 5G NR's
     * codes are such.) Where the others are fewer than 32, or would leave an information
     * bit out, all tell. (checks), 1 or 0.
     */
    const std::vector<char>& telling() const { return d_telling; }
    //! Whether `columns` fulfil every telling check.
    bool is_decoded(const uint8_t* columns) const;

    //! Whether both have the same H, send the same bits of it, carry information in the
    //! same ones and are decoded alike; names do not matter.
    friend CUDAPHY_API bool operator==(const ldpc_code&, const ldpc_code&);
    friend bool operator!=(const ldpc_code& a, const ldpc_code& b) { return !(a == b); }
    //! Equal codes have equal ones.
    size_t hash() const;

    //! What a code consists of, under the names of the methods that give it: to keep a
    //! code elsewhere.
    struct parts {
        std::string name;
        int variables = 0;
        std::vector<int> row_start, columns, punctured, shortened;
        std::vector<std::vector<int>> layers;
        ldpc_circulants circulants;
        float default_scale = 0;
        bool default_scale_closes = true;
        bool default_damps = false;
    };
    //! The code of these parts. \throws std::invalid_argument for parts that do not fit
    //! each other, or from which nobody could have made a code.
    static sptr restore(parts);

private:
    ldpc_code() = default;
    friend class ldpc_code_builder;

    std::string d_name;
    int d_n = 0, d_variables = 0;
    std::vector<int> d_row_start, d_columns, d_info;
    std::vector<int> d_transmitted, d_punctured, d_shortened;
    ldpc_circulants d_circulants;
    std::vector<char> d_telling;
    std::vector<std::vector<int>> d_layers;
    float d_factor = 0;
    bool d_closes = true;
    bool d_damps = false;
};

} // namespace gr::cudaphy::kernels
