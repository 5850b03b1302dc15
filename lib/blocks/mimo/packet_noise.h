/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief The noise variances of packets that wait for their batches.
 *
 * A batch groups frames by kind, but those of one kind stay in order. So the packets of
 * each kind have a line of their own.
 */
class packet_noise
{
public:
    //! Frames side by side that have one noise variance.
    struct run {
        uint64_t frames;
        float variance;
    };

    explicit packet_noise(size_t kinds) : d_waiting(kinds) {}
    void clear()
    {
        for (auto& line : d_waiting) {
            line.clear();
        }
    }
    //! A packet's frames, in the order of the stream.
    void add(int kind, uint64_t frames, float variance)
    {
        auto& line = d_waiting[kind];
        if (!line.empty() && line.back().variance == variance) {
            line.back().frames += frames;
        } else {
            line.push_back({ frames, variance });
        }
    }
    //! Those of the next frames of a kind.
    std::vector<run> take(int kind, uint64_t frames)
    {
        auto& line = d_waiting[kind];
        std::vector<run> taken;
        while (frames > 0 && !line.empty()) {
            auto& next = line.front();
            taken.push_back({ std::min(frames, next.frames), next.variance });
            frames -= taken.back().frames;
            next.frames -= taken.back().frames;
            if (next.frames == 0) {
                line.pop_front();
            }
        }
        return taken;
    }

    std::atomic<float> newest{ 0 }; //!< of packets without a tag of their own

private:
    std::vector<std::deque<run>> d_waiting;
};

} // namespace gr::cudaphy
