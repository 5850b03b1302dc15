/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/nr5g/soft_buffer_access.h"
#include "kernels/nr/require.h"
#include <gnuradio/cudaphy/kernels/nr/harq.h>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int most_processes = 32; // TS 38.214, 5.1 and 6.1

} // namespace

harq::harq(int processes, size_t max_bytes) : d_max_bytes(max_bytes)
{
    require(processes >= 1 && processes <= most_processes,
            "there are 1 to 32 HARQ processes, not " + std::to_string(processes) +
                " (TS 38.214, 5.1 and 6.1)");
    d_processes.resize(processes);
}

void harq::require_process(int process) const
{
    require(process >= 0 && process < processes(),
            "HARQ process " + std::to_string(process) + " is unknown; there are 0 to " +
                std::to_string(processes() - 1));
}

size_t harq::bytes_of(const process_blocks& blocks) const
{
    size_t sum = 0;
    for (const auto& one : blocks) {
        sum += one.received.bytes();
    }
    return sum;
}

size_t harq::bytes() const
{
    const std::lock_guard<std::mutex> turn(d_turn);
    size_t sum = 0;
    for (const auto& blocks : d_processes) {
        sum += bytes_of(blocks);
    }
    return sum;
}

bool harq::holds(int process) const
{
    require_process(process);
    const std::lock_guard<std::mutex> turn(d_turn);
    return !d_processes[process].empty();
}

void harq::release(int process)
{
    require_process(process);
    const std::lock_guard<std::mutex> turn(d_turn);
    d_processes[process] = {};
}

void harq::check(int process,
                 bool new_data,
                 const shared_channel& channel,
                 size_t bytes) const
{
    require_process(process);
    const auto& held = d_processes[process];
    const auto& wanted = channel.codewords();
    if (!new_data && !held.empty()) {
        for (size_t i = 0; i < wanted.size(); ++i) {
            const bool equal = held.size() == wanted.size() &&
                               held[i].payload == wanted[i].payload &&
                               held[i].base_graph == wanted[i].blocks.base_graph &&
                               held[i].limited_buffer == wanted[i].limited_buffer;
            require(equal,
                    "HARQ process " + std::to_string(process) +
                        " holds a transport block of " +
                        std::to_string(held[i < held.size() ? i : 0].payload) +
                        " bits, but this retransmission has " +
                        std::to_string(wanted[i].payload) +
                        ", or another base graph or limited buffer; give new_data (TS "
                        "38.321, 5.4.2.2)");
        }
        return;
    }
    size_t sum = bytes;
    for (const auto& blocks : d_processes) {
        sum += &blocks == &held ? 0 : bytes_of(blocks);
    }
    require(sum <= d_max_bytes,
            "HARQ processes would hold " + std::to_string(sum) + " bytes; max_bytes is " +
                std::to_string(d_max_bytes) +
                ". Release processes, give more, or limit the buffer (TS 38.212, "
                "5.4.2.1)");
}

harq::process_blocks& harq::prepare(int process,
                                    bool new_data,
                                    const shared_channel& channel,
                                    const std::vector<std::unique_ptr<decoder>>& decoders,
                                    bool in_gpu)
{
    using access = nr5g::soft_buffer_access;
    process_blocks fresh;
    size_t i = 0;
    if (new_data || d_processes.at(process).empty()) {
        for (const auto& one : channel.codewords()) {
            fresh.push_back(
                { one.payload,
                  one.blocks.base_graph,
                  one.limited_buffer,
                  in_gpu ? access::reserve(*decoders[i]) : decoders[i]->make_buffer() });
            ++i;
        }
    }
    check(process, new_data, channel, bytes_of(fresh));
    if (!fresh.empty()) {
        auto& held = d_processes[process];
        for (i = 0; in_gpu && i < fresh.size() && i < held.size(); ++i) {
            // The same memory serves, if it is of the same shape.
            const auto &a = fresh[i], &b = held[i];
            if (a.payload == b.payload && a.base_graph == b.base_graph &&
                a.limited_buffer == b.limited_buffer &&
                a.received.bytes() == b.received.bytes()) {
                access::in_gpu(fresh[i].received) = access::in_gpu(held[i].received);
            }
        }
        d_processes[process] = std::move(fresh);
    }
    return d_processes[process];
}

} // namespace gr::cudaphy::kernels::nr
