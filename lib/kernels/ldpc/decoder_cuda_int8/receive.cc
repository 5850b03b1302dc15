/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include "kernels/ldpc/decoder_cuda_int8/writer.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

void kernel_writer::receive()
{
    const int z = d_code.circulants().lifting_size;
    const int columns = d_code.circulants().block_columns;
    for (int lane = 0; lane < 2; ++lane) {
        d_exists[lane] = p();
        const name word = b32("add.u32", "%s, %d", d_first_word, lane);
        emit("setp.lt.u32 %s, %s, %s;", d_exists[lane], word, d_batch);
        d_received[lane] = d();
        emit("mad.wide.u32 %s, %s, %d, %s;",
             d_received[lane],
             word,
             d_code.n() * llr_bytes(),
             d_llr);
        d_own_received[lane] = d();
        emit("mad.wide.u32 %s, %s, %d, %s;",
             d_own_received[lane],
             d_check,
             llr_bytes(),
             d_received[lane]);
        d_word_steps[lane] = steps_of(word, d_exists[lane]);
    }
    constexpr int at_once = ldpc_cuda_tuned().columns_at_once;
    for (int begin = 0; begin < columns; begin += at_once) {
        std::vector<arrival> arrivals;
        for (int c = begin; c < std::min(columns, begin + at_once); ++c) {
            arrivals.push_back(request(c, z));
        }
        for (size_t i = 0; i < arrivals.size(); ++i) {
            const int c = begin + static_cast<int>(i);
            const name pair = in_place(arrivals[i]);
            if (d_plan.kept[c] >= 0) {
                set_word(d_plan.kept[c], pair);
            } else {
                store(d_w,
                      column_at(c),
                      d_plan.is_private[c]
                          ? b32("prmt.b32", "%s, 0x00008080, 0x5420", pair)
                          : pair);
            }
        }
    }
}

//! Issues the loads of this thread's bit of block column c, for both codewords.
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
        emit("mad.wide.u32 %s, %s, 4, %s;", at, index, d_sources);
        out.source = b32("ld.global.nc.b32", "[%s]", at);
        const name bit = b32("max.s32", "%s, 0", out.source);
        for (int lane = 0; lane < 2; ++lane) {
            out.address[lane] = d();
            emit("mad.wide.u32 %s, %s, %d, %s;",
                 out.address[lane],
                 bit,
                 llr_bytes(),
                 d_received[lane]);
        }
    }
    for (int lane = 0; lane < 2; ++lane) {
        const name& guard = d_exists[lane];
        const name& at = out.address[lane];
        out.value[lane] = received_value(guard, at, offset);
    }
    return out;
}

//! C + L u of both codewords, once the loads have arrived.
kernel_writer::name kernel_writer::in_place(const arrival& from)
{
    const char* punctured = center;
    const char* shortened = greatest;
    if (from.from == -1 || from.from == -2) {
        return b32("mov.b32", "%s", from.from == -1 ? punctured : shortened);
    }
    name pair = received_pair(from.value, d_word_steps);
    if (from.from == arrival::tabled) {
        for (const int special : { -1, -2 }) {
            const name is = p(), selected = r();
            emit("setp.eq.s32 %s, %s, %d;", is, from.source, special);
            emit("selp.b32 %s, %s, %s, %s;",
                 selected,
                 special == -1 ? punctured : shortened,
                 pair,
                 is);
            pair = selected;
        }
    }
    return pair;
}

} // namespace gr::cudaphy::kernels
