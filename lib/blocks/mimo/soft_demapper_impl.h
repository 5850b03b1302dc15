/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/mimo/demapper_kinds.h"
#include "blocks/mimo/packet_noise.h"
#include "runtime/batch_block.h"

namespace gr::cudaphy {

class soft_demapper_impl : public soft_demapper, public batch_block
{
public:
    enum class number { float32, float16, int8 }; //!< of the LLRs

    soft_demapper_impl(const soft_demapper_options& options,
                       const demapper_kinds& kinds,
                       number type);

    void set_noise_variance(float noise_variance) override;
    float noise_variance() const override { return d_noise->newest; }
    std::string backend() const override { return used_backend(); }
    uint64_t refused_packets() const override { return d_refused; }
    uint64_t failures() const override { return d_refused; }
    bool start() override;

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    std::unique_ptr<mixed_batch_job> make_mixed_job(queue& work_queue) override;
    int kind_of(const std::vector<tag_t>& head, std::string& refusal) const override;
    void refuse(const std::vector<tag_t>& head,
                uint64_t items,
                const std::string& reason) override;
    void report(const batch_status&, int, uint64_t) override {}
    void take_noise_variance(const pmt::pmt_t& message);

    const soft_demapper_options d_options;
    const demapper_kinds d_kinds;
    const number d_type;
    const pmt::pmt_t d_length_key;
    const std::shared_ptr<packet_noise> d_noise; //!< also of the jobs
    std::atomic<uint64_t> d_refused{ 0 };
};

} // namespace gr::cudaphy
