/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The codes that bench_ldpc_decoder measures, and what others reach with them.

#include <cstdio>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <vector>

namespace gr::cudaphy::benchmarks {

using kernels::ldpc_code;

//! What others reach, of information Gbit/s or of us for one word, with the source in
//! print_peers(); nullptr where no figure is known.
struct peers {
    const char* cuda;
    const char* cpu; //!< of one core
    const char* cuda_alone;
    const char* cpu_alone;
};

struct bench_case {
    ldpc_code::sptr code;
    int iterations;
    double eb_n0;       //!< dB, at which all iterations are run
    double early_eb_n0; //!< dB, at which about a word in a hundred fails
    double steps;       //!< int8 LLRs in a unit of LLR
    peers others;
};

inline std::vector<bench_case> cases()
{
    const char* none = nullptr;
    return {
        { ldpc_code::nr5g(1, 384, 46),
          10,
          0.995,
          0.79,
          8,
          { "12.5 [1]", "0.025 [3] 0.047 [4]", "183 [1]", "341 [3]" } },
        { ldpc_code::nr5g(1, 384, 24),
          10,
          1.53,
          1.36,
          8,
          { "19.2 [1]", none, none, none } },
        { ldpc_code::nr5g(1, 384, 4),
          10,
          4.24,
          4.35,
          4,
          { "53.8 [1]", "0.136 [3] 0.268 [4]", "46 [1]", "66 [3]" } },
        { ldpc_code::nr5g(2, 384, 42),
          10,
          0.80,
          0.57,
          8,
          { "9.0 [1]", "0.016 [3]", none, none } },
        { ldpc_code::nr5g(2, 384, 12),
          10,
          1.56,
          1.47,
          8,
          { "22.3 [1]", none, none, none } },
        { ldpc_code::wifi(1944, "1/2"),
          10,
          2.0,
          1.76,
          8,
          { "0.83 [2]", "0.143 [4] 0.0001 [6]", none, none } },
        { ldpc_code::wifi(1944, "5/6"), 10, 4.0, 3.58, 4, { none, none, none, none } },
        { ldpc_code::regular(), 10, 3.0, 2.25, 8, { none, none, none, none } },
        { ldpc_code::dvbs2("normal", "1/2"),
          20,
          1.1,
          1.1,
          8,
          { none, "0.033 [4] 0.062 [5]", none, none } },
    };
}

//! Normal frames of DVB-S2 and S2X: rates whose rows are even in number beside 9/20 and
//! 25/36, whose rows are odd. Short frames: 1/4, whose messages are corrected, beside
//! others.
inline std::vector<bench_case> dvb_cases()
{
    const auto s2 = [](const char* rate, double eb_n0) {
        return bench_case{ ldpc_code::dvbs2("normal", rate), 20, eb_n0, eb_n0, 8, {} };
    };
    const auto s2x = [](const char* rate, double eb_n0) {
        return bench_case{ ldpc_code::dvbs2x("normal", rate), 20, eb_n0, eb_n0, 8, {} };
    };
    const auto brief = [](const char* rate, double eb_n0) {
        return bench_case{ ldpc_code::dvbs2("short", rate), 20, eb_n0, eb_n0, 8, {} };
    };
    return { brief("1/4", .6), brief("1/3", .7),  brief("2/5", .8),  brief("3/5", 1.6),
             s2("2/5", .9),    s2x("9/20", 1.0),  s2("1/2", 1.1),    s2x("11/20", 1.3),
             s2("2/3", 1.9),   s2x("25/36", 1.9), s2x("13/18", 2.1), s2("3/4", 2.3) };
}

inline void print_peers()
{
    std::printf(
        "\nPeers, information Gbit/s with all iterations, or us for one codeword:\n"
        "[1] NVIDIA's open cuPHY kernel (release 26-1) on an H200, half precision, two\n"
        "    codewords a block, kernel alone, 2112 codewords (4224 at rate .917); one: a "
        "pair\n"
        "[2] GPU BCH+LDPC (HPEC 2017), GTX Titan X, flooding, float32\n"
        "[3] srsRAN 25.10, int8, AVX-512, one codeword a call, one Zen 5 core\n"
        "[4] AFF3CT 3.0.2, 16 bit, AVX-512, 32 codewords at once, one Zen 5 core\n"
        "[5] xdsopl/LDPC, int8, AVX2, 32 codewords, early stop (15.7 iterations at 1.3 "
        "dB),\n"
        "    one Zen 5 core\n"
        "[6] GNU Radio 3.10.5 gr-fec ldpc_decoder, one Zen 5 core: 0.07 to 0.11 "
        "Mbit/s\n");
}

} // namespace gr::cudaphy::benchmarks
