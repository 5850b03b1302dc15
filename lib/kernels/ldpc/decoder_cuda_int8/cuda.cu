/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_program.cuh"
#include "kernels/common/device_memory.cuh"
#include "kernels/ldpc/decoder/makers.h"
#include "kernels/ldpc/decoder_cuda_int8/kernel.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include <algorithm>
#include <cstring>

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

//! Blocks that may run side by side if they need room in device memory.
uint32_t slots_for(const ldpc_cuda_kernel& kernel, int device)
{
    if (kernel.workspace_words == 0) {
        return 0;
    }
    const int blocks = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) /
                       kernel.shared_bytes;
    return attribute(cudaDevAttrMultiProcessorCount, device) * std::max(blocks, 1);
}

//! A code's tables. Lives and dies with its device current.
class code_tables
{
public:
    code_tables(const ldpc_decoding& decoding, const ldpc_cuda_kernel& kernel, int device)
        : d_parameters(decoding.parameters), d_codewords(kernel.codewords),
          d_slot_count(slots_for(kernel, device)), d_scales(factors(decoding.scales)),
          d_sources(kernel.sources), d_outputs(kernel.outputs),
          d_info(info_table(decoding, kernel.info)),
          d_workspace(size_t(d_slot_count) * kernel.workspace_words * kernel.threads),
          d_slots(std::vector<uint32_t>(d_slot_count))
    {
    }

    ldpc_cuda_arguments arguments(const ldpc_decoder::received& llr,
                                  const ldpc_decoder::results& to) const
    {
        return { llr.data,
                 to.bits.data(),
                 to.iterations.data(),
                 to.ok.data(),
                 to.soft.data(),
                 d_scales.data(),
                 d_sources.data(),
                 d_outputs.data(),
                 d_info.data(),
                 static_cast<uint32_t>(to.ok.size()),
                 d_parameters.llr_steps,
                 static_cast<uint32_t>(d_parameters.max_iterations),
                 d_slot_count,
                 d_workspace.data(),
                 d_slots.data() };
    }
    unsigned blocks_for(size_t words) const
    {
        return static_cast<unsigned>((words + d_codewords - 1) / d_codewords);
    }

private:
    const ldpc_decoder::parameters d_parameters;
    const size_t d_codewords;
    const uint32_t d_slot_count;
    device_memory<uint32_t> d_scales;
    device_memory<int> d_sources, d_outputs;
    device_memory<uint32_t> d_info, d_workspace, d_slots;
};

//! One code's kernel.
class code_kernel
{
public:
    code_kernel(const ldpc_decoding& decoding, int device, ldpc_cuda_kernel::form form)
        : code_kernel(decoding,
                      device,
                      ldpc_cuda_kernel(decoding, shared_bytes_a_block(device), form))
    {
    }

    void launch(const ldpc_decoder::received& llr,
                const ldpc_decoder::results& to,
                cudaStream_t stream) const
    {
        const auto arguments = d_tables.arguments(llr, to);
        d_program->launch(d_tables.blocks_for(to.ok.size()),
                          d_threads,
                          &arguments,
                          sizeof arguments,
                          stream);
    }

private:
    code_kernel(const ldpc_decoding& decoding, int device, const ldpc_cuda_kernel& kernel)
        : d_tables(decoding, kernel, device), d_threads(kernel.threads),
          d_program(cuda_program::make(kernel.source, "ldpc_decode", kernel.shared_bytes))
    {
    }

    const code_tables d_tables;
    const unsigned d_threads;
    const std::shared_ptr<cuda_program> d_program;
};

