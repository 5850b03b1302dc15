/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_word_tags.h"
#include <memory>
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

//! The same objects, whose references are counted apart from everybody else's.
class own_count
{
public:
    pmt::pmt_t operator()(const pmt::pmt_t& of)
    {
        d_kept->push_back(of);
        return pmt::pmt_t(d_kept, of.get());
    }

private:
    using kept = std::vector<pmt::pmt_t>;
    std::shared_ptr<kept> d_kept = std::make_shared<kept>();
};

} // namespace

ldpc_word_tags::ldpc_word_tags(const std::string& which, int max_iterations)
    : d_only_failed(only_failed(which)), d_max_iterations(max_iterations)
{
}

void ldpc_word_tags::start(const pmt::pmt_t& source)
{
    d_sets = std::vector<tag_set>(sets);
    for (auto& made : d_sets) {
        own_count own;
        made.iterations.key = own(pmt::intern("iterations"));
        made.ok.key = own(pmt::intern("ldpc_ok"));
        made.nan.key = own(pmt::intern("nan_llrs"));
        made.iterations.srcid = made.ok.srcid = made.nan.srcid = own(source);
        made.decided = { own(pmt::PMT_F), own(pmt::PMT_T) };
        for (int i = 0; i <= d_max_iterations; ++i) {
            made.counts.push_back(own(pmt::from_long(i)));
        }
    }
}

} // namespace gr::cudaphy
