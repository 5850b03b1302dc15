/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE common
#include "kernels/common/cpu_probe.h"
#include "kernels/common/parallel.h"
#include "kernels/common/testing.h"
#include <atomic>
#include <chrono>
#include <gnuradio/cudaphy/kernels/interruption.h>
#include <thread>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

BOOST_AUTO_TEST_CASE(names_of_backends_go_both_ways)
{
    for (const auto name : { "auto", "cuda", "cpu", "reference" }) {
        BOOST_TEST(name_of(backend_from_name(name)) == name);
    }
    BOOST_CHECK_THROW(backend_from_name("gpu"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(automatic_takes_the_best_usable_backend)
{
    BOOST_TEST(name_of(resolve(backend::automatic).where) == name_of(backends().front()));
    BOOST_TEST(!resolve(backend::automatic).reason.empty());
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_refused_with_its_number)
{
    try {
        resolve(backend::cuda, 4711);
        BOOST_ERROR("device 4711 was accepted");
    } catch (const backend_unavailable& problem) {
        const std::string what = problem.what();
        BOOST_TEST((devices().empty() || what.find("4711") != std::string::npos));
    }
}

BOOST_AUTO_TEST_CASE(a_library_for_one_cpu_alone_refuses_a_lesser_one_with_a_remedy)
{
    BOOST_TEST(problem_of_cpu() == "");
    hwy::SetSupportedTargetsForTest(HWY_SCALAR);
    const auto problem = problem_of_cpu();
    hwy::SetSupportedTargetsForTest(0);
#ifdef HWY_COMPILE_ONLY_STATIC
    BOOST_TEST(problem.find("-DCUDAPHY_CPU_TARGETS=all") != std::string::npos);
#else
    BOOST_TEST(problem == "");
#endif
}

BOOST_AUTO_TEST_CASE(bytes_copied_in_are_copied_out_unchanged)
{
    auto q = queue::make(tested_backend());
    for (const size_t n : { 1, 31, 32, 33, 100003 }) {
        const auto sent = gaussian<float>(n);
        const array<float> there(*q, view<const float>(sent));
        BOOST_TEST(there.to_host() == sent, boost::test_tools::per_element());
    }
    BOOST_TEST(array<float>(*q, 0).to_host().empty());
    BOOST_TEST(q->idle());
}

BOOST_AUTO_TEST_CASE(a_queue_attached_to_a_stream_keeps_its_order_and_never_destroys_it)
{
    BOOST_CHECK_THROW(queue::attach(nullptr, 4711), backend_unavailable);
    if (tested_backend() != backend::cuda) {
        return;
    }
    const auto owner = queue::make(backend::cuda);
    const auto sent = gaussian<float>(100003);
    array<float> there(*owner, sent.size());
    for (int round = 0; round < 2; ++round) {
        // The second round uses the stream after the first round's queue is destroyed.
        const auto guest = queue::attach(owner->native(), owner->device());
        BOOST_TEST(name_of(guest->where()) == "cuda");
        BOOST_TEST(guest->device() == owner->device());
        BOOST_TEST(guest->native() == owner->native());
        std::vector<float> got(sent.size(), -1.0f);
        guest->copy_in(there.data(), sent.data(), sizeof(float) * sent.size());
        owner->copy_out(got.data(), there.data(), sizeof(float) * sent.size());
        guest->synchronize();
        BOOST_TEST(owner->idle());
        BOOST_TEST(got == sent, boost::test_tools::per_element());
        array<float>(*guest, view<const float>(got)).to_host();
    }
    BOOST_TEST((there.to_host() == sent));

    const auto on_default = queue::attach(nullptr);
    BOOST_TEST(on_default->native() == nullptr);
    const array<float> again(*on_default, view<const float>(sent));
    BOOST_TEST((again.to_host() == sent));
}

BOOST_AUTO_TEST_CASE(parts_cover_every_item_once)
{
    for (const size_t n : { 0, 1, 15, 16, 17, 1000 }) {
        std::vector<std::atomic<int>> visits(n);
        std::atomic<int> unaligned = 0; // BOOST_TEST works in one thread only
        for_each_part(n, 16, [&](size_t first, size_t last) {
            unaligned += first % 16 != 0;
            for (; first < last; ++first) {
                ++visits[first];
            }
        });
        BOOST_TEST(unaligned == 0);
        for (const auto& count : visits) {
            BOOST_TEST(count == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(under_an_interruption_parts_cover_every_item_once_too)
{
    const interruption unasked;
    const interruption::scope under(&unasked);
    for (const size_t n : { 0, 1, 15, 16, 17, 1000, 100001 }) {
        std::vector<std::atomic<int>> visits(n);
        std::atomic<int> unaligned = 0;
        for_each_part(n, 16, [&](size_t first, size_t last) {
            unaligned += first % 16 != 0 || interruption::current() != &unasked;
            for (; first < last; ++first) {
                ++visits[first];
            }
        });
        BOOST_TEST(unaligned == 0);
        BOOST_TEST(std::count(visits.begin(), visits.end(), 1) == std::ptrdiff_t(n));
    }
}

BOOST_AUTO_TEST_CASE(an_interruption_ends_its_own_long_run_soon)
{
    using clock = std::chrono::steady_clock;
    using milliseconds = std::chrono::milliseconds;
    interruption request;
    clock::time_point when;
    std::thread another([&] {
        std::this_thread::sleep_for(milliseconds(100));
        when = clock::now();
        request.ask();
    });
    const auto work = [](size_t first, size_t last) {
        std::this_thread::sleep_for(milliseconds(2) * (last - first));
    };
    {
        const interruption::scope under(&request);
        BOOST_CHECK_THROW(for_each_part(100000, 1, work), interrupted);
        another.join();
        BOOST_TEST((clock::now() - when < milliseconds(500)));
        BOOST_CHECK_THROW(for_each_part(1, 1, work), interrupted);
    }
    BOOST_TEST(!interruption::current());
    for_each_part(10, 1, work);
}
