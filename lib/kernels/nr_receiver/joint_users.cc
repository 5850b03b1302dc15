/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/joint_users.h"
#include <algorithm>
#include <iterator>

namespace gr::cudaphy::kernels::nr {

bool share_group(const resource_map& a, const resource_map& b)
{
    for (const auto& one : a.ports) {
        for (const auto& other : b.ports) {
            if (one.group == other.group) {
                return true;
            }
        }
    }
    return false;
}

namespace {

bool share_blocks(const resource_map& a, const resource_map& b)
{
    std::vector<int> both;
    std::set_intersection(a.blocks.begin(),
                          a.blocks.end(),
                          b.blocks.begin(),
                          b.blocks.end(),
                          std::back_inserter(both));
    return !both.empty();
}

bool share_symbols(const shared_channel_parameters& a, const shared_channel_parameters& b)
{
    return a.first_symbol < b.first_symbol + b.symbols &&
           b.first_symbol < a.first_symbol + a.symbols;
}

//! Both send the same sequence on the resource blocks that they share.
bool same_sequence(const shared_channel& a, const shared_channel& b)
{
    const auto &p = a.parameters(), &q = b.parameters();
    if (p.transform_precoding || q.transform_precoding) {
        return p.transform_precoding == q.transform_precoding &&
               a.map().blocks == b.map().blocks && p.dmrs.n_rs_id == q.dmrs.n_rs_id &&
               p.dmrs.hopping == q.dmrs.hopping;
    }
    return p.dmrs.n_scid == q.dmrs.n_scid &&
           p.dmrs.n_id[p.dmrs.n_scid] == q.dmrs.n_id[q.dmrs.n_scid] &&
           p.grid_start - p.dmrs.reference_block == q.grid_start - q.dmrs.reference_block;
}

//! Two channels on the same resource blocks whose DM-RS tells them apart.
bool separable(const shared_channel& a, const shared_channel& b)
{
    const auto &p = a.parameters(), &q = b.parameters();
    if (p.dmrs.type != q.dmrs.type || a.map().dmrs_symbols != b.map().dmrs_symbols ||
        p.dmrs.length != q.dmrs.length) {
        return false;
    }
    for (const auto port : p.dmrs.ports) {
        if (std::count(q.dmrs.ports.begin(), q.dmrs.ports.end(), port)) {
            return false;
        }
    }
    // A group of one must be free of the other's data.
    for (const auto& port : a.map().ports) {
        if (port.group >= b.map().groups()) {
            return false;
        }
    }
    for (const auto& port : b.map().ports) {
        if (port.group >= a.map().groups()) {
            return false;
        }
    }
    return !share_group(a.map(), b.map()) || same_sequence(a, b);
}

} // namespace

bool separated_jointly(const shared_channel& a, const shared_channel& b)
{
    return share_blocks(a.map(), b.map()) &&
           share_symbols(a.parameters(), b.parameters()) && separable(a, b);
}

} // namespace gr::cudaphy::kernels::nr
