/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE carrier_corrector
#include "kernels/common/testing.h"
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/page_locked.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using testing::gaussian;
using testing::generator;

namespace {

double uniform(double from, double to)
{
    return std::uniform_real_distribution<double>(from, to)(generator());
}

//! Symbols that a GPU reads too.
class shared_symbols
{
public:
    explicit shared_symbols(const std::vector<complex64>& symbols) : d_own(symbols)
    {
        if (tested_backend() == backend::cuda) {
            d_locked = page_locked_memory(symbols.size() * sizeof(complex64));
            BOOST_REQUIRE(d_locked);
            std::copy(symbols.begin(), symbols.end(), static_cast<complex64*>(d_locked));
        }
    }
    ~shared_symbols()
    {
        if (d_locked) {
            release_page_locked(d_locked);
        }
    }
    const complex64* data() const
    {
        return d_locked ? static_cast<const complex64*>(d_locked) : d_own.data();
    }

private:
    static backend tested_backend() { return testing::tested_backend(); }
    std::vector<complex64> d_own;
    void* d_locked = nullptr;
};

//! What the tested backend writes into `count` symbols that were -9 before.
std::vector<complex64> corrected(const carrier_corrector::parameters& how,
                                 const std::vector<complex64>& in,
                                 const std::vector<carrier_segment>& segments,
                                 size_t count)
{
    const auto work = queue::make(testing::tested_backend());
    const auto corrector = carrier_corrector::make(how, work->where(), work->device());
    const shared_symbols from(in);
    const std::vector<complex64> before(count, -9);
    array<complex64> out(*work, view<const complex64>(before));
    corrector->run(from.data(), out.data(), segments.data(), segments.size(), *work);
    corrector->wait();
    return out.to_host();
}

} // namespace

BOOST_AUTO_TEST_CASE(symbols_follow_the_formula)
{
    const auto turns = pl_scrambling(7, 100);
    const carrier_segment one{ 3, 5, 20, 40, 0.3, 0.01, 2.0f };
    const auto in = gaussian<complex64>(30);
    const auto out = corrected({ 7, 100 }, in, { one }, 30);
    for (size_t i = 0; i < 20; ++i) {
        const double cycles = 0.3 + 0.01 * static_cast<double>(i) + turns[40 + i] / 4.0;
        const auto right =
            std::complex<double>(in[3 + i]) * std::polar(2.0, -2 * M_PI * cycles);
        BOOST_TEST(std::abs(std::complex<double>(out[5 + i]) - right) < 3e-6);
    }
    BOOST_TEST(out[4] == complex64(-9));
    BOOST_TEST(out[25] == complex64(-9));
}

BOOST_AUTO_TEST_CASE(segments_of_any_length_are_those_of_the_reference)
{
    const carrier_corrector::parameters how{ 1000, 40000 };
    const auto in = gaussian<complex64>(40000);
    std::vector<carrier_segment> segments;
    size_t out = 0;
    // More segments than one launch on a GPU takes.
    for (int time = 0; time < 30; ++time) {
        for (const uint32_t count :
             { 1440u, 1u, 0u, 7u, 33u, 5000u, 360u, 1024u, 1025u, 9u, 12000u }) {
            segments.push_back({ generator()() % 20000u,
                                 out,
                                 count,
                                 static_cast<uint32_t>(generator()() % 20000u),
                                 uniform(-1e6, 1e6),
                                 uniform(-0.5, 0.5),
                                 static_cast<float>(uniform(0.1, 10)) });
            out += count;
        }
    }
    std::shuffle(segments.begin(), segments.end(), generator());
    const auto host = queue::make(backend::reference);
    std::vector<complex64> right(out + 1, -9);
    carrier_corrector::make(how, backend::reference)
        ->run(in.data(), right.data(), segments.data(), segments.size(), *host);
    const auto found = corrected(how, in, segments, out + 1);
    double worst = 0;
    for (const auto& one : segments) {
        for (size_t i = one.out; i < one.out + one.count; ++i) {
            worst = std::max<double>(worst, std::abs(found[i] - right[i]) / one.gain);
        }
    }
    BOOST_TEST(worst < 5e-4); // of symbols up to 4
    BOOST_TEST(found.back() == complex64(-9));
}

BOOST_AUTO_TEST_CASE(no_segments_change_nothing)
{
    BOOST_TEST(corrected({}, { 1 }, {}, 2) == std::vector<complex64>(2, -9));
    const carrier_segment empty{ 0, 0, 0, 0, 0, 0, 1 };
    BOOST_TEST(corrected({}, { 1 }, { empty }, 2) == std::vector<complex64>(2, -9));
}

BOOST_AUTO_TEST_CASE(a_gold_code_out_of_range_is_refused)
{
    BOOST_CHECK_THROW(carrier_corrector::make({ 262143 }, testing::tested_backend()),
                      std::invalid_argument);
}
