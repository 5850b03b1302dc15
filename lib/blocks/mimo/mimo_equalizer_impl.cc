/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/mimo_equalizer_impl.h"
#include "blocks/block_options.h"
#include "kernels/common/sizes.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::equalizer::parameters;

//! The kernel's own checks, before GNU Radio is asked for ports of an impossible width.
const parameters& checked(const parameters& p)
{
    kernels::equalizer::make(p, backend::reference);
    checked_product(
        "mimo_equalizer: symbols * tones * bytes of a received vector",
        1 << 28,
        { p.symbols, p.tones, int64_t(sizeof(complex64)) * p.receive_antennas });
    return p;
}

size_t received_bytes(const parameters& p)
{
    return sizeof(complex64) * p.receive_antennas;
}
size_t channel_bytes(const parameters& p) { return received_bytes(p) * p.layers; }
size_t layers_bytes(const parameters& p) { return sizeof(complex64) * p.layers; }
size_t noise_bytes(const parameters& p) { return sizeof(float) * p.layers; }

size_t covariance_bytes(const parameters& p)
{
    return received_bytes(p) * p.receive_antennas;
}

std::vector<batch_port> input_ports(const parameters& p, const equalizer_ports& ports)
{
    std::vector<batch_port> all{ { received_bytes(p), p.symbols * p.tones } };
    if (ports.channel > 0) {
        all.push_back({ channel_bytes(p), p.tones });
    }
    if (ports.noise > 0) {
        all.push_back({ sizeof(float), 1 });
    }
    if (ports.covariance > 0) {
        all.push_back({ covariance_bytes(p), 1 });
    }
    return all;
}

std::vector<int> item_sizes(const parameters& p, const equalizer_ports& ports)
{
    std::vector<int> sizes;
    for (const auto& port : input_ports(p, ports)) {
        sizes.push_back(static_cast<int>(port.item_bytes));
    }
    return sizes;
}

/*!
 * Values for each slot of a batch in the queue's memory. What is there already, because
 * the batches before had the same, is not sent again.
 */
template <typename T, typename Key>
class slot_values
{
public:
    //! `fill(slot, to)` writes a slot's `width` values; keys that are equal stand for
    //! equal values.
    template <typename KeyOf, typename Fill>
    view<const T>
    set(int slots, size_t width, const KeyOf& key, const Fill& fill, queue& work_queue)
    {
        bool same = size_t(slots) <= d_keys.size();
        for (int slot = 0; same && slot < slots; ++slot) {
            same = d_keys[slot] == key(slot);
        }
        if (!same) {
            work_queue
                .synchronize(); // what still reads the old ones, and the copy of them
            d_keys.clear();
            d_here.resize(slots * width);
            for (int slot = 0; slot < slots; ++slot) {
                d_keys.push_back(key(slot));
                fill(slot, d_here.data() + slot * width);
            }
            if (d_there.size() < d_here.size()) {
                d_there = array<T>(work_queue, d_here.size());
            }
            work_queue.copy_in(d_there.data(), d_here.data(), d_here.size() * sizeof(T));
        }
        return { d_there.data(), slots * width };
    }

private:
    std::vector<Key> d_keys;
    std::vector<T> d_here;
    array<T> d_there;
};

class equalizer_job : public batch_job
{
public:
    using values = equalizer_inputs::values;

