/* SPDX-License-Identifier: GPL-3.0-or-later */
// The parts of the receivers alone. What receivers decode, qa_nr_receive.py tests.
#define BOOST_TEST_MODULE nr_receiver
#include "kernels/common/pi.h"
#include "kernels/nr_receiver/frequency_filter.h"
#include "kernels/nr_receiver/noise_covariance.h"
#include "kernels/nr_receiver/reception_testing.h"
#include "kernels/nr_receiver/time_weights.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr;
using kernels::pi;
using testing::repeatable_gaussian;
using testing::require_equal;

namespace {

struct comb {
    std::vector<float> re, im;
    explicit comb(int pilots)
    {
        repeatable_gaussian draw;
        for (int i = 0; i < pilots; ++i) {
            const auto z = draw();
            re.push_back(z.real());
            im.push_back(z.imag());
        }
    }
    complex64 at(int i) const { return { re[i], im[i] }; }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_tone_is_the_weighted_sum_of_its_window)
{
    for (const int spacing : { 4, 6 }) {
        for (const int pilots : { 2, 3, 5, 24, 25, 40, 156 }) {
            const int taps = std::min(24, pilots), tones = spacing * pilots;
            const wiener_table table(taps, spacing, 0.01, 30);
            const comb z(pilots);
            for (int start = 0; start < spacing; ++start) {
                std::vector<float> re(tones, NAN), im(tones, NAN);
                filter_run(table,
                           z.re.data(),
                           z.im.data(),
                           pilots,
                           start,
                           tones,
                           re.data(),
                           im.data());
                for (int t = 0; t < tones; ++t) {
                    const int tap = first_tap(table, pilots, start, t);
                    const size_t row = table.row(t - start - spacing * tap);
                    complex64 sum = 0;
                    for (int i = 0; i < taps; ++i) {
                        sum += complex64(table.re[row * taps + i],
                                         table.im[row * taps + i]) *
                               z.at(tap + i);
                    }
                    BOOST_REQUIRE_SMALL(std::abs(sum - complex64(re[t], im[t])), 2e-5f);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(weights_follow_the_profile)
{
    // Of a flat channel with taps values the estimate is their mean, less its bias.
    const wiener_table flat(8, 4, 1e-9, 1e4);
    for (int d = -3; d < 32; ++d) {
        for (int i = 0; i < 8; ++i) {
            BOOST_REQUIRE_CLOSE(flat.re[flat.row(d) * 8 + i], 0.125f, 0.1f);
        }
        BOOST_REQUIRE_CLOSE(flat.error[flat.row(d)], 1 / 8e4, 1.0);
    }
    // Without correlation only a pilot's own value counts: r / (r + 1).
    const wiener_table wild(8, 4, 1e5, 3);
    BOOST_REQUIRE_CLOSE(wild.re[wild.row(12) * 8 + 3], 0.75f, 0.1f);
    BOOST_REQUIRE_CLOSE(wild.error[wild.row(12)], 0.25f, 0.1f);
    BOOST_REQUIRE_CLOSE(wild.error[wild.row(14)], 1.0f, 0.1f);
}

BOOST_AUTO_TEST_CASE(prediction_leaves_each_pilot_out)
{
    // Two values: each predicts the other as correlation / (1 + noise) times itself.
    const double spread = 0.01, snr = 10;
    const wiener_table table(2, 4, spread, snr);
    const comb z(2);
    const double x = 2 * pi * spread * 4;
    const auto correlation = std::polar(1.0, x) / complex128(1, x);
    const auto gain = correlation / (1 + 1 / snr);
    const complex128 a = z.at(0), b = z.at(1);
    const double expected = std::norm(b - gain * a) + std::norm(a - std::conj(gain) * b);
    BOOST_REQUIRE_CLOSE(
        prediction_error(table, z.re.data(), z.im.data(), 2), expected, 0.01);
}

BOOST_AUTO_TEST_CASE(a_covariance_is_colored_only_beyond_chance)
{
    constexpr int n = 4, bundles = 10, samples = 60;
    for (const double interference : { 0.0, 2.0 }) {
        repeatable_gaussian draw;
        residual_sums sums(n, bundles);
        const float strength = static_cast<float>(std::sqrt(interference));
        for (int b = 0; b < bundles; ++b) {
            for (int s = 0; s < samples; ++s) {
                const auto other = draw() * strength;
                std::vector<complex64> r;
                for (int i = 0; i < n; ++i) {
                    r.push_back(draw() + other);
                }
                for (int i = 0; i < n; ++i) {
                    for (int k = 0; k <= i; ++k) {
                        sums.products[(b * n + i) * n + k] +=
                            complex128(r[i] * std::conj(r[k]));
                    }
                }
            }
            sums.samples[b] = samples;
        }
        const auto found = find_noise_covariance(sums, 24, 0.5, false);
        BOOST_REQUIRE_CLOSE(found.mean, 0.5 * (1 + interference), 10.0);
        BOOST_REQUIRE_EQUAL(found.colored, interference > 0);
        if (found.colored) {
            BOOST_REQUIRE_EQUAL(found.matrices.size(), size_t(bundles) * n * n);
            BOOST_REQUIRE_CLOSE(found.matrices[n].real(), 1.0f, 30.0f); // row 1, column 0
        }
        const auto always = find_noise_covariance(sums, 24, 0.5, true);
        BOOST_REQUIRE(always.colored);
    }
    const auto none = find_noise_covariance(residual_sums(2, 3), 24, 1, true);
    BOOST_REQUIRE(!none.colored && none.mean == 0);
}

BOOST_AUTO_TEST_CASE(a_frequency_offset_is_found_from_uneven_positions)
{
    const std::vector<double> times{ 2, 5, 8, 11 };
    const double turns = 0.13, error = 1e-4;
    time_correlation products{ 4, std::vector<complex128>(16), 100 };
    for (int p = 0; p < 4; ++p) {
        for (int q = p; q < 4; ++q) {
            products.sums[p * 4 + q] =
                100.0 * std::polar(1.0, 2 * pi * turns * (times[q] - times[p]));
        }
    }
    const auto found =
        find_time_weights(times, 14, products, error, error, -1, true, true);
    BOOST_REQUIRE_CLOSE(found.turns_a_symbol, turns, 1e-6);
    BOOST_REQUIRE_SMALL(found.doppler_turns, 1e-3);
    for (int symbol = 0; symbol < 14; ++symbol) {
        complex128 sum = 0; // of estimates 1, turned on
        for (int p = 0; p < 4; ++p) {
            sum += complex128(found.weights[symbol * 4 + p]) *
                   std::polar(1.0, 2 * pi * turns * times[p]);
        }
        BOOST_REQUIRE_SMALL(std::abs(sum - std::polar(1.0, 2 * pi * turns * symbol)),
                            1e-3);
    }
    // Straight lines, held at the ends.
    const auto lines =
        find_time_weights(times, 14, products, error, error, -1, false, false);
    BOOST_REQUIRE_EQUAL(lines.weights[0], complex64(1));
    BOOST_REQUIRE_CLOSE(lines.weights[3 * 4].real(), 2 / 3.0f, 1e-3f);
    BOOST_REQUIRE_EQUAL(lines.weights[13 * 4 + 3], complex64(1));
}

namespace {

//! Slots of one user at two antennas, each with bits of its own.
struct sent_slots {
    shared_channel::sptr channel;
    std::vector<std::vector<uint8_t>> payloads;
    std::vector<complex64> grids;
    size_t a_slot = 0;

    sent_slots(const std::vector<int>& slots,
               float noise,
               const std::vector<std::pair<int, int>>& blocks = { { 0, 24 } },
               int dmrs_type = 1)
    {
        shared_channel_parameters p;
        p.grid_size = p.bwp_size = blocks.back().second;
        for (const auto& [begin, end] : blocks) {
            for (int i = begin; i < end; ++i) {
                p.resource_blocks.push_back(i);
            }
        }
        p.layers = 2;
        p.dmrs.type = dmrs_type;
        p.dmrs.ports = { 0, 1 };
        p.dmrs.additional_position = 1;
        p.mcs[0] = 10;
        channel = shared_channel::make(p);
        transmitter sender(channel, testing::tested_backend());
        a_slot = 2 * size_t(channel->map().symbols) * channel->map().subcarriers;
        repeatable_gaussian draw;
        std::mt19937 random(5);
        for (const int slot : slots) {
            std::vector<uint8_t> payload(channel->codewords().front().payload);
            for (auto& bit : payload) {
                bit = random() >> 31;
            }
            std::vector<complex64> grid(a_slot);
            sender.run({ payload }, slot, { 0 }, grid);
            for (auto& sample : grid) {
                sample += draw() * std::sqrt(noise);
            }
            payloads.push_back(payload);
            grids.insert(grids.end(), grid.begin(), grid.end());
        }
    }
    view<const complex64> grid(size_t i) const
    {
        return view<const complex64>(grids).part(i * a_slot, a_slot);
    }
    //! Adds an echo of half the amplitude. \param delay  in useful symbols
    void add_echo(double delay)
    {
        const size_t subcarriers = channel->map().subcarriers;
        for (size_t i = 0; i < grids.size(); ++i) {
            grids[i] +=
                grids[i] *
                complex64(std::polar(0.5, -2 * pi * delay * double(i % subcarriers)));
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(slots_of_a_batch_are_received_as_each_alone)
{
    const std::vector<int> slots{ 3, 0, 19, 7, 1, 19, 4, 5, 8 };
    const size_t count = slots.size();
    sent_slots sent(slots, 1e-3f);
    // The third slot's DM-RS is not finite, which harms no other.
    const auto& map = sent.channel->map();
    sent.grids[2 * sent.a_slot + map.dmrs_symbols.front() * map.subcarriers + 8] = NAN;
    receiver all({ sent.channel }, 2, {}, testing::tested_backend());
    receiver each({ sent.channel }, 2, {}, testing::tested_backend());
    const std::vector<reception_order> order{ { { 0 } } };
    for (int repeat = 0; repeat < 3; ++repeat) {
        const auto got = all.run_slots(
            sent.grids, slots, std::vector<std::vector<reception_order>>(count, order));
        BOOST_REQUIRE_EQUAL(got.size(), count);
        for (size_t i = 0; i < count; ++i) {
            const auto& one = got[i].front();
            BOOST_REQUIRE_EQUAL(one.reason, i == 2 ? "not_finite" : "");
            if (i == 2) {
                continue;
            }
            BOOST_REQUIRE(one.codewords.front().payload == sent.payloads[i]);
            require_equal(each.run(sent.grid(i), slots[i], order).front(), one);
        }
    }
    BOOST_REQUIRE(all.run_slots({}, {}, {}).empty());
    BOOST_REQUIRE_THROW(all.run_slots(sent.grids, slots, { order }),
                        std::invalid_argument);
    BOOST_REQUIRE_THROW(all.run_slots(view<const complex64>(sent.grids).part(0, 100),
                                      { 0, 1 },
                                      { order, order }),
                        std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(packed_payloads_have_the_same_bits)
{
    sent_slots sent({ 4 }, 1e-3f);
    receiver_parameters p;
    p.packed = true;
    receiver with({ sent.channel }, 2, p, testing::tested_backend());
    const auto got = with.run(sent.grid(0), 4, { { { 0 } } });
    const auto& bytes = got.front().codewords.front().payload;
    BOOST_REQUIRE_EQUAL(bytes.size() * 8, sent.payloads[0].size());
    for (size_t i = 0; i < sent.payloads[0].size(); ++i) {
        BOOST_REQUIRE_EQUAL(bytes[i / 8] >> (7 - i % 8) & 1, int(sent.payloads[0][i]));
    }
}

BOOST_AUTO_TEST_CASE(slots_of_a_batch_combine_in_one_process)
{
    // Noise hides each transmission; together they are decoded.
    std::vector<complex64> grids;
    sent_slots sent({ 2 }, 0);
    repeatable_gaussian draw;
    for (int i = 0; i < 4; ++i) {
        for (const auto sample : sent.grids) {
            grids.push_back(sample + draw() * std::sqrt(1.0f));
        }
    }
    harq alone(2), together(2);
    receiver with({ sent.channel }, 2, {}, testing::tested_backend());
    const auto order = [](harq& to, bool first) {
        return std::vector<reception_order>{ { { 0 }, &to, 1, first } };
    };
    const auto got = with.run_slots(grids,
                                    { 2, 2, 2, 2 },
                                    { order(together, true),
                                      order(together, false),
                                      order(together, false),
                                      order(together, false) });
    for (size_t i = 0; i < 4; ++i) {
        const auto grid = view<const complex64>(grids).part(i * sent.a_slot, sent.a_slot);
        require_equal(with.run(grid, 2, order(alone, i == 0)).front(), got[i].front());
    }
    BOOST_REQUIRE(!got[0].front().codewords.front().ok);
    BOOST_REQUIRE(got[3].front().codewords.front().ok);
    BOOST_REQUIRE_EQUAL(together.bytes(), alone.bytes());
}

BOOST_AUTO_TEST_CASE(processes_of_a_batch_are_combined_as_each_alone)
{
    // A process a slot. The first transmissions fail, then all of them come again.
    const std::vector<int> slots{ 2, 3, 4, 5, 6, 7, 8, 9 };
    sent_slots sent(slots, 0);
    receiver with({ sent.channel }, 2, {}, testing::tested_backend());
    harq alone(8), together(8);
    const auto order = [](harq& to, size_t i, bool first) {
        return std::vector<reception_order>{ { { 0 }, &to, int(i), first } };
    };
    repeatable_gaussian draw;
    size_t ok = 0;
    for (int transmission = 0; transmission < 4; ++transmission) {
        auto grids = sent.grids;
        for (auto& sample : grids) {
            sample += draw();
        }
        std::vector<std::vector<reception_order>> orders;
        for (size_t i = 0; i < slots.size(); ++i) {
            orders.push_back(order(together, i, transmission == 0));
        }
        const auto got = with.run_slots(grids, slots, orders);
        ok = 0;
        for (size_t i = 0; i < slots.size(); ++i) {
            const auto grid =
                view<const complex64>(grids).part(i * sent.a_slot, sent.a_slot);
            require_equal(
                with.run(grid, slots[i], order(alone, i, transmission == 0)).front(),
                got[i].front());
            ok += got[i].front().codewords.front().ok;
        }
        BOOST_REQUIRE(transmission > 0 || ok == 0);
    }
    BOOST_REQUIRE_EQUAL(ok, slots.size());
    BOOST_REQUIRE_EQUAL(together.bytes(), alone.bytes());
}

BOOST_AUTO_TEST_CASE(every_allocation_is_estimated_as_on_the_cpu)
{
    // Runs of pilots that a GPU sums by lags, and those it does not.
    using blocks = std::vector<std::pair<int, int>>;
    for (const auto& of : { blocks{ { 0, 1 } },
                            blocks{ { 0, 31 } },
                            blocks{ { 0, 32 } },
                            blocks{ { 0, 106 } },
                            blocks{ { 0, 40 }, { 50, 99 } },
                            blocks{ { 1, 3 }, { 20, 84 }, { 90, 91 }, { 100, 159 } },
                            blocks{ { 0, 275 } } }) {
        for (const int type : { 1, 2 }) {
            for (const double delay : { 0.001, 0.02 }) {
                sent_slots sent({ 3, 11 }, 1e-2f, of, type);
                sent.add_echo(delay);
                receiver with({ sent.channel }, 2, {}, testing::tested_backend());
                receiver cpu({ sent.channel }, 2, {}, backend::cpu);
                const std::vector<reception_order> order{ { { 0 } } };
                const auto got = with.run_slots(sent.grids, { 3, 11 }, { order, order });
                const auto wanted =
                    cpu.run_slots(sent.grids, { 3, 11 }, { order, order });
                for (size_t i = 0; i < 2; ++i) {
                    const auto &a = got[i].front(), &b = wanted[i].front();
                    BOOST_REQUIRE_CLOSE(a.delay_spread, b.delay_spread, 1e-3);
                    BOOST_REQUIRE_CLOSE(a.noise_variance, b.noise_variance, 1.0);
                    BOOST_REQUIRE_CLOSE(a.timing_offset, b.timing_offset, 0.1);
                    BOOST_REQUIRE_SMALL(a.codewords[0].sinr_db - b.codewords[0].sinr_db,
                                        0.1);
                    BOOST_REQUIRE(a.codewords[0].ok && b.codewords[0].ok);
                }
            }
        }
    }
}
