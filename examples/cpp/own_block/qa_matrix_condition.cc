/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE matrix_condition
#include "kernels/common/testing.h"
#include "matrix_condition.h"
#include <boost/test/unit_test.hpp>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>

using namespace gr::cudaphy;

BOOST_AUTO_TEST_CASE(conditions_of_matrices_stream_through_the_block)
{
    const auto where = testing::tested_backend();
    constexpr int matrices = 1000;
    std::vector<complex64> items;
    for (int m = 0; m < matrices; ++m) {
        // diag(1, 2^-(m mod 8)); number 500 is singular.
        const float last = m == 500 ? 0 : 1.0f / (1 << m % 8);
        items.insert(items.end(), { 1, 0, 0, last });
    }
    batch_options options;
    options.backend = name_of(where);
    auto source = gr::blocks::vector_source_c::make(items, false, 4);
    auto block = gnuradio::make_block_sptr<matrix_condition>(2, options);
    auto sink = gr::blocks::vector_sink_f::make();
    auto top = gr::make_top_block("conditions");
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    top->run();

    BOOST_TEST(block->used_backend() == name_of(where));
    const auto conditions = sink->data();
    BOOST_REQUIRE(conditions.size() == matrices);
    for (int m = 0; m < matrices; ++m) {
        if (m != 500) {
            BOOST_TEST(conditions[m] == 1.0f / (1 << m % 8),
                       boost::test_tools::tolerance(1e-6f));
        }
    }
    const auto tags = sink->tags();
    BOOST_REQUIRE(tags.size() == 1);
    BOOST_TEST(tags[0].offset == 500);
    BOOST_TEST(pmt::symbol_to_string(tags[0].key) == "singular");
    BOOST_TEST(pmt::to_long(tags[0].value) == 2);
}
