/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cuda_int8/folded_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/writer.h"
#include <algorithm>
#include <iterator>

namespace gr::cudaphy::kernels {

std::string kernel_writer::text()
{
    begin();
    take_slot(flags_at() + 12);
    name_registers();
    receive();
    clear_messages();
    iterate();
    leave_slot();
    emit("ret;");
    return lines();
}

void kernel_writer::begin()
{
    begin_arguments();
    name at_work = d_t;
    if (d_plan.z < d_plan.threads) {
        d_active = p(); // the output needs whole warps
        d_undefined = r();
        emit("setp.lt.u32 %s, %s, %d;", d_active, d_t, d_plan.z);
        at_work = r();
        emit("selp.b32 %s, %s, 0, %s;", at_work, d_t, d_active);
    }
    d_i4 = b32("shl.b32", "%s, 2", at_work);
    d_w = b32("add.u32", "%s, %s", d_i4, d_memory);
    d_check = b32("div.u32", "%s, %d", at_work, d_plan.pairs);
    d_pair = b32("rem.u32", "%s, %d", d_t, d_plan.pairs);
    d_of_pair = b32("mad.lo.u32", "%s, 4, %s", d_pair, d_memory);
    d_lane_shift = b32("shl.b32", "%s, 1", d_pair);
    const int most = 2 * d_plan.pairs;
    const name block = block_number();
    const name first = b32("mul.lo.u32", "%s, %d", block, most);
    d_first_word = b32("add.u32", "%s, %s", first, d_lane_shift);
    const name left = b32("sub.u32", "%s, %s", d_batch, first);
    const name here = b32("min.u32", "%s, %d", left, most);
    // Mask of the codewords that exist; 32 bits at most.
    const name missing = b32("sub.u32", "%d, %s", most, here);
    const name all = b32("mov.b32", "0x%x", most == 32 ? ~0u : (1u << most) - 1);
    d_present = b32("shr.u32", "%s, %s", all, missing);
    begin_arithmetic();
    d_running = b32("mov.b32", "%s", d_present);
    d_flag = b32("add.u32", "%s, %d", d_memory, flags_at());
    clear_votes(0);
}

//! Sets all messages to 0.
void kernel_writer::clear_messages()
{
    for (const auto& row : d_plan.rows) {
        const name zero = b32("mov.b32", "%s", row.packed ? "0x80808080" : center);
        for (int w = row.first_word; w < row.first_word + row.words(); ++w) {
            set_word(w, zero);
        }
    }
}

void kernel_writer::iterate()
{
    const name again = label();
    const name check_flag = b32("add.u32", "%s, 12", d_flag);
    const name first_flag = b32("mov.b32", "%s", d_flag);
    begin_iterations(again);
    shorten();
    visit_all();
    const name last = count_iteration();
    const name open = r(); // bits of the codewords to be looked at
    if (d_parameters.early_stop && has_crc()) {
        emit("bar.sync 0;");
        emit("mov.b32 %s, %s;", open, d_running);
    } else if (d_parameters.early_stop) {
        // Three words take turns: threads vote in one and clear the next, while slower
        // threads may still read the one before.
        raise(d_flag, 0, signs_of(d_odd));
        const name following = b32("add.u32", "%s, 4", d_flag);
        const name wraps = p(), clears = p();
        emit("setp.eq.u32 %s, %s, %s;", wraps, following, check_flag);
        emit("selp.b32 %s, %s, %s, %s;", following, first_flag, following, wraps);
        emit("setp.eq.u32 %s, %s, 0;", clears, d_t);
        emit("@%s st.shared.b32 [%s], 0;", clears, following);
        emit("bar.sync 0;");
        const name bad = load(d_flag, 0);
        emit("mov.b32 %s, %s;", d_flag, following);
        const name even = b32("not.b32", "%s", bad);
        const name chosen = r(), look = p();
        emit("selp.b32 %s, -1, %s, %s;", chosen, even, last);
        emit("and.b32 %s, %s, %s;", open, chosen, d_running);
        emit("setp.eq.b32 %s, %s, 0;", look, open);
        emit("@%s bra %s;", look, again);
    } else {
        emit("bar.sync 0;");
        emit("@!%s bra %s;", last, again);
        emit("mov.b32 %s, %s;", open, d_running);
    }
    const name good = b32("not.b32", "%s", find_bad());
    const name ended = r();
    emit("selp.b32 %s, -1, %s, %s;", ended, good, last);
    const name which = b32("and.b32", "%s, %s", open, ended);
    put_out(which, good);
    emit("xor.b32 %s, %s, %s;", d_running, d_running, which);
    const name goes_on = p();
    emit("bar.sync 0;"); // all threads have read outputs and votes
    clear_votes(ldpc_cuda_plan::check);
    emit("setp.ne.b32 %s, %s, 0;", goes_on, d_running);
    emit("@%s bra %s;", goes_on, again);
}

namespace {

//! Sends each block to the part of its code. The last code is tested first; blocks of the
//! first code go on to its part, which follows.
class dispatch_writer : private ptx_writer
{
public:
    explicit dispatch_writer(ptx_names& names) : ptx_writer(names) {}

