/* SPDX-License-Identifier: GPL-3.0-or-later */
// The arithmetic: binary16 numbers, two codewords a register. With u = 2^-11, the spacing
// of binary16 between 1/2 and 1, and C = 1/2 + 128 u, an L is kept as C + L u and a
// message as T = C + r u, the latter as the last byte of T, whose first byte is always
// 0x38. Then
//   q = (C + L u) - T              is exact,
//   T = m s + C                    one fused multiply-add, rounds r to whole steps,
//   C + L u = min(1, max(0, q + T)) one saturating addition: L from -1152 to 896,
// and the signed least magnitude of two q is one instruction (min.xorsign.abs).
//
// An L lies in shared memory, a word for the two codewords of a pair: column c, bit i at
// (c z + i) words. A private column's word holds its received value and its message, a
// byte each and codeword, both + 128.
//
// The address of bit (i + shift) mod z is the lesser of i + shift and i + shift - z as
// unsigned numbers.
#include "kernels/ldpc/ldpc_cuda_source.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <set>

namespace gr::cudaphy::kernels {
namespace {

constexpr const char* center = "0x38803880"; // C twice

class kernel_writer
{
public:
    kernel_writer(const ldpc_decoding& decoding, const ldpc_cuda_plan& plan)
        : d_parameters(decoding.parameters), d_code(*decoding.code), d_plan(plan),
          d_outputs(decoding.output_bits()), d_bytes(decoding.output_bytes())
    {
    }

    std::string text()
    {
        body();
        std::string head;
        head += ".version 7.2\n.target sm_86\n.address_size 64\n.extern .shared .align "
                "16 .b8 memory[];\n"
                ".visible .entry ldpc_decode(.param .align 8 .b8 arguments[88])\n"
                ".maxntid " +
                std::to_string(d_plan.threads) + ", 1, 1\n.maxnreg " +
                std::to_string(d_plan.registers) + "\n{\n";
        head += ".reg .b32 %r<" + std::to_string(d_r + 1) + ">;\n";
        head += ".reg .b64 %d<" + std::to_string(d_d + 1) + ">;\n";
        head += ".reg .f32 %f<" + std::to_string(d_f + 1) + ">;\n";
        head += ".reg .b16 %h<" + std::to_string(d_h + 1) + ">;\n";
        head += ".reg .pred %p<" + std::to_string(d_p + 1) + ">;\n";
        return head + d_text + "}\n";
    }

private:
    using name = std::string;

    // The text and its registers.

    __attribute__((format(printf, 2, 3))) void say(const char* format, ...)
    {
        char line[512];
        va_list items;
        va_start(items, format);
        std::vsnprintf(line, sizeof line, format, items);
        va_end(items);
        d_text += line;
        d_text += '\n';
    }
    name r() { return "%r" + std::to_string(d_r++); }
    name d() { return "%d" + std::to_string(d_d++); }
    name f() { return "%f" + std::to_string(d_f++); }
    name h() { return "%h" + std::to_string(d_h++); }
    name p() { return "%p" + std::to_string(d_p++); }
    name label() { return "L" + std::to_string(d_label++); }

    //! A new register with the result of "operation result, operands".
    __attribute__((format(printf, 3, 4))) name
    b32(const char* operation, const char* format, ...)
    {
        char operands[256];
        va_list items;
        va_start(items, format);
        std::vsnprintf(operands, sizeof operands, format, items);
        va_end(items);
        const name result = r();
        say("%s %s, %s;", operation, result.c_str(), operands);
        return result;
    }

    // Where things are.

    //! Address of bit (i + shift) mod z of block column 0; a column's own is 4 z further.
    name place(int shift)
    {
        if (shift == 0) {
            return d_w;
        }
        const name beyond = b32("add.u32", "%s, %d", d_i4.c_str(), 4 * shift);
        const name within =
            b32("add.u32", "%s, %d", d_i4.c_str(), 4 * (shift - d_plan.z));
        const name least = b32("min.u32", "%s, %s", beyond.c_str(), within.c_str());
        return b32("add.u32", "%s, %s", least.c_str(), d_memory.c_str());
    }
    int column_at(int column) const { return 4 * d_plan.z * column; }
    int word_at(int word) const
    {
        return 4 * (d_code.variables() * d_plan.pairs +
                    (word - d_plan.register_words) * d_plan.threads);
    }

    // Pieces of arithmetic.

    name load(const name& address, int offset)
    {
        return b32("ld.shared.b32", "[%s+%d]", address.c_str(), offset);
    }
    void store(const name& address, int offset, const name& value, int missing = -1)
    {
        const name guard = missing < 0 ? d_active : guard_against(missing);
        if (guard.empty()) {
            say("st.shared.b32 [%s+%d], %s;", address.c_str(), offset, value.c_str());
        } else {
            say("@%s st.shared.b32 [%s+%d], %s;",
                guard.c_str(),
                address.c_str(),
                offset,
                value.c_str());
        }
    }
    //! True where this thread is at work and its check is not `missing`.
    name guard_against(int missing)
    {
        const name here = p();
        say("setp.ne.u32 %s, %s, %d;", here.c_str(), d_check.c_str(), missing);
        if (!d_active.empty()) {
            say("and.pred %s, %s, %s;", here.c_str(), here.c_str(), d_active.c_str());
        }
        return here;
    }
    //! Messages T of bytes (first, first + 1) of a packed word.
    name unpacked(const name& word, int first)
    {
        return b32("prmt.b32",
                   "%s, %s, 0x%s",
                   word.c_str(),
                   d_upper.c_str(),
                   first == 0 ? "4140" : "4342");
    }
    name sub(const name& a, const char* b)
    {
        return b32("sub.rn.f16x2", "%s, %s", a.c_str(), b);
    }
    name saturated_sum(const name& a, const name& b)
    {
        return b32("add.rn.sat.f16x2", "%s, %s", a.c_str(), b.c_str());
    }
    name less(const name& a, const name& b)
    {
        return b32("min.xorsign.abs.f16x2", "%s, %s", a.c_str(), b.c_str());
    }
    name scaled(const name& least)
    {
        return b32("fma.rn.f16x2",
                   "%s, %s, %s",
                   least.c_str(),
                   d_scale.c_str(),
                   d_center.c_str());
    }

