/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_cuda_writer.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

void kernel_writer::receive()
{
    const int z = d_code.circulants().lifting_size;
    const int columns = d_code.circulants().block_columns;
    for (int lane = 0; lane < 2; ++lane) {
        d_exists[lane] = p();
        const name word = b32("add.u32", "%s, %d", d_first_word, lane);
        say("setp.lt.u32 %s, %s, %s;", d_exists[lane], word, d_batch);
        d_received[lane] = d();
        say("mad.wide.u32 %s, %s, %d, %s;",
            d_received[lane],
            word,
            d_code.n() * llr_bytes(),
            d_llr);
        d_own_received[lane] = d();
        say("mad.wide.u32 %s, %s, %d, %s;",
            d_own_received[lane],
            d_check,
            llr_bytes(),
            d_received[lane]);
    }
    // Many loads on their way at a time.
    constexpr int at_once = 48;
    for (int begin = 0; begin < columns; begin += at_once) {
        std::vector<arrival> arrivals;
        for (int c = begin; c < std::min(columns, begin + at_once); ++c) {
            arrivals.push_back(request(c, z));
        }
        for (size_t i = 0; i < arrivals.size(); ++i) {
            const int c = begin + static_cast<int>(i);
            const name both = in_place(arrivals[i]);
            if (d_plan.kept[c] >= 0) {
                set_word(d_plan.kept[c], both);
            } else {
                store(d_w,
                      column_at(c),
                      d_plan.is_private[c]
                          ? b32("prmt.b32", "%s, 0x00008080, 0x5420", both)
                          : both);
            }
        }
    }
}

int kernel_writer::llr_bytes() const
{
    return d_parameters.llr == ldpc_decoder::number::int8      ? 1
           : d_parameters.llr == ldpc_decoder::number::float16 ? 2
                                                               : 4;
}

//! Loads this thread's bit of block column c for both codewords of the pair.
kernel_writer::arrival kernel_writer::request(int c, int z)
{
    arrival out;
    int offset = 0;
    for (const auto& run : d_plan.runs) {
        if (run.first <= c * z && (c + 1) * z <= run.first + run.count) {
            out.from = std::min(run.from, 0);
            if (run.from < 0) {
                return out;
            }
            offset = (run.from + c * z - run.first) * llr_bytes();
            out.address[0] = d_own_received[0];
            out.address[1] = d_own_received[1];
        }
    }
    if (out.address[0].empty()) {
        out.from = arrival::tabled;
        const name index = b32("add.u32", "%s, %d", d_check, c * z);
        const name at = d();
        say("mad.wide.u32 %s, %s, 4, %s;", at, index, d_sources);
        out.source = b32("ld.global.nc.b32", "[%s]", at);
        const name bit = b32("max.s32", "%s, 0", out.source);
        for (int lane = 0; lane < 2; ++lane) {
            out.address[lane] = d();
            say("mad.wide.u32 %s, %s, %d, %s;",
                out.address[lane],
                bit,
                llr_bytes(),
                d_received[lane]);
        }
    }
    for (int lane = 0; lane < 2; ++lane) {
        const name& guard = d_exists[lane];
        const name& at = out.address[lane];
        if (d_parameters.llr == ldpc_decoder::number::int8) {
            out.value[lane] = b32("mov.b32", "0");
            say("@%s ld.global.nc.u8 %s, [%s+%d];", guard, out.value[lane], at, offset);
        } else if (d_parameters.llr == ldpc_decoder::number::float16) {
            out.value[lane] = h();
            say("mov.b16 %s, 0;", out.value[lane]);
            say("@%s ld.global.nc.b16 %s, [%s+%d];", guard, out.value[lane], at, offset);
        } else {
            out.value[lane] = f();
            say("mov.f32 %s, 0f00000000;", out.value[lane]);
            say("@%s ld.global.nc.f32 %s, [%s+%d];", guard, out.value[lane], at, offset);
        }
    }
    return out;
}

//! C + L u of both codewords.
kernel_writer::name kernel_writer::in_place(const arrival& from)
{
    const char* punctured = center;
    const char* shortened = "0x3c003c00"; // 1, the greatest
    if (from.from == -1 || from.from == -2) {
        return b32("mov.b32", "%s", from.from == -1 ? punctured : shortened);
    }
    name both;
    if (d_parameters.llr == ldpc_decoder::number::int8) {
        // The bytes below 0x38, plus 128: C + L u as it is.
        const name bytes =
            b32("prmt.b32", "%s, %s, 0x0040", from.value[0], from.value[1]);
        const name shifted = b32("xor.b32", "%s, 0x8080", bytes);
        const name limited = unpacked(shifted, 0);
        both = b32("max.f16x2", "%s, %s", limited, d_least);
    } else {
        name halves[2];
        for (int lane = 0; lane < 2; ++lane) {
            name value = from.value[lane];
            if (d_parameters.llr == ldpc_decoder::number::float16) {
                value = f();
                say("cvt.f32.f16 %s, %s;", value, from.value[lane]);
            }
            const name scaled = f(), number = f(), low = f(), high = f(), whole = f();
            const name ordered = p();
            say("mul.rn.f32 %s, %s, %s;", scaled, value, d_steps);
            say("setp.num.f32 %s, %s, %s;", ordered, scaled, scaled);
            say("selp.f32 %s, %s, 0f00000000, %s;", number, scaled, ordered);
            say("min.f32 %s, %s, 0f42fe0000;", low, number); // 127
            say("max.f32 %s, %s, 0fc2fe0000;", high, low);
            say("cvt.rni.f32.f32 %s, %s;", whole, high);
            const name exact = f();
            say("fma.rn.f32 %s, %s, 0f3a000000, 0f3f100000;", // u, C
                exact,
                whole);
            halves[lane] = h();
            say("cvt.rn.f16.f32 %s, %s;", halves[lane], exact);
        }
        both = r();
        say("mov.b32 %s, {%s, %s};", both, halves[0], halves[1]);
    }
    if (d_parameters.llr_positive == 1) { // 2 C - it
        const name twice = b32("mov.b32", "0x3c803c80");
        both = b32("sub.rn.f16x2", "%s, %s", twice, both);
    }
    if (from.from == arrival::tabled) {
        for (const int special : { -1, -2 }) {
            const name is = p(), kept = r();
            say("setp.eq.s32 %s, %s, %d;", is, from.source, special);
            say("selp.b32 %s, %s, %s, %s;",
                kept,
                special == -1 ? punctured : shortened,
                both,
                is);
            both = kept;
        }
    }
    return both;
}

} // namespace gr::cudaphy::kernels
