/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/demapper_kinds.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>

namespace gr::cudaphy {
namespace {

constexpr char no_frame[] =
    "bit_interleaver and the packet's length are those of no frame that DVB-S2 or S2X "
    "has with this constellation";
constexpr char no_whole_frames[] = "the packet's length is no whole number of frames";

void add_dvb(std::vector<kernels::constellation>& to)
{
    for (const auto& name : kernels::constellation_names()) {
        if (name.rfind("dvbs2", 0) == 0 && name != to[0].name) {
            to.push_back(kernels::constellation::make(name));
        }
    }
}

} // namespace

pmt::pmt_t tag_value(const std::vector<tag_t>& head, const pmt::pmt_t& key)
{
    const auto found = std::find_if(head.begin(), head.end(), [&](const tag_t& tag) {
        return pmt::eqv(tag.key, key);
    });
    return found == head.end() ? nullptr : found->value;
}

demapper_kinds::demapper_kinds(const soft_demapper_options& options)
    : d_key(pmt::intern(options.constellation_tag_key)), d_points{ options.points }
{
    const int vlen = options.vlen;
    const bool heeds_tags = !options.constellation_tag_key.empty();
    const bool is_interleaved = !options.interleaver.columns.empty();
    if (vlen > 1 && is_interleaved) {
        throw std::invalid_argument(
            "vlen is " + std::to_string(vlen) +
            "; with a bit_interleaver, whose frames are of symbols, it is 1");
    }
    if (!heeds_tags && !options.constellations.empty()) {
        throw std::invalid_argument("constellation_tag_key is empty: with several "
                                    "constellations, packets need it to name theirs");
    }
    const auto llrs_of = [&](int points, int items) {
        return vlen * items * d_points[points].bits;
    };
    const auto& asked = options.interleaver;
    // The kernel refuses numbers beyond these.
    const int symbols = is_interleaved ? std::clamp(asked.symbols, 1, 1 << 24) : 1;
    add({ 0, asked, symbols, asked.bits > 0 ? asked.bits : llrs_of(0, symbols) });
    if (!heeds_tags) {
        return;
    }
    if (options.constellations.empty()) {
        add_dvb(d_points);
    } else {
        d_points.insert(
            d_points.end(), options.constellations.begin(), options.constellations.end());
    }
    d_unknown = options.constellation_tag_key +
                " names no constellation of this block, which has ";
    for (size_t i = 0; i < d_points.size(); ++i) {
        const auto& name = d_points[i].name;
        if (!d_index.emplace(name, i).second) {
            throw std::invalid_argument("two constellations have the name \"" + name +
                                        "\"");
        }
        d_unknown += (i ? ", " : "") + name;
        if (i > 0 || is_interleaved) {
            add({ static_cast<int>(i), {}, 1, llrs_of(i, 1) });
        }
    }
    for (int pls = 0; vlen == 1 && pls < 256; ++pls) {
        const auto mode = kernels::dvb_mode::of(pls);
        if (!mode || mode->dummy || mode->bit_interleaver().empty()) {
            continue;
        }
        const auto found = d_index.find(mode->constellation());
        if (found != d_index.end() &&
            d_points[found->second].bits == mode->bits_a_symbol) {
            const int bits = mode->frame == "normal" ? 64800 : 16200;
            add({ found->second,
                  { mode->bit_interleaver(), mode->symbols(), bits },
                  mode->symbols(),
                  bits });
        }
    }
}

void demapper_kinds::add(kind what)
{
    const int number = static_cast<int>(d_kinds.size());
    const auto& columns = what.interleaver.columns;
    const bool is_new =
        columns.empty()
            ? d_plain.emplace(what.points, number).second
            : d_frames.emplace(std::tuple(what.points, columns, what.items), number)
                  .second;
    if (is_new) {
        d_kinds.push_back(std::move(what));
    }
}

demapper_kinds::choice demapper_kinds::of(const std::vector<tag_t>& head,
                                          int64_t length) const
{
    const auto name = tag_value(head, d_key);
    static const auto interleaver_key = pmt::intern("bit_interleaver");
    const auto tagged = tag_value(head, interleaver_key);
    const bool has_columns = tagged && pmt::is_symbol(tagged);
    int points = 0;
    if (name) {
        const auto found = pmt::is_symbol(name)
                               ? d_index.find(pmt::symbol_to_string(name))
                               : d_index.end();
        if (found == d_index.end()) {
            return { -1, d_unknown.c_str() };
        }
        points = found->second;
    }
    const auto columns = has_columns ? pmt::symbol_to_string(tagged) : std::string();
    if (!columns.empty()) {
        const auto found = d_frames.find(std::tuple(points, columns, length));
        return found == d_frames.end() ? choice{ -1, no_frame } : choice{ found->second };
    }
    const int kind = name || has_columns ? d_plain.at(points) : 0;
    const int items = d_kinds[kind].items;
    return length % items ? choice{ -1, no_whole_frames, items } : choice{ kind };
}

} // namespace gr::cudaphy