    //! A tree over some of a check's q, whose leaves get the product of the signs and the
    //! least magnitude of all others: 3 (n - 2) operations for n leaves, as from both
    //! ends of a list, but of logarithmic depth.
    struct node {
        name value;
        int edge = -1; //!< of a leaf
        std::unique_ptr<node> left, right;
    };
    std::unique_ptr<node> tree(const std::vector<name>& q, const std::vector<int>& edges)
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
    std::unique_ptr<node> joined(std::unique_ptr<node> left, std::unique_ptr<node> right)
    {
        auto out = std::make_unique<node>();
        out->left = std::move(left);
        out->right = std::move(right);
        return out;
    }
    //! Of all leaves under a node; computed where it is first asked for.
    const name& least_of(node& at)
    {
        if (at.value.empty()) {
            at.value = less(least_of(*at.left), least_of(*at.right));
        }
        return at.value;
    }
    void give_others(node& at, const name& outside, std::vector<name>& out)
    {
        if (at.edge >= 0) {
            out[at.edge] = outside;
            return;
        }
        give_others(*at.left, less(least_of(*at.right), outside), out);
        give_others(*at.right, less(least_of(*at.left), outside), out);
    }

    //! Adds the sign of an L, 1 where it decides 1, to a check's parity.
    void add_parity(name& parity, const name& l, int missing = -1)
    {
        name value = sub(l, d_center.c_str());
        if (missing >= 0) {
            const name here = guard_against(missing);
            const name kept = r();
            say("selp.b32 %s, %s, 0, %s;", kept.c_str(), value.c_str(), here.c_str());
            value = kept;
        }
        parity = parity.empty() ? value
                                : b32("xor.b32", "%s, %s", parity.c_str(), value.c_str());
    }
    void note_parity(const name& parity)
    {
        if (!parity.empty()) {
            say("or.b32 %s, %s, %s;", d_odd.c_str(), d_odd.c_str(), parity.c_str());
        }
    }

    // One block row.

    //! What a thread has in hand of its check.
    struct in_hand {
        std::vector<name> address, q, old, words;
        std::vector<int> early; //!< edges read before the barrier
        std::unique_ptr<node> early_tree;
    };

    void take(const ldpc_cuda_plan::row& row, int e, in_hand& now)
    {
        const auto& edge = row.edges[e];
        const int w = row.packed ? e / 2 : e;
        if (now.words[w].empty()) {
            const int word = row.first_word + w;
            now.words[w] = word < d_plan.register_words ? d_messages[word]
                                                        : load(d_t4, word_at(word));
        }
        now.address[e] = place(edge.shift);
        const name l = load(now.address[e], column_at(edge.column));
        now.old[e] = row.packed ? unpacked(now.words[w], e % 2 * 2) : now.words[w];
        now.q[e] = sub(l, now.old[e].c_str());
        if (edge.missing >= 0) {
            const name here = guard_against(edge.missing);
            const name kept = r();
            say("selp.b32 %s, %s, 0x3c003c00, %s;",
                kept.c_str(),
                now.q[e].c_str(),
                here.c_str());
            now.q[e] = kept;
        }
    }

    //! Reads what nobody has written since the last barrier.
    in_hand prepare(const ldpc_cuda_plan::row& row, const std::set<int>& written)
    {
        const size_t n = row.edges.size();
        in_hand now;
        now.address.resize(n);
        now.q.resize(n);
        now.old.resize(n);
        now.words.resize(row.words());
        for (size_t e = 0; e < n; ++e) {
            if (!written.count(row.edges[e].column)) {
                take(row, static_cast<int>(e), now);
                now.early.push_back(static_cast<int>(e));
            }
        }
        if (!now.early.empty()) {
            now.early_tree = tree(now.q, now.early);
            least_of(*now.early_tree);
        }
        return now;
    }

    void visit(const ldpc_cuda_plan::row& row, in_hand now)
    {
        const int n = static_cast<int>(row.edges.size());
        const bool watches = d_parameters.early_stop && !has_crc() && row.own.column < 0;
        std::vector<int> late;
        for (int e = 0; e < n; ++e) {
            if (now.q[e].empty()) {
                take(row, e, now);
                late.push_back(e);
            }
        }
        name own_at, own_word, own;
        if (row.own.column >= 0) {
            own_at = place(row.own.shift);
            own_word = load(own_at, column_at(row.own.column));
            own = sub(unpacked(own_word, 0), d_center.c_str());
        }
        if (row.turns > 1) {
            say("bar.sync 0;"); // all have read before the first one writes
        }
        // A received value never exceeds the greatest message; all else may.
        std::vector<name> least(n), message(n);
        name for_own = d_most;
        if (n > 0) {
            auto all = late.empty() ? std::move(now.early_tree)
                       : now.early.empty()
                           ? tree(now.q, late)
                           : joined(std::move(now.early_tree), tree(now.q, late));
            give_others(*all, own.empty() ? d_most : own, least);
            if (!own.empty() && d_plan.keeps_private) {
                for_own = less(least_of(*all), d_most);
            }
        }
        name parity;
        for (int e = 0; e < n; ++e) {
            message[e] = scaled(least[e]);
            const auto& edge = row.edges[e];
            if (edge.turn == 0) {
                const name l = saturated_sum(now.q[e], message[e]);
                store(now.address[e], column_at(edge.column), l, edge.missing);
                if (watches) {
                    add_parity(parity, l, edge.missing);
                }
            }
        }
        if (!own.empty() && d_plan.keeps_private) {
            const name to_own = scaled(for_own);
            store(own_at,
                  column_at(row.own.column),
                  b32("prmt.b32", "%s, %s, 0x6410", own_word.c_str(), to_own.c_str()));
        }
        for (int turn = 1; turn < row.turns; ++turn) {
            say("bar.sync 0;");
            for (int e = 0; e < n; ++e) {
                const auto& edge = row.edges[e];
                if (edge.turn == turn) {
                    const int at = column_at(edge.column);
                    const name l = saturated_sum(load(now.address[e], at),
                                                 sub(message[e], now.old[e].c_str()));
                    store(now.address[e], at, l, edge.missing);
                    if (watches) {
                        add_parity(parity, l, edge.missing);
                    }
                }
            }
        }
        note_parity(parity);
        for (int w = 0; w < row.words(); ++w) {
            const int word = row.first_word + w;
            const name packed = row.packed
                                    ? b32("prmt.b32",
                                          "%s, %s, 0x6420",
                                          message[2 * w].c_str(),
                                          message[std::min(2 * w + 1, n - 1)].c_str())
                                    : message[w];
            if (word < d_plan.register_words) {
                say("mov.b32 %s, %s;", d_messages[word].c_str(), packed.c_str());
            } else {
                say("st.shared.b32 [%s+%d], %s;",
                    d_t4.c_str(),
                    word_at(word),
                    packed.c_str());
            }
        }
    }

