/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/soft_demapper_impl.h"
#include "blocks/block_options.h"
#include "runtime/stream/pmt_number.h"
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

soft_demapper_impl::number number_of(const std::string& type)
{
    using number = soft_demapper_impl::number;
    if (type == "float") {
        return number::float32;
    }
    if (type == "float16") {
        return number::float16;
    }
    if (type == "int8") {
        return number::int8;
    }
    throw std::invalid_argument("type \"" + type +
                                "\" is none of \"float\", \"float16\", \"int8\"");
}

size_t bytes_of(soft_demapper_impl::number type)
{
    switch (type) {
    case soft_demapper_impl::number::int8:
        return sizeof(int8_t);
    case soft_demapper_impl::number::float16:
        return sizeof(float16);
    default:
        return sizeof(float);
    }
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
                 soft_demapper_impl::number type,
                 const std::atomic<float>* fixed_noise,
                 queue& work_queue)
        : d_type(type), d_vlen(vlen), d_llrs(size_t(vlen) * p.points.bits),
          d_fixed_noise(fixed_noise), d_scalar(work_queue),
          d_kernel(
              kernels::soft_demapper::make(p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        const auto run = [&](auto llr) {
            d_kernel->run(work.input<complex64>(0, d_vlen),
                          d_fixed_noise ? d_scalar.set(*d_fixed_noise, work_queue)
                                        : work.input<float>(1, d_vlen),
                          llr,
                          work_queue);
        };
        switch (d_type) {
        case soft_demapper_impl::number::int8:
            return run(work.output<int8_t>(0, d_llrs));
        case soft_demapper_impl::number::float16:
            return run(work.output<float16>(0, d_llrs));
        default:
            return run(work.output<float>(0, d_llrs));
        }
    }

private:
    const soft_demapper_impl::number d_type;
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
    return gnuradio::make_block_sptr<soft_demapper_impl>(
        kernels::soft_demapper::parameters{ kernels::constellation::make(constellation),
                                            max_log,
                                            llr_positive,
                                            llr_steps },
        checked_vlen(vlen),
        number_of(type),
        noise_input,
        checked_noise_variance(noise_variance),
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

soft_demapper_impl::soft_demapper_impl(const kernels::soft_demapper::parameters& p,
                                       int vlen,
                                       number type,
                                       bool noise_input,
                                       float noise_variance,
                                       const batch_options& options)
    : gr::block("soft_demapper",
                gr::io_signature::make2(noise_input ? 2 : 1,
                                        noise_input ? 2 : 1,
                                        sizeof(complex64) * vlen,
                                        sizeof(float) * vlen),
                gr::io_signature::make(1, 1, bytes_of(type))),
      batch_block(options,
                  input_ports(vlen, noise_input),
                  { { bytes_of(type), vlen * p.points.bits } },
                  0),
      d_parameters(p), d_vlen(vlen), d_type(type), d_noise_input(noise_input),
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
        const auto number = real_number(value);
        if (!number) {
            throw std::invalid_argument("a message at noise_variance is no number");
        }
        set_noise_variance(static_cast<float>(*number));
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread.
        d_logger->warn("{}: it stays {}", problem.what(), noise_variance());
    }
}

void soft_demapper_impl::set_noise_variance(float noise_variance)
{
    d_noise_variance = checked_noise_variance(noise_variance);
}

std::unique_ptr<batch_job> soft_demapper_impl::make_job(queue& work_queue)
{
    return std::make_unique<demapper_job>(d_parameters,
                                          d_vlen,
                                          d_type,
                                          d_noise_input ? nullptr : &d_noise_variance,
                                          work_queue);
}

} // namespace gr::cudaphy
