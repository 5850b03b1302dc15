/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_program.cuh"
#include "kernels/common/device_memory.cuh"
#include "kernels/ldpc/ldpc_cuda_kernel.h"
#include "kernels/ldpc/ldpc_cuda_source.h"
#include "kernels/ldpc/ldpc_decoder_makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    cuda_check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

int capability_of(int device)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
           attribute(cudaDevAttrComputeCapabilityMinor, device);
}

//! What ldpc_cuda_arguments::scales points to: the constant 0x38383838, each
//! iteration's factor twice, and a word that is read ahead.
std::vector<uint32_t> factors(const std::vector<float>& scales)
{
    std::vector<uint32_t> out{ 0x38383838 };
    for (const float scale : scales) {
        out.push_back(to_float16(scale) * 0x10001u);
    }
    out.push_back(0); // read ahead, not used
    return out;
}

//! What ldpc_cuda_arguments::info points to.
std::vector<uint32_t> info_table(const ldpc_decoding& decoding,
                                 const std::vector<int>& info)
{
    const auto terms = decoding.crc_terms(); // none without stop_crc
    std::vector<uint32_t> out;
    for (size_t i = 0; i < info.size(); ++i) {
        out.push_back(info[i]);
        out.push_back(terms.empty() ? 0 : terms[i]);
    }
    return out;
}

int shared_bytes_a_block(int device)
{
    return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

//! Blocks that may run side by side, where they need room in device memory.
uint32_t slots_for(const ldpc_cuda_kernel& kernel, int device)
{
    if (kernel.workspace_words == 0) {
        return 0;
    }
    const int blocks = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) /
                       kernel.shared_bytes;
    return attribute(cudaDevAttrMultiProcessorCount, device) * std::max(blocks, 1);
}

//! The kernel and its tables. Lives and dies with its device current.
class cuda_tables
{
public:
    cuda_tables(const ldpc_decoding& decoding, int device, ldpc_cuda_kernel::form form)
        : d_kernel(decoding, shared_bytes_a_block(device), form),
          d_slot_count(slots_for(d_kernel, device)), d_scales(factors(decoding.scales)),
          d_sources(d_kernel.sources), d_outputs(d_kernel.outputs),
          d_info(info_table(decoding, d_kernel.info)),
          d_workspace(size_t(d_slot_count) * d_kernel.workspace_words * d_kernel.threads),
          d_slots(std::vector<uint32_t>(d_slot_count)),
          d_program(
              cuda_program::make(d_kernel.source, "ldpc_decode", d_kernel.shared_bytes))
    {
    }

    void launch(const ldpc_decoder::received& llr,
                const ldpc_decoder::results& to,
                const ldpc_decoder::parameters& p,
                cudaStream_t stream) const
    {
        const ldpc_cuda_arguments arguments{ llr.data,
                                             to.bits.data(),
                                             to.iterations.data(),
                                             to.ok.data(),
                                             to.soft.data(),
                                             d_scales.data(),
                                             d_sources.data(),
                                             d_outputs.data(),
                                             d_info.data(),
                                             static_cast<uint32_t>(to.ok.size()),
                                             p.llr_steps,
                                             static_cast<uint32_t>(p.max_iterations),
                                             d_slot_count,
                                             d_workspace.data(),
                                             d_slots.data() };
        const size_t words = d_kernel.codewords;
        d_program->launch(static_cast<unsigned>((to.ok.size() + words - 1) / words),
                          d_kernel.threads,
                          &arguments,
                          sizeof arguments,
                          stream);
    }

private:
    ldpc_cuda_kernel d_kernel;
    uint32_t d_slot_count;
    device_memory<uint32_t> d_scales;
    device_memory<int> d_sources, d_outputs;
    device_memory<uint32_t> d_info, d_workspace, d_slots;
    std::shared_ptr<cuda_program> d_program;
};

class ldpc_fixed_decoder_cuda : public ldpc_decoder
{
public:
    ldpc_fixed_decoder_cuda(const ldpc_decoding& decoding, int device)
        : d_decoding(decoding), d_device(device)
    {
        const cuda_device_scope scope(device);
        using form = ldpc_cuda_kernel::form;
        d_tables = std::make_unique<cuda_tables>(decoding, device, form::chosen);
        if (ldpc_cuda_kernel::folds_few(decoding, shared_bytes_a_block(device))) {
            d_for_few = std::make_unique<cuda_tables>(decoding, device, form::folded);
            d_few = attribute(cudaDevAttrMultiProcessorCount, device);
        }
    }
    ~ldpc_fixed_decoder_cuda() override
    {
        const cuda_device_scope scope(d_device);
        d_for_few.reset();
        d_tables.reset();
    }

    arithmetic calculation() const override { return arithmetic::int8; }

    void run(const received& llr, const results& to, queue& queue) override
    {
        const size_t words = d_decoding.batch(llr, to);
        if (words > 0) {
            const cuda_device_scope scope(d_device);
            const auto& tables = words <= d_few ? d_for_few : d_tables;
            tables->launch(llr, to, d_decoding.parameters, stream_of(queue));
        }
    }

private:
    ldpc_decoding d_decoding;
    int d_device;
    size_t d_few = 0; //!< codewords that `d_for_few` takes at most; 0: there is none
    std::unique_ptr<cuda_tables> d_tables, d_for_few;
};

} // namespace

bool can_decode_fixed_on_cuda(const ldpc_decoding& decoding, int device)
{
    return capability_of(device) >= 86 &&
           ldpc_cuda_kernel::is_for(decoding, shared_bytes_a_block(device));
}

bool is_one_a_block_on_cuda(const ldpc_decoding& decoding, int device)
{
    return ldpc_cuda_kernel::is_one_a_block(decoding, shared_bytes_a_block(device));
}

std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cuda(const ldpc_decoding& decoding,
                                                           int device)
{
    return std::make_unique<ldpc_fixed_decoder_cuda>(decoding, device);
}

} // namespace gr::cudaphy::kernels