    //! All rows. A row reads what it can before the barrier that it waits at.
    void visit_all()
    {
        std::set<int> written;
        for (const auto& row : d_plan.rows) {
            in_hand now = prepare(row, written);
            if (row.waits) {
                say("bar.sync 0;");
                written.clear();
            }
            visit(row, std::move(now));
            for (const auto& edge : row.edges) {
                written.insert(edge.column);
            }
        }
    }

    //! The parity of every check that has no bit of its own into `odd`.
    void check_all()
    {
        say("mov.b32 %s, 0;", d_odd.c_str());
        for (const auto& row : d_plan.rows) {
            if (row.own.column >= 0) {
                continue;
            }
            name parity;
            for (const auto& edge : row.edges) {
                add_parity(parity,
                           load(place(edge.shift), column_at(edge.column)),
                           edge.missing);
            }
            note_parity(parity);
        }
    }

    //! C + L u of a private column's word.
    name private_l(const name& word)
    {
        return saturated_sum(sub(unpacked(word, 0), d_center.c_str()), unpacked(word, 2));
    }

    //! Adds this thread's `odd` to flag word `flag` (a register or number): two bits a
    //! pair, the first codeword's lower.
    void raise(const name& address)
    {
        const name low = b32("bfe.u32", "%s, 15, 1", d_odd.c_str());
        const name high = b32("shr.u32", "%s, 31", d_odd.c_str());
        const name both = b32("mad.lo.u32", "%s, 2, %s", high.c_str(), low.c_str());
        name mine = b32("shl.b32", "%s, %s", both.c_str(), d_lane_shift.c_str());
        if (!d_active.empty()) {
            const name kept = r();
            say("selp.b32 %s, %s, 0, %s;", kept.c_str(), mine.c_str(), d_active.c_str());
            mine = kept;
        }
        const name all = b32("redux.sync.or.b32", "%s, 0xffffffff", mine.c_str());
        const name first = p();
        const name lane = b32("and.b32", "%s, 31", d_t.c_str());
        say("setp.eq.u32 %s, %s, 0;", first.c_str(), lane.c_str());
        say("setp.ne.and.b32 %s, %s, 0, %s;", first.c_str(), all.c_str(), first.c_str());
        say("@%s red.shared.or.b32 [%s], %s;",
            first.c_str(),
            address.c_str(),
            all.c_str());
    }
    int flags_at() const { return word_at(d_plan.words); }
    bool has_crc() const { return d_parameters.stop_crc.bits > 0; }

    //! Ors into a new mask the bits of the block's codewords that do not end with their
    //! remainder: the sum of the remainders of the powers at which they have a one.
    name check_crc()
    {
        const int z = d_code.circulants().lifting_size;
        const name sums[2] = { b32("mov.b32", "0"), b32("mov.b32", "0") };
        const name loop = label(), past = label();
        const name item = b32("mov.b32", "%s", d_check.c_str());
        const name over = p();
        say("%s:", loop.c_str());
        say("setp.ge.u32 %s, %s, %d;", over.c_str(), item.c_str(), d_code.k());
        say("@%s bra %s;", over.c_str(), past.c_str());
        const name at = d();
        say("mad.wide.u32 %s, %s, 8, %s;",
            at.c_str(),
            item.c_str(),
            d_remainders.c_str());
        const name column = r(), remainder = r();
        say("ld.global.nc.v2.b32 {%s, %s}, [%s];",
            column.c_str(),
            remainder.c_str(),
            at.c_str());
        const name place = b32("mad.lo.u32",
                               "%s, %d, %s",
                               column.c_str(),
                               4 * d_plan.pairs,
                               d_of_pair.c_str());
        const name value = sub(load(place, 0), d_center.c_str());
        const name upper = b32("shl.b32", "%s, 16", value.c_str());
        for (int lane = 0; lane < 2; ++lane) {
            const name sign =
                b32("shr.s32", "%s, 31", (lane == 0 ? upper : value).c_str());
            const name term = b32("and.b32", "%s, %s", sign.c_str(), remainder.c_str());
            say("xor.b32 %s, %s, %s;",
                sums[lane].c_str(),
                sums[lane].c_str(),
                term.c_str());
        }
        say("add.u32 %s, %s, %d;", item.c_str(), item.c_str(), z);
        say("bra %s;", loop.c_str());
        say("%s:", past.c_str());
        const name lane_index = b32("and.b32", "%s, 31", d_t.c_str());
        const name first = p();
        say("setp.eq.u32 %s, %s, 0;", first.c_str(), lane_index.c_str());
        const int words_at = flags_at() + 4 * ldpc_cuda_plan::votes;
        for (int word = 0; word < 2 * d_plan.pairs; ++word) {
            const name mine = p(), kept = r();
            say("setp.eq.u32 %s, %s, %d;", mine.c_str(), d_pair.c_str(), word / 2);
            if (!d_active.empty()) {
                say("and.pred %s, %s, %s;", mine.c_str(), mine.c_str(), d_active.c_str());
            }
            say("selp.b32 %s, %s, 0, %s;",
                kept.c_str(),
                sums[word % 2].c_str(),
                mine.c_str());
            const name all = b32("redux.sync.xor.b32", "%s, 0xffffffff", kept.c_str());
            say("@%s red.shared.xor.b32 [%s+%d], %s;",
                first.c_str(),
                d_memory.c_str(),
                words_at + 4 * word,
                all.c_str());
        }
        say("bar.sync 0;");
        name bad = b32("mov.b32", "0");
        for (int word = 0; word < 2 * d_plan.pairs; ++word) {
            const name rest = load(d_memory, words_at + 4 * word), bit = r();
            const name fails = p();
            say("setp.ne.b32 %s, %s, 0;", fails.c_str(), rest.c_str());
            say("selp.b32 %s, 0x%x, 0, %s;", bit.c_str(), 1u << word, fails.c_str());
            bad = b32("or.b32", "%s, %s", bad.c_str(), bit.c_str());
        }
        return bad;
    }
    //! Clears the words behind the votes; a barrier before it.
    void clear_remainders()
    {
        const name clears = p();
        say("setp.lt.u32 %s, %s, %d;", clears.c_str(), d_t.c_str(), 2 * d_plan.pairs);
        say("@%s st.shared.b32 [%s+%d], 0;",
            clears.c_str(),
            d_t4.c_str(),
            flags_at() + 4 * ldpc_cuda_plan::votes);
    }

    // The whole kernel.

    name argument64(int offset)
    {
        const name value = d();
        say("ld.param.u64 %s, [arguments+%d];", value.c_str(), offset);
        return value;
    }
    name argument32(const char* type, int offset)
    {
        const name value = type[0] == 'f' ? f() : r();
        say("ld.param.%s %s, [arguments+%d];", type, value.c_str(), offset);
        return value;
    }

