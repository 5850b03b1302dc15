/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy {
namespace {

template <typename Value>
using names = std::vector<std::pair<const char*, Value>>;

template <typename Value>
Value named(const char* what, const std::string& name, const names<Value>& all)
{
    std::string allowed;
    for (const auto& [known, value] : all) {
        if (name == known) {
            return value;
        }
        allowed += (allowed.empty() ? "\"" : ", \"") + std::string(known) + "\"";
    }
    throw std::invalid_argument(std::string(what) + " \"" + name + "\" is none of " +
                                allowed);
}

// 3GPP TS 38.212, section 5.1, without the highest term.
const names<kernels::ldpc_decoder::crc> checks{
    { "", {} },
    { "24A", { 24, 0x864cfb } },
    { "24B", { 24, 0x800063 } },
    { "24C", { 24, 0xb2b117 } },
    { "16", { 16, 0x1021 } },
    { "11", { 11, 0x621 } },
    { "6", { 6, 0x21 } },
};

} // namespace

kernels::ldpc_decoder::parameters ldpc_decoder_options::parameters() const
{
    using decoder = kernels::ldpc_decoder;
    using rule = decoder::check_rule;
    using order = decoder::message_schedule;
    using number = decoder::number;
    using calculation = decoder::arithmetic;
    decoder::parameters p;
    p.max_iterations = max_iterations;
    p.scale = scale;
    p.early_stop = early_stop;
    p.whole_words =
        named<bool>("output", output, { { "info", false }, { "codeword", true } });
    p.llr_positive = llr_positive;
    p.llr = named<number>("type",
                          type,
                          { { "float", number::float32 },
                            { "float16", number::float16 },
                            { "int8", number::int8 } });
    p.rule = named<rule>("algorithm",
                         algorithm,
                         { { "normalized_min_sum", rule::normalized_min_sum },
                           { "offset_min_sum", rule::offset_min_sum },
                           { "sum_product", rule::sum_product } });
    p.offset = offset;
    p.schedule =
        named<order>("schedule",
                     schedule,
                     { { "layered", order::layered }, { "flooding", order::flooding } });
    p.calculation = named<calculation>("arithmetic",
                                       arithmetic,
                                       { { "auto", calculation::automatic },
                                         { "float32", calculation::float32 },
                                         { "int8", calculation::int8 } });
    p.llr_steps = llr_steps;
    p.llr_scale = llr_scale;
    p.packed = packed;
    p.stop_crc = named("stop_crc", stop_crc, checks);
    return p;
}

} // namespace gr::cudaphy
