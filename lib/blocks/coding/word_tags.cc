/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/coding/word_tags.h"
#include <memory>
#include <stdexcept>

namespace gr::cudaphy {
namespace {

bool is_only_failed(const std::string& which)
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

word_tags::word_tags(const std::string& which, int most, const word_tag_keys& keys)
    : d_only_failed(is_only_failed(which)), d_most(most), d_keys(keys)
{
}

void word_tags::start(const pmt::pmt_t& source)
{
    d_sets = std::vector<tag_set>(sets);
    for (auto& made : d_sets) {
        own_count own;
        made.count.key = own(pmt::intern(d_keys.count));
        made.ok.key = own(pmt::intern(d_keys.ok));
        made.nan.key = own(pmt::intern("nan_llrs"));
        made.count.srcid = made.ok.srcid = made.nan.srcid = own(source);
        made.decided = { own(pmt::PMT_F), own(pmt::PMT_T) };
        for (int i = -1; i <= d_most; ++i) {
            made.counts.push_back(own(pmt::from_long(i)));
        }
    }
}

} // namespace gr::cudaphy
