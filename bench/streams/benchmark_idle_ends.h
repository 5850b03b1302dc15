/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Sources and sinks that cost nothing, for benchmarks of the blocks between them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gr::cudaphy::benchmarks {

using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

constexpr int packet = 1200, packets = 500; //!< LTE, 20 MHz
constexpr auto period = std::chrono::microseconds(400);
constexpr double warm_up = 0.06;

//! The content of a source's ring, and a check of the blocks' first result.
struct content {
    content(size_t in, size_t out) : bytes(in), out_bytes(out) {}
    virtual ~content() = default;
    virtual bool is_first_result(const void* got) const = 0;

    const size_t bytes, out_bytes; //!< of an item
    std::vector<gr_complex> elements;
};

inline std::string batch_name(int max_batch)
{
    return max_batch ? "max_batch " + std::to_string(max_batch) : "automatic batch";
}

//! Matrices that are far from singular, as are their inverses.
struct matrices : content {
    explicit matrices(int n)
        : content(sizeof(gr_complex) * n * n, sizeof(gr_complex) * n * n), order(n)
    {
        std::mt19937 engine(1);
        std::normal_distribution<float> normal;
        elements.resize(size_t{ 1024 } * n * n);
        for (size_t i = 0; i < elements.size(); ++i) {
            const auto within = i % (size_t(n) * n);
            const float diagonal = within % (n + 1) == 0 ? 4 * std::sqrt(float(n)) : 0;
            elements[i] = { normal(engine) + diagonal, normal(engine) };
        }
    }
    //! The middle of a record's name, between the flowgraph and the batch.
    std::string name() const
    {
        return ", " + std::to_string(order) + " x " + std::to_string(order) + ", ";
    }
    //! Whether `first` is the inverse of the first matrix.
    bool is_first_result(const void* first) const override
    {
        const auto* got = static_cast<const gr_complex*>(first);
        for (int r = 0; r < order; ++r) {
            for (int c = 0; c < order; ++c) {
                gr_complex sum = r == c ? -1 : 0;
                for (int k = 0; k < order; ++k) {
                    sum += elements[r * order + k] * got[k * order + c];
                }
                if (!(std::abs(sum) < 1e-3)) {
                    return false;
                }
            }
        }
        return true;
    }

    const int order;
};

//! A source whose ring is written once, before the flowgraph runs.
class filled_source : public gr::sync_block
{
public:
    bool start() override
    {
        const auto ring = detail()->output(0);
        auto* to = const_cast<char*>(ring->base());
        const size_t bytes = ring->bufsize() * d_content.bytes;
        const size_t piece = d_content.elements.size() * sizeof(gr_complex);
        for (size_t at = 0; at < bytes; at += piece) {
            std::memcpy(to + at, d_content.elements.data(), std::min(piece, bytes - at));
        }
        return sync_block::start();
    }

protected:
    explicit filled_source(const content& filling)
        : gr::sync_block("filled_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, static_cast<int>(filling.bytes))),
          d_content(filling)
    {
    }

private:
    const content& d_content;
};

//! A sink that reads no item except the first.
class idle_sink : public gr::sync_block
{
public:
    void check() const
    {
        if (!d_right) {
            throw std::runtime_error(
                "the first item at the sink is not the right result");
        }
    }

protected:
    explicit idle_sink(const content& filling)
        : gr::sync_block(
              "idle_sink",
              gr::io_signature::make(1, 1, static_cast<int>(filling.out_bytes)),
              gr::io_signature::make(0, 0, 0)),
          d_content(filling)
    {
    }
    void look_at_first(const gr_vector_const_void_star& in)
    {
        if (nitems_read(0) == 0) {
            d_right = d_content.is_first_result(in[0]);
        }
    }

private:
    const content& d_content;
    bool d_right = false;
};

// For rates.

class endless_source : public filled_source
{
public:
    std::atomic<bool> ends{ false };
    explicit endless_source(const content& filling) : filled_source(filling) {}
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return ends ? static_cast<int>(WORK_DONE) : items;
    }
};

//! Measures the rate over `time` seconds after a warm-up, then ends the source.
class rate_sink : public idle_sink
{
public:
    rate_sink(const content& filling, std::shared_ptr<endless_source> source, double time)
        : idle_sink(filling), d_source(std::move(source)), d_time(time)
    {
    }
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const auto now = clock_type::now();
        look_at_first(in);
        const auto read = nitems_read(0) + items;
        if (read == uint64_t(items)) {
            d_start = now;
        }
        const auto since = seconds(now - d_start).count();
        if (since < warm_up) {
            d_from = d_to = { now, read };
        } else if (since < warm_up + d_time) {
            d_to = { now, read };
        } else {
            d_source->ends = true;
        }
        return items;
    }
    double rate() const
    {
        const auto time = seconds(d_to.when - d_from.when).count();
        if (!(time > 0.5 * d_time)) {
            throw std::runtime_error("too slow to be measured");
        }
        return double(d_to.items - d_from.items) / time;
    }

private:
    struct mark {
        clock_type::time_point when;
        uint64_t items;
    };
    const std::shared_ptr<endless_source> d_source;
    const double d_time;
    clock_type::time_point d_start;
    mark d_from{}, d_to{};
};

// For latencies.

class packet_sink : public idle_sink
{
public:
    std::atomic<size_t> packets_come{ 0 };
    std::vector<clock_type::time_point> times;
    explicit packet_sink(const content& filling) : idle_sink(filling)
    {
        times.reserve(packets);
    }
    int work(int items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        look_at_first(in);
        while (nitems_read(0) + items >= packet * (times.size() + 1)) {
            times.push_back(clock_type::now());
        }
        packets_come = times.size();
        return items;
    }
};

//! One packet a period, or later: the sink must have the packet before.
class packet_source : public filled_source
{
public:
    std::vector<clock_type::time_point> times;
    packet_source(const content& filling, std::shared_ptr<packet_sink> sink)
        : filled_source(filling), d_sink(std::move(sink))
    {
        set_output_multiple(packet);
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        if (times.size() == packets) {
            return WORK_DONE;
        }
        do {
            std::this_thread::sleep_for(period);
        } while (d_sink->packets_come < times.size());
        add_item_tag(
            0, nitems_written(0), pmt::intern("packet_len"), pmt::from_long(packet));
        times.push_back(clock_type::now());
        return packet;
    }

private:
    const std::shared_ptr<packet_sink> d_sink;
};

} // namespace gr::cudaphy::benchmarks
