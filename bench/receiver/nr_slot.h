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
    int blocks, antennas; //!< as many layers
    kernels::nr::mcs_table table;
    int mcs;
    double noise_variance;
};

// TS 38.214, tables 5.1.3.1-2 and 5.1.3.1-1.
constexpr scenario peak{ "273 PRB, 4 x 4, 256-QAM",      273, 4,
                         kernels::nr::mcs_table::qam256, 27,  6e-4 };
constexpr scenario small{ "52 PRB, 2 x 2, 64-QAM",       52, 2,
                          kernels::nr::mcs_table::qam64, 20, 1e-2 };

inline kernels::nr::shared_channel::sptr channel_of(const scenario& of)
{
    kernels::nr::shared_channel_parameters p;
    p.grid_size = p.bwp_size = of.blocks;
    for (int i = 0; i < of.blocks; ++i) {
        p.resource_blocks.push_back(i);
    }
    p.layers = of.antennas;
    p.dmrs.ports.clear();
    for (int i = 0; i < of.antennas; ++i) {
        p.dmrs.ports.push_back(i);
    }
    p.dmrs.additional_position = 1;
    p.table = of.table;
    p.mcs[0] = of.mcs;
    return kernels::nr::shared_channel::make(p);
}

//! A slot at the antennas: each port's path to each antenna has a delay of its own.
inline std::vector<complex64>
received_slot(const scenario& of,
              const kernels::nr::shared_channel::sptr& channel,
              const std::vector<uint8_t>& payload,
              int slot)
{
    const int antennas = of.antennas;
    kernels::nr::transmitter sender(channel, backend::cpu);
    const auto& map = channel->map();
    const size_t size = size_t(map.symbols) * map.subcarriers;
    std::vector<complex64> ports(size * antennas), out(size * antennas);
    sender.run({ payload }, slot, { 0 }, ports);
    std::mt19937 random(slot + 1);
    std::normal_distribution<float> normal(0, std::sqrt(float(of.noise_variance) / 2));
    for (int a = 0; a < antennas; ++a) {
        for (size_t i = 0; i < size; ++i) {
            complex64 sum(normal(random), normal(random));
            const double tone = double(i % map.subcarriers) - map.subcarriers / 2.0;
            for (int p = 0; p < antennas; ++p) {
                // A unitary matrix at each tone.
                const double delay = (20e-9 * a + 10e-9 * p) * 30e3;
                const double turns = double(a * p) / antennas - delay * tone;
                sum += ports[p * size + i] *
                       complex64(std::polar(1 / std::sqrt(double(antennas)),
                                            2 * 3.14159265358979323846 * turns));
            }
            out[a * size + i] = sum;
        }
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
