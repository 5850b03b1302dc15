/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <pybind11/pybind11.h>

namespace gr::cudaphy::bindings {

/*!
 * \brief Kernels that earlier calls of a function have made and the next ones take again:
 * making one can take longer than its run (the LDPC decoder's is compiled for the code).
 *
 * The latest `most` are kept. A call has its kernel alone: two at the same time make
 * two.
 */
template <typename Key, typename Kernel>
class spare_kernels
{
public:
    struct entry {
        Key key;
        std::unique_ptr<Kernel> kernel;
    };

    explicit spare_kernels(size_t most) : d_most(most)
    {
        // Before the CUDA driver unloads, which it does ahead of static destructors.
        pybind11::module_::import("atexit").attr("register")(
            pybind11::cpp_function([this] { clear(); }));
    }

    //! The kernel of that key, or a new one that make() returns.
    template <typename Make>
    entry take(const Key& key, Make make)
    {
        {
            std::lock_guard<std::mutex> lock(d_mutex);
            const auto found = std::find_if(d_entries.begin(),
                                            d_entries.end(),
                                            [&](const entry& e) { return e.key == key; });
            if (found != d_entries.end()) {
                auto out = std::move(*found);
                d_entries.erase(found);
                return out;
            }
        }
        return { key, make() };
    }

    //! Only after a call that went well: one that failed may have left its device
    //! unusable.
    void give_back(entry&& used)
    {
        std::list<entry> old; // released without the lock
        std::lock_guard<std::mutex> lock(d_mutex);
        d_entries.push_front(std::move(used));
        if (d_entries.size() > d_most) {
            old.splice(old.begin(), d_entries, std::prev(d_entries.end()));
        }
    }

    void clear()
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        d_entries.clear();
    }

private:
    const size_t d_most;
    std::mutex d_mutex;
    std::list<entry> d_entries; //!< the latest first
};

} // namespace gr::cudaphy::bindings
