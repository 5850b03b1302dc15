/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/soft_demapper_impl.h"
#include "blocks/block_options.h"
#include "runtime/stream/length_tag.h"
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

using kind = demapper_kinds::kind;

std::vector<batch_port> input_ports(const soft_demapper_options& options, const kind& of)
{
    std::vector<batch_port> ports{ { sizeof(complex64) * options.vlen, of.items } };
    if (options.noise_input) {
        ports.push_back({ sizeof(float) * options.vlen, of.items });
    }
    return ports;
}

std::vector<batch_port> output_ports(soft_demapper_impl::number type, const kind& of)
{
    return { { bytes_of(type), of.llrs } };
}

//! One kind's kernel.
class demapper
{
public:
    demapper(const soft_demapper_options& options,
             const demapper_kinds& kinds,
             int number,
             soft_demapper_impl::number type,
             const queue& work_queue)
        : d_type(type), d_symbols(size_t(kinds.all()[number].items) * options.vlen),
          d_llrs(kinds.all()[number].llrs),
          d_kernel(kernels::soft_demapper::make(
              { kinds.constellations()[kinds.all()[number].points],
                options.max_log,
                options.llr_positive,
                options.llr_steps,
                kinds.all()[number].interleaver },
              work_queue.where(),
              work_queue.device()))
    {
    }

    //! Frames `first` to `first + count - 1` of a batch.
    void run(const batch& work,
             size_t first,
             size_t count,
             const kernels::noise_variances& noise,
             queue& work_queue) const
    {
        const auto x = work.input<complex64>(0, d_symbols)
                           .part(first * d_symbols, count * d_symbols);
        const auto run = [&](auto llr) {
            d_kernel->run(x, noise, llr.part(first * d_llrs, count * d_llrs), work_queue);
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
    //! All of them, their noise variances from input 1.
    void run(const batch& work, queue& work_queue) const
    {
        run(work, 0, work.frames, work.input<float>(1, d_symbols), work_queue);
    }

private:
    const soft_demapper_impl::number d_type;
    const size_t d_symbols, d_llrs; //!< of a frame
    std::unique_ptr<kernels::soft_demapper> d_kernel;
};

class demapper_job : public batch_job
{
public:
    //! \param noise  null if the noise variances have a port
    demapper_job(demapper kernel, std::shared_ptr<const packet_noise> noise)
        : d_kernel(std::move(kernel)), d_noise(std::move(noise))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        if (d_noise) {
            d_kernel.run(work, 0, work.frames, d_noise->newest.load(), work_queue);
        } else {
            d_kernel.run(work, work_queue);
        }
    }

private:
    const demapper d_kernel;
    const std::shared_ptr<const packet_noise> d_noise;
};

class mixed_demapper_job : public mixed_batch_job
{
public:
    //! \param noise  null if the noise variances have a port
    mixed_demapper_job(std::vector<demapper> kernels, std::shared_ptr<packet_noise> noise)
        : d_kernels(std::move(kernels)), d_noise(std::move(noise))
    {
    }
    void run(const std::vector<batch_part>& parts, queue& work_queue) override
    {
        for (const auto& [kind, work] : parts) {
            const auto& kernel = d_kernels[kind];
            if (!d_noise) {
                kernel.run(work, work_queue);
                continue;
            }
            size_t first = 0;
            for (const auto& [frames, variance] : d_noise->take(kind, work.frames)) {
                kernel.run(work, first, frames, variance, work_queue);
                first += frames;
            }
        }
    }

private:
    const std::vector<demapper> d_kernels;
    const std::shared_ptr<packet_noise> d_noise;
};

} // namespace

soft_demapper::sptr soft_demapper::make(const soft_demapper_options& options)
{
    checked_vlen(options.vlen);
    checked_noise_variance(options.noise_variance);
    return gnuradio::make_block_sptr<soft_demapper_impl>(
        options, demapper_kinds(options), number_of(options.type));
}

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
    soft_demapper_options options{ kernels::constellation::make(constellation) };
    options.vlen = vlen;
    options.max_log = max_log;
    options.llr_positive = llr_positive;
    options.noise_input = noise_input;
    options.noise_variance = noise_variance;
    options.type = type;
    options.llr_steps = llr_steps;
    options.length_tag_key = length_tag_key;
    options.backend = backend;
    options.device = device;
    options.max_batch = max_batch;
    options.max_latency = max_latency;
    return make(options);
}