    equalizer_job(const parameters& p,
                  const equalizer_ports& ports,
                  mimo_equalizer_impl& block,
                  queue& work_queue)
        : d_p(p), d_ports(ports), d_block(block),
          d_kernel(kernels::equalizer::make(p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        const auto& side_inputs = d_block.next_slots(work.frames);
        const size_t vectors = size_t(d_p.symbols) * d_p.tones;
        const size_t square = size_t(d_p.receive_antennas) * d_p.receive_antennas;
        const size_t matrices = size_t(d_p.tones) * d_p.receive_antennas * d_p.layers;
        const auto h = d_ports.channel > 0
                           ? work.input<complex64>(d_ports.channel, matrices)
                           : d_channels.set(
                                 work.frames,
                                 matrices,
                                 [&](int slot) { return side_inputs[slot].channel; },
                                 [&](int slot, complex64* to) {
                                     if (side_inputs[slot].channel) {
                                         std::copy_n(side_inputs[slot].channel->data(),
                                                     matrices,
                                                     to);
                                     } else {
                                         std::fill_n(to, matrices, complex64(NAN, NAN));
                                     }
                                 },
                                 work_queue);
        const auto run = [&](auto variance) {
            d_kernel->run(work.input<complex64>(0, vectors * d_p.receive_antennas),
                          h,
                          variance,
                          work.output<complex64>(0, vectors * d_p.layers),
                          work.output<float>(1, vectors * d_p.layers),
                          { work.status, size_t(work.frames) * d_p.tones },
                          work_queue);
        };
        if (d_ports.covariance > 0) {
            run(work.input<complex64>(d_ports.covariance, square));
        } else if (side_inputs.back().covariance) {
            // Slots of a batch from before the first covariance have white noise.
            run(d_covariances.set(
                work.frames,
                square,
                [&](int slot) {
                    return std::pair(side_inputs[slot].covariance,
                                     side_inputs[slot].noise_variance);
                },
                [&](int slot, complex64* to) {
                    const auto& own = side_inputs[slot].covariance;
                    for (size_t e = 0; e < square; ++e) {
                        const bool diagonal = e % (d_p.receive_antennas + 1) == 0;
                        to[e] = own        ? (*own)[e]
                                : diagonal ? side_inputs[slot].noise_variance
                                           : 0.0f;
                    }
                },
                work_queue));
        } else if (d_ports.noise > 0) {
            run(work.input<float>(d_ports.noise, 1));
        } else {
            run(d_variances.set(
                work.frames,
                1,
                [&](int slot) { return side_inputs[slot].noise_variance; },
                [&](int slot, float* to) { *to = side_inputs[slot].noise_variance; },
                work_queue));
        }
    }

private:
    const parameters d_p;
    const equalizer_ports d_ports;
    mimo_equalizer_impl& d_block;
    slot_values<complex64, values> d_channels;
    slot_values<complex64, std::pair<values, float>> d_covariances;
    slot_values<float, float> d_variances;
    std::unique_ptr<kernels::equalizer> d_kernel;
};

const std::string& checked_source(const char* what,
                                  const std::string& given,
                                  const std::vector<std::string>& known)
{
    std::string all;
    for (const auto& each : known) {
        if (given == each) {
            return given;
        }
        all += (all.empty() ? "\"" : ", \"") + each + "\"";
    }
    throw std::invalid_argument(std::string(what) + " \"" + given + "\" is none of " +
                                all);
}

} // namespace

