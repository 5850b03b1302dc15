/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include <algorithm>
#include <climits>
#include <memory>

// Kernels for codes of one form, and how they are launched.

namespace gr::cudaphy::kernels {
namespace {

//! Threads of a multiprocessor for which registers are to suffice.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int threads_at_once = 1024; // Turing holds no more
#else
constexpr int threads_at_once = 1536;
#endif

class device_words_encoder
{
public:
    virtual ~device_words_encoder() = default;
    virtual void launch(const uint8_t* info,
                        uint8_t* words,
                        size_t batch,
                        cudaStream_t stream) const = 0;
};

//! A block for every few words. (Blocks that take word after word end at different times,
//! and the last ones are alone.)
template <typename Plan>
struct device_words_launch {
    void (*kernel)(Plan, const uint8_t*, uint8_t*, size_t) = nullptr;
    int threads = 0, words = 1; //!< of a block
    size_t shared = 0;

    //! Whether the current device has a block's shared memory.
    bool fits(int device) const
    {
        int most = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
        if (shared > size_t(most)) {
            return false;
        }
        // The limit belongs to the kernel, which other plans share: always the maximum.
        cuda_check(cudaFuncSetAttribute(
                       kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                   "cudaFuncSetAttribute");
        return true;
    }

    void run(const Plan& plan,
             const uint8_t* info,
             uint8_t* to,
             size_t batch,
             cudaStream_t stream) const
    {
        const size_t blocks = (batch + size_t(words) - 1) / size_t(words);
        kernel<<<unsigned(std::min<size_t>(blocks, INT_MAX)),
                 unsigned(threads),
                 shared,
                 stream>>>(plan, info, to, batch);
        cuda_check_launch("ldpc_encoder: words");
    }
};

//! An encoder whose plan, a kernel's argument, says how words lie in memory.
template <typename Plan>
class planned_words_encoder : public device_words_encoder
{
public:
    void launch(const uint8_t* info,
                uint8_t* words,
                size_t batch,
                cudaStream_t stream) const override
    {
        auto plan = d_plan;
        plan.info = plan.info.from(info);
        plan.word = plan.word.from(words);
        d_launch.run(plan, info, words, batch, stream);
    }

protected:
    explicit planned_words_encoder(const Plan& plan) : d_plan(plan) {}

    Plan d_plan;
    device_words_launch<Plan> d_launch;
};

} // namespace
} // namespace gr::cudaphy::kernels
