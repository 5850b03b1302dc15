/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/default_factors.h"
#include <stdexcept>

// The only table of default factors. The check check_default_factors compares the table
// of docs/conventions.md with it. python/cudaphy/tests/ldpc/qa_ldpc_default_factors.py
// compares every code's decoder with its best fixed factor, which --measure finds.

namespace gr::cudaphy::kernels {
namespace {

constexpr bool closes = true, settles = false, damps = true;

struct row {
    const char *family, *variant;
    ldpc_default_factor factor;
    const char* simulated; //!< which codes
};

// clang-format off
constexpr row table[] = {
    { "wifi", "1/2", { .8125f, settles }, "each" },
    { "wifi", "2/3", { .75f, settles }, "each" },
    { "wifi", "3/4", { .75f, settles }, "each" },
    { "wifi", "5/6", { .75f, settles }, "each" },
    { "wimax", "1/2", { .81f, settles }, "n = 576, 1152, 2304" },
    { "wimax", "2/3A", { .79f, settles }, "n = 576, 1152, 2304" },
    { "wimax", "2/3B", { .77f, settles }, "n = 576, 1152, 2304" },
    { "wimax", "3/4A", { .75f, settles }, "n = 576, 1152, 2304" },
    { "wimax", "3/4B", { .75f, settles }, "n = 576, 1152, 2304" },
    { "wimax", "5/6", { .78f, settles }, "n = 576, 1152, 2304" },
    { "dvbs2 normal", "1/4", { .94f, closes, damps }, "each" },
    { "dvbs2 normal", "1/3", { .91f, closes, damps }, "each" },
    { "dvbs2 normal", "2/5", { .87f, closes, damps }, "each" },
    { "dvbs2 normal", "1/2", { .83f, closes, damps }, "each" },
    { "dvbs2 normal", "3/5", { .77f, closes, damps }, "each" },
    { "dvbs2 normal", "2/3", { .85f, closes, damps }, "each" },
    { "dvbs2 normal", "3/4", { .84f, closes, damps }, "each" },
    { "dvbs2 normal", "4/5", { .82f, closes, damps }, "each" },
    { "dvbs2 normal", "5/6", { .82f, closes, damps }, "each" },
    { "dvbs2 normal", "8/9", { .82f, closes, damps }, "each" },
    { "dvbs2 normal", "9/10", { .82f, closes, damps }, "each" },
    { "dvbs2 short", "1/4", { .89f, closes, damps }, "each" },
    { "dvbs2 short", "1/3", { .8f, closes, damps }, "each" },
    { "dvbs2 short", "2/5", { .76f, closes, damps }, "each" },
    { "dvbs2 short", "1/2", { .83f, closes, damps }, "each" },
    { "dvbs2 short", "3/5", { .65f, closes, damps }, "each" },
    { "dvbs2 short", "2/3", { .86f, closes, damps }, "each" },
    { "dvbs2 short", "3/4", { .85f, closes, damps }, "each" },
    { "dvbs2 short", "4/5", { .84f, closes, damps }, "each" },
    { "dvbs2 short", "5/6", { .83f, closes, damps }, "each" },
    { "dvbs2 short", "8/9", { .82f, closes, damps }, "each" },
    { "dvbs2x normal", "2/9 VL-SNR", { .94f, closes, damps }, "each" },
    { "dvbs2x normal", "13/45", { .89f, closes, damps }, "each" },
    { "dvbs2x normal", "9/20", { .85f, closes, damps }, "each" },
    { "dvbs2x normal", "90/180", { .84f, closes, damps }, "each" },
    { "dvbs2x normal", "96/180", { .81f, closes, damps }, "each" },
    { "dvbs2x normal", "11/20", { .81f, closes, damps }, "each" },
    { "dvbs2x normal", "100/180", { .82f, closes, damps }, "each" },
    { "dvbs2x normal", "104/180", { .79f, closes, damps }, "each" },
    { "dvbs2x normal", "26/45", { .79f, closes, damps }, "each" },
    { "dvbs2x normal", "18/30", { .79f, closes, damps }, "each" },
    { "dvbs2x normal", "28/45", { .83f, closes, damps }, "each" },
    { "dvbs2x normal", "23/36", { .84f, closes, damps }, "each" },
    { "dvbs2x normal", "116/180", { .78f, closes, damps }, "each" },
    { "dvbs2x normal", "20/30", { .78f, closes, damps }, "each" },
    { "dvbs2x normal", "124/180", { .78f, closes, damps }, "each" },
    { "dvbs2x normal", "25/36", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "128/180", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "13/18", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "132/180", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "22/30", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "135/180", { .77f, closes, damps }, "each" },
    { "dvbs2x normal", "140/180", { .75f, closes, damps }, "each" },
    { "dvbs2x normal", "7/9", { .76f, closes, damps }, "each" },
    { "dvbs2x normal", "154/180", { .76f, closes, damps }, "each" },
    { "dvbs2x medium", "1/5 VL-SNR", { .91f, closes, damps }, "each" },
    { "dvbs2x medium", "11/45 VL-SNR", { .91f, closes, damps }, "each" },
    { "dvbs2x medium", "1/3 VL-SNR", { .91f, closes, damps }, "each" },
    { "dvbs2x short", "11/45", { .89f, closes, damps }, "each" },
    { "dvbs2x short", "4/15", { .85f, closes, damps }, "each" },
    { "dvbs2x short", "14/45", { .85f, closes, damps }, "each" },
    { "dvbs2x short", "7/15", { .8f, closes, damps }, "each" },
    { "dvbs2x short", "8/15", { .78f, closes, damps }, "each" },
    { "dvbs2x short", "26/45", { .78f, closes, damps }, "each" },
    { "dvbs2x short", "32/45", { .82f, closes, damps }, "each" },
    { "dvbs2x short", "1/5 VL-SNR", { .91f, closes, damps }, "each" },
    { "dvbs2x short", "4/15 VL-SNR", { .85f, closes, damps }, "each" },
    { "dvbs2x short", "1/3 VL-SNR", { .89f, closes, damps }, "each" },
    { "dvbs2x short", "1/5 VL-SNR SF2", { .93f, closes, damps }, "each" },
    { "dvbs2x short", "11/45 VL-SNR SF2", { .89f, closes, damps }, "each" },
    { "dvbt2 normal", "2/3", { .85f, closes, damps }, "each" },
    { "dvbt2 short", "3/5", { .84f, closes, damps }, "each" },
    { "nr5g base graph 1, rows", "4", { .81f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "5", { .79f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "6", { .77f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "8", { .76f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "10", { .72f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "13", { .7f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "16", { .69f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "24", { .69f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "30", { .67f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 1, rows", "46", { .64f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "4", { .86f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "5", { .84f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "7", { .8f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "12", { .75f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "22", { .72f, settles }, "lifting sizes 16, 96, 384" },
    { "nr5g base graph 2, rows", "42", { .67f, settles }, "lifting sizes 16, 96, 384" },
    { "ccsds ar4ja", "1/2", { .72f, settles, damps }, "k = 1024, 4096, 16384" },
    { "ccsds ar4ja", "2/3", { .73f, settles, damps }, "k = 1024, 4096, 16384" },
    { "ccsds ar4ja", "4/5", { .75f, settles, damps }, "k = 1024, 4096, 16384" },
    { "ccsds tc", "64", { .79f, settles }, "itself" },
    { "ccsds tc", "256", { .74f, settles }, "itself" },
    { "ccsds c2", "", { .71f, settles }, "both lengths" },
    { "10gbase-t", "", { .625f, settles }, "itself" },
    { "regular, column weight", "2", { .86f, settles }, "several lengths and rates" },
    { "regular, column weight", "3", { .8125f, settles }, "several lengths and rates" },
    { "regular, column weight", "4", { .72f, settles }, "several lengths and rates" },
    { "regular, column weight", "5", { .66f, settles }, "several lengths and rates" },
    { "regular, column weight", "6", { .62f, settles }, "several lengths and rates" },
    { "file", "", { .75f, closes }, "no simulation" },
};
// clang-format on

} // namespace

const ldpc_default_factor* find_default_factor(const std::string& family,
                                               const std::string& variant)
{
    for (const auto& row : table) {
        if (family == row.family && variant == row.variant) {
            return &row.factor;
        }
    }
    return nullptr;
}

ldpc_default_factor default_factor(const std::string& family, const std::string& variant)
{
    const auto* found = find_default_factor(family, variant);
    if (!found) {
        throw std::logic_error("no default factor for " + family + " " + variant);
    }
    return *found;
}

} // namespace gr::cudaphy::kernels