mimo_equalizer::sptr mimo_equalizer::make(int receive_antennas,
                                          int layers,
                                          const std::string& method,
                                          bool unbiased,
                                          int symbols,
                                          int tones,
                                          bool noise_input,
                                          float noise_variance,
                                          const std::string& length_tag_key,
                                          const std::string& backend,
                                          int device,
                                          int max_batch,
                                          double max_latency,
                                          const std::string& channel_from,
                                          const std::string& covariance_from,
                                          const std::string& route)
{
    checked_source("channel_from", channel_from, { "port", "tag", "message" });
    checked_source("covariance_from", covariance_from, { "none", "port", "message" });
    if (covariance_from != "none" && method != "mmse_irc") {
        throw std::invalid_argument("a covariance is for the method \"mmse_irc\" alone");
    }
    if (covariance_from == "port" && noise_input) {
        throw std::invalid_argument(
            "the covariance's port leaves no use for the noise variance's");
    }
    equalizer_ports ports{ -1, -1, -1 };
    int next = 1;
    ports.channel = channel_from == "port" ? next++ : -1;
    ports.noise = noise_input ? next++ : -1;
    ports.covariance = covariance_from == "port" ? next++ : -1;
    return gnuradio::make_block_sptr<mimo_equalizer_impl>(
        checked({ receive_antennas,
                  layers,
                  kernels::detector_from_name(method),
                  unbiased,
                  symbols,
                  tones,
                  kernels::equalizer_route_from_name(route) }),
        ports,
        channel_from,
        covariance_from,
        checked_noise_variance(noise_variance),
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

mimo_equalizer_impl::mimo_equalizer_impl(const parameters& p,
                                         const equalizer_ports& ports,
                                         const std::string& channel_from,
                                         const std::string& covariance_from,
                                         float noise_variance,
                                         const batch_options& options)
    : gr::block(
          "mimo_equalizer",
          gr::io_signature::makev(ports.count(), ports.count(), item_sizes(p, ports)),
          gr::io_signature::make2(1, 2, layers_bytes(p), noise_bytes(p))),
      batch_block(options,
                  input_ports(p, ports),
                  { { layers_bytes(p), p.symbols * p.tones },
                    { noise_bytes(p), p.symbols * p.tones } },
                  p.tones),
      d_parameters(p), d_ports(ports), d_length_tag_key(options.length_tag_key),
      d_side_inputs(p, channel_from == "tag", ports.noise < 0, noise_variance),
      d_noise_variance(noise_variance)
{
    if (channel_from == "message") {
        listen("channel", &equalizer_inputs::set_channel);
    }
    if (covariance_from == "message") {
        listen("covariance", &equalizer_inputs::set_covariance);
    }
    if (ports.noise < 0) {
        listen("noise_var", &equalizer_inputs::set_noise_variance);
    }
    make_jobs();
}

void mimo_equalizer_impl::listen(const char* port,
                                 void (equalizer_inputs::*set)(const pmt::pmt_t&))
{
    message_port_register_in(pmt::mp(port));
    set_msg_handler(pmt::mp(port), [this, port, set](const pmt::pmt_t& message) {
        try {
            (d_side_inputs.*set)(message);
        } catch (const std::invalid_argument& problem) {
            d_logger->warn("the message on {} {}", port, problem.what());
        }
    });
}

bool mimo_equalizer_impl::start()
{
    d_side_inputs.restart();
    return batch_block::start();
}

void mimo_equalizer_impl::set_noise_variance(float noise_variance)
{
    d_noise_variance = checked_noise_variance(noise_variance);
    d_noise_is_set = true;
}

const std::vector<equalizer_inputs::state>& mimo_equalizer_impl::next_slots(int slots)
{
    if (d_noise_is_set.exchange(false)) {
        d_side_inputs.set_noise_now(d_noise_variance);
    }
    std::vector<tag_t> tags;
    const auto first = d_side_inputs.next_item();
    get_tags_in_range(tags, 0, first, first + slots * d_side_inputs.items_a_slot());
    if (d_ports.channel > 0) {
        std::vector<tag_t> marks;
        const uint64_t matrix = first / d_parameters.symbols;
        get_tags_in_range(marks,
                          d_ports.channel,
                          matrix,
                          matrix + uint64_t(slots) * d_parameters.tones,
                          pmt::intern("frame_start"));
        check_frame_starts(marks, d_ports.channel, d_parameters.tones);
    }
    const auto& side_inputs = d_side_inputs.next_slots(
        slots, std::move(tags), d_length_tag_key, [&](const auto& text) {
            warn_sometimes(text);
        });
    if (d_ports.noise < 0 && !d_noise_is_set) {
        d_noise_variance = side_inputs.back().noise_variance;
    }
    return side_inputs;
}

std::string mimo_equalizer_impl::frame_sizes() const
{
    return std::to_string(d_parameters.symbols) + " symbols x " +
           std::to_string(d_parameters.tones) + " tones";
}

std::unique_ptr<batch_job> mimo_equalizer_impl::make_job(queue& work_queue)
{
    return std::make_unique<equalizer_job>(d_parameters, d_ports, *this, work_queue);
}

void mimo_equalizer_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const int* of_tone = status.words + frame * d_parameters.tones;
    for (int tone = 0; tone < d_parameters.tones; ++tone) {
        if (of_tone[tone] != 0) {
            ++d_failures;
            add_item_tag(0,
                         item + tone,
                         pmt::mp("singular"),
                         pmt::from_long(of_tone[tone]),
                         alias_pmt());
            warn_sometimes("the channel matrix of item " + std::to_string(item + tone) +
                           " can't be used (status " + std::to_string(of_tone[tone]) +
                           ")");
        }
    }
}

} // namespace gr::cudaphy
