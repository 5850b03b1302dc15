/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/folded_plan.h"
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>
#include <map>
#include <set>

namespace gr::cudaphy::kernels {
namespace {

constexpr int warp = 32;
constexpr int registers_a_processor = 65536;
constexpr auto tuned = ldpc_cuda_tuned();

int rounded_up(int value, int step) { return (value + step - 1) / step * step; }

struct circulants_of_row {
    std::vector<ldpc_circulants::circulant>::const_iterator first, last;
    auto begin() const { return first; }
    auto end() const { return last; }
};
circulants_of_row of_row(const ldpc_circulants& blocks, int row)
{
    const auto from = [&](int r) {
        return std::partition_point(blocks.all.begin(),
                                    blocks.all.end(),
                                    [r](const auto& one) { return one.row < r; });
    };
    return { from(row), from(row + 1) };
}

} // namespace

ldpc_cuda_folded_plan::ldpc_cuda_folded_plan(
    const ldpc_decoding& decoding,
    int shared_bytes_a_block,
    const std::vector<std::array<int, 2>>& row_pairs)
    : d_pairs(row_pairs)
{
    const auto& code = *decoding.code;
    const auto& blocks = code.circulants();
    d_order = ldpc_row_order(d_pairs, blocks.block_rows);
    in_pairs = !d_pairs.empty();
    half = blocks.lifting_size / 2;
    group_threads = rounded_up(half, warp);
    if (blocks.lifting_size < 2 || blocks.lifting_size % 2 != 0 || threads() > 1024 ||
        !build(decoding, shared_bytes_a_block, 0)) {
        throw std::invalid_argument(
            "ldpc_decoder: int8 arithmetic on CUDA takes a long quasi-cyclic code of "
            "even "
            "lifting size up to 1024 whose columns, two bytes each, fit into a block's "
            "shared memory; " +
            code.name() + " is none");
    }
    // Copies take the shared memory that is left. They change how the groups share a
    // row's edges, and so the messages' size: try fewer copies until all fits.
    int copies = (shared_bytes_a_block - stores[0].shared_bytes) / (4 * half);
    while (copies > 0 && !(build(decoding, shared_bytes_a_block, copies) &&
                           stores[0].workspace_words == 0)) {
        copies = std::max(copies - 2, 0);
        build(decoding, shared_bytes_a_block, 0);
    }
    list_places(decoding);
}

bool ldpc_cuda_folded_plan::build(const ldpc_decoding& decoding,
                                  int shared_bytes_a_block,
                                  int copies)
{
    const auto& code = *decoding.code;
    choose_copies(code, copies);
    choose_begins(code);
    first_word.clear();
    int words = 0;
    for (const char two : copied) {
        first_word.push_back(words);
        words += two ? 2 * half : half;
    }
    source_of.assign(2 * words, ldpc_decoding::punctured);
    least_at = 4 * words;
    scratch_at = least_at + (in_pairs ? 0 : 2 * 4 * threads());
    if (scratch_at + 8 > shared_bytes_a_block) {
        return false;
    }
    make_steps(code);
    mark_late();
    place_words(scratch_at + 8, shared_bytes_a_block);
    return true;
}

void ldpc_cuda_folded_plan::place_words(int shared_at, int shared_bytes_a_block)
{
    size_t most_edges = 0;
    std::array<int, groups> edges{};
    for (auto& row : steps) {
        for (int g = 0; g < groups; ++g) {
            most_edges = std::max(most_edges, row.edges[g].size());
            row.first[g] = edges[g];
            edges[g] += static_cast<int>(row.edges[g].size());
        }
    }
    // Each of a processor's four parts has a quarter of the registers, and whole warps.
    constexpr int four_warps = 128;
    const int parted = (threads() + four_warps - 1) / four_warps * four_warps;
    const int registers = std::min(255, registers_a_processor / parted / 8 * 8);
    int room =
        std::max(registers - tuned.folded_temporaries -
                     tuned.folded_temporaries_an_edge * static_cast<int>(most_edges),
                 0);
    int shared_room = (shared_bytes_a_block - shared_at) / (4 * group_threads);
    int rest = 0;
    for (int g = 0; g < groups; ++g) {
        stores[g].words = (edges[g] + 1) / 2;
        rest += std::max(stores[g].words - room, 0);
    }
    if (rest > shared_room) {
        room = std::max(room - tuned.folded_temporaries_ahead, 0);
    }
    int next = shared_at;
    for (int g = 0; g < groups; ++g) {
        auto& store = stores[g];
        store.threads = threads();
        store.registers = registers;
        store.stride = group_threads;
        // Both groups are short of shared memory by the same amount.
        const int own = std::max(store.words - room, 0);
        const int others = g == 0 ? std::max(stores[1].words - room, 0) : 0;
        const int lack = std::max(own + others - shared_room, 0);
        const int part = g == 0 ? std::max(lack / 2, lack - others) : lack;
        store.fill(room, std::max(own - part, 0));
        store.shared_at = next;
        next += 4 * group_threads * store.shared_words;
        shared_room -= store.shared_words;
    }
    const int device_words = std::max(stores[0].device_words, stores[1].device_words);
    for (auto& store : stores) {
        store.shared_bytes = next;
        store.workspace_words = device_words;
    }
}

//! Chooses the columns with a copy: those with most circulants, at most one in any row.
void ldpc_cuda_folded_plan::choose_copies(const ldpc_code& code, int copies)
{
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    std::vector<char> shortened(code.variables());
    for (const int column : code.shortened()) {
        shortened[column] = 1;
    }
    d_is_fixed.assign(blocks.block_columns, 0);
    for (int i = 0; i < code.variables(); ++i) {
        d_is_fixed[i / z] |= shortened[blocks.bits.empty() ? i : blocks.bits[i]];
    }
    d_of.assign(blocks.block_columns, {});
    d_is_own.assign(blocks.block_columns, 1);
    std::vector<char> serves(blocks.block_columns, 1);
    const auto group_of = [&](int row) {
        return in_pairs && std::any_of(d_pairs.begin(), d_pairs.end(), [&](auto& pair) {
                   return pair[1] == row;
               });
    };
    for (const int row : d_order) {
        for (const auto& one : of_row(blocks, row)) {
            auto& all = d_of[one.column];
            serves[one.column] &=
                one.missing < 0 && (all.empty() || all.back()->row != row);
            all.push_back(&one);
            d_is_own[one.column] &= one.missing < 0 && one.shift == all[0]->shift &&
                                    group_of(row) == group_of(all[0]->row) &&
                                    (!d_is_fixed[one.column] || one.shift == 0);
        }
    }
    std::vector<int> columns;
    for (int c = 0; c < blocks.block_columns; ++c) {
        if (serves[c] && !d_is_own[c] && !d_is_fixed[c]) {
            columns.push_back(c);
        }
    }
    std::stable_sort(columns.begin(), columns.end(), [&](int a, int b) {
        return d_of[a].size() > d_of[b].size();
    });
    columns.resize(std::min(static_cast<int>(columns.size()), copies));
    copied.assign(blocks.block_columns, 0);
    for (const int c : columns) {
        copied[c] = 1;
    }
}

//! Chooses the bit that each column's first word holds. A circulant needs no address of
//! its own if it begins at that word, or where another circulant of its row begins.
void ldpc_cuda_folded_plan::choose_begins(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    std::vector<std::set<int>> shifts(blocks.block_rows);
    begins.assign(blocks.block_columns, 0);
    exchanged.assign(blocks.block_columns, 0);
    for (int c = 0; c < blocks.block_columns; ++c) {
        if (d_is_fixed[c] || d_of[c].empty()) {
            continue;
        }
        if (copied[c]) {
            begins[c] = d_of[c].back()->shift;
            exchanged[c] = (d_of[c][0]->shift - begins[c] + z) % z >= half;
            continue;
        }
        int best = -1;
        for (int begin = 0; begin < z; ++begin) {
            int saved = 0;
            for (const auto* one : d_of[c]) {
                const int distance = (one->shift - begin + z) % z;
                saved += distance == 0 ? 2 + tuned.exchange_cost + tuned.address_cost
                         : distance == half || shifts[one->row].count(distance % half)
                             ? tuned.address_cost
                             : 0;
            }
            if (saved > best) {
                best = saved;
                begins[c] = begin;
            }
        }
        for (const auto* one : d_of[c]) {
            shifts[one->row].insert((one->shift - begins[c] + z) % z % half);
        }
    }
}

void ldpc_cuda_folded_plan::make_steps(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    std::vector<size_t> seen(blocks.block_columns);
    const auto tells = [&](int row) {
        const int check = row * blocks.lifting_size;
        return code.telling()[blocks.checks.empty() ? check : blocks.checks[check]] != 0;
    };
    const auto note_turns = [](step& now, const std::vector<edge>& edges) {
        for (const auto& one : edges) {
            now.rounds = std::max(now.rounds, one.round + 1);
        }
    };
    steps.clear();
    for (const auto& pair : d_pairs) {
        step now;
        for (int g = 0; g < groups; ++g) {
            if (pair[g] >= 0) {
                now.edges[g] = edges_of(pair[g], blocks, seen);
                now.tells[g] = tells(pair[g]);
                note_turns(now, now.edges[g]);
            }
        }
        steps.push_back(std::move(now));
    }
    for (int r = 0; r < blocks.block_rows && !in_pairs; ++r) {
        step now;
        auto edges = edges_of(r, blocks, seen);
        note_turns(now, edges);
        now.tells.fill(tells(r));
        share(std::move(edges), now);
        steps.push_back(std::move(now));
    }
}

//! \param[in,out] seen  circulants of each column in the rows before, in the order of
//! rows
std::vector<ldpc_cuda_folded_plan::edge> ldpc_cuda_folded_plan::edges_of(
    int row, const ldpc_circulants& blocks, std::vector<size_t>& seen)
{
    const int z = blocks.lifting_size;
    std::vector<edge> edges;
    int round = 0;
    for (const auto& next : of_row(blocks, row)) {
        const int c = next.column;
        round = !edges.empty() && edges.back().column == c ? round + 1 : 0;
        const auto& column = d_of[c];
        const size_t index = seen[c]++;
        const int rest = (next.shift - begins[c] + z) % z;
        edge one{};
        one.column = c;
        one.round = round;
        one.missing = next.missing;
        one.is_own = d_is_own[c] != 0;
        one.is_copied = copied[c] != 0;
        one.rest_shift = rest % half;
        one.rest_exchanged = (rest >= half) != (exchanged[c] != 0);
        int distance = rest;
        if (one.is_copied) {
            const auto* before = column[(index + column.size() - 1) % column.size()];
            const auto* behind = column[(index + 1) % column.size()];
            distance = (next.shift - before->shift + z) % z;
            const int further = (behind->shift - next.shift + z) % z;
            one.next_exchanged = further >= half;
            one.next_moves =
                further % half != 0 || (index + 1 == column.size() && column.size() > 1);
        }
        one.shift = distance % half;
        one.exchanged = distance >= half;
        edges.push_back(one);
    }
    return edges;
}

//! Shares a row's edges out to the groups. Own columns go to the last group, all others
//! to the group with less to do; edges of equal address stay together.
void ldpc_cuda_folded_plan::share(std::vector<edge> edges, step& row)
{
    std::array<int, groups> cost{};
    std::map<int, std::vector<edge>> of_shift;
    std::vector<std::vector<edge>> clusters;
    for (const auto& one : edges) {
        if (one.is_own) {
            row.edges[groups - 1].push_back(one);
            cost[groups - 1] += tuned.edge_cost;
        } else if (one.is_copied) {
            clusters.push_back({ one });
        } else {
            of_shift[one.shift].push_back(one);
        }
    }
    for (auto& [shift, some] : of_shift) {
        clusters.push_back(std::move(some));
    }
    std::stable_sort(clusters.begin(), clusters.end(), [](const auto& a, const auto& b) {
        return a.size() > b.size();
    });
    for (const auto& cluster : clusters) {
        const int g = cost[0] <= cost[1] ? 0 : 1;
        cost[g] += cluster[0].is_copied || cluster[0].shift == 0 ? 0 : tuned.address_cost;
        for (const auto& one : cluster) {
            row.edges[g].push_back(one);
            cost[g] += tuned.edge_cost +
                       (one.is_copied || one.shift != 0 ? tuned.exchange_cost : 0);
        }
    }
}

void ldpc_cuda_folded_plan::mark_late()
{
    std::set<int> written;
    for (auto& row : steps) {
        std::set<int> now;
        for (auto& edges : row.edges) {
            for (auto& one : edges) {
                one.is_late = !one.is_own && written.count(one.column) > 0;
                row.has_late = row.has_late || one.is_late;
                now.insert(one.column);
            }
        }
        written = std::move(now);
    }
}

void ldpc_cuda_folded_plan::list_places(const ldpc_decoding& decoding)
{
    const auto& code = *decoding.code;
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    const auto of_column = decoding.sources();
    std::vector<int> half_of(code.variables());
    for (int i = 0; i < code.variables(); ++i) {
        const int block = i / z;
        const int distance = (i % z - begins[block] + z) % z;
        const int upper = (distance >= half) != (exchanged[block] != 0);
        const int word = first_word[block] + distance % half;
        const int column = blocks.bits.empty() ? i : blocks.bits[i];
        half_of[column] = 2 * word + upper;
        const int source = of_column.empty() ? column : of_column[column];
        source_of[2 * word + upper] = source;
        if (copied[block]) {
            source_of[2 * (word + half) + 1 - upper] = source;
        }
    }
    for (const int column : code.info_positions()) {
        info.push_back(half_of[column]);
    }
    list_sources();
    list_info_columns(code);
    const auto positions = decoding.output_positions();
    for (int i = 0; i < decoding.output_bits(); ++i) {
        outputs.push_back(half_of[positions.empty() ? i : positions[i]]);
    }
}

void ldpc_cuda_folded_plan::list_sources()
{
    struct arrival {
        int word, low, high, is_copied;
        int first() const
        {
            return low < 0 || high < 0 ? std::max(low, high) : std::min(low, high);
        }
    };
    std::vector<arrival> all;
    for (size_t c = 0; c < first_word.size(); ++c) {
        for (int word = first_word[c]; word < first_word[c] + half; ++word) {
            all.push_back(
                { word, source_of[2 * word], source_of[2 * word + 1], copied[c] });
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.first() < b.first();
    });
    sources.clear();
    for (const auto& one : all) {
        const unsigned word = one.word, copy = one.is_copied;
        const unsigned rest = word >> word_bits;
        sources.push_back(static_cast<int>((one.low + 2u) | word << (32 - word_bits)));
        sources.push_back(
            static_cast<int>((one.high + 2u) | rest << source_bits | copy << 31));
    }
}

void ldpc_cuda_folded_plan::list_info_columns(const ldpc_code& code)
{
    std::map<int, int> bits; // of each word's first half, in the order of columns
    for (const int position : info) {
        ++bits[position];
    }
    info_columns.clear();
    for (size_t c = 0; c < first_word.size(); ++c) {
        const auto begin = bits.lower_bound(2 * first_word[c]);
        const auto end = bits.lower_bound(2 * (first_word[c] + half));
        if (std::distance(begin, end) == 2 * half) {
            info_columns.push_back(static_cast<int>(c));
        }
    }
    if (static_cast<int>(info_columns.size()) * 2 * half != code.k()) {
        info_columns.clear();
    }
}

} // namespace gr::cudaphy::kernels
