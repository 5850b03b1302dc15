/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/equalizer_inputs.h"
#include "blocks/block_options.h"
#include "runtime/stream/pmt_number.h"
#include <limits>

namespace gr::cudaphy {

equalizer_inputs::equalizer_inputs(const kernels::equalizer::parameters& p,
                                   bool channel_tags,
                                   bool noise_tags,
                                   float noise_variance)
    : d_matrix(size_t(p.receive_antennas) * p.layers),
      d_square(size_t(p.receive_antennas) * p.receive_antennas), d_tones(p.tones),
      d_items(uint64_t(p.symbols) * p.tones), d_channel_tags(channel_tags),
      d_noise_tags(noise_tags), d_now{ {}, {}, noise_variance }, d_message{
          {}, {}, std::numeric_limits<float>::quiet_NaN()
      }
{
}

void equalizer_inputs::restart()
{
    d_next_slot = 0;
    d_late.clear();
}

equalizer_inputs::values
equalizer_inputs::parsed(const pmt::pmt_t& message, size_t one, size_t all) const
{
    auto value = pmt::is_pair(message) ? pmt::cdr(message) : message;
    if (!pmt::is_c32vector(value)) {
        throw std::invalid_argument("is no vector of complex numbers (c32vector)");
    }
    const auto given = pmt::c32vector_elements(value);
    if (given.size() != one && given.size() != all) {
        throw std::invalid_argument("has " + std::to_string(given.size()) +
                                    " values, not " + std::to_string(one) +
                                    (all != one ? " or " + std::to_string(all) : ""));
    }
    auto out = std::make_shared<std::vector<complex64>>();
    while (out->size() < all) {
        out->insert(out->end(), given.begin(), given.end());
    }
    return out;
}

void equalizer_inputs::set_channel(const pmt::pmt_t& message)
{
    d_message.channel = parsed(message, d_matrix, d_matrix * d_tones);
}

void equalizer_inputs::set_covariance(const pmt::pmt_t& message)
{
    d_message.covariance = parsed(message, d_square, d_square);
}

void equalizer_inputs::set_noise_variance(const pmt::pmt_t& message)
{
    d_message.noise_variance =
        noise_variance_of(pmt::is_pair(message) ? pmt::cdr(message) : message);
}

void equalizer_inputs::take_message()
{
    if (d_message.channel) {
        d_now.channel = std::move(d_message.channel);
    }
    if (d_message.covariance) {
        d_now.covariance = std::move(d_message.covariance);
    }
    if (d_message.noise_variance == d_message.noise_variance) {
        d_now.noise_variance = d_message.noise_variance;
    }
    d_message = { {}, {}, std::numeric_limits<float>::quiet_NaN() };
}

float noise_variance_of(const pmt::pmt_t& value)
{
    const auto number = real_number(value);
    if (!number) {
        throw std::invalid_argument("is no real number");
    }
    return checked_noise_variance(static_cast<float>(*number));
}

} // namespace gr::cudaphy
