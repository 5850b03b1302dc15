/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/cuda/estimate.cuh"

namespace gr::cudaphy::kernels::nr {

constexpr int crc_factors = 32; // 24 bits at most, and zeros

//! How a codeword of a slot is received, and what a HARQ process holds of it.
struct word_order {
    int start;     //!< where the redundancy version begins in the soft buffer
    int combined;  //!< the process holds something
    int8_t* soft;  //!< (blocks, places); null without HARQ
    uint8_t* bits; //!< packed, (blocks, bytes of a block)
    int* passed;   //!< (blocks)
};

//! What comes of it.
struct word_report {
    int ok;
    int doubtful; //!< a block of zeros passed: to be decoded without its CRC
    uint32_t remainder;
    double capacity; //!< bits of all symbols of all layers
};

//! A codeword: what stays, and where its slots' values lie.
struct words_cuda {
    int blocks, block_bits, block_bytes; //!< C, K', bytes of K' packed
    int order, coded;                    //!< Q_m, G
    int unit, shorter, least; //!< E_r: `shorter` blocks have `least`, others a unit more
    int places;               //!< of the soft buffer
    int received;             //!< n of the decoder's code
    int width;                //!< places that are written: of both
    int own_bytes, payload_bytes; //!< of a block without its CRC
    const int8_t* signs;          //!< of scrambling, (coded): 0 or -1
    const uint32_t* term;         //!< remainder of each bit of a block, (8, own_bytes)
    //! What a bit of a block's remainder is worth in the transport block's, (blocks,
    //! crc_factors).
    const uint32_t* factor;

    const slot_state* state;
    const word_order* wanted;       //!< one a slot
    const int8_t* llr;              //!< (coded)
    int8_t* received_llr;           //!< (blocks, received)
    const uint8_t* decoded;         //!< (blocks, block_bytes)
    const int *iterations, *passed; //!< (blocks)
    const double* capacity;
    int capacity_parts;

    word_report* report;
    //! Of each slot `record` bytes: the payload and, from `ok_at` on, whether each
    //! block's CRC holds, and its iterations.
    char* records;
    size_t record;
    int ok_at;

    __host__ __device__ uint8_t* payload(int slot) const
    {
        return reinterpret_cast<uint8_t*>(records + slot * record);
    }
    __host__ __device__ int* block_ok(int slot) const
    {
        return reinterpret_cast<int*>(records + slot * record + ok_at);
    }
    __host__ __device__ int* block_iterations(int slot) const
    {
        return block_ok(slot) + blocks;
    }
};

//! Rate recovery, descrambling and combining (38.212, 5.4.2; 38.211, 6.3.1.1, 7.3.1.1).
void launch_recovery(const words_cuda&, int slots, cudaStream_t);
//! After the decoder: CRCs, payload, and what HARQ keeps (38.212, 5.1, 5.2.2).
void launch_payload(const words_cuda&, int slots, cudaStream_t);

} // namespace gr::cudaphy::kernels::nr