soft_demapper_impl::soft_demapper_impl(const soft_demapper_options& options,
                                       const demapper_kinds& kinds,
                                       number type)
    : gr::block("soft_demapper",
                gr::io_signature::make2(options.noise_input ? 2 : 1,
                                        options.noise_input ? 2 : 1,
                                        sizeof(complex64) * options.vlen,
                                        sizeof(float) * options.vlen),
                gr::io_signature::make(1, 1, bytes_of(type))),
      batch_block({ options.length_tag_key,
                    options.backend,
                    options.device,
                    options.max_batch,
                    options.max_latency },
                  input_ports(options, kinds.all()[0]),
                  output_ports(type, kinds.all()[0]),
                  0),
      d_options(options), d_kinds(kinds), d_type(type),
      d_length_key(pmt::intern(options.length_tag_key)),
      d_noise(std::make_shared<packet_noise>(kinds.all().size()))
{
    d_noise->newest = options.noise_variance;
    const auto where = resolve(backend_from_name(options.backend), options.device).where;
    for (size_t i = 1; i < kinds.all().size(); ++i) {
        const auto& one = kinds.all()[i];
        const auto in = input_ports(options, one);
        const auto out = output_ports(type, one);
        add_kind(
            { std::vector<int>(in.size(), one.items),
              { one.llrs },
              options.max_batch ? options.max_batch : default_batch(where, in, out) });
    }
    make_jobs();
    message_port_register_in(pmt::mp("noise_variance"));
    set_msg_handler(pmt::mp("noise_variance"),
                    [this](const pmt::pmt_t& message) { take_noise_variance(message); });
    message_port_register_out(pmt::mp("fail"));
}

bool soft_demapper_impl::start()
{
    d_noise->clear();
    return batch_block::start();
}

int soft_demapper_impl::kind_of(const std::vector<tag_t>& head,
                                std::string& refusal) const
{
    const auto length = packet_length(head, d_length_key).value_or(0);
    const auto found = d_kinds.of(head, length);
    refusal = found.reason;
    if (d_options.noise_input) {
        return found.kind;
    }
    static const auto key = pmt::intern("noise_variance");
    const auto tagged = tag_value(head, key);
    if (const auto variance = tagged ? real_number(tagged) : std::nullopt) {
        d_noise->newest = static_cast<float>(*variance);
    }
    if (found.kind >= 0 && length > 0) {
        d_noise->add(
            found.kind, length / d_kinds.all()[found.kind].items, d_noise->newest);
    }
    return found.kind;
}

void soft_demapper_impl::refuse(const std::vector<tag_t>& head,
                                uint64_t items,
                                const std::string& reason)
{
    ++d_refused;
    warn_sometimes("a packet is passed over: " + reason);
    auto metadata = pmt::make_dict();
    for (const auto& tag : head) {
        metadata = pmt::dict_add(metadata, tag.key, tag.value);
    }
    const packet_refusal why{ reason,
                              static_cast<int64_t>(items),
                              d_kinds.of(head, items).expected };
    message_port_pub(
        pmt::mp("fail"),
        pmt::cons(why.add_to(metadata), pmt::init_u8vector(0, std::vector<uint8_t>{})));
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
    d_noise->newest = checked_noise_variance(noise_variance);
}

std::unique_ptr<batch_job> soft_demapper_impl::make_job(queue& work_queue)
{
    return std::make_unique<demapper_job>(
        demapper(d_options, d_kinds, 0, d_type, work_queue),
        d_options.noise_input ? nullptr : d_noise);
}

std::unique_ptr<mixed_batch_job> soft_demapper_impl::make_mixed_job(queue& work_queue)
{
    std::vector<demapper> kernels;
    for (size_t i = 0; i < d_kinds.all().size(); ++i) {
        kernels.emplace_back(d_options, d_kinds, i, d_type, work_queue);
    }
    return std::make_unique<mixed_demapper_job>(
        std::move(kernels), d_options.noise_input ? nullptr : d_noise);
}

} // namespace gr::cudaphy
