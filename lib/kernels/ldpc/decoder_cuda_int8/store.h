/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

namespace gr::cudaphy::kernels {

//! Where a thread's own words lie: the first in registers, the next in shared memory, the
//! rest in device memory.
struct ldpc_cuda_store {
    int threads = 0;         //!< of a block, at least 32
    int registers = 0;       //!< limit for a thread
    int stride = 0;          //!< threads whose words lie side by side in shared memory
    int words = 0;           //!< of a thread
    int register_words = 0;  //!< of these in registers
    int shared_words = 0;    //!< in shared memory
    int device_words = 0;    //!< in device memory
    int workspace_words = 0; //!< room for each thread in device memory, >= device_words
    int shared_at = 0;       //!< byte in shared memory where the words begin
    int shared_bytes = 0;    //!< of a block, with all else

    //! Fills registers, then shared memory.
    void fill(int register_room, int shared_room)
    {
        register_words = words < register_room ? words : register_room;
        const int rest = words - register_words;
        shared_words = rest < shared_room ? rest : shared_room;
        device_words = rest - shared_words;
        workspace_words = device_words;
    }
};

} // namespace gr::cudaphy::kernels
