/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_program.cuh"
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/ldpc/decoder/makers.h"
#include "kernels/ldpc/decoder_cuda_int8/kernel.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder_cuda_int8/word_steps.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <tuple>

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

ldpc_words_cuda words_of(const ldpc_decoding& decoding,
                         const ldpc_decoder::received& llr,
                         const ldpc_decoder::results& to)
{
    return { llr.data,
             to.iterations.data(),
             to.soft.empty() ? nullptr : to.soft.data(),
             decoding.code->n(),
             decoding.output_bits(),
             static_cast<unsigned>(to.ok.size()),
             decoding.word_steps() };
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
        : d_parameters(decoding.parameters),
          d_steps(decoding.words_have_steps() ? 1 : decoding.parameters.llr_steps),
          d_codewords(kernel.codewords), d_slot_count(slots_for(kernel, device)),
          d_scales(ldpc_cuda_source::factors(decoding)), d_sources(kernel.sources()),
          d_outputs(kernel.outputs()), d_info(info_table(decoding, kernel.info())),
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
                 d_steps,
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
    const float d_steps;
    const size_t d_codewords;
    const uint32_t d_slot_count;
    device_memory<uint32_t> d_scales;
    device_memory<int> d_sources, d_outputs;
    device_memory<uint32_t> d_info, d_workspace, d_slots;
};

//! A kernel with its program on a device. Decoders of the same codes share it, so that a
//! block with several batches under way plans and writes once.
template <typename Kernel>
class kernel_on_device
{
public:
    using sptr = std::shared_ptr<const kernel_on_device>;

    //! \param fits  (kernel) -> whether this kernel of the device is the wanted one
    //! \param make  () -> std::shared_ptr<const Kernel>, if nobody has it yet
    template <typename Fits, typename Make>
    static sptr find(int device, const Fits& fits, const Make& make)
    {
        static std::mutex guard;
        static std::vector<std::weak_ptr<const kernel_on_device>> all;
        {
            const std::lock_guard<std::mutex> lock(guard);
            for (const auto& one : all) {
                const auto known = one.lock();
                if (known && known->d_device == device && fits(*known->kernel)) {
                    return known;
                }
            }
        }
        const auto made = std::make_shared<const kernel_on_device>(make(), device);
        const std::lock_guard<std::mutex> lock(guard);
        all.erase(std::remove_if(all.begin(),
                                 all.end(),
                                 [](const auto& one) { return one.expired(); }),
                  all.end());
        all.push_back(made);
        return made;
    }

    kernel_on_device(const std::shared_ptr<const Kernel>& of, int device)
        : kernel(of),
          program(cuda_program::make(
              [of] { return of->source(); }, "ldpc_decode", of->shared_bytes)),
          d_device(device)
    {
    }

    const std::shared_ptr<const Kernel> kernel;
    const std::shared_ptr<cuda_program> program;

private:
    const int d_device;
};

using code_on_device = kernel_on_device<ldpc_cuda_kernel>;
using codes_on_device = kernel_on_device<ldpc_cuda_mixed_kernel>;

//! Whether two decodings have the same plan and program.
bool are_alike(const ldpc_decoding& a, const ldpc_decoding& b)
{
    const auto what = [](const ldpc_decoding& of) {
        const auto& p = of.parameters;
        return std::make_tuple(of.code,
                               of.damps(),
                               of.words_have_steps(),
                               p.early_stop,
                               p.whole_words,
                               p.packed,
                               p.llr,
                               p.llr_positive,
                               p.stop_crc.bits,
                               p.stop_crc.polynomial);
    };
    return what(a) == what(b);
}

//! \throws std::invalid_argument if CUDA offers no int8 arithmetic for the code
code_on_device::sptr
find_code(const ldpc_decoding& decoding, int device, ldpc_cuda_kernel::form form)
{
    if (capability_of(device) < 86) {
        throw std::invalid_argument("ldpc_decoder: int8 arithmetic on CUDA needs a GPU "
                                    "of compute capability 8.6 or higher: choose "
                                    "float32 arithmetic");
    }
    return code_on_device::find(
        device,
        [&](const ldpc_cuda_kernel& known) {
            return known.wanted() == form && are_alike(known.decoding(), decoding);
        },
        [&] {
            return std::make_shared<const ldpc_cuda_kernel>(
                decoding, shared_bytes_a_block(device), form);
        });
}

//! The kernel for small batches; null if there is none.
code_on_device::sptr find_code_for_few(const ldpc_cuda_kernel& many, int device)
{
    if (!many.folds_few()) {
        return nullptr;
    }
    try {
        return find_code(many.decoding(), device, ldpc_cuda_kernel::form::folded);
    } catch (const std::invalid_argument&) { // does not fit into a block
        return nullptr;
    }
}

//! One code's kernel with its tables.
class code_launch
{
public:
    code_launch(const ldpc_decoding& decoding,
                const code_on_device::sptr& code,
                int device)
        : d_code(code), d_tables(decoding, *code->kernel, device)
    {
    }

    void prepare() { d_code->program->prepare(); }
    void launch(const ldpc_decoder::received& llr,
                const ldpc_decoder::results& to,
                cudaStream_t stream) const
    {
        const auto arguments = d_tables.arguments(llr, to);
        d_code->program->launch(d_tables.blocks_for(to.ok.size()),
                                d_code->kernel->threads,
                                &arguments,
                                sizeof arguments,
                                stream);
    }

private:
    const code_on_device::sptr d_code;
    const code_tables d_tables;
};

