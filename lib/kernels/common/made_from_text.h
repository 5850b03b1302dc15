/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

namespace gr::cudaphy {

/*!
 * \brief What was made from texts, such as programs, for everybody who wants the same.
 *
 * Threads that want one text at the same time wait for one making. Different texts are
 * made side by side. If the maker throws, the exception goes to whoever wanted the text,
 * and the next one who wants that text makes it again.
 *
 * \tparam Key  has operator== and bytes(), the length of its text
 */
template <typename Key, typename Made>
class made_from_text
{
public:
    //! \param most_bytes  of text: what was made from more is forgotten, the least
    //! recently wanted first, and lives on as long as somebody holds it.
    explicit made_from_text(size_t most_bytes) : d_most_bytes(most_bytes) {}

    //! \param make  (key) -> std::shared_ptr<const Made>
    template <typename Maker>
    std::shared_ptr<const Made> get(const Key& key, const Maker& make)
    {
        const auto wanted = find(key);
        const std::lock_guard<std::mutex> lock(wanted->guard);
        if (!wanted->made) {
            wanted->made = make(wanted->key);
        }
        return wanted->made;
    }

private:
    struct entry {
        explicit entry(const Key& key) : key(key) {}
        const Key key;
        std::mutex guard;
        std::shared_ptr<const Made> made;
    };
    using entries = std::list<std::shared_ptr<entry>>;

    std::shared_ptr<entry> find(const Key& key)
    {
        entries forgotten; // destroyed after the lock is released
        const std::lock_guard<std::mutex> lock(d_guard);
        const auto found = std::find_if(d_entries.begin(),
                                        d_entries.end(),
                                        [&](const auto& one) { return one->key == key; });
        if (found != d_entries.end()) {
            d_entries.splice(d_entries.begin(), d_entries, found);
            return d_entries.front();
        }
        d_entries.push_front(std::make_shared<entry>(key));
        d_bytes += key.bytes();
        while (d_bytes > d_most_bytes && d_entries.size() > 1) {
            d_bytes -= d_entries.back()->key.bytes();
            forgotten.splice(forgotten.begin(), d_entries, std::prev(d_entries.end()));
        }
        return d_entries.front();
    }

    const size_t d_most_bytes;
    std::mutex d_guard;
    size_t d_bytes = 0;
    entries d_entries; //!< the last wanted first
};

} // namespace gr::cudaphy
