/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <random>

// Slots of 5G NR that benchmarks receive.

namespace gr::cudaphy::benchmarks {

struct scenario {
    const char* name;
    const char* word;                    //!< by which it is asked for
    int blocks, antennas, users, layers; //!< layers of each user
    kernels::nr::mcs_table table;
    int mcs;
    double noise_variance;
    bool transform_precoding = false;
    bool ptrs = false;
};

// TS 38.214, tables 5.1.3.1-2, 5.1.3.1-1 and 6.1.4.1-1.
constexpr scenario peak{ "273 PRB, 4 x 4, 256-QAM",      "peak", 273, 4, 1, 4,
                         kernels::nr::mcs_table::qam256, 27,     6e-4 };
constexpr scenario small{ "52 PRB, 2 x 2, 64-QAM",       "small", 52,  2, 1, 2,
                          kernels::nr::mcs_table::qam64, 20,      1e-2 };
constexpr scenario precoded{
    "270 PRB, 1 x 4, transform precoding, 64-QAM", "precoded", 270,  4,   1, 1,
    kernels::nr::mcs_table::transform_qam64,       27,         2e-3, true
};
constexpr scenario precoded_ptrs{ "270 PRB, 1 x 4, transform precoding, PT-RS, 64-QAM",
                                  "ptrs",
                                  270,
                                  4,
                                  1,
                                  1,
                                  kernels::nr::mcs_table::transform_qam64,
                                  26,
                                  2e-3,
                                  true,
                                  true };
constexpr scenario massive{ "273 PRB, 2 users of 4 layers x 64, 256-QAM",
                            "massive",
                            273,
                            64,
                            2,
                            4,
                            kernels::nr::mcs_table::qam256,
                            27,
                            6e-4 };
constexpr scenario most_massive{ "273 PRB, 3 users of 4 layers x 64, 256-QAM",
                                 "massive12",
                                 273,
                                 64,
                                 3,
                                 4,
                                 kernels::nr::mcs_table::qam256,
                                 27,
                                 6e-4 };

inline kernels::nr::shared_channel::sptr channel_of(const scenario& of, int user = 0)
{
    kernels::nr::shared_channel_parameters p;
    p.grid_size = p.bwp_size = of.blocks;
    for (int i = 0; i < of.blocks; ++i) {
        p.resource_blocks.push_back(i);
    }
    p.layers = of.layers;
    p.rnti = 1 + user;
    const int all = of.users * of.layers;
    p.dmrs.type = all > 8 ? 2 : 1;
    p.dmrs.length = all > 4 ? 2 : 1;
    if (all > 8) {
        p.dmrs.cdm_groups_without_data = 3;
    }
    p.dmrs.ports.clear();
    for (int i = 0; i < of.layers; ++i) {
        p.dmrs.ports.push_back(user * of.layers + i);
    }
    p.dmrs.additional_position = 1;
    p.table = of.table;
    p.mcs[0] = of.mcs;
    p.transform_precoding = of.transform_precoding;
    if (of.transform_precoding) {
        p.dmrs.cdm_groups_without_data = 2;
    }
    p.ptrs.on = of.ptrs;
    p.ptrs.groups = 8;
    p.ptrs.samples = 4;
    return kernels::nr::shared_channel::make(p);
}

//! Adds a user's slot at the antennas: each port's path to each antenna has a delay of
//! its own. \param first  ports of other users before
inline void add_user(const scenario& of,
                     const kernels::nr::shared_channel::sptr& channel,
                     const std::vector<uint8_t>& payload,
                     int slot,
                     int first,
                     std::vector<complex64>& out)
{
    kernels::nr::transmitter sender(channel, backend::cpu);
    const auto& map = channel->map();
    const size_t size = size_t(map.symbols) * map.subcarriers;
    std::vector<complex64> ports(size * of.layers);
    sender.run({ payload }, slot, { 0 }, ports);
    std::vector<complex64> path(map.subcarriers);
    for (int a = 0; a < of.antennas; ++a) {
        for (int p = 0; p < of.layers; ++p) {
            for (int k = 0; k < map.subcarriers; ++k) {
                // Orthonormal columns at each tone.
                const double delay = (20e-9 * (a % 4) + 10e-9 * (first + p)) * 30e3;
                const double turns = double(a) * (first + p) / of.antennas -
                                     delay * (k - map.subcarriers / 2.0);
                path[k] = complex64(std::polar(1 / std::sqrt(double(of.antennas)),
                                               2 * 3.14159265358979323846 * turns));
            }
            for (size_t i = 0; i < size; ++i) {
                out[a * size + i] += ports[p * size + i] * path[i % map.subcarriers];
            }
        }
    }
}

//! A slot of all users at the antennas, with noise.
inline std::vector<complex64>
received_slot(const scenario& of,
              const std::vector<kernels::nr::shared_channel::sptr>& channels,
              const std::vector<std::vector<uint8_t>>& payloads,
              int slot)
{
    const auto& map = channels.front()->map();
    std::vector<complex64> out(size_t(of.antennas) * map.symbols * map.subcarriers);
    std::mt19937 random(slot + 1);
    std::normal_distribution<float> normal(0, std::sqrt(float(of.noise_variance) / 2));
    for (auto& sample : out) {
        sample = complex64(normal(random), normal(random));
    }
    for (int u = 0; u < of.users; ++u) {
        add_user(of, channels[u], payloads[u], slot, u * of.layers, out);
    }
    return out;
}

//! Random bits of a transport block.
inline std::vector<uint8_t> random_payload(const kernels::nr::shared_channel& channel)
{
    std::vector<uint8_t> payload(channel.codewords().front().payload);
    std::mt19937 random(1);
    for (auto& bit : payload) {
        bit = static_cast<uint8_t>(random() >> 31);
    }
    return payload;
}

} // namespace gr::cudaphy::benchmarks
