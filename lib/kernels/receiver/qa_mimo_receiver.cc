/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE mimo_receiver
#include "kernels/receiver/qa_mimo_receiver_run.h"
#include <cstring>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number = receiver::number;

ldpc_code::sptr small_code() { return ldpc_code::wifi(648, "1/2"); }

//! DM-RS in one CDM group: every second tone of a pilot symbol is free for data.
receiver::parameters with_data_beside_pilots(int blocks = 5)
{
    nr_dmrs d;
    d.ports = 2;
    d.resource_blocks = blocks;
    d.symbols = { 0 };
    return receiver_of(nr_dmrs_pilots(d), 3, 6, { 2 }, "qpsk", small_code());
}

//! Receivers that differ in all parameters that decide about layouts.
std::vector<std::pair<const char*, receiver::parameters>> receivers()
{
    const auto code = small_code();
    nr_dmrs two_symbols;
    two_symbols.ports = 4;
    two_symbols.resource_blocks = 6;
    two_symbols.symbols = { 2, 7 };
    std::vector<std::pair<const char*, receiver::parameters>> all{
        { "block",
          receiver_of(block_pilots(4, 3, 31), 4, 9, { 0, 1, 7, 8 }, "qam16", code) },
        { "comb", receiver_of(comb_pilots(1, 2, 63), 2, 5, { 4 }, "wifi_qam64", code) },
        { "HT-LTF", receiver_of(ht_ltf_pilots(2), 2, 9, { 0, 1 }, "wifi_qpsk", code) },
        { "DM-RS",
          receiver_of(nr_dmrs_pilots(two_symbols), 5, 10, { 2, 7 }, "qam64", code) },
        { "data beside pilots", with_data_beside_pilots() },
        { "no data beside pilots", with_data_beside_pilots() },
        { "one tone",
          receiver_of(block_pilots(3, 1, 1), 1, 327, { 0, 1, 326 }, "qpsk", code) },
        { "a rule that needs LLRs in units, of int8", with_data_beside_pilots() },
    };
    all[0].second.decoding.llr = number::int8;
    all[1].second.decoding.llr = number::float16;
    all[1].second.decoding.packed = true;
    all[3].second.decoding.llr = number::int8;
    all[3].second.decoding.llr_positive = 1;
    all[3].second.pilots.times = { 1, 4, 6, 8 };
    all[3].second.pilots.method = pilot_method::mmse;
    all[3].second.pilots.snr_db = 50;
    all[5].second.data_beside_pilots = false;
    all[5].second.decoding.whole_words = true;
    all[6].second.method = detector::max_ratio;
    all[7].second.decoding.llr = number::int8;
    all[7].second.decoding.rule = ldpc_decoder::check_rule::sum_product;
    return all;
}

//! The receiver's output for these information bits.
std::vector<uint8_t> put_out(const receiver::parameters& p,
                             const std::vector<uint8_t>& info)
{
    std::vector<uint8_t> out;
    const size_t k = p.code->k();
    for (size_t word = 0; word < info.size() / k; ++word) {
        for (size_t i = 0; i < k; ++i) {
            if (p.decoding.packed && i % 8 == 0) {
                out.push_back(0);
            }
            if (p.decoding.packed) {
                out.back() |= info[word * k + i] << (7 - i % 8);
            } else {
                out.push_back(info[word * k + i]);
            }
        }
    }
    return out;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void check_same(const received_slots& a, const received_slots& b)
{
    BOOST_TEST(same_bits(a.status, b.status));
    BOOST_TEST(same_bits(a.h, b.h));
    BOOST_TEST(same_bits(a.n0, b.n0));
    BOOST_TEST(same_bits(a.x, b.x));
    BOOST_TEST(same_bits(a.noise, b.noise));
    BOOST_TEST(same_bits(a.llr, b.llr));
    BOOST_TEST(same_bits(a.bits, b.bits));
    BOOST_TEST(same_bits(a.iterations, b.iterations));
    BOOST_TEST(same_bits(a.ok, b.ok));
}

size_t words_of(const receiver::parameters& p) { return receiver::slot_of(p).words; }

} // namespace

