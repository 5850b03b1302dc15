/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/kind_sorter.h"
#include "runtime/device/kind_sorter_cuda.h"
#include "runtime/device/page_lock.h"
#include <algorithm>
#include <cstring>

namespace gr::cudaphy {
namespace {

//! Each kind's frames begin at a multiple of a memory transaction's 128 bytes.
size_t rounded(size_t bytes) { return (bytes + 127) / 128 * 128; }

} // namespace

kind_sorter::kind_sorter(queue& owner,
                         std::vector<port_bytes> kinds,
                         const port_bytes& batch,
                         int frames,
                         int status_words)
    : d_kinds(std::move(kinds)), d_status_words(status_words),
      d_on_device(owner.where() == backend::cuda)
{
    size_t pieces = 0;
    const auto add_room = [&](std::vector<array<char>>& room, size_t bytes) {
        room.emplace_back(owner, bytes + d_kinds.size() * rounded(1));
        pieces += most_parts + bytes / most_bytes_a_piece;
    };
    for (const auto bytes : batch.in) {
        add_room(d_in, bytes);
    }
    for (const auto bytes : batch.out) {
        add_room(d_out, bytes);
    }
    d_status = array<int>(owner, size_t(frames) * status_words);
    if (d_on_device) {
        pieces += size_t(status_words) *
                  (most_parts + frames * sizeof(int) / most_bytes_a_piece);
        d_table = array<copied_piece>(owner, pieces);
        d_host_table = make_locked_memory(pieces * sizeof(copied_piece));
    }
}

std::vector<batch_part> kind_sorter::cut(const batch& whole,
                                         const std::vector<kind_frames>& parts) const
{
    std::vector<batch_part> made;
    auto rest = whole;
    for (const auto& part : parts) {
        const auto& frame = d_kinds[part.kind];
        rest.frames = part.frames;
        made.push_back({ part.kind, rest });
        for (size_t p = 0; p < rest.in.size(); ++p) {
            rest.in[p] = static_cast<const char*>(rest.in[p]) + part.frames * frame.in[p];
        }
        for (size_t p = 0; p < rest.out.size(); ++p) {
            rest.out[p] = static_cast<char*>(rest.out[p]) + part.frames * frame.out[p];
        }
        rest.status += size_t(part.frames) * d_status_words;
    }
    return made;
}

void kind_sorter::run(mixed_batch_job& job,
                      const std::vector<batch_part>& parts,
                      queue& work_queue)
{
    auto groups = groups_of(parts);
    place(groups);
    d_before.clear();
    d_after.clear();
    for (const auto& part : parts) {
        const auto same = [&](const group& one) { return one.all.kind == part.kind; };
        auto& of_kind = *std::find_if(groups.begin(), groups.end(), same);
        if (d_on_device || of_kind.parts > 1) {
            list_copies(part, of_kind);
        } else {
            of_kind.all = part;
        }
    }
    std::vector<batch_part> sorted;
    for (const auto& one : groups) {
        sorted.push_back(one.all);
    }
    if (d_on_device) {
        auto* table = static_cast<copied_piece*>(d_host_table.get());
        table = std::copy(d_before.begin(), d_before.end(), table);
        std::copy(d_after.begin(), d_after.end(), table);
        work_queue.copy_in(d_table.data(),
                           d_host_table.get(),
                           (d_before.size() + d_after.size()) * sizeof(copied_piece));
    }
    copy(d_before, 0, work_queue);
    job.run(sorted, work_queue);
    copy(d_after, d_before.size(), work_queue);
}

std::vector<kind_sorter::group>
kind_sorter::groups_of(const std::vector<batch_part>& parts) const
{
    std::vector<group> found;
    std::vector<int> index(d_kinds.size(), -1);
    for (const auto& part : parts) {
        auto& of_kind = index[part.kind];
        if (of_kind < 0) {
            of_kind = static_cast<int>(found.size());
            found.push_back({ { part.kind, { 0, {}, {}, nullptr } }, {} });
        }
        found[of_kind].all.work.frames += part.work.frames;
        ++found[of_kind].parts;
    }
    return found;
}

//! Gives each group its part of d_in, d_out and d_status.
void kind_sorter::place(std::vector<group>& groups) const
{
    std::vector<size_t> at_in(d_in.size(), 0), at_out(d_out.size(), 0);
    size_t frames = 0;
    for (auto& one : groups) {
        auto& work = one.all.work;
        const auto& bytes = d_kinds[one.all.kind];
        for (size_t p = 0; p < d_in.size(); ++p) {
            one.in.push_back(d_in[p].data() + at_in[p]);
            work.in.push_back(one.in.back());
            at_in[p] += rounded(work.frames * bytes.in[p]);
        }
        for (size_t p = 0; p < d_out.size(); ++p) {
            work.out.push_back(d_out[p].data() + at_out[p]);
            at_out[p] += rounded(work.frames * bytes.out[p]);
        }
        work.status = d_status.data() + frames * d_status_words;
        frames += work.frames;
    }
}

void kind_sorter::list_copies(const batch_part& part, group& to)
{
    const auto& work = part.work;
    const auto& all = to.all.work;
    const auto& bytes = d_kinds[part.kind];
    for (size_t p = 0; p < d_in.size(); ++p) {
        add(d_before,
            work.in[p],
            to.in[p] + to.frames_before * bytes.in[p],
            work.frames * bytes.in[p]);
    }
    for (size_t p = 0; p < d_out.size(); ++p) {
        add(d_after,
            static_cast<const char*>(all.out[p]) + to.frames_before * bytes.out[p],
            work.out[p],
            work.frames * bytes.out[p]);
    }
    for (int w = 0; w < d_status_words; ++w) {
        add(d_after,
            all.status + size_t(w) * all.frames + to.frames_before,
            work.status + size_t(w) * work.frames,
            work.frames * sizeof(int));
    }
    to.frames_before += work.frames;
}

//! Cuts a copy into pieces, one for each block of threads.
void kind_sorter::add(std::vector<copied_piece>& list,
                      const void* from,
                      void* to,
                      size_t bytes)
{
    const size_t most = d_on_device ? most_bytes_a_piece : bytes;
    for (size_t at = 0; at < bytes; at += most) {
        list.push_back({ static_cast<const char*>(from) + at,
                         static_cast<char*>(to) + at,
                         std::min(most, bytes - at) });
    }
}

void kind_sorter::copy(const std::vector<copied_piece>& pieces,
                       size_t first_in_table,
                       queue& work_queue)
{
#ifdef CUDAPHY_HAVE_CUDA
    if (d_on_device) {
        copy_pieces(work_queue, d_table.data() + first_in_table, pieces.size());
        return;
    }
#endif
    (void)first_in_table;
    (void)work_queue;
    for (const auto& one : pieces) {
        std::memcpy(one.to, one.from, one.bytes);
    }
}

} // namespace gr::cudaphy
