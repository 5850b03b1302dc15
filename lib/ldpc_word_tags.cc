/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_word_tags.h"
#include <stdexcept>

namespace gr::cudaphy {
namespace {

bool only_failed(const std::string& which)
{
    if (which != "all" && which != "failed") {
        throw std::invalid_argument("word_tags \"" + which +
                                    "\" is neither \"all\" nor \"failed\"");
    }
    return which == "failed";
}

tag_t named(const char* key)
{
    tag_t made;
    made.key = pmt::intern(key);
    return made;
}

} // namespace

ldpc_word_tags::ldpc_word_tags(const std::string& which, int max_iterations)
    : d_only_failed(only_failed(which)), d_decided{ pmt::PMT_F, pmt::PMT_T },
      d_iterations(named("iterations")), d_ok(named("ldpc_ok")), d_nan(named("nan_llrs"))
{
    for (int i = 0; i <= max_iterations; ++i) {
        d_counts.push_back(pmt::from_long(i));
    }
}

void ldpc_word_tags::set_source(const pmt::pmt_t& source)
{
    for (auto* const tag : { &d_iterations, &d_ok, &d_nan }) {
        tag->srcid = source;
    }
}

} // namespace gr::cudaphy
