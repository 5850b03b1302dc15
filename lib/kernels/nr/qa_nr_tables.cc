/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nr_tables
#include "kernels/common/testing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/dmrs_positions.h>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>
#include <gnuradio/cudaphy/kernels/nr/precoding.h>
#include <gnuradio/cudaphy/kernels/nr/resource_blocks.h>
#include <gnuradio/cudaphy/kernels/nr/transport_block_size.h>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr;
using gr::cudaphy::testing::generator;

namespace {

uint32_t below(uint32_t most) { return generator()() % most; }

//! c(n) as section 5.2.1 writes it.
std::vector<uint8_t> textbook(uint32_t c_init, size_t size)
{
    const size_t skip = 1600;
    std::vector<uint8_t> x(size + skip + 31), y(x.size()), c(size);
    x[0] = 1;
    for (int i = 0; i < 31; ++i) {
        y[i] = c_init >> i & 1;
    }
    for (size_t n = 0; n + 31 < x.size(); ++n) {
        x[n + 31] = x[n + 3] ^ x[n];
        y[n + 31] = y[n + 3] ^ y[n + 2] ^ y[n + 1] ^ y[n];
    }
    for (size_t n = 0; n < size; ++n) {
        c[n] = x[n + skip] ^ y[n + skip];
    }
    return c;
}

void check_positions(const dmrs_timing& of, const std::vector<int>& expected)
{
    const auto got = dmrs_positions(of);
    BOOST_TEST(got == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_CASE(gold_sequence_is_that_of_the_standard_from_any_offset)
{
    for (const uint32_t c_init : { 0u, 1u, 0x7fffffffu, below(1u << 31) }) {
        const auto c = textbook(c_init, 5000);
        for (const size_t offset : { size_t(0), size_t(1), size_t(below(4000)) }) {
            std::vector<uint8_t> got(5000 - offset);
            gold_sequence sequence(c_init, offset);
            const size_t first = below(29);
            const uint32_t word = sequence.next(static_cast<int>(first));
            for (size_t i = 0; i < first; ++i) {
                got[i] = word >> i & 1;
            }
            sequence.next(view<uint8_t>(got).part(first, got.size() - first));
            BOOST_TEST((got == std::vector<uint8_t>(c.begin() + offset, c.end())));
        }
    }
}

BOOST_AUTO_TEST_CASE(gold_sequence_repeats_after_its_period)
{
    // Both registers have the period 2^31 - 1.
    const uint32_t c_init = below(1u << 31);
    gold_sequence start(c_init), again(c_init, (uint64_t(1) << 31) - 1);
    BOOST_TEST(start.now().first == again.now().first);
    BOOST_TEST(start.now().second == again.now().second);
}

BOOST_AUTO_TEST_CASE(mcs_tables_have_the_spectral_efficiencies_of_their_clauses)
{
    const auto efficiency = [](mcs_table of, int index, bool bpsk = false) {
        const auto row = find_mcs(of, index, bpsk);
        return std::round(row.order * row.rate() * 1e4) / 1e4;
    };
    const struct {
        mcs_table of;
        int last;
        double lowest, middle, highest; // of indices 0, 10 and the last one
    } tables[] = { { mcs_table::qam64, 28, 0.2344, 1.3281, 5.5547 },
                   { mcs_table::qam256, 27, 0.2344, 2.5703, 7.4063 },
                   { mcs_table::qam64_low_se, 28, 0.0586, 0.6016, 4.5234 },
                   { mcs_table::qam1024, 26, 0.2344, 3.9023, 9.2578 },
                   { mcs_table::transform_qam64, 27, 0.2344, 1.3281, 5.5547 },
                   { mcs_table::transform_qam64_low_se, 27, 0.0586, 0.6016, 4.5234 } };
    for (const auto& table : tables) {
        BOOST_TEST(efficiency(table.of, 0) == table.lowest);
        BOOST_TEST(efficiency(table.of, 10) == table.middle);
        BOOST_TEST(efficiency(table.of, table.last) == table.highest);
        BOOST_CHECK_THROW(find_mcs(table.of, table.last + 1), std::invalid_argument);
        BOOST_CHECK_THROW(find_mcs(table.of, -1), std::invalid_argument);
        for (int i = 1; i <= table.last; ++i) {
            // Only 17 of qam64 is below the row before it.
            BOOST_TEST(efficiency(table.of, i) >= efficiency(table.of, i - 1) - 0.01);
        }
    }
    // pi/2-BPSK halves the order, not the efficiency.
    BOOST_TEST(find_mcs(mcs_table::transform_qam64, 1, true).order == 1);
    BOOST_TEST(efficiency(mcs_table::transform_qam64, 1, true) ==
               efficiency(mcs_table::transform_qam64, 1));
}

BOOST_AUTO_TEST_CASE(transport_block_sizes_are_a_multiple_of_8_and_near_the_rate)
{
    for (int trial = 0; trial < 2000; ++trial) {
        const auto coding = find_mcs(mcs_table::qam256, static_cast<int>(below(28)));
        const int elements = 1 + static_cast<int>(below(156 * 273));
        const int layers = 1 + static_cast<int>(below(4));
        const int size = transport_block_size(elements, coding, layers);
        const double wanted = elements * coding.rate() * coding.order * layers;
        BOOST_TEST(size % 8 == 0);
        BOOST_TEST(size >= 24);
        // The widest step of table 5.1.3.2-1 is 64, from 1064 on: 1 / 16.6.
        BOOST_TEST(std::abs(size - wanted) <= std::max(32.0, wanted / 16));
    }
    // 38.212, 5.4.2.1: N_RE = 156 · n_PRB,LBRM and R = 948 / 1024.
    BOOST_TEST(limited_buffer_block_size(273, 4, 8) ==
               transport_block_size(156 * 273, { 8, 2 * 948 }, 4));
    BOOST_TEST(limited_buffer_block_size(33, 1, 6) ==
               transport_block_size(156 * 66, { 6, 2 * 948 }, 1));
    BOOST_CHECK_THROW(limited_buffer_block_size(0, 1, 6), std::invalid_argument);
    BOOST_CHECK_THROW(transport_block_size(0, { 2, 240 }, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(dmrs_stands_where_the_tables_say)
{
    const auto up = link_direction::uplink, down = link_direction::downlink;
    check_positions({ up, 'A', 0, 14, 2, 0, 1 }, { 2 });
    check_positions({ up, 'A', 0, 14, 3, 1, 1 }, { 3, 11 });
    check_positions({ up, 'A', 0, 13, 2, 2, 1 }, { 2, 7, 11 });
    check_positions({ up, 'A', 0, 12, 2, 3, 1 }, { 2, 5, 8, 11 });
    check_positions({ up, 'A', 0, 10, 2, 2, 1 }, { 2, 6, 9 });
    check_positions({ up, 'A', 0, 3, 2, 0, 1 }, {});
    check_positions({ up, 'A', 0, 12, 2, 1, 2 }, { 2, 8 });
    check_positions({ up, 'A', 0, 14, 2, 1, 2 }, { 2, 10 });
    check_positions({ up, 'B', 4, 10, 2, 2, 1 }, { 4, 8, 12 });
    check_positions({ up, 'B', 3, 1, 2, 3, 1 }, { 3 });
    check_positions({ up, 'B', 0, 4, 2, 0, 2 }, {});
    check_positions({ up, 'B', 0, 14, 2, 1, 2 }, { 0, 9 });
    check_positions({ down, 'A', 1, 2, 2, 1, 1 }, { 2 });
    check_positions({ down, 'A', 1, 13, 2, 1, 1 }, { 2, 11 });
    check_positions({ down, 'A', 2, 10, 2, 2, 1 }, { 2, 6, 9 });
    check_positions({ down, 'B', 1, 9, 2, 1, 1 }, { 1, 8 });
    check_positions({ down, 'B', 0, 13, 2, 1, 2 }, { 0, 8 });
    check_positions({ down, 'B', 0, 14, 2, 0, 1 }, {});
    check_positions({ down, 'B', 0, 10, 2, 2, 2 }, {});
}

BOOST_AUTO_TEST_CASE(base_sequences_have_unit_amplitude_and_low_peaks)
{
    for (const size_t size : { 6, 12, 18, 24, 30, 36, 72, 1632 }) {
        for (int u = 0; u < 30; ++u) {
            std::vector<complex64> r(size);
            low_papr_sequence(u, 0, r);
            // The energy of the continuous signal at 4 points a sample.
            double highest = 0;
            for (size_t t = 0; size <= 72 && t < 4 * size; ++t) {
                std::complex<double> sum = 0;
                for (size_t n = 0; n < size; ++n) {
                    sum += std::complex<double>(r[n]) *
                           std::polar(1.0, 2 * M_PI * double(n * t) / double(4 * size));
                }
                highest = std::max(highest, std::norm(sum) / double(size));
            }
            for (const auto value : r) {
                BOOST_TEST(std::abs(std::abs(value) - 1) < 1e-6);
            }
            BOOST_TEST(highest < (size < 30 ? 3.2 : 4.5), size << " values, u = " << u);
        }
    }
}

BOOST_AUTO_TEST_CASE(base_sequences_differ_and_follow_their_formulas)
{
    for (const size_t size : { 6, 12, 18, 24, 30, 36, 72 }) {
        for (int u = 0; u < 30; ++u) {
            for (int other = u + 1; other < 30; ++other) {
                std::vector<complex64> a(size), b(size);
                low_papr_sequence(u, 0, a);
                low_papr_sequence(other, 0, b);
                complex64 sum = 0;
                for (size_t n = 0; n < size; ++n) {
                    sum += a[n] * std::conj(b[n]);
                }
                BOOST_TEST(std::abs(sum) < 0.95 * double(size));
            }
        }
    }
    // 5.2.2.1 by hand: 36 values of u = 0: N_ZC = 31, q = 1.
    std::vector<complex64> r(36);
    low_papr_sequence(0, 0, r);
    for (int n = 0; n < 36; ++n) {
        const int m = n % 31;
        BOOST_TEST(std::abs(std::complex<double>(r[n]) -
                            std::polar(1.0, -M_PI * m * (m + 1) / 31)) < 1e-6);
    }
    BOOST_CHECK_THROW(low_papr_sequence(30, 0, r), std::invalid_argument);
    BOOST_CHECK_THROW(low_papr_sequence(0, 1, r), std::invalid_argument);
    std::vector<complex64> odd(7);
    BOOST_CHECK_THROW(low_papr_sequence(0, 0, odd), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(sequences_hop_by_groups_or_by_numbers)
{
    const auto choose = [](sequence_hopping how, int slot, size_t size) {
        return choose_low_papr(how, 14, slot, 2, 95, size);
    };
    std::set<int> groups, numbers;
    for (int slot = 0; slot < 20; ++slot) {
        const auto fixed = choose(sequence_hopping::neither, slot, 144);
        BOOST_TEST(fixed.u == 95 % 30);
        BOOST_TEST(fixed.v == 0);
        groups.insert(choose(sequence_hopping::group, slot, 144).u);
        BOOST_TEST(choose(sequence_hopping::group, slot, 144).v == 0);
        numbers.insert(choose(sequence_hopping::sequence, slot, 144).v);
        BOOST_TEST(choose(sequence_hopping::sequence, slot, 66).v == 0);
        // f_gh and v by the formulas of 6.4.1.1.1.2.
        const auto f = textbook(95 / 30, 8 * (14 * 20 + 1));
        int sum = 0;
        for (int m = 0; m < 8; ++m) {
            sum += f[8 * (14 * slot + 2) + m] << m;
        }
        BOOST_TEST(choose(sequence_hopping::group, slot, 144).u == (sum % 30 + 95) % 30);
        BOOST_TEST(choose(sequence_hopping::sequence, slot, 144).v ==
                   textbook(95, 300)[14 * slot + 2]);
    }
    BOOST_TEST(groups.size() > 5);
    BOOST_TEST(numbers.size() == 2);
}

BOOST_AUTO_TEST_CASE(codebooks_have_orthogonal_columns_and_at_most_unit_energy)
{
    const struct {
        int ports, layers, columns;
        bool transform;
    } books[] = { { 1, 1, 1, false }, { 2, 1, 6, false }, { 4, 1, 28, false },
                  { 4, 1, 28, true }, { 2, 2, 3, false }, { 4, 2, 22, false },
                  { 4, 3, 7, false }, { 4, 4, 5, false } };
    for (const auto& book : books) {
        std::set<std::vector<std::pair<float, float>>> seen;
        for (int tpmi = 0; tpmi < book.columns; ++tpmi) {
            const auto w =
                precoding_matrix(book.ports, book.layers, tpmi, book.transform);
            BOOST_REQUIRE(w.size() == size_t(book.ports) * book.layers);
            std::vector<std::pair<float, float>> entries;
            for (const auto value : w) {
                entries.emplace_back(value.real(), value.imag());
            }
            seen.insert(entries);
            double energy = 0;
            for (int a = 0; a < book.layers; ++a) {
                for (int b = 0; b < book.layers; ++b) {
                    std::complex<double> sum = 0;
                    for (int i = 0; i < book.ports; ++i) {
                        sum += std::complex<double>(w[i * book.layers + a] *
                                                    std::conj(w[i * book.layers + b]));
                    }
                    if (a == b) {
                        energy += sum.real();
                        BOOST_TEST(sum.real() > 0.06);
                    } else {
                        BOOST_TEST(std::abs(sum) < 1e-6);
                    }
                }
            }
            BOOST_TEST(energy < 1 + 1e-6);
        }
        BOOST_TEST(seen.size() == size_t(book.columns));
        BOOST_CHECK_THROW(
            precoding_matrix(book.ports, book.layers, book.columns, book.transform),
            std::invalid_argument);
    }
    BOOST_CHECK_THROW(precoding_matrix(3, 1, 0), std::invalid_argument);
    BOOST_CHECK_THROW(precoding_matrix(2, 3, 0), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(resource_blocks_are_interleaved_by_bundles)
{
    for (int trial = 0; trial < 200; ++trial) {
        const int start = static_cast<int>(below(50)), size = 1 + int(below(275));
        const int bundle = below(2) ? 2 : 4;
        const auto order = interleaved_resource_blocks(start, size, bundle);
        BOOST_REQUIRE(order.size() == size_t(size));
        BOOST_TEST(std::set<int>(order.begin(), order.end()).size() == size_t(size));
        BOOST_TEST(*std::min_element(order.begin(), order.end()) == 0);
        BOOST_TEST(*std::max_element(order.begin(), order.end()) == size - 1);
    }
    // Six bundles of two: 0, 1, 2, 3, 4, 5 go to 0, 3, 1, 4, 2, 5.
    const std::vector<int> twelve{ 0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11 };
    BOOST_TEST(interleaved_resource_blocks(0, 12, 2) == twelve,
               boost::test_tools::per_element());
    // From block 1 on the first bundle has one block, and five bundles are left of nine
    // blocks: 0, 1, 2, 3 go to 0, 2, 1, 3, the last one stays.
    const std::vector<int> nine{ 0, 3, 4, 1, 2, 5, 6, 7, 8 };
    BOOST_TEST(interleaved_resource_blocks(1, 9, 2) == nine,
               boost::test_tools::per_element());
    BOOST_CHECK_THROW(interleaved_resource_blocks(0, 12, 3), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(bitmaps_name_resource_block_groups)
{
    // Groups of two that end at even common resource blocks: sizes 1, 2, 2.
    const std::vector<int> expected{ 0, 3, 4 };
    BOOST_TEST(bitmap_resource_blocks("101", 3, 5) == expected,
               boost::test_tools::per_element());
    BOOST_TEST(bitmap_resource_blocks(std::string(18, '1'), 0, 275).size() == 275u);
    for (const auto* const wrong : { "1011", "10", "000", "1x1" }) {
        BOOST_CHECK_THROW(bitmap_resource_blocks(wrong, 3, 5), std::invalid_argument);
    }
    BOOST_CHECK_THROW(bitmap_resource_blocks("101", 3, 5, 3), std::invalid_argument);
}
