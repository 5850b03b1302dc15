/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "soft_demapper_impl.h"
#include "block_options.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

int checked_vlen(int vlen)
{
    if (vlen < 1 || vlen > 65536) {
        throw std::invalid_argument("vlen " + std::to_string(vlen) +
                                    " is not in 1 to 65536");
    }
    return vlen;
}

std::vector<batch_port> input_ports(int vlen, bool noise_input)
{
    std::vector<batch_port> ports{ { sizeof(complex64) * vlen, 1 } };
    if (noise_input) {
        ports.push_back({ sizeof(float) * vlen, 1 });
    }
    return ports;
}

class demapper_job : public batch_job
{
public:
    demapper_job(const kernels::soft_demapper::parameters& p,
                 int vlen,
                 bool int8,
                 const std::atomic<float>* fixed_noise,
                 queue& line)
        : d_int8(int8), d_vlen(vlen), d_llrs(size_t(vlen) * p.points.bits),
          d_fixed_noise(fixed_noise), d_scalar(line),
          d_kernel(kernels::soft_demapper::make(p, line.where(), line.device()))
    {
    }
    void run(const batch& work, queue& line) override
    {
        const auto run = [&](auto llr) {
            d_kernel->run(work.input<complex64>(0, d_vlen),
                          d_fixed_noise ? d_scalar.set(*d_fixed_noise, line)
                                        : work.input<float>(1, d_vlen),
                          llr,
                          line);
        };
        if (d_int8) {
            run(work.output<int8_t>(0, d_llrs));
        } else {
            run(work.output<float>(0, d_llrs));
        }
    }

private:
    const bool d_int8;
    const size_t d_vlen, d_llrs;
    const std::atomic<float>*
        d_fixed_noise; //!< null where the noise variances have a port
    device_scalar d_scalar;
    std::unique_ptr<kernels::soft_demapper> d_kernel;
};

} // namespace

soft_demapper::sptr soft_demapper::make(const std::string& constellation,
                                        int vlen,
                                        bool max_log,
                                        int llr_positive,
                                        bool noise_input,
                                        float noise_variance,
                                        const std::string& length_tag_key,
                                        const std::string& backend,
                                        int device,
                                        int max_batch,
                                        double max_latency,
                                        const std::string& type,
                                        float llr_steps)
{
    if (type != "float" && type != "int8") {
        throw std::invalid_argument("type \"" + type +
                                    "\" is none of \"float\", \"int8\"");
    }
    return gnuradio::make_block_sptr<soft_demapper_impl>(
        kernels::soft_demapper::parameters{ kernels::constellation::make(constellation),
                                            max_log,
                                            llr_positive,
                                            llr_steps },
        checked_vlen(vlen),
        type == "int8",
        noise_input,
        checked_noise_variance(noise_variance),
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

soft_demapper_impl::soft_demapper_impl(const kernels::soft_demapper::parameters& p,
                                       int vlen,
                                       bool int8,
                                       bool noise_input,
                                       float noise_variance,
                                       const batch_options& options)
    : gr::block("soft_demapper",
                gr::io_signature::make2(noise_input ? 2 : 1,
                                        noise_input ? 2 : 1,
                                        sizeof(complex64) * vlen,
                                        sizeof(float) * vlen),
                gr::io_signature::make(1, 1, int8 ? 1 : sizeof(float))),
      batch_block(options,
                  input_ports(vlen, noise_input),
                  { { int8 ? 1 : sizeof(float), vlen * p.points.bits } },
                  0),
      d_parameters(p), d_vlen(vlen), d_int8(int8), d_noise_input(noise_input),
      d_noise_variance(noise_variance)
{
    make_jobs();
    message_port_register_in(pmt::mp("noise_variance"));
    set_msg_handler(pmt::mp("noise_variance"),
                    [this](const pmt::pmt_t& message) { take_noise_variance(message); });
}

void soft_demapper_impl::take_noise_variance(const pmt::pmt_t& message)
{
    const auto value = pmt::is_pair(message) ? pmt::cdr(message) : message;
    try {
        if (!pmt::is_real(value) && !pmt::is_integer(value)) {
            throw std::invalid_argument("a message at noise_variance is no number");
        }
        set_noise_variance(static_cast<float>(pmt::to_double(value)));
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread.
        d_logger->warn("{}: it stays {}", problem.what(), noise_variance());
    }
}

void soft_demapper_impl::set_noise_variance(float noise_variance)
{
    d_noise_variance = checked_noise_variance(noise_variance);
}

std::unique_ptr<batch_job> soft_demapper_impl::make_job(queue& line)
{
    return std::make_unique<demapper_job>(
        d_parameters, d_vlen, d_int8, d_noise_input ? nullptr : &d_noise_variance, line);
}

} // namespace gr::cudaphy