    void body();
    void begin();
    //! A received bit on its way.
    struct arrival {
        static constexpr int tabled = 1;
        int from = 0; //!< -1: punctured, -2: shortened; tabled: `source` says
        name source;  //!< bit of the codeword, from the table
        name address[2];
        name value[2];
    };
    void receive();
    arrival request(int block_column, int lifting_size);
    name in_place(const arrival&);
    int llr_bytes() const;
    void clear_messages();
    void shorten();
    void iterate();
    void put_out(const name& which, const name& good);
    name is_set(const name& mask, int lane);
    //! One thread's bit of 32 that go out.
    struct output_group {
        name pair, number; //!< of the block; the how manieth 32 of the pair's
        name item, value;  //!< which bit, and its L u for both codewords
        name exists;       //!< predicate
        name pair_of_all;  //!< of the batch
    };
    void put_bits(const name& which);
    void put_packed(const name& which);
    void put_any(const name& which, bool hard);
    output_group
    output(const name& group, int further, int groups, const name& lane_index);
    name is_wanted(const output_group& of, int lane, const name& which);
    void put_hard(const output_group& of,
                  int lane,
                  const name& which,
                  const name& lane_index,
                  const name& down,
                  const name& few);
    void put_soft(const output_group& of, int lane, const name& which);

    const ldpc_decoder::parameters& d_parameters;
    const ldpc_code& d_code;
    const ldpc_cuda_plan& d_plan;
    const int d_outputs;
    const size_t d_bytes;

