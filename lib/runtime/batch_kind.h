/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

//! One port: the bytes of its items, and how many of them belong to one frame.
struct batch_port {
    size_t item_bytes;
    int items;
};

//! Frames of one size: how many items of each port belong to one of them, and how many of
//! them a launch holds at most.
struct batch_kind {
    std::vector<int> in, out;
    int max_batch;
};

//! What a batch holds: items of each port, frames, and frames of each kind.
struct batch_load {
    std::vector<size_t> in, out;
    int frames = 0;
    std::vector<int> of_kind;

    explicit batch_load(size_t inputs = 0, size_t outputs = 0, size_t kinds = 0)
        : in(inputs), out(outputs), of_kind(kinds)
    {
    }
    //! The least that holds a full batch of each kind by itself.
    static batch_load largest(const std::vector<batch_kind>& kinds);

    void add(const batch_kind& kind, int number, int frames);
    //! How many frames of a kind fit beside these, if a batch holds `most`.
    int room_for(const batch_kind& kind, int number, const batch_load& most) const;
};

//! Frames of a batch where the user names no number.
int default_batch(backend where,
                  const std::vector<batch_port>& inputs,
                  const std::vector<batch_port>& outputs);

//! How many frames a batch may hold, so that neither a port's part of it nor the status
//! words exceed 256 MiB. \throws std::invalid_argument if a single frame does; its text
//! begins with `block`
int most_frames(const std::string& block,
                const batch_kind& kind,
                const std::vector<batch_port>& inputs,
                const std::vector<batch_port>& outputs,
                int status_words);

} // namespace gr::cudaphy
