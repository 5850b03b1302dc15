/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/reception_status.h"
#include <cmath>
#include <numeric>

namespace gr::cudaphy {

void reception_status::slot(size_t expected)
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    for (auto* one : { &d_all, &d_since }) {
        ++one->slots;
        one->empty_slots += expected == 0;
    }
}

void reception_status::block(const kernels::nr::reception& got,
                             const kernels::nr::reception::block& of)
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    for (auto* one : { &d_all, &d_since }) {
        ++one->blocks;
        if (!of.ok) {
            ++one->errors;
            ++(got.reason == "no_dmrs"      ? one->no_dmrs
               : got.reason == "not_finite" ? one->not_finite
                                            : one->crc);
        }
        one->iterations += std::accumulate(of.iterations.begin(), of.iterations.end(), 0);
        one->code_blocks += of.iterations.size();
        if (std::isfinite(of.sinr_db)) {
            ++one->measured;
            one->sinr_db += of.sinr_db;
        }
    }
}

reception_status::counts reception_status::all() const
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    return d_all;
}

// PMT symbols are never freed, so these are a few texts without numbers.
std::string reception_status::problem_of(const counts& since, uint64_t refused_packets)
{
    if (refused_packets) {
        return "packets come of another length than the symbols times the subcarriers of "
               "the channels' grid";
    }
    if (since.slots == 0) {
        return "no slot came: every input needs packets of a slot's resource elements";
    }
    if (since.blocks == 0) {
        return "slots come, but nothing is expected in them: schedule it by message, by "
               "the tag nr_schedule, or by the argument slots";
    }
    if (since.errors < since.blocks) {
        return "";
    }
    if (since.not_finite > since.errors / 2) {
        return "every block fails: samples of DM-RS are not finite";
    }
    if (since.no_dmrs > since.errors / 2) {
        return "every block fails: DM-RS is not there; look at slot numbers, resource "
               "blocks, dmrs_n_id, the slots' timing, the carrier's frequency and the "
               "gain";
    }
    return since.measured && since.sinr_db / since.measured > 10
               ? "every CRC fails though DM-RS is there: look at rnti, n_id, mcs and "
                 "redundancy_version"
               : "every CRC fails: the SINR may be too low for this mcs";
}

pmt::pmt_t reception_status::next(uint64_t refused_packets, std::string& problem)
{
    counts since;
    uint64_t refused;
    {
        const std::lock_guard<std::mutex> turn(d_mutex);
        since = d_since;
        d_since = {};
        refused = refused_packets - d_refused_before;
        d_refused_before = refused_packets;
    }
    problem = problem_of(since, refused);
    auto out = pmt::make_dict();
    const auto add = [&](const char* name, const pmt::pmt_t& value) {
        out = pmt::dict_add(out, pmt::mp(name), value);
    };
    const auto number = [&](const char* name, uint64_t value) {
        add(name, pmt::from_long(static_cast<long>(value)));
    };
    number("slots", since.slots);
    number("transport_blocks", since.blocks);
    number("block_errors", since.errors);
    if (since.blocks) {
        add("bler", pmt::from_double(double(since.errors) / double(since.blocks)));
    }
    if (since.measured) {
        add("sinr_db", pmt::from_double(since.sinr_db / double(since.measured)));
    }
    if (since.code_blocks) {
        add("iterations",
            pmt::from_double(double(since.iterations) / double(since.code_blocks)));
    }
    number("no_dmrs", since.no_dmrs);
    number("not_finite", since.not_finite);
    number("refused_packets", refused);
    if (!problem.empty()) {
        add("problem", pmt::intern(problem));
    }
    return out;
}

} // namespace gr::cudaphy