class ldpc_fixed_decoder_cuda : public ldpc_decoder
{
public:
    ldpc_fixed_decoder_cuda(const ldpc_decoding& decoding, int device)
        : d_decoding(decoding), d_device(device)
    {
        const cuda_device_scope scope(device);
        using form = ldpc_cuda_kernel::form;
        d_kernel = std::make_unique<code_kernel>(decoding, device, form::chosen);
        if (ldpc_cuda_kernel::folds_few(decoding, shared_bytes_a_block(device))) {
            d_for_few = std::make_unique<code_kernel>(decoding, device, form::folded);
            d_few = attribute(cudaDevAttrMultiProcessorCount, device);
        }
    }
    ~ldpc_fixed_decoder_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_for_few.reset();
        d_kernel.reset();
    }

    arithmetic calculation() const override { return arithmetic::int8; }

    void run(const received& llr, const results& to, queue& queue) override
    {
        const size_t words = d_decoding.batch(llr, to);
        if (words > 0) {
            const cuda_device_scope scope(d_device);
            const auto& kernel = words <= d_few ? d_for_few : d_kernel;
            kernel->launch(llr, to, stream_of(queue));
        }
    }

private:
    ldpc_decoding d_decoding;
    int d_device;
    size_t d_few = 0; //!< codewords that `d_for_few` takes at most; 0: there is none
    std::unique_ptr<code_kernel> d_kernel, d_for_few;
};

//! Several codes' kernel.
class ldpc_mixed_launch_cuda : public ldpc_mixed_launch
{
public:
    ldpc_mixed_launch_cuda(const std::vector<ldpc_decoding>& decodings,
                           const std::vector<int>& codes,
                           int device)
        : ldpc_mixed_launch(codes), d_device(device)
    {
        const cuda_device_scope scope(device);
        const ldpc_cuda_mixed_kernel kernel(decodings, shared_bytes_a_block(device));
        d_threads = kernel.threads;
        for (size_t i = 0; i < decodings.size(); ++i) {
            d_tables.push_back(
                std::make_unique<code_tables>(decodings[i], kernel.codes[i], device));
        }
        d_program = cuda_program::make(kernel.source, "ldpc_decode", kernel.shared_bytes);
    }
    ~ldpc_mixed_launch_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_program.reset();
        d_tables.clear();
    }

    void run(const std::vector<const ldpc_mixed_decoder::part*>& parts,
             queue& queue) override
    {
        const cuda_device_scope scope(d_device);
        std::vector<ldpc_cuda_arguments> arguments;
        std::vector<uint32_t> first_blocks;
        unsigned blocks = 0;
        for (size_t i = 0; i < parts.size(); ++i) {
            first_blocks.push_back(blocks);
            if (parts[i]) {
                arguments.push_back(d_tables[i]->arguments(parts[i]->llr, parts[i]->out));
                blocks += d_tables[i]->blocks_for(parts[i]->out.ok.size());
            } else {
                arguments.push_back({}); // no block reads them
            }
        }
        std::vector<char> all(arguments.size() * sizeof(ldpc_cuda_arguments) +
                              first_blocks.size() * sizeof(uint32_t));
        std::memcpy(
            all.data(), arguments.data(), arguments.size() * sizeof(ldpc_cuda_arguments));
        const auto codes = static_cast<int>(arguments.size());
        std::memcpy(all.data() + ldpc_cuda_source::first_block_at(codes, 0),
                    first_blocks.data(),
                    first_blocks.size() * sizeof(uint32_t));
        d_program->launch(blocks, d_threads, all.data(), all.size(), stream_of(queue));
    }

private:
    const int d_device;
    unsigned d_threads = 0;
    std::vector<std::unique_ptr<code_tables>> d_tables;
    std::shared_ptr<cuda_program> d_program;
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

std::vector<std::unique_ptr<ldpc_mixed_launch>>
make_ldpc_mixed_launches_cuda(const std::vector<ldpc_decoding>& decodings,
                              const std::vector<int>& codes,
                              int device)
{
    std::vector<std::unique_ptr<ldpc_mixed_launch>> out;
    for (const auto& group :
         ldpc_cuda_mixed_kernel::groups(decodings, shared_bytes_a_block(device))) {
        std::vector<ldpc_decoding> chosen;
        std::vector<int> numbers;
        for (const int i : group) {
            chosen.push_back(decodings[i]);
            numbers.push_back(codes[i]);
        }
        out.push_back(std::make_unique<ldpc_mixed_launch_cuda>(chosen, numbers, device));
    }
    return out;
}

} // namespace gr::cudaphy::kernels
