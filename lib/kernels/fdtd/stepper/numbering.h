/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

// Numbers for what is alike, given by several threads at once.

namespace gr::cudaphy::kernels {

struct fdtd_by_bytes {
    template <typename Key>
    size_t operator()(const Key& key) const
    {
        const auto* from = reinterpret_cast<const char*>(&key);
        return std::hash<std::string_view>()({ from, sizeof key });
    }
    template <typename Key>
    bool operator()(const Key& a, const Key& b) const
    {
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
};
template <typename Key>
using fdtd_numbered = std::unordered_map<Key, int, fdtd_by_bytes, fdtd_by_bytes>;

//! Numbers for keys without padding, from 0 on, at most 65,536.
template <typename Key>
class fdtd_numbering
{
public:
    //! -1: there are too many keys.
    int of(const Key& key)
    {
        const std::lock_guard lock(d_mutex);
        const auto [place, is_new] = d_number.try_emplace(key, int(d_keys.size()));
        if (is_new) {
            if (d_keys.size() > UINT16_MAX) {
                d_number.erase(place);
                return -1;
            }
            d_keys.push_back(key);
        }
        return place->second;
    }
    std::vector<Key>& keys() { return d_keys; }

private:
    std::mutex d_mutex;
    fdtd_numbered<Key> d_number;
    std::vector<Key> d_keys;
};

//! The same, with what one thread has asked for already.
template <typename Key>
class fdtd_known_numbers
{
public:
    explicit fdtd_known_numbers(fdtd_numbering<Key>& all) : d_all(all) {}
    int of(const Key& key)
    {
        if (d_last >= 0 && fdtd_by_bytes()(key, d_last_key)) {
            return d_last;
        }
        const auto [place, is_new] = d_known.try_emplace(key, -1);
        if (is_new) {
            place->second = d_all.of(key);
        }
        d_last_key = key;
        return d_last = place->second;
    }

private:
    fdtd_numbering<Key>& d_all;
    fdtd_numbered<Key> d_known;
    Key d_last_key{};
    int d_last = -1;
};

} // namespace gr::cudaphy::kernels
