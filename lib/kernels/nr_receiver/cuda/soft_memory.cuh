/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include "kernels/ldpc/nr5g/soft_buffer_access.h"

namespace gr::cudaphy::kernels::nr {

//! What a HARQ process holds of a codeword, in a GPU's memory. Bits are packed.
class soft_memory : public nr5g::soft_buffer_access::buffer::in_gpu
{
public:
    soft_memory(int device, size_t blocks, size_t places, size_t block_bits)
        : d_device(device)
    {
        const cuda_device_scope scope(device);
        d_memory = std::make_unique<memory>(blocks, places, block_bits / 8);
    }
    ~soft_memory() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_memory.reset();
    }

    int device() const { return d_device; }
    int8_t* soft() const { return d_memory->soft.data(); }
    uint8_t* bits() const { return d_memory->bits.data(); }
    int* passed() const { return d_memory->passed.data(); }

    void fetch(view<int8_t> soft, view<uint8_t> bits, view<int> passed) override
    {
        const cuda_device_scope scope(d_device);
        std::vector<uint8_t> packed(bits.size() / 8);
        copy(soft.data(), this->soft(), soft.size(), cudaMemcpyDeviceToHost);
        copy(packed.data(), this->bits(), packed.size(), cudaMemcpyDeviceToHost);
        copy(passed.data(),
             this->passed(),
             passed.size() * sizeof(int),
             cudaMemcpyDeviceToHost);
        for (size_t i = 0; i < bits.size(); ++i) {
            bits[i] = packed[i / 8] >> (7 - i % 8) & 1;
        }
    }
    void store(view<const int8_t> soft, view<const uint8_t> bits, view<const int> passed)
    {
        const cuda_device_scope scope(d_device);
        std::vector<uint8_t> packed(bits.size() / 8);
        for (size_t i = 0; i < bits.size(); ++i) {
            packed[i / 8] |= static_cast<uint8_t>((bits[i] & 1) << (7 - i % 8));
        }
        copy(this->soft(), soft.data(), soft.size(), cudaMemcpyHostToDevice);
        copy(this->bits(), packed.data(), packed.size(), cudaMemcpyHostToDevice);
        copy(this->passed(),
             passed.data(),
             passed.size() * sizeof(int),
             cudaMemcpyHostToDevice);
        cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "copy of HARQ's soft bits");
    }

private:
    struct memory {
        memory(size_t blocks, size_t places, size_t block_bytes)
            : soft(blocks * places), bits(blocks * block_bytes), passed(blocks)
        {
        }
        device_memory<int8_t> soft;
        device_memory<uint8_t> bits;
        device_memory<int> passed;
    };
    static void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind)
    {
        cuda_check(cudaMemcpy(to, from, bytes, kind), "copy of HARQ's soft bits");
    }

    const int d_device;
    std::unique_ptr<memory> d_memory;
};

} // namespace gr::cudaphy::kernels::nr
