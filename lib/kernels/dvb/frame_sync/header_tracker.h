/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/frame_header.h"
#include "kernels/dvb/frame_sync/symbol_buffer.h"
#include "kernels/dvb/frame_sync/vl_snr_headers.h"
#include "kernels/dvb/pl_search.h"
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace gr::cudaphy::kernels {

/*!
 * \brief Finds the headers of frames that follow one another.
 *
 * Without lock, the likeliest places are looked at, and each is confirmed by the next
 * header. With lock, only the place of the next header is looked at, and one symbol on
 * either side. If it is not there, the search begins at that place. If frames lead from
 * there to the header that is found, the lock has not been lost. The headers of a VL-SNR
 * frame need no confirmation; they are looked for if that is asked for.
 */
class header_tracker
{
public:
    //! \param vl_snr  whether there may be VL-SNR frames
    header_tracker(double most_frequency, bool vl_snr);

    //! Appends headers that are found to those that were found before. `ended`: no more
    //! symbols come.
    void update(const symbol_buffer& symbols, bool ended, std::deque<frame_header>& to);
    //! Begins anew at this symbol.
    void restart(uint64_t at);
    //! Without lock: waits no longer for a header at a certain place.
    void give_up();

    bool is_locked() const { return d_locked; }
    //! Whether no header is waited for at a certain place.
    bool is_lost() const { return !d_locked && !d_holds; }
    uint64_t lost_locks() const { return d_lost_locks; }
    //! With lock: the symbol at which the next header begins.
    uint64_t next() const { return d_next; }
    //! The first symbol that update() needs, but for those of the headers' own frames.
    uint64_t needed(const symbol_buffer& symbols) const;
    //! Sets the frequency if it is known better than by headers.
    void set_frequency(double frequency);

private:
    enum class verdict { waits, wrong, right };

    frame_header header_of(uint64_t at, const pl_found& found) const;
    //! Whether the code names a mode.
    bool is_known(const pl_found& found) const { return d_length_of_pls[found.pls] > 0; }
    pl_found near_place(const symbol_buffer& symbols, uint64_t& at) const;
    void note(const frame_header& header);
    std::optional<frame_header> known_header(const symbol_buffer& symbols,
                                             uint64_t at) const;
    std::optional<frame_header>
    vl_snr_at(const symbol_buffer& symbols, uint64_t at, double frequency) const;
    frame_header vl_snr_instead(const symbol_buffer& symbols,
                                const frame_header& one) const;
    bool
    search_vl_snr(const symbol_buffer& symbols, bool ended, std::deque<frame_header>& to);
    void follow(const symbol_buffer& symbols, bool ended, std::deque<frame_header>& to);
    bool search(const symbol_buffer& symbols, bool ended, std::deque<frame_header>& to);
    bool bridge(const symbol_buffer& symbols, std::deque<frame_header>& to);
    pl_found candidate(const std::complex<float>* symbols) const;
    void scan(const symbol_buffer& symbols, uint64_t last);
    bool try_candidates(const symbol_buffer& symbols,
                        bool ended,
                        std::deque<frame_header>& to);
    verdict
    confirm(const symbol_buffer& symbols, const frame_header& one, bool ended) const;
    void lock(const symbol_buffer& symbols,
              const frame_header& found,
              std::deque<frame_header>& to);
    std::optional<frame_header> before(const symbol_buffer& symbols,
                                       const frame_header& known,
                                       const pl_codes& sent) const;

    pl_search d_search;
    double d_most_frequency;
    std::map<int, pl_search> d_search_of_length; //!< for the codes of each length
    std::optional<vl_snr_headers> d_vl_snr;
    std::vector<int> d_length_of_pls; //!< 0: no such mode

    bool d_locked = false;
    bool d_holds = false;   //!< a header was missed, and the lock is not lost yet
    uint64_t d_next = 0;    //!< with lock: the next header's place; else the missed one's
    uint64_t d_last = 0;    //!< the last header's place
    uint64_t d_floor = 0;   //!< no header begins before
    uint64_t d_scanned = 0; //!< places before have been looked at
    uint64_t d_scanned_for_vl_snr = 0;
    std::set<int> d_seen;                   //!< lengths of frames since the lock
    pl_codes d_sent{};                      //!< codes of these frames
    std::optional<pl_search> d_search_sent; //!< for these codes
    float d_score = 0;                      //!< of the last headers, the mean
    double d_frequency = 0;
    int d_weight = 0; //!< headers that the frequency is the mean of
    uint64_t d_lost_locks = 0;
    std::vector<frame_header> d_candidates; //!< that wait for the next header
};

} // namespace gr::cudaphy::kernels
