/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/base_writer.h"
#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"

namespace gr::cudaphy::kernels {
namespace {

int arguments_at(int code)
{
    return code * static_cast<int>(sizeof(ldpc_cuda_arguments));
}

} // namespace

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::argument64(int offset)
{
    const name value = d();
    emit("ld.param.u64 %s, [arguments+%d];", value, arguments_at(d_part.code) + offset);
    return value;
}
ldpc_cuda_base_writer::name ldpc_cuda_base_writer::argument32(const char* type,
                                                              int offset)
{
    const name value = type[0] == 'f' ? f() : r();
    emit("ld.param.%s %s, [arguments+%d];",
         type,
         value,
         arguments_at(d_part.code) + offset);
    return value;
}

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::block_number()
{
    const name block = b32("mov.u32", "%ctaid.x");
    if (d_part.codes == 1) {
        return block;
    }
    const name first = r();
    emit("ld.param.u32 %s, [arguments+%d];",
         first,
         ldpc_cuda_source::first_block_at(d_part.codes, d_part.code));
    return b32("sub.u32", "%s, %s", block, first);
}

void ldpc_cuda_base_writer::begin_arguments()
{
    d_llr = argument64(0);
    d_bits = argument64(8);
    d_iterations = argument64(16);
    d_ok = argument64(24);
    d_soft = argument64(32);
    d_scales = argument64(40);
    d_sources = argument64(48);
    d_places = argument64(56);
    d_info = argument64(64);
    d_batch = argument32("u32", 72);
    d_steps = argument32("f32", 76);
    d_most_iterations = argument32("u32", 80);
    d_slot_count = argument32("u32", 84);
    d_workspace = argument64(88);
    d_slots = argument64(96);

    d_t = b32("mov.u32", "%tid.x");
    d_memory = b32("mov.u32", "memory");
    d_t4 = b32("mad.lo.u32", "%s, 4, %s", d_t, d_memory);
}

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::lanes(const name& number, int threads)
{
    const int rest = threads % 32;
    if (rest == 0) {
        return "0xffffffff";
    }
    const name is_whole = p(), mask = r();
    emit("setp.lt.u32 %s, %s, %d;", is_whole, number, threads - rest);
    emit("selp.b32 %s, 0xffffffff, 0x%x, %s;", mask, (1u << rest) - 1, is_whole);
    return mask;
}

void ldpc_cuda_base_writer::begin_arithmetic()
{
    // The upper bytes of messages come from memory. The driver's compiler would put a
    // known constant into the instruction, which then has no room for the selector.
    d_upper = r();
    emit("ld.global.nc.b32 %s, [%s];", d_upper, d_scales);
    d_center = b32("mov.b32", "%s", center);
    d_most = b32("mov.b32", "0x2bf02bf0");  // 127 u
    d_least = b32("mov.b32", "0x38013801"); // C - 127 u
    d_odd = b32("mov.b32", "0");
    d_scale = b32("mov.b32", "0");
    d_iteration = b32("mov.b32", "0");
    if (d_damps) {
        d_nothing = b32("mov.b32", "0");
    }
    if (d_corrects) {
        static_assert(ldpc_fixed_limits::cuda(false).greatest_correction == 4 * 7);
        d_half = b32("mov.b32", "0x38003800");
        d_minus_quarter = b32("mov.b32", "0xb400b400");
        d_most_correction = b32("mov.b32", "0x1b001b00"); // 7 u
    }
}

void ldpc_cuda_base_writer::name_registers()
{
    for (int w = 0; w < d_store.register_words; ++w) {
        d_registers.push_back(r());
    }
}

void ldpc_cuda_base_writer::take_slot(int scratch_at)
{
    if (d_store.workspace_words == 0) {
        return;
    }
    const name search = label(), found = label(), past = label();
    const name others = p(), free = p(), wraps = p();
    const name slot = r(), before = r(), following = r();
    const name block = block_number();
    const name in_memory = b32("add.u32", "%s, %d", d_memory, scratch_at);
    emit("bar.sync 0;"); // the word is 0
    emit("setp.ne.u32 %s, %s, 0;", others, d_t);
    emit("@%s bra %s;", others, past);
    emit("rem.u32 %s, %s, %s;", slot, block, d_slot_count);
    emit("%s:", search);
    const name at = d();
    emit("mad.wide.u32 %s, %s, 4, %s;", at, slot, d_slots);
    emit("atom.global.cas.b32 %s, [%s], 0, 1;", before, at);
    emit("setp.eq.b32 %s, %s, 0;", free, before);
    emit("@%s bra %s;", free, found);
    emit("add.u32 %s, %s, 1;", following, slot);
    emit("setp.eq.u32 %s, %s, %s;", wraps, following, d_slot_count);
    emit("selp.b32 %s, 0, %s, %s;", slot, following, wraps);
    emit("bra %s;", search);
    emit("%s:", found);
    emit("membar.gl;");
    emit("st.shared.b32 [%s], %s;", in_memory, slot);
    emit("%s:", past);
    emit("bar.sync 0;");
    d_slot = load(in_memory, 0);
    emit("bar.sync 0;");
    const name zero = b32("mov.b32", "0");
    emit("@!%s st.shared.b32 [%s], %s;", others, in_memory, zero);
    const name base = d();
    d_device = d();
    emit("mad.wide.u32 %s, %s, %d, %s;",
         base,
         d_slot,
         4 * d_store.threads * d_store.workspace_words,
         d_workspace);
    emit("mad.wide.u32 %s, %s, 4, %s;", d_device, d_t, base);
}

void ldpc_cuda_base_writer::leave_slot()
{
    if (d_store.workspace_words == 0) {
        return;
    }
    const name others = p(), at = d(), before = r();
    const name past = label();
    emit("bar.sync 0;");
    emit("setp.ne.u32 %s, %s, 0;", others, d_t);
    emit("@%s bra %s;", others, past);
    emit("membar.gl;");
    emit("mad.wide.u32 %s, %s, 4, %s;", at, d_slot, d_slots);
    emit("atom.global.exch.b32 %s, [%s], 0;", before, at);
    emit("%s:", past);
}

std::unique_ptr<ldpc_cuda_base_writer::node>
ldpc_cuda_base_writer::tree(const std::vector<name>& q, const std::vector<int>& edges)
{
    auto out = std::make_unique<node>();
    if (edges.size() == 1) {
        out->edge = edges[0];
        out->value = q[edges[0]];
        return out;
    }
    const auto half = edges.begin() + edges.size() / 2;
    return joined(tree(q, { edges.begin(), half }), tree(q, { half, edges.end() }));
}
std::unique_ptr<ldpc_cuda_base_writer::node>
ldpc_cuda_base_writer::joined(std::unique_ptr<node> left, std::unique_ptr<node> right)
{
    auto out = std::make_unique<node>();
    out->left = std::move(left);
    out->right = std::move(right);
    return out;
}
//! The least of all leaves under a node; computed by the first call.
const ldpc_cuda_base_writer::name& ldpc_cuda_base_writer::least_of(node& at)
{
    if (at.value.empty()) {
        at.value = less(least_of(*at.left), least_of(*at.right));
    }
    return at.value;
}
ldpc_cuda_base_writer::others ldpc_cuda_base_writer::others_of(node& at)
{
    if (d_corrects && at.edge < 0 && at.second.empty()) {
        at.second = second_of(others_of(*at.left), others_of(*at.right));
    }
    return { least_of(at), at.second };
}

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::second_of(const others& a,
                                                             const others& b)
{
    name out = greater(a.least, b.least);
    if (a.second.empty() && b.second.empty()) {
        return less(out, d_most);
    }
    for (const name& second : { a.second, b.second }) {
        out = second.empty() ? out : less(out, second);
    }
    return out;
}

void ldpc_cuda_base_writer::give_others(node& at,
                                        const others& outside,
                                        std::vector<name>& out)
{
    if (at.edge >= 0) {
        out[at.edge] = corrected(outside);
        return;
    }
    give_others(*at.left, together(others_of(*at.right), outside), out);
    give_others(*at.right, together(others_of(*at.left), outside), out);
}

// As ldpc_fixed_corrected(); every number is exact.
ldpc_cuda_base_writer::name ldpc_cuda_base_writer::corrected(const others& bits)
{
    if (!d_corrects) {
        return bits.least;
    }
    const auto magnitude = [&](const name& x) {
        return b32("and.b32", "%s, 0x7fff7fff", x);
    };
    const name least = magnitude(bits.least);
    const name second = bits.second.empty() ? d_most : magnitude(bits.second);
    const name half = b32("mul.rn.f16x2", "%s, %s", least, d_half);
    const name most = b32("min.f16x2", "%s, %s", half, d_most_correction);
    const name gap = sub(second, least);
    const name less = b32("fma.rn.f16x2", "%s, %s, %s", gap, d_minus_quarter, most);
    const name correction = b32("max.f16x2", "%s, %s", less, d_nothing);
    const name sign = b32("and.b32", "%s, 0x80008000", bits.least);
    return sub(bits.least, b32("or.b32", "%s, %s", correction, sign));
}

void ldpc_cuda_base_writer::begin_iterations(const name& again)
{
    const name scale_at = d(), next_scale = r();
    emit("mov.b64 %s, %s;", scale_at, d_scales);
    emit("ld.global.nc.b32 %s, [%s+8];", next_scale, scale_at);
    emit("bar.sync 0;");
    emit("%s:", again);
    // The next factor is loaded while this iteration works.
    emit("mov.b32 %s, %s;", d_scale, next_scale);
    if (d_damps) {
        const name minus = b32("ld.global.nc.b32", "[%s+4]", d_scales);
        d_scale_less = b32("mul.rn.f16x2", "%s, %s", d_scale, minus);
    }
    emit("ld.global.nc.b32 %s, [%s+12];", next_scale, scale_at);
    emit("add.u64 %s, %s, 4;", scale_at, scale_at);
    emit("mov.b32 %s, 0;", d_odd);
}

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::count_iteration()
{
    const name last = p();
    emit("add.u32 %s, %s, 1;", d_iteration, d_iteration);
    emit("setp.eq.u32 %s, %s, %s;", last, d_iteration, d_most_iterations);
    return last;
}

int ldpc_cuda_base_writer::llr_bytes() const
{
    return d_parameters.llr == ldpc_decoder::number::int8      ? 1
           : d_parameters.llr == ldpc_decoder::number::float16 ? 2
                                                               : 4;
}

ldpc_cuda_base_writer::name
ldpc_cuda_base_writer::received_value(const name& guard, const name& address, int offset)
{
    if (d_parameters.llr == ldpc_decoder::number::int8) {
        const name value = b32("mov.b32", "0");
        emit("@%s ld.global.nc.u8 %s, [%s+%d];", guard, value, address, offset);
        return value;
    }
    if (d_parameters.llr == ldpc_decoder::number::float16) {
        const name value = h();
        emit("mov.b16 %s, 0;", value);
        emit("@%s ld.global.nc.b16 %s, [%s+%d];", guard, value, address, offset);
        return value;
    }
    const name value = f();
    emit("mov.f32 %s, 0f00000000;", value);
    emit("@%s ld.global.nc.f32 %s, [%s+%d];", guard, value, address, offset);
    return value;
}

ldpc_cuda_base_writer::name ldpc_cuda_base_writer::steps_of(const name& word,
                                                            const name& guard)
{
    if (!d_words_have_steps) {
        return d_steps;
    }
    const name at = d(), steps = f();
    emit("mad.wide.u32 %s, %s, 4, %s;", at, word, d_iterations);
    if (guard.empty()) {
        emit("ld.global.f32 %s, [%s];", steps, at);
    } else {
        emit("mov.f32 %s, 0f00000000;", steps);
        emit("@%s ld.global.f32 %s, [%s];", guard, steps, at);
    }
    return steps;
}

ldpc_cuda_base_writer::name
ldpc_cuda_base_writer::received_pair(const name (&received)[2], const name (&steps)[2])
{
    name pair;
    if (d_parameters.llr == ldpc_decoder::number::int8) {
        // The bytes below 0x38, plus 128: C + L u as it is.
        const name bytes = b32("prmt.b32", "%s, %s, 0x0040", received[0], received[1]);
        const name shifted = b32("xor.b32", "%s, 0x8080", bytes);
        const name limited = unpacked(shifted, 0);
        pair = b32("max.f16x2", "%s, %s", limited, d_least);
    } else {
        name halves[2];
        for (int lane = 0; lane < 2; ++lane) {
            name value = received[lane];
            if (d_parameters.llr == ldpc_decoder::number::float16) {
                value = f();
                emit("cvt.f32.f16 %s, %s;", value, received[lane]);
            }
            const name scaled = f(), number = f(), low = f(), high = f(), whole = f();
            const name ordered = p();
            emit("mul.rn.f32 %s, %s, %s;", scaled, value, steps[lane]);
            emit("setp.num.f32 %s, %s, %s;", ordered, scaled, scaled);
            emit("selp.f32 %s, %s, 0f00000000, %s;", number, scaled, ordered);
            emit("min.f32 %s, %s, 0f42fe0000;", low, number); // 127
            emit("max.f32 %s, %s, 0fc2fe0000;", high, low);
            emit("cvt.rni.f32.f32 %s, %s;", whole, high);
            const name exact = f();
            emit("fma.rn.f32 %s, %s, 0f3a000000, 0f3f100000;", // u, C
                 exact,
                 whole);
            halves[lane] = h();
            emit("cvt.rn.f16.f32 %s, %s;", halves[lane], exact);
        }
        pair = r();
        emit("mov.b32 %s, {%s, %s};", pair, halves[0], halves[1]);
    }
    if (d_parameters.llr_positive == 1) { // 2 C - it
        const name twice = b32("mov.b32", "0x3c803c80");
        pair = b32("sub.rn.f16x2", "%s, %s", twice, pair);
    }
    return pair;
}

} // namespace gr::cudaphy::kernels