    std::string d_text;
    int d_r = 0, d_d = 0, d_f = 0, d_h = 0, d_p = 0, d_label = 0;
    name d_llr, d_bits, d_iterations, d_ok, d_soft, d_scales, d_sources, d_places,
        d_remainders;
    name d_batch, d_steps, d_most_iterations;
    name d_t, d_t4, d_i4, d_w, d_check, d_pair, d_active, d_memory;
    name d_of_pair, d_lane_shift, d_flag; //!< flag: address of the next vote's word
    name d_first_word, d_present; //!< the pair's first codeword; bits of those that exist
    name d_exists[2], d_received[2]; //!< the pair's codewords
    name d_own_received[2];          //!< from this thread's check on
    name d_upper, d_center, d_most, d_least, d_scale, d_odd, d_running, d_iteration;
    std::vector<name> d_messages;
};

void kernel_writer::body()
{
    begin();
    receive();
    clear_messages();
    iterate();
    say("ret;");
}

void kernel_writer::begin()
{
    d_llr = argument64(0);
    d_bits = argument64(8);
    d_iterations = argument64(16);
    d_ok = argument64(24);
    d_soft = argument64(32);
    d_scales = argument64(40);
    d_sources = argument64(48);
    d_places = argument64(56);
    d_remainders = argument64(64);
    d_batch = argument32("u32", 72);
    d_steps = argument32("f32", 76);
    d_most_iterations = argument32("u32", 80);

    d_t = b32("mov.u32", "%%tid.x");
    d_memory = b32("mov.u32", "memory");
    d_t4 = b32("mad.lo.u32", "%s, 4, %s", d_t.c_str(), d_memory.c_str());
    name at_work = d_t;
    if (d_plan.z < d_plan.threads) {
        d_active = p();
        say("setp.lt.u32 %s, %s, %d;", d_active.c_str(), d_t.c_str(), d_plan.z);
        at_work = r();
        say("selp.b32 %s, %s, 0, %s;", at_work.c_str(), d_t.c_str(), d_active.c_str());
    }
    d_i4 = b32("shl.b32", "%s, 2", at_work.c_str());
    d_w = b32("add.u32", "%s, %s", d_i4.c_str(), d_memory.c_str());
    d_check = b32("div.u32", "%s, %d", at_work.c_str(), d_plan.pairs);
    d_pair = b32("rem.u32", "%s, %d", d_t.c_str(), d_plan.pairs);
    d_of_pair = b32("mad.lo.u32", "%s, 4, %s", d_pair.c_str(), d_memory.c_str());
    d_lane_shift = b32("shl.b32", "%s, 1", d_pair.c_str());
    const int most = 2 * d_plan.pairs;
    const name block = b32("mov.u32", "%%ctaid.x");
    const name first = b32("mul.lo.u32", "%s, %d", block.c_str(), most);
    d_first_word = b32("add.u32", "%s, %s", first.c_str(), d_lane_shift.c_str());
    const name left = b32("sub.u32", "%s, %s", d_batch.c_str(), first.c_str());
    const name here = b32("min.u32", "%s, %d", left.c_str(), most);
    // Bits of the codewords that there are; 32 of them at most.
    const name missing = b32("sub.u32", "%d, %s", most, here.c_str());
    const name all = b32("mov.b32", "0x%x", most == 32 ? ~0u : (1u << most) - 1);
    d_present = b32("shr.u32", "%s, %s", all.c_str(), missing.c_str());
    // The upper bytes of messages, from memory: a constant that the translator saw would
    // leave no room for the selector in the instruction.
    d_upper = r();
    say("ld.global.nc.b32 %s, [%s];", d_upper.c_str(), d_scales.c_str());
    d_center = b32("mov.b32", "%s", center);
    d_most = b32("mov.b32", "0x2bf02bf0");  // 127 u
    d_least = b32("mov.b32", "0x38013801"); // C - 127 u
    d_odd = b32("mov.b32", "0");
    d_scale = b32("mov.b32", "0");
    d_running = b32("mov.b32", "%s", d_present.c_str());
    d_flag = b32("add.u32", "%s, %d", d_memory.c_str(), flags_at());
    const name zeroes = p();
    say("setp.lt.u32 %s, %s, %d;", zeroes.c_str(), d_t.c_str(), ldpc_cuda_plan::votes);
    say("@%s st.shared.b32 [%s+%d], 0;", zeroes.c_str(), d_t4.c_str(), flags_at());
    clear_remainders();
    d_iteration = b32("mov.b32", "0");
}

//! All messages to 0.
void kernel_writer::clear_messages()
{
    for (const auto& row : d_plan.rows) {
        const char* zero = row.packed ? "0x80808080" : center;
        for (int w = row.first_word; w < row.first_word + row.words(); ++w) {
            const name value = b32("mov.b32", "%s", zero);
            if (w < d_plan.register_words) {
                d_messages.push_back(value);
            } else {
                say("st.shared.b32 [%s+%d], %s;",
                    d_t4.c_str(),
                    word_at(w),
                    value.c_str());
            }
        }
    }
}

void kernel_writer::receive()
{
    const int z = d_code.circulants().lifting_size;
    const int columns = d_code.circulants().block_columns;
    for (int lane = 0; lane < 2; ++lane) {
        d_exists[lane] = p();
        const name word = b32("add.u32", "%s, %d", d_first_word.c_str(), lane);
        say("setp.lt.u32 %s, %s, %s;",
            d_exists[lane].c_str(),
            word.c_str(),
            d_batch.c_str());
        d_received[lane] = d();
        say("mad.wide.u32 %s, %s, %d, %s;",
            d_received[lane].c_str(),
            word.c_str(),
            d_code.n() * llr_bytes(),
            d_llr.c_str());
        d_own_received[lane] = d();
        say("mad.wide.u32 %s, %s, %d, %s;",
            d_own_received[lane].c_str(),
            d_check.c_str(),
            llr_bytes(),
            d_received[lane].c_str());
    }
    // Many loads on their way at a time.
    constexpr int at_once = 32;
    for (int begin = 0; begin < columns; begin += at_once) {
        std::vector<arrival> arrivals;
        for (int c = begin; c < std::min(columns, begin + at_once); ++c) {
            arrivals.push_back(request(c, z));
        }
        for (size_t i = 0; i < arrivals.size(); ++i) {
            const int c = begin + static_cast<int>(i);
            const name both = in_place(arrivals[i]);
            store(d_w,
                  column_at(c),
                  d_plan.is_private[c]
                      ? b32("prmt.b32", "%s, 0x00008080, 0x5420", both.c_str())
                      : both);
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
        const name index = b32("add.u32", "%s, %d", d_check.c_str(), c * z);
        const name at = d();
        say("mad.wide.u32 %s, %s, 4, %s;", at.c_str(), index.c_str(), d_sources.c_str());
        out.source = b32("ld.global.nc.b32", "[%s]", at.c_str());
        const name bit = b32("max.s32", "%s, 0", out.source.c_str());
        for (int lane = 0; lane < 2; ++lane) {
            out.address[lane] = d();
            say("mad.wide.u32 %s, %s, %d, %s;",
                out.address[lane].c_str(),
                bit.c_str(),
                llr_bytes(),
                d_received[lane].c_str());
        }
    }
    for (int lane = 0; lane < 2; ++lane) {
        const char* guard = d_exists[lane].c_str();
        const char* at = out.address[lane].c_str();
        if (d_parameters.llr == ldpc_decoder::number::int8) {
            out.value[lane] = b32("mov.b32", "0");
            say("@%s ld.global.nc.u8 %s, [%s+%d];",
                guard,
                out.value[lane].c_str(),
                at,
                offset);
        } else if (d_parameters.llr == ldpc_decoder::number::float16) {
            out.value[lane] = h();
            say("mov.b16 %s, 0;", out.value[lane].c_str());
            say("@%s ld.global.nc.b16 %s, [%s+%d];",
                guard,
                out.value[lane].c_str(),
                at,
                offset);
        } else {
            out.value[lane] = f();
            say("mov.f32 %s, 0f00000000;", out.value[lane].c_str());
            say("@%s ld.global.nc.f32 %s, [%s+%d];",
                guard,
                out.value[lane].c_str(),
                at,
                offset);
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
        const name bytes = b32(
            "prmt.b32", "%s, %s, 0x0040", from.value[0].c_str(), from.value[1].c_str());
        const name shifted = b32("xor.b32", "%s, 0x8080", bytes.c_str());
        const name limited = unpacked(shifted, 0);
        both = b32("max.f16x2", "%s, %s", limited.c_str(), d_least.c_str());
    } else {
        name halves[2];
        for (int lane = 0; lane < 2; ++lane) {
            name value = from.value[lane];
            if (d_parameters.llr == ldpc_decoder::number::float16) {
                value = f();
                say("cvt.f32.f16 %s, %s;", value.c_str(), from.value[lane].c_str());
            }
            const name scaled = f(), number = f(), low = f(), high = f(), whole = f();
            const name ordered = p();
            say("mul.rn.f32 %s, %s, %s;", scaled.c_str(), value.c_str(), d_steps.c_str());
            say("setp.num.f32 %s, %s, %s;",
                ordered.c_str(),
                scaled.c_str(),
                scaled.c_str());
            say("selp.f32 %s, %s, 0f00000000, %s;",
                number.c_str(),
                scaled.c_str(),
                ordered.c_str());
            say("min.f32 %s, %s, 0f42fe0000;", low.c_str(), number.c_str()); // 127
            say("max.f32 %s, %s, 0fc2fe0000;", high.c_str(), low.c_str());
            say("cvt.rni.f32.f32 %s, %s;", whole.c_str(), high.c_str());
            const name exact = f();
            say("fma.rn.f32 %s, %s, 0f3a000000, 0f3f100000;", // u, C
                exact.c_str(),
                whole.c_str());
            halves[lane] = h();
            say("cvt.rn.f16.f32 %s, %s;", halves[lane].c_str(), exact.c_str());
        }
        both = r();
        say("mov.b32 %s, {%s, %s};", both.c_str(), halves[0].c_str(), halves[1].c_str());
    }
    if (d_parameters.llr_positive == 1) { // 2 C - it
        const name twice = b32("mov.b32", "0x3c803c80");
        both = b32("sub.rn.f16x2", "%s, %s", twice.c_str(), both.c_str());
    }
    if (from.from == arrival::tabled) {
        for (const int special : { -1, -2 }) {
            const name is = p(), kept = r();
            say("setp.eq.s32 %s, %s, %d;", is.c_str(), from.source.c_str(), special);
            say("selp.b32 %s, %s, %s, %s;",
                kept.c_str(),
                special == -1 ? punctured : shortened,
                both.c_str(),
                is.c_str());
            both = kept;
        }
    }
    return both;
}

//! Bits that are known to be 0 before each iteration.
void kernel_writer::shorten()
{
    if (d_code.shortened().empty()) {
        return;
    }
    const int z = d_code.circulants().lifting_size;
    const name greatest = b32("mov.b32", "0x3c003c00");
    for (const auto& run : d_plan.runs) {
        if (run.from != -2) {
            continue;
        }
        for (int c = run.first / z; c * z < run.first + run.count; ++c) {
            const int first = std::max(run.first - c * z, 0);
            const int last = std::min(run.first + run.count - c * z, z);
            const name offset = b32("sub.u32", "%s, %d", d_check.c_str(), first);
            const name inside = p();
            say("setp.lt.u32 %s, %s, %d;", inside.c_str(), offset.c_str(), last - first);
            if (!d_active.empty()) {
                say("and.pred %s, %s, %s;",
                    inside.c_str(),
                    inside.c_str(),
                    d_active.c_str());
            }
            say("@%s st.shared.b32 [%s+%d], %s;",
                inside.c_str(),
                d_w.c_str(),
                column_at(c),
                greatest.c_str());
        }
    }
    say("bar.sync 0;");
}

void kernel_writer::iterate()
{
    const name again = label();
    const name scale_at = d(), next_scale = r(), last = p();
    const name check_flag = b32("add.u32", "%s, 12", d_flag.c_str());
    const name first_flag = b32("mov.b32", "%s", d_flag.c_str());
    say("mov.b64 %s, %s;", scale_at.c_str(), d_scales.c_str());
    say("ld.global.nc.b32 %s, [%s+4];", next_scale.c_str(), scale_at.c_str());
    say("bar.sync 0;");
    say("%s:", again.c_str());
    // The next factor is on its way while this iteration works.
    say("mov.b32 %s, %s;", d_scale.c_str(), next_scale.c_str());
    say("ld.global.nc.b32 %s, [%s+8];", next_scale.c_str(), scale_at.c_str());
    say("add.u64 %s, %s, 4;", scale_at.c_str(), scale_at.c_str());
    say("mov.b32 %s, 0;", d_odd.c_str());
    shorten();
    visit_all();
    say("add.u32 %s, %s, 1;", d_iteration.c_str(), d_iteration.c_str());
    say("setp.eq.u32 %s, %s, %s;",
        last.c_str(),
        d_iteration.c_str(),
        d_most_iterations.c_str());
    const name open = r(); // bits of the codewords to be looked at
    if (d_parameters.early_stop && has_crc()) {
        say("bar.sync 0;");
        say("mov.b32 %s, %s;", open.c_str(), d_running.c_str());
    } else if (d_parameters.early_stop) {
        // Three words take turns: one is voted in, the next one is cleared, and the one
        // before may still be read.
        raise(d_flag);
        const name following = b32("add.u32", "%s, 4", d_flag.c_str());
        const name wraps = p(), clears = p();
        say("setp.eq.u32 %s, %s, %s;",
            wraps.c_str(),
            following.c_str(),
            check_flag.c_str());
        say("selp.b32 %s, %s, %s, %s;",
            following.c_str(),
            first_flag.c_str(),
            following.c_str(),
            wraps.c_str());
        say("setp.eq.u32 %s, %s, 0;", clears.c_str(), d_t.c_str());
        say("@%s st.shared.b32 [%s], 0;", clears.c_str(), following.c_str());
        say("bar.sync 0;");
        const name bad = load(d_flag, 0);
        say("mov.b32 %s, %s;", d_flag.c_str(), following.c_str());
        const name even = b32("not.b32", "%s", bad.c_str());
        const name chosen = r(), look = p();
        say("selp.b32 %s, -1, %s, %s;", chosen.c_str(), even.c_str(), last.c_str());
        say("and.b32 %s, %s, %s;", open.c_str(), chosen.c_str(), d_running.c_str());
        say("setp.eq.b32 %s, %s, 0;", look.c_str(), open.c_str());
        say("@%s bra %s;", look.c_str(), again.c_str());
    } else {
        say("bar.sync 0;");
        say("@!%s bra %s;", last.c_str(), again.c_str());
        say("mov.b32 %s, %s;", open.c_str(), d_running.c_str());
    }
    name bad;
    if (has_crc()) {
        bad = check_crc();
    } else {
        check_all();
        raise(check_flag);
        say("bar.sync 0;");
        bad = load(check_flag, 0);
    }
    const name good = b32("not.b32", "%s", bad.c_str());
    const name ended = r();
    say("selp.b32 %s, -1, %s, %s;", ended.c_str(), good.c_str(), last.c_str());
    const name which = b32("and.b32", "%s, %s", open.c_str(), ended.c_str());
    put_out(which, good);
    say("xor.b32 %s, %s, %s;", d_running.c_str(), d_running.c_str(), which.c_str());
    const name goes_on = p(), clears = p();
    say("bar.sync 0;"); // the outputs are read, and the vote
    say("setp.eq.u32 %s, %s, 0;", clears.c_str(), d_t.c_str());
    say("@%s st.shared.b32 [%s], 0;", clears.c_str(), check_flag.c_str());
    clear_remainders();
    say("setp.ne.b32 %s, %s, 0;", goes_on.c_str(), d_running.c_str());
    say("@%s bra %s;", goes_on.c_str(), again.c_str());
}

//! Bit `lane` of this thread's pair in a mask of the block's codewords, as a predicate.
kernel_writer::name kernel_writer::is_set(const name& mask, int lane)
{
    const name position = b32("add.u32", "%s, %d", d_lane_shift.c_str(), lane);
    const name bit = b32("bfe.u32", "%s, %s, 1", mask.c_str(), position.c_str());
    const name result = p();
    say("setp.ne.b32 %s, %s, 0;", result.c_str(), bit.c_str());
    return result;
}

void kernel_writer::put_out(const name& which, const name& good)
{
    const name first = p();
    say("setp.lt.u32 %s, %s, %d;", first.c_str(), d_t.c_str(), d_plan.pairs);
    for (int lane = 0; lane < 2; ++lane) {
        const name writes = is_set(which, lane), is_good = is_set(good, lane);
        say("and.pred %s, %s, %s;", writes.c_str(), writes.c_str(), first.c_str());
        const name result = r();
        say("selp.b32 %s, 1, 0, %s;", result.c_str(), is_good.c_str());
        const name word = b32("add.u32", "%s, %d", d_first_word.c_str(), lane);
        const name count_at = d(), ok_at = d();
        say("mad.wide.u32 %s, %s, 4, %s;",
            count_at.c_str(),
            word.c_str(),
            d_iterations.c_str());
        say("mad.wide.u32 %s, %s, 4, %s;", ok_at.c_str(), word.c_str(), d_ok.c_str());
        say("@%s st.global.b32 [%s], %s;",
            writes.c_str(),
            count_at.c_str(),
            d_iteration.c_str());
        say("@%s st.global.b32 [%s], %s;", writes.c_str(), ok_at.c_str(), result.c_str());
    }
    put_bits(which);
}

//! Hard decisions of the codewords in `which`, and soft ones where they are asked for. A
//! warp takes 32 bits of one pair at a time, and several such at once to hide latencies.
void kernel_writer::put_bits(const name& which)
{
    const bool plain =
        d_parameters.packed && d_plan.pairs == 1 && d_plan.outputs_in_order;
    if (plain) {
        const name has_soft = p();
        const name past = label();
        put_packed(which);
        say("setp.eq.u64 %s, %s, 0;", has_soft.c_str(), d_soft.c_str());
        say("@%s bra %s;", has_soft.c_str(), past.c_str());
        put_any(which, false);
        say("%s:", past.c_str());
    } else {
        put_any(which, true);
    }
}

//! The packed bits of one pair, where they lie one after the other.
void kernel_writer::put_packed(const name& which)
{
    const int groups = (d_outputs + 31) / 32;
    const int warps = d_plan.threads / 32;
    const name lane_index = b32("and.b32", "%s, 31", d_t.c_str());
    const name warp = b32("shr.u32", "%s, 5", d_t.c_str());
    const name up = b32("shl.b32", "%s, 3", lane_index.c_str());
    const name down = b32("sub.u32", "24, %s", up.c_str());
    const name byte_index =
        b32("mad.lo.u32", "%s, 4, %s", warp.c_str(), lane_index.c_str());
    const name few = p();
    say("setp.lt.u32 %s, %s, 4;", few.c_str(), lane_index.c_str());
    name at[2], writes[2];
    for (int lane = 0; lane < 2; ++lane) {
        const name word = b32("add.u32", "%s, %d", d_first_word.c_str(), lane);
        const name base = d();
        at[lane] = d();
        writes[lane] = is_set(which, lane);
        say("and.pred %s, %s, %s;",
            writes[lane].c_str(),
            writes[lane].c_str(),
            few.c_str());
        say("mad.wide.u32 %s, %s, %d, %s;",
            base.c_str(),
            word.c_str(),
            static_cast<int>(d_bytes),
            d_bits.c_str());
        say("mad.wide.u32 %s, %s, 1, %s;",
            at[lane].c_str(),
            byte_index.c_str(),
            base.c_str());
    }
    for (int i = 0; i * warps < groups; ++i) {
        const bool tail = (i + 1) * warps * 32 > d_outputs;
        const name l = tail ? b32("mov.b32", "%s", center)
                            : load(d_t4, 4 * (i * d_plan.threads + d_plan.outputs[0]));
        if (tail) {
            const name item = b32("add.u32", "%s, %d", d_t.c_str(), i * d_plan.threads);
            const name exists = p();
            say("setp.lt.u32 %s, %s, %d;", exists.c_str(), item.c_str(), d_outputs);
            say("@%s ld.shared.b32 %s, [%s+%d];",
                exists.c_str(),
                l.c_str(),
                d_t4.c_str(),
                4 * (i * d_plan.threads + d_plan.outputs[0]));
        }
        const name negative[2] = { p(), p() };
        say("setp.lt.f16x2 %s|%s, %s, %s;",
            negative[0].c_str(),
            negative[1].c_str(),
            l.c_str(),
            d_center.c_str());
        for (int lane = 0; lane < 2; ++lane) {
            const name vote = r();
            say("vote.sync.ballot.b32 %s, %s, 0xffffffff;",
                vote.c_str(),
                negative[lane].c_str());
            const name reversed = b32("brev.b32", "%s", vote.c_str());
            const name byte = b32("shr.u32", "%s, %s", reversed.c_str(), down.c_str());
            name guard = writes[lane];
            if (tail) {
                const name place =
                    b32("add.u32", "%s, %d", byte_index.c_str(), 4 * i * warps);
                guard = p();
                say("setp.lt.and.u32 %s, %s, %d, %s;",
                    guard.c_str(),
                    place.c_str(),
                    static_cast<int>(d_bytes),
                    writes[lane].c_str());
            }
            say("@%s st.global.u8 [%s+%d], %s;",
                guard.c_str(),
                at[lane].c_str(),
                4 * i * warps,
                byte.c_str());
        }
    }
}

//! Any form of output; `hard`: not only the soft values.
void kernel_writer::put_any(const name& which, bool hard)
{
    const int groups = (d_outputs + 31) / 32;
    const int warps = d_plan.threads / 32;
    const name lane_index = b32("and.b32", "%s, 31", d_t.c_str());
    const name group = b32("shr.u32", "%s, 5", d_t.c_str());
    const name has_soft = p(), out_of_range = p();
    const name loop = label(), past = label(), no_soft = label();
    // Bit 0 of a vote is the first byte's highest: byte i comes down by 24 - 8 i.
    const name up = b32("shl.b32", "%s, 3", lane_index.c_str());
    const name down = b32("sub.u32", "24, %s", up.c_str());
    const name few = p();
    say("setp.lt.u32 %s, %s, 4;", few.c_str(), lane_index.c_str());
    say("setp.ne.u64 %s, %s, 0;", has_soft.c_str(), d_soft.c_str());

    const int at_once = std::min(4, (groups * d_plan.pairs + warps - 1) / warps);
    say("%s:", loop.c_str());
    say("setp.ge.u32 %s, %s, %d;",
        out_of_range.c_str(),
        group.c_str(),
        groups * d_plan.pairs);
    say("@%s bra %s;", out_of_range.c_str(), past.c_str());
    std::vector<output_group> all;
    for (int i = 0; i < at_once; ++i) {
        all.push_back(output(group, i * warps, groups, lane_index));
    }
    for (const auto& one : all) {
        for (int lane = 0; lane < 2 && hard; ++lane) {
            put_hard(one, lane, which, lane_index, down, few);
        }
    }
    say("@!%s bra %s;", has_soft.c_str(), no_soft.c_str());
    for (const auto& one : all) {
        for (int lane = 0; lane < 2; ++lane) {
            put_soft(one, lane, which);
        }
    }
    say("%s:", no_soft.c_str());
    say("add.u32 %s, %s, %d;", group.c_str(), group.c_str(), at_once * warps);
    say("bra %s;", loop.c_str());
    say("%s:", past.c_str());
}

//! This thread's bit of group number `group` + `further`.
kernel_writer::output_group
kernel_writer::output(const name& group, int further, int groups, const name& lane_index)
{
    output_group out;
    const name at = b32("add.u32", "%s, %d", group.c_str(), further);
    out.pair = b32("div.u32", "%s, %d", at.c_str(), groups);
    out.number = b32("rem.u32", "%s, %d", at.c_str(), groups);
    out.item = b32("mad.lo.u32", "%s, 32, %s", out.number.c_str(), lane_index.c_str());
    out.exists = p();
    const name inside = p();
    say("setp.lt.u32 %s, %s, %d;", inside.c_str(), out.pair.c_str(), d_plan.pairs);
    say("setp.lt.and.u32 %s, %s, %d, %s;",
        out.exists.c_str(),
        out.item.c_str(),
        d_outputs,
        inside.c_str());
    const name pair = b32("min.u32", "%s, %d", out.pair.c_str(), d_plan.pairs - 1);
    const name item = b32("min.u32", "%s, %d", out.item.c_str(), d_outputs - 1);
    name column, is_private;
    if (d_plan.outputs_in_order) {
        column = b32("add.u32", "%s, %d", item.c_str(), d_plan.outputs[0]);
    } else {
        const name entry_at = d();
        say("mad.wide.u32 %s, %s, 4, %s;",
            entry_at.c_str(),
            item.c_str(),
            d_places.c_str());
        const name entry = b32("ld.global.nc.b32", "[%s]", entry_at.c_str());
        column =
            b32("and.b32", "%s, %d", entry.c_str(), ldpc_cuda_plan::private_flag - 1);
        is_private = p();
        say("setp.ne.u32 %s, %s, %s;", is_private.c_str(), column.c_str(), entry.c_str());
    }
    const name index =
        b32("mad.lo.u32", "%s, %d, %s", column.c_str(), d_plan.pairs, pair.c_str());
    const name place = b32("mad.lo.u32", "%s, 4, %s", index.c_str(), d_memory.c_str());
    name l = load(place, 0);
    if (d_plan.keeps_private) {
        const name from_private = private_l(l), kept = r();
        say("selp.b32 %s, %s, %s, %s;",
            kept.c_str(),
            from_private.c_str(),
            l.c_str(),
            is_private.c_str());
        l = kept;
    }
    out.value = sub(l, d_center.c_str());
    const name block = b32("mov.u32", "%%ctaid.x");
    out.pair_of_all =
        b32("mad.lo.u32", "%s, %d, %s", block.c_str(), d_plan.pairs, pair.c_str());
    return out;
}

//! Whether codeword `lane` of a group's pair is in `which`.
kernel_writer::name
kernel_writer::is_wanted(const output_group& of, int lane, const name& which)
{
    const name position = b32("mad.lo.u32", "%s, 2, %d", of.pair.c_str(), lane);
    const name limited = b32("min.u32", "%s, 31", position.c_str());
    const name bit = b32("bfe.u32", "%s, %s, 1", which.c_str(), limited.c_str());
    const name result = p();
    say("setp.ne.b32 %s, %s, 0;", result.c_str(), bit.c_str());
    return result;
}

void kernel_writer::put_hard(const output_group& of,
                             int lane,
                             const name& which,
                             const name& lane_index,
                             const name& down,
                             const name& few)
{
    const name guard = is_wanted(of, lane, which);
    const name word = b32("mad.lo.u32", "%s, 2, %d", of.pair_of_all.c_str(), lane);
    const name sign = b32("bfe.u32", "%s, %d, 1", of.value.c_str(), 15 + 16 * lane);
    const name bytes_at = d(), at = d();
    say("mad.wide.u32 %s, %s, %d, %s;",
        bytes_at.c_str(),
        word.c_str(),
        static_cast<int>(d_bytes),
        d_bits.c_str());
    if (!d_parameters.packed) {
        say("and.pred %s, %s, %s;", guard.c_str(), guard.c_str(), of.exists.c_str());
        say("mad.wide.u32 %s, %s, 1, %s;", at.c_str(), of.item.c_str(), bytes_at.c_str());
        say("@%s st.global.u8 [%s], %s;", guard.c_str(), at.c_str(), sign.c_str());
        return;
    }
    const name negative = p(), inside = p();
    say("setp.ne.and.b32 %s, %s, 0, %s;",
        negative.c_str(),
        sign.c_str(),
        of.exists.c_str());
    const name vote = r();
    say("vote.sync.ballot.b32 %s, %s, 0xffffffff;", vote.c_str(), negative.c_str());
    const name reversed = b32("brev.b32", "%s", vote.c_str());
    const name byte = b32("shr.u32", "%s, %s", reversed.c_str(), down.c_str());
    const name place =
        b32("mad.lo.u32", "%s, 4, %s", of.number.c_str(), lane_index.c_str());
    say("setp.lt.and.u32 %s, %s, %d, %s;",
        inside.c_str(),
        of.pair.c_str(),
        d_plan.pairs,
        few.c_str());
    say("setp.lt.and.u32 %s, %s, %d, %s;",
        inside.c_str(),
        place.c_str(),
        static_cast<int>(d_bytes),
        inside.c_str());
    say("and.pred %s, %s, %s;", guard.c_str(), guard.c_str(), inside.c_str());
    say("mad.wide.u32 %s, %s, 1, %s;", at.c_str(), place.c_str(), bytes_at.c_str());
    say("@%s st.global.u8 [%s], %s;", guard.c_str(), at.c_str(), byte.c_str());
}

void kernel_writer::put_soft(const output_group& of, int lane, const name& which)
{
    const name guard = is_wanted(of, lane, which);
    const name halves[2] = { h(), h() };
    const name number = f(), steps = f(), result = f();
    const name base = d(), at = d();
    say("mov.b32 {%s, %s}, %s;", halves[0].c_str(), halves[1].c_str(), of.value.c_str());
    say("cvt.f32.f16 %s, %s;", number.c_str(), halves[lane].c_str());
    say("mul.rn.f32 %s, %s, 0f%s5000000;",
        steps.c_str(),
        number.c_str(),
        d_parameters.llr_positive == 1 ? "c" : "4"); // 2048
    if (d_parameters.llr == ldpc_decoder::number::int8) {
        say("mov.f32 %s, %s;", result.c_str(), steps.c_str());
    } else {
        say("div.rn.f32 %s, %s, %s;", result.c_str(), steps.c_str(), d_steps.c_str());
    }
    const name word = b32("mad.lo.u32", "%s, 2, %d", of.pair_of_all.c_str(), lane);
    say("and.pred %s, %s, %s;", guard.c_str(), guard.c_str(), of.exists.c_str());
    say("mad.wide.u32 %s, %s, %d, %s;",
        base.c_str(),
        word.c_str(),
        4 * d_outputs,
        d_soft.c_str());
    say("mad.wide.u32 %s, %s, 4, %s;", at.c_str(), of.item.c_str(), base.c_str());
    say("@%s st.global.f32 [%s], %s;", guard.c_str(), at.c_str(), result.c_str());
}

} // namespace

std::string ldpc_cuda_source(const ldpc_decoding& decoding, const ldpc_cuda_plan& plan)
{
    return kernel_writer(decoding, plan).text();
}

} // namespace gr::cudaphy::kernels
