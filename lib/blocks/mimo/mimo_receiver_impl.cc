/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/mimo_receiver_impl.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernel = kernels::mimo_receiver;
using parameters = kernel::parameters;

size_t received_bytes(const parameters& p)
{
    return sizeof(complex64) * p.pilots.receive_antennas;
}

std::vector<batch_port> output_ports(const parameters& p,
                                     const kernel::sizes& slot,
                                     const mimo_receiver_outputs& wanted)
{
    const int layers = p.pilots.layers;
    std::vector<batch_port> ports{ { 1,
                                     static_cast<int>(slot.words * slot.word_bytes) } };
    if (wanted.channel) {
        ports.push_back({ received_bytes(p) * layers,
                          static_cast<int>(slot.estimates) * p.pilots.tones });
    }
    if (wanted.layers) {
        ports.push_back({ sizeof(complex64) * layers, static_cast<int>(slot.vectors) });
    }
    if (wanted.noise) {
        ports.push_back({ sizeof(float) * layers, static_cast<int>(slot.vectors) });
    }
    return ports;
}

std::vector<int> item_sizes(const std::vector<batch_port>& ports)
{
    std::vector<int> sizes;
    for (const auto& port : ports) {
        sizes.push_back(static_cast<int>(port.item_bytes));
    }
    return sizes;
}

// The batch's status words: first whether pilots are finite, of all slots; then the
// iterations of all codewords, then whether each is one.
int pilots_of(const batch_status& status, int slot) { return status.words[slot]; }
int iterations_of(const batch_status& status, int word)
{
    return status.words[status.frames + word];
}
bool is_ok(const batch_status& status, int words, int word)
{
    return status.words[status.frames * (1 + words) + word] != 0;
}

class receiver_job : public batch_job
{
public:
    receiver_job(const parameters& p,
                 const mimo_receiver_outputs& outputs,
                 queue& work_queue)
        : d_outputs(outputs),
          d_kernel(kernel::make(p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        const auto& s = d_kernel->slot();
        const size_t slots = work.frames;
        const size_t words = slots * s.words;
        kernel::results out;
        out.bits = work.output<uint8_t>(0, s.words * s.word_bytes);
        out.status = { work.status, slots };
        out.iterations = { work.status + slots, words };
        out.ok = { work.status + slots + words, words };
        int port = 1;
        if (d_outputs.channel) {
            out.h = work.output<complex64>(port++, s.channel);
        }
        if (d_outputs.layers) {
            out.x = work.output<complex64>(port++, s.layers);
        }
        if (d_outputs.noise) {
            out.noise = work.output<float>(port++, s.layers);
        }
        const size_t bytes = d_kernel->workspace_bytes(slots);
        if (d_workspace.size() < bytes) {
            work_queue.synchronize(); // kernels may still work in the old one
            d_workspace = {};
            d_workspace = array<unsigned char>(work_queue, bytes);
        }
        d_kernel->run(work.input<complex64>(0, s.received), out, d_workspace, work_queue);
    }

private:
    const mimo_receiver_outputs d_outputs;
    std::unique_ptr<kernel> d_kernel;
    array<unsigned char> d_workspace;
};

} // namespace

mimo_receiver::sptr mimo_receiver::make(const parameters& receiver,
                                        const mimo_receiver_outputs& outputs,
                                        const std::string& length_tag_key,
                                        const std::string& backend,
                                        int device,
                                        int max_batch,
                                        double max_latency)
{
    // Checks the sizes, before GNU Radio is asked for ports of an impossible width; the
    // kernels check the rest.
    const auto slot = kernel::slot_of(receiver);
    return gnuradio::make_block_sptr<mimo_receiver_impl>(
        receiver,
        slot,
        outputs,
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

mimo_receiver_impl::mimo_receiver_impl(const parameters& p,
                                       const kernel::sizes& slot,
                                       const mimo_receiver_outputs& outputs,
                                       const batch_options& options)
    : gr::block(
          "mimo_receiver",
          gr::io_signature::make(1, 1, received_bytes(p)),
          gr::io_signature::makev(static_cast<int>(output_ports(p, slot, outputs).size()),
                                  static_cast<int>(output_ports(p, slot, outputs).size()),
                                  item_sizes(output_ports(p, slot, outputs)))),
      batch_block(options,
                  { { received_bytes(p), p.symbols * p.pilots.tones } },
                  output_ports(p, slot, outputs),
                  1 + 2 * static_cast<int>(slot.words)),
      d_parameters(p), d_slot(slot), d_outputs(outputs),
      d_tags(outputs.word_tags, p.decoding.max_iterations, ldpc_word_tag_keys)
{
    make_jobs();
}

double mimo_receiver_impl::average_iterations() const
{
    const auto frames = d_frames.load();
    return frames ? static_cast<double>(d_iterations) / frames : 0.0;
}

bool mimo_receiver_impl::start()
{
    d_tags.start(alias_pmt());
    return batch_block::start();
}

std::string mimo_receiver_impl::frame_sizes() const
{
    return std::to_string(d_parameters.symbols) + " symbols x " +
           std::to_string(d_parameters.pilots.tones) + " tones";
}

std::unique_ptr<batch_job> mimo_receiver_impl::make_job(queue& work_queue)
{
    return std::make_unique<receiver_job>(d_parameters, d_outputs, work_queue);
}

void mimo_receiver_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const int words = static_cast<int>(d_slot.words);
    if (pilots_of(status, frame) != 0) {
        warn_sometimes("received pilots of slot " +
                       std::to_string(item / (d_slot.words * d_slot.word_bytes)) +
                       " are not finite");
    }
    for (int i = 0; i < words; ++i) {
        const int word = frame * words + i;
        const bool ok = is_ok(status, words, word);
        const int iterations = iterations_of(status, word);
        ++d_frames;
        d_iterations += iterations;
        d_frame_errors += !ok;
        const uint64_t at = item + i * d_slot.word_bytes;
        d_tags.each(at, iterations, ok, 0, [&](const tag_t& tag) { add_tag(tag); });
    }
}

} // namespace gr::cudaphy
