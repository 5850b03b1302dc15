/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

namespace gr::cudaphy::kernels {

//! Where the words lie that a thread of the CUDA decoder has to itself: the first in
//! registers, the next in shared memory, the rest in device memory.
struct ldpc_cuda_store {
    int threads = 0;         //!< of a block, at least 32
    int registers = 0;       //!< most a thread
    int stride = 0;          //!< threads whose words lie side by side in shared memory
    int words = 0;           //!< a thread
    int register_words = 0;  //!< the first of them
    int shared_words = 0;    //!< the next
    int device_words = 0;    //!< the rest
    int workspace_words = 0; //!< that a thread has room for on the device: not less
    int shared_at = 0;       //!< bytes before those in shared memory
    int shared_bytes = 0;    //!< of a block, for all purposes

    //! Fills registers, then shared memory.
    void place(int register_room, int shared_room)
    {
        register_words = words < register_room ? words : register_room;
        const int rest = words - register_words;
        shared_words = rest < shared_room ? rest : shared_room;
        device_words = rest - shared_words;
        workspace_words = device_words;
    }
};

} // namespace gr::cudaphy::kernels
