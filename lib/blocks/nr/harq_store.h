/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <atomic>
#include <gnuradio/cudaphy/kernels/nr/harq.h>
#include <map>

namespace gr::cudaphy {

/*!
 * \brief HARQ processes of several users. If memory is short, the processes are released
 * first that are done, and of the others those that were used least recently.
 */
class harq_store
{
public:
    harq_store(int processes, uint64_t bytes_a_user)
        : d_processes(processes), d_bytes(bytes_a_user)
    {
        kernels::nr::harq checked(processes, bytes_a_user);
    }

    struct use {
        int rnti, process;
        bool operator<(const use& other) const
        {
            return std::pair(rnti, process) < std::pair(other.rnti, other.process);
        }
    };

    //! The user's processes; made when they are asked for.
    kernels::nr::harq& of(int rnti);
    //! Why a transmission can't go to a process; empty if it can.
    std::string
    problem(const use& which, bool new_data, const kernels::nr::shared_channel& channel);
    //! A transmission went to a process.
    void used(const use& which, const kernels::nr::shared_channel& channel, bool done);
    //! Releases a process of one of the users, but none of `kept`. False if there is
    //! none.
    bool release_one(const std::vector<use>& kept);
    uint64_t bytes() const;
    uint64_t released() const { return d_released; }
    void clear();

private:
    struct content {
        uint64_t last_use = 0;
        bool done = false;
        //! Payload, base graph and limited buffer of each codeword.
        std::vector<std::array<int, 3>> blocks;
    };
    static std::vector<std::array<int, 3>>
    blocks_of(const kernels::nr::shared_channel& channel);

    const int d_processes;
    const uint64_t d_bytes;
    std::map<int, std::unique_ptr<kernels::nr::harq>> d_users; //!< by RNTI
    std::map<use, content> d_contents;
    uint64_t d_uses = 0;
    std::atomic<uint64_t> d_released{ 0 };
    mutable std::mutex d_mutex; //!< of d_users
};

} // namespace gr::cudaphy
