/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mimo_equalizer_impl.h"
#include "block_options.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::equalizer::parameters;

//! The kernel's own checks, before GNU Radio is asked for ports of an impossible width.
const parameters& checked(const parameters& p)
{
    kernels::equalizer::make(p, backend::reference);
    return p;
}

size_t received_bytes(const parameters& p)
{
    return sizeof(complex64) * p.receive_antennas;
}
size_t channel_bytes(const parameters& p) { return received_bytes(p) * p.layers; }
size_t layers_bytes(const parameters& p) { return sizeof(complex64) * p.layers; }
size_t noise_bytes(const parameters& p) { return sizeof(float) * p.layers; }

std::vector<batch_port> input_ports(const parameters& p, bool noise_input)
{
    std::vector<batch_port> ports{ { received_bytes(p), p.symbols * p.tones },
                                   { channel_bytes(p), p.tones } };
    if (noise_input) {
        ports.push_back({ sizeof(float), 1 });
    }
    return ports;
}

class equalizer_job : public batch_job
{
public:
    equalizer_job(const parameters& p, const std::atomic<float>* fixed_noise, queue& line)
        : d_p(p), d_vectors(size_t(p.symbols) * p.tones), d_fixed_noise(fixed_noise),
          d_scalar(line),
          d_kernel(kernels::equalizer::make(p, line.where(), line.device()))
    {
    }
    void run(const batch& work, queue& line) override
    {
        d_kernel->run(
            work.input<complex64>(0, d_vectors * d_p.receive_antennas),
            work.input<complex64>(1,
                                  size_t(d_p.tones) * d_p.receive_antennas * d_p.layers),
            d_fixed_noise ? d_scalar.set(*d_fixed_noise, line) : work.input<float>(2, 1),
            work.output<complex64>(0, d_vectors * d_p.layers),
            work.output<float>(1, d_vectors * d_p.layers),
            { work.status, size_t(work.frames) * d_p.tones },
            line);
    }

private:
    const parameters d_p;
    const size_t d_vectors;
    const std::atomic<float>* d_fixed_noise; //!< null where the noise variance has a port
    device_scalar d_scalar;
    std::unique_ptr<kernels::equalizer> d_kernel;
};

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
                                          double max_latency)
{
    return gnuradio::make_block_sptr<mimo_equalizer_impl>(
        checked({ receive_antennas,
                  layers,
                  kernels::detector_from_name(method),
                  unbiased,
                  symbols,
                  tones }),
        noise_input,
        checked_noise_variance(noise_variance),
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

mimo_equalizer_impl::mimo_equalizer_impl(const parameters& p,
                                         bool noise_input,
                                         float noise_variance,
                                         const batch_options& options)
    : gr::block("mimo_equalizer",
                gr::io_signature::make3(noise_input ? 3 : 2,
                                        noise_input ? 3 : 2,
                                        received_bytes(p),
                                        channel_bytes(p),
                                        sizeof(float)),
                gr::io_signature::make2(2, 2, layers_bytes(p), noise_bytes(p))),
      batch_block(options,
                  input_ports(p, noise_input),
                  { { layers_bytes(p), p.symbols * p.tones },
                    { noise_bytes(p), p.symbols * p.tones } },
                  p.tones),
      d_parameters(p), d_noise_input(noise_input), d_noise_variance(noise_variance)
{
    make_jobs();
}

void mimo_equalizer_impl::set_noise_variance(float noise_variance)
{
    d_noise_variance = checked_noise_variance(noise_variance);
}

std::unique_ptr<batch_job> mimo_equalizer_impl::make_job(queue& line)
{
    return std::make_unique<equalizer_job>(
        d_parameters, d_noise_input ? nullptr : &d_noise_variance, line);
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
