/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the benchmarks share.

#include "bench/records.h"
#include "kernels/common/timing.h"
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace gr::cudaphy::benchmarks {

using gr::cudaphy::copy_bandwidth;
using gr::cudaphy::seconds_per_call;

//! The backends that the arguments name, or all but the slow reference if there are none.
//! Also makes each line of the output appear at once, even if it goes to a file.
inline std::vector<backend> measured_backends(int argc, char** argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::vector<backend> measured;
    for (int i = 1; i < argc; ++i) {
        measured.push_back(resolve(backend_from_name(argv[i])).where);
    }
    for (const auto where : backends()) {
        if (argc < 2 && where != backend::reference) {
            measured.push_back(where);
        }
    }
    return measured;
}

//! Takes the arguments that are among `known` out of argv, and returns them in order.
inline std::vector<std::string>
take_words(int& argc, char** argv, const std::vector<std::string>& known)
{
    std::vector<std::string> taken;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::count(known.begin(), known.end(), argv[i])) {
            taken.push_back(argv[i]);
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    return taken;
}

//! Whether `word` is to be measured: if it is among `chosen`, or `chosen` is empty.
inline bool is_chosen(const std::vector<std::string>& chosen, const std::string& word)
{
    return chosen.empty() || std::count(chosen.begin(), chosen.end(), word);
}

} // namespace gr::cudaphy::benchmarks
