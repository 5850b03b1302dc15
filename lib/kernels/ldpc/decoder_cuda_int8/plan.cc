/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/plan.h"
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>
#include <set>

namespace gr::cudaphy::kernels {
namespace {

constexpr int warp = 32;
constexpr auto tuned = ldpc_cuda_tuned();
constexpr int most_pairs = 16; // a word of votes has two bits for each pair
constexpr int registers_a_processor = 65536;
constexpr int most_registers = 255;

int rounded_up(int value, int step) { return (value + step - 1) / step * step; }

//! Pairs of codewords a block: the fewest that leave little of the last warp idle. If
//! codewords may stop early there are fewer, because a block waits for its last one.
int pairs_for(int lifting_size, bool early_stop)
{
    int best = 1;
    double best_share = 0;
    for (int pairs = 1;
         pairs == 1 ||
         (pairs * lifting_size <= tuned.most_threads_of_pairs && pairs <= most_pairs);
         ++pairs) {
        const int threads = pairs * lifting_size;
        const double share = double(threads) / rounded_up(threads, warp);
        if (share > best_share +
                        (early_stop ? tuned.gain_a_pair_that_stops : tuned.gain_a_pair)) {
            best = pairs;
            best_share = share;
        }
    }
    return best;
}

} // namespace

ldpc_cuda_plan::ldpc_cuda_plan(const ldpc_decoding& decoding,
                               int shared_bytes_a_block,
                               const std::vector<std::array<int, 2>>& row_pairs)
{
    const auto& code = *decoding.code;
    const auto& blocks = code.circulants();
    const auto refuse = [&] {
        throw std::invalid_argument(
            "ldpc_decoder: int8 arithmetic on CUDA takes a quasi-cyclic code of lifting "
            "size up to 1024 whose columns fit into a block's shared memory; " +
            code.name() + " is none");
    };
    if (blocks.lifting_size < 1 || blocks.lifting_size > 1024) {
        refuse();
    }
    pairs = pairs_for(blocks.lifting_size, decoding.parameters.early_stop);
    while (pairs > 1 && code.variables() * 4 * pairs > shared_bytes_a_block / 2) {
        --pairs;
    }
    z = blocks.lifting_size * pairs;
    threads = std::max(z, warp);
    stride = threads;

    d_order = ldpc_row_order(row_pairs, blocks.block_rows);
    list_sources(decoding);
    find_private(code);
    make_rows(code);
    int most_edges = 0, messages = 0;
    for (const auto& row : rows) {
        most_edges = std::max(most_edges, static_cast<int>(row.edges.size()));
        messages += row.words();
    }
    // Enough warps to hide latencies; a larger block has all registers to itself.
    const int lanes = rounded_up(threads, warp);
    const int resident = std::max(1, tuned.threads_a_processor / lanes);
    // Each of a processor's four parts has a quarter of the registers, and whole warps.
    const int parted = rounded_up(lanes * resident, 4 * warp);
    registers = std::min(most_registers, registers_a_processor / parted / 8 * 8);
    int room = std::max(
        registers - tuned.temporaries_an_edge * most_edges - tuned.temporaries, 0);
    const int others = 4 * (votes + 2 * pairs);
    kept.assign(blocks.block_columns, -1);
    if (4 * (code.variables() * pairs + (messages - room) * threads) + others >
        shared_bytes_a_block) {
        find_kept(decoding);
        make_rows(code);
        room = std::max(room - tuned.temporaries_ahead, 0);
    }
    for (int c = 0; c < blocks.block_columns; ++c) {
        position.push_back(kept[c] < 0 ? shared_columns++ : -1);
    }
    const int shared_room = shared_bytes_a_block - others - 4 * z * shared_columns;
    if (shared_room < 0) {
        refuse();
    }
    place_words(room, shared_room / (4 * threads));
    shared_at = 4 * z * shared_columns;
    shared_bytes = flags_at() + others;
    list_outputs(decoding);
}

void ldpc_cuda_plan::list_sources(const ldpc_decoding& decoding)
{
    const auto& code = *decoding.code;
    const auto& bits = code.circulants().bits;
    const auto of_column = decoding.sources();
    for (int i = 0; i < code.variables(); ++i) {
        const int column = bits.empty() ? i : bits[i];
        sources.push_back(of_column.empty() ? column : of_column[column]);
    }
    for (int i = 0; i < code.variables(); ++i) {
        const bool goes_on =
            !runs.empty() &&
            (sources[i] < 0 ? runs.back().from == sources[i]
                            : runs.back().from >= 0 &&
                                  runs.back().from + runs.back().count == sources[i]);
        if (goes_on) {
            ++runs.back().count;
        } else {
            runs.push_back({ i, 1, sources[i] });
        }
    }
}

//! Finds the private columns: columns of a single check, which is not a telling one,
//! without information and without shortened bits.
void ldpc_cuda_plan::find_private(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    std::vector<int> weight(blocks.block_columns);
    for (const auto& circulant : blocks.all) {
        const int check = circulant.row * blocks.lifting_size;
        const bool tells =
            code.telling()[blocks.checks.empty() ? check : blocks.checks[check]];
        weight[circulant.column] += circulant.missing < 0 && !tells ? 1 : 2;
    }
    std::vector<char> open(code.variables(), 1);
    for (const auto* columns : { &code.info_positions(), &code.shortened() }) {
        for (const int column : *columns) {
            open[column] = 0;
        }
    }
    is_private.resize(blocks.block_columns);
    for (int c = 0; c < blocks.block_columns; ++c) {
        is_private[c] = weight[c] == 1;
        for (int i = c * blocks.lifting_size; i < (c + 1) * blocks.lifting_size; ++i) {
            is_private[c] =
                is_private[c] && open[blocks.bits.empty() ? i : blocks.bits[i]];
        }
    }
}

//! Finds the kept columns: columns of two circulants of the same shift, none of whose
//! bits is put out or shortened. Gives them words 0, 1, ...
void ldpc_cuda_plan::find_kept(const ldpc_decoding& decoding)
{
    const auto& code = *decoding.code;
    const auto& blocks = code.circulants();
    const int lifting = blocks.lifting_size;
    std::vector<char> wanted(code.variables());
    for (const auto* columns : { &code.info_positions(), &code.shortened() }) {
        for (const int column : *columns) {
            wanted[column] = 1;
        }
    }
    const auto positions = decoding.output_positions();
    for (int i = 0; i < decoding.output_bits(); ++i) {
        wanted[positions.empty() ? i : positions[i]] = 1;
    }
    std::vector<std::vector<const ldpc_circulants::circulant*>> by_column(
        blocks.block_columns);
    for (const auto& circulant : blocks.all) {
        by_column[circulant.column].push_back(&circulant);
    }
    for (int c = 0; c < blocks.block_columns; ++c) {
        bool keeps = by_column[c].size() == 2 &&
                     by_column[c][0]->row != by_column[c][1]->row &&
                     by_column[c][0]->shift == by_column[c][1]->shift &&
                     by_column[c][0]->missing < 0 && by_column[c][1]->missing < 0;
        for (int i = c * lifting; i < (c + 1) * lifting; ++i) {
            keeps = keeps && !wanted[blocks.bits.empty() ? i : blocks.bits[i]];
        }
        if (keeps) {
            kept[c] = words++;
        }
    }
}

void ldpc_cuda_plan::make_rows(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    rows.clear();
    std::set<int> since_barrier;
    for (const int r : d_order) {
        row now;
        int before = -1, round = 0;
        auto circulant =
            std::partition_point(blocks.all.begin(),
                                 blocks.all.end(),
                                 [r](const auto& one) { return one.row < r; });
        for (; circulant != blocks.all.end() && circulant->row == r; ++circulant) {
            round = circulant->column == before ? round + 1 : 0;
            before = circulant->column;
            const edge one{ circulant->column,
                            circulant->shift * pairs,
                            round,
                            circulant->missing,
                            kept.empty() ? -1 : kept[circulant->column] };
            if (is_private[one.column] && now.own.column < 0) {
                now.own = one;
                continue;
            }
            is_private[one.column] = false;
            now.edges.push_back(one);
            now.rounds = std::max(now.rounds, round + 1);
            now.waits |= since_barrier.count(one.column) > 0;
        }
        if (now.waits) {
            since_barrier.clear();
        }
        for (const auto& one : now.edges) {
            if (one.word < 0) {
                since_barrier.insert(one.column);
            }
        }
        rows.push_back(std::move(now));
    }
}

//! Packs the messages of as many rows as the registers need. Unpacked messages take an
//! instruction and a half less for each edge, but twice the registers.
void ldpc_cuda_plan::place_words(int register_room, int shared_room)
{
    int packed = words;
    for (const auto& row : rows) {
        packed += row.words();
    }
    int spare = register_room - packed;
    for (auto& row : rows) {
        const int more = static_cast<int>(row.edges.size()) - row.words();
        if (more <= spare) {
            row.packed = false;
            spare -= more;
        }
        row.first_word = words;
        words += row.words();
    }
    fill(register_room, shared_room);
}

void ldpc_cuda_plan::list_outputs(const ldpc_decoding& decoding)
{
    const auto& code = *decoding.code;
    const auto& blocks = code.circulants();
    const int lifting = blocks.lifting_size;
    std::vector<int> position_of(code.variables());
    for (int i = 0; i < code.variables(); ++i) {
        const int block = i / lifting;
        position_of[blocks.bits.empty() ? i : blocks.bits[i]] =
            (position[block] * lifting + i % lifting) |
            (is_private[block] ? private_flag : 0);
    }
    for (const int column : code.info_positions()) {
        info.push_back(position_of[column]);
        info_in_order &= info.back() == info[0] + static_cast<int>(info.size()) - 1;
    }
    const auto positions = decoding.output_positions();
    for (int i = 0; i < decoding.output_bits(); ++i) {
        outputs.push_back(position_of[positions.empty() ? i : positions[i]]);
        keeps_private |= outputs.back() >= private_flag;
        outputs_in_order &= outputs.back() == outputs[0] + i;
    }
    outputs_in_order &= !keeps_private;
}

} // namespace gr::cudaphy::kernels
