/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/block_counters.h"
#include "runtime/device/stopwatch.h"
#include "runtime/stream/packet_cutter.h"
#include <atomic>
#include <chrono>
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <gnuradio/cudaphy/symmetric_inverse.h>
#include <optional>

namespace gr::cudaphy {

/*!
 * \brief Gathers rows until a matrix is complete, because no ring of GNU Radio holds a
 * large matrix. All rows of the inverse go out before new rows come in.
 */
template <typename T>
class symmetric_inverse_impl : public symmetric_inverse, public counting_block
{
public:
    using kernel = kernels::symmetric_inverse<T>;

    symmetric_inverse_impl(const typename kernel::parameters& parameters,
                           bool check,
                           const std::string& length_tag_key,
                           const resolved_backend& where);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t failures() const override { return d_failures; }
    uint64_t matrices() const override { return d_matrices; }
    block_statistics statistics() const override { return d_counters.now(); }
    void setup_rpc() override { d_counters.register_at_control_port(alias()); }

private:
    int gather(const T* rows, int count);
    void begin_matrix(uint64_t item);
    void invert();
    int put_out(T* rows, int most);
    void fail(size_t matrix, const char* tag, pmt::pmt_t value, const std::string& text);
    void tell_progress(double share);

    const size_t d_order, d_most; // rows of a matrix, matrices at once
    const bool d_check;
    const std::string d_key;
    const resolved_backend d_backend;
    block_counters d_counters;
    std::unique_ptr<queue> d_queue;
    stopwatch d_watch;
    std::unique_ptr<kernel> d_kernel;
    array<T> d_on_device; //!< empty if kernels reach d_values
    array<unsigned char> d_workspace;
    array<int> d_status;
    std::shared_ptr<void> d_memory;

    T* d_values;           //!< d_most matrices: gathered, then inverted in place
    size_t d_gathered = 0; //!< rows in d_values
    size_t d_inverted = 0; //!< rows of inverses among them
    size_t d_given = 0;    //!< rows of inverses that are put out
    std::vector<size_t> d_asymmetric; //!< indices of matrices that are not symmetric
    std::vector<tag_t> d_tags;        //!< of rows that are not put out yet
    uint64_t d_begun = 0;             //!< matrices of packets, since start()
    std::optional<packet_cutter> d_packets;
    std::string d_problem;
    std::chrono::steady_clock::time_point d_last_told;
    std::atomic<uint64_t> d_failures{ 0 }, d_matrices{ 0 };
};

} // namespace gr::cudaphy
