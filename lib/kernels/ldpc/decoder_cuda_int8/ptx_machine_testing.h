/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gr::cudaphy::testing {

/*!
 * \brief Runs a program without a GPU, a block of threads at a time, in the part of PTX
 * that the decoder's kernels use.
 *
 * Threads run from barrier to barrier, one after the other; global memory is the host's.
 * Not modelled: threads of a warp that part ways, and blocks that wait for one another.
 * Races end the run with std::logic_error, whatever the values, and in one warp too. A
 * race: two threads access the same shared memory between two barriers, at least one of
 * them writes, and not both by atomic operations. An access beyond shared memory, an
 * unknown instruction, and a vote that does not name the lanes that exist also end the
 * run.
 */
class ptx_machine
{
public:
    explicit ptx_machine(const std::string& text);

    struct launch {
        unsigned blocks, threads;
        size_t shared_bytes;
        const void* arguments;
        bool backwards = false; //!< the order in which threads run
    };
    void run(const launch&);

    enum class state { runs, waits, votes, done };
    struct thread;
    static constexpr std::string_view register_kinds = "rdfhp";
    struct operand {
        char kind = 0; //!< one of register_kinds; n: a number; 0: none
        int index = 0; //!< among all registers
        uint64_t number = 0;
    };
    struct instruction {
        std::string text;
        std::function<void(const instruction&, thread&)> execute;
        std::array<operand, 6> on;
        int guard = -1; //!< predicate
        bool guarded_by = true;
        int target = -1;
    };

    //! One thread's registers and its next instruction.
    struct thread {
        unsigned number = 0;
        size_t at = 0;
        state now = state::runs;
        uint32_t voted = 0;
        std::vector<uint64_t> registers; // in the order of register_kinds

        uint64_t get(const operand& from) const
        {
            return from.kind == 'n' ? from.number : registers[from.index];
        }
        uint32_t u(const operand& from) const { return static_cast<uint32_t>(get(from)); }
        int32_t s(const operand& from) const { return static_cast<int32_t>(get(from)); }
        float real(const operand& from) const
        {
            const uint32_t bits = u(from);
            float value;
            std::memcpy(&value, &bits, sizeof value);
            return value;
        }
        void set(const operand& to, uint64_t value) { registers[to.index] = value; }
        void set_real(const operand& to, float value)
        {
            uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            set(to, bits);
        }
    };

private:
    enum class access { read, write, atomic };
    //! The last read, write and atomic access of two bytes: when, and by which thread.
    struct history {
        struct {
            uint32_t phase = 0;
            unsigned by = 0;
            bool by_many = false;
        } last[3];
    };

    std::string decode(const std::string& line);
    bool decode_memory(instruction&, const std::string& operation);
    bool decode_numbers(instruction&, const std::string& operation);
    bool decode_halves(instruction&, const std::string& operation);
    bool decode_predicates(instruction&, const std::string& operation);
    void decode_set(instruction&, const std::string& operation);
    void number_registers();
    void run_block(const launch&, unsigned block);
    void run_thread(thread&);
    void settle_votes();
    void settle_barrier();
    uint8_t* shared(const thread&, uint32_t address, unsigned bytes, access);

    std::vector<instruction> d_code;
    int d_registers = 0;  //!< of a thread
    int d_predicates = 0; //!< the first of them
    const launch* d_how = nullptr;
    unsigned d_block = 0;
    std::vector<thread> d_threads;
    std::vector<uint8_t> d_shared;
    std::vector<history> d_accesses;
    uint32_t d_phase = 0;
};

} // namespace gr::cudaphy::testing
