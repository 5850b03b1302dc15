/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/mimo/mimo_channel_estimator_impl.h"
#include "kernels/common/sizes.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::channel_estimator::parameters;

int pilot_symbols(const parameters& p)
{
    const int row = p.pilots_by_tone ? p.tones * p.layers : p.layers;
    return static_cast<int>(p.pilots.size()) / row;
}
//! Estimates of a slot.
int times(const parameters& p) { return p.times.empty() ? 1 : int(p.times.size()); }

//! The kernel's own checks, before GNU Radio is asked for ports of an impossible width.
const parameters& checked(const parameters& p)
{
    kernels::channel_estimator::make(p, backend::reference);
    const int64_t vector = sizeof(complex64) * p.receive_antennas;
    checked_product("mimo_channel_estimator: pilot symbols * tones * bytes of a vector",
                    1 << 28,
                    { pilot_symbols(p), p.tones, vector });
    checked_product("mimo_channel_estimator: times * tones * bytes of a matrix",
                    1 << 28,
                    { times(p), p.tones, vector * p.layers });
    return p;
}

size_t vector_bytes(const parameters& p)
{
    return sizeof(complex64) * p.receive_antennas;
}
size_t matrix_bytes(const parameters& p) { return vector_bytes(p) * p.layers; }

class estimator_job : public batch_job
{
public:
    estimator_job(const parameters& p, const queue& work_queue)
        : d_received(size_t(pilot_symbols(p)) * p.tones * p.receive_antennas),
          d_channel(size_t(times(p)) * p.tones * p.receive_antennas * p.layers),
          d_times(times(p)), d_kernel(kernels::channel_estimator::make(
                                 p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        d_kernel->run(work.input<complex64>(0, d_received),
                      work.output<complex64>(0, d_channel),
                      work.output<float>(1, d_times),
                      { work.status, size_t(work.frames) },
                      work_queue);
    }

private:
    const size_t d_received, d_channel, d_times;
    std::unique_ptr<kernels::channel_estimator> d_kernel;
};

} // namespace

mimo_channel_estimator::sptr
mimo_channel_estimator::make(const kernels::channel_estimator::parameters& pilots,
                             const std::string& length_tag_key,
                             const std::string& backend,
                             int device,
                             int max_batch,
                             double max_latency)
{
    return gnuradio::make_block_sptr<mimo_channel_estimator_impl>(
        checked(pilots),
        batch_options{ length_tag_key, backend, device, max_batch, max_latency });
}

mimo_channel_estimator_impl::mimo_channel_estimator_impl(const parameters& p,
                                                         const batch_options& options)
    : gr::block("mimo_channel_estimator",
                gr::io_signature::make(1, 1, vector_bytes(p)),
                gr::io_signature::make2(1, 2, matrix_bytes(p), sizeof(float))),
      batch_block(
          options,
          { { vector_bytes(p), pilot_symbols(p) * p.tones } },
          { { matrix_bytes(p), times(p) * p.tones }, { sizeof(float), times(p) } },
          1),
      d_parameters(p)
{
    make_jobs();
}

std::string mimo_channel_estimator_impl::frame_sizes() const
{
    return std::to_string(pilot_symbols(d_parameters)) + " pilot symbols x " +
           std::to_string(d_parameters.tones) + " tones";
}

std::unique_ptr<batch_job> mimo_channel_estimator_impl::make_job(queue& work_queue)
{
    return std::make_unique<estimator_job>(d_parameters, work_queue);
}

void mimo_channel_estimator_impl::report(const batch_status& status,
                                         int frame,
                                         uint64_t item)
{
    if (status.words[frame] != 0) {
        ++d_failures;
        warn_sometimes("received pilots of slot " +
                       std::to_string(item / d_parameters.tones / times(d_parameters)) +
                       " are not finite");
    }
}

} // namespace gr::cudaphy