BOOST_AUTO_TEST_CASE(bits_sent_are_received)
{
    for (auto& [name, p] : receivers()) {
        BOOST_TEST_CONTEXT(name)
        {
            p.decoding.whole_words = false;
            const auto sent = send(p, words_of(p), 3, 1e-6, generator());
            const auto got = receive(p, sent.received, tested_backend(), false);
            BOOST_TEST(got.failed() == 0u);
            BOOST_TEST((got.bits == put_out(p, sent.info)));
            BOOST_TEST((got.status == std::vector<int>(3, 0)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_receiver_gives_the_bits_of_its_kernels_one_by_one)
{
    size_t failed = 0, words = 0;
    for (const auto& [name, p] : receivers()) {
        for (const size_t slots : { 1, 2, 7 }) {
            BOOST_TEST_CONTEXT(name << ", " << slots << " slots")
            {
                const auto sent = send(p, words_of(p), slots, 0.05, generator());
                const auto one_by_one = receive_unfused(p, sent.received);
                check_same(receive(p, sent.received), one_by_one);
                // Without the intermediate results the other outputs are the same.
                const auto alone = receive(p, sent.received, tested_backend(), false);
                BOOST_TEST(same_bits(alone.bits, one_by_one.bits));
                BOOST_TEST(same_bits(alone.ok, one_by_one.ok));
                failed += alone.failed();
                words += alone.ok.size();
            }
        }
    }
    // Some words fail in this noise, and some do not, so that error rates are equal too.
    BOOST_TEST(failed > 0u);
    BOOST_TEST(failed < words);
}

BOOST_AUTO_TEST_CASE(slots_of_several_passes_come_out_alike)
{
    auto p = with_data_beside_pilots(20);
    p.symbols = 9;
    for (const auto type : { number::int8, number::float32 }) {
        p.decoding.llr = type;
        const auto sent = send(p, words_of(p), 37, 0.05, generator());
        const auto plan = receiver::make(p, tested_backend());
        if (tested_backend() != backend::cuda) { // CUDA takes all slots in one pass
            BOOST_TEST(plan->workspace_bytes(37) < 30 * plan->workspace_bytes(1));
        }
        check_same(receive(p, sent.received), receive_unfused(p, sent.received));
    }
}

BOOST_AUTO_TEST_CASE(every_backend_gives_the_references_results)
{
    for (auto& [name, p] : receivers()) {
        BOOST_TEST_CONTEXT(name)
        {
            p.decoding.llr = number::float32;
            p.decoding.calculation = ldpc_decoder::arithmetic::float32;
            const auto sent = send(p, words_of(p), 2, 1e-3, generator());
            const auto got = receive(p, sent.received);
            const auto wanted = receive(p, sent.received, backend::reference);
            BOOST_TEST((got.status == wanted.status));
            for (size_t i = 0; i < wanted.h.size(); ++i) {
                BOOST_TEST(std::abs(got.h[i] - wanted.h[i]) < 1e-4f);
            }
            for (size_t i = 0; i < wanted.n0.size(); ++i) {
                BOOST_TEST(std::abs(got.n0[i] - wanted.n0[i]) < 1e-3f * wanted.n0[i]);
            }
            for (size_t i = 0; i < wanted.x.size(); ++i) {
                // A faded layer has the rounding of all other layers that are subtracted.
                const float scale = std::sqrt(wanted.noise[i] / 1e-3f) + 1;
                BOOST_TEST(std::abs(got.x[i] - wanted.x[i]) < 1e-4f * scale * scale);
                BOOST_TEST(std::abs(got.noise[i] - wanted.noise[i]) <
                           1e-2f * wanted.noise[i]);
            }
            std::vector<float> found(got.llr.size() / 4), expected(found.size());
            std::memcpy(found.data(), got.llr.data(), got.llr.size());
            std::memcpy(expected.data(), wanted.llr.data(), wanted.llr.size());
            for (size_t i = 0; i < found.size(); ++i) {
                BOOST_TEST(std::abs(found[i] - expected[i]) <
                           0.1f + 0.02f * std::abs(expected[i]));
            }
            for (size_t word = 0; word < wanted.ok.size(); ++word) {
                if (wanted.ok[word] && got.ok[word]) {
                    const size_t bytes = wanted.bits.size() / wanted.ok.size();
                    BOOST_TEST(std::memcmp(got.bits.data() + word * bytes,
                                           wanted.bits.data() + word * bytes,
                                           bytes) == 0);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_not_finite_harms_no_other)
{
    for (const auto& [name, p] : receivers()) {
        BOOST_TEST_CONTEXT(name)
        {
            const auto sent = send(p, words_of(p), 4, 0.02, generator());
            const auto clean = receive(p, sent.received);
            const size_t a_slot = sent.received.size() / 4;
            const size_t row = a_slot / p.symbols;

            auto spoilt = sent.received; // every sample of the second slot
            std::fill_n(spoilt.begin() + a_slot, a_slot, complex64(NAN, INFINITY));
            const auto got = receive(p, spoilt);
            BOOST_TEST((got.status == std::vector<int>{ 0, -1, 0, 0 }));
            const auto check = [&](const auto& a, const auto& b) {
                const size_t part = a.size() / 4;
                using item = std::decay_t<decltype(a[0])>;
                BOOST_TEST(std::memcmp(a.data(), b.data(), part * sizeof(item)) == 0);
                BOOST_TEST(std::memcmp(a.data() + 2 * part,
                                       b.data() + 2 * part,
                                       2 * part * sizeof(item)) == 0);
            };
            check(got.bits, clean.bits);
            check(got.ok, clean.ok);
            check(got.x, clean.x);
            check(got.llr, clean.llr);
            const size_t words = got.ok.size() / 4;
            for (size_t word = words; word < 2 * words; ++word) {
                BOOST_TEST(got.ok[word] == 0);
            }
            const size_t llrs = got.llr.size() / 4;
            for (size_t i = llrs; i < 2 * llrs; ++i) {
                // The zero of floats has a sign in its highest byte.
                BOOST_TEST((got.llr[i] & 0x7F) == 0);
            }

            // Spoils one sample of the first symbol without pilots, in the third slot.
            int symbol = 0;
            while (std::count(p.pilot_symbols.begin(), p.pilot_symbols.end(), symbol)) {
                ++symbol;
            }
            spoilt = sent.received;
            spoilt[2 * a_slot + symbol * row] = complex64(0, NAN);
            const auto one = receive(p, spoilt);
            BOOST_TEST((one.status == clean.status));
            BOOST_TEST(same_bits(one.h, clean.h));
            size_t changed = 0;
            for (size_t i = 0; i < one.x.size(); ++i) {
                changed += one.noise[i] != clean.noise[i];
                BOOST_TEST((one.noise[i] == clean.noise[i] ||
                            (std::isinf(one.noise[i]) && one.x[i] == complex64(0))));
            }
            BOOST_TEST(changed == size_t(p.pilots.layers));
        }
    }
}

BOOST_AUTO_TEST_CASE(repeated_calls_read_the_present_input)
{
    // CUDA records calls and launches them as graphs. Make the first, second and third
    // call with the same memory, other numbers of slots in between, and more kinds of
    // calls than graphs are kept.
    auto p = with_data_beside_pilots(3);
    p.decoding.llr = number::int8;
    p.symbols = 8;
    auto q = queue::make(tested_backend());
    const auto plan = receiver::make(p, tested_backend());
    const auto& s = plan->slot();
    constexpr size_t most = 40;
    array<complex64> there(*q, most * s.received);
    receiver_arrays to(*q, *plan, most, 1);
    array<unsigned char> workspace(*q, plan->workspace_bytes(most));
    const auto sent = send(p, s.words, most, 0.05, generator());
    const auto wanted = receive(p, sent.received);
    const auto run = [&](size_t first, size_t slots) {
        q->copy_in(there.data(),
                   sent.received.data() + first * s.received,
                   slots * s.received * sizeof(complex64));
        const size_t words = slots * s.words;
        plan->run(there.all().part(0, slots * s.received),
                  { to.bits.all().part(0, words * s.word_bytes),
                    to.iterations.all().part(0, words),
                    to.ok.all().part(0, words),
                    to.status.all().part(0, slots),
                    {},
                    {},
                    to.x.all().part(0, slots * s.layers) },
                  workspace,
                  *q);
        const auto x = to.x.to_host();
        BOOST_TEST(std::memcmp(x.data(),
                               wanted.x.data() + first * s.layers,
                               slots * s.layers * sizeof(complex64)) == 0);
        const auto bits = to.bits.to_host();
        BOOST_TEST(std::memcmp(bits.data(),
                               wanted.bits.data() + first * s.words * s.word_bytes,
                               words * s.word_bytes) == 0);
    };
    for (size_t call = 0; call < 5; ++call) {
        run(call, 1);
        run(2 * call, 3);
    }
    for (size_t slots = 1; slots <= most; ++slots) {
        run(most - slots, slots);
        run(0, slots);
    }
    run(3, 1);
    run(5, 1);
}

BOOST_AUTO_TEST_CASE(estimates_at_several_times_follow_a_channel_that_turns)
{
    const auto pattern = comb_pilots(2, 2, 60);
    auto p = receiver_of(pattern, 2, 10, { 1, 8 }, "qam16", small_code());
    p.pilots.times = { 0, 2, 3, 4, 5, 6, 7, 9 }; // each symbol with data
    const auto sent = send(p, words_of(p), 4, 1e-5, generator(), 0.002, 0.02);
    BOOST_TEST(receive(p, sent.received).failed() == 0u);
    p.pilots.times.clear();
    const auto still = receive(p, sent.received);
    // In each slot at least the first word fails, 32 degrees from the mean of the pilots.
    BOOST_TEST(still.failed() >= 4u);
}

BOOST_AUTO_TEST_CASE(no_slots_are_no_work)
{
    const auto p = with_data_beside_pilots();
    auto q = queue::make(tested_backend());
    const auto plan = receiver::make(p, tested_backend());
    BOOST_TEST(plan->workspace_bytes(0) == 0u);
    plan->run({}, {}, {}, *q);
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_refused)
{
    const auto p = with_data_beside_pilots();
    auto q = queue::make(tested_backend());
    const auto plan = receiver::make(p, tested_backend());
    const auto& s = plan->slot();
    array<complex64> there(*q, 2 * s.received);
    receiver_arrays to(*q, *plan, 2, 4);
    const receiver::results good{ to.bits, to.iterations, to.ok, to.status };
    const auto refused = [&](view<const complex64> in,
                             const receiver::results& out,
                             view<unsigned char> workspace) {
        BOOST_CHECK_THROW(plan->run(in, out, workspace, *q), std::invalid_argument);
    };
    refused(there.all().part(1, 2 * s.received - 1), good, to.workspace);
    refused(there.all().part(0, s.received), good, to.workspace);
    refused(there, good, to.workspace.all().part(0, to.workspace.size() - 1));
    auto out = good;
    out.bits = out.bits.part(0, 1);
    refused(there, out, to.workspace);
    out = good;
    out.ok = {};
    refused(there, out, to.workspace);
    out = good;
    out.status = out.iterations;
    refused(there, out, to.workspace);
    out = good;
    out.x = to.x.all().part(0, s.layers);
    refused(there, out, to.workspace);
    out = good;
    out.llr = view<int8_t>(reinterpret_cast<int8_t*>(to.llr.data()), 2 * s.soft_bits);
    refused(there, out, to.workspace);
    out.llr = view<float>(reinterpret_cast<float*>(to.llr.data()), 2 * s.soft_bits);
    plan->run(there, out, to.workspace, *q);
    q->synchronize();
    if (tested_backend() == backend::cuda) {
        const auto other = queue::make(backend::cpu);
        BOOST_CHECK_THROW(plan->run(there, good, to.workspace, *other),
                          std::invalid_argument);
    }
}

BOOST_AUTO_TEST_CASE(parameters_that_make_no_receiver_are_refused)
{
    const auto good = with_data_beside_pilots();
    const auto refused = [&](auto change) {
        auto p = good;
        change(p);
        BOOST_CHECK_THROW(receiver::make(p, tested_backend()), std::invalid_argument);
    };
    using parameters = receiver::parameters;
    BOOST_CHECK_NO_THROW(receiver::make(good, tested_backend()));
    refused([](parameters& p) { p.symbols = 0; });
    refused([](parameters& p) { p.symbols = 1025; });
    refused([](parameters& p) { p.pilot_symbols = {}; });
    refused([](parameters& p) { p.pilot_symbols = { 6 }; });
    refused([](parameters& p) { p.pilot_symbols = { -1 }; });
    refused([](parameters& p) { p.pilot_symbols = { 2, 1 }; });
    refused([](parameters& p) { p.pilots.layers = 4; });
    refused([](parameters& p) { p.pilots.receive_antennas = 0; });
    refused([](parameters& p) { p.pilots.tones = 0; });
    refused([](parameters& p) { p.pilots.times = { 0, 1, 3, 4 }; }); // of 6 symbols
    refused([](parameters& p) {
        p.symbols = 1024;
        p.pilots = { 16, 16, 65536, orthogonal_pilots(16, 16) };
        p.pilot_symbols = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    });
    refused([](parameters& p) { p.code = nullptr; });
    refused([](parameters& p) { p.code = ldpc_code::dvbs2("short", "1/2"); });
    refused([](parameters& p) { p.points.bits = 11; });
    refused([](parameters& p) { p.points.points.pop_back(); });
    refused([](parameters& p) { p.decoding.max_iterations = 0; });
    refused([](parameters& p) { p.decoding.llr_steps = -1; });
}