    std::string text(int codes)
    {
        const name block = b32("mov.u32", "%ctaid.x"), first = r(), is_here = p();
        for (int code = codes - 1; code > 0; --code) {
            emit("ld.param.u32 %s, [arguments+%d];",
                 first,
                 ldpc_cuda_source::first_block_at(codes, code));
            emit("setp.ge.u32 %s, %s, %s;", is_here, block, first);
            emit("@%s bra C%d;", is_here, code);
        }
        return lines();
    }
};

} // namespace

int ldpc_cuda_source::first_block_at(int codes, int code)
{
    return codes * static_cast<int>(sizeof(ldpc_cuda_arguments)) +
           code * static_cast<int>(sizeof(uint32_t));
}

std::vector<uint32_t> ldpc_cuda_source::factors(const ldpc_decoding& decoding)
{
    const auto twice = [](float x) { return to_float16(x) * 0x10001u; };
    std::vector<uint32_t> out{ 0x38383838, twice(-decoding.damping()) };
    std::transform(
        decoding.scales.begin(), decoding.scales.end(), std::back_inserter(out), twice);
    out.push_back(0); // read ahead, not used
    return out;
}

template <typename Writer, typename Plan>
void ldpc_cuda_source::add_part(const ldpc_decoding& decoding,
                                const Plan& plan,
                                const ldpc_cuda_store& store)
{
    d_threads = std::max(d_threads, store.threads);
    d_registers = std::max(d_registers, store.registers);
    d_parts += "C" + std::to_string(d_added) + ":\n" +
               Writer(decoding, plan, { d_names, d_added, d_codes }).text();
    ++d_added;
}

void ldpc_cuda_source::add(const ldpc_decoding& decoding, const ldpc_cuda_plan& plan)
{
    add_part<kernel_writer>(decoding, plan, plan);
}

void ldpc_cuda_source::add(const ldpc_decoding& decoding,
                           const ldpc_cuda_folded_plan& plan)
{
    add_part<ldpc_cuda_folded_writer>(decoding, plan, plan.stores[0]);
}

std::string ldpc_cuda_source::text() const
{
    auto names = d_names;
    const auto dispatch =
        d_codes > 1 ? dispatch_writer(names).text(d_codes) : std::string();
    return ".version 7.2\n.target sm_86\n.address_size 64\n"
           ".extern .shared .align 16 .b8 memory[];\n"
           ".visible .entry ldpc_decode(.param .align 8 .b8 arguments[" +
           std::to_string(first_block_at(d_codes, d_codes > 1 ? d_codes : 0)) +
           "])\n.maxntid " + std::to_string(d_threads) + ", 1, 1\n.maxnreg " +
           std::to_string(d_registers) + "\n{\n" + names.declarations() + dispatch +
           d_parts + "}\n";
}

} // namespace gr::cudaphy::kernels
