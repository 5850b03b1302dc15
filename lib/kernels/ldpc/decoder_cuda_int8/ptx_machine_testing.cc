/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/ptx_machine_testing.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace gr::cudaphy::testing {
namespace {

[[noreturn]] void complain(const std::string& what)
{
    throw std::logic_error("ptx: " + what);
}

} // namespace

ptx_machine::ptx_machine(const std::string& text)
{
    std::istringstream lines(text);
    std::map<std::string, int> labels;
    std::vector<std::pair<size_t, std::string>> jumps;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || std::strchr(".{}", line[0])) {
            continue;
        }
        if (line.back() == ':') {
            labels[line.substr(0, line.size() - 1)] = static_cast<int>(d_code.size());
            continue;
        }
        const auto target = decode(line);
        if (!target.empty()) {
            jumps.emplace_back(d_code.size() - 1, target);
        }
    }
    for (const auto& [from, target] : jumps) {
        d_code[from].target = labels.at(target);
    }
    number_registers();
}

//! A program numbers the registers of each kind; all of a thread lie in one array.
void ptx_machine::number_registers()
{
    std::array<int, 5> count{}, first{};
    for (const auto& one : d_code) {
        for (const auto& on : one.on) {
            const auto kind = register_kinds.find(on.kind);
            if (kind != register_kinds.npos) {
                count[kind] = std::max(count[kind], on.index + 1);
            }
        }
        count[4] = std::max(count[4], one.guard + 1);
    }
    std::partial_sum(count.begin(), count.end() - 1, first.begin() + 1);
    d_predicates = first[4];
    d_registers = first[4] + count[4];
    for (auto& one : d_code) {
        for (auto& on : one.on) {
            const auto kind = register_kinds.find(on.kind);
            on.index += kind == register_kinds.npos ? 0 : first[kind];
        }
        one.guard += one.guard < 0 ? 0 : first[4];
    }
}

//! Shared memory begins at 1024, as on Hopper.
uint8_t*
ptx_machine::shared(const thread& by, uint32_t address, unsigned bytes, access how)
{
    const uint32_t at = address - 1024;
    const auto where = [&] {
        return " by thread " + std::to_string(by.number) + " of byte " +
               std::to_string(at) + ": " + d_code[by.at].text;
    };
    if (at % bytes != 0 || at + bytes > d_shared.size() || at + bytes < at) {
        complain("shared memory" + where());
    }
    for (uint32_t half = at / 2; half < (at + bytes + 1) / 2; ++half) {
        auto& cell = d_accesses[half];
        for (const auto before : { access::read, access::write, access::atomic }) {
            const auto& met = cell.last[static_cast<int>(before)];
            const bool agrees = before == how && how != access::write;
            if (!agrees && met.phase == d_phase && (met.by_many || met.by != by.number)) {
                complain("race" + where());
            }
        }
        auto& now = cell.last[static_cast<int>(how)];
        now.by_many = now.phase == d_phase && (now.by_many || now.by != by.number);
        now.phase = d_phase;
        now.by = by.number;
    }
    return &d_shared[at];
}

void ptx_machine::run(const launch& how)
{
    d_how = &how;
    for (unsigned block = 0; block < how.blocks; ++block) {
        run_block(how, block);
    }
}

void ptx_machine::run_block(const launch& how, unsigned block)
{
    d_block = block;
    d_shared.assign(how.shared_bytes, 0xcd);
    d_accesses.assign(how.shared_bytes / 2 + 1, {});
    d_phase = 1;
    d_threads.assign(how.threads, {});
    for (unsigned i = 0; i < how.threads; ++i) {
        d_threads[i].number = i;
        auto& registers = d_threads[i].registers;
        registers.assign(d_registers, 0xdeadbeef);
        std::fill(registers.begin() + d_predicates, registers.end(), 0);
    }
    for (bool all_done = false; !all_done;) {
        all_done = true;
        bool waits = true;
        for (unsigned i = 0; i < how.threads; ++i) {
            auto& now = d_threads[how.backwards ? how.threads - 1 - i : i];
            run_thread(now);
            all_done &= now.now == state::done;
            waits &= now.now == state::waits || now.now == state::done;
        }
        if (waits && !all_done) {
            settle_barrier();
        } else if (!all_done) {
            settle_votes();
        }
    }
}

void ptx_machine::run_thread(thread& now)
{
    while (now.now == state::runs) {
        const auto& one = d_code.at(now.at);
        if (one.guard < 0 || (now.registers[one.guard] != 0) == one.guarded_by) {
            one.execute(one, now);
        }
        if (now.now == state::runs) {
            ++now.at;
        }
    }
}

//! Threads that have ended count for no barrier.
void ptx_machine::settle_barrier()
{
    bool any = false;
    for (const auto& one : d_threads) {
        const auto& i = d_code[one.at];
        any |= one.now == state::waits && i.on[2].kind != 0 && one.get(i.on[2]) != 0;
    }
    for (auto& one : d_threads) {
        if (one.now != state::waits) {
            continue;
        }
        const auto& i = d_code[one.at];
        if (i.on[2].kind != 0) {
            one.set(i.on[0], any);
        }
        one.now = state::runs;
        ++one.at;
    }
    ++d_phase;
}

//! Lets warps go on whose threads, except ended ones, all stand at the same vote.
void ptx_machine::settle_votes()
{
    bool found = false;
    for (size_t first = 0; first < d_threads.size(); first += 32) {
        uint32_t ballot = 0, ored = 0, xored = 0, present = 0;
        bool complete = true;
        const instruction* vote = nullptr;
        const size_t end = std::min(first + 32, d_threads.size());
        for (size_t i = first; i < end; ++i) {
            const auto& one = d_threads[i];
            if (one.now == state::done) {
                continue;
            }
            vote = vote ? vote : &d_code[one.at];
            complete &= one.now == state::votes && &d_code[one.at] == vote;
            if (complete) {
                const uint32_t value = one.u(vote->on[1]);
                present |= 1u << (i - first);
                ballot |= (value != 0) * (1u << (i - first));
                ored |= value;
                xored ^= value;
            }
        }
        if (!complete || !vote) {
            continue;
        }
        found = true;
        const auto& text = vote->text;
        const uint32_t result = text.find("vote") != std::string::npos   ? ballot
                                : text.find(".or.") != std::string::npos ? ored
                                                                         : xored;
        for (size_t i = first; i < end; ++i) {
            auto& one = d_threads[i];
            if (one.now != state::votes) {
                continue;
            }
            if (one.u(vote->on[2]) != present) {
                complain("lanes that are not those of the warp: " + text);
            }
            one.set(vote->on[0], result);
            one.now = state::runs;
            ++one.at;
        }
    }
    if (!found) {
        complain("threads that wait for one another");
    }
}

} // namespace gr::cudaphy::testing
