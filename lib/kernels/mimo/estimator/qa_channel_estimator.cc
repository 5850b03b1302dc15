/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE channel_estimator
#include "kernels/common/fused_testing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/channel_estimator.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;
using parameters = channel_estimator::parameters;

namespace {

struct result {
    std::vector<complex64> h;
    std::vector<float> n0;
    std::vector<int> status;
};

int symbols_of(const parameters& p) { return int(p.pilots.size()) / p.layers; }

parameters orthogonal(int nr, int nt, int tones, int symbols)
{
    return { nr, nt, tones, orthogonal_pilots(symbols, nt) };
}

//! Pilots without any order, as a standard's scrambled ones are.
parameters random_pilots(int nr, int nt, int tones, int symbols)
{
    parameters p{ nr, nt, tones, gaussian<complex64>(symbols * nt) };
    for (int t = 0; t < nt; ++t) {
        p.pilots[t * nt + t] += 3; // far from dependent
    }
    return p;
}

//! Channels (batch, tones, Nr, Nt) that change linearly over the tones.
std::vector<complex64> linear_channels(const parameters& p, size_t batch)
{
    const size_t matrix = p.receive_antennas * p.layers;
    const auto start = gaussian<complex64>(batch * matrix);
    const auto slope = gaussian<complex64>(batch * matrix);
    std::vector<complex64> h;
    for (size_t item = 0; item < batch; ++item) {
        for (int tone = 0; tone < p.tones; ++tone) {
            for (size_t e = item * matrix; e < (item + 1) * matrix; ++e) {
                h.push_back(start[e] + slope[e] * (float(tone) / p.tones));
            }
        }
    }
    return h;
}

//! The samples received over channels h in noise of variance n0.
std::vector<complex64>
receive(const parameters& p, size_t batch, const std::vector<complex64>& h, float n0)
{
    const size_t nr = p.receive_antennas;
    const size_t ns = symbols_of(p);
    auto y = gaussian<complex64>(batch * ns * p.tones * nr);
    for (size_t i = 0; i < y.size(); ++i) {
        const size_t element =
            i % (p.tones * nr) + i / (ns * p.tones * nr) * p.tones * nr;
        const size_t symbol = i / (p.tones * nr) % ns;
        std::complex<double> sum = std::sqrt(n0) * y[i];
        for (int t = 0; t < p.layers; ++t) {
            sum += std::complex<double>(p.pilots[symbol * p.layers + t]) *
                   std::complex<double>(h[element * p.layers + t]);
        }
        y[i] = complex64(sum);
    }
    return y;
}

//! Runs on `where`. Every view begins unaligned in its array, as ring buffers are.
result run(const parameters& p,
           const std::vector<complex64>& received,
           backend where = tested_backend())
{
    auto q = queue::make(where);
    const size_t elements = p.tones * p.receive_antennas;
    const size_t batch = received.size() / elements / symbols_of(p);
    const size_t estimates = batch * elements * p.layers;
    std::vector<complex64> shifted(1);
    shifted.insert(shifted.end(), received.begin(), received.end());
    const array<complex64> there(*q, view<const complex64>(shifted));
    auto h = poisoned<complex64>(*q, estimates + 2);
    auto n0 = poisoned<float>(*q, batch + 2);
    auto status = poisoned<int>(*q, batch + 2);
    const auto untouched = n0.to_host()[0];
    channel_estimator::make(p, where)->run(
        view<const complex64>(there).part(1, received.size()),
        h.all().part(1, estimates),
        n0.all().part(1, batch),
        status.all().part(1, batch),
        *q);
    const auto inside = [](const auto& values) {
        return std::decay_t<decltype(values)>(values.begin() + 1, values.end() - 1);
    };
    BOOST_TEST(h.to_host().front().real() == untouched);
    BOOST_TEST(h.to_host().back().imag() == untouched);
    BOOST_TEST(n0.to_host().front() == untouched);
    BOOST_TEST(n0.to_host().back() == untouched);
    return { inside(h.to_host()), inside(n0.to_host()), inside(status.to_host()) };
}

double largest(const std::vector<complex64>& values)
{
    double out = 0;
    for (const auto& value : values) {
        out = std::max<double>(out, std::abs(value));
    }
    return out;
}

//! Compares with the reference: an estimate is a sum of pilot symbols' products.
void compare(const parameters& p, const std::vector<complex64>& received)
{
    const auto expected = run(p, received, backend::reference);
    const auto got = run(p, received);
    BOOST_TEST(got.status == expected.status);
    BOOST_REQUIRE(got.h.size() == expected.h.size());
    const double allowed = 2e-6 * std::sqrt(symbols_of(p)) * largest(received);
    double worst = 0;
    for (size_t i = 0; i < got.h.size(); ++i) {
        worst = std::max<double>(worst, std::abs(got.h[i] - expected.h[i]));
    }
    BOOST_TEST(worst <= allowed);
    for (size_t i = 0; i < got.n0.size(); ++i) {
        // The estimates' rounding is a weak noise, and adds to the sum's own rounding.
        BOOST_TEST(std::abs(got.n0[i] - expected.n0[i]) <=
                   1e-4 * expected.n0[i] + allowed * allowed);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(orthogonal_pilots_are_orthogonal)
{
    for (const auto& [symbols, layers] :
         { std::pair{ 1, 1 }, { 2, 2 }, { 4, 3 }, { 16, 16 }, { 1000, 5 } }) {
        const auto p = orthogonal_pilots(symbols, layers);
        BOOST_TEST(p.size() == size_t(symbols * layers));
        for (int i = 0; i < layers; ++i) {
            for (int j = 0; j < layers; ++j) {
                std::complex<double> dot = 0;
                for (int s = 0; s < symbols; ++s) {
                    dot += std::conj(std::complex<double>(p[s * layers + i])) *
                           std::complex<double>(p[s * layers + j]);
                    BOOST_TEST(std::abs(std::abs(p[s * layers + i]) - 1) < 1e-6);
                }
                BOOST_TEST(std::abs(dot - (i == j ? double(symbols) : 0.0)) <
                           1e-6 * symbols);
            }
        }
    }
    BOOST_CHECK_THROW(orthogonal_pilots(2, 3), std::invalid_argument);
    BOOST_CHECK_THROW(orthogonal_pilots(2, 0), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_parameter_out_of_range_is_refused_with_its_range)
{
    const auto refused = [](parameters p, const std::string& value, const char* range) {
        try {
            channel_estimator::make(p, tested_backend());
            BOOST_ERROR("accepted " + value);
        } catch (const std::invalid_argument& problem) {
            const std::string what = problem.what();
            BOOST_TEST(what.find(value) != std::string::npos, what);
            BOOST_TEST(what.find(range) != std::string::npos, what);
        }
    };
    const auto pilots = orthogonal_pilots(4, 4);
    refused({ 0, 4, 8, pilots }, "0", "1 to 128");
    refused({ 129, 4, 8, pilots }, "129", "1 to 128");
    refused({ 4, 0, 8, pilots }, "0", "1 to 16");
    refused({ 4, 17, 8, pilots }, "17", "1 to 16");
    refused({ 4, 4, 0, pilots }, "0", "1 to 65536");
    refused({ 4, 4, 65537, pilots }, "65537", "1 to 65536");
    refused({ 4, 3, 8, pilots }, "16", "multiples of 3");
    refused({ 4, 8, 8, pilots }, "16", "64");
    refused({ 4, 4, 8, {} }, "0", "16");
    refused({ 4, 4, 2, pilots }, "2", "3 to 65536");
    auto dependent = orthogonal_pilots(6, 3);
    for (size_t s = 0; s < 6; ++s) {
        dependent[s * 3 + 2] = dependent[s * 3] - 2.0f * dependent[s * 3 + 1];
    }
    refused({ 4, 3, 8, dependent }, "layer 2", "rank");
    refused({ 4, 3, 8, std::vector<complex64>(18) }, "layer 0", "rank");
    dependent[4] = { 0, NAN };
    refused({ 4, 3, 8, dependent }, "4", "finite");
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    const auto p = orthogonal(4, 2, 10, 4);
    auto q = queue::make(tested_backend());
    const auto estimator = channel_estimator::make(p, tested_backend());
    const auto run_sizes = [&](size_t received, size_t h, size_t n0, size_t status) {
        const array<complex64> y(*q, received);
        array<complex64> estimates(*q, h);
        array<float> noise(*q, n0);
        array<int> codes(*q, status);
        estimator->run(y, estimates, noise, codes, *q);
    };
    BOOST_CHECK_THROW(run_sizes(319, 160, 2, 2), std::invalid_argument);
    BOOST_CHECK_THROW(run_sizes(320, 159, 2, 2), std::invalid_argument);
    BOOST_CHECK_THROW(run_sizes(320, 160, 1, 2), std::invalid_argument);
    BOOST_CHECK_THROW(run_sizes(320, 160, 2, 3), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(without_noise_the_channel_comes_back)
{
    for (const auto& p : { orthogonal(1, 1, 7, 1),
                           orthogonal(4, 4, 52, 4),
                           orthogonal(3, 2, 5, 6),
                           random_pilots(2, 5, 9, 5),
                           random_pilots(16, 16, 33, 20) }) {
        const auto h = linear_channels(p, 10);
        const auto received = receive(p, 10, h, 0);
        const auto got = run(p, received);
        const double allowed = 2e-6 * std::sqrt(symbols_of(p)) * largest(received);
        for (size_t i = 0; i < h.size(); ++i) {
            BOOST_TEST(std::abs(got.h[i] - h[i]) < allowed);
        }
        for (size_t i = 0; i < got.n0.size(); ++i) {
            BOOST_TEST(got.status[i] == 0);
            BOOST_TEST(got.n0[i] < allowed * allowed);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_batch_size_agrees_with_the_reference)
{
    for (const size_t batch : { 0, 1, 31, 32, 33, 1001 }) {
        for (const auto& p : { orthogonal(4, 4, 12, 4), random_pilots(2, 3, 5, 4) }) {
            compare(p, receive(p, batch, linear_channels(p, batch), 0.1f));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_number_of_antennas_and_layers_agrees_with_the_reference)
{
    for (int nr = 1; nr <= 16; ++nr) {
        for (int nt = 1; nt <= 16; ++nt) {
            const auto p = random_pilots(nr, nt, 3 + nt, nt + nr % 3);
            compare(p, receive(p, 5, linear_channels(p, 5), 0.01f));
        }
    }
}

BOOST_AUTO_TEST_CASE(many_antennas_agree_with_the_reference)
{
    // Of 128 antennas a segment of 4096 elements has 32 tones; 33 and 65 begin another.
    for (const int nr : { 17, 33, 64, 100, 128 }) {
        for (const int tones : { 31, 33, 65 }) {
            for (const int nt : { 1, 4, 16 }) {
                const auto p = random_pilots(nr, nt, tones, nt + nr % 3);
                compare(p, receive(p, 2, linear_channels(p, 2), 0.01f));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(groups_of_many_segments_agree_with_the_reference)
{
    for (const auto& [tones, extra] :
         { std::pair{ 1365, 0 }, { 1366, 0 }, { 2731, 1 }, { 10007, 0 }, { 65536, 1 } }) {
        const auto p = random_pilots(3, 2, tones, 2 + extra);
        compare(p, receive(p, 3, linear_channels(p, 3), 0.1f));
    }
}

BOOST_AUTO_TEST_CASE(many_pilot_symbols_and_a_single_tone_agree_with_the_reference)
{
    for (const auto& p : { random_pilots(4, 2, 1, 300), random_pilots(1, 1, 1, 2) }) {
        compare(p, receive(p, 501, linear_channels(p, 501), 0.1f));
    }
}

BOOST_AUTO_TEST_CASE(the_estimates_have_the_noise_of_least_squares)
{
    // Var(h) = N0 ((P^H P)^-1)_tt = N0 / (pilot symbols) for orthogonal pilots.
    const auto p = orthogonal(4, 4, 200, 8);
    const auto h = linear_channels(p, 50);
    const auto got = run(p, receive(p, 50, h, 0.5f));
    double variance = 0;
    for (size_t i = 0; i < h.size(); ++i) {
        variance += std::norm(got.h[i] - h[i]) / h.size();
    }
    BOOST_TEST(variance == 0.5 / 8, boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(the_noise_variance_is_unbiased_from_residuals_and_differences)
{
    // 2000 groups of few elements, so that a wrong count of degrees of freedom shows.
    for (const auto& p : { orthogonal(2, 2, 3, 3),
                           orthogonal(2, 2, 3, 2),
                           random_pilots(4, 3, 2, 5),
                           random_pilots(4, 3, 5, 3) }) {
        const size_t batch = 8000;
        const auto got = run(p, receive(p, batch, linear_channels(p, batch), 0.25f));
        double mean = 0;
        for (const float n0 : got.n0) {
            mean += n0 / batch;
        }
        BOOST_TEST(mean == 0.25, boost::test_tools::tolerance(0.04));
    }
}

BOOST_AUTO_TEST_CASE(a_bad_pilot_spoils_its_tone_and_the_noise_of_its_group_alone)
{
    for (const auto& p : { orthogonal(4, 4, 40, 4),
                           orthogonal(3, 2, 40, 5),
                           orthogonal(3, 1, 5000, 1),
                           orthogonal(16, 16, 20, 16) }) {
        const size_t batch = 12;
        const size_t elements = p.tones * p.receive_antennas;
        const size_t ns = symbols_of(p);
        auto received = receive(p, batch, linear_channels(p, batch), 0.1f);
        const auto clean = run(p, received);
        const auto spoil = [&](size_t item, size_t symbol, size_t element, float value) {
            received[(item * ns + symbol) * elements + element] = { 0, value };
        };
        const size_t last = p.receive_antennas * 3 + p.receive_antennas - 1;
        spoil(2, ns - 1, last, NAN);
        spoil(2, 0, elements - 1, -INFINITY);
        spoil(7, 0, 0, INFINITY);
        const auto got = run(p, received);
        const size_t tone_estimates = p.receive_antennas * p.layers;
        for (size_t item = 0; item < batch; ++item) {
            const bool bad = item == 2 || item == 7;
            BOOST_TEST(got.status[item] == (bad ? -1 : 0));
            BOOST_TEST(std::isnan(got.n0[item]) == bad);
            BOOST_TEST((bad || got.n0[item] == clean.n0[item]));
        }
        for (size_t i = 0; i < got.h.size(); ++i) {
            const size_t item = i / tone_estimates / p.tones;
            const int tone = i / tone_estimates % p.tones;
            const bool bad = (item == 2 && (tone == 3 || tone == p.tones - 1)) ||
                             (item == 7 && tone == 0);
            if (got.h[i] != (bad ? complex64(0) : clean.h[i])) {
                BOOST_ERROR("estimate " << i << " is " << got.h[i]);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_plan_is_used_again_with_another_batch)
{
    const auto p = orthogonal(4, 2, 3000, 2);
    auto q = queue::make(tested_backend());
    const auto estimator = channel_estimator::make(p, tested_backend());
    for (const size_t batch : { 7, 1, 30 }) {
        const auto received = receive(p, batch, linear_channels(p, batch), 0.1f);
        const auto expected = run(p, received);
        const array<complex64> there(*q, view<const complex64>(received));
        auto h = poisoned<complex64>(*q, expected.h.size());
        auto n0 = poisoned<float>(*q, batch);
        auto status = poisoned<int>(*q, batch);
        estimator->run(there, h, n0, status, *q);
        BOOST_TEST((h.to_host() == expected.h));
        BOOST_TEST(n0.to_host() == expected.n0);
        BOOST_TEST(status.to_host() == expected.status);
    }
}

BOOST_AUTO_TEST_CASE(the_gpu_gives_the_bits_of_the_cpu)
{
    if (!cuda_can_be_held_to_the_cpu()) {
        return;
    }
    for (const auto& p : { orthogonal(1, 1, 3, 1),
                           orthogonal(4, 4, 52, 4),
                           orthogonal(2, 2, 3276, 4),
                           random_pilots(3, 5, 9000, 5),
                           random_pilots(16, 16, 300, 17),
                           random_pilots(128, 16, 100, 16) }) {
        const auto received = receive(p, 7, linear_channels(p, 7), 0.1f);
        const auto here = run(p, received, backend::cpu);
        const auto there = run(p, received, backend::cuda);
        BOOST_TEST((here.h == there.h));
        BOOST_TEST(here.n0 == there.n0);
    }
}
