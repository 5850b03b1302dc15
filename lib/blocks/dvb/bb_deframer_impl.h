/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <chrono>
#include <gnuradio/cudaphy/bb_deframer.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <optional>
#include <vector>

namespace gr::cudaphy {

class bb_deframer_impl : public bb_deframer, public counting_block
{
public:
    bb_deframer_impl(int frame_bits,
                     const kernels::bb_deframer::parameters& parameters,
                     bool packed,
                     const std::string& length_tag_key);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override;

    kernels::bb_deframer::counts so_far() const override;
    bool last_header(kernels::bb_header& header) const override;
    block_statistics statistics() const override;

private:
    //! A packet of the input: its items that are still to come, and of how many items its
    //! frames are; 0: none has begun.
    struct open_packet {
        uint64_t left;
        size_t frame_items;
    };

    std::vector<tag_t> tags_of_interest(uint64_t first, uint64_t end);
    void heed(const std::vector<tag_t>& tags, uint64_t item);
    void begin_packet(int64_t length, uint64_t item);
    void pass_over(const std::string& reason);
    void warn_sometimes(const std::string& text);
    void take(const uint8_t* items, size_t count);
    void take_frame(const uint8_t* frame, size_t bytes);
    void publish_frame(const uint8_t* frame, size_t bytes, bool ok);
    void publish_packets();
    void publish_status();
    bool is_connected(const pmt::pmt_t& port);
    size_t put_out(uint8_t* to, size_t given, size_t room);

    const size_t d_frame_items; //!< 0: each packet is a frame
    const kernels::bb_deframer::parameters d_parameters;
    const bool d_packed;
    const pmt::pmt_t d_key; //!< null: a plain stream
    const size_t d_most_items;

    // The input.
    open_packet d_packet{};
    bool d_passes_over = false;   //!< up to the next packet, which was told of
    std::vector<uint8_t> d_items; //!< of the frame under way, unless all came at once
    bool d_ok = true;             //!< the frame under way
    std::vector<uint8_t> d_bytes; //!< of the last frame, packed here

    mutable gr::thread::mutex d_counts_mutex;
    std::unique_ptr<kernels::bb_deframer> d_kernel;

    // The output.
    kernels::bb_deframer::output d_out;
    size_t d_sent = 0;                           //!< bytes of d_out.transport
    std::optional<uint64_t> d_lost = {};         //!< frames since the last packet
    std::optional<uint64_t> d_lost_to_tell = {}; //!< before the first byte of d_out
    bool d_packets_wanted = false, d_frames_wanted = false, d_status_wanted = false;
    std::optional<std::chrono::steady_clock::time_point> d_last_status, d_last_warning;
};

} // namespace gr::cudaphy