class ldpc_fixed_decoder_cuda : public ldpc_decoder
{
public:
    ldpc_fixed_decoder_cuda(const ldpc_decoding& decoding, int device)
        : d_decoding(decoding), d_device(device)
    {
        const cuda_device_scope scope(device);
        const auto many = find_code(decoding, device, ldpc_cuda_kernel::form::chosen);
        d_for_many = std::make_unique<code_launch>(decoding, many, device);
        if (const auto few = find_code_for_few(*many->kernel, device)) {
            d_for_few = std::make_unique<code_launch>(decoding, few, device);
            d_few = attribute(cudaDevAttrMultiProcessorCount, device);
        }
    }
    ~ldpc_fixed_decoder_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_for_few.reset();
        d_for_many.reset();
    }

    arithmetic calculation() const override { return arithmetic::int8; }

    void prepare() override
    {
        d_for_many->prepare();
        if (d_for_few) {
            d_for_few->prepare();
        }
    }

    void run(const received& llr, const results& to, queue& queue) override
    {
        const size_t words = d_decoding.batch(llr, to);
        if (words > 0) {
            const cuda_device_scope scope(d_device);
            const auto& chosen = words <= d_few ? d_for_few : d_for_many;
            std::vector<ldpc_words_cuda> with_steps;
            if (d_decoding.words_have_steps()) {
                with_steps.push_back(words_of(d_decoding, llr, to));
            }
            ldpc_with_steps_cuda(with_steps, llr.type, queue, [&] {
                chosen->launch(llr, to, stream_of(queue));
            });
        }
    }

private:
    ldpc_decoding d_decoding;
    int d_device;
    size_t d_few = 0; //!< codewords that `d_for_few` takes at most; 0: there is none
    std::unique_ptr<code_launch> d_for_many, d_for_few;
};

//! Several codes' kernel with their tables.
class ldpc_mixed_launch_cuda : public ldpc_mixed_launch
{
public:
    ldpc_mixed_launch_cuda(const std::vector<ldpc_decoding>& decodings,
                           const std::vector<ldpc_cuda_kernel::sptr>& kernels,
                           const std::vector<int>& codes,
                           int device)
        : ldpc_mixed_launch(codes), d_decodings(decodings), d_device(device),
          d_codes(codes_on_device::find(
              device,
              [&](const ldpc_cuda_mixed_kernel& known) { return known.codes == kernels; },
              [&] { return std::make_shared<const ldpc_cuda_mixed_kernel>(kernels); }))
    {
        const cuda_device_scope scope(device);
        for (size_t i = 0; i < decodings.size(); ++i) {
            d_tables.push_back(
                std::make_unique<code_tables>(decodings[i], *kernels[i], device));
        }
    }
    ~ldpc_mixed_launch_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_tables.clear();
    }

    bool is_ready() override
    {
        d_codes->program->prepare_in_background();
        return d_codes->program->is_ready();
    }
    void prepare() override { d_codes->program->prepare(); }

    void run(const std::vector<const ldpc_mixed_decoder::part*>& parts,
             queue& queue) override
    {
        const cuda_device_scope scope(d_device);
        std::vector<ldpc_cuda_arguments> arguments;
        std::vector<uint32_t> first_blocks;
        std::vector<ldpc_words_cuda> with_steps;
        auto type = ldpc_decoder::number::int8;
        unsigned blocks = 0;
        for (size_t i = 0; i < parts.size(); ++i) {
            if (parts[i] && d_decodings[i].words_have_steps()) {
                type = parts[i]->llr.type;
                with_steps.push_back(
                    words_of(d_decodings[i], parts[i]->llr, parts[i]->out));
            }
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
        ldpc_with_steps_cuda(with_steps, type, queue, [&] {
            d_codes->program->launch(blocks,
                                     d_codes->kernel->threads,
                                     all.data(),
                                     all.size(),
                                     stream_of(queue));
        });
    }

private:
    const std::vector<ldpc_decoding> d_decodings;
    const int d_device;
    const codes_on_device::sptr d_codes;
    std::vector<std::unique_ptr<code_tables>> d_tables;
};

} // namespace

bool is_one_a_block_on_cuda(const ldpc_decoding& decoding, int device)
{
    return ldpc_cuda_kernel(decoding, shared_bytes_a_block(device)).is_folded();
}

std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cuda(const ldpc_decoding& decoding,
                                                           int device)
{
    return std::make_unique<ldpc_fixed_decoder_cuda>(decoding, device);
}

size_t ldpc_programs_translated() { return cuda_program::translations(); }

std::vector<std::unique_ptr<ldpc_mixed_launch>>
make_ldpc_mixed_launches_cuda(const std::vector<ldpc_decoding>& decodings,
                              const std::vector<int>& codes,
                              int device)
{
    const cuda_device_scope scope(device);
    std::vector<ldpc_cuda_kernel::sptr> kernels;
    for (const auto& decoding : decodings) {
        kernels.push_back(
            find_code(decoding, device, ldpc_cuda_kernel::form::chosen)->kernel);
    }
    std::vector<std::unique_ptr<ldpc_mixed_launch>> out;
    for (const auto& group : ldpc_cuda_mixed_kernel::groups(kernels)) {
        std::vector<ldpc_decoding> chosen;
        std::vector<ldpc_cuda_kernel::sptr> of_chosen;
        std::vector<int> numbers;
        for (const int i : group) {
            chosen.push_back(decodings[i]);
            of_chosen.push_back(kernels[i]);
            numbers.push_back(codes[i]);
        }
        out.push_back(
            std::make_unique<ldpc_mixed_launch_cuda>(chosen, of_chosen, numbers, device));
    }
    return out;
}

} // namespace gr::cudaphy::kernels
