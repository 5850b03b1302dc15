/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE background
#include "kernels/common/background.h"
#include "kernels/common/made_from_text.h"
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>

// What programs for a GPU are prepared with, without a GPU.

using namespace gr::cudaphy;

namespace {

struct text {
    std::string is;
    size_t bytes() const { return is.size(); }
    bool operator==(const text& other) const { return is == other.is; }
};
using store = made_from_text<text, int>;

//! Makes 7, and counts.
struct counted_maker {
    int& made;
    std::shared_ptr<const int> operator()(const text&) const
    {
        ++made;
        return std::make_shared<const int>(7);
    }
};

class thing : public prepared_later
{
public:
    explicit thing(std::function<void()> how) : d_how(std::move(how)) {}
    void prepare() override { d_how(); }

private:
    const std::function<void()> d_how;
};

std::shared_ptr<thing> make_thing(std::function<void()> how)
{
    return std::make_shared<thing>(std::move(how));
}

} // namespace

BOOST_AUTO_TEST_CASE(one_text_is_made_once)
{
    store all(1000);
    int made = 0;
    const auto first = all.get({ "a" }, counted_maker{ made });
    BOOST_TEST(all.get({ "a" }, counted_maker{ made }) == first);
    BOOST_TEST(made == 1);
    BOOST_TEST(all.get({ "b" }, counted_maker{ made }) != first);
    BOOST_TEST(made == 2);
}

BOOST_AUTO_TEST_CASE(threads_that_want_one_text_wait_for_one_making)
{
    store all(1000);
    std::atomic<int> begun{ 0 }, made{ 0 };
    std::promise<void> goes_on;
    const auto may_go_on = goes_on.get_future().share();
    std::vector<std::future<std::shared_ptr<const int>>> wanted;
    for (int i = 0; i < 4; ++i) {
        wanted.push_back(std::async(std::launch::async, [&] {
            ++begun;
            return all.get({ "a" }, [&](const text&) {
                ++made;
                may_go_on.wait();
                return std::make_shared<const int>(7);
            });
        }));
    }
    while (begun < 4 || made < 1) {
        std::this_thread::yield();
    }
    // Another text need not wait.
    BOOST_TEST(*all.get({ "b" },
                        [](const text&) { return std::make_shared<const int>(8); }) == 8);
    goes_on.set_value();
    for (auto& one : wanted) {
        BOOST_TEST(*one.get() == 7);
    }
    BOOST_TEST(made == 1);
}

BOOST_AUTO_TEST_CASE(a_failure_shows_each_time_and_is_not_kept)
{
    store all(1000);
    const auto fails = [](const text& what) -> std::shared_ptr<const int> {
        throw std::runtime_error("no " + what.is);
    };
    for (int i = 0; i < 3; ++i) {
        BOOST_CHECK_EXCEPTION(
            all.get({ "a" }, fails), std::runtime_error, [](const auto& problem) {
                return problem.what() == std::string("no a");
            });
    }
    int made = 0;
    BOOST_TEST(*all.get({ "a" }, counted_maker{ made }) == 7);
}

BOOST_AUTO_TEST_CASE(the_least_recently_wanted_is_forgotten_but_lives_on_where_it_is_held)
{
    store all(10);
    int made = 0;
    const counted_maker make{ made };
    const auto held = all.get({ "aaaa" }, make);
    const std::weak_ptr<const int> dropped = all.get({ "bbbb" }, make);
    all.get({ "aaaa" }, make);
    all.get({ "cccc" }, make);
    BOOST_TEST(made == 3);
    BOOST_TEST(dropped.expired());
    BOOST_TEST(all.get({ "aaaa" }, make) == held);
    BOOST_TEST(made == 3);
    // A text that is too long by itself is kept alone.
    const std::weak_ptr<const int> longest = all.get({ std::string(20, 'd') }, make);
    BOOST_TEST(!longest.expired());
    BOOST_TEST(*held == 7);
    BOOST_TEST(all.get({ "aaaa" }, make) != held);
    BOOST_TEST(longest.expired());
}

BOOST_AUTO_TEST_CASE(one_thread_prepares_in_the_order_of_asking_and_bears_failures)
{
    std::promise<void> goes_on, done;
    std::vector<int> order;
    const auto first = make_thing([&] {
        goes_on.get_future().wait();
        order.push_back(0);
    });
    const auto second = make_thing([&] {
        order.push_back(1);
        throw std::runtime_error("fails");
    });
    const auto last = make_thing([&] {
        order.push_back(2);
        done.set_value();
    });
    background threads(1);
    threads.add(first);
    threads.add(second);
    threads.add(last);
    goes_on.set_value();
    done.get_future().wait();
    BOOST_TEST(order == (std::vector<int>{ 0, 1, 2 }), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(several_threads_prepare_side_by_side)
{
    std::atomic<int> begun{ 0 };
    std::vector<std::shared_ptr<thing>> all;
    std::vector<std::promise<void>> done(3);
    background threads(3);
    for (int i = 0; i < 3; ++i) {
        all.push_back(make_thing([&, i] {
            ++begun;
            while (begun < 3) { // ends only if all three are under way at once
                std::this_thread::yield();
            }
            done[i].set_value();
        }));
        threads.add(all.back());
    }
    for (auto& one : done) {
        one.get_future().wait();
    }
    BOOST_TEST(begun == 3);
}

BOOST_AUTO_TEST_CASE(what_nobody_holds_is_passed_over)
{
    std::promise<void> goes_on, done;
    bool prepared = false;
    const auto first = make_thing([&] { goes_on.get_future().wait(); });
    auto dropped = make_thing([&] { prepared = true; });
    const auto last = make_thing([&] { done.set_value(); });
    background threads(1);
    threads.add(first);
    threads.add(dropped);
    threads.add(last);
    dropped.reset();
    goes_on.set_value();
    done.get_future().wait();
    BOOST_TEST(!prepared);
}

BOOST_AUTO_TEST_CASE(a_thing_may_be_dropped_while_it_is_prepared)
{
    std::promise<void> begun, goes_on, destroyed;
    struct on_end {
        std::promise<void>& which;
        ~on_end() { which.set_value(); }
    };
    background threads(1);
    auto one = make_thing([&, end = std::shared_ptr<on_end>(new on_end{ destroyed })] {
        begun.set_value();
        goes_on.get_future().wait();
    });
    threads.add(one);
    begun.get_future().wait();
    one.reset(); // does not wait
    auto gone = destroyed.get_future();
    BOOST_TEST((gone.wait_for(std::chrono::seconds(0)) == std::future_status::timeout));
    goes_on.set_value();
    gone.wait();
}

BOOST_AUTO_TEST_CASE(the_end_waits_for_what_is_under_way_and_drops_the_rest)
{
    std::promise<void> begun;
    std::atomic<bool> ended{ false }, other{ false };
    const auto first = make_thing([&] {
        begun.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ended = true;
    });
    const auto rest = make_thing([&] { other = true; });
    {
        background threads(1);
        threads.add(first);
        threads.add(rest);
        begun.get_future().wait();
    }
    BOOST_TEST(ended);
    BOOST_TEST(!other);
}
